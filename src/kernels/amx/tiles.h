/* SPDX-License-Identifier: Apache-2.0
 * tiles.h - the GEMM of AMX: blocks of 32 rows x 32 columns (or 16 x 64) in four tiles of sums. A
 * tile is 16 rows of 64 bytes: 16 rows of X as they lie, or 16 steps of a panel as they lie. The
 * including file says what a product is: tile_dot(sum, x, w). */
#include <immintrin.h>

#include "kernels/avx512/int.h"
#include "kernels/body/finish.h"
#include "kernels/body/tile.h"

enum { SIDE = 16, STEP = 64, TILE_BYTES = SIDE * STEP, PANELS = 4 };

typedef struct Strip {          /* panels side by side */
    const uint8_t *w[PANELS];
    int64_t steps;              /* whole ones: 64 bytes of a row each */
    bool rest;                  /* one step more, filled up with zeros */
    _Alignas(64) uint8_t end[PANELS][TILE_BYTES];
} Strip;

typedef struct Rows {
    const uint8_t *p;
    int64_t row;                /* bytes */
} Rows;

INLINE void sums_clear(void)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

/* Tiles 0..3 are sums, 4 and 5 X, 6 and 7 W. */
INLINE void tall_step(int panels, Rows x, const uint8_t *w0, const uint8_t *w1)
{
    _tile_loadd(4, x.p, x.row);
    _tile_loadd(6, w0, STEP);
    tile_dot(0, 4, 6);
    _tile_loadd(5, x.p + SIDE * x.row, x.row);
    tile_dot(2, 5, 6);
    if (panels == 1) return;
    _tile_loadd(7, w1, STEP);
    tile_dot(1, 4, 7);
    tile_dot(3, 5, 7);
}

/* out[32][panels * 16] */
INLINE void tall_block(int panels, Rows x, const Strip *s, char *out)
{
    sums_clear();
    for (int64_t k = 0; k < s->steps; k++, x.p += STEP)
        tall_step(panels, x, s->w[0] + k * TILE_BYTES, s->w[1] + k * TILE_BYTES);
    if (s->rest) tall_step(panels, x, s->end[0], s->end[1]);
    int64_t row = (int64_t)panels * STEP;
    _tile_stored(0, out, row);
    _tile_stored(2, out + SIDE * row, row);
    if (panels == 1) return;
    _tile_stored(1, out + STEP, row);
    _tile_stored(3, out + SIDE * row + STEP, row);
}

/* Tile 4 is X, 5 .. 7 are W. */
INLINE void flat_step(int panels, Rows x, const uint8_t *const w[PANELS], int64_t at)
{
    _tile_loadd(4, x.p, x.row);
    _tile_loadd(5, w[0] + at, STEP);
    tile_dot(0, 4, 5);
    if (panels == 1) return;
    _tile_loadd(6, w[1] + at, STEP);
    tile_dot(1, 4, 6);
    if (panels == 2) return;
    _tile_loadd(7, w[2] + at, STEP);
    tile_dot(2, 4, 7);
    _tile_loadd(5, w[3] + at, STEP);
    tile_dot(3, 4, 5);
}

/* out[16][panels * 16] */
INLINE void flat_block(int panels, Rows x, const Strip *s, char *out)
{
    const uint8_t *const end[PANELS] = { s->end[0], s->end[1], s->end[2], s->end[3] };
    sums_clear();
    for (int64_t k = 0; k < s->steps; k++, x.p += STEP)
        flat_step(panels, x, s->w, k * TILE_BYTES);
    if (s->rest) flat_step(panels, x, end, 0);
    int64_t row = (int64_t)panels * STEP;
    _tile_stored(0, out, row);
    if (panels == 1) return;
    _tile_stored(1, out + STEP, row);
    if (panels == 2) return;
    _tile_stored(2, out + 2 * STEP, row);
    _tile_stored(3, out + 3 * STEP, row);
}

static void block(bool tall, int panels, Rows x, const Strip *s, char *out)
{
    if (tall && panels == 2) tall_block(2, x, s, out);
    else if (tall) tall_block(1, x, s, out);
    else if (panels == 4) flat_block(4, x, s, out);
    else if (panels == 2) flat_block(2, x, s, out);
    else flat_block(1, x, s, out);
}

/* Panels of `bytes` each from p on. */
static void strip_start(Strip *s, const uint8_t *p, int64_t bytes, int panels)
{
    int64_t whole = bytes / TILE_BYTES * TILE_BYTES;
    s->steps = bytes / TILE_BYTES;
    s->rest = whole < bytes;
    for (int i = 0; i < PANELS; i++) s->w[i] = p + (i < panels ? i : 0) * bytes;
    for (int i = 0; s->rest && i < panels; i++) {
        memset(s->end[i], 0, TILE_BYTES);
        memcpy(s->end[i], s->w[i] + whole, (size_t)(bytes - whole));
    }
}

static void tiles_configure(void) /* of this thread */
{
    _Alignas(64) struct {
        uint8_t palette, start, zero[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } all = { .palette = 1 };
    for (int i = 0; i < 8; i++) all.bytes[i] = STEP, all.rows[i] = SIDE;
    _tile_loadconfig(&all);
}

/* groups: steps of four bytes that a row has. Rows past m1, to a multiple of 16, are read and left. */
static void tiles_gemm(const Linear *l, Rows x, int64_t groups, int64_t m0, int64_t m1, int64_t p0,
                       int64_t p1)
{
    _Alignas(64) char sum[4 * TILE_BYTES];
    Strip strip;
    int64_t bytes = groups * STEP, panels;
    tiles_configure();
    for (int64_t p = p0; p < p1; p += panels) {
        panels = group_of(p1 - p, m1 - m0 > SIDE ? 2 : PANELS);
        strip_start(&strip, (const uint8_t *)l->w + p * bytes, bytes, (int)panels);
        for (int64_t m = m0; m < m1; m += 2 * SIDE) {
            Tile t = { sum, m, p * PANEL, (int)MIN(2 * SIDE, m1 - m), (int)panels };
            block(t.rows > SIDE, t.panels, (Rows){ x.p + m * x.row, x.row }, &strip, sum);
            finish_tile(l, &t);
        }
    }
    _tile_release();
}

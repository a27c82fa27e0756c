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

/* The tile before this one, finished row by row between the steps of this one: the tile unit works
 * on while the vector unit adds the bias or takes a gelu. */
typedef struct Late {
    const Linear *l;
    Tile t;                     /* what is left of it */
} Late;
static void late_finish(Late *late, int rows)
{
    Tile t = late->t;
    t.rows = MIN(rows, t.rows);
    if (!t.rows) return;
    finish_tile(late->l, &t);
    late->t.sum = (const char *)t.sum + t.rows * t.panels * STEP;
    late->t.m += t.rows;
    late->t.rows -= t.rows;
}
INLINE int late_rows(const Late *late, int64_t steps) /* of every step */
{
    return (int)((late->t.rows + steps - 1) / MAX(steps, 1));
}

/* out[32][panels * 16] */
INLINE void tall_block(int panels, Rows x, const Strip *s, Late *late, char *out)
{
    int rows = late_rows(late, s->steps);
    sums_clear();
    for (int64_t k = 0; k < s->steps; k++, x.p += STEP) {
        tall_step(panels, x, s->w[0] + k * TILE_BYTES, s->w[1] + k * TILE_BYTES);
        late_finish(late, rows);
    }
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
INLINE void flat_block(int panels, Rows x, const Strip *s, Late *late, char *out)
{
    int rows = late_rows(late, s->steps);
    const uint8_t *const end[PANELS] = { s->end[0], s->end[1], s->end[2], s->end[3] };
    sums_clear();
    for (int64_t k = 0; k < s->steps; k++, x.p += STEP) {
        flat_step(panels, x, s->w, k * TILE_BYTES);
        late_finish(late, rows);
    }
    if (s->rest) flat_step(panels, x, end, 0);
    int64_t row = (int64_t)panels * STEP;
    _tile_stored(0, out, row);
    if (panels == 1) return;
    _tile_stored(1, out + STEP, row);
    if (panels == 2) return;
    _tile_stored(2, out + 2 * STEP, row);
    _tile_stored(3, out + 3 * STEP, row);
}

static void block(const Tile *t, Rows x, const Strip *s, Late *late, char *out)
{
    bool tall = t->rows > SIDE;
    if (tall && t->panels == 2) tall_block(2, x, s, late, out);
    else if (tall) tall_block(1, x, s, late, out);
    else if (t->panels == 4) flat_block(4, x, s, late, out);
    else if (t->panels == 2) flat_block(2, x, s, late, out);
    else flat_block(1, x, s, late, out);
    late_finish(late, 2 * SIDE); /* what K was too short for */
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
    __asm__ volatile("" ::: "memory"); /* gcc does not know that a tile load reads memory */
}

static void tiles_configure(void) /* of this thread: eight tiles of 16 x 64 */
{
    static const struct { /* static: gcc 12 thinks the instruction reads 8 of its bytes */
        _Alignas(64) uint8_t palette;
        uint8_t start, zero[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } eight = { 1, 0, { 0 }, { STEP, STEP, STEP, STEP, STEP, STEP, STEP, STEP },
                { SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE } };
    _tile_loadconfig(&eight);
}

/* The part of the next strip that is asked for while block i of count runs. */
static void strip_ask(const uint8_t *next, int64_t bytes, int64_t i, int64_t count)
{
    for (int64_t at = bytes * i / count & -64; at < bytes * (i + 1) / count; at += 64)
        __builtin_prefetch(next + at, 0, 2);
}

/* groups: steps of four bytes that a row has. Up to 15 rows past m1 are read. */
static void tiles_rows(const Linear *l, Rows x, int64_t groups, int64_t m0, int64_t m1, int64_t p0,
                       int64_t p1)
{
    _Alignas(64) char sums[2][4 * TILE_BYTES]; /* of this tile and of the one before */
    Strip strip;
    Late late = { .l = l };
    int64_t bytes = groups * STEP, panels, blocks = cut_count(m1 - m0, 2 * SIDE);
    int turn = 0;
    for (int64_t p = p0; p < p1; p += panels) {
        const uint8_t *w = (const uint8_t *)l->w + p * bytes;
        panels = group_of(p1 - p, m1 - m0 > SIDE ? 2 : PANELS);
        strip_start(&strip, w, bytes, (int)panels);
        for (int64_t m = m0, i = 0; m < m1; m += 2 * SIDE, i++, turn ^= 1) {
            if (blocks > 1) strip_ask(w + panels * bytes, panels * bytes, i, blocks);
            Tile t = { sums[turn], m, p * PANEL, (int)MIN(2 * SIDE, m1 - m), (int)panels };
            block(&t, (Rows){ x.p + m * x.row, x.row }, &strip, &late, sums[turn]);
            late.t = t;
        }
    }
    late_finish(&late, 2 * SIDE);
}

static void tiles_gemm(const Linear *l, Rows x, int64_t groups, int64_t m0, int64_t m1, int64_t p0,
                       int64_t p1)
{
    int64_t count = blocks_of(m1 - m0, x.row);
    tiles_configure();
    for (int64_t i = 0; i < count; i++) {
        Cut c = cut(cut_count(m1 - m0, 2 * SIDE), count, i); /* of whole blocks */
        int64_t end = m0 + c.to * 2 * SIDE;
        tiles_rows(l, x, groups, m0 + c.from * 2 * SIDE, MIN(end, m1), p0, p1);
    }
    _tile_release();
}

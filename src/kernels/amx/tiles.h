/* SPDX-License-Identifier: Apache-2.0
 * tiles.h - blocks of 32 rows x 32 columns (tall) or 16 x 64 (flat) in four tiles of sums. A
 * tile is 16 rows of 64 bytes: 16 rows of X or 16 steps of a panel, both loaded without
 * reordering. The including file defines the product: tile_dot(sum, x, w). */
#ifndef KERNELS_AMX_TILES_H
#define KERNELS_AMX_TILES_H
#include <immintrin.h>

#include "kernels/avx512/int.h"

enum { SIDE = 16, STEP = 64, TILE_BYTES = SIDE * STEP, PANELS = 4 };

typedef struct TileRows {
    const uint8_t *p;
    int64_t row;                /* bytes */
} TileRows;

/* ---- sums: tiles 0 .. 3, two beside two (tall) or all side by side (flat) ---- */
INLINE void sums_store(bool tall, int panels, char *p, int64_t row)
{
    char *more = p + (tall ? SIDE * row : 2 * STEP);
    _tile_stored(0, p, row);
    if (panels > 1) _tile_stored(1, p + STEP, row);
    if (tall || panels > 2) _tile_stored(2, more, row);
    if (panels > (tall ? 1 : 2)) _tile_stored(3, more + STEP, row);
}
INLINE void sums_load(bool tall, int panels, const char *p, int64_t row)
{
    const char *more = p + (tall ? SIDE * row : 2 * STEP);
    _tile_loadd(0, p, row);
    if (panels > 1) _tile_loadd(1, p + STEP, row);
    if (tall || panels > 2) _tile_loadd(2, more, row);
    if (panels > (tall ? 1 : 2)) _tile_loadd(3, more + STEP, row);
}

/* ---- steps ---- */
/* Loads before products: if another thread is busy on the same core, alternating between the two
 * is slower; otherwise the order does not matter. Tiles 4 and 5 are X, 6 and 7 W. */
INLINE void tall_step(int panels, TileRows x, const uint8_t *w0, const uint8_t *w1)
{
    _tile_loadd(4, x.p, x.row);
    _tile_loadd(5, x.p + SIDE * x.row, x.row);
    _tile_stream_loadd(6, w0, STEP);
    if (panels > 1) _tile_stream_loadd(7, w1, STEP);
    tile_dot(0, 4, 6);
    tile_dot(2, 5, 6);
    if (panels == 1) return;
    tile_dot(1, 4, 7);
    tile_dot(3, 5, 7);
}
/* Tile 4 is X, 5 .. 7 are W, which is used this once. */
INLINE void flat_step(int panels, TileRows x, const uint8_t *w, int64_t panel)
{
    _tile_loadd(4, x.p, x.row);
    _tile_loadd(5, w, STEP);
    if (panels > 1) _tile_loadd(6, w + panel, STEP);
    if (panels > 2) _tile_loadd(7, w + 2 * panel, STEP);
    tile_dot(0, 4, 5);
    if (panels > 1) tile_dot(1, 4, 6);
    if (panels <= 2) return;
    tile_dot(2, 4, 7);
    _tile_loadd(5, w + 3 * panel, STEP);
    tile_dot(3, 4, 5);
}
INLINE void step(bool tall, int panels, TileRows x, const uint8_t *w, int64_t panel)
{
    if (tall) tall_step(panels, x, w, w + panel);
    else flat_step(panels, x, w, panel);
}

INLINE void tiles_configure(void) /* of this thread: eight tiles of 16 x 64 */
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

#endif

/* SPDX-License-Identifier: Apache-2.0
 * tile.h - the register tile under GEMM and attention: rows x panels sums, each one accumulator
 * that starts at 0 and takes k = 0, 1, 2 ... by fused multiply-adds, as the reference does. The
 * rows and panels are constants of each copy, so that the compiler keeps every sum in a
 * register. */
#ifndef KERNELS_BODY_TILE_H
#define KERNELS_BODY_TILE_H
#include "tile_end.h"

/* What will be read after this tile: every few steps a line of each panel is prefetched, so that
 * weights are loaded during compute. The row tiles of a panel share the prefetching. */
enum { STRIDE = 8 };        /* steps between two such moments */
typedef struct Ahead {
    const char *p;          /* what comes next, of the first panel */
    int64_t far;            /* bytes from there to what comes later, for the second cache, or 0 */
    int64_t panel;          /* bytes from panel to panel */
    int64_t at, step;       /* in 1/256 of a byte: what to prefetch next, and the stride */
} Ahead;
INLINE void ahead_ask(Ahead *a, int panels, bool far)
{
    __asm__ volatile("" ::: "memory"); /* read it here: all registers are needed in between */
    int64_t from = a->at >> 8 & -64;
    a->at += a->step;
    for (int64_t to = a->at >> 8 & -64; from < to; from += 64)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) {
            __builtin_prefetch(a->p + p * a->panel + from);
            if (far && a->far) __builtin_prefetch(a->p + a->far + p * a->panel + from, 0, 2);
        }
}

/* sum = x * w. One of them is kept and changed from tile to tile, and tiles read it field by field:
 * a struct given by value is copied by loads wider than the stores that wrote it, which wait for
 * all that was before them, and then no two tiles overlap. */
typedef struct TileProduct {
    const float *x;         /* the side that is broadcast: row r, step k is at x[r*row + k*next] */
    int64_t row, next;
    const float *w;         /* panels of rows of 16 floats */
    int64_t panel;          /* floats from panel to panel */
    int64_t K;              /* steps */
    bool more;              /* the sums continue from their stored values, not from 0 */
    Ahead ahead;
    int64_t every;          /* steps between two prefetches; K if nothing is prefetched */
    float *sum;             /* 16 floats of row r, panel p go to sum[r*sum_row + p*sum_panel] */
    int64_t sum_row, sum_panel;
    TileEnd end;            /* what is done to the sums first */
} TileProduct;

INLINE void tile_body(int rows, int panels, TileProduct *t)
{
    vf sum[TILE_ROWS][TILE_PANELS];
    const int64_t panel = t->panel, row = t->row, next = t->next;
    const float *x = t->x, *w = t->w;
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++)
            sum[r][p] = t->more ? vf_load(t->sum + r * t->sum_row + p * t->sum_panel) : vf_set(0);
    tile_end_ask(rows, panels, &t->end);
    for (int64_t left = t->K, steps; left > 0; left -= steps) {
        ahead_ask(&t->ahead, panels, true);
        steps = MIN(t->every, left);
        for (int64_t k = steps; k > 0; k--, w += PANEL, x += next) {
            vf b[TILE_PANELS];
#pragma GCC unroll 32
            for (int p = 0; p < panels; p++) b[p] = vf_load(w + p * panel);
#pragma GCC unroll 32
            for (int r = 0; r < rows; r++) {
                vf a = vf_set(x[r * row]);
#pragma GCC unroll 32
                for (int p = 0; p < panels; p++) sum[r][p] = TILE_STEP(a, b[p], sum[r][p]);
            }
        }
    }
    tile_end(rows, panels, sum[0], TILE_PANELS, &t->end);
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++)
            vf_store(t->sum + r * t->sum_row + p * t->sum_panel, sum[r][p]);
}

#define X(rows, panels)                                                                        \
    static void tile_##rows##x##panels(TileProduct *t) { tile_body(rows, panels, t); }
TILES(X)
#undef X

typedef void TileFn(TileProduct *);
#define X(rows, panels) [rows][panels] = tile_##rows##x##panels,
static TileFn *const tile_fn[TILE_ROWS + 1][TILE_PANELS + 1] = { TILES(X) };
#undef X

/* n rows are cut into equal tiles: 7 = 4 + 3, since 6 + 1 would run its last tile at FMA
 * latency. */
typedef struct PanelRange {
    int64_t from, to;
} PanelRange;
INLINE int64_t cut_count(int64_t n, int most) { return (n + most - 1) / most; }
INLINE PanelRange cut(int64_t n, int64_t count, int64_t i)
{
    return (PanelRange){ n * i / count, n * (i + 1) / count };
}

/* The same for the row tiles of a GEMM, of which there are many: the divisions are done once. */
typedef struct Tiling {
    int64_t count;          /* tiles */
    int64_t rows, more;     /* of each; the first `more` tiles have one row more */
    int64_t part, step;     /* of Ahead: the share of one tile, and of a stride of it */
} Tiling;
INLINE Tiling tiling_of(int64_t rows, int most, int64_t panel_bytes)
{
    int64_t count = MAX(1, cut_count(rows, most));
    int64_t step = count > 1 ? (STRIDE * 64 << 8) / count : 0; /* one tile: the CPU sees it */
    return (Tiling){ count, rows / count, rows % count, (panel_bytes << 8) / count, step };
}
INLINE PanelRange tiling_cut(const Tiling *t, int64_t i)
{
    int64_t from = i * t->rows + MIN(i, t->more);
    return (PanelRange){ from, from + t->rows + (i < t->more) };
}
INLINE Ahead tiling_ahead(const Tiling *t, int64_t i, const void *next, int64_t panel_bytes)
{
    return (Ahead){ next, 0, panel_bytes, t->part * i, t->step };
}

/* Rows of X are run under all panels before the next: about `most` bytes of them, say NEAR_X, which
 * the second cache keeps. */
enum { NEAR_X = 640 << 10 };
INLINE int64_t blocks_of(int64_t rows, int64_t row_bytes, int64_t most)
{
    return MAX(1, (rows * row_bytes + most / 2) / most);
}

/* Panels of the next step: as many as the tile may take, halved until they are there. */
INLINE int64_t group_of(int64_t left, int64_t most)
{
    while (most > left) most /= 2;
    return most;
}

#endif

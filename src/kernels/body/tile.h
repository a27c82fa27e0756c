/* SPDX-License-Identifier: Apache-2.0
 * tile.h - the register tile under GEMM and attention: rows x panels sums, each one accumulator
 * that starts at 0 and takes k = 0, 1, 2 ... by fused multiply-adds, as the reference does. The
 * rows and panels are constants of each copy, so that the compiler keeps every sum in a
 * register. */
#ifndef KERNELS_BODY_TILE_H
#define KERNELS_BODY_TILE_H

typedef struct Side {       /* the side that is broadcast, element by element */
    const float *p;         /* row r, step k is at p[r * row + k * next] */
    int64_t row, next;
} Side;

/* out[rows][panels * 16] = x * w; w: panels of K rows of 16 floats, one behind the other. */
INLINE void tile_body(int rows, int panels, Side x, const float *w, int64_t K, float *out)
{
    vf sum[TILE_ROWS][TILE_PANELS];
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) sum[r][p] = vf_set(0);
    int64_t panel = K * PANEL;
    for (int64_t k = 0; k < K; k++, w += PANEL, x.p += x.next) {
        vf b[TILE_PANELS];
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) b[p] = vf_load(w + p * panel);
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++) {
            vf a = vf_set(x.p[r * x.row]);
#pragma GCC unroll 32
            for (int p = 0; p < panels; p++) sum[r][p] = vf_fma(a, b[p], sum[r][p]);
        }
    }
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) vf_store(out + (r * panels + p) * PANEL, sum[r][p]);
}

#define X(rows, panels)                                                                        \
    static void tile_##rows##x##panels(Side x, const float *w, int64_t K, float *out)          \
    {                                                                                          \
        tile_body(rows, panels, x, w, K, out);                                                 \
    }
TILES(X)
#undef X

typedef void TileFn(Side x, const float *w, int64_t K, float *out);
#define X(rows, panels) [rows][panels] = tile_##rows##x##panels,
static TileFn *const tile_fn[TILE_ROWS + 1][TILE_PANELS + 1] = { TILES(X) };
#undef X

/* n rows are cut into equal tiles: 7 = 4 + 3, since 6 + 1 would run its last tile at FMA
 * latency. */
typedef struct Cut {
    int64_t from, to;
} Cut;
INLINE int64_t cut_count(int64_t n, int most) { return (n + most - 1) / most; }
INLINE Cut cut(int64_t n, int64_t count, int64_t i)
{
    return (Cut){ n * i / count, n * (i + 1) / count };
}

/* Panels of the next step: as many as the tile may take, halved until they are there. */
INLINE int64_t group_of(int64_t left, int64_t most)
{
    while (most > left) most /= 2;
    return most;
}

#endif

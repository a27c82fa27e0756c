/* SPDX-License-Identifier: Apache-2.0
 * tile_end.h - the end of a tile whose sums are floats, while they are in registers: bias, residual and relu, in this
 * order, of columns that are all there. */
#ifndef KERNELS_BODY_TILE_END_H
#define KERNELS_BODY_TILE_END_H

typedef struct TileEnd {
    const float *bias;      /* added to every row, or NULL */
    const float *residual;  /* added to row r: residual[r * row ...], or NULL */
    int64_t row;
    bool relu;              /* what is below 0 becomes 0 */
} TileEnd;

/* What follows this product is no more than that; else finish.h does it. */
INLINE bool tile_ends(const Linear *l)
{
    return l->act == ACT_NONE || (l->act == ACT_RELU && (l->late || !l->residual));
}

/* Prefetched while the tile multiplies: loaded only at the end, it would delay the next tile. */
INLINE void tile_end_ask(int rows, int panels, const TileEnd *e)
{
    if (e->residual)
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
            for (int p = 0; p < panels; p++) __builtin_prefetch(e->residual + r * e->row + p * PANEL);
}

/* Row r, panel p is sum[r * wide + p]: tiles of several sizes have their sums in arrays of one. */
INLINE void tile_end(int rows, int panels, vf *sum, int wide, const TileEnd *e)
{
    if (e->bias)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) {
            const vf bias = vf_load(e->bias + p * PANEL);
#pragma GCC unroll 32
            for (int r = 0; r < rows; r++) sum[r * wide + p] = vf_add(sum[r * wide + p], bias);
        }
    if (e->residual)
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
            for (int p = 0; p < panels; p++)
                sum[r * wide + p] = vf_add(sum[r * wide + p], vf_load(e->residual + r * e->row + p * PANEL));
    if (e->relu)
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
            for (int p = 0; p < panels; p++) sum[r * wide + p] = vf_max(vf_set(0), sum[r * wide + p]);
}

#endif

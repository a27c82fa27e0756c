/* SPDX-License-Identifier: Apache-2.0
 * gemm_bf16.h - the bf16 GEMM: dot.h with two products a lane and step, sums in f32. */
typedef vf acc;
INLINE acc acc_zero(void) { return vf_set(0); }
INLINE acc acc_dot(acc sum, vi x, vi w) { return vi_dot_bf16(sum, x, w); }

enum { LOW_Y = 1 };
#include "sum.h"

#include "dot.h"

/* Columns that are all there; rows of bf16 that need no filling up behind them. */
INLINE bool dot_ends(const Linear *l, int64_t n, int64_t panels)
{
    const int64_t end = n + panels * PANEL;
    const bool half = l->yb && end == l->N && end / PANEL % 2;
    return end <= l->N && !half && tile_ends(l);
}

INLINE void dot_end(int rows, int panels, acc sum[DOT_ROWS][DOT_PANELS], const DotTile *t)
{
    tile_end(rows, panels, sum[0], DOT_PANELS, &t->end);
    if (t->y)
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
            for (int p = 0; p < panels; p++) vf_store(t->y + r * t->y_row + p * PANEL, sum[r][p]);
    if (t->yb)
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
            for (int p = 0; p < panels; p++) vf_store_bf16(t->yb + r * t->yb_row + p * PANEL, sum[r][p]);
}

static void gemm_bf16_body(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    const int64_t taps = l->at ? l->taps : 1;
    Groups g = { (const uint8_t *)l->xb, row_bf16(l->K) * (int64_t)sizeof(*l->xb), l->at, taps,
                 (l->K / taps + 1) / 2 };
    dot_gemm(l, g, m0, m1, p0, p1);
}

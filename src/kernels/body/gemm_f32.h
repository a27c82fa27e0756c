/* SPDX-License-Identifier: Apache-2.0
 * gemm_f32.h - the f32 GEMM: panel outer, rows inner, so that a panel is read from memory once and
 * stays in the nearest cache while all rows of a block pass over it. No packing of X, no blocking
 * of K. */
#include "sum.h"

#include "finish.h"
#include "tile.h"

static void gemm_f32_block(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    _Alignas(64) float sum[TILE_ROWS * TILE_PANELS * PANEL];
    const int64_t bytes = l->K * PANEL * (int64_t)sizeof(float);
    const Tiling rows = tiling_of(m1 - m0, TILE_ROWS, bytes);
    const int widest = tile_panels((int)(rows.rows + (rows.more > 0)));
    if (m1 <= m0) return;
    for (int64_t p = p0, panels; p < p1; p += panels) {
        const float *w = (const float *)l->w + p * PANEL * l->K;
        panels = group_of(p1 - p, widest);
        for (int64_t i = 0; i < rows.count; i++) {
            Cut c = tiling_cut(&rows, i);
            Tile t = { sum, m0 + c.from, p * PANEL, (int)(c.to - c.from), (int)panels };
            Ahead ahead = tiling_ahead(&rows, i, w + panels * PANEL * l->K, bytes);
            tile_fn[t.rows][panels]((Side){ l->x + t.m * l->ldx, l->ldx, 1 }, w, l->K, ahead,
                                    (Sums){ sum, panels * PANEL, PANEL });
            finish_tile(l, &t);
        }
    }
}

static void gemm_f32_body(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    int64_t blocks = blocks_of(m1 - m0, l->K * (int64_t)sizeof(float));
    for (int64_t i = 0; i < blocks; i++) {
        Cut c = cut(m1 - m0, blocks, i);
        gemm_f32_block(l, m0 + c.from, m0 + c.to, p0, p1);
    }
}

/* SPDX-License-Identifier: Apache-2.0
 * gemm_f32.h - the f32 GEMM: panel outer, rows inner, so that a panel is read from memory once and
 * stays in the nearest cache while all rows of a block pass over it. No packing of X, no blocking
 * of K. */
enum { LOW_Y = 0 };
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
    Product t = { .row = l->ldx, .next = 1, .K = l->K, .ahead = { .panel = bytes, .step = rows.step },
                  .sum = sum, .sum_panel = PANEL };
    for (int64_t p = p0, panels; p < p1; p += panels) {
        panels = group_of(p1 - p, widest);
        t.w = (const float *)l->w + p * PANEL * l->K;
        t.ahead.p = (const char *)(t.w + panels * PANEL * l->K);
        t.sum_row = panels * PANEL;
        for (int64_t i = 0; i < rows.count; i++) {
            Cut c = tiling_cut(&rows, i);
            t.x = l->x + (m0 + c.from) * l->ldx;
            t.ahead.at = rows.part * i;
            tile_fn[c.to - c.from][panels](&t);
            finish_tile(l, &(Tile){ sum, m0 + c.from, p * PANEL, (int)(c.to - c.from),
                                    (int)panels });
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

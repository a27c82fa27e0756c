/* SPDX-License-Identifier: Apache-2.0
 * gemm_f32.h - the f32 GEMM: panel outer, rows inner, so that a panel is read from memory once and
 * stays in the nearest cache while all rows of a block pass over it. No packing of X; K in chunks
 * only where there are few rows. */
enum { LOW_Y = 0 };
#include "sum.h"

#include "finish.h"
#include "tile.h"

/* Few row tiles wait for memory more than they multiply. They take K in chunks that stay in the first
 * cache while all of them pass, with the sums kept beside: then as many lines are asked for in every
 * step, the next chunk's for the first cache, and what is FAR bytes behind it for the second, since
 * the first can wait for too few lines at a time. More tiles hide the memory as they are. */
enum { FEW = 3, CHUNK = 192, FAR = 32 << 10 };

/* A weight of so many bytes is not asked for: it was near all the time, or the CPU's own prefetcher
 * brings it soon enough, and asking costs 2 % of a product. */
enum { SMALL = 256 << 10 };

static void gemm_f32_block(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    _Alignas(64) float sum[FEW * TILE_ROWS * TILE_PANELS * PANEL];
    const int64_t K = l->K, panel = K * PANEL, bytes = panel * (int64_t)sizeof(float);
    const Tiling rows = tiling_of(m1 - m0, TILE_ROWS, bytes);
    const int widest = tile_panels((int)(rows.rows + (rows.more > 0)));
    const bool few = widest == 1 && rows.count > 1 && rows.count <= FEW;
    const int64_t chunk = few ? CHUNK : K;
    const bool asks = rows.count > 1 && l->N * K * (int64_t)sizeof(float) > SMALL;
    const int64_t times = few ? 1 : 2; /* more tiles have more moments to ask for a line */
    const bool plain = chunk >= K && l->act == ACT_NONE; /* then a tile goes straight to Y */
    if (m1 <= m0) return;
    Product t = { .row = l->ldx, .next = 1, .panel = panel, .sum_panel = PANEL,
                  .residual_row = l->ldr,
                  .ahead = { .every = asks ? times * STRIDE : K, .far = few ? FAR : 0,
                             .panel = bytes, .step = asks ? times * rows.step : 0 } };
    for (int64_t p = p0, panels; p < p1; p += panels) {
        panels = group_of(p1 - p, widest);
        const bool direct = plain && (p + panels) * PANEL <= l->N;
        t.sum_row = direct ? l->ldy : panels * PANEL;
        t.bias = direct && l->bias ? l->bias + p * PANEL : NULL;
        for (int64_t k = 0; k < K; k += chunk) {
            t.w = (const float *)l->w + p * panel + k * PANEL;
            t.K = MIN(chunk, K - k), t.more = k > 0;
            t.ahead.p = (const char *)(t.w + panels * t.K * PANEL), t.ahead.at = 0;
            for (int64_t i = 0; i < rows.count; i++) {
                Cut c = tiling_cut(&rows, i);
                t.x = l->x + (m0 + c.from) * l->ldx + k;
                t.sum = direct ? l->y + (m0 + c.from) * l->ldy + p * PANEL
                        : few  ? sum + c.from * t.sum_row
                               : sum;
                t.residual = direct && l->residual
                                 ? l->residual + (m0 + c.from) * l->ldr + p * PANEL
                                 : NULL;
                tile_fn[c.to - c.from][panels](&t);
                if (!direct && k + t.K == K)
                    finish_tile(l, &(Tile){ t.sum, m0 + c.from, p * PANEL, (int)(c.to - c.from),
                                            (int)panels });
            }
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

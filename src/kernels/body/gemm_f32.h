/* SPDX-License-Identifier: Apache-2.0
 * gemm_f32.h - the f32 GEMM: panel outer, rows inner, so that a panel is read from memory once and
 * stays in a near cache while all rows of a block pass over it. No packing of X; K in chunks only
 * where there are few rows. */
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

/* Rows of X that the second cache keeps pass under one panel after the other. More of them come
 * from the third cache: then those of a tile pass under NEAR_W bytes of panels while they are in
 * the first. Too many rows even for the third cache are cut into blocks. */
enum { MOST_X = 4 << 20, NEAR_W = 400 << 10 };

typedef struct StripRows {  /* a block of rows of X, for steps of K from k on */
    const Linear *l;
    int64_t m0, k;
    Tiling tiles;
    bool plain;             /* a tile goes straight to Y */
    bool last;              /* no steps follow these */
    bool kept;              /* sums of all tiles wait for other steps, side by side */
    float *sum;
} StripRows;

static void run_strip(const StripRows *r, TileProduct *t, PanelRange strip, int64_t p,
                      int64_t panels)
{
    const Linear *l = r->l;
    const int64_t n = p * PANEL;
    const bool direct = r->plain && n + panels * PANEL <= l->N;
    t->w = (const float *)l->w + n * l->K + r->k * PANEL;
    t->sum_row = direct ? l->ldy : panels * PANEL;
    t->bias = direct && l->bias ? l->bias + n : NULL;
    for (int64_t i = strip.from; i < strip.to; i++) {
        PanelRange c = tiling_cut(&r->tiles, i);
        const int64_t m = r->m0 + c.from;
        t->x = l->x + m * l->ldx + r->k;
        t->sum = direct    ? l->y + m * l->ldy + n
                 : r->kept ? r->sum + c.from * t->sum_row
                           : r->sum;
        t->residual = direct && l->residual ? l->residual + m * l->ldr + n : NULL;
        tile_fn[c.to - c.from][panels](t);
        if (!direct && r->last)
            finish_tile(l, &(Tile){ t->sum, m, n, (int)(c.to - c.from), (int)panels });
    }
}

static void gemm_f32_block(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    _Alignas(64) float sum[FEW * TILE_ROWS * TILE_PANELS * PANEL];
    const int64_t K = l->K, panel = K * PANEL, bytes = panel * (int64_t)sizeof(float);
    const Tiling tiles = tiling_of(m1 - m0, TILE_ROWS, bytes);
    const int widest = tile_panels((int)(tiles.rows + (tiles.more > 0)));
    const bool few = widest == 1 && tiles.count > 1 && tiles.count <= FEW;
    const int64_t chunk = few ? CHUNK : K;
    const bool asks = tiles.count > 1 && l->N * K * (int64_t)sizeof(float) > SMALL;
    const int64_t times = tiles.count <= FEW ? 1 : 2; /* more of them have more moments to ask */
    const bool near = (m1 - m0) * K * (int64_t)sizeof(float) <= NEAR_X;
    const int64_t most = near ? 1 : MAX(1, NEAR_W / (widest * bytes)), group = most * widest;
    const int64_t strip = near ? tiles.count : 1; /* tiles at a time */
    if (m1 <= m0) return;
    StripRows r = { .l = l, .m0 = m0, .tiles = tiles, .plain = chunk >= K && l->act == ACT_NONE,
               .kept = few, .sum = sum };
    TileProduct t = { .row = l->ldx, .next = 1, .panel = panel, .sum_panel = PANEL,
                  .residual_row = l->ldr,
                  .every = asks ? times * STRIDE : K,
                  .ahead = { .far = few ? FAR : 0, .panel = most * bytes,
                             .step = asks ? times * tiles.step : 0 } };
    for (int64_t g = p0; g < p1; g += group) {
        const int64_t end = MIN(g + group, p1);
        for (r.k = 0; r.k < K; r.k += chunk) {
            t.K = MIN(chunk, K - r.k), t.more = r.k > 0, r.last = r.k + t.K == K;
            t.ahead.p = (const char *)((const float *)l->w + (end - 1) * panel +
                                       (r.k + t.K) * PANEL);
            t.ahead.at = 0;
            for (int64_t i = 0; i < tiles.count; i += strip)
                for (int64_t p = g, panels; p < end; p += panels) {
                    panels = group_of(end - p, widest);
                    run_strip(&r, &t, (PanelRange){ i, MIN(i + strip, tiles.count) }, p, panels);
                }
        }
    }
}

static void gemm_f32_body(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    int64_t blocks = blocks_of(m1 - m0, l->K * (int64_t)sizeof(float), MOST_X);
    for (int64_t i = 0; i < blocks; i++) {
        PanelRange c = cut(m1 - m0, blocks, i);
        gemm_f32_block(l, m0 + c.from, m0 + c.to, p0, p1);
    }
}

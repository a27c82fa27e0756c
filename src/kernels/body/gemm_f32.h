/* SPDX-License-Identifier: Apache-2.0
 * gemm_f32.h - the f32 GEMM: panel outer, rows inner, so that a panel is read from memory once and
 * stays in a near cache while all rows of a block pass over it. No packing of X; K in chunks only
 * where there are few rows. */
enum { LOW_Y = 0 };
#include "sum.h"

#include "finish.h"
#include "tile.h"

/* With few row tiles the product is bound by memory. K is then taken in chunks that stay in the
 * first cache while all tiles use them, with the partial sums kept in memory: each step
 * prefetches equally many lines, those of the next chunk into the first cache and those FAR
 * bytes later into the second, since the first cache can have only few lines outstanding. With
 * more tiles the latency is hidden anyway. */
enum { FEW = 3, CHUNK = 192, FAR = 32 << 10 };

/* A weight of at most this many bytes is not prefetched: it is in cache already, or the hardware
 * prefetcher is quick enough, and prefetching costs 2 % of a product. */
enum { SMALL = 256 << 10 };

/* If the rows of X fit the second cache, all of them are multiplied with one panel after the
 * other. If not, the rows of a tile are multiplied with NEAR_W bytes of panels while they are in
 * the first cache. Rows that do not even fit the third cache are split into blocks. */
enum { MOST_X = 4 << 20, NEAR_W = 400 << 10 };

typedef struct StripRows {  /* a block of rows of X, for steps of K from k on */
    const Linear *l;
    int64_t m0, k;
    Tiling tiles;
    bool plain;             /* a tile goes straight to Y */
    bool last;              /* no steps follow these */
    bool kept;              /* the partial sums of all tiles are kept in memory */
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
    t->end.bias = direct && l->bias ? l->bias + n : NULL;
    t->end.relu = direct && l->act == ACT_RELU;
    for (int64_t i = strip.from; i < strip.to; i++) {
        PanelRange c = tiling_cut(&r->tiles, i);
        const int64_t m = r->m0 + c.from;
        t->x = l->x + m * l->ldx + r->k;
        t->sum = direct    ? l->y + m * l->ldy + n
                 : r->kept ? r->sum + c.from * t->sum_row
                           : r->sum;
        t->end.residual = direct && l->residual ? l->residual + m * l->ldr + n : NULL;
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
    StripRows r = { .l = l, .m0 = m0, .tiles = tiles, .plain = chunk >= K && tile_ends(l),
               .kept = few, .sum = sum };
    TileProduct t = { .row = l->ldx, .next = 1, .panel = panel, .sum_panel = PANEL,
                  .end = { .row = l->ldr },
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

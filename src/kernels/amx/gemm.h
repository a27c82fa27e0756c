/* SPDX-License-Identifier: Apache-2.0
 * gemm.h - the GEMM in tiles. The including file defines the product, tile_dot(sum, x, w), and
 * whether sums are FLOATS.
 *
 * The tile unit takes 65 cycles for the four products of a step, and four tile loads take as
 * long from the first cache, 94 from the second. So one side must stay in the first cache: the
 * rows of X of a block, while the panels are loaded with a streaming hint (stream_load). If K is
 * too long for that, it is split, and the partial sums of a strip are kept in memory. A model's
 * weights come from the third cache: while one group of panels is multiplied with all rows, the
 * next group is prefetched, at the end the first of the next product. */
#include "kernels/body/finish.h"
#include "kernels/body/tile.h"
#include "tiles.h"

enum {
    WHOLE_STEPS = 24, CUT_STEPS = 12,   /* of K: more than the first are cut into the second */
    CUT_STRIPS = 12,                    /* strips of a group whose sums wait */
    GROUP_BYTES = 256 << 10,            /* of W that the second cache keeps for the next rows */
    NEAR_BYTES = 512 << 10              /* where all of W is in it already */
};

typedef struct TileBlock {      /* of sums, and what is multiplied into them */
    Tile t;                     /* its sums: in memory before and after */
    TileRows x;                 /* from this part of K on */
    const uint8_t *w;           /* the first panel, likewise */
    int64_t panel;              /* bytes from panel to panel */
    int64_t steps;              /* whole ones: 64 bytes of a row each */
    int64_t rest;               /* bytes of a panel after them, or 0 */
    bool first, last;           /* part of K */
    const char *ahead;          /* prefetched meanwhile, this many lines per step */
    int64_t lines;
} TileBlock;

/* ---- the finish of two whole panels, which is nearly all of them: no question inside the loop ---- */
INLINE vf pair_value(const Linear *l, const ScaleColumns *c, const char *sum, int64_t m, vf bias, Act act)
{
    vf v = sum_of(l, c, sum, m);
    return act_of(act, FLOATS ? v : vf_add(v, bias)); /* sums of floats began with it */
}
INLINE void pair_rows(const Linear *of, const Tile *t, bool low, bool residual, Act act)
{
    Linear own = *of, *l = &own; /* a local copy, which no store can alias: it stays in registers */
    l->w_zero = NULL;
    const int64_t n = t->n, last = t->m + t->rows, row = row_bf16(l->N);
    const ScaleColumns c0 = columns_at(l, n), c1 = columns_at(l, n + PANEL);
    const vf bias0 = FLOATS ? vf_set(0) : vf_load(l->bias + n);
    const vf bias1 = FLOATS ? vf_set(0) : vf_load(l->bias + n + PANEL);
    const char *sum = t->sum;
    for (int64_t m = t->m; m < last; m++, sum += 2 * STEP) {
        vf v0 = pair_value(l, &c0, sum, m, bias0, act);
        vf v1 = pair_value(l, &c1, sum + STEP, m, bias1, act);
        if (residual) {
            const float *more = l->residual + m * l->ldr + n;
            v0 = vf_add(v0, vf_load(more)), v1 = vf_add(v1, vf_load(more + PANEL));
        }
        if (low) {
            _mm512_storeu_si512(l->yb + m * row + n, (__m512i)_mm512_cvtne2ps_pbh(v1, v0));
            continue;
        }
        vf_store(l->y + m * l->ldy + n, v0);
        vf_store(l->y + m * l->ldy + n + PANEL, v1);
    }
}
#define ACTS(X)                                                                                 \
    X(ACT_NONE) X(ACT_RELU) X(ACT_GELU) X(ACT_GELU_TANH) X(ACT_TANH) X(ACT_SIGMOID) X(ACT_SILU)
INLINE void pair_body(const Linear *l, const Tile *t, Act act)
{
    if (LOW_Y && l->yb) pair_rows(l, t, true, false, act);
    else pair_rows(l, t, false, false, act);
}
typedef void PairFn(const Linear *, const Tile *);
static void pair_residual(const Linear *l, const Tile *t) { pair_rows(l, t, false, true, ACT_NONE); }
#define X(act) \
    static void pair_##act(const Linear *l, const Tile *t) { pair_body(l, t, act); }
ACTS(X)
#undef X
/* NULL: none for such a product. */
static PairFn *pair_for(const Linear *l)
{
#define X(act) [act] = pair_##act,
    static PairFn *const plain[ACT_COUNT] = { ACTS(X) };
#undef X
    if (!FLOATS && (!l->bias || l->w_zero)) return NULL;
    if (l->residual) return l->act == ACT_NONE && !l->yb ? pair_residual : NULL;
    return plain[l->act];
}

/* The block before this one, finished row by row between the steps of this one: the tile unit
 * computes while the vector unit scales or applies gelu. */
typedef struct Late {
    const Linear *l;
    PairFn *pair;               /* for two whole panels, or NULL */
    Tile t;                     /* what is left of it */
} Late;
/* A row of bf16 whose last panel is the first of two is filled up behind it, which pairs do not do. */
static bool pair_fits(const Linear *l, const Tile *t)
{
    const bool fills = l->yb && t->n / PANEL % 2 && t->n + 2 * PANEL >= l->N;
    return t->panels == 2 && t->n + 2 * PANEL <= l->N && !fills;
}

static void late_finish(Late *late, int64_t rows)
{
    Tile t = late->t;
    t.rows = (int)MIN(rows, t.rows);
    if (!t.rows) return;
    if (late->pair && pair_fits(late->l, &t)) late->pair(late->l, &t);
    else finish_tile(late->l, &t);
    late->t.sum = (const char *)t.sum + t.rows * t.panels * STEP;
    late->t.m += t.rows;
    late->t.rows -= t.rows;
}

/* Sums of floats start with the bias, which a step of 0 bytes gives to all rows. */
INLINE void sums_start(bool tall, int panels, const Linear *l, const TileBlock *b)
{
    if (!FLOATS || !l->bias) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        return;
    }
    const char *bias = (const char *)(l->bias + b->t.n), *more = bias + (tall ? 0 : 2 * STEP);
    _tile_loadd(0, bias, 0);
    if (panels > 1) _tile_loadd(1, bias + STEP, 0);
    if (tall || panels > 2) _tile_loadd(2, more, 0);
    if (panels > (tall ? 1 : 2)) _tile_loadd(3, more + STEP, 0);
}

/* Nothing follows the sums of a whole block: they are stored where they belong. */
INLINE bool sums_are_result(bool tall, int panels, const Linear *l, const TileBlock *b)
{
    return FLOATS && tall && panels == 2 && l->act == ACT_NONE && !l->residual && !l->yb &&
           b->t.rows == 2 * SIDE && b->t.n + 2 * PANEL <= l->N;
}

/* The last step of a K that is no multiple of a tile, filled up with zeros. */
INLINE void rest_step(bool tall, int panels, TileRows x, const uint8_t *w, const TileBlock *b)
{
    _Alignas(64) uint8_t end[PANELS][TILE_BYTES];
    for (int i = 0; i < panels; i++) {
        memset(end[i], 0, TILE_BYTES);
        memcpy(end[i], w + i * b->panel, (size_t)b->rest);
    }
    __asm__ volatile("" ::: "memory"); /* gcc does not know that a tile load reads memory */
    step(tall, panels, x, end[0], TILE_BYTES);
}

INLINE void block_body(bool tall, int panels, const Linear *l, const TileBlock *b, Late *late)
{
    TileRows x = b->x;
    const uint8_t *w = b->w;
    const char *ahead = b->ahead;
    char *sums = (char *)b->t.sum;
    int64_t row = (int64_t)panels * STEP, wait = b->steps / 4; /* until the last sums are stored */
    int64_t rows = (late->t.rows + b->steps - wait - 1) / MAX(b->steps - wait, 1);
    if (b->first) sums_start(tall, panels, l, b);
    else sums_load(tall, panels, sums, row);
    for (int64_t k = 0; k < b->steps; k++, x.p += STEP, w += TILE_BYTES) {
        step(tall, panels, x, w, b->panel);
        for (int64_t i = 0; i < b->lines; i++, ahead += STEP) _mm_prefetch(ahead, _MM_HINT_T1);
        if (k >= wait && late->t.rows) late_finish(late, rows);
    }
    if (b->rest) rest_step(tall, panels, x, w, b);
    late_finish(late, 2 * SIDE); /* what K was too short for */
    if (b->last && sums_are_result(tall, panels, l, b)) {
        sums_store(tall, panels, (char *)(l->y + b->t.m * l->ldy + b->t.n), l->ldy * 4);
        return;
    }
    sums_store(tall, panels, sums, row);
    if (b->last) late->t = b->t;
}

static void gemm_block(const Linear *l, const TileBlock *b, Late *late)
{
    bool tall = b->t.rows > SIDE;
    if (tall && b->t.panels == 2) block_body(true, 2, l, b, late);
    else if (tall) block_body(true, 1, l, b, late);
    else if (b->t.panels == 4) block_body(false, 4, l, b, late);
    else if (b->t.panels == 2) block_body(false, 2, l, b, late);
    else block_body(false, 1, l, b, late);
}

/* ---- the walk over rows, parts of K and panels ---- */
typedef struct PanelWalk {
    TileRows x;
    int64_t panel;              /* bytes */
    int64_t parts;              /* of K */
    const char *ahead, *end;    /* of the next group: not yet prefetched */
    int64_t lines;              /* of it per step: a group prefetches all of it; or 0 */
    int most;                   /* panels of a strip */
    Late late;
    _Alignas(64) char sums[CUT_STRIPS + 1][4 * TILE_BYTES]; /* an odd end is a strip more */
} PanelWalk;

/* One part of K: a block of rows under the panels of a group. */
static void walk_panels(PanelWalk *w, const Linear *l, int64_t m, int rows, int64_t part,
                        PanelRange group)
{
    PanelRange k = cut(w->panel / TILE_BYTES, w->parts, part);
    TileBlock b = { .panel = w->panel, .steps = k.to - k.from, .first = !part,
                .last = part == w->parts - 1 };
    b.rest = b.last ? w->panel % TILE_BYTES : 0;
    b.x = (TileRows){ w->x.p + m * w->x.row + k.from * STEP, w->x.row };
    int64_t panels, ring = w->parts > 1 ? CUT_STRIPS + 1 : 2, i = 0;
    for (int64_t p = group.from; p < group.to; p += panels, i++) {
        panels = group_of(group.to - p, w->most);
        b.t = (Tile){ w->sums[i % ring], m, p * PANEL, rows, (int)panels };
        b.ahead = w->ahead, b.lines = w->ahead < w->end ? w->lines : 0;
        w->ahead += b.lines * b.steps * STEP;
        b.w = (const uint8_t *)l->w + p * w->panel + k.from * TILE_BYTES;
        gemm_block(l, &b, &w->late);
    }
}

/* groups: how many steps of four bytes a row has. Up to 15 rows past m1 are read. */
static void tiles_gemm(const Linear *l, TileRows x, int64_t groups, int64_t m0, int64_t m1,
                       int64_t p0, int64_t p1)
{
    Linear after = *l; /* what is left to do when a block has its sums */
    if (FLOATS) after.bias = NULL;
    PanelWalk w = { .x = x, .panel = groups * STEP, .most = m1 - m0 > SIDE ? 2 : PANELS,
               .late = { .l = &after, .pair = pair_for(&after) } };
    int64_t steps = w.panel / TILE_BYTES;
    w.parts = steps > WHOLE_STEPS ? (steps + CUT_STEPS - 1) / CUT_STEPS : 1;
    int64_t strips = MAX(1, (l->far ? GROUP_BYTES : NEAR_BYTES) / (w.most * w.panel)), next;
    if (w.parts > 1) strips = MIN(strips, CUT_STRIPS);
    int64_t all = cut_count(p1 - p0, w.most);
    strips = cut_count(all, (int)cut_count(all, (int)strips)); /* groups of one size */
    int64_t blocks = (m1 - m0 + 2 * SIDE - 1) / (2 * SIDE); /* one alone has no time to ask */
    if (l->far && blocks > 1) w.lines = (2 * SIDE + blocks - 1) / blocks;
    tiles_configure();
    for (int64_t p = p0; p < p1; p = next) {
        next = MIN(p1, p + strips * w.most);
        w.ahead = (const char *)l->w + next * w.panel;
        w.end = (const char *)l->w + MIN(p1, next + strips * w.most) * w.panel;
        if (next == p1) w.ahead = l->ahead, w.end = w.ahead + MIN(l->ahead_bytes, GROUP_BYTES);
        for (int64_t m = m0; m < m1; m += 2 * SIDE)
            for (int64_t part = 0; part < w.parts; part++)
                walk_panels(&w, l, m, (int)MIN(2 * SIDE, m1 - m), part, (PanelRange){ p, next });
    }
    late_finish(&w.late, 2 * SIDE);
    _tile_release();
}

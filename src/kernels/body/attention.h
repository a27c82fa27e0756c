/* SPDX-License-Identifier: Apache-2.0
 * attention.h - attention with one query a lane: 16 queries are transposed into a panel, up to
 * ATTEND_PANELS of them are taken at once (as many as the registers of a tile hold), and then
 *     scores[key][query]  = keys (as they lie)       x  panel of queries
 *     result[d][query]    = values (as they lie)     x  panel of exp(scores)
 * are two GEMMs whose broadcast side needs no copy and no padding for any D, and softmax runs
 * down the lanes, key after key. Keys of a long row are taken part by part: when a larger score is
 * met, what was summed before is scaled down. Lanes are independent, and the parts follow from the
 * length of the row: the result of a query is the same in every batch and for every split of the
 * queries.
 *
 * Numbers of a head are floats (attention_f32.h) or pairs of bf16 in the place of one (avx512bf16): the file that
 * includes this one has STEP, how many numbers are multiplied in a step, and the functions under "sides". */
#include <float.h>

#include "act.h"
#include "ends.h"
#include "tile.h"

enum { MOST_NEAR = 64 << 10 }; /* floats of q, k and v: with fewer, the next head is in cache */

typedef struct QueryBlock {     /* up to 16 queries a panel, of one row and head */
    const Attention *a;
    const float *q;             /* of the row's first token, this head */
    const float *k, *v;         /* the same, as sides have them: [keys][D / STEP], [keys / STEP][D] */
    const float *mask;          /* of query `i`, key 0; or NULL */
    float *out;
    int64_t ldk, ldv;
    int64_t first, head;        /* the row's first token; the head's first column */
    int64_t kv;                 /* that of its keys and values */
    int64_t i;                  /* first query */
    PanelRange keys;            /* those of this part that some query of the block sees */
    bool more;                  /* parts came before this one */
    bool asks;                  /* for lines of the next head, which lies beside this one */
    int count, panels;          /* queries, and panels of them */
    float *panel, *result;      /* [panels][D / STEP][16]; [panels][D][16] */
    float *scores;              /* [panels][keys][16], then weights [panels][keys / STEP][16] */
} QueryBlock;

/* ---- sides ---- */
INLINE vf side_step(const vf v[STEP]);              /* numbers that are multiplied in one step */
INLINE vf side_weight(vf x);                        /* e^x, as near as weights are */
INLINE vf side_query(const QueryBlock *, int64_t i, int d, int width); /* 16 numbers of a query from d on */
/* Keys and values for so many queries to b->k and b->v, ldk and ldv apart; copy: room for `length` of them. */
static void side_keys(QueryBlock *, int64_t length, PanelRange keys, int64_t queries, float *copy);
INLINE void side_result(const QueryBlock *, int64_t i, int d, vf v, int width);

INLINE int64_t steps_of(int64_t n) { return (n + STEP - 1) / STEP; }

typedef struct SoftmaxState {        /* of the keys so far */
    vf largest, sum;
} SoftmaxState;

INLINE int queries_in(const QueryBlock *b, int p) { return MIN(PANEL, b->count - p * PANEL); }

/* 16 x width floats, rows ld apart, to columns; rows and columns that are not there become 0. Loops
 * around a transpose are unrolled: an index that is no constant keeps the 16 in memory. */
INLINE void load_columns(const float *p, int64_t ld, int rows, int width, vf v[PANEL])
{
#pragma GCC unroll 16
    for (int r = 0; r < PANEL; r++) v[r] = r < rows ? load(p + r * ld, width) : vf_set(0);
    vf_transpose(v);
}

/* Prefetches rows of the next head, which are not in cache, while this head is multiplied. */
INLINE void ask_rows(const float *p, int64_t ld, int D, int64_t from, int64_t to)
{
    for (int64_t j = from; j < to; j++)
        for (int d = 0; d < D; d += PANEL) __builtin_prefetch(p + j * ld + d);
}

/* Of the last 16 columns all are written, also beyond D: that is where the next panel begins, or
 * (attention_scratch) room for them. */
static void load_queries(const QueryBlock *b)
{
    vf v[PANEL];
    const int D = b->a->D;
    if (b->asks) ask_rows(b->q + D, b->a->ldq, D, b->i, b->i + b->count);
    for (int p = 0; p < b->panels; p++)
        for (int d = 0; d < D; d += PANEL) {
            const int rows = queries_in(b, p), width = MIN(PANEL, D - d);
#pragma GCC unroll 16
            for (int r = 0; r < PANEL; r++)
                v[r] = r < rows ? side_query(b, b->i + p * PANEL + r, d, width) : vf_set(0);
            vf_transpose(v);
#pragma GCC unroll 16
            for (int c = 0; c < PANEL; c += STEP)
                vf_store(b->panel + (p * steps_of(D) + (d + c) / STEP) * PANEL, side_step(v + c));
        }
}

/* t->sum[panels][n][16] = n rows of x times panels of w; meanwhile keys or values of the next
 * head are prefetched. */
static void attention_multiply(const QueryBlock *b, TileProduct *t, int64_t n, const float *next,
                               int64_t ld)
{
    const Tiling rows = tiling_of(n, TILE_ROWS, 0);
    const float *x = t->x;
    float *sum = t->sum;
    t->panel = t->K * PANEL, t->sum_row = PANEL, t->sum_panel = n * PANEL;
    t->every = t->K;
    for (int64_t i = 0; i < rows.count; i++) {
        PanelRange c = tiling_cut(&rows, i);
        t->x = x + c.from * t->row;
        t->sum = sum + c.from * PANEL;
        if (b->asks) {
            PanelRange asked = cut(b->keys.to - b->keys.from, rows.count, i);
            ask_rows(next, ld, b->a->D, asked.from, asked.to);
        }
        tile_fn[c.to - c.from][b->panels](t);
    }
}

/* scores = scores * scale + mask, outside the window -inf; the largest of each lane is returned. */
INLINE vf scale_scores(const QueryBlock *b, float *scores, int64_t i, int64_t j, int n,
                       const vf *mask, vf largest)
{
    const vf lane = vf_add(vf_lanes(), vf_set((float)i)), scale = vf_set(b->a->scale);
    const vf window = vf_set((float)b->a->window), never = vf_set(-INFINITY);
    for (int c = 0; c < n; c++) {
        float *p = scores + (j + c - b->keys.from) * PANEL;
        vf s = vf_mul(vf_load(p), scale);
        if (mask) s = vf_add(s, mask[c]);
        if (b->a->window)
            s = vf_where_le(vf_abs(vf_sub(lane, vf_set((float)(j + c)))), window, s, never);
        vf_store(p, s);
        largest = vf_max(s, largest);
    }
    return largest;
}

INLINE void load_mask(const QueryBlock *b, int p, int64_t j, int n, vf term[PANEL])
{
    const float *from = b->mask + p * PANEL * b->a->mask_query + j;
    if (b->a->mask_query == -1) { /* the next query's number stands before this one's */
        for (int c = 0; c < n; c++) term[c] = vf_reverse(vf_load(from + c - (PANEL - 1)));
    } else if (b->a->mask_query) {
        load_columns(from, b->a->mask_query, queries_in(b, p), n, term);
    } else {
        for (int c = 0; c < n; c++) term[c] = vf_set(from[c]); /* one for all queries */
    }
}

/* Keys j .. j+n-1: numbers of the queries themselves. */
INLINE void add_by_query(const QueryBlock *b, int p, int64_t j, int n, vf term[PANEL])
{
    const ByDistance *t = &b->a->by_query;
    const int64_t i = b->i + p * PANEL, d = j - i;
    const int rows = queries_in(b, p);
    const bool low = d + n - 1 <= -t->reach, high = d - (PANEL - 1) >= t->reach;
    vf v[PANEL];
    if (low || high) {
        const float *end = (low ? t->low : t->high) + i * t->ld_ends;
        float each[PANEL] = { 0 };
        for (int r = 0; r < rows; r++) each[r] = end[r * t->ld_ends];
        for (int c = 0; c < n; c++) term[c] = vf_add(term[c], vf_load(each));
        return;
    }
    load_columns(t->p + i * t->ld + d, t->ld - 1, rows, n, v);
    for (int c = 0; c < n; c++) term[c] = vf_add(term[c], v[c]);
}

/* And numbers of the keys: those for the next query stand behind one another. */
INLINE void add_by_key(const QueryBlock *b, int p, int64_t j, int n, vf term[PANEL])
{
    const ByDistance *t = &b->a->by_key;
    for (int c = 0; c < n; c++, j++) {
        const int64_t d = b->i + p * PANEL - j;
        vf v = d >= t->reach                  ? vf_set(t->high[j * t->ld_ends])
               : d + PANEL - 1 <= -t->reach ? vf_set(t->low[j * t->ld_ends])
                                              : vf_load(t->p + j * t->ld + d);
        term[c] = vf_add(term[c], v);
    }
}

/* All that is added to the scores of 16 queries and n keys. */
INLINE void load_terms(const QueryBlock *b, int p, int64_t j, int n, vf term[PANEL])
{
    if (b->mask) load_mask(b, p, j, n, term);
    else
        for (int c = 0; c < n; c++) term[c] = vf_set(0);
    if (b->a->by_query.p) add_by_query(b, p, j, n, term);
    if (b->a->by_key.p) add_by_key(b, p, j, n, term);
}

/* The largest score of each lane, scaled; *scale: the factor still to be applied to the scores. */
static vf largest_of(const QueryBlock *b, int p, float *scores, float *scale)
{
    vf largest = vf_set(-INFINITY), term[PANEL];
    const int64_t keys = b->keys.to - b->keys.from;
    const bool terms = b->mask || b->a->by_query.p || b->a->by_key.p;
    if (!terms && !b->a->window && b->a->scale > 0) { /* what is largest stays so */
        for (int64_t j = 0; j < keys; j++) largest = vf_max(vf_load(scores + j * PANEL), largest);
        *scale = b->a->scale;
        return vf_mul(largest, vf_set(*scale));
    }
    for (int64_t j = b->keys.from; j < b->keys.to; j += PANEL) {
        int n = (int)MIN(PANEL, b->keys.to - j);
        if (terms) load_terms(b, p, j, n, term);
        largest = scale_scores(b, scores, b->i + p * PANEL, j, n, terms ? term : NULL, largest);
    }
    *scale = 1;
    return largest;
}

/* Scores of a panel to weights e^(score - largest so far); what was summed before is scaled down.
 * The largest begins at -FLT_MAX, so that a part of which a query sees nothing adds 0, not NaN. */
static void attention_soften(const QueryBlock *b, int p, SoftmaxState *r)
{
    const int64_t keys = b->keys.to - b->keys.from;
    float *scores = b->scores + p * keys * PANEL, *result = b->result + p * b->a->D * PANEL, scale;
    float *weights = b->scores + p * steps_of(keys) * PANEL; /* of scores that are read by then */
    const vf largest = vf_max(largest_of(b, p, scores, &scale), r->largest);
    const vf less = vf_sub(vf_set(0), largest), by = vf_set(scale);
    const vf kept = vf_exp(vf_sub(r->largest, largest));
    vf sum = vf_mul(r->sum, kept);
    for (int64_t j = 0; j < keys; j += STEP) {
        vf e[STEP];
#pragma GCC unroll 2
        for (int s = 0; s < STEP; s++) {
            const bool there = STEP == 1 || j + s < keys;
            e[s] = there ? side_weight(vf_fma(vf_load(scores + (j + s) * PANEL), by, less)) : vf_set(0);
            sum = vf_add(sum, e[s]);
        }
        vf_store(weights + j / STEP * PANEL, side_step(e));
    }
    for (int d = 0; b->more && d < b->a->D; d++)
        vf_store(result + d * PANEL, vf_mul(vf_load(result + d * PANEL), kept));
    *r = (SoftmaxState){ largest, sum };
}

static void attention_store(const QueryBlock *b, int p, vf scale)
{
    vf v[PANEL];
    const int D = b->a->D;
    for (int d = 0; d < D; d += PANEL) {
        int width = MIN(PANEL, D - d);
#pragma GCC unroll 16
        for (int c = 0; c < PANEL; c++)
            v[c] = c < width ? vf_mul(vf_load(b->result + (p * D + d + c) * PANEL), scale)
                             : vf_set(0);
        vf_transpose(v);
        const int rows = queries_in(b, p);
#pragma GCC unroll 16
        for (int r = 0; r < PANEL; r++)
            if (r < rows) side_result(b, b->i + p * PANEL + r, d, v[r], width);
    }
}

/* The block's queries and the keys of one part. */
static void attention_part(const QueryBlock *b, SoftmaxState *so_far)
{
    const Attention *a = b->a;
    const int64_t keys = b->keys.to - b->keys.from;
    TileProduct qk = { .x = b->k + b->keys.from * b->ldk, .row = b->ldk, .next = 1, .w = b->panel,
                   .K = steps_of(a->D), .sum = b->scores };
    TileProduct pv = { .x = b->v + b->keys.from / STEP * b->ldv, .row = 1, .next = b->ldv, .w = b->scores,
                   .K = steps_of(keys), .more = b->more, .sum = b->result };
    attention_multiply(b, &qk, keys, qk.x + a->D, b->ldk);
    for (int p = 0; p < b->panels; p++) attention_soften(b, p, &so_far[p]);
    attention_multiply(b, &pv, a->D, pv.x + a->D, b->ldv);
}

/* A row is cut by its own length. What windows see is one part as long as it is short. */
static void attention_block(QueryBlock *b, int64_t length, PanelRange keys)
{
    SoftmaxState so_far[ATTEND_PANELS];
    const int64_t seen = b->a->window ? MIN(length, 2 * (int64_t)b->a->window + PANEL) : length;
    const int64_t parts = seen <= ATTEND_KEYS ? 1 : cut_count(length, ATTEND_KEYS);
    load_queries(b);
    for (int p = 0; p < ATTEND_PANELS; p++)
        so_far[p] = (SoftmaxState){ vf_set(-FLT_MAX), vf_set(0) };
    b->more = false;
    for (int64_t i = 0; i < parts; i++) {
        PanelRange part = cut(length, parts, i);
        if (part.to < length) part.to -= part.to % STEP; /* values that are multiplied together stay so */
        part.from -= part.from % STEP;
        b->keys = (PanelRange){ MAX(part.from, keys.from), MIN(part.to, keys.to) };
        if (b->keys.from >= b->keys.to) continue;
        attention_part(b, so_far);
        b->more = true;
    }
    for (int p = 0; p < b->panels; p++)
        attention_store(b, p, vf_div(vf_set(1), so_far[p].sum));
}

static PanelRange attention_keys_of(const Attention *a, int64_t length, int64_t q0, int64_t q1)
{
    if (!a->window) return (PanelRange){ 0, length };
    const int64_t from = MAX(0, q0 - a->window);
    return (PanelRange){ from - from % STEP, MIN(length, q1 + a->window) };
}

static void attention_body(const Attention *a, int r, int h, int64_t q0, int64_t q1, float *scratch)
{
    int64_t first = a->start[r], length = a->start[r + 1] - first, head = (int64_t)h * a->D;
    float *aligned = (float *)ROUND_UP((uintptr_t)scratch, 64);
    QueryBlock b = { .a = a, .q = a->q + first * a->ldq + head, .out = a->out + first * a->ldo + head,
                .first = first, .head = head, .kv = attention_kv_column(a, h), .result = aligned };
    const int most = a->window ? 1 : ATTEND_PANELS;
    const bool far = !a->group && a->start[a->B] * a->ldk > MOST_NEAR;
    b.panel = b.result + most * a->D * PANEL;
    b.scores = b.panel + (most * a->D + PANEL) * PANEL;
    side_keys(&b, length, attention_keys_of(a, length, q0, q1), q1 - q0,
              b.scores + most * MIN(length, (int64_t)ATTEND_KEYS) * PANEL);
    for (b.i = q0; b.i < q1; b.i += b.count) {
        b.count = (int)MIN(most * PANEL, q1 - b.i);
        b.panels = (b.count + PANEL - 1) / PANEL;
        if (a->mask)
            b.mask = a->mask + r * a->mask_row + h * a->mask_head + b.i * a->mask_query;
        b.asks = far && b.ldk == a->ldk && b.i + b.count == q1 && h + 1 < a->H;
        attention_block(&b, length, attention_keys_of(a, length, b.i, b.i + b.count));
    }
}

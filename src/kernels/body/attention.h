/* SPDX-License-Identifier: Apache-2.0
 * attention.h - attention with one query a lane: 16 queries are transposed into a panel, and then
 *     scores[key][query]  = keys (as they lie)       x  panel of queries
 *     result[d][query]    = values (as they lie)     x  panel of exp(scores)
 * are two GEMMs whose broadcast side needs no copy and no padding for any D, and softmax runs down
 * the lanes, key after key. A lane knows nothing of the other lanes: the result of a query is the
 * same in every batch and for every split of the queries. */
#include "act.h"
#include "ends.h"
#include "tile.h"

enum { GATHER_FROM = 4 * PANEL }; /* queries of one call from which copying keys and values pays */

typedef struct Block {          /* up to 16 queries of one row and head */
    const Attention *a;
    const float *q, *k, *v;     /* of the row's first token, this head */
    const float *mask;          /* of query `i`, key 0; or NULL */
    float *out;
    int64_t ldk, ldv;
    int64_t i;                  /* first query */
    Cut keys;                   /* those that some query of the block sees */
    int count;                  /* queries */
    float *panel, *scores;      /* [D to 16][16], [keys][16] */
} Block;

/* 16 x width floats, rows ld apart, to columns; rows and columns that are not there become 0. */
INLINE void load_columns(const float *p, int64_t ld, int rows, int width, vf v[PANEL])
{
    for (int r = 0; r < PANEL; r++) v[r] = r < rows ? load(p + r * ld, width) : vf_set(0);
    vf_transpose(v);
}

static void load_queries(const Block *b)
{
    vf v[PANEL];
    for (int d = 0; d < b->a->D; d += PANEL) {
        load_columns(b->q + b->i * b->a->ldq + d, b->a->ldq, b->count, MIN(PANEL, b->a->D - d), v);
        for (int c = 0; c < PANEL; c++) vf_store(b->panel + (d + c) * PANEL, v[c]);
    }
}

/* out[n][16] = n rows of x times a panel of K rows. */
static void multiply(Side x, int64_t n, const float *panel, int64_t K, float *out)
{
    int64_t count = cut_count(n, TILE_ROWS);
    for (int64_t t = 0; t < count; t++) {
        Cut c = cut(n, count, t);
        Side from = { x.p + c.from * x.row, x.row, x.next };
        tile_fn[c.to - c.from][1](from, panel, K, (Ahead){ 0 }, out + c.from * PANEL);
    }
}

/* scores = scores * scale + mask, outside the window -inf; the largest of each lane is returned. */
INLINE vf scale_scores(const Block *b, int64_t j, int n, const vf *mask, vf largest)
{
    const vf lane = vf_add(vf_lanes(), vf_set((float)b->i)), scale = vf_set(b->a->scale);
    const vf window = vf_set((float)b->a->window), never = vf_set(-INFINITY);
    for (int c = 0; c < n; c++) {
        float *p = b->scores + (j + c - b->keys.from) * PANEL;
        vf s = vf_mul(vf_load(p), scale);
        if (mask) s = vf_add(s, mask[c]);
        if (b->a->window)
            s = vf_where_le(vf_abs(vf_sub(lane, vf_set((float)(j + c)))), window, s, never);
        vf_store(p, s);
        largest = vf_max(s, largest);
    }
    return largest;
}

INLINE void load_mask(const Block *b, int64_t j, int n, vf mask[PANEL])
{
    if (b->a->mask_query) {
        load_columns(b->mask + j, b->a->mask_query, b->count, n, mask);
        return;
    }
    for (int c = 0; c < n; c++) mask[c] = vf_set(b->mask[j + c]); /* one for all queries */
}

/* Scores to weights e^(score - largest); returns one over their sum. */
static vf soften(const Block *b)
{
    vf largest = vf_set(-INFINITY), sum = vf_set(0), mask[PANEL];
    for (int64_t j = b->keys.from; j < b->keys.to; j += PANEL) {
        int n = (int)MIN(PANEL, b->keys.to - j);
        if (b->mask) load_mask(b, j, n, mask);
        largest = scale_scores(b, j, n, b->mask ? mask : NULL, largest);
    }
    for (int64_t j = 0; j < b->keys.to - b->keys.from; j++) {
        vf e = vf_exp(vf_sub(vf_load(b->scores + j * PANEL), largest));
        vf_store(b->scores + j * PANEL, e);
        sum = vf_add(sum, e);
    }
    return vf_div(vf_set(1), sum);
}

static void store_result(const Block *b, vf scale)
{
    vf v[PANEL];
    for (int d = 0; d < b->a->D; d += PANEL) {
        int width = MIN(PANEL, b->a->D - d);
        for (int c = 0; c < PANEL; c++)
            v[c] = c < width ? vf_mul(vf_load(b->panel + (d + c) * PANEL), scale) : vf_set(0);
        vf_transpose(v);
        for (int r = 0; r < b->count; r++)
            store(b->out + (b->i + r) * b->a->ldo + d, v[r], width);
    }
}

static void attend(const Block *b)
{
    const Attention *a = b->a;
    int64_t keys = b->keys.to - b->keys.from;
    load_queries(b);
    multiply((Side){ b->k + b->keys.from * b->ldk, b->ldk, 1 }, keys, b->panel, a->D, b->scores);
    vf scale = soften(b);
    multiply((Side){ b->v + b->keys.from * b->ldv, 1, b->ldv }, a->D, b->scores, keys, b->panel);
    store_result(b, scale);
}

/* The keys and values of one head are strewn over as many pages as there are tokens: where many
 * blocks of queries will read them they are gathered first. */
static const float *gather(const float *from, int64_t ld, int D, Cut keys, float *to)
{
    for (int64_t j = keys.from; j < keys.to; j++)
        memcpy(to + j * D, from + j * ld, (size_t)D * sizeof(float));
    return to;
}

static Cut keys_of(const Attention *a, int64_t length, int64_t q0, int64_t q1)
{
    if (!a->window) return (Cut){ 0, length };
    return (Cut){ MAX(0, q0 - a->window), MIN(length, q1 + a->window) };
}

static void attention_body(const Attention *a, int r, int h, int64_t q0, int64_t q1, float *scratch)
{
    int64_t first = a->start[r], length = a->start[r + 1] - first, head = (int64_t)h * a->D;
    float *aligned = (float *)ROUND_UP((uintptr_t)scratch, 64);
    Block b = { .a = a, .q = a->q + first * a->ldq + head, .k = a->k + first * a->ldk + head,
                .v = a->v + first * a->ldv + head, .out = a->out + first * a->ldo + head,
                .ldk = a->ldk, .ldv = a->ldv, .panel = aligned };
    b.scores = b.panel + ROUND_UP(a->D, PANEL) * PANEL;
    if (q1 - q0 > GATHER_FROM) {
        float *copy = b.scores + length * PANEL;
        Cut keys = keys_of(a, length, q0, q1);
        b.k = gather(b.k, b.ldk, a->D, keys, copy);
        b.v = gather(b.v, b.ldv, a->D, keys, copy + length * a->D);
        b.ldk = b.ldv = a->D;
    }
    for (b.i = q0; b.i < q1; b.i += PANEL) {
        b.count = (int)MIN(PANEL, q1 - b.i);
        b.keys = keys_of(a, length, b.i, b.i + b.count);
        if (a->mask)
            b.mask = a->mask + r * a->mask_row + h * a->mask_head + b.i * a->mask_query;
        attend(&b);
    }
}

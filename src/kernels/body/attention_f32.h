/* SPDX-License-Identifier: Apache-2.0
 * attention_f32.h - attention of floats, as they lie. */
enum { STEP = 1 };
#include "attention.h"

enum { GATHER_FROM = 4 * PANEL }; /* queries per call from which on copying keys and values pays */

INLINE vf side_step(const vf v[STEP]) { return v[0]; }
INLINE vf side_weight(vf x) { return vf_exp(x); }
INLINE vf side_query(const QueryBlock *b, int64_t i, int d, int width)
{
    return load(b->q + i * b->a->ldq + d, width);
}
INLINE void side_result(const QueryBlock *b, int64_t i, int d, vf v, int width)
{
    store(b->out + i * b->a->ldo + d, v, width);
}

/* The keys and values of one head lie one row apart, on as many pages as there are tokens: if
 * many blocks of queries read them, they are copied together first. */
static const float *attention_gather_keys(const float *from, int64_t ld, int D, PanelRange keys,
                                          float *to)
{
    if (ld == D) return from; /* they lie so */
    for (int64_t j = keys.from; j < keys.to; j++)
        memcpy(to + j * D, from + j * ld, (size_t)D * sizeof(float));
    return to;
}

static void side_keys(QueryBlock *b, int64_t length, PanelRange keys, int64_t queries, float *copy)
{
    const Attention *a = b->a;
    b->k = a->k + b->first * a->ldk + b->kv, b->ldk = a->ldk;
    b->v = a->v + b->first * a->ldv + b->kv, b->ldv = a->ldv;
    if (queries <= GATHER_FROM) return;
    b->k = attention_gather_keys(b->k, b->ldk, a->D, keys, copy);
    b->v = attention_gather_keys(b->v, b->ldv, a->D, keys, copy + length * a->D);
    b->ldk = b->ldv = a->D;
}

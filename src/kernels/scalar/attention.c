/* SPDX-License-Identifier: Apache-2.0
 * attention.c - the reference of attention: scores, softmax, weighted sum of values; one query
 * after the other. A query whose keys are all masked by -inf gives NaN, as softmax does. */
#include <math.h>

#include "kernels/tables.h"

typedef struct KeyRange {
    int64_t from, to; /* tokens of the row this query sees */
} KeyRange;

static KeyRange scalar_keys_of(const Attention *a, int64_t length, int64_t i)
{
    if (!a->window) return (KeyRange){ 0, length };
    return (KeyRange){ MAX(0, i - a->window), MIN(length, i + a->window + 1) };
}

static float scalar_score(const Attention *a, const float *q, const float *k)
{
    float dot = 0;
    for (int d = 0; d < a->D; d++) dot = fmaf(k[d], q[d], dot);
    return dot * a->scale;
}

static float scalar_at_distance(const ByDistance *t, int64_t token, int64_t d)
{
    if (!t->p) return 0;
    if (d >= t->reach) return t->high[token * t->ld_ends];
    return d <= -t->reach ? t->low[token * t->ld_ends] : t->p[token * t->ld + d];
}

void scalar_attention(const Attention *a, int r, int h, int64_t q0, int64_t q1, float *p)
{
    int64_t first = a->start[r], length = a->start[r + 1] - first;
    const int64_t column = attention_kv_column(a, h);
    const float *k = a->k + first * a->ldk + column, *v = a->v + first * a->ldv + column;
    for (int64_t i = q0; i < q1; i++) {
        KeyRange keys = scalar_keys_of(a, length, i);
        const float *q = a->q + (first + i) * a->ldq + h * a->D;
        int64_t at = r * a->mask_row + h * a->mask_head + i * a->mask_query;
        for (int64_t j = keys.from; j < keys.to; j++)
            p[j] = scalar_score(a, q, k + j * a->ldk) + ((a->mask ? a->mask[at + j] : 0) +
                                                  scalar_at_distance(&a->by_query, i, j - i) +
                                                  scalar_at_distance(&a->by_key, j, i - j));
        scalar_softmax(p + keys.from, p + keys.from, keys.to - keys.from);
        for (int d = 0; d < a->D; d++) {
            float sum = 0;
            for (int64_t j = keys.from; j < keys.to; j++) sum = fmaf(v[j * a->ldv + d], p[j], sum);
            a->out[(first + i) * a->ldo + h * a->D + d] = sum;
        }
    }
}

void scalar_attention_bf16(const Attention *a, int r, int h, int64_t q0, int64_t q1, float *p)
{
    scalar_attention(a, r, h, q0, q1, p);
}

/* SPDX-License-Identifier: Apache-2.0
 * attention_bf16.c - attention for models in bf16 by AVX512_BF16: queries, keys, values and the weights of softmax are
 * rounded to bf16 (or come so), sums and softmax itself are f32. Two numbers of a head are multiplied in one step,
 * and two keys. */
#include "kernels/tables.h"
#include "kernels/avx512/vec.h"

#undef TILE_STEP
#define TILE_STEP(a, b, sum) _mm512_dpbf16_ps(sum, (__m512bh)(a), (__m512bh)(b))
enum { STEP = 2 };
#include "kernels/body/attention.h"

/* Lane by lane: the first in the low half. */
INLINE vf side_step(const vf v[STEP])
{
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(v[1], v[0]);
    return (vf)_mm512_permutexvar_epi16(order, both);
}

/* To 1e-4 of itself, where weights are rounded to 4e-3; below e^-69 it is 0; NaN stays. */
INLINE vf side_weight(vf x)
{
    const vf two = vf_mul(x, vf_set(1.44269504f)), n = vf_round(two), r = vf_sub(two, n);
    const __mmask16 counts = _mm512_cmp_ps_mask(two, vf_set(-100), _CMP_NLE_UQ);
    vf p = vf_fma(r, vf_set(0.0551716685f), vf_set(0.242611125f));
    p = vf_fma(r, p, vf_set(0.693260968f));
    return _mm512_maskz_scalef_ps(counts, vf_fma(r, p, vf_set(0.999928057f)), n);
}

INLINE vf pairs_widen(const uint16_t *p) /* 16 numbers */
{
    return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16);
}

/* D is a multiple of 32 where rows are bf16. */
INLINE vf side_query(const QueryBlock *b, int64_t i, int d, int width)
{
    const Attention *a = b->a;
    return a->qb ? pairs_widen(a->qb + (b->first + i) * a->ldb + b->head + d) : load(b->q + i * a->ldq + d, width);
}

INLINE void side_result(const QueryBlock *b, int64_t i, int d, vf v, int width)
{
    const Attention *a = b->a;
    if (!a->outb) {
        store(b->out + i * a->ldo + d, v, width);
        return;
    }
    uint16_t *out = a->outb + (b->first + i) * row_bf16((int64_t)a->H * a->D) + b->head + d;
    _mm256_storeu_si256((__m256i *)out, (__m256i)_mm512_cvtneps_pbh(v));
}

/* Of 32 numbers of a row of floats the first `width`, as 16 pairs side by side. */
INLINE __m512i pairs_of_row(const float *x, int64_t width)
{
    const vf low = load(x, MIN(PANEL, width)), high = width > PANEL ? load(x + PANEL, width - PANEL) : vf_set(0);
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

static void pairs_key(const QueryBlock *b, int64_t j, float *to)
{
    const Attention *a = b->a;
    const int64_t t = b->first + j, D = a->D;
    for (int64_t d = 0; d < D; d += 2 * PANEL) {
        const int64_t width = MIN(2 * PANEL, D - d);
        const __m512i v = a->kb ? _mm512_loadu_si512(a->kb + t * a->ldb + b->kv + d)
                                : pairs_of_row(a->k + t * a->ldk + b->kv + d, width);
        vf_store_part(to + d / 2, (vf)v, (int)((width + 1) / 2));
    }
}

INLINE vf pairs_value(const QueryBlock *b, int64_t j, int64_t d, int64_t width)
{
    const Attention *a = b->a;
    const int64_t t = b->first + j;
    return a->vb ? pairs_widen(a->vb + t * a->ldb + b->kv + d) : load(a->v + t * a->ldv + b->kv + d, width);
}

/* Keys with their numbers in pairs; values of two keys side by side, behind the last one 0. */
static void side_keys(QueryBlock *b, int64_t length, PanelRange keys, int64_t queries, float *copy)
{
    const int64_t D = b->a->D, row = steps_of(D);
    float *values = copy + length * row;
    (void)queries;
    for (int64_t j = keys.from; j < keys.to; j++) pairs_key(b, j, copy + j * row);
    for (int64_t j = keys.from; j < keys.to; j += STEP)
        EACH(d, w, D) {
            const vf two[STEP] = { pairs_value(b, j, d, w), j + 1 < length ? pairs_value(b, j + 1, d, w) : vf_set(0) };
            store(values + j / STEP * D + d, side_step(two), w);
        }
    b->k = copy, b->ldk = row;
    b->v = values, b->ldv = D;
}

void avx512bf16_attention_bf16(const Attention *a, int r, int h, int64_t q0, int64_t q1, float *scratch)
{
    attention_body(a, r, h, q0, q1, scratch);
    if (!a->outb || h + 1 < a->H) return;
    const int64_t C = (int64_t)a->H * a->D, row = row_bf16(C); /* rows are filled up behind their last head */
    for (int64_t i = a->start[r] + q0; i < a->start[r] + q1; i++)
        memset(a->outb + i * row + C, 0, (size_t)(row - C) * sizeof *a->outb);
}

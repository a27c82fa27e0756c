/* SPDX-License-Identifier: Apache-2.0
 * attention_bf16.c - attention in tiles, for models in bf16: queries, keys, values and the weights
 * of softmax are rounded to bf16 (or come so), sums and softmax itself are f32. For 16 queries at a time
 *     scores[query][key]  = queries  x  keys (panels of 16 keys, made once)
 *     result[query][d]    = exp(scores)  x  values (panels of 16 columns, made once).
 * Keys are counted from a multiple of 32 on, so that a sum is split at the same keys for every
 * block of queries; keys outside a query's window add 0. */
#include "kernels/tables.h"
#include "kernels/avx512/vec.h"
#include "kernels/body/act.h"
#include "kernels/body/ends.h"

#define tile_dot(sum, x, w) _tile_dpbf16ps(sum, x, w)
#include "tiles.h"

enum {
    DEEP = 2 * SIDE,            /* values of one step */
    AT_ONCE = 2 * SIDE,         /* queries: half are multiplied during the softmax of the others */
    LEAST = 64                  /* tokens of a row; with fewer, packing costs what tiles save */
};

typedef struct AmxHead {        /* one head of one row of the batch */
    const Attention *a;
    const float *q, *k, *v;     /* of the row's first token; or */
    const uint16_t *qb, *kb, *vb;
    const float *mask;          /* of query 0, key 0; or NULL */
    float *out;
    uint16_t *outb;
    int64_t n, base, keys;      /* of the row; packed: from base on, a multiple of DEEP */
    int64_t depth, wide;        /* steps and panels of D */
    int64_t row;                /* floats from row to row of scores */
    TileRows queries;           /* 32 of them; copied unless they already are bf16 rows */
    uint16_t *key_panels;       /* [keys / 16][depth][tile] */
    uint16_t *value_panels;     /* [wide][keys / 32][tile] */
    float *scores;              /* [32][row]; the result at last */
    uint16_t *weights;          /* [32][row_bf16(n)] */
} AmxHead;

/* n floats of each of 16 rows to bf16, filled up with zeros. */
static void round_rows(const float *x, int64_t ld, int64_t rows, int64_t n, int64_t width,
                       uint16_t *to)
{
    for (int64_t r = 0; r < SIDE; r++, to += width)
        for (int64_t i = 0; i < width; i += PANEL) {
            int64_t w = r < rows ? MIN(PANEL, n - i) : 0;
            vf_store_bf16(to + i, w > 0 ? load(x + r * ld + i, w) : vf_set(0));
        }
}

/* Step by step of D: pairs of values, 16 keys side by side. */
static void pack_keys(const AmxHead *h)
{
    const Attention *a = h->a;
    _Alignas(64) uint16_t rows[SIDE * DEEP];
    uint16_t *to = h->key_panels;
    for (int64_t j = h->base; j < h->base + h->keys; j += SIDE)
        for (int64_t d = 0; d < a->D; d += DEEP, to += SIDE * DEEP) {
            vf v[SIDE];
            if (!h->kb) {
                round_rows(h->k + j * a->ldk + d, a->ldk, h->n - j, a->D - d, DEEP, rows);
                for (int r = 0; r < SIDE; r++) v[r] = vf_load((const float *)(rows + r * DEEP));
            } else {
                const uint16_t *from = h->kb + j * a->ldb + d;
                for (int r = 0; r < SIDE; r++)
                    v[r] = j + r < h->n ? vf_load((const float *)(from + r * a->ldb)) : vf_set(0);
            }
            vf_transpose(v);
            for (int r = 0; r < SIDE; r++) vf_store((float *)(to + r * DEEP), v[r]);
        }
}

INLINE __m512i value(const AmxHead *h, int64_t j, int64_t d) /* bf16 in the low halves */
{
    if (j >= h->n) return _mm512_setzero_si512();
    if (h->vb)
        return _mm512_cvtepu16_epi32(
            _mm256_loadu_si256((const __m256i *)(h->vb + j * h->a->ldb + d)));
    return vf_bf16(load(h->v + j * h->a->ldv + d, MIN(PANEL, h->a->D - d)));
}
/* Pairs of keys, 16 columns of D side by side. */
static void pack_values(const AmxHead *h)
{
    for (int64_t j = 0; j < h->keys; j += 2)
        for (int64_t c = 0; c < h->wide; c++) {
            __m512i even = value(h, h->base + j, c * PANEL),
                    odd = value(h, h->base + j + 1, c * PANEL);
            _mm512_store_si512(h->value_panels + (c * h->keys + j) * PANEL,
                               _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
        }
}

INLINE void products(int panels, TileRows x, const uint8_t *w, int64_t panel, int64_t steps,
                     float *to, int64_t row)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t k = 0; k < steps; k++, x.p += STEP, w += TILE_BYTES)
        flat_step(panels, x, w, panel);
    sums_store(false, panels, (char *)to, row * (int64_t)sizeof(float));
}
/* to[16][count * 16] = 16 rows of x times panels, each `panel` bytes behind the last. */
static void amx_multiply(TileRows x, const uint16_t *w, int64_t panel, int64_t steps, int64_t count,
                         float *to, int64_t row)
{
    const uint8_t *from = (const uint8_t *)w;
    __asm__ volatile("" ::: "memory"); /* gcc does not know that a tile load reads memory */
    for (int64_t left = count, n; left; left -= n, from += n * panel, to += n * PANEL) {
        n = left >= 4 ? 4 : left >= 2 ? 2 : 1;
        if (n == 4) products(4, x, from, panel, steps, to, row);
        else if (n == 2) products(2, x, from, panel, steps, to, row);
        else products(1, x, from, panel, steps, to, row);
    }
}

typedef struct AmxKeys {        /* that a block of queries sees; from a multiple of DEEP on */
    int64_t from, to;
} AmxKeys;
static AmxKeys amx_keys_of(const Attention *a, int64_t n, int64_t q0, int64_t q1)
{
    if (!a->window) return (AmxKeys){ 0, n };
    return (AmxKeys){ MAX(0, q0 - a->window) & -DEEP, MIN(n, q1 + a->window) };
}

/* What is added to a row's scores, from its first key on, and the scale. */
static void amx_prepare_scores(const AmxHead *h, int64_t query, AmxKeys keys, float *scores)
{
    const Attention *a = h->a;
    const vf never = vf_set(-INFINITY), window = vf_set((float)a->window);
    int64_t n = keys.to - keys.from;
    EACH(i, w, n) {
        vf s = vf_mul(vf_load(scores + i), vf_set(a->scale));
        if (h->mask) s = vf_add(s, load(h->mask + query * a->mask_query + keys.from + i, w));
        vf away = vf_sub(vf_lanes(), vf_set((float)(query - keys.from - i)));
        if (a->window) s = vf_where_le(vf_abs(away), window, s, never);
        vf_store(scores + i, s);
    }
}

/* 2^x to 1e-4 of itself, where weights are rounded to 4e-3; from -100 down 0 (a subnormal result costs
 * a hundred cycles); NaN stays. */
INLINE vf power_near(vf x)
{
    __mmask16 counts = _mm512_cmp_ps_mask(x, vf_set(-100), _CMP_NLE_UQ);
    vf n = vf_round(x), r = vf_sub(x, n);
    vf p = vf_fma(r, vf_set(0.0551716685f), vf_set(0.242611125f));
    p = vf_fma(r, p, vf_set(0.693260968f));
    return _mm512_maskz_scalef_ps(counts, vf_fma(r, p, vf_set(0.999928057f)), n);
}

INLINE vf largest_of(vf v[SIDE]) /* of each of 16 vectors, as one */
{
    vf_transpose(v);
#pragma GCC unroll 4
    for (int half = SIDE / 2; half; half /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < half; i++) v[i] = vf_max(v[i], v[i + half]);
    return v[0];
}
INLINE vf sum_of_each(vf v[SIDE])
{
    vf_transpose(v);
#pragma GCC unroll 4
    for (int half = SIDE / 2; half; half /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < half; i++) v[i] = vf_add(v[i], v[i + half]);
    return v[0];
}

/* 16 rows of n scores to weights e^(scale * (score - largest)); one over their sums. Missing
 * rows are computed too: all 16 are taken together, so that no sum goes across the lanes of a
 * vector. */
static vf amx_soften(const AmxHead *h, int64_t n, float scale, float *scores, uint16_t *weights)
{
    const int64_t row_w = row_bf16(h->n), whole = n & -PANEL, rest = n - whole;
    const vf never = vf_set(-INFINITY), by = vf_set(scale * 1.44269504f);
    _Alignas(64) float most[SIDE];
    vf v[SIDE];
    for (int r = 0; r < SIDE; r++) {
        float *s = scores + r * h->row;
        v[r] = never;
        for (int64_t i = 0; i < whole; i += PANEL) v[r] = vf_max(v[r], vf_load(s + i));
        if (!rest) continue;
        vf end = vf_part(vf_load(s + whole), (int)rest, never);
        vf_store(s + whole, end);
        v[r] = vf_max(v[r], end);
    }
    vf_store(most, largest_of(v));
    for (int r = 0; r < SIDE; r++) {
        const float *s = scores + r * h->row;
        uint16_t *to = weights + r * row_w;
        vf less = vf_set(most[r]);
        v[r] = vf_set(0);
        for (int64_t i = 0; i < n; i += PANEL) {
            vf e = power_near(vf_mul(vf_sub(vf_load(s + i), less), by));
            _mm256_storeu_si256((__m256i *)(to + i), (__m256i)_mm512_cvtneps_pbh(e));
            v[r] = vf_add(v[r], e);
        }
        if ((n + PANEL - 1) / PANEL % 2) vf_store_bf16(to + ROUND_UP(n, PANEL), vf_set(0));
    }
    return vf_div(vf_set(1), sum_of_each(v));
}

static void amx_store_result(const AmxHead *h, int64_t i, int64_t count, const float *from,
                             const float *scale)
{
    const Attention *a = h->a;
    const int64_t row = row_bf16((int64_t)a->H * a->D);
    for (int64_t r = 0; r < count; r++, from += h->row)
        EACH(d, w, a->D) {
            vf v = vf_mul(vf_load(from + d), vf_set(scale[r]));
            if (h->outb)
                _mm256_storeu_si256((__m256i *)(h->outb + (i + r) * row + d),
                                    (__m256i)_mm512_cvtneps_pbh(v));
            else store(h->out + (i + r) * a->ldo + d, v, w);
        }
}

/* Up to 32 queries, 16 by 16. */
static void amx_attend(const AmxHead *h, int64_t i, int64_t count)
{
    const Attention *a = h->a;
    AmxKeys keys = amx_keys_of(a, h->n, i, i + count);
    int64_t n = keys.to - keys.from, panels = (n + SIDE - 1) / SIDE, at = keys.from - h->base;
    const int64_t row_w = row_bf16(h->n), two = sizeof(uint16_t);
    bool bare = !h->mask && !a->window && a->scale > 0;
    _Alignas(64) float scale[AT_ONCE];
    TileRows q = h->queries;
    if (h->qb) q = (TileRows){ (const uint8_t *)(h->qb + i * a->ldb), a->ldb * two };
    else
        for (int64_t t = 0; t < count; t += SIDE)
            round_rows(h->q + (i + t) * a->ldq, a->ldq, count - t, a->D, q.row / two,
                       (uint16_t *)(q.p + t * q.row));
    for (int64_t t = 0; t < count; t += SIDE)
        amx_multiply((TileRows){ q.p + t * q.row, q.row }, h->key_panels + at * h->depth * DEEP,
                     h->depth * TILE_BYTES, h->depth, panels, h->scores + t * h->row, h->row);
    for (int64_t r = 0; !bare && r < count; r++)
        amx_prepare_scores(h, i + r, keys, h->scores + r * h->row);
    for (int64_t t = 0; t < count; t += SIDE) {
        float *scores = h->scores + t * h->row;
        uint16_t *weights = h->weights + t * row_w;
        vf_store(scale + t, amx_soften(h, n, bare ? a->scale : 1, scores, weights));
        amx_multiply((TileRows){ (uint8_t *)weights, row_w * two }, h->value_panels + at * PANEL,
                     h->keys * PANEL * two, (panels + 1) / 2, h->wide, scores, h->row);
    }
    for (int64_t t = 0; t < count; t += SIDE)
        amx_store_result(h, i + t, MIN(SIDE, count - t), h->scores + t * h->row, scale + t);
}

/* Rows of bf16 are filled up behind their last head. */
static void amx_fill_up(const AmxHead *h, int64_t q0, int64_t q1)
{
    const Attention *a = h->a;
    const int64_t C = (int64_t)a->H * a->D, row = row_bf16(C), end = row - C;
    for (int64_t i = q0; i < q1; i++)
        memset(h->outb + i * row + a->D, 0, (size_t)end * sizeof(*h->outb));
}

void amx_attention_bf16(const Attention *a, int r, int h, int64_t q0, int64_t q1, float *scratch)
{
    int64_t first = a->start[r], head = (int64_t)h * a->D, n = a->start[r + 1] - first;
    const int64_t kv = attention_kv_column(a, h);
    if (n < LEAST && !a->qb && !a->outb) {
        avx512_attention(a, r, h, q0, q1, scratch);
        return;
    }
    AmxKeys keys = amx_keys_of(a, n, q0, q1);
    AmxHead one = { .a = a, .q = a->q + first * a->ldq + head, .k = a->k + first * a->ldk + kv,
                 .v = a->v + first * a->ldv + kv, .out = a->out + first * a->ldo + head, .n = n,
                 .base = keys.from, .keys = ROUND_UP(keys.to - keys.from, DEEP),
                 .depth = (a->D + DEEP - 1) / DEEP, .wide = (a->D + PANEL - 1) / PANEL };
    if (a->qb) {
        one.qb = a->qb + first * a->ldb + head, one.kb = a->kb + first * a->ldb + kv;
        one.vb = a->vb + first * a->ldb + kv;
    }
    if (a->outb) one.outb = a->outb + first * row_bf16((int64_t)a->H * a->D) + head;
    if (a->mask) one.mask = a->mask + r * a->mask_row + h * a->mask_head;
    one.row = attention_row(n, a->D);
    one.scores = (float *)ROUND_UP((uintptr_t)scratch, 64);
    one.weights = (uint16_t *)(one.scores + AT_ONCE * one.row);
    uint16_t *queries = one.weights + AT_ONCE * row_bf16(n);
    one.queries = (TileRows){ (uint8_t *)queries, row_bf16(a->D) * (int64_t)sizeof(uint16_t) };
    one.key_panels = queries + AT_ONCE * row_bf16(a->D);
    one.value_panels = one.key_panels + one.keys * one.depth * DEEP;
    pack_keys(&one);
    pack_values(&one);
    tiles_configure();
    for (int64_t i = q0; i < q1; i += AT_ONCE) amx_attend(&one, i, MIN(AT_ONCE, q1 - i));
    _tile_release();
    if (one.outb && h == a->H - 1) amx_fill_up(&one, q0, q1);
}

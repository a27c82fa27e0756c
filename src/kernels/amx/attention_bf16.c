/* SPDX-License-Identifier: Apache-2.0
 * attention_bf16.c - attention in tiles, for models in bf16: queries, keys, values and the weights
 * of softmax are rounded to bf16, sums and softmax itself are f32. For 16 queries at a time
 *     scores[query][key]  = queries  x  keys (panels of 16 keys, made once)
 *     result[query][d]    = exp(scores)  x  values (panels of 16 columns, made once).
 * Keys are counted from a multiple of 32 on, so that a sum is cut in the same places whatever
 * queries were asked for: what a query does not see adds 0. */
#include "kernels/tables.h"
#include "kernels/avx512/vec.h"
#include "kernels/body/act.h"
#include "kernels/body/ends.h"

#define tile_dot(sum, x, w) _tile_dpbf16ps(sum, x, w)
#include "tiles.h"

enum {
    DEEP = 2 * SIDE,            /* values of one step */
    LEAST = 64                  /* tokens of a row; below, rounding and packing cost what tiles save */
};

typedef struct Head {           /* one head of one row of the batch */
    const Attention *a;
    const float *q, *k, *v;     /* of the row's first token */
    const float *mask;          /* of query 0, key 0; or NULL */
    float *out;
    int64_t n, base, keys;      /* of the row; packed: from base on, a multiple of DEEP */
    int64_t depth, wide;        /* steps and panels of D */
    int64_t row;                /* floats from row to row of scores */
    uint16_t *queries;          /* [16][row_bf16(D)] */
    uint16_t *key_panels;       /* [keys / 16][depth][tile] */
    uint16_t *value_panels;     /* [wide][keys / 32][tile] */
    float *scores;              /* [16][row]; the result at last */
    uint16_t *weights;          /* [16][row_bf16(n)] */
} Head;

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
static void pack_keys(const Head *h)
{
    const Attention *a = h->a;
    _Alignas(64) uint16_t rows[SIDE * DEEP];
    uint16_t *to = h->key_panels;
    for (int64_t j = h->base; j < h->base + h->keys; j += SIDE)
        for (int64_t d = 0; d < a->D; d += DEEP, to += SIDE * DEEP) {
            vf v[SIDE];
            round_rows(h->k + j * a->ldk + d, a->ldk, h->n - j, a->D - d, DEEP, rows);
            for (int r = 0; r < SIDE; r++) v[r] = vf_load((const float *)(rows + r * DEEP));
            vf_transpose(v);
            for (int r = 0; r < SIDE; r++) vf_store((float *)(to + r * DEEP), v[r]);
        }
}

INLINE vf value(const Head *h, int64_t j, int64_t d)
{
    const float *p = h->v + j * h->a->ldv + d;
    return j < h->n ? load(p, MIN(PANEL, h->a->D - d)) : vf_set(0);
}
/* Pairs of keys, 16 columns of D side by side. */
static void pack_values(const Head *h)
{
    for (int64_t j = 0; j < h->keys; j += 2)
        for (int64_t c = 0; c < h->wide; c++) {
            __m512i even = vf_bf16(value(h, h->base + j, c * PANEL)),
                    odd = vf_bf16(value(h, h->base + j + 1, c * PANEL));
            _mm512_store_si512(h->value_panels + (c * h->keys + j) * PANEL,
                               _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
        }
}

INLINE void products(int panels, Rows x, const uint8_t *w, int64_t panel, int64_t steps, float *to,
                     int64_t row)
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
static void multiply(Rows x, const uint16_t *w, int64_t panel, int64_t steps, int64_t count,
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

typedef struct Keys {           /* that a block of queries sees; from a multiple of DEEP on */
    int64_t from, to;
} Keys;
static Keys keys_of(const Attention *a, int64_t n, int64_t q0, int64_t q1)
{
    if (!a->window) return (Keys){ 0, n };
    return (Keys){ MAX(0, q0 - a->window) & -DEEP, MIN(n, q1 + a->window) };
}

/* A row of scores, from its first key on, to weights e^(score - largest); one over their sum. */
static float soften(const Head *h, int64_t query, Keys keys, float *scores, uint16_t *weights)
{
    const Attention *a = h->a;
    const vf never = vf_set(-INFINITY), window = vf_set((float)a->window);
    vf largest = never, sum = vf_set(0);
    int64_t n = keys.to - keys.from;
    EACH(i, w, n) {
        vf s = vf_mul(vf_load(scores + i), vf_set(a->scale));
        if (h->mask) s = vf_add(s, load(h->mask + query * a->mask_query + keys.from + i, w));
        vf away = vf_sub(vf_lanes(), vf_set((float)(query - keys.from - i)));
        if (a->window) s = vf_where_le(vf_abs(away), window, s, never);
        s = vf_part(s, (int)w, never);
        vf_store(scores + i, s);
        largest = vf_max(s, largest);
    }
    largest = vf_set(vf_largest(largest));
    EACH(i, w, n) {
        vf e = vf_exp(vf_sub(vf_load(scores + i), largest));
        vf_store_bf16(weights + i, e);
        sum = vf_add(sum, vf_part(e, (int)w, vf_set(0)));
    }
    for (int64_t i = ROUND_UP(n, PANEL); i < ROUND_UP(n, DEEP); i += PANEL)
        vf_store_bf16(weights + i, vf_set(0));
    return 1 / vf_sum(sum);
}

static void attend(const Head *h, int64_t i, int64_t count)
{
    const Attention *a = h->a;
    Keys keys = keys_of(a, h->n, i, i + count);
    int64_t panels = (keys.to - keys.from + SIDE - 1) / SIDE, at = keys.from - h->base;
    float scale[SIDE];
    int64_t row_q = row_bf16(a->D), row_w = row_bf16(h->n), two = sizeof(uint16_t);
    round_rows(h->q + i * a->ldq, a->ldq, count, a->D, row_q, h->queries);
    multiply((Rows){ (uint8_t *)h->queries, row_q * two },
             h->key_panels + at * h->depth * DEEP, h->depth * TILE_BYTES, h->depth, panels,
             h->scores, h->row);
    for (int64_t r = 0; r < count; r++)
        scale[r] = soften(h, i + r, keys, h->scores + r * h->row, h->weights + r * row_w);
    multiply((Rows){ (uint8_t *)h->weights, row_w * two }, h->value_panels + at * PANEL,
             h->keys * PANEL * two, (panels + 1) / 2, h->wide, h->scores, h->row);
    for (int64_t r = 0; r < count; r++)
        EACH(d, w, a->D)
            store(h->out + (i + r) * a->ldo + d,
                  vf_mul(vf_load(h->scores + r * h->row + d), vf_set(scale[r])), w);
}

void amx_attention_bf16(const Attention *a, int r, int h, int64_t q0, int64_t q1, float *scratch)
{
    int64_t first = a->start[r], head = (int64_t)h * a->D, n = a->start[r + 1] - first;
    if (n < LEAST) {
        avx512_attention(a, r, h, q0, q1, scratch);
        return;
    }
    Keys keys = keys_of(a, n, q0, q1);
    Head one = { .a = a, .q = a->q + first * a->ldq + head, .k = a->k + first * a->ldk + head,
                 .v = a->v + first * a->ldv + head, .out = a->out + first * a->ldo + head, .n = n,
                 .base = keys.from, .keys = ROUND_UP(keys.to - keys.from, DEEP),
                 .depth = (a->D + DEEP - 1) / DEEP, .wide = (a->D + PANEL - 1) / PANEL };
    if (a->mask) one.mask = a->mask + r * a->mask_row + h * a->mask_head;
    one.row = attention_row(n, a->D);
    one.scores = (float *)ROUND_UP((uintptr_t)scratch, 64);
    one.weights = (uint16_t *)(one.scores + SIDE * one.row);
    one.queries = one.weights + SIDE * row_bf16(n);
    one.key_panels = one.queries + SIDE * row_bf16(a->D);
    one.value_panels = one.key_panels + one.keys * one.depth * DEEP;
    pack_keys(&one);
    pack_values(&one);
    tiles_configure();
    for (int64_t i = q0; i < q1; i += SIDE) attend(&one, i, MIN(SIDE, q1 - i));
    _tile_release();
}

/* SPDX-License-Identifier: Apache-2.0
 * rows.h - kernels over rows of floats: layer norm, softmax, activation, quantization. */
#include "act.h"
#include "ends.h"
#include "kernels/quantize.h"

static void add_row(const float *a, const float *b, float *sum, int64_t n)
{
    SWEEP(i, w, n, store(sum + i, vf_add(load(a + i, w), load(b + i, w)), w););
}

/* In double, so that the mean of a row is its nearest float: of equal numbers it is that number, whose
 * distance 1 / sqrt(eps) would make large. Four registers of four lanes on every ISA. */
INLINE double wide_sum(const float *x, int64_t n)
{
    enum { LANES = 4, TURNS = 4 };
    typedef float Narrow __attribute__((vector_size(LANES * sizeof(float))));
    typedef double Wide __attribute__((vector_size(LANES * sizeof(double))));
    Wide sum[TURNS] = { 0 };
    int64_t i = 0;
    for (; i + TURNS * LANES <= n; i += TURNS * LANES)
#pragma GCC unroll 4
        for (int t = 0; t < TURNS; t++) {
            Narrow v;
            memcpy(&v, x + i + t * LANES, sizeof v);
            sum[t] += __builtin_convertvector(v, Wide);
        }
    const Wide all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    double total = (all[0] + all[1]) + (all[2] + all[3]);
    for (; i < n; i++) total += (double)x[i];
    return total;
}

/* Of x - mean: four sums in turns, or each addition would wait for the one before. */
INLINE float squares(const float *x, int64_t n, vf mean)
{
    enum { TURNS = 4 };
    vf sum[TURNS];
    for (int t = 0; t < TURNS; t++) sum[t] = vf_set(0);
    int64_t i = 0;
    for (; i + TURNS * PANEL <= n; i += TURNS * PANEL)
#pragma GCC unroll 4
        for (int t = 0; t < TURNS; t++) {
            vf d = vf_sub(vf_load(x + i + t * PANEL), mean);
            sum[t] = vf_fma(d, d, sum[t]);
        }
    SWEEP(k, w, n - i,
         vf d = part(vf_sub(load(x + i + k, w), mean), w, vf_set(0));
         sum[0] = vf_fma(d, d, sum[0]););
    return vf_sum(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3])));
}

static void bf16_row(const float *x, int64_t K, uint16_t *b)
{
    SWEEP(k, w, K, vf_store_bf16(b + k, load(x + k, w)););
    int64_t end = ROUND_UP(K, PANEL);
    memset(b + end, 0, (size_t)(row_bf16(K) - end) * sizeof(*b));
}

static void norm_row(const Norm *n, const float *x, float *y)
{
    const vf mean = vf_set((float)(wide_sum(x, n->C) / (double)n->C));
    const float variance = squares(x, n->C, mean) / (float)n->C;
    const vf scale = vf_set(1 / sqrtf(variance + n->eps));
    SWEEP(i, w, n->C,
          vf d = vf_mul(vf_sub(load(x + i, w), mean), scale);
         vf beta = n->beta ? load(n->beta + i, w) : vf_set(0);
         store(y + i, vf_fma(d, load(n->gamma + i, w), beta), w););
}

static void norm_body(const Norm *n, int64_t m0, int64_t m1)
{
    for (int64_t at = m0 * n->C; at < m1 * n->C; at += n->C) {
        float *sum = n->sum ? n->sum + at : n->y + at; /* y serves until it is written */
        if (n->skip) add_row(n->x + at, n->skip + at, sum, n->C);
        norm_row(n, n->skip ? sum : n->x + at, n->y + at);
        if (n->yb) bf16_row(n->y + at, n->C, n->yb + at / n->C * row_bf16(n->C));
    }
}

static void softmax_body(const float *x, float *y, int64_t n)
{
    vf most = vf_set(-INFINITY), sum = vf_set(0);
    SWEEP(i, w, n, most = vf_max(part(load(x + i, w), w, most), most););
    most = vf_set(vf_largest(most));
    SWEEP(i, w, n,
         vf e = vf_exp(vf_sub(load(x + i, w), most));
         store(y + i, e, w);
         sum = vf_add(sum, part(e, w, vf_set(0))););
    vf scale = vf_set(1 / vf_sum(sum));
    SWEEP(i, w, n, store(y + i, vf_mul(load(y + i, w), scale), w););
}

INLINE void activate_row(const float *x, float *y, int64_t n, Act act)
{
    SWEEP(i, w, n, store(y + i, vf_act(act, load(x + i, w)), w););
}
static void activate_body(Act act, const float *x, float *y, int64_t n)
{
    WITH_ACT(act, activate_row, x, y, n)
}

/* Stretched to hold 0.0; in turns, as in squares. */
INLINE void range_of(const float *x, int64_t n, float *least, float *most)
{
    enum { TURNS = 4 };
    vf lo[TURNS], hi[TURNS];
    for (int t = 0; t < TURNS; t++) lo[t] = hi[t] = vf_set(0);
    int64_t i = 0;
    for (; i + TURNS * PANEL <= n; i += TURNS * PANEL)
#pragma GCC unroll 4
        for (int t = 0; t < TURNS; t++) {
            vf v = vf_load(x + i + t * PANEL);
            lo[t] = vf_min(v, lo[t]);
            hi[t] = vf_max(v, hi[t]);
        }
    SWEEP(k, w, n - i,
         vf v = load(x + i + k, w);
         lo[0] = vf_min(v, lo[0]);
         hi[0] = vf_max(v, hi[0]););
    vf low = vf_min(vf_min(lo[0], lo[1]), vf_min(lo[2], lo[3]));
    *least = -vf_largest(vf_sub(vf_set(0), low));
    *most = vf_largest(vf_max(vf_max(hi[0], hi[1]), vf_max(hi[2], hi[3])));
}

static void quantize_row(const float *x, int64_t K, uint8_t *q, RowScale *row)
{
    enum { BYTES = 64 };        /* of a store */
    float lo, hi;
    range_of(x, K, &lo, &hi);
    const QuantizeStep step = quantize_step(lo, hi);
    const int zero = (int)step.zero;
    int64_t k = 0;
    for (; k + BYTES <= K; k += BYTES) vf_store_u7(q + k, x + k, step.inverse, zero);
    if (k < K) {
        float end[BYTES] = { 0 };
        memcpy(end, x + k, (size_t)(K - k) * sizeof(float));
        vf_store_u7(q + k, end, step.inverse, zero);
    }
    memset(q + K, 0, (size_t)(row_i8(K) - K));
    *row = (RowScale){ step.scale, zero, (int32_t)u8_sum(q, row_i8(K)) };
}

static void quantize_body(const float *x, int64_t ldx, int64_t K, uint8_t *q, RowScale *row,
                          int64_t m0, int64_t m1)
{
    for (int64_t m = m0; m < m1; m++)
        quantize_row(x + m * ldx, K, q + m * row_i8(K), row + m);
}

static void bf16_body(const float *x, int64_t ldx, int64_t K, uint16_t *b, int64_t m0, int64_t m1)
{
    for (int64_t m = m0; m < m1; m++) bf16_row(x + m * ldx, K, b + m * row_bf16(K));
}

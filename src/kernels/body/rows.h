/* SPDX-License-Identifier: Apache-2.0
 * rows.h - kernels over rows of floats: layer norm, softmax, activation, quantization. */
#include "act.h"
#include "ends.h"
#include "kernels/quantize.h"

static void rows_add(const float *a, const float *b, float *sum, int64_t n)
{
    SWEEP(i, w, n, store(sum + i, vf_add(load(a + i, w), load(b + i, w)), w););
}

/* In double, so that the mean of a row is its nearest float: of equal numbers it is that number, whose
 * distance 1 / sqrt(eps) would make large. */
INLINE double wide_sum(const float *x, int64_t n)
{
    vd sum = vd_zero();
    int64_t i = 0;
    for (; i + PANEL <= n; i += PANEL) sum = vd_add(sum, x + i);
    double total = vd_sum(sum);
    for (; i < n; i++) total += (double)x[i];
    return total;
}

/* Of x - mean: four sums in turn, so that an addition does not wait for the one before. */
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

/* The end of a row's sum is a chain of a hundred cycles: a few rows go through each pass together, so
 * that one row's chain runs beside the next row's additions. */
enum { AT_ONCE = 4 };

static void norm_body_row(const Norm *n, const float *x, float *y, vf mean, vf scale)
{
    SWEEP(i, w, n->C,
          vf d = vf_mul(vf_sub(load(x + i, w), mean), scale);
         vf beta = n->beta ? load(n->beta + i, w) : vf_set(0);
         store(y + i, vf_fma(d, load(n->gamma + i, w), beta), w););
}

static void norm_body_rows(const Norm *n, int64_t m, int rows)
{
    const int64_t C = n->C;
    float *y = n->y + m * C, *sum = n->sum ? n->sum + m * C : y; /* y serves until it is written */
    const float *x = n->skip ? sum : n->x + m * C;
    float mean[AT_ONCE], scale[AT_ONCE];
    if (n->skip) rows_add(n->x + m * C, n->skip + m * C, sum, rows * C);
    for (int r = 0; r < rows; r++) mean[r] = (float)(wide_sum(x + r * C, C) / (double)C);
    for (int r = 0; r < rows; r++) {
        float variance = squares(x + r * C, C, vf_set(mean[r])) / (float)C;
        scale[r] = 1 / sqrtf(variance + n->eps);
    }
    for (int r = 0; r < rows; r++)
        norm_body_row(n, x + r * C, y + r * C, vf_set(mean[r]), vf_set(scale[r]));
    for (int r = 0; n->yb && r < rows; r++)
        bf16_row(y + r * C, C, n->yb + (m + r) * row_bf16(C));
}

static void norm_body(const Norm *n, int64_t m0, int64_t m1)
{
    for (int64_t m = m0; m < m1; m += AT_ONCE) norm_body_rows(n, m, (int)MIN(AT_ONCE, m1 - m));
}

/* ---- a row of any length, from memory twice: once for both moments, once to be written ---- */
typedef struct Moments {
    double n, mean, squares; /* squares: of the distances from the mean */
} Moments;

/* Those of n more numbers added, which fit the first cache in any case. Distances from the mean so far are
 * small enough for sums of floats: where they are not, the squares are as large. */
INLINE void moments_add(Moments *m, const float *x, int64_t n)
{
    enum { TURNS = 4 };
    vf sum[TURNS], squares[TURNS];
    const float from = m->n ? (float)m->mean : x[0];
    const vf middle = vf_set(from);
    for (int t = 0; t < TURNS; t++) sum[t] = squares[t] = vf_set(0);
    int64_t i = 0;
    for (; i + TURNS * PANEL <= n; i += TURNS * PANEL)
#pragma GCC unroll 4
        for (int t = 0; t < TURNS; t++) {
            const vf d = vf_sub(vf_load(x + i + t * PANEL), middle);
            sum[t] = vf_add(sum[t], d);
            squares[t] = vf_fma(d, d, squares[t]);
        }
    SWEEP(k, w, n - i,
          const vf d = part(vf_sub(load(x + i + k, w), middle), w, vf_set(0));
          sum[0] = vf_add(sum[0], d);
          squares[0] = vf_fma(d, d, squares[0]););
    const double s = vf_sum(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3]))), count = (double)n;
    const double q = vf_sum(vf_add(vf_add(squares[0], squares[1]), vf_add(squares[2], squares[3])));
    const double all = m->n + count, apart = from + s / count - m->mean;
    m->squares += q - s * s / count + (m->n ? apart * apart * (m->n * count / all) : 0);
    m->mean = m->n ? m->mean + apart * (count / all) : from + s / count;
    m->n = all;
}

static void standardize_body(const float *x, float *y, int64_t n, float eps)
{
    enum { AT_A_TIME = 4096 };
    Moments m = { 0 };
    for (int64_t i = 0; i < n; i += AT_A_TIME) moments_add(&m, x + i, MIN(AT_A_TIME, n - i));
    /* The mean as two floats: of nearly equal numbers the division blows up how it was rounded. */
    const vf mean = vf_set((float)m.mean), rest = vf_set((float)(m.mean - (float)m.mean));
    const vf scale = vf_set((float)(1 / sqrt(MAX(m.squares, 0) / (double)n + eps)));
    SWEEP(i, w, n, store(y + i, vf_mul(vf_sub(vf_sub(load(x + i, w), mean), rest), scale), w););
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

static void quantize_body_row(const float *x, int64_t K, uint8_t *q, QuantizeStep step,
                              RowScale *row)
{
    enum { BYTES = 64 };        /* of a store */
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
    QuantizeStep step[AT_ONCE];
    for (int64_t m = m0; m < m1; m += AT_ONCE) {
        const int64_t rows = MIN(AT_ONCE, m1 - m);
        for (int64_t r = 0; r < rows; r++) {
            float lo, hi;
            range_of(x + (m + r) * ldx, K, &lo, &hi);
            step[r] = quantize_step(lo, hi);
        }
        for (int64_t r = 0; r < rows; r++)
            quantize_body_row(x + (m + r) * ldx, K, q + (m + r) * row_i8(K), step[r], row + m + r);
    }
}

static void bf16_body(const float *x, int64_t ldx, int64_t K, uint16_t *b, int64_t m0, int64_t m1)
{
    for (int64_t m = m0; m < m1; m++) bf16_row(x + m * ldx, K, b + m * row_bf16(K));
}

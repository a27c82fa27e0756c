/* SPDX-License-Identifier: Apache-2.0
 * gemm_i8.c - the reference of the int8 GEMM. The sum of (q - zero) * (w - w_zero) is
 * sum(q * w) - zero * sum(w) - w_zero * sum(q) + K * zero * w_zero: integers, exact for K to 65536
 * (parts may wrap, the whole does not, so it is added unsigned). */
#include "finish.h"

static int32_t scalar_gemm_i8_correct(const Linear *l, uint32_t dot, int64_t m, int64_t n)
{
    uint32_t zero = (uint32_t)l->row[m].zero;
    dot -= zero * (uint32_t)l->w_sum[n];
    if (l->w_zero)
        dot -= (uint32_t)l->w_zero[n] * ((uint32_t)l->row[m].sum - (uint32_t)l->K * zero);
    return (int32_t)dot;
}

static void scalar_gemm_i8_run(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    int64_t K = ROUND_UP(l->K, 4);
    for (int64_t m = m0; m < m1; m++)
        for (int64_t n = p0 * PANEL; n < MIN(p1 * PANEL, l->N); n++) {
            const uint8_t *x = l->xq + m * row_i8(l->K);
            const int8_t *w = (const int8_t *)l->w + n / PANEL * PANEL * K + n % PANEL * 4;
            int32_t dot = 0;
            for (int64_t k = 0; k < K; k++) dot += x[k] * w[k / 4 * 4 * PANEL + k % 4];
            float sum = (float)scalar_gemm_i8_correct(l, (uint32_t)dot, m, n) *
                        (l->row[m].scale * l->w_scale[n]);
            scalar_finish(l, m, n, sum, scalar_activate_near);
        }
}

const Gemm scalar_gemm_i8 = { .mr = 1, .run = scalar_gemm_i8_run };

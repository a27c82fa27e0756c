/* SPDX-License-Identifier: Apache-2.0
 * gemm_bf16.c - the reference of the bf16 GEMM: products of bf16 are exact in f32; one accumulator
 * per output, k ascending. */
#include "finish.h"

static void scalar_gemm_bf16_fill_up(const Linear *l, int64_t m)
{
    for (int64_t n = l->N; n < row_bf16(l->N); n++) l->yb[m * row_bf16(l->N) + n] = 0;
}

static void scalar_gemm_bf16_run(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    int64_t K = ROUND_UP(l->K, 2);
    for (int64_t m = m0; l->yb && p1 * PANEL >= l->N && m < m1; m++) scalar_gemm_bf16_fill_up(l, m);
    for (int64_t m = m0; m < m1; m++)
        for (int64_t n = p0 * PANEL; n < MIN(p1 * PANEL, l->N); n++) {
            const uint16_t *row = l->at ? NULL : l->xb + m * row_bf16(l->K);
            const int64_t piece = l->at ? l->K / l->taps : K;
            const uint16_t *w = (const uint16_t *)l->w + n / PANEL * PANEL * K + n % PANEL * 2;
            float sum = 0;
            for (int64_t k = 0, i = 0; k < K; k += piece, i++) {
                const uint16_t *x = row ? row : l->at[m * l->taps + i];
                for (int64_t j = 0; j < piece; j++) {
                    const uint16_t by = w[(k + j) / 2 * 2 * PANEL + (k + j) % 2];
                    sum = fmaf(bf16_to_f32(x[j]), bf16_to_f32(by), sum);
                }
            }
            scalar_finish(l, m, n, sum, scalar_activate_near);
        }
}

const Gemm scalar_gemm_bf16 = { .mr = 1, .pieces = true, .run = scalar_gemm_bf16_run };

/* SPDX-License-Identifier: Apache-2.0
 * gemm_f32.c - the reference of the f32 GEMM: one accumulator per output, k ascending, fused. */
#include <math.h>

#include "finish.h"

static void scalar_gemm_f32_run(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    for (int64_t m = m0; m < m1; m++)
        for (int64_t n = p0 * PANEL; n < MIN(p1 * PANEL, l->N); n++) {
            const float *x = l->x + m * l->ldx;
            const float *w = (const float *)l->w + n / PANEL * PANEL * l->K + n % PANEL;
            float sum = 0;
            for (int64_t k = 0; k < l->K; k++) sum = fmaf(x[k], w[k * PANEL], sum);
            scalar_finish(l, m, n, sum, scalar_activate);
        }
}

const Gemm scalar_gemm_f32 = { .mr = 1, .run = scalar_gemm_f32_run };

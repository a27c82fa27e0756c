/* SPDX-License-Identifier: Apache-2.0
 * quantize_rows.c - the reference of the row quantizer: the range of a row, stretched to hold 0.0,
 * is cut into 127 steps. A row of zeros (or of almost nothing) gets scale 0; an infinite range gets
 * scale NaN, so that the damage shows; a NaN is read as the lowest value. */
#include <math.h>

#include "kernels/quantize.h"
#include "kernels/tables.h"

static void quantize_row(const float *x, int64_t K, uint8_t *q, RowScale *row)
{
    float lo = 0, hi = 0;
    for (int64_t k = 0; k < K; k++) {
        if (x[k] < lo) lo = x[k];
        if (x[k] > hi) hi = x[k];
    }
    QuantizeStep step = quantize_step(lo, hi);
    int32_t sum = 0;
    for (int64_t k = 0; k < row_i8(K); k++) {
        float v = k < K ? rintf(x[k] * step.inverse) + step.zero : 0;
        q[k] = (uint8_t)(v > 0 ? v < 127 ? v : 127 : 0);
        sum += q[k];
    }
    *row = (RowScale){ step.scale, (int32_t)step.zero, sum };
}

void scalar_quantize_rows(const float *x, int64_t ldx, int64_t K, uint8_t *q, RowScale *row,
                          int64_t m0, int64_t m1)
{
    for (int64_t m = m0; m < m1; m++)
        quantize_row(x + m * ldx, K, q + m * row_i8(K), row + m);
}

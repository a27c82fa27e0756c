/* SPDX-License-Identifier: Apache-2.0
 * rows.c - the row kernels over this ISA's vectors. */
#include "kernels/tables.h"
#include "vec.h"

#include "kernels/body/rows.h"

void avx2_layer_norm(const Norm *n, int64_t m0, int64_t m1) { norm_body(n, m0, m1); }
void avx2_standardize(const float *x, float *y, int64_t n, float eps)
{
    standardize_body(x, y, n, eps);
}
void avx2_softmax(const float *x, float *y, int64_t n) { softmax_body(x, y, n); }
void avx2_activate(Act act, const float *x, float *y, int64_t n) { activate_body(act, x, y, n); }
void avx2_quantize_rows(const float *x, int64_t ldx, int64_t K, uint8_t *q, RowScale *row,
                        int64_t m0, int64_t m1)
{
    quantize_body(x, ldx, K, q, row, m0, m1);
}
void avx2_bf16_rows(const float *x, int64_t ldx, int64_t K, uint16_t *b, int64_t m0, int64_t m1)
{
    bf16_body(x, ldx, K, b, m0, m1);
}

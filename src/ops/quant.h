/* SPDX-License-Identifier: Apache-2.0
 * quant.h - private to src/ops: integer matrix products and 8-bit limits, shared by ONNX's own
 * quantized operators and com.microsoft's. */
#ifndef OPS_QUANT_H
#define OPS_QUANT_H
#include "ops/product.h"

typedef struct IntJob {
    const OpCall *call;
    Product p;
    const Tensor *a, *b, *a_zero, *b_zero; /* zero points or NULL */
    int16_t *wide;                         /* b minus its zero points */
    int32_t *y;                            /* [batches, M, N] */
} IntJob;

/* y = (a - a_zero) * (b - b_zero); the caller fills p, a, b, the zero points and y. */
bool int_product(OpCall *, IntJob *, Err *);
/* Input `input` is uint8 or int8, and its zero point (where there is one) of the same type. */
bool int_bytes(const OpCall *, int input, int zero, Err *);
/* A number for the whole side, for each of its rows (a) or columns (b), or for each of every matrix. */
bool int_side_numbers(const OpCall *, int input, const Product *, int side, Err *);
/* Where the number of a row or column is: `each` of them, or that many for every matrix. */
int64_t int_side_place(const Tensor *, int64_t each, int64_t matrix, int64_t index);
bool quant_limits(DType, double *low, double *high); /* false: not a type of 8 or 16 bits */
/* One scale and zero point for all of x (uint8), as DynamicQuantizeLinear gives them. */
void quant_dynamic(const OpCall *, const float *x, int64_t n, uint8_t *y, float *scale,
                   uint8_t *zero);

#endif

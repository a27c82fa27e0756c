/* SPDX-License-Identifier: Apache-2.0
 * product.h - private to src/ops: the shape of a NumPy matrix product, shared by MatMul and its
 * quantized relatives. Both sides are batches of matrices; a vector is a matrix of one row or
 * column. */
#ifndef OPS_PRODUCT_H
#define OPS_PRODUCT_H
#include "ops/ops.h"

typedef struct Product {
    int64_t M, N, K;
    int rank;                        /* of the batch dims */
    int64_t batch[MAX_RANK], batches;
    int64_t step[2][MAX_RANK];       /* matrices to go on, for each side; 0: broadcast */
    int64_t matrices[2];             /* each side has */
    bool vector[2];
} Product;

bool product_of(const OpCall *, int a, int b, Product *, Err *);
bool product_shape(OpCall *, int a, int b, DType, Err *); /* fills output 0 */
int64_t product_matrix(const Product *, int side, int64_t batch); /* number of that side's matrix */
/* Y = A * B in f32 by the GEMM kernel; y is [batches, M, N]. transposed: b holds [N, K]. */
bool product_f32(OpCall *, const Product *, const float *a, const float *b, bool transposed,
                 float *y, Err *);
/* The same where the right side already lies in panels, panels_f32_size(N, K) floats a matrix. */
void product_panels(const OpCall *, const Product *, const float *a, float *panels, float *y);

/* Gemm, whose com.microsoft relative adds an activation. */
bool gemm_product(const OpCall *, Product *, Err *);
bool gemm_shape(OpCall *, Err *);
bool gemm_run(OpCall *, Err *);

#endif

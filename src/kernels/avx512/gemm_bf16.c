/* SPDX-License-Identifier: Apache-2.0
 * gemm_bf16.c - the bf16 GEMM with a tile of 8 rows x 32 columns, widened to f32 in registers. */
#include "kernels/tables.h"
#include "int.h"

#include "kernels/body/widen.h"

/* 16 sums, 4 registers of weights, 2 of the row. */
enum { DOT_ROWS = 8, DOT_PANELS = 2 };
INLINE int dot_panels(int rows) { return (void)rows, DOT_PANELS; }
#define DOTS(X)                                                     \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) \
    X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2)

#include "kernels/body/gemm_bf16.h"

const Gemm avx512_gemm_bf16 = { .mr = DOT_ROWS, .pieces = true, .run = gemm_bf16_body };

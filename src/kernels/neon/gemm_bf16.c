/* SPDX-License-Identifier: Apache-2.0
 * gemm_bf16.c - the bf16 GEMM with a tile of 4 rows x 16 columns, widened to f32 in registers. */
#include "kernels/tables.h"
#include "int.h"

#include "kernels/body/widen.h"

/* 16 sums, 8 registers of weights, 2 of the row. */
enum { DOT_ROWS = 4, DOT_PANELS = 1 };
INLINE int dot_panels(int rows) { return (void)rows, 1; }
#define DOTS(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1)

#include "kernels/body/gemm_bf16.h"

const Gemm neon_gemm_bf16 = { .mr = DOT_ROWS, .pieces = true, .run = gemm_bf16_body };

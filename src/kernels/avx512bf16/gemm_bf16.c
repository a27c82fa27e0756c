/* SPDX-License-Identifier: Apache-2.0
 * gemm_bf16.c - the bf16 GEMM with a tile of 8 rows x 48 columns. */
#include "kernels/tables.h"
#include "dot.h"

#include "kernels/body/gemm_bf16.h"

const Gemm avx512bf16_gemm_bf16 = { .mr = DOT_ROWS, .pieces = true, .run = gemm_bf16_body };

/* SPDX-License-Identifier: Apache-2.0
 * gemm_i8.c - the int8 GEMM with a tile of 4 rows x 16 columns. */
#include "kernels/tables.h"
#include "dot.h"

#include "kernels/body/gemm_i8.h"

const Gemm neon_gemm_i8 = { .mr = DOT_ROWS, .run = gemm_i8_body };

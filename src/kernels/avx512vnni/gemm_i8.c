/* SPDX-License-Identifier: Apache-2.0
 * gemm_i8.c - the int8 GEMM with a tile of 8 rows x 48 columns. */
#include "kernels/tables.h"
#include "dot.h"

#include "kernels/body/gemm_i8.h"

const Gemm avx512vnni_gemm_i8 = { .mr = DOT_ROWS, .run = gemm_i8_body };

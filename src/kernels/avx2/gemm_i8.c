/* SPDX-License-Identifier: Apache-2.0
 * gemm_i8.c - the int8 GEMM with a tile of 3 rows x 16 columns. */
#include "kernels/tables.h"
#include "dot.h"

#include "kernels/body/scale.h"

#include "kernels/body/pairs.h"

const Gemm avx2_gemm_i8 = { .mr = PAIRS_ROWS, .run = gemm_i8_pairs };

/* SPDX-License-Identifier: Apache-2.0
 * gemm_f32.c - the f32 GEMM with a tile of 6 rows x 16 columns. */
#include "kernels/tables.h"
#include "vec.h"

#include "kernels/body/gemm_f32.h"

const Gemm neon_gemm_f32 = { .mr = TILE_ROWS, .run = gemm_f32_body };

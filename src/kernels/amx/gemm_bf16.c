/* SPDX-License-Identifier: Apache-2.0
 * gemm_bf16.c - the bf16 GEMM in tiles. */
#include "kernels/tables.h"
#include "kernels/avx512/vec.h"
enum { LOW_Y = 1 };
#include "kernels/body/sum.h"

#define tile_dot(sum, x, w) _tile_dpbf16ps(sum, x, w)
enum { FLOATS = 1 };
#include "gemm.h"

static void amx_gemm_bf16_run(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    TileRows x = { (const uint8_t *)l->xb, row_bf16(l->K) * (int64_t)sizeof(*l->xb) };
    tiles_gemm(l, x, (l->K + 1) / 2, m0, m1, p0, p1);
}

const Gemm amx_gemm_bf16 = { .mr = 2 * SIDE, .run = amx_gemm_bf16_run };

/* SPDX-License-Identifier: Apache-2.0
 * gemm_i8.c - the int8 GEMM in tiles. */
#include "kernels/tables.h"
#include "kernels/avx512/int.h"
#include "kernels/body/scale.h"

#define tile_dot(sum, x, w) _tile_dpbusd(sum, x, w)
enum { FLOATS = 0 };
#include "gemm.h"

static void amx_gemm_i8_run(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    tiles_gemm(l, (TileRows){ l->xq, row_i8(l->K) }, (l->K + 3) / 4, m0, m1, p0, p1);
}

const Gemm amx_gemm_i8 = { .mr = 2 * SIDE, .run = amx_gemm_i8_run };

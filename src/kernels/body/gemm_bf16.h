/* SPDX-License-Identifier: Apache-2.0
 * gemm_bf16.h - the bf16 GEMM: dot.h with two products a lane and step, sums in f32. */
typedef vf acc;
INLINE acc acc_zero(void) { return vf_set(0); }
INLINE acc acc_dot(acc sum, vi x, vi w) { return vi_dot_bf16(sum, x, w); }

enum { LOW_Y = 1 };
#include "sum.h"

#include "dot.h"

static void gemm_bf16_body(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    Groups g = { (const uint8_t *)l->xb, row_bf16(l->K) * (int64_t)sizeof(*l->xb), (l->K + 1) / 2 };
    dot_gemm(l, g, m0, m1, p0, p1);
}

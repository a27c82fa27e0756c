/* SPDX-License-Identifier: Apache-2.0
 * gemm_i8.h - the int8 GEMM: dot.h with four products a lane and step. Integer sums are exact in
 * any order; what turns them into floats is in scale.h. */
typedef vi acc;
INLINE acc acc_zero(void) { return vi_set(0); }
INLINE acc acc_dot(acc sum, vi x, vi w) { return vi_dot(sum, x, w); }

#include "scale.h"

#include "dot.h"

INLINE bool dot_ends(const Linear *l, int64_t n, int64_t panels)
{
    return (void)l, (void)n, (void)panels, false;
}
INLINE void dot_end(int rows, int panels, acc sum[DOT_ROWS][DOT_PANELS], const DotTile *t)
{
    (void)rows, (void)panels, (void)sum, (void)t;
}

static void gemm_i8_body(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    dot_gemm(l, (Groups){ l->xq, row_i8(l->K), NULL, 1, (l->K + 3) / 4 }, m0, m1, p0, p1);
}

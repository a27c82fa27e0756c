/* SPDX-License-Identifier: Apache-2.0
 * dot.h - the dot product of int8 in plain NEON. */
#ifndef KERNELS_NEON_DOT_H
#define KERNELS_NEON_DOT_H
#include "int.h"

/* 16 sums, 4 registers of weights, the row and what lies between. */
enum { DOT_ROWS = 4, DOT_PANELS = 1 };
INLINE int dot_panels(int rows) { return (void)rows, 1; }
#define DOTS(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1)

/* x is 0..127, so it is signed as well, and two products stay below 32768. */
INLINE int32x4_t dot4(int32x4_t sum, int32x4_t x, int32x4_t w)
{
    int8x16_t p = vreinterpretq_s8_s32(x), q = vreinterpretq_s8_s32(w);
    int16x8_t low = vmull_s8(vget_low_s8(p), vget_low_s8(q)), high = vmull_high_s8(p, q);
    return vpadalq_s16(sum, vpaddq_s16(low, high));
}
INLINE vi vi_dot(vi sum, vi x, vi w) { return (vi)FOUR(THREE, dot4, sum, x, w); }

#endif

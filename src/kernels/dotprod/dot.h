/* SPDX-License-Identifier: Apache-2.0
 * dot.h - the dot product of ARMv8.2: one instruction for what takes four without it. */
#ifndef KERNELS_DOTPROD_DOT_H
#define KERNELS_DOTPROD_DOT_H
#include "kernels/neon/int.h"

#include "kernels/body/dot_tiles.h"

INLINE int32x4_t dot4(int32x4_t sum, int32x4_t x, int32x4_t w) /* x is 0..127: signed as well */
{
    return vdotq_s32(sum, vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(w));
}
INLINE vi vi_dot(vi sum, vi x, vi w) { return (vi)FOUR(THREE, dot4, sum, x, w); }

#endif

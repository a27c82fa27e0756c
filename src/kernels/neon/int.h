/* SPDX-License-Identifier: Apache-2.0
 * int.h - 16 lanes of 32 bits in NEON: int32 sums, four int8 or two bf16. */
#ifndef KERNELS_NEON_INT_H
#define KERNELS_NEON_INT_H
#include "vec.h"

typedef struct vi {
    int32x4_t a, b, c, d;
} vi;

INLINE vi vi_set(int32_t x)
{
    int32x4_t v = vdupq_n_s32(x);
    return (vi){ v, v, v, v };
}
INLINE vi vi_load(const void *from)
{
    const int32_t *p = from;
    return (vi){ vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12) };
}
INLINE vi vi_sub(vi x, vi y) { return (vi)FOUR(TWO, vsubq_s32, x, y); }
INLINE vi vi_mul(vi x, vi y) { return (vi)FOUR(TWO, vmulq_s32, x, y); }
INLINE vf vi_float(vi x) { return (vf)FOUR(ONE, vcvtq_f32_s32, x); }

/* The bf16 in the low and in the high half of each lane, as floats. */
INLINE float32x4_t low4(int32x4_t x) { return vreinterpretq_f32_s32(vshlq_n_s32(x, 16)); }
INLINE float32x4_t high4(int32x4_t x)
{
    return vreinterpretq_f32_s32(vandq_s32(x, vdupq_n_s32((int32_t)0xFFFF0000)));
}
INLINE vf vi_low(vi x) { return (vf)FOUR(ONE, low4, x); }
INLINE vf vi_high(vi x) { return (vf)FOUR(ONE, high4, x); }

#endif

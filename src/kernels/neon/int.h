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
INLINE vi vi_add(vi x, vi y) { return (vi)FOUR(TWO, vaddq_s32, x, y); }
INLINE vi vi_sub(vi x, vi y) { return (vi)FOUR(TWO, vsubq_s32, x, y); }
INLINE vi vi_mul(vi x, vi y) { return (vi)FOUR(TWO, vmulq_s32, x, y); }
INLINE vi vi_shift(vi x, int bits) /* right; the sign stays */
{
    int32x4_t by = vdupq_n_s32(-bits);
    return (vi){ vshlq_s32(x.a, by), vshlq_s32(x.b, by), vshlq_s32(x.c, by), vshlq_s32(x.d, by) };
}
INLINE int32x4_t wide4(uint16x4_t x) { return vreinterpretq_s32_u32(vmovl_u16(x)); }
INLINE vi vi_bytes(const uint8_t *p) /* 16 of 0 .. 255 */
{
    uint8x16_t v = vld1q_u8(p);
    uint16x8_t low = vmovl_u8(vget_low_u8(v)), high = vmovl_u8(vget_high_u8(v));
    return (vi){ wide4(vget_low_u16(low)), wide4(vget_high_u16(low)), wide4(vget_low_u16(high)),
                 wide4(vget_high_u16(high)) };
}
INLINE void vi_put_bytes(uint8_t *p, vi x) /* kept within 0 .. 255 */
{
    uint16x8_t low = vcombine_u16(vqmovun_s32(x.a), vqmovun_s32(x.b));
    uint16x8_t high = vcombine_u16(vqmovun_s32(x.c), vqmovun_s32(x.d));
    vst1q_u8(p, vcombine_u8(vqmovn_u16(low), vqmovn_u16(high)));
}
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

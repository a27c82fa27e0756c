/* SPDX-License-Identifier: Apache-2.0
 * vec.h - the vocabulary of kernels/body/ in NEON: a vf is four registers. Every word has the
 * result of its x86 namesakes to the bit: minimum and maximum take the second where one is NaN, and
 * lanes are added in the same order. */
#ifndef KERNELS_NEON_VEC_H
#define KERNELS_NEON_VEC_H
#include <arm_neon.h>

#include "kernels/kernels.h"

#define INLINE static inline __attribute__((always_inline))

/* 24 of the 32 registers are sums; short tiles take more panels, to hide the latency. */
enum { TILE_ROWS = 6, TILE_PANELS = 4 };
INLINE int tile_panels(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }
enum { ATTEND_PANELS = 1 }; /* panels of queries that attention takes at once */
#define TILE_STEP(a, b, sum) vf_fma(a, b, sum) /* of a sum: body/tile.h */
#define TILES(X) X(1, 1) X(1, 2) X(1, 4) X(2, 1) X(2, 2) X(3, 1) X(3, 2) X(4, 1) X(5, 1) X(6, 1)

typedef struct vf {
    float32x4_t a, b, c, d;
} vf;

#define FOUR(op, ...) { op(a, __VA_ARGS__), op(b, __VA_ARGS__), op(c, __VA_ARGS__), \
                        op(d, __VA_ARGS__) }
#define ONE(part, fn, x) fn((x).part)
#define TWO(part, fn, x, y) fn((x).part, (y).part)
#define THREE(part, fn, x, y, z) fn((x).part, (y).part, (z).part)

INLINE vf vf_set(float x)
{
    float32x4_t v = vdupq_n_f32(x);
    return (vf){ v, v, v, v };
}
INLINE vf vf_load(const float *p)
{
    return (vf){ vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12) };
}
INLINE void vf_store(float *p, vf v)
{
    vst1q_f32(p, v.a);
    vst1q_f32(p + 4, v.b);
    vst1q_f32(p + 8, v.c);
    vst1q_f32(p + 12, v.d);
}
INLINE float32x4_t reverse4(float32x4_t x)
{
    float32x4_t pairs = vrev64q_f32(x);
    return vextq_f32(pairs, pairs, 2);
}
INLINE vf vf_reverse(vf v)
{
    return (vf){ reverse4(v.d), reverse4(v.c), reverse4(v.b), reverse4(v.a) };
}
INLINE vf vf_lanes(void) /* 0, 1, 2 ... 15 */
{
    static const float lane[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    return vf_load(lane);
}

INLINE float32x4_t min4(float32x4_t x, float32x4_t y) { return vbslq_f32(vcltq_f32(x, y), x, y); }
INLINE float32x4_t max4(float32x4_t x, float32x4_t y) { return vbslq_f32(vcgtq_f32(x, y), x, y); }
INLINE float32x4_t fma4(float32x4_t x, float32x4_t y, float32x4_t z) { return vfmaq_f32(z, x, y); }
INLINE float32x4_t fnma4(float32x4_t x, float32x4_t y, float32x4_t z) { return vfmsq_f32(z, x, y); }
INLINE float32x4_t sign4(float32x4_t size, float32x4_t sign)
{
    return vbslq_f32(vdupq_n_u32(0x80000000), sign, size);
}
INLINE float32x4_t pow2_4(float32x4_t n)
{
    int32x4_t biased = vaddq_s32(vreinterpretq_s32_f32(n), vdupq_n_s32(127));
    return vreinterpretq_f32_s32(vshlq_n_s32(biased, 23));
}

INLINE float32x4_t times_pow2_4(float32x4_t a, float32x4_t n)
{
    int32x4_t power = vshlq_n_s32(vreinterpretq_s32_f32(n), 23);
    return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(a), power));
}

INLINE vf vf_add(vf x, vf y) { return (vf)FOUR(TWO, vaddq_f32, x, y); }
INLINE vf vf_sub(vf x, vf y) { return (vf)FOUR(TWO, vsubq_f32, x, y); }
INLINE vf vf_mul(vf x, vf y) { return (vf)FOUR(TWO, vmulq_f32, x, y); }
INLINE vf vf_div(vf x, vf y) { return (vf)FOUR(TWO, vdivq_f32, x, y); }
INLINE vf vf_min(vf x, vf y) { return (vf)FOUR(TWO, min4, x, y); } /* y where either is NaN */
INLINE vf vf_max(vf x, vf y) { return (vf)FOUR(TWO, max4, x, y); }
INLINE vf vf_fma(vf x, vf y, vf z) { return (vf)FOUR(THREE, fma4, x, y, z); }   /* x * y + z */
INLINE vf vf_fnma(vf x, vf y, vf z) { return (vf)FOUR(THREE, fnma4, x, y, z); } /* z - x * y */
INLINE vf vf_abs(vf x) { return (vf)FOUR(ONE, vabsq_f32, x); }
/* the absolute value of one, the sign of the other */
INLINE vf vf_sign(vf size, vf sign) { return (vf)FOUR(TWO, sign4, size, sign); }
INLINE vf vf_round(vf x) { return (vf)FOUR(ONE, vrndnq_f32, x); } /* to nearest, ties to even */
/* 2^n for n in -127 (gives 0) .. 128 (gives infinity), given as 1.5 * 2^23 + n */
INLINE vf vf_pow2(vf n) { return (vf)FOUR(ONE, pow2_4, n); }
/* x * 2^n, n as above; for a = 1 that of vf_pow2 */
INLINE vf vf_times_pow2(vf x, vf n) { return (vf)FOUR(TWO, times_pow2_4, x, n); }
INLINE vf vf_where_le(vf x, vf y, vf yes, vf no) /* x <= y ? yes : no */
{
    return (vf){ vbslq_f32(vcleq_f32(x.a, y.a), yes.a, no.a),
                 vbslq_f32(vcleq_f32(x.b, y.b), yes.b, no.b),
                 vbslq_f32(vcleq_f32(x.c, y.c), yes.c, no.c),
                 vbslq_f32(vcleq_f32(x.d, y.d), yes.d, no.d) };
}

/* Lanes added (or compared) in halves: i with i + 8, then i + 4, i + 2, i + 1. */
INLINE float vf_sum(vf v)
{
    float32x4_t four = vaddq_f32(vaddq_f32(v.a, v.c), vaddq_f32(v.b, v.d));
    float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
INLINE float vf_largest(vf v)
{
    float32x4_t four = max4(max4(v.a, v.c), max4(v.b, v.d));
    float32x4_t two = max4(four, vextq_f32(four, four, 2));
    return vgetq_lane_f32(max4(two, vextq_f32(two, two, 1)), 0);
}

/* ---- 16 sums in double ---- */
typedef struct vd {
    float64x2_t two[8];
} vd;
INLINE vd vd_zero(void)
{
    float64x2_t v = vdupq_n_f64(0);
    return (vd){ { v, v, v, v, v, v, v, v } };
}
INLINE vd vd_add(vd sum, const float *p) /* 16 floats */
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        float32x4_t v = vld1q_f32(p + 4 * i);
        sum.two[2 * i] = vaddq_f64(sum.two[2 * i], vcvt_f64_f32(vget_low_f32(v)));
        sum.two[2 * i + 1] = vaddq_f64(sum.two[2 * i + 1], vcvt_high_f64_f32(v));
    }
    return sum;
}
INLINE double vd_sum(vd v) /* fours first, pairs in them, then the two pairs: on every ISA */
{
    float64x2_t low = vaddq_f64(vaddq_f64(v.two[0], v.two[2]), vaddq_f64(v.two[4], v.two[6]));
    float64x2_t high = vaddq_f64(vaddq_f64(v.two[1], v.two[3]), vaddq_f64(v.two[5], v.two[7]));
    return vaddvq_f64(low) + vaddvq_f64(high);
}

/* ---- the first n lanes, 0 <= n <= 16; memory of the others is not touched ---- */
INLINE vf vf_load_part(const float *p, int n) /* the others are 0 */
{
    float all[16] = { 0 };
    memcpy(all, p, (size_t)n * sizeof(float));
    return vf_load(all);
}
INLINE void vf_store_part(float *p, vf v, int n)
{
    float all[16];
    vf_store(all, v);
    memcpy(p, all, (size_t)n * sizeof(float));
}
INLINE vf vf_part(vf v, int n, vf rest) /* the others are those of rest */
{
    return vf_where_le(vf_lanes(), vf_set((float)n - 0.5f), v, rest);
}

/* ---- bytes and bf16 ---- */
INLINE int16x4_t words4(const float *x, float by) /* a NaN becomes -32768 */
{
    float32x4_t v = max4(vmulq_n_f32(vld1q_f32(x), by), vdupq_n_f32(INT16_MIN));
    return vqmovn_s32(vcvtnq_s32_f32(v));
}
/* 64 floats times `by`, to nearest even, plus `zero`, as bytes in 0..127; a NaN becomes 0. */
INLINE void vf_store_u7(uint8_t *q, const float *x, float by, int zero)
{
    for (int i = 0; i < 64; i += 8) {
        int16x8_t n = vcombine_s16(words4(x + i, by), words4(x + i + 4, by));
        n = vaddq_s16(n, vdupq_n_s16((int16_t)zero));
        vst1_u8(q + i, vmin_u8(vqmovun_s16(n), vdup_n_u8(127)));
    }
}
INLINE int64_t u8_sum(const uint8_t *q, int64_t n) /* n: a multiple of 64 */
{
    uint32x4_t sum = vdupq_n_u32(0);
    for (int64_t i = 0; i < n; i += 16) sum = vpadalq_u16(sum, vpaddlq_u8(vld1q_u8(q + i)));
    return (int64_t)vaddvq_u32(sum);
}

INLINE uint16x4_t bf16_4(float32x4_t v) /* to nearest even */
{
    uint32x4_t bits = vreinterpretq_u32_f32(v), high = vshrq_n_u32(bits, 16);
    uint32x4_t more = vaddq_u32(vdupq_n_u32(0x7FFF), vandq_u32(high, vdupq_n_u32(1)));
    uint32x4_t round = vshrq_n_u32(vaddq_u32(bits, more), 16);
    return vmovn_u32(vbslq_u32(vceqq_f32(v, v), round, vorrq_u32(high, vdupq_n_u32(0x40))));
}
INLINE void vf_store_bf16(uint16_t *p, vf v)
{
    vst1q_u16(p, vcombine_u16(bf16_4(v.a), bf16_4(v.b)));
    vst1q_u16(p + 8, vcombine_u16(bf16_4(v.c), bf16_4(v.d)));
}

/* ---- 16 x 16 transpose: sixteen squares of 4 x 4 ---- */
INLINE void transpose4(float32x4_t *a, float32x4_t *b, float32x4_t *c, float32x4_t *d)
{
    float32x4x2_t low = vtrnq_f32(*a, *b), high = vtrnq_f32(*c, *d);
    *a = vcombine_f32(vget_low_f32(low.val[0]), vget_low_f32(high.val[0]));
    *b = vcombine_f32(vget_low_f32(low.val[1]), vget_low_f32(high.val[1]));
    *c = vcombine_f32(vget_high_f32(low.val[0]), vget_high_f32(high.val[0]));
    *d = vcombine_f32(vget_high_f32(low.val[1]), vget_high_f32(high.val[1]));
}
INLINE void vf_transpose(vf v[16])
{
    vf from[16];
    for (int i = 0; i < 16; i++) from[i] = v[i];
#define SQUARE(part, to)                                                                      \
    for (int i = 0; i < 4; i++) {                                                             \
        vf *r = from + 4 * i;                                                                 \
        transpose4(&r[0].part, &r[1].part, &r[2].part, &r[3].part);                           \
    }                                                                                         \
    for (int i = 0; i < 4; i++)                                                               \
        v[to + i] = (vf){ from[i].part, from[i + 4].part, from[i + 8].part, from[i + 12].part };
    SQUARE(a, 0)
    SQUARE(b, 4)
    SQUARE(c, 8)
    SQUARE(d, 12)
#undef SQUARE
}

#endif

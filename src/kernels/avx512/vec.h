/* SPDX-License-Identifier: Apache-2.0
 * vec.h - the vocabulary of kernels/body/ in AVX-512: a vf is one register. Every word has the
 * result of its AVX2 namesake to the bit (so no scalef, no reciprocal, no reduce_add of the
 * compiler's own order). */
#ifndef KERNELS_AVX512_VEC_H
#define KERNELS_AVX512_VEC_H
#include <immintrin.h>

#include "kernels/kernels.h"

#define INLINE static inline __attribute__((always_inline))

/* 24 of the 32 registers are sums: 8 rows, because more row addresses than that do not stay in
 * registers, and three panels, because a row value then serves three FMAs. One panel is left for
 * the end of a range and for attention: 8 sums still cover the latency. */
enum { TILE_ROWS = 8, TILE_PANELS = 3 };
INLINE int tile_panels(int rows) { return (void)rows, TILE_PANELS; }
enum { ATTEND_PANELS = 3 }; /* panels of queries that attention takes at once */
#define TILE_STEP(a, b, sum) vf_fma(a, b, sum) /* of a sum: body/tile.h */
#define TILES(X)                                                                               \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1)                            \
    X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2)                            \
    X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3) X(6, 3) X(7, 3) X(8, 3)

typedef __m512 vf;

INLINE vf vf_set(float x) { return _mm512_set1_ps(x); }
INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
INLINE vf vf_reverse(vf v)
{
    return _mm512_permutexvar_ps(
        _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), v);
}
INLINE vf vf_lanes(void) /* 0, 1, 2 ... 15 */
{
    return _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
/* b where either is NaN */
INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }   /* a * b + c */
INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); } /* c - a * b */
INLINE vf vf_abs(vf a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }
INLINE vf vf_sign(vf size, vf sign) /* the absolute value of one, the sign of the other */
{
    vf bit = _mm512_set1_ps(-0.0f);
    return _mm512_or_ps(_mm512_andnot_ps(bit, size), _mm512_and_ps(bit, sign));
}
INLINE vf vf_round(vf a) /* to nearest, ties to even */
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* 2^n for n in -127 (gives 0) .. 128 (gives infinity), given as 1.5 * 2^23 + n */
INLINE vf vf_pow2(vf n)
{
    __m512i biased = _mm512_add_epi32(_mm512_castps_si512(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(biased, 23));
}
INLINE vf vf_times_pow2(vf a, vf n) /* a * 2^n, n as above; for a = 1 that of vf_pow2 */
{
    __m512i power = _mm512_slli_epi32(_mm512_castps_si512(n), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), power));
}
INLINE vf vf_where_le(vf a, vf b, vf yes, vf no) /* a <= b ? yes : no */
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LE_OQ), no, yes);
}

/* Lanes added (or compared) in halves: i with i + 8, then i + 4, i + 2, i + 1. */
INLINE float vf_sum(vf v)
{
    __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INLINE float vf_largest(vf v)
{
    __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* ---- 16 sums in double ---- */
typedef struct vd {
    __m512d lo, hi;
} vd;
INLINE vd vd_zero(void) { return (vd){ _mm512_setzero_pd(), _mm512_setzero_pd() }; }
INLINE vd vd_add(vd sum, const float *p) /* 16 floats */
{
    return (vd){ _mm512_add_pd(sum.lo, _mm512_cvtps_pd(_mm256_loadu_ps(p))),
                 _mm512_add_pd(sum.hi, _mm512_cvtps_pd(_mm256_loadu_ps(p + 8))) };
}
INLINE __m256d halves(__m512d v)
{
    return _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
}
INLINE double vd_sum(vd v) /* fours first, pairs in them, then the two pairs: on every ISA */
{
    __m256d four = _mm256_add_pd(halves(v.lo), halves(v.hi));
    __m256d two = _mm256_hadd_pd(four, four);
    return _mm_cvtsd_f64(
        _mm_add_sd(_mm256_castpd256_pd128(two), _mm256_extractf128_pd(two, 1)));
}

/* ---- the first n lanes, 0 <= n <= 16; memory of the others is not touched ---- */
INLINE __mmask16 lanes_below(int n) { return (__mmask16)((1u << n) - 1); }
INLINE vf vf_load_part(const float *p, int n) { return _mm512_maskz_loadu_ps(lanes_below(n), p); }
INLINE void vf_store_part(float *p, vf v, int n) { _mm512_mask_storeu_ps(p, lanes_below(n), v); }
INLINE vf vf_part(vf v, int n, vf rest) { return _mm512_mask_blend_ps(lanes_below(n), rest, v); }

/* ---- bytes and bf16 ---- */
/* 64 floats times `by`, to nearest even, plus `zero`, as bytes in 0..127; a NaN becomes 0. */
INLINE void vf_store_u7(uint8_t *q, const float *x, float by, int zero)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i n[4], more = _mm512_set1_epi16((short)zero);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        n[i] = _mm512_cvtps_epi32(vf_mul(vf_load(x + i * PANEL), vf_set(by)));
    __m512i low = _mm512_add_epi16(_mm512_packs_epi32(n[0], n[1]), more);
    __m512i high = _mm512_add_epi16(_mm512_packs_epi32(n[2], n[3]), more);
    __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high));
    _mm512_storeu_si512(q, _mm512_min_epu8(bytes, _mm512_set1_epi8(127)));
}
INLINE int64_t u8_sum(const uint8_t *q, int64_t n) /* n: a multiple of 64 */
{
    __m512i sum = _mm512_setzero_si512();
    for (int64_t i = 0; i < n; i += 64)
        sum = _mm512_add_epi64(
            sum, _mm512_sad_epu8(_mm512_loadu_si512(q + i), _mm512_setzero_si512()));
    return _mm512_reduce_add_epi64(sum);
}

INLINE __m512i vf_bf16(vf v) /* in the low halves; to nearest even; no instruction: they flush */
{
    __m512i bits = _mm512_castps_si512(v), high = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
    __m512i more = _mm512_add_epi32(_mm512_set1_epi32(0x7FFF), odd);
    __m512i round = _mm512_srli_epi32(_mm512_add_epi32(bits, more), 16);
    __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(round, nan, high, _mm512_set1_epi32(0x40));
}
INLINE void vf_store_bf16(uint16_t *p, vf v)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(vf_bf16(v)));
}

/* ---- 16 x 16 transpose: within 128-bit quarters, then the quarters themselves ---- */
INLINE void transpose_quarters(vf v[16])
{
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        vf a = _mm512_unpacklo_ps(v[i], v[i + 1]), b = _mm512_unpackhi_ps(v[i], v[i + 1]);
        vf c = _mm512_unpacklo_ps(v[i + 2], v[i + 3]), d = _mm512_unpackhi_ps(v[i + 2], v[i + 3]);
        v[i] = _mm512_shuffle_ps(a, c, 0x44);
        v[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
        v[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
        v[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
}
INLINE void vf_transpose(vf v[16])
{
    transpose_quarters(v);
    vf from[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) from[i] = v[i];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        vf a = _mm512_shuffle_f32x4(from[i], from[i + 4], 0x88);
        vf b = _mm512_shuffle_f32x4(from[i + 8], from[i + 12], 0x88);
        vf c = _mm512_shuffle_f32x4(from[i], from[i + 4], 0xdd);
        vf d = _mm512_shuffle_f32x4(from[i + 8], from[i + 12], 0xdd);
        v[i] = _mm512_shuffle_f32x4(a, b, 0x88);
        v[i + 4] = _mm512_shuffle_f32x4(c, d, 0x88);
        v[i + 8] = _mm512_shuffle_f32x4(a, b, 0xdd);
        v[i + 12] = _mm512_shuffle_f32x4(c, d, 0xdd);
    }
}

#endif

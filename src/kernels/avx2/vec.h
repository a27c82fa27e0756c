/* SPDX-License-Identifier: Apache-2.0
 * vec.h - the vocabulary of kernels/body/ in AVX2. A vf is 16 floats, one row of a panel, on every
 * ISA: sums over lanes are then added in the same order everywhere, and all vector tables agree to
 * the bit. */
#ifndef KERNELS_AVX2_VEC_H
#define KERNELS_AVX2_VEC_H
#include <immintrin.h>

#include "kernels/kernels.h"

#define INLINE static inline __attribute__((always_inline))

/* Largest register tile of the f32 GEMM, and the panels a tile of so many rows is run over: 12 of
 * the 16 registers are sums. Short tiles take more panels, since 8 sums are needed to hide the
 * latency. */
enum { TILE_ROWS = 6, TILE_PANELS = 4 };
INLINE int tile_panels(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }
enum { ATTEND_PANELS = 1 }; /* panels of queries that attention takes at once */
/* rows x panels of every tile there is. */
#define TILE_STEP(a, b, sum) vf_fma(a, b, sum) /* of a sum: body/tile.h */
#define TILES(X) X(1, 1) X(1, 2) X(1, 4) X(2, 1) X(2, 2) X(3, 1) X(3, 2) X(4, 1) X(5, 1) X(6, 1)

typedef struct vf {
    __m256 lo, hi;
} vf;

INLINE vf vf_set(float x)
{
    __m256 v = _mm256_set1_ps(x);
    return (vf){ v, v };
}
INLINE vf vf_load(const float *p) { return (vf){ _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) }; }
INLINE void vf_store(float *p, vf v)
{
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
}
INLINE vf vf_reverse(vf v)
{
    const __m256i last = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    return (vf){ _mm256_permutevar8x32_ps(v.hi, last), _mm256_permutevar8x32_ps(v.lo, last) };
}
INLINE vf vf_lanes(void) /* 0, 1, 2 ... 15 */
{
    return (vf){ _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7),
                 _mm256_setr_ps(8, 9, 10, 11, 12, 13, 14, 15) };
}

#define BOTH(op, a, b) { op((a).lo, (b).lo), op((a).hi, (b).hi) }
INLINE vf vf_add(vf a, vf b) { return (vf)BOTH(_mm256_add_ps, a, b); }
INLINE vf vf_sub(vf a, vf b) { return (vf)BOTH(_mm256_sub_ps, a, b); }
INLINE vf vf_mul(vf a, vf b) { return (vf)BOTH(_mm256_mul_ps, a, b); }
INLINE vf vf_div(vf a, vf b) { return (vf)BOTH(_mm256_div_ps, a, b); }
/* b where either is NaN */
INLINE vf vf_min(vf a, vf b) { return (vf)BOTH(_mm256_min_ps, a, b); }
INLINE vf vf_max(vf a, vf b) { return (vf)BOTH(_mm256_max_ps, a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) /* a * b + c */
{
    return (vf){ _mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi) };
}
INLINE vf vf_fnma(vf a, vf b, vf c) /* c - a * b */
{
    return (vf){ _mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi) };
}
INLINE vf vf_abs(vf a)
{
    __m256 sign = _mm256_set1_ps(-0.0f);
    return (vf){ _mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi) };
}
INLINE vf vf_sign(vf size, vf sign) /* the absolute value of one, the sign of the other */
{
    __m256 bit = _mm256_set1_ps(-0.0f);
    return (vf){ _mm256_or_ps(_mm256_andnot_ps(bit, size.lo), _mm256_and_ps(bit, sign.lo)),
                 _mm256_or_ps(_mm256_andnot_ps(bit, size.hi), _mm256_and_ps(bit, sign.hi)) };
}
INLINE vf vf_round(vf a) /* to nearest, ties to even */
{
    enum { HOW = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
    return (vf){ _mm256_round_ps(a.lo, HOW), _mm256_round_ps(a.hi, HOW) };
}
INLINE __m256 pow2_half(__m256 n)
{
    __m256i biased = _mm256_add_epi32(_mm256_castps_si256(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
/* 2^n for n in -127 (gives 0) .. 128 (gives infinity), given as 1.5 * 2^23 + n */
INLINE vf vf_pow2(vf n)
{
    return (vf){ pow2_half(n.lo), pow2_half(n.hi) };
}
INLINE __m256 times_pow2_half(__m256 a, __m256 n)
{
    __m256i power = _mm256_slli_epi32(_mm256_castps_si256(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), power));
}
INLINE vf vf_times_pow2(vf a, vf n) /* a * 2^n, n as above; for a = 1 that of vf_pow2 */
{
    return (vf)BOTH(times_pow2_half, a, n);
}
INLINE vf vf_where_le(vf a, vf b, vf yes, vf no) /* a <= b ? yes : no */
{
    return (vf){ _mm256_blendv_ps(no.lo, yes.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LE_OQ)),
                 _mm256_blendv_ps(no.hi, yes.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LE_OQ)) };
}

/* Lanes added (or compared) in halves: i with i + 8, then i + 4, i + 2, i + 1. */
INLINE float vf_sum(vf v)
{
    __m256 eight = _mm256_add_ps(v.lo, v.hi);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INLINE float vf_largest(vf v)
{
    __m256 eight = _mm256_max_ps(v.lo, v.hi);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* ---- 16 sums in double ---- */
typedef struct vd {
    __m256d four[4];
} vd;
INLINE vd vd_zero(void)
{
    __m256d v = _mm256_setzero_pd();
    return (vd){ { v, v, v, v } };
}
INLINE vd vd_add(vd sum, const float *p) /* 16 floats */
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        sum.four[i] = _mm256_add_pd(sum.four[i], _mm256_cvtps_pd(_mm_loadu_ps(p + 4 * i)));
    return sum;
}
INLINE double vd_sum(vd v) /* fours first, pairs in them, then the two pairs: on every ISA */
{
    __m256d four = _mm256_add_pd(_mm256_add_pd(v.four[0], v.four[1]),
                                 _mm256_add_pd(v.four[2], v.four[3]));
    __m256d two = _mm256_hadd_pd(four, four);
    return _mm_cvtsd_f64(
        _mm_add_sd(_mm256_castpd256_pd128(two), _mm256_extractf128_pd(two, 1)));
}

/* ---- the first n lanes, 0 <= n <= 16; memory of the others is not touched ---- */
INLINE __m256i lanes_below(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE vf vf_load_part(const float *p, int n) /* the others are 0 */
{
    return (vf){ _mm256_maskload_ps(p, lanes_below(n)),
                 _mm256_maskload_ps(p + 8, lanes_below(n - 8)) };
}
INLINE void vf_store_part(float *p, vf v, int n) /* by a buffer: masked stores are slow on AMD */
{
    float all[16];
    vf_store(all, v);
    memcpy(p, all, (size_t)n * sizeof(float));
}
INLINE vf vf_part(vf v, int n, vf rest) /* the others are those of rest */
{
    return (vf){ _mm256_blendv_ps(rest.lo, v.lo, _mm256_castsi256_ps(lanes_below(n))),
                 _mm256_blendv_ps(rest.hi, v.hi, _mm256_castsi256_ps(lanes_below(n - 8))) };
}

/* ---- bytes and bf16 ---- */
INLINE __m256i u7_32(const float *x, __m256 by, __m256i more)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i n[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        n[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i * 8), by));
    __m256i low = _mm256_add_epi16(_mm256_packs_epi32(n[0], n[1]), more);
    __m256i high = _mm256_add_epi16(_mm256_packs_epi32(n[2], n[3]), more);
    __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
    return _mm256_min_epu8(bytes, _mm256_set1_epi8(127));
}
/* 64 floats times `by`, to nearest even, plus `zero`, as bytes in 0..127; a NaN becomes 0. */
INLINE void vf_store_u7(uint8_t *q, const float *x, float by, int zero)
{
    __m256i more = _mm256_set1_epi16((short)zero);
    _mm256_storeu_si256((__m256i *)q, u7_32(x, _mm256_set1_ps(by), more));
    _mm256_storeu_si256((__m256i *)q + 1, u7_32(x + 32, _mm256_set1_ps(by), more));
}
INLINE int64_t u8_sum(const uint8_t *q, int64_t n) /* n: a multiple of 64 */
{
    __m256i sum = _mm256_setzero_si256();
    for (int64_t i = 0; i < n; i += 32)
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_loadu_si256((const __m256i *)(q + i)),
                                                    _mm256_setzero_si256()));
    int64_t four[4];
    memcpy(four, &sum, sizeof four);
    return (four[0] + four[1]) + (four[2] + four[3]);
}

INLINE __m256i bf16_half(__m256 v) /* to nearest even, in the low half of each lane */
{
    __m256i bits = _mm256_castps_si256(v), high = _mm256_srli_epi32(bits, 16);
    __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    __m256i more = _mm256_add_epi32(_mm256_set1_epi32(0x7FFF), odd);
    __m256i round = _mm256_srli_epi32(_mm256_add_epi32(bits, more), 16);
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(round, _mm256_or_si256(high, _mm256_set1_epi32(0x40)), nan);
}
INLINE void vf_store_bf16(uint16_t *p, vf v)
{
    __m256i words = _mm256_packus_epi32(bf16_half(v.lo), bf16_half(v.hi));
    _mm256_storeu_si256((__m256i *)p, _mm256_permute4x64_epi64(words, 0xd8));
}

/* ---- 16 x 16 transpose ---- */
INLINE void transpose8(__m256 v[8])
{
    __m256 a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        a[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}
INLINE void vf_transpose(vf v[16])
{
    __m256 quarter[8];
    for (int i = 0; i < 8; i++) quarter[i] = v[i].lo;
    transpose8(quarter);
    for (int i = 0; i < 8; i++) v[i].lo = quarter[i];
    for (int i = 0; i < 8; i++) quarter[i] = v[i + 8].hi;
    transpose8(quarter);
    for (int i = 0; i < 8; i++) v[i + 8].hi = quarter[i];
    __m256 other[8];
    for (int i = 0; i < 8; i++) quarter[i] = v[i].hi, other[i] = v[i + 8].lo;
    transpose8(quarter);
    transpose8(other);
    for (int i = 0; i < 8; i++) v[i].hi = other[i], v[i + 8].lo = quarter[i];
}

#endif

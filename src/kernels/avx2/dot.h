/* SPDX-License-Identifier: Apache-2.0
 * dot.h - the words of the int8 GEMM in AVX2: 16 sums of int32, one per column of a panel. */
#ifndef KERNELS_AVX2_DOT_H
#define KERNELS_AVX2_DOT_H
#include "vec.h"

/* 8 sums, 2 registers of weights, the row, the ones and what lies between fill the 16 registers. */
enum { DOT_ROWS = 4, DOT_PANELS = 1 };
INLINE int dot_panels(int rows) { return (void)rows, 1; } /* the sums have no latency to hide */
#define DOTS(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1)

typedef struct vi {
    __m256i lo, hi;
} vi;

INLINE vi vi_set(int32_t x)
{
    __m256i v = _mm256_set1_epi32(x);
    return (vi){ v, v };
}
INLINE vi vi_load(const void *p)
{
    return (vi){ _mm256_loadu_si256(p), _mm256_loadu_si256((const __m256i *)p + 1) };
}
INLINE vi vi_sub(vi a, vi b) { return (vi)BOTH(_mm256_sub_epi32, a, b); }
INLINE vi vi_mul(vi a, vi b) { return (vi)BOTH(_mm256_mullo_epi32, a, b); }
INLINE vf vi_float(vi a) { return (vf){ _mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi) }; }

/* sum + x * w over the four bytes of each lane. x is 0..127, so that the pairs maddubs adds stay
 * below 32768: nothing saturates. */
INLINE __m256i dot_half(__m256i sum, __m256i x, __m256i w)
{
    __m256i pairs = _mm256_maddubs_epi16(x, w);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
INLINE vi vi_dot(vi sum, vi x, vi w)
{
    return (vi){ dot_half(sum.lo, x.lo, w.lo), dot_half(sum.hi, x.hi, w.hi) };
}

#endif

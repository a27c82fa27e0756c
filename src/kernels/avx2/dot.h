/* SPDX-License-Identifier: Apache-2.0
 * dot.h - the dot product of int8 in AVX2. */
#ifndef KERNELS_AVX2_DOT_H
#define KERNELS_AVX2_DOT_H
#include "int.h"

/* 8 sums, 2 registers of weights, the row, the ones and what lies between fill the 16 registers. */
enum { DOT_ROWS = 4, DOT_PANELS = 1 };
INLINE int dot_panels(int rows) { return (void)rows, 1; } /* the sums have no latency to hide */
#define DOTS(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1)

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

/* SPDX-License-Identifier: Apache-2.0
 * dot.h - products of int8 in AVX2, in pairs. */
#ifndef KERNELS_AVX2_DOT_H
#define KERNELS_AVX2_DOT_H
#include "int.h"

/* 6 sums, 6 of 16 bits, 2 registers of weights, the row and a product: all 16 registers. */
enum { PAIRS_ROWS = 3 };
#define PAIRS(X) X(1) X(2) X(3)

/* x * w over the two bytes of each 16-bit lane; x is unsigned and 0..127 (or w is 1), so that
 * nothing saturates. */
INLINE vi vi_pairs(vi x, vi w) { return (vi)BOTH(_mm256_maddubs_epi16, x, w); }

/* Bound to their place: the compiler would add up in a tree, and has no registers for it. */
INLINE __m256i add16(__m256i a, __m256i b)
{
    __m256i sum = _mm256_add_epi16(a, b);
    __asm__("" : "+x"(sum));
    return sum;
}
INLINE __m256i sub16(__m256i a, __m256i b)
{
    __m256i rest = _mm256_sub_epi16(a, b);
    __asm__("" : "+x"(rest));
    return rest;
}
INLINE vi vi_add16(vi a, vi b) { return (vi)BOTH(add16, a, b); }
INLINE vi vi_sub16(vi a, vi b) { return (vi)BOTH(sub16, a, b); }
INLINE vi vi_widen(vi a) /* to 32 bits: the two 16-bit lanes of each, added */
{
    __m256i one = _mm256_set1_epi16(1);
    return (vi){ _mm256_madd_epi16(a.lo, one), _mm256_madd_epi16(a.hi, one) };
}
INLINE vi vi_abs8(vi a) { return (vi){ _mm256_abs_epi8(a.lo), _mm256_abs_epi8(a.hi) }; }
INLINE vi vi_addu8(vi a, vi b) { return (vi)BOTH(_mm256_adds_epu8, a, b); } /* 255 at most */
INLINE bool vi_most16(vi a, int16_t most) /* no 16-bit lane has more */
{
    __m256i over = _mm256_cmpgt_epi16(_mm256_max_epi16(a.lo, a.hi), _mm256_set1_epi16(most));
    return _mm256_testz_si256(over, over);
}

#endif

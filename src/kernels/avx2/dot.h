/* SPDX-License-Identifier: Apache-2.0
 * dot.h - products of int8 in AVX2, in pairs. */
#ifndef KERNELS_AVX2_DOT_H
#define KERNELS_AVX2_DOT_H
#include "int.h"

/* 6 sums, 6 of 16 bits, 2 registers of weights, the row and a product: all 16 registers, so that the
 * ones of vi_widen are read. */
enum { PAIRS_ROWS = 3 };
#define PAIRS(X) X(1) X(2) X(3)

/* x * w over the two bytes of each 16-bit lane; x is unsigned and 0..127, so that nothing
 * saturates. */
INLINE vi vi_pairs(vi x, vi w) { return (vi)BOTH(_mm256_maddubs_epi16, x, w); }

/* Fixed in this order: the compiler would add in a tree, for which there are too few registers. */
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

/* To 32 bits: the two 16-bit lanes of each, added. */
static const int16_t ones[16] __attribute__((aligned(32))) = { 1, 1, 1, 1, 1, 1, 1, 1,
                                                              1, 1, 1, 1, 1, 1, 1, 1 };
INLINE __m256i widen(__m256i a)
{
    __m256i sum;
    __asm__("vpmaddwd %2, %1, %0" : "=x"(sum) : "x"(a), "m"(ones));
    return sum;
}
INLINE vi vi_widen(vi a) { return (vi){ widen(a.lo), widen(a.hi) }; }

/* Of what is used more than once: read again with every product, it would be too many loads. */
INLINE vi vi_keep(vi a)
{
    __asm__("" : "+x"(a.lo), "+x"(a.hi));
    return a;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * dot.h - products of int8 in AVX-512 without VNNI (Skylake-X): as AVX2, twice as wide. */
#ifndef KERNELS_AVX512_DOT_H
#define KERNELS_AVX512_DOT_H
#include "int.h"

/* 12 sums, 12 of 16 bits, the weights, the row, a product and the ones: 28 of 32 registers. */
enum { PAIRS_ROWS = 12 };
#define PAIRS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)

/* As in avx2/dot.h. */
INLINE vi vi_pairs(vi x, vi w) { return _mm512_maddubs_epi16(x, w); }
INLINE vi vi_add16(vi a, vi b)
{
    vi sum = _mm512_add_epi16(a, b);
    __asm__("" : "+v"(sum));
    return sum;
}
INLINE vi vi_sub16(vi a, vi b)
{
    vi rest = _mm512_sub_epi16(a, b);
    __asm__("" : "+v"(rest));
    return rest;
}
INLINE vi vi_widen(vi a) { return _mm512_madd_epi16(a, _mm512_set1_epi16(1)); }
INLINE vi vi_keep(vi a)
{
    __asm__("" : "+v"(a));
    return a;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * int.h - 16 lanes of 32 bits in AVX-512: int32 sums, four int8 or two bf16. */
#ifndef KERNELS_AVX512_INT_H
#define KERNELS_AVX512_INT_H
#include "vec.h"

typedef __m512i vi;

INLINE vi vi_set(int32_t x) { return _mm512_set1_epi32(x); }
INLINE vi vi_load(const void *p) { return _mm512_loadu_si512(p); }
INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
INLINE vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
INLINE vf vi_float(vi a) { return _mm512_cvtepi32_ps(a); }

/* The bf16 in the low and in the high half of each lane, as floats. */
INLINE vf vi_low(vi a) { return _mm512_castsi512_ps(_mm512_slli_epi32(a, 16)); }
INLINE vf vi_high(vi a)
{
    return _mm512_castsi512_ps(_mm512_and_si512(a, _mm512_set1_epi32((int)0xFFFF0000)));
}

#endif

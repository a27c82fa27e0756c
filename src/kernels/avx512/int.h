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
INLINE vi vi_shift(vi a, int bits) /* right; the sign stays */
{
    return _mm512_sra_epi32(a, _mm_cvtsi32_si128(bits));
}
INLINE vi vi_bytes(const uint8_t *p) /* 16 of 0 .. 255 */
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
}
INLINE void vi_put_bytes(uint8_t *p, vi a) /* kept within 0 .. 255 */
{
    a = _mm512_max_epi32(a, _mm512_setzero_si512());
    _mm_storeu_si128((void *)p, _mm512_cvtusepi32_epi8(a));
}
INLINE vf vi_float(vi a) { return _mm512_cvtepi32_ps(a); }

/* The bf16 in the low and in the high half of each lane, as floats. */
INLINE vf vi_low(vi a) { return _mm512_castsi512_ps(_mm512_slli_epi32(a, 16)); }
INLINE vf vi_high(vi a)
{
    return _mm512_castsi512_ps(_mm512_and_si512(a, _mm512_set1_epi32((int)0xFFFF0000)));
}

#endif

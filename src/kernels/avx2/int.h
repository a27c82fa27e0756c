/* SPDX-License-Identifier: Apache-2.0
 * int.h - 16 lanes of 32 bits in AVX2: int32 sums, four int8 or two bf16. */
#ifndef KERNELS_AVX2_INT_H
#define KERNELS_AVX2_INT_H
#include "vec.h"

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
INLINE vi vi_add(vi a, vi b) { return (vi)BOTH(_mm256_add_epi32, a, b); }
INLINE vi vi_sub(vi a, vi b) { return (vi)BOTH(_mm256_sub_epi32, a, b); }
INLINE vi vi_mul(vi a, vi b) { return (vi)BOTH(_mm256_mullo_epi32, a, b); }
INLINE vi vi_shift(vi a, int bits) /* right; the sign stays */
{
    __m128i by = _mm_cvtsi32_si128(bits);
    return (vi){ _mm256_sra_epi32(a.lo, by), _mm256_sra_epi32(a.hi, by) };
}
INLINE vi vi_bytes(const uint8_t *p) /* 16 of 0 .. 255 */
{
    return (vi){ _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p)),
                 _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(p + 8))) };
}
INLINE void vi_put_bytes(uint8_t *p, vi a) /* kept within 0 .. 255 */
{
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.lo, a.hi), 0xd8);
    __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words),
                                     _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((void *)p, bytes);
}
INLINE vf vi_float(vi a) { return (vf){ _mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi) }; }

/* The bf16 in the low and in the high half of each lane, as floats. */
INLINE __m256 low_half(__m256i a) { return _mm256_castsi256_ps(_mm256_slli_epi32(a, 16)); }
INLINE __m256 high_half(__m256i a)
{
    return _mm256_castsi256_ps(_mm256_and_si256(a, _mm256_set1_epi32((int)0xFFFF0000)));
}
INLINE vf vi_low(vi a) { return (vf){ low_half(a.lo), low_half(a.hi) }; }
INLINE vf vi_high(vi a) { return (vf){ high_half(a.lo), high_half(a.hi) }; }

#endif

/* SPDX-License-Identifier: Apache-2.0
 * dot.h - the dot product of AVX512_BF16: one instruction for what takes six without it. */
#ifndef KERNELS_AVX512BF16_DOT_H
#define KERNELS_AVX512BF16_DOT_H
#include "kernels/avx512/int.h"

#include "kernels/body/dot_tiles.h"

INLINE vf vi_dot_bf16(vf sum, vi x, vi w)
{
    return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w);
}

/* Rows for a product that follows. This flushes what is too small for bf16 with all its digits, which the product would
 * take for 0 anyway. */
INLINE void vf_store_flushed(uint16_t *p, vf v)
{
    _mm256_storeu_si256((__m256i *)p, (__m256i)_mm512_cvtneps_pbh(v));
}
#define vf_store_bf16 vf_store_flushed

#endif

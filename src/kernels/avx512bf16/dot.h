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

#endif

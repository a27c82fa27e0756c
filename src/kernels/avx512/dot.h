/* SPDX-License-Identifier: Apache-2.0
 * dot.h - the dot product of AVX-512 without VNNI (Skylake-X): as AVX2, twice as wide. */
#ifndef KERNELS_AVX512_DOT_H
#define KERNELS_AVX512_DOT_H
#include "int.h"

#include "kernels/body/dot_tiles.h"

/* sum + x * w over the four bytes of each lane; x is 0..127, so nothing saturates. */
INLINE vi vi_dot(vi sum, vi x, vi w)
{
    vi pairs = _mm512_maddubs_epi16(x, w);
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * dot.h - the dot product of VNNI: one instruction for what takes three without it. */
#ifndef KERNELS_AVX512VNNI_DOT_H
#define KERNELS_AVX512VNNI_DOT_H
#include "kernels/avx512/int.h"

#include "kernels/body/dot_tiles.h"

INLINE vi vi_dot(vi sum, vi x, vi w) { return _mm512_dpbusd_epi32(sum, x, w); }

#endif

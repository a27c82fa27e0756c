/* SPDX-License-Identifier: Apache-2.0
 * int.h - the words of the int8 GEMM that AVX-512 has with and without VNNI: all but vi_dot. */
#ifndef KERNELS_AVX512_INT_H
#define KERNELS_AVX512_INT_H
#include "vec.h"

/* The tiles are those of the f32 GEMM. */
enum { DOT_ROWS = TILE_ROWS, DOT_PANELS = TILE_PANELS };
INLINE int dot_panels(int rows) { return tile_panels(rows); }
#define DOTS(X) TILES(X)

typedef __m512i vi;

INLINE vi vi_set(int32_t x) { return _mm512_set1_epi32(x); }
INLINE vi vi_load(const void *p) { return _mm512_loadu_si512(p); }
INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
INLINE vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
INLINE vf vi_float(vi a) { return _mm512_cvtepi32_ps(a); }

#endif

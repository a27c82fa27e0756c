/* SPDX-License-Identifier: Apache-2.0
 * peak.c - the loops behind peak.h. */
#include "peak.h"

#ifdef __x86_64__
#include <immintrin.h>

/* n chains of `step`, an expression of the chain's sum `a`, of x and of y. */
#define CHAINS(name, isa, type, n, init, step)                              \
    __attribute__((target(isa))) static void name(int turns)                \
    {                                                                       \
        type a[n], x = init(1), y = init(2);                                \
        _Pragma("GCC unroll 16")                                            \
        for (int i = 0; i < n; i++) a[i] = init(i);                         \
        for (; turns; turns--) {                                            \
            __asm__("" : "+x"(x)); /* every turn is done */                 \
            _Pragma("GCC unroll 16")                                        \
            for (int i = 0; i < n; i++) a[i] = step(a[i], x, y);            \
        }                                                                   \
        volatile type keep;                                                 \
        _Pragma("GCC unroll 16")                                            \
        for (int i = 0; i < n; i++) keep = a[i];                            \
        (void)keep;                                                         \
    }
#define SET256(i) _mm256_set1_ps((float)(i) * 1e-9f)
#define SET512(i) _mm512_set1_ps((float)(i) * 1e-9f)
#define INT256(i) _mm256_set1_epi32(i)
#define INT512(i) _mm512_set1_epi32(i)
#define FMA256(a, x, y) _mm256_fmadd_ps(a, x, y)
#define FMA512(a, x, y) _mm512_fmadd_ps(a, x, y)
#define WIDE256(a, x, y) _mm256_add_epi32(a, _mm256_madd_epi16(_mm256_maddubs_epi16(x, a), y))
#define WIDE512(a, x, y) _mm512_add_epi32(a, _mm512_madd_epi16(_mm512_maddubs_epi16(x, a), y))
#define DOT256(a, x, y) _mm256_dpbusd_avx_epi32(a, x, y)
#define DOT512(a, x, y) _mm512_dpbusd_epi32(a, x, y)
#define PAIR512(a, x, y) \
    _mm512_dpbf16_ps(a, (__m512bh)_mm512_castps_si512(x), (__m512bh)_mm512_castps_si512(y))
CHAINS(fma256, "avx2,fma", __m256, 12, SET256, FMA256)
CHAINS(fma512, "avx512f", __m512, 12, SET512, FMA512)
CHAINS(wide256, "avx2", __m256i, 8, INT256, WIDE256)
CHAINS(wide512, "avx512bw", __m512i, 12, INT512, WIDE512)
CHAINS(dot256, "avx2,avxvnni", __m256i, 12, INT256, DOT256)
CHAINS(dot512, "avx512vnni", __m512i, 12, INT512, DOT512)
CHAINS(pair512, "avx512bf16", __m512, 12, SET512, PAIR512)

static const struct {
    _Alignas(64) uint8_t palette;
    uint8_t start, zero[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} eight_tiles = { 1, 0, { 0 }, { 64, 64, 64, 64, 64, 64, 64, 64 },
                  { 16, 16, 16, 16, 16, 16, 16, 16 } };
#define TILES(name, isa, dot)                                            \
    __attribute__((target("amx-tile," isa))) static void name(int turns) \
    {                                                                    \
        _tile_loadconfig(&eight_tiles);                                  \
        for (; turns; turns--) {                                         \
            dot(0, 4, 6);                                                \
            dot(1, 4, 7);                                                \
            dot(2, 5, 6);                                                \
            dot(3, 5, 7);                                                \
        }                                                                \
        _tile_release();                                                 \
    }
TILES(tiles_bf16, "amx-bf16", _tile_dpbf16ps)
TILES(tiles_i8, "amx-int8", _tile_dpbusd)

Peak peaks[] = {
    { "avx2", "gemm_f32", CPU_AVX2, 12 * 16, fma256 },
    { "avx512", "gemm_f32", CPU_AVX512, 12 * 32, fma512 },
    { "avx2", "gemm_i8", CPU_AVX2, 8 * 64, wide256 },
    { "avxvnni", "gemm_i8", CPU_AVXVNNI, 12 * 64, dot256 },
    { "avx512", "gemm_i8", CPU_AVX512, 12 * 128, wide512 },
    { "avx512vnni", "gemm_i8", CPU_AVX512VNNI, 12 * 128, dot512 },
    { "avx2", "gemm_bf16", CPU_AVX2, 12 * 16, fma256 },
    { "avx512", "gemm_bf16", CPU_AVX512, 12 * 32, fma512 },
    { "avx512bf16", "gemm_bf16", CPU_AVX512BF16, 12 * 64, pair512 },
    { "amx", "gemm_bf16", CPU_AMX, 4. * 16 * 16 * 64, tiles_bf16 },
    { "amx", "gemm_i8", CPU_AMX, 4. * 16 * 16 * 128, tiles_i8 },
};
#else
Peak peaks[] = { { 0 } }; /* rates are shown without a peak beside them */
#endif
const size_t peak_count = COUNT(peaks);

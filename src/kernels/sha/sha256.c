/* SPDX-License-Identifier: Apache-2.0
 * sha256.c - SHA-256 by the CPU's own instructions. They want the state as two registers, (A B E F)
 * and (C D G H) from high to low, and do two rounds at a time on W[t] + K[t]. */
#include <immintrin.h>

#include "kernels/sha256_k.h"
#include "kernels/tables.h"

/* W[t .. t+3] from the sixteen words before, held as four registers from oldest to newest. */
static __m128i next_words(const __m128i w[4])
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));
    return _mm_sha256msg2_epu32(sum, w[3]);
}

static void four_rounds(__m128i *abef, __m128i *cdgh, __m128i w, const uint32_t *k)
{
    __m128i wk = _mm_add_epi32(w, _mm_loadu_si128((const __m128i *)k));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, wk);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(wk, 0x0e));
}

static void sha256_compress_sha(__m128i *abef, __m128i *cdgh, const uint8_t *block)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i w[4], a = *abef, c = *cdgh;
    for (int i = 0; i < 4; i++) {
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)block + i), swap);
        four_rounds(&a, &c, w[i], sha256_k + 4 * i);
    }
    for (int t = 16; t < 64; t += 4) {
        __m128i next = next_words(w);
        w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
        four_rounds(&a, &c, next, sha256_k + t);
    }
    *abef = _mm_add_epi32(*abef, a);
    *cdgh = _mm_add_epi32(*cdgh, c);
}

void sha_sha256(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    __m128i dcba = _mm_loadu_si128((const __m128i *)state);
    __m128i hgfe = _mm_loadu_si128((const __m128i *)(state + 4));
    __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; count; count--, blocks += 64) sha256_compress_sha(&abef, &cdgh, blocks);
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    dcba = _mm_blend_epi16(feba, dchg, 0xf0);
    hgfe = _mm_alignr_epi8(dchg, feba, 8);
    _mm_storeu_si128((__m128i *)state, dcba);
    _mm_storeu_si128((__m128i *)(state + 4), hgfe);
}

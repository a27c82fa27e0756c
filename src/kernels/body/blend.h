/* SPDX-License-Identifier: Apache-2.0
 * blend.h - rows of pixels, added by weights: whole numbers, so that every table gives the same. */
#include "kernels/kernels.h"

enum { BLEND_PARTS = 3, BLEND = BLEND_PARTS * 16 }; /* bytes at once: a pixel of 16 rows */

INLINE void blend_block(const uint8_t *rows, int64_t ld, const int32_t *weight, int taps, int shift,
                        uint8_t *out)
{
    vi sum[BLEND_PARTS];
    for (int i = 0; i < BLEND_PARTS; i++) sum[i] = vi_set(1 << (shift - 1));
    for (int t = 0; t < taps; t++) {
        vi w = vi_set(weight[t]);
        for (int i = 0; i < BLEND_PARTS; i++)
            sum[i] = vi_add(sum[i], vi_mul(vi_bytes(rows + t * ld + 16 * i), w));
    }
    for (int i = 0; i < BLEND_PARTS; i++) vi_put_bytes(out + 16 * i, vi_shift(sum[i], shift));
}

/* The end of a row: on a copy, tap by tap. */
static void blend_tail(const uint8_t *rows, int64_t ld, const int32_t *weight, int taps, int shift,
                       uint8_t *out, int64_t n)
{
    uint8_t block[16] = { 0 };
    vi sum = vi_set(1 << (shift - 1));
    for (int t = 0; t < taps; t++) {
        memcpy(block, rows + t * ld, (size_t)n);
        sum = vi_add(sum, vi_mul(vi_bytes(block), vi_set(weight[t])));
    }
    vi_put_bytes(block, vi_shift(sum, shift));
    memcpy(out, block, (size_t)n);
}

INLINE void blend_body(const uint8_t *rows, int64_t ld, const int32_t *weight, int taps, int shift,
                       uint8_t *out, int64_t n)
{
    int64_t i = 0;
    for (; i + BLEND <= n; i += BLEND) blend_block(rows + i, ld, weight, taps, shift, out + i);
    for (; i < n; i += 16)
        blend_tail(rows + i, ld, weight, taps, shift, out + i, MIN(n - i, (int64_t)16));
}

/* SPDX-License-Identifier: Apache-2.0
 * blend.c - the reference for rows of pixels. */
#include "kernels/tables.h"

void scalar_blend_rows(const uint8_t *rows, int64_t ld, const int32_t *weight, int taps, int shift,
                       uint8_t *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t sum = 1 << (shift - 1);
        for (int t = 0; t < taps; t++) sum += weight[t] * rows[t * ld + i];
        out[i] = (uint8_t)MAX(MIN(sum >> shift, 255), 0);
    }
}

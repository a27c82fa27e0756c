/* SPDX-License-Identifier: Apache-2.0
 * blend.c - rows of pixels over this ISA's vectors. */
#include "kernels/tables.h"
#include "int.h"

#include "kernels/body/blend.h"

void avx512_blend_rows(const uint8_t *rows, int64_t ld, const int32_t *weight, int taps, int shift,
                       uint8_t *out, int64_t n)
{
    blend_body(rows, ld, weight, taps, shift, out, n);
}

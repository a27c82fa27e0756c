/* SPDX-License-Identifier: Apache-2.0
 * attention.c - attention over this ISA's vectors. */
#include "kernels/tables.h"
#include "vec.h"

#include "kernels/body/attention_f32.h"

void avx2_attention(const Attention *a, int r, int h, int64_t q0, int64_t q1, float *scratch)
{
    attention_body(a, r, h, q0, q1, scratch);
}

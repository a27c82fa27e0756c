/* SPDX-License-Identifier: Apache-2.0
 * sum.h - sums that are floats already: f32 and bf16. int8 has scale.h in its place. */
#ifndef KERNELS_BODY_SUM_H
#define KERNELS_BODY_SUM_H

INLINE vf sum_of(const Linear *l, const void *sum, int64_t m, int64_t n)
{
    (void)l, (void)m, (void)n;
    return vf_load(sum);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * sum.h - sums that are floats already: f32 and bf16. int8 has scale.h in its place. */
#ifndef KERNELS_BODY_SUM_H
#define KERNELS_BODY_SUM_H

typedef struct Column {
    char none;
} Column;
INLINE Column column_of(const Linear *l, int64_t n) { return (void)l, (void)n, (Column){ 0 }; }

INLINE vf sum_of(const Column *c, const RowScale *rows, int64_t m, const void *sum)
{
    (void)c, (void)rows, (void)m;
    return vf_load(sum);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * scale.h - from int32 sums to floats, by the arithmetic of scalar/gemm_i8.c step by step: zero
 * points off, scales on. */
#ifndef KERNELS_BODY_SCALE_H
#define KERNELS_BODY_SCALE_H

typedef struct Column {         /* what belongs to 16 columns */
    vi sum, zero;
    vf scale;
    uint32_t K;
    bool has_zero;
} Column;
INLINE Column column_of(const Linear *l, int64_t n)
{
    return (Column){ vi_load(l->w_sum + n), l->w_zero ? vi_load(l->w_zero + n) : vi_set(0),
                     vf_load(l->w_scale + n), (uint32_t)l->K, l->w_zero };
}

INLINE vf sum_of(const Column *c, const RowScale *rows, int64_t m, const void *sum)
{
    const RowScale *row = rows + m;
    vi dot = vi_sub(vi_load(sum), vi_mul(vi_set(row->zero), c->sum));
    if (c->has_zero) {
        uint32_t rest = (uint32_t)row->sum - c->K * (uint32_t)row->zero;
        dot = vi_sub(dot, vi_mul(c->zero, vi_set((int32_t)rest)));
    }
    return vf_mul(vi_float(dot), vf_mul(vf_set(row->scale), c->scale));
}

#endif

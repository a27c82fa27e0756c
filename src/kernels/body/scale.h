/* SPDX-License-Identifier: Apache-2.0
 * scale.h - from int32 sums to floats, by the arithmetic of scalar/gemm_i8.c step by step: zero
 * points off, scales on. */
#ifndef KERNELS_BODY_SCALE_H
#define KERNELS_BODY_SCALE_H

INLINE vf sum_of(const Linear *l, const void *sum, int64_t m, int64_t n)
{
    const RowScale *row = l->row + m;
    vi dot = vi_sub(vi_load(sum), vi_mul(vi_set(row->zero), vi_load(l->w_sum + n)));
    if (l->w_zero) {
        uint32_t rest = (uint32_t)row->sum - (uint32_t)l->K * (uint32_t)row->zero;
        dot = vi_sub(dot, vi_mul(vi_load(l->w_zero + n), vi_set((int32_t)rest)));
    }
    return vf_mul(vi_float(dot), vf_mul(vf_set(row->scale), vf_load(l->w_scale + n)));
}

#endif

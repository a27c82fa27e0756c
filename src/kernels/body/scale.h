/* SPDX-License-Identifier: Apache-2.0
 * scale.h - from int32 sums to floats, by the arithmetic of scalar/gemm_i8.c step by step: zero
 * points off, scales on. */
#ifndef KERNELS_BODY_SCALE_H
#define KERNELS_BODY_SCALE_H
#include "near.h"

typedef struct ScaleColumns {        /* what 16 columns have in common, whatever the row */
    vi sum, zero;
    vf scale;
} ScaleColumns;

INLINE ScaleColumns columns_at(const Linear *l, int64_t n)
{
    return (ScaleColumns){ vi_load(l->w_sum + n), l->w_zero ? vi_load(l->w_zero + n) : vi_set(0),
                      vf_load(l->w_scale + n) };
}

INLINE vf sum_of(const Linear *l, const ScaleColumns *c, const void *sum, int64_t m)
{
    const RowScale *row = l->row + m;
    vi dot = vi_sub(vi_load(sum), vi_mul(vi_set(row->zero), c->sum));
    if (l->w_zero) {
        uint32_t rest = (uint32_t)row->sum - (uint32_t)l->K * (uint32_t)row->zero;
        dot = vi_sub(dot, vi_mul(c->zero, vi_set((int32_t)rest)));
    }
    return vf_mul(vi_float(dot), vf_mul(vf_set(row->scale), c->scale));
}

enum { LOW_Y = 0 };             /* Y is floats */

INLINE vf act_of(Act act, vf x) { return vf_act_near(act, x); }

#endif

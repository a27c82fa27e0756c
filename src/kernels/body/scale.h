/* SPDX-License-Identifier: Apache-2.0
 * scale.h - from int32 sums to floats, by the arithmetic of scalar/gemm_i8.c step by step: zero
 * points off, scales on; and the activations of int8, of which one is near (near.h). */
#ifndef KERNELS_BODY_SCALE_H
#define KERNELS_BODY_SCALE_H
#include "act.h"
#include "kernels/near.h"

typedef struct Columns {        /* what 16 columns have in common, whatever the row */
    vi sum, zero;
    vf scale;
} Columns;

INLINE Columns columns_at(const Linear *l, int64_t n)
{
    return (Columns){ vi_load(l->w_sum + n), l->w_zero ? vi_load(l->w_zero + n) : vi_set(0),
                      vf_load(l->w_scale + n) };
}

INLINE vf sum_of(const Linear *l, const Columns *c, const void *sum, int64_t m)
{
    const RowScale *row = l->row + m;
    vi dot = vi_sub(vi_load(sum), vi_mul(vi_set(row->zero), c->sum));
    if (l->w_zero) {
        uint32_t rest = (uint32_t)row->sum - (uint32_t)l->K * (uint32_t)row->zero;
        dot = vi_sub(dot, vi_mul(c->zero, vi_set((int32_t)rest)));
    }
    return vf_mul(vi_float(dot), vf_mul(vf_set(row->scale), c->scale));
}

INLINE vf vf_gelu_near(vf x)
{
    vf a = vf_min(vf_set(GELU_NEAR_REACH), vf_max(vf_set(-GELU_NEAR_REACH), x));
    vf square = vf_mul(a, a), p = vf_set(gelu_near[GELU_NEAR_TERMS - 1]);
#pragma GCC unroll 8
    for (int k = GELU_NEAR_TERMS - 2; k >= 0; k--) p = vf_fma(p, square, vf_set(gelu_near[k]));
    return vf_mul(x, vf_fma(a, p, vf_set(0.5f)));
}

INLINE vf act_of(Act act, vf x) { return act == ACT_GELU ? vf_gelu_near(x) : vf_act(act, x); }

#endif

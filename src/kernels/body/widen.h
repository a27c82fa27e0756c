/* SPDX-License-Identifier: Apache-2.0
 * widen.h - the dot product of bf16 where the CPU has none: both halves of a lane become floats. */
#ifndef KERNELS_BODY_WIDEN_H
#define KERNELS_BODY_WIDEN_H

INLINE vf vi_dot_bf16(vf sum, vi x, vi w)
{
    return vf_fma(vi_high(x), vi_high(w), vf_fma(vi_low(x), vi_low(w), sum));
}

#endif

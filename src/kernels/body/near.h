/* SPDX-License-Identifier: Apache-2.0
 * near.h - the activations behind a product of low precision, of which one is near (kernels/near.h). */
#ifndef KERNELS_BODY_NEAR_H
#define KERNELS_BODY_NEAR_H
#include "act.h"
#include "kernels/near.h"

INLINE vf vf_gelu_near(vf x)
{
    vf a = vf_min(vf_set(GELU_NEAR_REACH), vf_max(vf_set(-GELU_NEAR_REACH), x));
    vf square = vf_mul(a, a), p = vf_set(gelu_near[GELU_NEAR_TERMS - 1]);
#pragma GCC unroll 8
    for (int k = GELU_NEAR_TERMS - 2; k >= 0; k--) p = vf_fma(p, square, vf_set(gelu_near[k]));
    return vf_mul(x, vf_fma(a, p, vf_set(0.5f)));
}

INLINE vf vf_act_near(Act act, vf x) { return act == ACT_GELU ? vf_gelu_near(x) : vf_act(act, x); }

#endif

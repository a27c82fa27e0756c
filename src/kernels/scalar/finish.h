/* SPDX-License-Identifier: Apache-2.0
 * finish.h - what follows the sum in the reference GEMMs, in this order: bias, activation,
 * residual; or (late) bias, residual, activation. */
#ifndef KERNELS_SCALAR_FINISH_H
#define KERNELS_SCALAR_FINISH_H
#include <math.h>

#include "base/bf16.h"
#include "kernels/near.h"
#include "kernels/tables.h"

static inline float scalar_near(float x)
{
    float a = x < -GELU_NEAR_REACH ? -GELU_NEAR_REACH : x > GELU_NEAR_REACH ? GELU_NEAR_REACH : x;
    float p = 0;
    for (int k = GELU_NEAR_TERMS - 1; k >= 0; k--) p = fmaf(p, a * a, gelu_near[k]);
    return x * fmaf(a, p, 0.5f);
}
/* Behind a product of low precision. */
static inline void scalar_activate_near(Act act, const float *x, float *y, int64_t n)
{
    if (act == ACT_GELU) *y = scalar_near(*x);
    else scalar_activate(act, x, y, n);
}

static inline void scalar_finish(const Linear *l, int64_t m, int64_t n, float sum, ActFn *activate)
{
    if (l->bias) sum += l->bias[n];
    if (!l->late) activate(l->act, &sum, &sum, 1);
    if (l->residual) sum += l->residual[m * l->ldr + n];
    if (l->late) activate(l->act, &sum, &sum, 1);
    if (l->yb) l->yb[m * row_bf16(l->N) + n] = f32_to_bf16(sum);
    if (l->y) l->y[m * l->ldy + n] = sum;
}

#endif

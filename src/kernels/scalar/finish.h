/* SPDX-License-Identifier: Apache-2.0
 * finish.h - what follows the sum in the reference GEMMs, in this order: bias, activation,
 * residual. */
#ifndef KERNELS_SCALAR_FINISH_H
#define KERNELS_SCALAR_FINISH_H
#include "kernels/tables.h"

/* activate: scalar_activate, but for int8 */
static inline void scalar_finish(const Linear *l, int64_t m, int64_t n, float sum, ActFn *activate)
{
    if (l->bias) sum += l->bias[n];
    activate(l->act, &sum, &sum, 1);
    if (l->residual) sum += l->residual[m * l->ldr + n];
    l->y[m * l->ldy + n] = sum;
}

#endif

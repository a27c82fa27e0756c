/* SPDX-License-Identifier: Apache-2.0
 * activation.h - private to src/ops: what the attribute `activation` of com.microsoft's fused products names. */
#ifndef OPS_ACTIVATION_H
#define OPS_ACTIVATION_H
#include "ops/ops.h"

typedef struct FusedActivation {
    const char *name;
    double (*fn)(const float p[2], double x);
    float otherwise[2];        /* the parameters where the node gives none */
} FusedActivation;

bool fused_activation_find(const OpCall *, const FusedActivation **,
                           Err *); /* *out NULL: the node names none */
void fused_activation_apply(const FusedActivation *, const float p[2], Tensor *y);

#endif

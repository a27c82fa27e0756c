/* SPDX-License-Identifier: Apache-2.0
 * rotary.h - private to src/ops: pairs of a head's numbers turn by the angle of their token. The one
 * home of that arithmetic: RotaryEmbedding of ONNX and of com.microsoft, and the fused Attention. */
#ifndef OPS_ROTARY_H
#define OPS_ROTARY_H
#include "ops/ops.h"

typedef struct Rotary {
    int64_t B, S, H, D, turned; /* turned: numbers of a head that take part */
    bool flat, interleaved;     /* flat: [B, S, H * D], else [B, H, S, D] */
} Rotary;

/* Token i of [B, S, H] in that order: the place of its head in a value of either form. */
int64_t rotary_place(const Rotary *, int64_t i);
/* Input 0's head at `base` to output 0, by row `angle` of the tables. */
void rotary_head(OpCall *, const Rotary *, int64_t base, const Tensor *cos, const Tensor *sin,
                 int64_t angle);
/* y = x * cos + (-x2, x1) * sin, all of D floats; x1, x2 are the halves of x. */
void rotary_halves(const float *x, const float *cos, const float *sin, int64_t D, float *y);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * conv.h - private to src/ops: what Conv and its relatives (transposed, quantized) share. */
#ifndef OPS_CONV_H
#define OPS_CONV_H
#include "ops/window.h"

typedef struct Conv {
    SlidingWindow w;
    int64_t images, group, C, M; /* C and M: channels of one group */
    int64_t K;                   /* numbers of a window of all channels of a group */
} Conv;

bool conv_of(const OpCall *, int input, int weight, Conv *, Err *); /* types are not looked at */
bool conv_output(OpCall *, const Conv *, DType); /* fills output 0 */
bool conv_floats(const OpCall *, int64_t channels, Err *); /* types of X, W and B */
void conv_add_bias(float *y, const float *bias, int64_t channels, int64_t positions);

#endif

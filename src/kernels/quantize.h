/* SPDX-License-Identifier: Apache-2.0
 * quantize.h - from the range of a row to its scale and zero point: shared by every ISA, since
 * equal bytes need equal steps. q = round(x * inverse) + zero; x = scale * (q - zero). */
#ifndef KERNELS_QUANTIZE_H
#define KERNELS_QUANTIZE_H
#include <math.h>

typedef struct QuantizeStep {
    float scale, inverse, zero;
} QuantizeStep;

/* lo <= 0 <= hi. Below a range of 1e-30 the inverse would overflow: such a row counts as zeros. */
static inline QuantizeStep quantize_step(float lo, float hi)
{
    float range = hi - lo;
    if (range < 1e-30f) return (QuantizeStep){ 0, 0, 0 };
    if (isinf(range)) return (QuantizeStep){ NAN, 0, 0 };
    float inverse = 127 / range;
    return (QuantizeStep){ range / 127, inverse, rintf(-lo * inverse) };
}

#endif

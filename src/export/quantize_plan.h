/* SPDX-License-Identifier: Apache-2.0
 * quantize_plan.h - private to the quantizer: what becomes of a weight, and how it is poured. */
#ifndef EXPORT_QUANTIZE_PLAN_H
#define EXPORT_QUANTIZE_PLAN_H
#include "export/quantize.h"

typedef enum { AXIS_ROWS, AXIS_COLUMNS } ScaleAxis;

typedef struct QuantizeSource { /* of an initializer that is poured; from NULL: it has its data */
    const OnnxTensor *from; /* float, [R, C]; its data aligned to nothing */
    ScaleAxis axis;         /* of bytes: one scale for each of these */
    const float *scale;     /* NULL: half precision */
    const uint8_t *zero;    /* what stands for 0, of unsigned bytes; NULL: 0 itself */
    int least, most;        /* the bytes there are */
    bool turned;            /* written as [C, R] */
} QuantizeSource;

/* Sets scale (and, where least is 0, zero) so that each row or column just fits. */
bool quantize_scales(Arena *, QuantizeSource *, Err *);
/* An OnnxPour; context: the Quantize whose initializer it is. */
bool quantize_pour(void *quantize, const OnnxTensor *, FileWriter *, Err *);

#endif

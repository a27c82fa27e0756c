/* SPDX-License-Identifier: Apache-2.0
 * depthwise.c - the reference of a convolution of every channel by itself. */
#include <math.h>

#include "kernels/tables.h"

static float depthwise_sum(const Depthwise *d, int64_t row, int64_t column, int64_t c)
{
    float sum = d->w ? 0 : -INFINITY;
    for (int64_t k = 0; k < d->kernel[0] * d->kernel[1]; k++) {
        const int64_t y = row * d->stride[0] - d->before[0] + k / d->kernel[1] * d->dilation[0];
        const int64_t x = column * d->stride[1] - d->before[1] + k % d->kernel[1] * d->dilation[1];
        if (y < 0 || y >= d->in[0] || x < 0 || x >= d->in[1]) continue;
        const float v = d->x[(y * d->in[1] + x) * d->C + c];
        sum = d->w ? fmaf(v, d->w[k * d->C + c], sum) : v <= sum ? sum : v;
    }
    return sum;
}

void scalar_depthwise(const Depthwise *d, int64_t from, int64_t to)
{
    for (int64_t row = from; row < to; row++)
        for (int64_t i = 0; i < d->out[1] * d->C; i++)
            d->y[row * d->out[1] * d->C + i] =
                depthwise_sum(d, row, i / d->C, i % d->C) + (d->bias && d->w ? d->bias[i % d->C] : 0);
}

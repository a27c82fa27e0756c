/* SPDX-License-Identifier: Apache-2.0
 * depthwise.h - a convolution of every channel by itself, 16 channels at a time. Where no window of a few
 * neighbours touches the padding, they share the loads of the filter. The sums of one output are one accumulator
 * in the order of the window, wherever it stands. */
#include <math.h>

#include "ends.h"

enum { BESIDE = 4 };            /* outputs that share a filter's loads */

typedef struct Taps {           /* of a window, inside the picture: from .. to */
    int64_t from, to, place;    /* place: of tap 0, perhaps outside */
} Taps;

INLINE Taps taps_of(const Depthwise *d, int axis, int64_t at)
{
    const int64_t step = d->dilation[axis], x = at * d->stride[axis] - d->before[axis];
    const int64_t end = d->in[axis] > x ? (d->in[axis] - x + step - 1) / step : 0;
    return (Taps){ x < 0 ? (-x + step - 1) / step : 0, MIN(end, d->kernel[axis]), x };
}

/* `count` outputs from column `at` on, channels c .. c + w. */
INLINE void largest_few(const Depthwise *d, Taps rows, Taps columns, int64_t at, int count, int64_t c, int64_t w,
                        float *y)
{
    vf most[BESIDE];
    const int64_t C = d->C, next = d->stride[1] * C;
#pragma GCC unroll 4
    for (int i = 0; i < count; i++) most[i] = vf_set(-INFINITY);
    for (int64_t r = rows.from; r < rows.to; r++) {
        const float *x = d->x + ((rows.place + r * d->dilation[0]) * d->in[1] + columns.place) * C + c;
        for (int64_t k = columns.from; k < columns.to; k++)
#pragma GCC unroll 4
            for (int i = 0; i < count; i++) {
                const vf v = load(x + k * d->dilation[1] * C + i * next, w);
                most[i] = vf_where_le(v, most[i], most[i], v);
            }
    }
#pragma GCC unroll 4
    for (int i = 0; i < count; i++) store(y + (at + i) * C + c, most[i], w);
}

/* The same as sums. */
INLINE void depthwise_few(const Depthwise *d, Taps rows, Taps columns, int64_t at, int count, int64_t c,
                          int64_t w, float *y)
{
    vf sum[BESIDE];
    const int64_t C = d->C, next = d->stride[1] * C;
    if (!d->w) {
        largest_few(d, rows, columns, at, count, c, w, y);
        return;
    }
    const vf bias = d->bias ? load(d->bias + c, w) : vf_set(0);
#pragma GCC unroll 4
    for (int i = 0; i < count; i++) sum[i] = vf_set(0);
    for (int64_t r = rows.from; r < rows.to; r++) {
        const float *x = d->x + ((rows.place + r * d->dilation[0]) * d->in[1] + columns.place) * C + c;
        const float *filter = d->w + r * d->kernel[1] * C + c;
        for (int64_t k = columns.from; k < columns.to; k++) {
            const vf by = load(filter + k * C, w);
            const float *from = x + k * d->dilation[1] * C;
#pragma GCC unroll 4
            for (int i = 0; i < count; i++) sum[i] = vf_fma(load(from + i * next, w), by, sum[i]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < count; i++) store(y + (at + i) * C + c, vf_add(sum[i], bias), w);
}

/* One row of the output, channels c .. c + w. */
INLINE void depthwise_row(const Depthwise *d, int64_t row, int64_t c, int64_t w)
{
    const Taps rows = taps_of(d, 0, row);
    float *y = d->y + row * d->out[1] * d->C;
    for (int64_t at = 0; at < d->out[1];) {
        const Taps one = taps_of(d, 1, at), last = taps_of(d, 1, MIN(at + BESIDE, d->out[1]) - 1);
        const bool inside = one.from == 0 && last.from == 0 && one.to == d->kernel[1] && last.to == d->kernel[1];
        if (inside && at + BESIDE <= d->out[1]) {
            depthwise_few(d, rows, one, at, BESIDE, c, w, y);
            at += BESIDE;
        } else {
            depthwise_few(d, rows, one, at, 1, c, w, y);
            at++;
        }
    }
}

static void depthwise_body(const Depthwise *d, int64_t from, int64_t to)
{
    int64_t c = 0;
    for (; c + PANEL <= d->C; c += PANEL)
        for (int64_t row = from; row < to; row++) depthwise_row(d, row, c, PANEL);
    for (int64_t row = from; c < d->C && row < to; row++) depthwise_row(d, row, c, d->C - c);
}

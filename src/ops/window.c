/* SPDX-License-Identifier: Apache-2.0
 * window.c - sizes and places of sliding windows: the attributes that convolution and pooling share. */
#include "ops/window.h"

bool window_numbers(const OpCall *call, WindowAttr a, int dims, int64_t *out, Err *err)
{
    size_t n = 0;
    const int64_t *given = onnx_ints(call->node, a.name, &n);
    if (given && n != (size_t)a.wanted)
        return op_fail(call, err, "%s: found %zu numbers, wanted %d", a.name, n, a.wanted);
    for (int i = 0; i < dims; i++) {
        out[i] = given ? given[a.first + i] : a.otherwise;
        if (out[i] < a.least || out[i] > INT32_MAX)
            return op_fail(call, err, "%s: found %lld, wanted %lld to %d", a.name, (long long)out[i],
                           (long long)a.least, INT32_MAX);
    }
    return true;
}

/* One dim of the output, and the padding beside it. */
static bool window_place(const OpCall *call, SlidingWindow *w, int i, bool ceil, Str pad, Err *err)
{
    const int64_t window = (w->kernel[i] - 1) * w->dilation[i] + 1, stride = w->stride[i];
    if (str_is(pad, "SAME_UPPER") || str_is(pad, "SAME_LOWER")) {
        w->out[i] = (w->in[i] + stride - 1) / stride;
        const int64_t fill = MAX((w->out[i] - 1) * stride + window - w->in[i], 0);
        w->before[i] = str_is(pad, "SAME_UPPER") ? fill / 2 : fill - fill / 2;
        w->after[i] = fill - w->before[i];
        return true;
    }
    if (str_is(pad, "VALID")) w->before[i] = w->after[i] = 0;
    const int64_t room = w->in[i] + w->before[i] + w->after[i] - window;
    if (room < 0)
        return op_fail(call, err, "dim %d: found %lld with its padding, wanted at least the window's %lld",
                       i + 2, (long long)(room + window), (long long)window);
    w->out[i] = (room + (ceil ? stride - 1 : 0)) / stride + 1;
    if (ceil && (w->out[i] - 1) * stride >= w->in[i] + w->before[i]) w->out[i]--;
    return true;
}

bool window_read(const OpCall *call, bool ceil, SlidingWindow *w, Err *err)
{
    const int n = w->dims;
    int64_t said[SPACE];
    const Str pad = onnx_string(call->node, "auto_pad", "NOTSET");
    if (!window_numbers(call, (WindowAttr){ "strides", 0, n, 1, 1 }, n, w->stride, err) ||
        !window_numbers(call, (WindowAttr){ "dilations", 0, n, 1, 1 }, n, w->dilation, err) ||
        !window_numbers(call, (WindowAttr){ "pads", 0, 2 * n, 0, 0 }, n, w->before, err) ||
        !window_numbers(call, (WindowAttr){ "pads", n, 2 * n, 0, 0 }, n, w->after, err) ||
        !window_numbers(call, (WindowAttr){ "kernel_shape", 0, n, 1, 1 }, n, said, err))
        return false;
    w->size = w->positions = 1;
    for (int i = 0; i < n; i++) {
        if (onnx_attr(call->node, "kernel_shape") && said[i] != w->kernel[i])
            return op_wrong_input(call, 1, "the dims that kernel_shape gives", err);
        if (w->kernel[i] < 1 || w->kernel[i] > INT32_MAX)
            return op_fail(call, err, "found a window of %lld numbers, wanted one or more",
                           (long long)w->kernel[i]);
        if (!window_place(call, w, i, ceil, pad, err)) return false;
        if (__builtin_mul_overflow(w->size, w->kernel[i], &w->size) ||
            __builtin_mul_overflow(w->positions, w->out[i], &w->positions))
            return op_fail(call, err, "the output is too large");
    }
    return true;
}

bool window_kernel(const OpCall *call, SlidingWindow *w, Err *err)
{
    if (!onnx_attr(call->node, "kernel_shape"))
        return op_fail(call, err, "kernel_shape: found none, wanted %d numbers", w->dims);
    return window_numbers(call, (WindowAttr){ "kernel_shape", 0, w->dims, 1, 1 }, w->dims, w->kernel, err);
}

int64_t window_volume(const SlidingWindow *w)
{
    int64_t volume = 1;
    for (int i = 0; i < w->dims; i++) volume *= w->in[i];
    return volume;
}

bool window_next(int64_t *at, const int64_t *dim, int dims)
{
    for (int i = dims - 1; i >= 0; i--) {
        if (++at[i] < dim[i]) return true;
        at[i] = 0;
    }
    return false;
}

int64_t window_source(const SlidingWindow *w, const int64_t *at, const int64_t *k)
{
    int64_t index = 0;
    for (int i = 0; i < w->dims; i++) {
        const int64_t x = at[i] * w->stride[i] - w->before[i] + k[i] * w->dilation[i];
        if (x < 0 || x >= w->in[i]) return -1;
        index = index * w->in[i] + x;
    }
    return index;
}

void window_inside(const SlidingWindow *w, const int64_t *at, int64_t *from, int64_t *to)
{
    for (int i = 0; i < w->dims; i++) {
        const int64_t x = at[i] * w->stride[i] - w->before[i], step = w->dilation[i];
        from[i] = x < 0 ? (-x + step - 1) / step : 0;
        to[i] = MIN(w->in[i] > x ? (w->in[i] - x + step - 1) / step : 0, w->kernel[i]);
    }
}

Depthwise window_depthwise(const SlidingWindow *w)
{
    Depthwise d = { .in = { 1, 1 }, .out = { 1, 1 }, .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } };
    for (int i = 0, to = 2 - w->dims; i < w->dims; i++, to++) {
        d.in[to] = w->in[i], d.out[to] = w->out[i], d.kernel[to] = w->kernel[i];
        d.stride[to] = w->stride[i], d.dilation[to] = w->dilation[i], d.before[to] = w->before[i];
    }
    return d;
}

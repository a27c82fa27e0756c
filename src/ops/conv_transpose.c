/* SPDX-License-Identifier: Apache-2.0
 * conv_transpose.c - ConvTranspose: what a convolution from the output to the input would read, this one
 * writes. Every input position times the filters gives a window of numbers; the windows are added up, each
 * output by itself in the order of the window. */
#include "ops/conv.h"
#include "ops/product.h"

/* In w the input of the convolution that is turned round is our output: w.in is what we make, w.out what
 * we read. */
typedef struct Transposed {
    Conv c;                    /* C: channels read, M: channels made, of one group */
    int64_t reads;             /* positions of the input */
} Transposed;

static bool transposed_size(const OpCall *call, SlidingWindow *w, const int64_t *extra, const int64_t *shape,
                            int i, Err *err)
{
    const Str pad = onnx_string(call->node, "auto_pad", "NOTSET");
    const bool same = str_is(pad, "SAME_UPPER") || str_is(pad, "SAME_LOWER");
    const int64_t window = (w->kernel[i] - 1) * w->dilation[i] + 1;
    int64_t whole;
    if (__builtin_mul_overflow(w->out[i] - 1, w->stride[i], &whole) || whole > INT32_MAX)
        return op_fail(call, err, "the output is too large");
    whole += window + extra[i];
    if (str_is(pad, "VALID")) w->before[i] = w->after[i] = 0;
    if (shape || same) {
        w->in[i] = shape ? shape[i] : w->out[i] * w->stride[i];
        const int64_t cut = MAX(whole - w->in[i], 0);
        w->before[i] = str_is(pad, "SAME_UPPER") ? cut / 2 : cut - cut / 2;
        return true;
    }
    w->in[i] = whole - w->before[i] - w->after[i];
    if (w->in[i] < 1)
        return op_fail(call, err, "dim %d: found %lld numbers behind the padding, wanted one or more",
                       i + 2, (long long)w->in[i]);
    return true;
}

static bool transposed_channels(const OpCall *call, Conv *c, Err *err)
{
    const Tensor *x = call->in[0], *w = call->in[1];
    *c = (Conv){ .w.dims = x->rank - 2, .group = op_attr_int(call, "group", 1) };
    if (x->rank < 3) return op_wrong_input(call, 0, "[N, C, ...]", err);
    if (w->rank != x->rank || c->group < 1 || c->group > INT32_MAX || w->dim[0] != x->dim[1] ||
        w->dim[0] % c->group || w->dim[1] > INT32_MAX)
        return op_wrong_input(call, 1, "channels that fit input 0 and the groups", err);
    c->images = x->dim[0];
    c->C = w->dim[0] / c->group;
    c->M = w->dim[1];
    return conv_floats(call, c->M * c->group, err);
}

static bool transposed_of(const OpCall *call, Transposed *t, Err *err)
{
    Conv *c = &t->c;
    SlidingWindow *w = &c->w;
    size_t given = 0;
    int64_t extra[SPACE];
    const int64_t *shape = onnx_ints(call->node, "output_shape", &given);
    if (!transposed_channels(call, c, err)) return false;
    const int n = w->dims;
    if (shape && given != (size_t)n)
        return op_fail(call, err, "output_shape: found %zu numbers, wanted %d", given, n);
    if (!window_numbers(call, (WindowAttr){ "strides", 0, n, 1, 1 }, n, w->stride, err) ||
        !window_numbers(call, (WindowAttr){ "dilations", 0, n, 1, 1 }, n, w->dilation, err) ||
        !window_numbers(call, (WindowAttr){ "pads", 0, 2 * n, 0, 0 }, n, w->before, err) ||
        !window_numbers(call, (WindowAttr){ "pads", n, 2 * n, 0, 0 }, n, w->after, err) ||
        !window_numbers(call, (WindowAttr){ "output_padding", 0, n, 0, 0 }, n, extra, err))
        return false;
    w->size = t->reads = 1;
    for (int i = 0; i < n; i++) {
        w->kernel[i] = call->in[1]->dim[i + 2];
        w->out[i] = call->in[0]->dim[i + 2];
        if (w->kernel[i] < 1 || w->kernel[i] > INT32_MAX || w->out[i] < 1)
            return op_wrong_input(call, 1, "a window of at least one number", err);
        if (!transposed_size(call, w, extra, shape, i, err)) return false;
        if (w->in[i] < 0 || w->in[i] > INT32_MAX)
            return op_fail(call, err, "the output is too large");
        w->size *= w->kernel[i];
        t->reads *= w->out[i];
    }
    c->K = c->M * w->size;
    return true;
}

static bool conv_transpose_shape(OpCall *call, Err *err)
{
    Transposed t;
    if (!transposed_of(call, &t, err)) return false;
    int64_t dim[MAX_RANK] = { t.c.images, t.c.M * t.c.group };
    memcpy(dim + 2, t.c.w.in, sizeof t.c.w.in);
    return op_out(call, 0, call->in[0]->type, t.c.w.dims + 2, dim);
}

typedef struct Adding {        /* windows [M, size, reads] into channels [M, in...] */
    const Transposed *t;
    const float *windows;
    float *y;
} Adding;

static void add_windows(void *context, int64_t from, int64_t to)
{
    const Adding *a = context;
    const SlidingWindow *w = &a->t->c.w;
    const int64_t volume = window_volume(w);
    for (int64_t m = from; m < to; m++) {
        const float *x = a->windows + m * w->size * a->t->reads;
        float *y = memset(a->y + m * volume, 0, sizeof(float) * (size_t)volume);
        int64_t k[SPACE] = { 0 };
        do {
            int64_t at[SPACE] = { 0 };
            for (int64_t p = 0; p < a->t->reads; p++, x++, window_next(at, w->out, w->dims)) {
                const int64_t place = window_source(w, at, k);
                if (place >= 0) y[place] += *x;
            }
        } while (window_next(k, w->kernel, w->dims));
    }
}

/* The filters of a group as rows of a product: [C, K] to [K, C]. */
static void turn_filters(const float *w, const Conv *c, float *out)
{
    for (int64_t k = 0; k < c->K; k++)
        for (int64_t i = 0; i < c->C; i++) out[k * c->C + i] = w[i * c->K + k];
}

static bool transpose_f32(OpCall *call, const Transposed *t, const float *x, const float *w, float *y,
                          Err *err)
{
    const Conv *c = &t->c;
    const int64_t volume = window_volume(&c->w);
    const Product p = { .M = c->K, .N = t->reads, .K = c->C, .batches = 1, .matrices = { 1, 1 } };
    float *turned = op_scratch(call, MAX(c->K * c->C, 1), sizeof *turned, err);
    float *windows = turned ? op_scratch(call, MAX(c->K, 1), (size_t)t->reads * sizeof *windows, err) : NULL;
    if (!windows) return false;
    for (int64_t i = 0; i < c->images * c->group; i++) {
        turn_filters(w + i % c->group * c->C * c->K, c, turned);
        if (!product_f32(call, &p, turned, x + i * c->C * t->reads, false, windows, err)) return false;
        Adding a = { t, windows, y + i * c->M * volume };
        op_split(call, c->M, MAX(16384 / MAX(c->w.size * t->reads, 1), 1), add_windows, &a);
    }
    return true;
}

static bool conv_transpose_run(OpCall *call, Err *err)
{
    Transposed t;
    const Tensor *b = op_in(call, 2);
    Tensor *out = &call->out[0], y = *out;
    if (!transposed_of(call, &t, err)) return false;
    if (!tensor_count(out)) return true;
    const float *x = op_f32(call, call->in[0], err), *w = x ? op_f32(call, call->in[1], err) : NULL;
    const float *bias = b && w ? op_f32(call, b, err) : NULL;
    y.type = T_F32;
    if (out->type != T_F32) y.data = op_scratch(call, tensor_count(out), sizeof(float), err);
    if (!w || (b && !bias) || !y.data || !transpose_f32(call, &t, x, w, y.data, err)) return false;
    const int64_t channels = t.c.M * t.c.group, volume = window_volume(&t.c.w);
    for (int64_t i = 0; bias && i < t.c.images; i++)
        conv_add_bias((float *)y.data + i * channels * volume, bias, channels, volume);
    if (y.data != out->data) tensor_convert(&y, 0, out, 0, tensor_count(out));
    return true;
}

const Op ops_conv_transpose[] = {
    { "ConvTranspose", NULL, 1, 2, 3, conv_transpose_shape, conv_transpose_run, .cost = COST_WINDOW },
    { 0 }
};

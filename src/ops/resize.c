/* SPDX-License-Identifier: Apache-2.0
 * resize.c - Resize and the older Upsample, in every mode. Interpolation is separable: each axis in turn is
 * resampled by a list of taps for every output coordinate, as ONNX's reference does, so that the channels may
 * stand anywhere. Nearest moves elements of any type; the others compute in float. */
#include <math.h>

#include "ops/ops.h"

typedef enum { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } ResizeMode;

typedef struct ResizeAxis {
    int64_t in, out;
    double scale, from, to;    /* from, to: the part of the input that tf_crop_and_resize takes */
    int64_t taps;              /* for each output coordinate */
    int64_t *index;            /* [out][taps], inside the input */
    float *weight;             /* [out][taps] */
    bool *outside;             /* [out]: takes the extrapolation value; NULL: none does */
} ResizeAxis;

typedef struct Resize {
    ResizeMode mode;
    bool crops;                /* tf_crop_and_resize */
    ResizeAxis axis[MAX_RANK];
} Resize;

/* ---- shape ---- */

enum { SCALES_10 = 1, ROI = 1, SCALES = 2, SIZES = 3 }; /* inputs, of opset 10 and later ones */

static const Tensor *resize_input(const OpCall *call, int index)
{
    const Tensor *t = op_in(call, index);
    return t && tensor_count(t) ? t : NULL;
}

/* Which axis of X the number i of sizes, scales and roi means. */
static bool resize_axes(const OpCall *call, int64_t *axes, int *n, Err *err)
{
    size_t given = 0;
    const int rank = call->in[0]->rank;
    const int64_t *a = onnx_ints(call->node, "axes", &given);
    if (a && given > (size_t)rank) return op_fail(call, err, "axes: found %zu, wanted %d", given, rank);
    *n = a ? (int)given : rank;
    for (int i = 0; i < *n; i++) {
        axes[i] = a ? op_axis(call, a[i], rank, err) : i;
        if (axes[i] < 0) return false;
    }
    return true;
}

static bool resize_by_scales(const OpCall *call, const Tensor *scales, Resize *r, Err *err)
{
    int64_t axes[MAX_RANK];
    int n;
    if (!resize_axes(call, axes, &n, err)) return false;
    if (tensor_count(scales) != n || !dtype_is_float(scales->type))
        return op_fail(call, err, "scales: found %lld, wanted %d", (long long)tensor_count(scales), n);
    for (int i = 0; i < n; i++) {
        ResizeAxis *a = &r->axis[axes[i]];
        a->scale = tensor_get(scales, i);
        const double out = floor((double)a->in * a->scale);
        if (!(a->scale > 0) || !(out < (double)INT32_MAX))
            return op_fail(call, err, "scales: found %g, wanted a number over 0", a->scale);
        a->out = (int64_t)out;
    }
    return true;
}

/* All axes by one scale where the aspect ratio is kept. */
static bool resize_by_sizes(const OpCall *call, const Tensor *sizes, Resize *r, Err *err)
{
    int64_t axes[MAX_RANK];
    int n;
    const Str policy = onnx_string(call->node, "keep_aspect_ratio_policy", "stretch");
    const bool larger = str_is(policy, "not_smaller"), kept = larger || str_is(policy, "not_larger");
    double one = 0;
    if (!resize_axes(call, axes, &n, err)) return false;
    if (tensor_count(sizes) != n || sizes->type != T_I64)
        return op_fail(call, err, "sizes: found %lld, wanted %d", (long long)tensor_count(sizes), n);
    for (int i = 0; i < n; i++) {
        ResizeAxis *a = &r->axis[axes[i]];
        a->out = tensor_get_int(sizes, i);
        if (a->out < 0 || a->out > INT32_MAX || a->in < 1)
            return op_fail(call, err, "sizes: found %lld, wanted 0 to %d", (long long)a->out, INT32_MAX);
        a->scale = (double)a->out / (double)a->in;
        one = !i ? a->scale : larger ? MAX(one, a->scale) : MIN(one, a->scale);
    }
    for (int i = 0; kept && i < n; i++) {
        ResizeAxis *a = &r->axis[axes[i]];
        a->scale = one;
        a->out = (int64_t)floor(one * (double)a->in + 0.5);
    }
    return true;
}

static bool resize_mode(const OpCall *call, ResizeMode *mode, Err *err)
{
    const Str name = onnx_string(call->node, "mode", "nearest");
    *mode = str_is(name, "cubic")                              ? RESIZE_CUBIC
            : str_is(name, "linear") || str_is(name, "bilinear") ? RESIZE_LINEAR
                                                                 : RESIZE_NEAREST;
    return *mode != RESIZE_NEAREST || str_is(name, "nearest") ||
           op_fail(call, err, "mode: found '%.*s', wanted nearest, linear or cubic", STR_ARG(name));
}

static bool resize_upsample_scales(const OpCall *call, Tensor *scales, Err *err)
{
    const OnnxAttr *a = onnx_attr(call->node, "scales");
    if (!a || a->type != A_FLOATS) return op_fail(call, err, "scales: found none, wanted floats");
    *scales = (Tensor){ .type = T_F32, .rank = 1, .dim = { (int64_t)a->n }, .data = a->floats };
    return true;
}

static bool resize_of(const OpCall *call, Resize *r, Err *err)
{
    const Tensor *x = call->in[0], *sizes = resize_input(call, SIZES);
    const bool old = call->opset < 11, attr = call->n_in == 1;
    const Tensor *scales = resize_input(call, old ? SCALES_10 : SCALES);
    Tensor given;
    *r = (Resize){ 0 };
    for (int i = 0; i < x->rank; i++)
        r->axis[i] = (ResizeAxis){ .in = x->dim[i], .out = x->dim[i], .scale = 1, .to = 1 };
    if (!resize_mode(call, &r->mode, err)) return false;
    if (attr && !resize_upsample_scales(call, &given, err)) return false;
    if (attr) return resize_by_scales(call, &given, r, err);
    if (sizes && !scales) return resize_by_sizes(call, sizes, r, err);
    if (scales && (old || !sizes)) return resize_by_scales(call, scales, r, err);
    return op_fail(call, err, "found %s scales and sizes, wanted one of them", scales ? "both" : "neither");
}

static bool resize_shape(OpCall *call, Err *err)
{
    Resize r;
    int64_t dim[MAX_RANK];
    const Tensor *x = call->in[0];
    if (!resize_of(call, &r, err)) return false;
    for (int i = 0; i < x->rank; i++) {
        dim[i] = r.axis[i].out;
        if (dim[i] && !x->dim[i]) return op_wrong_input(call, 0, "no empty dim", err);
    }
    if (r.mode != RESIZE_NEAREST && !dtype_is_float(x->type) && dtype_size(x->type) > 2 && x->type != T_I32)
        return op_wrong_input(call, 0, "floats, or integers of at most 32 bits", err);
    return op_out(call, 0, x->type, x->rank, dim);
}

/* ---- taps ---- */

typedef struct Tapper {        /* what the attributes say */
    Str transform, nearest;
    float cubic;               /* coefficient */
    bool exclude, antialias;
} Tapper;

/* Where output coordinate i lies in the input. The arithmetic is that of a float, as ONNX Runtime's is: where
 * it falls on a border, nearest depends on it. */
static double resize_place(const Tapper *t, const ResizeAxis *a, int64_t i)
{
    const float x = (float)i, scale = (float)a->scale, in = (float)a->in;
    const double wide = a->scale * (double)a->in; /* the output before it was cut to whole numbers */
    if (str_is(t->transform, "asymmetric")) return x / scale;
    if (str_is(t->transform, "align_corners"))
        return fabs(wide - 1) < 1e-6 ? 0 : (double)i * (double)(a->in - 1) / (wide - 1);
    if (str_is(t->transform, "pytorch_half_pixel") && a->out == 1) return 0;
    if (str_is(t->transform, "tf_half_pixel_for_nn")) return (x + 0.5f) / scale;
    if (str_is(t->transform, "half_pixel_symmetric"))
        return (double)in / 2 * (1 - (double)a->out / wide) + ((double)i + 0.5) / a->scale - 0.5;
    if (str_is(t->transform, "tf_crop_and_resize"))
        return a->from * (double)(a->in - 1) +
               (a->out == 1 ? (a->to - a->from) * (double)(a->in - 1) / 2
                            : (double)i * (a->to - a->from) * (double)(a->in - 1) / (double)(a->out - 1));
    return (x + 0.5f) / scale - 0.5f;
}

static double tap_linear(double x)
{
    return fmax(0, 1 - fabs(x));
}

static double tap_cubic(double x, double A)
{
    x = fabs(x);
    if (x <= 1) return ((A + 2) * x - (A + 3)) * x * x + 1;
    return x < 2 ? ((x - 5) * x + 8) * A * x - 4 * A : 0;
}

/* The pixel left of the place, and how far the place lies beyond it: over 0, at most 1. */
static double resize_ratio(double place, int64_t *left)
{
    *left = (int64_t)ceil(place) - 1;
    return place - (double)*left;
}

static int64_t tap_nearest(const Tapper *t, double place, int64_t in)
{
    int64_t left;
    const double ratio = resize_ratio(place, &left);
    const bool right = str_is(t->nearest, "floor")               ? ratio == 1
                       : str_is(t->nearest, "ceil")              ? true
                       : str_is(t->nearest, "round_prefer_ceil") ? ratio >= 0.5
                                                                 : ratio > 0.5;
    return MIN(MAX(left + right, 0), in - 1);
}

/* The taps of one output coordinate: pixels around the place, repeated at the borders. */
static void tap_weights(const Tapper *t, const ResizeAxis *a, ResizeMode mode, double place,
                        int64_t *index, float *weight)
{
    const double wide = t->antialias ? fmin(a->scale, 1) : 1;
    int64_t left;
    const double ratio = resize_ratio(place, &left);
    double sum = 0;
    for (int64_t k = 0; k < a->taps; k++) {
        const int64_t i = k - a->taps / 2 + 1; /* from the left pixel */
        const double x = ((double)i - ratio) * wide;
        const bool out = left + i < 0 || left + i >= a->in;
        weight[k] = (float)(mode == RESIZE_CUBIC ? tap_cubic(x, t->cubic) : tap_linear(x));
        if (out && t->exclude) weight[k] = 0;
        sum += weight[k];
        index[k] = MIN(MAX(left + i, 0), a->in - 1);
    }
    for (int64_t k = 0; (t->exclude || t->antialias) && k < a->taps; k++)
        weight[k] = (float)(weight[k] / sum);
}

static int64_t tap_count(const Tapper *t, const ResizeAxis *a, ResizeMode mode)
{
    const int64_t half = mode == RESIZE_CUBIC ? 2 : 1;
    if (mode == RESIZE_NEAREST) return 1;
    /* Of no output the scale may be 0. */
    return t->antialias && a->scale < 1 && a->out ? 2 * -(int64_t)floor(-(double)half / a->scale) : 2 * half;
}

static bool resize_taps(OpCall *call, const Tapper *t, ResizeMode mode, ResizeAxis *a, Err *err)
{
    const bool crops = str_is(t->transform, "tf_crop_and_resize");
    a->taps = tap_count(t, a, mode);
    a->index = op_scratch(call, MAX(a->out * a->taps, 1), sizeof *a->index, err);
    a->weight = a->index ? op_scratch(call, MAX(a->out * a->taps, 1), sizeof *a->weight, err) : NULL;
    a->outside = a->weight ? op_scratch(call, MAX(a->out, 1), sizeof *a->outside, err) : NULL;
    if (!a->outside) return false;
    for (int64_t i = 0; i < a->out; i++) {
        double place = resize_place(t, a, i);
        if (!(fabs(place) < 1e15)) place = -1e15; /* a roi of NaN too: outside */
        a->outside[i] = crops && (place < 0 || place > (double)(a->in - 1));
        if (mode == RESIZE_NEAREST) a->index[i] = tap_nearest(t, place, a->in), a->weight[i] = 1;
        else tap_weights(t, a, mode, place, a->index + i * a->taps, a->weight + i * a->taps);
    }
    if (!crops) a->outside = NULL;
    return true;
}

static bool resize_roi(const OpCall *call, Resize *r, Err *err)
{
    const Tensor *roi = call->opset < 11 ? NULL : resize_input(call, ROI);
    int64_t axes[MAX_RANK];
    int n;
    if (!resize_axes(call, axes, &n, err)) return false;
    if (!roi || tensor_count(roi) != 2 * n) return op_fail(call, err, "roi: wanted %d numbers", 2 * n);
    for (int i = 0; i < n; i++) {
        r->axis[axes[i]].from = tensor_get(roi, i);
        r->axis[axes[i]].to = tensor_get(roi, i + n);
    }
    return true;
}

/* ---- run ---- */

typedef struct ResizePass {    /* along one axis: [outer, in, inner] to [outer, out, inner] */
    const ResizeAxis *a;
    int64_t inner;
    size_t size;               /* of an element; 0: floats by weights */
    const void *x;
    void *y;
    float value;               /* outside */
} ResizePass;

static void resize_copy(const ResizePass *p, int64_t from, int64_t to)
{
    const size_t span = p->size * (size_t)p->inner;
    for (int64_t i = from; i < to; i++)
        memcpy((char *)p->y + (size_t)i * span,
               (const char *)p->x +
                   (size_t)(i / p->a->out * p->a->in + p->a->index[i % p->a->out]) * span,
               span);
}

static void resize_line(const ResizePass *p, const float *x, int64_t o, float *y)
{
    const ResizeAxis *a = p->a;
    const int64_t *index = a->index + o * a->taps;
    const float *weight = a->weight + o * a->taps;
    for (int64_t c = 0; c < p->inner; c++) y[c] = weight[0] * x[index[0] * p->inner + c];
    for (int64_t k = 1; k < a->taps; k++)
        for (int64_t c = 0; c < p->inner; c++) y[c] += weight[k] * x[index[k] * p->inner + c];
    for (int64_t c = 0; a->outside && a->outside[o] && c < p->inner; c++) y[c] = p->value;
}

static void resize_range(void *context, int64_t from, int64_t to)
{
    const ResizePass *p = context;
    if (p->size) return resize_copy(p, from, to);
    for (int64_t i = from; i < to; i++)
        resize_line(p, (const float *)p->x + i / p->a->out * p->a->in * p->inner, i % p->a->out,
                    (float *)p->y + i * p->inner);
}

/* Elements are moved as they are. */
static bool resize_copies(const Resize *r)
{
    return r->mode == RESIZE_NEAREST && !r->crops;
}

/* Every axis that changes, the last first; *t becomes the result, which the last pass writes where it belongs, if
 * the types are the same. */
static bool resize_passes(OpCall *call, const Resize *r, Tensor *t, float value, Err *err)
{
    int end = 0; /* the axis of that pass */
    while (end < t->rank && !r->axis[end].taps) end++;
    for (int i = t->rank - 1; i >= 0; i--) {
        ResizePass p = { .a = &r->axis[i], .inner = 1, .x = t->data, .value = value };
        if (!p.a->taps) continue;
        for (int k = i + 1; k < t->rank; k++) p.inner *= t->dim[k];
        t->dim[i] = p.a->out;
        const size_t size = dtype_size(t->type);
        if (resize_copies(r)) p.size = size;
        const bool there = i == end && t->type == call->out[0].type;
        p.y = t->data = there ? call->out[0].data : op_scratch(call, MAX(tensor_count(t), 1), size, err);
        if (!p.y) return false;
        if (tensor_count(t))
            op_split(call, tensor_count(t) / p.inner, MAX(4096 / p.inner, 1), resize_range, &p);
    }
    return true;
}

static bool resize_axis_changes(const ResizeAxis *a, bool crops)
{
    return a->in != a->out || a->scale != 1 || (crops && (a->from != 0 || a->to != 1));
}

static bool resize_prepare(OpCall *call, Resize *r, Err *err)
{
    const bool old = call->opset < 11;
    Tapper t = { .transform = onnx_string(call->node, "coordinate_transformation_mode",
                                          old ? "asymmetric" : "half_pixel"),
                 .nearest = onnx_string(call->node, "nearest_mode", old ? "floor" : "round_prefer_floor"),
                 .cubic = onnx_float(call->node, "cubic_coeff_a", -0.75f),
                 .exclude = op_attr_int(call, "exclude_outside", 0),
                 .antialias = op_attr_int(call, "antialias", 0) };
    if (!resize_of(call, r, err)) return false;
    r->crops = str_is(t.transform, "tf_crop_and_resize");
    if (r->crops && !resize_roi(call, r, err)) return false;
    for (int i = 0; i < call->in[0]->rank; i++)
        if (resize_axis_changes(&r->axis[i], r->crops) &&
            !resize_taps(call, &t, r->mode, &r->axis[i], err))
            return false;
    return true;
}

static bool resize_run(OpCall *call, Err *err)
{
    Resize r;
    Tensor *out = &call->out[0], t = *call->in[0];
    if (!resize_prepare(call, &r, err)) return false;
    if (!resize_copies(&r)) {
        t.data = (void *)op_f32(call, call->in[0], err);
        t.type = T_F32;
        if (!t.data) return !tensor_count(out);
    }
    if (!resize_passes(call, &r, &t, onnx_float(call->node, "extrapolation_value", 0), err)) return false;
    if (t.data == out->data) return true;
    if (t.type == out->type) memcpy(out->data, t.data, tensor_bytes(out));
    else tensor_convert(&t, 0, out, 0, tensor_count(out));
    return true;
}

const Op ops_resize[] = {
    { "Resize", NULL, 10, 2, 2, resize_shape, resize_run, .values = 1 << SCALES_10 },
    { "Resize", NULL, 11, 1, 4, resize_shape, resize_run, .values = 1 << SCALES | 1 << SIZES },
    { "Upsample", NULL, 7, 1, 1, resize_shape, resize_run },
    { "Upsample", NULL, 9, 2, 2, resize_shape, resize_run, .values = 1 << SCALES_10 },
    { 0 }
};

/* SPDX-License-Identifier: Apache-2.0
 * conv.c - Conv over any number of spatial dims, and FusedConv, which ONNX Runtime's optimizer makes of it.
 * A convolution is a product: the weights [M, K] times the windows [K, P], where a column is what
 * one output position sees. The windows are written straight into the GEMM's panels. */
#include "ops/activation.h"
#include "ops/product.h"

enum { SPACE = MAX_RANK - 2 };

typedef struct Conv {
    int dims;                          /* of the space */
    int64_t images, group, C, M, K, P; /* C and M of one group; K: numbers of a window; P: positions */
    int64_t in[SPACE], kernel[SPACE], out[SPACE], stride[SPACE], dilation[SPACE], before[SPACE];
} Conv;

/* ---- shape ---- */

/* The attribute's `dims` numbers from `first` on, each at least `least`; `otherwise` where it is left out. */
static bool conv_read_numbers(const OpCall *call, const char *name, int first, const Conv *c,
                              int64_t least, int64_t otherwise, int64_t *out, Err *err)
{
    size_t n = 0;
    const int64_t *given = onnx_ints(call->node, name, &n);
    const size_t wanted = (size_t)c->dims * (strcmp(name, "pads") == 0 ? 2 : 1);
    if (given && n != wanted)
        return op_fail(call, err, "%s: found %zu numbers, wanted %zu", name, n, wanted);
    for (int i = 0; i < c->dims; i++) {
        out[i] = given ? given[first + i] : otherwise;
        if (out[i] < least || out[i] > INT32_MAX)
            return op_fail(call, err, "%s: found %lld, wanted %lld to %d", name, (long long)out[i],
                           (long long)least, INT32_MAX);
    }
    return true;
}

/* One dim of the output, and the padding before it. */
static bool conv_place_dim(const OpCall *call, Conv *c, int i, int64_t after, Str pad, Err *err)
{
    const int64_t window = (c->kernel[i] - 1) * c->dilation[i] + 1;
    if (str_is(pad, "SAME_UPPER") || str_is(pad, "SAME_LOWER")) {
        c->out[i] = (c->in[i] + c->stride[i] - 1) / c->stride[i];
        const int64_t fill = MAX((c->out[i] - 1) * c->stride[i] + window - c->in[i], 0);
        c->before[i] = str_is(pad, "SAME_UPPER") ? fill / 2 : fill - fill / 2;
        return true;
    }
    if (str_is(pad, "VALID")) c->before[i] = after = 0;
    const int64_t room = c->in[i] + c->before[i] + after - window;
    if (room < 0)
        return op_fail(call, err, "dim %d: found %lld with its padding, wanted at least the window's %lld",
                       i + 2, (long long)(room + window), (long long)window);
    c->out[i] = room / c->stride[i] + 1;
    return true;
}

static bool conv_inputs(const OpCall *call, Conv *c, Err *err)
{
    const Tensor *x = call->in[0], *w = call->in[1], *b = op_in(call, 2);
    *c = (Conv){ .dims = x->rank - 2, .group = op_attr_int(call, "group", 1) };
    if (x->rank < 3 || (x->type != T_F32 && x->type != T_F16 && x->type != T_BF16))
        return op_wrong_input(call, 0, "float, float16 or bfloat16 [N, C, ...]", err);
    if (w->rank != x->rank || w->type != x->type)
        return op_wrong_input(call, 1, "the type and the number of dims of input 0", err);
    c->images = x->dim[0];
    if (c->group < 1 || w->dim[1] > INT32_MAX || c->group > INT32_MAX || x->dim[1] != w->dim[1] * c->group ||
        w->dim[0] % c->group)
        return op_wrong_input(call, 1, "channels that fit input 0 and the groups", err);
    c->C = w->dim[1];
    c->M = w->dim[0] / c->group;
    if (b && (b->rank != 1 || b->dim[0] != w->dim[0] || b->type != x->type))
        return op_wrong_input(call, 2, "a number for each output channel", err);
    return true;
}

static bool conv_of(const OpCall *call, Conv *c, Err *err)
{
    int64_t after[SPACE], said[SPACE];
    const Str pad = onnx_string(call->node, "auto_pad", "NOTSET");
    if (!conv_inputs(call, c, err) ||
        !conv_read_numbers(call, "strides", 0, c, 1, 1, c->stride, err) ||
        !conv_read_numbers(call, "dilations", 0, c, 1, 1, c->dilation, err) ||
        !conv_read_numbers(call, "pads", 0, c, 0, 0, c->before, err) ||
        !conv_read_numbers(call, "pads", c->dims, c, 0, 0, after, err) ||
        !conv_read_numbers(call, "kernel_shape", 0, c, 1, 1, said, err))
        return false;
    c->K = c->C;
    c->P = 1;
    for (int i = 0; i < c->dims; i++) {
        c->in[i] = call->in[0]->dim[i + 2];
        c->kernel[i] = call->in[1]->dim[i + 2];
        if (onnx_attr(call->node, "kernel_shape") && said[i] != c->kernel[i])
            return op_wrong_input(call, 1, "the dims that kernel_shape gives", err);
        if (c->kernel[i] < 1 || c->kernel[i] > INT32_MAX)
            return op_wrong_input(call, 1, "a window of at least one number", err);
        if (!conv_place_dim(call, c, i, after[i], pad, err)) return false;
        c->K *= c->kernel[i]; /* at most the weight's own size */
        if (__builtin_mul_overflow(c->P, c->out[i], &c->P))
            return op_fail(call, err, "the output is too large");
    }
    return true;
}

static bool conv_shape(OpCall *call, Err *err)
{
    Conv c;
    int64_t dim[MAX_RANK];
    if (!conv_of(call, &c, err)) return false;
    dim[0] = c.images;
    dim[1] = c.M * c.group;
    memcpy(dim + 2, c.out, sizeof c.out);
    return op_out(call, 0, call->in[0]->type, call->in[0]->rank, dim);
}

/* ---- run ---- */

typedef struct ConvWindows {
    const Conv *c;
    const float *image;                /* [group, C, in...] */
    float *panels;                     /* [group][P / 16][K][16] */
    int64_t size, each;                /* floats of a group's panels; panels of a group */
} ConvWindows;

/* Adds one to a position counted in `dim`, last dim first; false: it went round. */
static bool conv_next_position(int64_t *at, const int64_t *dim, int dims)
{
    for (int i = dims - 1; i >= 0; i--) {
        if (++at[i] < dim[i]) return true;
        at[i] = 0;
    }
    return false;
}

/* Where in the channel the window's number `k` of the output position `at` lies; -1: in the padding. */
static int64_t conv_source_of(const Conv *c, const int64_t *at, const int64_t *k)
{
    int64_t index = 0;
    for (int i = 0; i < c->dims; i++) {
        const int64_t x = at[i] * c->stride[i] - c->before[i] + k[i] * c->dilation[i];
        if (x < 0 || x >= c->in[i]) return -1;
        index = index * c->in[i] + x;
    }
    return index;
}

static void fill_panel(const ConvWindows *w, const float *image, int64_t first, float *out)
{
    const Conv *c = w->c;
    const int64_t lanes = MIN(c->P - first, PANEL), window = c->K / c->C;
    int64_t at[PANEL][SPACE], volume = 1;
    for (int i = 0; i < c->dims; i++) volume *= c->in[i];
    for (int64_t l = 0; l < lanes; l++)
        for (int64_t i = c->dims - 1, rest = first + l; i >= 0; rest /= c->out[i--])
            at[l][i] = rest % c->out[i];
    int64_t k[SPACE] = { 0 };
    for (int64_t i = 0; i < window; i++, conv_next_position(k, c->kernel, c->dims))
        for (int64_t l = 0; l < PANEL; l++) {
            const int64_t from = l < lanes ? conv_source_of(c, at[l], k) : -1;
            for (int64_t ch = 0; ch < c->C; ch++)
                out[(ch * window + i) * PANEL + l] = from < 0 ? 0 : image[ch * volume + from];
        }
}

static void fill_panels(void *context, int64_t from, int64_t to)
{
    const ConvWindows *w = context;
    int64_t channel = w->c->C;
    for (int i = 0; i < w->c->dims; i++) channel *= w->c->in[i];
    for (int64_t i = from; i < to; i++) {
        const int64_t group = i / w->each, panel = i % w->each;
        fill_panel(w, w->image + group * channel, panel * PANEL,
                   w->panels + group * w->size + panel * PANEL * w->c->K);
    }
}

static void add_bias(float *y, const float *bias, int64_t channels, int64_t positions)
{
    for (int64_t m = 0; m < channels; m++)
        for (int64_t p = 0; p < positions; p++) y[m * positions + p] += bias[m];
}

/* y: [images, group * M, P] */
static bool conv_f32(OpCall *call, const Conv *c, float *y, Err *err)
{
    const Tensor *b = op_in(call, 2);
    const float *x = op_f32(call, call->in[0], err), *w = x ? op_f32(call, call->in[1], err) : NULL;
    const float *bias = b ? op_f32(call, b, err) : NULL;
    Product p = { .M = c->M, .N = c->P, .K = c->K, .rank = 1, .batch = { c->group }, .batches = c->group,
                  .step = { { 1 }, { 1 } }, .matrices = { c->group, c->group } };
    ConvWindows windows = { .c = c, .size = (int64_t)panels_f32_size(c->P, c->K),
                        .each = (c->P + PANEL - 1) / PANEL };
    const int64_t out = c->group * c->M * c->P, in = tensor_count(call->in[0]) / MAX(c->images, 1);
    if (!w || (b && !bias)) return false;
    if (!c->images || !out) return true;
    windows.panels = op_scratch(call, c->group, (size_t)MAX(windows.size, 1) * sizeof(float), err);
    if (!windows.panels) return false;
    for (int64_t i = 0; i < c->images; i++, x += in, y += out) {
        windows.image = x;
        if (c->K) op_split(call, c->group * windows.each, MAX(4096 / c->K, 1), fill_panels, &windows);
        product_panels(call, &p, w, windows.panels, y);
        if (bias) add_bias(y, bias, c->group * c->M, c->P);
    }
    return true;
}

/* The result, in the output itself or, for the narrow types, on its way there. */
static bool conv_result(OpCall *call, Tensor *y, Err *err)
{
    Conv c;
    if (!conv_of(call, &c, err)) return false;
    *y = call->out[0];
    y->type = T_F32;
    if (call->out[0].type != T_F32)
        y->data = op_scratch(call, MAX(tensor_count(y), 1), sizeof(float), err);
    return y->data && conv_f32(call, &c, y->data, err);
}

static bool conv_run(OpCall *call, Err *err)
{
    Tensor y;
    if (!conv_result(call, &y, err)) return false;
    if (y.data != call->out[0].data) tensor_convert(&y, 0, &call->out[0], 0, tensor_count(&y));
    return true;
}

/* ---- FusedConv: activation(Conv(X, W, B) + Z) ---- */

static bool fused_conv_shape(OpCall *call, Err *err)
{
    const FusedActivation *act;
    const Tensor *z = op_in(call, 3), *y = &call->out[0];
    if (!fused_activation_find(call, &act, err) || !conv_shape(call, err)) return false;
    if (z && (z->type != y->type || z->rank != y->rank ||
              memcmp(z->dim, y->dim, (size_t)y->rank * sizeof *z->dim) != 0))
        return op_wrong_input(call, 3, "the type and the dims of the output", err);
    return true;
}

static bool fused_conv_run(OpCall *call, Err *err)
{
    const FusedActivation *act;
    const OnnxAttr *given = onnx_attr(call->node, "activation_params");
    const Tensor *z = op_in(call, 3);
    Tensor y;
    if (!fused_activation_find(call, &act, err) || !conv_result(call, &y, err)) return false;
    const int64_t n = tensor_count(&y);
    const float *add = z ? op_f32(call, z, err) : NULL;
    if (z && !add) return false;
    for (int64_t i = 0; add && i < n; i++) ((float *)y.data)[i] += add[i];
    if (act) {
        float p[2] = { act->otherwise[0], act->otherwise[1] };
        for (size_t i = 0; given && i < MIN(given->n, 2) && given->floats; i++) p[i] = given->floats[i];
        fused_activation_apply(act, p, &y);
    }
    if (y.data != call->out[0].data) tensor_convert(&y, 0, &call->out[0], 0, n);
    return true;
}

const Op ops_conv[] = {
    { "Conv", NULL, 1, 2, 3, conv_shape, conv_run, .cost = COST_WINDOW },
    { "FusedConv", "com.microsoft", 1, 2, 4, fused_conv_shape, fused_conv_run,
      .cost = COST_WINDOW },
    { 0 }
};

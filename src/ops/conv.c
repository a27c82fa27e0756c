/* SPDX-License-Identifier: Apache-2.0
 * conv.c - Conv over any number of spatial dims, and FusedConv, which ONNX Runtime's optimizer makes of it.
 * A convolution is a product: the weights [M, K] times the windows [K, P], where a column is what
 * one output position sees. The windows are written straight into the GEMM's panels, a block of positions at a
 * time. */
#include "ops/activation.h"
#include "ops/conv.h"

/* ---- shape ---- */

bool conv_of(const OpCall *call, int input, int weight, Conv *c, Err *err)
{
    const Tensor *x = call->in[input], *w = call->in[weight];
    *c = (Conv){ .w.dims = x->rank - 2, .group = op_attr_int(call, "group", 1) };
    if (x->rank < 3) return op_wrong_input(call, input, "[N, C, ...]", err);
    if (w->rank != x->rank) return op_wrong_input(call, weight, "as many dims as the input has", err);
    c->images = x->dim[0];
    if (c->group < 1 || w->dim[1] > INT32_MAX || c->group > INT32_MAX ||
        x->dim[1] != w->dim[1] * c->group || w->dim[0] % c->group)
        return op_wrong_input(call, weight, "channels that fit the input and the groups", err);
    c->C = w->dim[1];
    c->M = w->dim[0] / c->group;
    for (int i = 0; i < c->w.dims; i++) {
        c->w.in[i] = x->dim[i + 2];
        c->w.kernel[i] = w->dim[i + 2];
    }
    if (!window_read(call, false, &c->w, err)) return false;
    c->K = c->C * c->w.size; /* at most the weight's own size */
    return true;
}

bool conv_output(OpCall *call, const Conv *c, DType type)
{
    int64_t dim[MAX_RANK] = { c->images, c->M * c->group };
    memcpy(dim + 2, c->w.out, sizeof c->w.out);
    return op_out(call, 0, type, c->w.dims + 2, dim);
}

bool conv_floats(const OpCall *call, int64_t channels, Err *err)
{
    const Tensor *x = call->in[0], *w = call->in[1], *b = op_in(call, 2);
    if (x->type != T_F32 && x->type != T_F16 && x->type != T_BF16)
        return op_wrong_input(call, 0, "float, float16 or bfloat16 [N, C, ...]", err);
    if (w->type != x->type) return op_wrong_input(call, 1, "the type of input 0", err);
    if (b && (b->rank != 1 || b->dim[0] != channels || b->type != x->type))
        return op_wrong_input(call, 2, "a number for each output channel", err);
    return true;
}

static bool conv_shape(OpCall *call, Err *err)
{
    Conv c;
    return conv_of(call, 0, 1, &c, err) && conv_floats(call, c.M * c.group, err) &&
           conv_output(call, &c, call->in[0]->type);
}

/* ---- run ---- */

enum { CONV_BLOCK = 512 << 10 };         /* bytes of windows that are multiplied at once */

typedef struct ConvBlocks {
    const OpCall *call;
    const Conv *c;
    const float *x, *w;                /* [images, group, C, in...], [group, M, K] */
    float *y, *panels;                 /* [images, group, M, P]; [workers][size][K][16] */
    int64_t size, each;                /* panels of a block; blocks of a group */
} ConvBlocks;

static void fill_panel(const Conv *c, const float *image, int64_t first, float *out)
{
    const SlidingWindow *w = &c->w;
    const int64_t lanes = MIN(w->positions - first, PANEL), volume = window_volume(w);
    int64_t at[PANEL][SPACE], k[SPACE] = { 0 };
    for (int64_t l = 0; l < lanes; l++)
        for (int64_t i = w->dims - 1, rest = first + l; i >= 0; rest /= w->out[i--])
            at[l][i] = rest % w->out[i];
    for (int64_t i = 0; i < w->size; i++, window_next(k, w->kernel, w->dims))
        for (int64_t l = 0; l < PANEL; l++) {
            const int64_t from = l < lanes ? window_source(w, at[l], k) : -1;
            for (int64_t ch = 0; ch < c->C; ch++)
                out[(ch * w->size + i) * PANEL + l] = from < 0 ? 0 : image[ch * volume + from];
        }
}

/* A block of positions of one group of one picture. */
static void conv_positions(void *context, int index, int worker)
{
    const ConvBlocks *b = context;
    const Conv *c = b->c;
    const int64_t P = c->w.positions, group = index / b->each, first = index % b->each * b->size * PANEL;
    const int64_t n = MIN(b->size * PANEL, P - first), panels = (n + PANEL - 1) / PANEL;
    float *windows = b->panels + worker * b->size * PANEL * c->K;
    const Linear l = { .x = b->w + group % c->group * c->M * c->K, .ldx = c->K, .w = windows, .ldy = P,
                       .y = b->y + group * c->M * P + first, .M = c->M, .N = n, .K = c->K };
    for (int64_t i = 0; i < panels; i++)
        fill_panel(c, b->x + group * c->C * window_volume(&c->w), first + i * PANEL, windows + i * PANEL * c->K);
    b->call->k->gemm_f32->run(&l, 0, c->M, 0, panels);
}

void conv_add_bias(float *y, const float *bias, int64_t channels, int64_t positions)
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
    const int64_t channels = c->group * c->M, P = c->w.positions, all = (P + PANEL - 1) / PANEL;
    if (!w || (b && !bias)) return false;
    if (!c->images || !channels || !P) return true;
    if (!c->K) memset(y, 0, sizeof *y * (size_t)(c->images * channels * P));
    const int workers = op_workers(call, c->images * channels * P * c->K);
    ConvBlocks blocks = { .call = call, .c = c, .x = x, .w = w, .y = y };
    blocks.size = MIN(all, MAX(CONV_BLOCK / (MAX(c->K, 1) * PANEL * (int64_t)sizeof(float)), 4));
    blocks.each = (all + blocks.size - 1) / blocks.size;
    blocks.panels = op_scratch(call, workers * blocks.size, (size_t)MAX(c->K, 1) * PANEL * sizeof(float), err);
    if (!blocks.panels) return false;
    if (c->images * c->group > INT32_MAX / blocks.each) return op_fail(call, err, "too many groups");
    if (c->K)
        pool_for(workers == 1 ? NULL : call->pool, (int)(c->images * c->group * blocks.each), conv_positions,
                 &blocks);
    for (int64_t i = 0; bias && i < c->images; i++) conv_add_bias(y + i * channels * P, bias, channels, P);
    return true;
}

/* The result, in the output itself or, for the narrow types, on its way there. */
static bool conv_result(OpCall *call, Tensor *y, Err *err)
{
    Conv c;
    if (!conv_of(call, 0, 1, &c, err)) return false;
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

/* SPDX-License-Identifier: Apache-2.0
 * fuse_conv.c - a BatchNormalization behind a convolution with constant filters goes into them: its scale into
 * every filter, the rest into the bias. So does a product or a sum with constants by channel. */
#include <math.h>

#include "graph.h"

enum { BN_X, BN_SCALE, BN_SHIFT, BN_MEAN, BN_VAR };

static bool is_f32_constant(const Graph *g, int v)
{
    return v >= 0 && g->value[v].constant && g->value[v].t.type == T_F32 && g->value[v].t.data;
}

typedef struct ChannelFactors { /* x * scale + shift, by channel */
    float *scale, *shift;
} ChannelFactors;

/* What an inference BatchNormalization multiplies with and adds, for each of C channels. */
static bool norm_factors(const Graph *g, const GraphNode *n, int64_t C, Arena *arena, ChannelFactors *f)
{
    if (!graph_is(n, "BatchNormalization") || n->n_out > 1 || onnx_int(n->node, "training_mode", 0)) return false;
    for (int k = BN_SCALE; k <= BN_VAR; k++)
        if (!is_f32_constant(g, n->in[k]) || tensor_count(&g->value[n->in[k]].t) != C) return false;
    const double eps = onnx_float(n->node, "epsilon", 1e-5f);
    const Tensor *t[BN_VAR + 1];
    for (int k = BN_SCALE; k <= BN_VAR; k++) t[k] = &g->value[n->in[k]].t;
    *f = (ChannelFactors){ ARRAY(arena, float, C), ARRAY(arena, float, C) };
    for (int64_t c = 0; c < C; c++) {
        const double by = tensor_get(t[BN_SCALE], c) / sqrt(tensor_get(t[BN_VAR], c) + eps);
        f->scale[c] = (float)by;
        f->shift[c] = (float)(tensor_get(t[BN_SHIFT], c) - tensor_get(t[BN_MEAN], c) * by);
    }
    return true;
}

static int conv_constant(Graph *g, const char *what, const Tensor *t)
{
    return graph_add_constant(g, str_format(g->arena, "#%s%d", what, g->n_value), t);
}

/* Filters times their channel's scale; -1: no room. */
static int scaled_filters(Graph *g, int w, const float *scale)
{
    Tensor t = g->value[w].t;
    const int64_t M = t.dim[0], each = tensor_count(&t) / M;
    const float *from = t.data;
    float *to = graph_room(g, tensor_bytes(&t));
    if (!to) return -1;
    for (int64_t i = 0; i < M * each; i++) to[i] = from[i] * scale[i / each];
    t.data = to;
    return conv_constant(g, "filters", &t);
}

static int scaled_bias(Graph *g, int b, const ChannelFactors *f, int64_t M)
{
    Tensor t = { .type = T_F32, .rank = 1, .dim = { M } };
    const float *from = b >= 0 ? g->value[b].t.data : NULL;
    float *to = arena_raw(g->arena, tensor_bytes(&t));
    for (int64_t m = 0; m < M; m++) to[m] = (from ? from[m] * f->scale[m] : 0) + f->shift[m];
    t.data = to;
    return conv_constant(g, "bias", &t);
}

/* A convolution with constant filters, which nobody but node n reads. */
static bool folds_into(const Graph *g, const GraphNode *conv, const GraphNode *n, int v, const int *uses)
{
    const int b = conv ? graph_input(conv, 2) : -1;
    return graph_is(conv, "Conv") && uses[v] == 1 && conv->guard == n->guard && is_f32_constant(g, conv->in[1]) &&
           g->value[conv->in[1]].t.rank > 2 && g->value[conv->in[1]].t.dim[0] > 0 &&
           (b < 0 || (is_f32_constant(g, b) && tensor_count(&g->value[b].t) == g->value[conv->in[1]].t.dim[0]));
}

/* Node i, x * scale + shift of what a convolution gave, goes into it. */
static bool fold(Graph *g, int i, int v, const ChannelFactors *f)
{
    GraphNode *n = g->node[i], *conv = (GraphNode *)graph_producer(g, v);
    const int64_t M = g->value[conv->in[1]].t.dim[0];
    const int w = scaled_filters(g, conv->in[1], f->scale);
    if (w < 0) return false;
    const int in[] = { conv->in[0], w, scaled_bias(g, graph_input(conv, 2), f, M) };
    conv->in = memcpy(ARRAY(g->arena, int, COUNT(in)), in, sizeof in);
    conv->n_in = COUNT(in);
    conv->out[0] = n->out[0];
    g->value[n->out[0]].producer = g->value[v].producer;
    n->op = NULL;
    return true;
}

static bool fold_norm(Graph *g, int i, const int *uses, Arena *arena)
{
    const GraphNode *n = g->node[i], *conv = graph_producer(g, n->in[BN_X]);
    ChannelFactors f;
    return graph_is(n, "BatchNormalization") && folds_into(g, conv, n, n->in[BN_X], uses) &&
           norm_factors(g, n, g->value[conv->in[1]].t.dim[0], arena, &f) &&
           fold(g, i, n->in[BN_X], &f);
}

/* A constant that broadcasts to [N, C, ...] as a number for each channel, or one for all, is spread out. */
static bool channel_factors(const Graph *g, int v, int rank, int64_t C, Arena *arena, float **out)
{
    const Tensor *t = v >= 0 ? &g->value[v].t : NULL;
    if (!t || !is_f32_constant(g, v) || t->rank > rank) return false;
    const int64_t n = tensor_count(t);
    const int channel = t->rank - rank + 1; /* its axis */
    if (n != 1 && (n != C || channel < 0 || t->dim[channel] != C)) return false;
    *out = ARRAY(arena, float, C);
    for (int64_t c = 0; c < C; c++) (*out)[c] = ((const float *)t->data)[n == 1 ? 0 : c];
    return true;
}

/* What a product, a sum or a difference with constants by channel does: x * scale + shift. */
static bool plain_factors(const Graph *g, const GraphNode *n, int k, const Tensor *w, Arena *arena, ChannelFactors *f)
{
    const int64_t C = w->dim[0];
    const bool product = graph_is(n, "Mul"), sum = graph_is(n, "Add"), less = graph_is(n, "Sub") && k == 0;
    if (!product && !sum && !less) return false;
    if (!channel_factors(g, n->in[1 - k], w->rank, C, arena, product ? &f->scale : &f->shift)) return false;
    float *other = *(product ? &f->shift : &f->scale) = ARRAY(arena, float, C);
    for (int64_t c = 0; c < C; c++) {
        other[c] = product ? 0 : 1;
        if (less) f->shift[c] = -f->shift[c];
    }
    return true;
}

/* The same behind a convolution: batch norms that are frozen are written so. */
static bool fold_plain(Graph *g, int i, const int *uses, Arena *arena)
{
    const GraphNode *n = g->node[i];
    ChannelFactors f;
    for (int k = 0; k < 2; k++) {
        const GraphNode *conv = n->n_in == 2 ? graph_producer(g, n->in[k]) : NULL;
        if (!folds_into(g, conv, n, n->in[k], uses)) continue;
        const Tensor *w = &g->value[conv->in[1]].t;
        if (plain_factors(g, n, k, w, arena, &f)) return fold(g, i, n->in[k], &f);
    }
    return false;
}

bool pass_conv(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { .local = true };
    const int *uses = graph_uses(g, &scratch);
    for (int i = 0; i < g->n_node; i++)
        if (g->node[i]->op && g->node[i]->n_in > 1 && !fold_norm(g, i, uses, &scratch))
            fold_plain(g, i, uses, &scratch);
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

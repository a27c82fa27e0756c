/* SPDX-License-Identifier: Apache-2.0
 * fuse_conv.c - a BatchNormalization behind a convolution with constant filters goes into them: its scale into
 * every filter, the rest into the bias. */
#include <math.h>

#include "graph.h"

enum { BN_X, BN_SCALE, BN_SHIFT, BN_MEAN, BN_VAR };

static bool is_f32_constant(const Graph *g, int v)
{
    return v >= 0 && g->value[v].constant && g->value[v].t.type == T_F32 && g->value[v].t.data;
}

/* What an inference BatchNormalization multiplies with and adds, for each of C channels. */
static bool norm_factors(const Graph *g, const GraphNode *n, int64_t C, Arena *arena, float **scale,
                         float **shift)
{
    if (!graph_is(n, "BatchNormalization") || n->n_out > 1 || onnx_int(n->node, "training_mode", 0)) return false;
    for (int k = BN_SCALE; k <= BN_VAR; k++)
        if (!is_f32_constant(g, n->in[k]) || tensor_count(&g->value[n->in[k]].t) != C) return false;
    const double eps = onnx_float(n->node, "epsilon", 1e-5f);
    const Tensor *t[BN_VAR + 1];
    for (int k = BN_SCALE; k <= BN_VAR; k++) t[k] = &g->value[n->in[k]].t;
    *scale = ARRAY(arena, float, C);
    *shift = ARRAY(arena, float, C);
    for (int64_t c = 0; c < C; c++) {
        const double by = tensor_get(t[BN_SCALE], c) / sqrt(tensor_get(t[BN_VAR], c) + eps);
        (*scale)[c] = (float)by;
        (*shift)[c] = (float)(tensor_get(t[BN_SHIFT], c) - tensor_get(t[BN_MEAN], c) * by);
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

static int scaled_bias(Graph *g, int b, const float *scale, const float *shift, int64_t M)
{
    Tensor t = { .type = T_F32, .rank = 1, .dim = { M } };
    const float *from = b >= 0 ? g->value[b].t.data : NULL;
    float *to = arena_raw(g->arena, tensor_bytes(&t));
    for (int64_t m = 0; m < M; m++) to[m] = (from ? from[m] * scale[m] : 0) + shift[m];
    t.data = to;
    return conv_constant(g, "bias", &t);
}

static bool fold_into_conv(Graph *g, int i, const int *uses, Arena *arena)
{
    GraphNode *norm = g->node[i];
    GraphNode *conv = (GraphNode *)graph_producer(g, norm->in[BN_X]);
    float *scale, *shift;
    if (!graph_is(conv, "Conv") || uses[norm->in[BN_X]] != 1 || conv->guard != norm->guard ||
        !is_f32_constant(g, conv->in[1]) || (graph_input(conv, 2) >= 0 && !is_f32_constant(g, conv->in[2])))
        return false;
    const int64_t M = g->value[conv->in[1]].t.dim[0];
    if (M < 1 || !norm_factors(g, norm, M, arena, &scale, &shift)) return false;
    const int w = scaled_filters(g, conv->in[1], scale);
    if (w < 0) return false;
    const int in[] = { conv->in[0], w, scaled_bias(g, graph_input(conv, 2), scale, shift, M) };
    conv->in = memcpy(ARRAY(g->arena, int, COUNT(in)), in, sizeof in);
    conv->n_in = COUNT(in);
    conv->out[0] = norm->out[0];
    g->value[norm->out[0]].producer = g->value[norm->in[BN_X]].producer;
    norm->op = NULL;
    return true;
}

bool pass_conv(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { 0 };
    const int *uses = graph_uses(g, &scratch);
    for (int i = 0; i < g->n_node; i++)
        if (graph_is(g->node[i], "BatchNormalization")) fold_into_conv(g, i, uses, &scratch);
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

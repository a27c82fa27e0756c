/* SPDX-License-Identifier: Apache-2.0
 * fuse_qkv.c - the three products that make queries, keys and values from one value become one Linear
 * with three times the columns: the value is read once, and workers meet once. Whole panels of columns
 * only, so that the weights can be packed one behind the other (pack.c). */
#include "graph.h"

static GraphNode *plain_linear(const Graph *g, int v, const int *uses)
{
    GraphNode *n = (GraphNode *)graph_producer(g, v);
    bool plain = graph_is(n, "Linear") && uses[v] == 1 && n->n_in == 4 && n->in[3] < 0 &&
                 !onnx_attr(n->node, "act") && onnx_int(n->node, "N", 0) % PANEL == 0;
    return plain ? n : NULL;
}

/* Biases one behind the other; -1: none has one. */
static int joined_bias(Graph *g, GraphNode *const part[3], int64_t N)
{
    bool any = false;
    Tensor t = { .type = T_F32, .rank = 1, .dim = { 3 * N } };
    t.data = memset(arena_raw(g->arena, tensor_bytes(&t)), 0, tensor_bytes(&t));
    for (int k = 0; k < 3; k++) {
        if (part[k]->in[2] < 0) continue;
        any = true;
        memcpy((float *)t.data + k * N, g->value[part[k]->in[2]].t.data, sizeof(float) * (size_t)N);
    }
    if (!any) return -1;
    return graph_add_constant(
        g, str_format(g->arena, "%.*s#qkv%d", STR_ARG(part[0]->node->name), g->n_value), &t);
}

static void join(Graph *g, int i, const int *uses)
{
    GraphNode *attention = g->node[i], *part[3];
    if (!graph_attends(attention) || onnx_attr(attention->node, "size")) return;
    for (int k = 0; k < 3; k++) {
        part[k] = plain_linear(g, attention->in[k], uses);
        if (!part[k] || part[k]->guard) return;
    }
    int64_t N = onnx_int(part[0]->node, "N", 0), turned = onnx_int(part[0]->node, "turned", 0);
    for (int k = 1; k < 3; k++)
        if (part[k] == part[0] || part[k]->in[0] != part[0]->in[0] ||
            onnx_int(part[k]->node, "N", 0) != N ||
            onnx_int(part[k]->node, "turned", 0) != turned)
            return;
    int at = MIN(g->value[attention->in[0]].producer,
                 MIN(g->value[attention->in[1]].producer, g->value[attention->in[2]].producer));
    int in[] = { part[0]->in[0], part[0]->in[1], joined_bias(g, part, N), -1, part[1]->in[1],
                 part[2]->in[1] };
    int64_t K = onnx_int(part[0]->node, "K", 0), H = onnx_int(attention->node, "heads", 1);
    int out = graph_add_value(g, str_of(str_format(g->arena, "%.*s#qkv",
                                                   STR_ARG(part[0]->node->name))));
    for (int k = 0; k < 3; k++) part[k]->op = NULL;
    GraphNode *made = graph_replace(g, at, "Linear", in, COUNT(in), out);
    node_set_int(g, made, "N", 3 * N);
    node_set_int(g, made, "K", K);
    if (turned) node_set_int(g, made, "turned", 1);
    for (int k = 0; k < 3; k++) attention->in[k] = out;
    node_set_int(g, attention, "size", N / H);
    node_set_int(g, attention, "k_at", N);
    node_set_int(g, attention, "v_at", 2 * N);
}

bool pass_qkv(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { 0 };
    const int *uses = graph_uses(g, &scratch);
    for (int i = 0; i < g->n_node; i++) join(g, i, uses);
    arena_free(&scratch);
    return true;
}

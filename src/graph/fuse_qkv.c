/* SPDX-License-Identifier: Apache-2.0
 * fuse_qkv.c - the three products that make queries, keys and values from one value become one Linear
 * with three times the columns: the value is read (and, for int8, quantized) once, and workers meet
 * once. Whole panels of columns only, so that the weights can be packed one behind the other (pack.c);
 * a LinearQ of a foreign graph has its panels already, which are copied so. */
#include "graph.h"

static GraphNode *plain_linear(const Graph *g, int v, const int *uses)
{
    GraphNode *n = (GraphNode *)graph_producer(g, v);
    bool plain = ((graph_is(n, "Linear") && n->n_in == 4) || graph_is(n, "LinearQ")) &&
                 uses[v] == 1 && n->in[3] < 0 && !onnx_attr(n->node, "act") &&
                 onnx_int(n->node, "N", 0) % PANEL == 0;
    return plain ? n : NULL;
}

/* Input `k` of the three, one behind the other along their first axis; where only some have it, it is
 * 0 for the others, and -1 where none has. false: there is no room. */
static bool joined(Graph *g, GraphNode *const part[3], int k, int *out)
{
    const Tensor *one = NULL;
    for (int i = 0; i < 3; i++)
        if (part[i]->in[k] >= 0) one = &g->value[part[i]->in[k]].t;
    *out = -1;
    if (!one) return true;
    Tensor t = *one;
    size_t bytes = tensor_bytes(one);
    t.dim[0] *= 3;
    t.data = graph_room(g, 3 * bytes);
    if (!t.data) return false;
    memset(t.data, 0, 3 * bytes);
    for (int i = 0; i < 3; i++)
        if (part[i]->in[k] >= 0)
            memcpy((char *)t.data + (size_t)i * bytes, g->value[part[i]->in[k]].t.data, bytes);
    *out = graph_add_constant(
        g, str_format(g->arena, "%.*s#qkv%d", STR_ARG(part[0]->node->name), g->n_value), &t);
    return true;
}

/* The inputs of the product that takes the place of three; 0: there is no room for them. */
static int join_inputs(Graph *g, GraphNode *const part[3], int in[8])
{
    in[0] = part[0]->in[0], in[3] = -1;
    if (!joined(g, part, 2, &in[2])) return 0;
    if (graph_is(part[0], "Linear")) {
        in[1] = part[0]->in[1], in[4] = part[1]->in[1], in[5] = part[2]->in[1];
        return 6;
    }
    static const int more[] = { 1, 4, 5, 6, 7 };
    for (size_t k = 0; k < COUNT(more); k++)
        if (!joined(g, part, more[k], &in[more[k]])) return 0;
    return 8;
}

static void fuse_qkv_join(Graph *g, int i, const int *uses)
{
    GraphNode *attention = g->node[i], *part[3];
    if (!graph_attends(attention) || onnx_attr(attention->node, "size")) return;
    for (int k = 0; k < 3; k++) {
        part[k] = plain_linear(g, attention->in[k], uses);
        if (!part[k] || part[k]->guard) return;
    }
    int64_t N = onnx_int(part[0]->node, "N", 0), turned = onnx_int(part[0]->node, "turned", 0);
    for (int k = 1; k < 3; k++)
        if (part[k] == part[0] || part[k]->op != part[0]->op || part[k]->in[0] != part[0]->in[0] ||
            onnx_int(part[k]->node, "N", 0) != N ||
            onnx_int(part[k]->node, "turned", 0) != turned)
            return;
    int at = MIN(g->value[attention->in[0]].producer,
                 MIN(g->value[attention->in[1]].producer, g->value[attention->in[2]].producer));
    int in[8], n_in = join_inputs(g, part, in);
    if (!n_in) return;
    int64_t K = onnx_int(part[0]->node, "K", 0), H = onnx_int(attention->node, "heads", 1);
    const char *op = part[0]->op->name;
    int out = graph_add_value(g, str_of(str_format(g->arena, "%.*s#qkv",
                                                   STR_ARG(part[0]->node->name))));
    for (int k = 0; k < 3; k++) part[k]->op = NULL;
    GraphNode *made = graph_replace(g, at, op, in, n_in, out);
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
    Arena scratch = { .local = true };
    const int *uses = graph_uses(g, &scratch);
    for (int i = 0; i < g->n_node; i++) fuse_qkv_join(g, i, uses);
    arena_free(&scratch);
    return true;
}

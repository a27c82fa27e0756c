/* SPDX-License-Identifier: Apache-2.0
 * widen.c - a graph whose numbers are all of float16 (as converters write it) becomes one of float32: its
 * constants are converted, and what casts to float16 casts to float32 or goes away. There are no kernels for
 * float16, and what ONNX Runtime computes on a CPU for it is float32 between casts, too; so nothing is lost,
 * and the passes behind this one find what they know. Outputs that the file declares as float16 stay so.
 *
 * A graph with inputs or attributes of float16 is left as it is. */
#include "graph.h"

static bool widen_is_half(const Graph *g, int v)
{
    return g->value[v].constant && g->value[v].t.type == T_F16;
}

/* Something that would have to change, and that this pass does not know. */
static bool widen_is_strange(const Graph *g)
{
    for (int i = 0; i < g->n_input; i++)
        if (g->value[g->input[i]].t.type == T_F16) return true;
    for (int i = 0; i < g->n_node; i++) {
        const OnnxNode *n = g->node[i]->node;
        const bool cast = graph_is(g->node[i], "Cast");
        if (g->node[i]->body) return true;
        for (int k = 0; k < n->n_attr; k++) {
            const OnnxAttr *a = &n->attr[k];
            if (a->type == A_GRAPH || a->type == A_GRAPHS || a->type == A_TENSORS) return true;
            if (a->type == A_TENSOR && a->t->t.type == T_F16) return true;
            if (a->type == A_INT && a->i == T_F16 && str_is(a->name, cast ? "" : "dtype")) return true;
        }
    }
    return false;
}

/* Twice what the file has of them. */
static void widen_constant(Graph *g, int v)
{
    Tensor *t = &g->value[v].t, wide = *t;
    wide.type = T_F32;
    wide.data = arena_raw(g->arena, tensor_bytes(&wide) + 1);
    tensor_convert(t, 0, &wide, 0, tensor_count(t));
    g->room += 2 * tensor_bytes(t); /* as if the file had held them so */
    *t = wide;
}

/* Readers of a value read another. */
static void widen_redirect(Graph *g, int from, int to)
{
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i]->n_in; k++)
            if (g->node[i]->in[k] == from) {
                GraphNode *n = g->node[i];
                n->in = memcpy(ARRAY(g->arena, int, n->n_in), n->in, sizeof *n->in * (size_t)n->n_in);
                n->in[k] = to;
            }
}

/* The type a value has when all float16 is float32; T_NONE: not known. */
static DType widen_type(const Symbols *s, int v)
{
    DType type = v >= 0 && s->t ? s->t[v].type : T_NONE;
    return type == T_F16 ? T_F32 : type;
}

/* Other graphs may be of the same model: the node is copied. */
static void widen_to(Graph *g, GraphNode *n)
{
    OnnxNode *node = NEW(g->arena, OnnxNode);
    *node = *n->node;
    const size_t bytes = sizeof *node->attr * (size_t)node->n_attr;
    node->attr = memcpy(arena_raw(g->arena, bytes), node->attr, bytes);
    for (int k = 0; k < node->n_attr; k++)
        if (str_is(node->attr[k].name, "to")) node->attr[k].i = T_F32;
    n->node = node;
}

static void widen_cast(Graph *g, const Symbols *s, GraphNode *n)
{
    const int64_t to = onnx_int(n->node, "to", 0);
    if (to != T_F16 && to != T_F32) return;
    widen_to(g, n);
    if (widen_type(s, n->in[0]) == T_F32) widen_redirect(g, n->out[0], n->in[0]);
}

/* What the file declares as float16 is made of the wide value at the end. */
static void widen_output(Graph *g, int output)
{
    const int v = g->output[output];
    const OnnxGraph *said = &g->model->graph;
    for (int k = 0; k < said->n_out; k++)
        if (str_eq(said->out[k].name, g->value[v].name) && said->out[k].type == T_F16 && g->value[v].producer >= 0) {
            GraphNode *maker = g->node[g->value[v].producer];
            GraphNode *cast = graph_node(g, "Cast", "#narrow", (int[]){ v }, 1);
            const int wide = cast->out[0];
            node_set_int(g, cast, "to", T_F16);
            widen_redirect(g, v, wide);
            const size_t bytes = sizeof *maker->out * (size_t)maker->n_out;
            maker->out = memcpy(arena_raw(g->arena, bytes), maker->out, bytes);
            for (int o = 0; o < maker->n_out; o++)
                if (maker->out[o] == v) maker->out[o] = wide;
            g->value[wide].producer = g->value[v].producer;
            cast->in[0] = wide, cast->out[0] = v;
            graph_insert(g, g->n_node, cast);
        }
}

bool pass_widen(Graph *g, Err *err)
{
    Arena scratch = { .local = true };
    Symbols s = { 0 };
    Err ignored;
    bool any = false;
    (void)err;
    for (int v = 0; v < g->n_value; v++) any |= widen_is_half(g, v);
    if (!any || widen_is_strange(g)) return true;
    if (!graph_symbols(g, &scratch, &s, &ignored)) s.t = NULL;
    const int nodes = g->n_node;
    for (int v = 0; v < g->n_value; v++)
        if (widen_is_half(g, v)) widen_constant(g, v);
    for (int i = 0; i < nodes; i++)
        if (graph_is(g->node[i], "Cast")) widen_cast(g, &s, g->node[i]);
    for (int k = 0; k < g->n_output; k++) widen_output(g, k);
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * turn.c - heads that are turned too early. Most exporters cut a value into heads [B, S, H, D] and turn them into
 * [B, H, S, D] as the last step before the product. Where something works inside a head behind that step (Gemma's norm
 * of each head; DeBERTa's first version, which cuts queries, keys and values out of each head and adds biases), the
 * Transpose is moved behind it: token by token nothing needs padding, and attention is found (heads.c).
 *
 * One sweep: a value that such a Transpose makes has a twin, what it was made of, and an operator whose inputs have
 * twins works on those; what it made before is a Transpose of that, and dead where nobody reads it. */
#include "graph.h"

typedef struct Turning {
    Graph *g;
    Symbols s;
    int n;     /* values there were */
    int *twin; /* [n]; -1: none */
} Turning;

static const int64_t turn_heads[4] = { 0, 2, 1, 3 };

static bool turn_is_transpose(const Turning *t, const GraphNode *n)
{
    size_t rank;
    const int64_t *perm = graph_is(n, "Transpose") ? onnx_ints(n->node, "perm", &rank) : NULL;
    const Tensor *x = perm && n->in[0] < t->n ? &t->s.t[n->in[0]] : NULL;
    return x && rank == 4 && memcmp(perm, turn_heads, sizeof turn_heads) == 0 && x->type == T_F32 && graph_leads(x);
}

static bool turn_last_axis(const Graph *g, const GraphNode *n, int input)
{
    size_t count;
    double axis;
    const int64_t *list = onnx_ints(n->node, "axes", &count);
    if (list) return count == 1 && (list[0] == -1 || list[0] == 3);
    if (input < n->n_in && n->in[input] >= 0)
        return graph_scalar(g, n->in[input], &axis) && (axis == -1 || axis == 3);
    const OnnxAttr *one = onnx_attr(n->node, "axis");
    return one && (one->i == -1 || one->i == 3);
}

/* One of three equal parts of a head, not one of the two halves that a rotation swaps. */
static bool turn_cuts_thirds(const Turning *t, const GraphNode *n)
{
    if (!graph_is(n, "Split") && !graph_is(n, "Slice")) return false;
    const Tensor *whole = &t->s.t[n->in[0]];
    if (whole->rank != 4 || !turn_last_axis(t->g, n, graph_is(n, "Slice") ? 3 : INT16_MAX)) return false;
    for (int k = 1; k < n->n_in; k++)
        if (n->in[k] >= 0 && !t->g->value[n->in[k]].constant) return false;
    for (int k = 0; k < n->n_out; k++) {
        const Tensor *part = n->out[k] >= 0 ? &t->s.t[n->out[k]] : NULL;
        if (!part || part->rank != 4 || part->dim[3] <= 0 || part->dim[3] * 3 != whole->dim[3]) return false;
    }
    return true;
}

static bool turn_norms(const Turning *t, const GraphNode *n)
{
    if (graph_is(n, "ReduceMean")) return onnx_int(n->node, "keepdims", 1) == 1 && turn_last_axis(t->g, n, 1);
    const bool norm = graph_is(n, "RMSNormalization") || graph_is(n, "SimplifiedLayerNormalization") ||
                      graph_is(n, "LayerNormalization");
    return norm && n->n_out == 1 && onnx_int(n->node, "axis", -1) == -1;
}

static bool turn_each(const GraphNode *n)
{
    static const char *const each[] = { "Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Reciprocal" };
    for (size_t i = 0; i < COUNT(each); i++)
        if (graph_is(n, each[i])) return true;
    return false;
}

/* Something in the graph works inside the heads that this Transpose turns. */
static bool turn_is_early(const Turning *t, const GraphNode *transpose)
{
    const int v = transpose->out[0];
    for (int i = 0; i < t->g->n_node; i++) {
        const GraphNode *n = t->g->node[i];
        if (!n->op || n->n_in < 1 || n->in[0] != v) continue;
        if (turn_norms(t, n) || turn_cuts_thirds(t, n) || graph_is(n, "Pow")) return true;
    }
    return false;
}

/* A constant beside [B, H, S, D] as it stands beside [B, S, H, D]; -1: it has a number for each token. */
static int turn_constant(Turning *t, int v)
{
    const Tensor *c = &t->g->value[v].t;
    Tensor turned = *c;
    if (!t->g->value[v].constant || c->rank > 4) return -1;
    if (c->rank < 2) return v;
    if (c->dim[c->rank - 2] != 1) return -1;
    if (c->rank == 2) return v;
    turned.rank = 4;
    for (int i = 0; i < 4; i++) turned.dim[i] = 1;
    if (c->rank == 4) turned.dim[0] = c->dim[0];
    turned.dim[2] = c->dim[c->rank - 3], turned.dim[3] = c->dim[c->rank - 1];
    return graph_add_constant(t->g, str_format(t->g->arena, "#turned%d", t->g->n_value), &turned);
}

/* The inputs as twins; false: something has none, or nothing has one. */
static bool turn_inputs(Turning *t, const GraphNode *n, int *in)
{
    bool each = turn_each(n), any = false;
    if (!each && !turn_norms(t, n) && !turn_cuts_thirds(t, n)) return false;
    for (int k = 0; k < n->n_in; k++) {
        const int twin = n->in[k] >= 0 && n->in[k] < t->n ? t->twin[n->in[k]] : -1;
        any |= twin >= 0;
        if (twin < 0 && (k == 0 || each) && (n->in[k] < 0 || !t->g->value[n->in[k]].constant)) return false;
        in[k] = twin >= 0 ? twin : n->in[k];
    }
    if (!any) return false;
    for (int k = 0; k < n->n_in; k++) /* the scale of a norm may have a number for each head */
        if (in[k] >= 0 && in[k] == n->in[k] && (in[k] = turn_constant(t, in[k])) < 0) return false;
    return true;
}

/* Node *i on the twins, and Transposes of what it makes. */
static void turn_node(Turning *t, int *i, int *in)
{
    Graph *g = t->g;
    GraphNode *n = g->node[*i], *made = NEW(g->arena, GraphNode);
    const int n_out = n->n_out;
    *made = *n;
    made->in = memcpy(ARRAY(g->arena, int, n->n_in), in, sizeof *in * (size_t)n->n_in);
    made->out = ARRAY(g->arena, int, n_out);
    for (int k = 0; k < n_out; k++) {
        const char *name = str_format(g->arena, "%.*s#turned%d", STR_ARG(n->node->name), g->n_value);
        made->out[k] = graph_add_value(g, str_of(name));
        t->twin[n->out[k]] = made->out[k];
    }
    g->node[*i] = made;
    for (int k = 0; k < n_out; k++) {
        GraphNode *back = graph_node(g, "Transpose", str_format(g->arena, "#turn%d", g->n_value), &made->out[k], 1);
        node_set_ints(g, back, "perm", turn_heads, 4);
        back->out[0] = n->out[k], back->guard = n->guard;
        graph_insert(g, ++*i, back);
    }
}

bool pass_turn(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { .local = true };
    Err ignored;
    Turning t = { .g = g, .n = g->n_value };
    bool known = graph_symbols(g, &scratch, &t.s, &ignored) && t.s.known;
    t.twin = ARRAY(&scratch, int, t.n);
    for (int v = 0; v < t.n; v++) t.twin[v] = -1;
    for (int i = 0; known && i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        if (!n->op || n->guard || n->n_in < 1 || n->in[0] < 0 || n->out[0] < 0) continue;
        int *in = ARRAY(&scratch, int, n->n_in);
        if (turn_is_transpose(&t, n) && turn_is_early(&t, n)) t.twin[n->out[0]] = n->in[0];
        else if (turn_inputs(&t, n, in)) turn_node(&t, &i, in);
    }
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * fuse_linear.c - a product with a constant becomes one Linear: bias, activation and residual go into
 * its epilogue. The weight stays as it is until pack.c puts it into panels: until then the node's
 * attribute `turned` says that it is [N, K]. */
#include "graph.h"

typedef struct Packing {
    Graph *g;
    int *row; /* what was made of a bias; 0: nothing */
    Symbols s; /* of the values there were */
    int values; /* so many */
} Packing;

/* A bias as a row filled up to whole panels; -1 stays -1. */
static int padded_row(Packing *p, int b, int64_t N)
{
    Graph *g = p->g;
    if (b < 0) return -1;
    if (p->row[b]) return p->row[b];
    Tensor t = { .type = T_F32, .rank = 1, .dim = { ROUND_UP(N, PANEL) } };
    t.data = memset(arena_raw(g->arena, tensor_bytes(&t)), 0, tensor_bytes(&t));
    memcpy(t.data, g->value[b].t.data, sizeof(float) * (size_t)N);
    const char *name = str_format(g->arena, "%.*s#row", STR_ARG(g->value[b].name));
    return p->row[b] = graph_add_constant(g, name, &t);
}

static bool is_weight(const Graph *g, int v)
{
    return v >= 0 && g->value[v].constant && g->value[v].t.rank == 2 &&
           g->value[v].t.type == T_F32 && tensor_count(&g->value[v].t) > 0;
}

/* A constant of N numbers in the last axis and nothing else. */
static bool is_bias(const Graph *g, int v, int64_t N)
{
    if (v < 0 || !g->value[v].constant || g->value[v].t.type != T_F32) return false;
    const Tensor *t = &g->value[v].t;
    return t->rank >= 1 && t->dim[t->rank - 1] == N && tensor_count(t) == N;
}

static void make_linear(Packing *p, int i, int x, int w, bool transposed, int bias, int out)
{
    Graph *g = p->g;
    const Tensor *t = &g->value[w].t;
    int64_t K = t->dim[transposed ? 1 : 0], N = t->dim[transposed ? 0 : 1];
    int in[] = { x, w, padded_row(p, bias, N), -1 };
    GraphNode *made = graph_replace(g, i, "Linear", in, 4, out);
    node_set_int(g, made, "N", N);
    node_set_int(g, made, "K", K);
    if (transposed) node_set_int(g, made, "turned", 1);
}

/* A bias with more axes than the product would give the sum more. */
static bool raises_rank(const Packing *p, int product, int bias)
{
    int rank = p->s.known && product < p->values ? p->s.t[product].rank : 1;
    return p->g->value[bias].t.rank > rank;
}

static void fuse_biased(Packing *p, int i, const int *uses)
{
    Graph *g = p->g;
    const GraphNode *add = g->node[i];
    if (!graph_is(add, "Add")) return;
    for (int k = 0; k < 2; k++) {
        const GraphNode *mm = graph_producer(g, add->in[k]);
        if (!graph_is(mm, "MatMul") || !is_weight(g, mm->in[1]) || uses[mm->out[0]] != 1) continue;
        if (!is_bias(g, add->in[1 - k], g->value[mm->in[1]].t.dim[1]) ||
            raises_rank(p, mm->out[0], add->in[1 - k]))
            continue;
        make_linear(p, i, mm->in[0], mm->in[1], false, add->in[1 - k], add->out[0]);
        return;
    }
}

static void fuse_plain(Packing *p, int i)
{
    Graph *g = p->g;
    const GraphNode *n = g->node[i];
    if (graph_is(n, "MatMul") && is_weight(g, n->in[1]))
        make_linear(p, i, n->in[0], n->in[1], false, -1, n->out[0]);
    if (!graph_is(n, "Gemm") || !is_weight(g, n->in[1]) || onnx_int(n->node, "transA", 0)) return;
    if (onnx_float(n->node, "alpha", 1) != 1 || onnx_float(n->node, "beta", 1) != 1) return;
    bool transposed = onnx_int(n->node, "transB", 0) != 0;
    int bias = n->n_in > 2 ? n->in[2] : -1;
    if (bias >= 0 && !is_bias(g, bias, g->value[n->in[1]].t.dim[transposed ? 0 : 1])) return;
    make_linear(p, i, n->in[0], n->in[1], transposed, bias, n->out[0]);
}

/* Moves the Linear to the place of node i, which it absorbs. */
static GraphNode *absorb(Graph *g, int i, GraphNode *linear)
{
    GraphNode *moved =
        graph_replace(g, i, linear->op->name, linear->in, linear->n_in, g->node[i]->out[0]);
    moved->node->attr = linear->node->attr;
    moved->node->n_attr = linear->node->n_attr;
    linear->op = NULL;
    return moved;
}

/* The columns of a weight (or a bias) times a number each. */
static int scaled_columns(Graph *g, int v, const float *by, int64_t N, bool turned)
{
    Tensor t = g->value[v].t;
    const float *from = t.data;
    const int64_t n = tensor_count(&t), row = t.dim[t.rank - 1];
    float *to = graph_room(g, tensor_bytes(&t));
    if (!to) return -1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t column = turned ? i / row : i % row;
        to[i] = from[i] * (column < N ? by[column] : 0);
    }
    t.data = to;
    return graph_add_constant(g, str_format(g->arena, "#scaled%d", g->n_value), &t);
}

/* A constant factor for every column behind a product (LayerScale of ConvNeXt, DINOv2, BEiT) goes into it. */
static void fuse_scale(Packing *p, int i, const int *uses)
{
    Graph *g = p->g;
    const GraphNode *mul = g->node[i];
    for (int k = 0; graph_is(mul, "Mul") && k < 2; k++) {
        const int v = mul->in[k], by = mul->in[1 - k];
        const GraphNode *n = graph_producer(g, v);
        if (!graph_is(n, "Linear") || uses[v] != 1 || n->n_in != 4 || n->in[3] >= 0 || onnx_attr(n->node, "act") ||
            g->value[n->in[1]].t.rank != 2 || !is_bias(g, by, onnx_int(n->node, "N", 0)) || raises_rank(p, v, by))
            continue;
        const int64_t N = onnx_int(n->node, "N", 0);
        const float *scale = g->value[by].t.data;
        const int w = scaled_columns(g, n->in[1], scale, N, onnx_int(n->node, "turned", 0));
        const int b = w >= 0 && n->in[2] >= 0 ? scaled_columns(g, n->in[2], scale, N, false) : -1;
        if (w < 0 || (n->in[2] >= 0 && b < 0)) return;
        GraphNode *moved = absorb(g, i, (GraphNode *)n);
        moved->in[1] = w, moved->in[2] = b;
        return;
    }
}

static Act act_of(const GraphNode *n)
{
    if (graph_is(n, "Activation")) return (Act)onnx_int(n->node, "act", ACT_NONE);
    if (graph_is(n, "Relu")) return ACT_RELU;
    if (graph_is(n, "Tanh")) return ACT_TANH;
    return ACT_NONE;
}

/* A Linear (f32 or quantized) that nobody else reads, whose epilogue is still free. */
static GraphNode *open_linear(Graph *g, int v, const int *uses)
{
    GraphNode *n = (GraphNode *)graph_producer(g, v);
    bool linear = graph_is(n, "Linear") || graph_is(n, "LinearQ") || graph_is(n, "ConvLast");
    return linear && uses[v] == 1 && n->n_in > 3 && n->in[3] < 0 ? n : NULL;
}

/* What has an activation behind it, but no residual. */
static bool takes_activation(const GraphNode *n)
{
    return graph_is(n, "DepthwiseLast") || graph_is(n, "NormLast");
}

static void fuse_activation(Graph *g, int i, const int *uses)
{
    Act act = act_of(g->node[i]);
    GraphNode *linear = act == ACT_NONE ? NULL : open_linear(g, g->node[i]->in[0], uses);
    GraphNode *maker = (GraphNode *)graph_producer(g, g->node[i]->in[0]);
    if (act != ACT_NONE && takes_activation(maker) && uses[g->node[i]->in[0]] == 1) linear = maker;
    if (linear && !onnx_attr(linear->node, "act"))
        node_set_int(g, absorb(g, i, linear), "act", act);
}

static bool equal_shapes(const Symbols *s, int a, int b)
{
    if (!s->known || s->t[a].rank < 0 || !tensor_same_shape(&s->t[a], &s->t[b]) ||
        s->t[a].type != T_F32)
        return false;
    for (int k = 0; k < s->t[a].rank; k++)
        if (s->t[a].dim[k] == DIM_UNKNOWN) return false;
    return true;
}

static void fuse_residual(Graph *g, int i, const int *uses, const Symbols *s)
{
    const GraphNode *add = g->node[i];
    if (!graph_is(add, "Add")) return;
    for (int k = 0; k < 2; k++) {
        int v = add->in[k], r = add->in[1 - k];
        GraphNode *linear = open_linear(g, v, uses);
        if (!linear || !equal_shapes(s, v, r)) continue;
        absorb(g, i, linear)->in[3] = r;
        return;
    }
}

/* An activation of the sum: of the blocks of a ResNet. */
static void fuse_late_activation(Graph *g, int i, const int *uses)
{
    Act act = act_of(g->node[i]);
    int v = act == ACT_NONE ? -1 : g->node[i]->in[0];
    GraphNode *n = (GraphNode *)graph_producer(g, v);
    if ((!graph_is(n, "Linear") && !graph_is(n, "LinearQ") && !graph_is(n, "ConvLast")) || uses[v] != 1 ||
        n->n_in < 4 || n->in[3] < 0 || onnx_attr(n->node, "act"))
        return;
    GraphNode *moved = absorb(g, i, n);
    node_set_int(g, moved, "act", act);
    node_set_int(g, moved, "late", 1);
}

bool pass_linear(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { .local = true };
    Err ignored; /* shapes that cannot be inferred leave the residual where it is */
    const int *uses = graph_uses(g, &scratch);
    Packing p = { .g = g, .row = ARRAY(&scratch, int, g->n_value), .values = g->n_value };
    if (!graph_symbols(g, &scratch, &p.s, &ignored)) p.s.known = false;
    for (int i = 0; i < g->n_node; i++) fuse_biased(&p, i, uses);
    graph_remove_dead(g);
    for (int i = 0; i < g->n_node; i++) fuse_plain(&p, i);
    uses = graph_uses(g, &scratch);
    for (int i = 0; i < g->n_node; i++) fuse_scale(&p, i, uses);
    uses = graph_uses(g, &scratch);
    for (int i = 0; i < g->n_node; i++) fuse_activation(g, i, uses);
    uses = graph_uses(g, &scratch);
    for (int i = 0; i < g->n_node; i++) fuse_residual(g, i, uses, &p.s);
    uses = graph_uses(g, &scratch);
    for (int i = 0; i < g->n_node; i++) fuse_late_activation(g, i, uses);
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

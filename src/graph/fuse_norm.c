/* SPDX-License-Identifier: Apache-2.0
 * fuse_norm.c - LayerNormalization, and the nine nodes that opsets before 17 spell it with, become one
 * LayerNorm over the last axis:  (x - mean) / sqrt(mean((x - mean)^2) + eps) * gamma + beta. */
#include "graph.h"

/* The other operand of a two-input node. */
static int other(const GraphNode *node, int value)
{
    return node->in[0] == value ? node->in[1] : node->in[0];
}

/* A number for every column: a single one is for all of them, which LayerNorm does not take. */
static bool is_row(const Graph *g, int v)
{
    return v >= 0 && g->value[v].constant && g->value[v].t.rank == 1 &&
           g->value[v].t.type == T_F32 && g->value[v].t.dim[0] > 1;
}

static bool over_last_axis(const Graph *g, const GraphNode *mean)
{
    size_t n;
    const int64_t *axes = onnx_ints(mean->node, "axes", &n);
    if (onnx_int(mean->node, "keepdims", 1) != 1) return false;
    if (axes) return n == 1 && axes[0] == -1;
    double axis;
    return mean->n_in == 2 && graph_scalar(g, mean->in[1], &axis) && axis == -1;
}

static const GraphNode *mean_of(const Graph *g, int v)
{
    const GraphNode *mean = graph_producer(g, v);
    return graph_is(mean, "ReduceMean") && over_last_axis(g, mean) ? mean : NULL;
}

static bool is_square_of(const Graph *g, int v, int of)
{
    const GraphNode *n = graph_producer(g, v);
    double two;
    if (graph_is(n, "Pow")) return n->in[0] == of && graph_scalar(g, n->in[1], &two) && two == 2;
    return graph_is(n, "Mul") && n->in[0] == of && n->in[1] == of;
}

/* centered / sqrt(mean(centered^2) + eps): sets x and eps. */
static bool match_normalized(const Graph *g, const GraphNode *div, int *x, double *eps)
{
    if (!graph_is(div, "Div")) return false;
    const GraphNode *sub = graph_producer(g, div->in[0]), *root = graph_producer(g, div->in[1]);
    if (!graph_is(sub, "Sub") || !graph_is(root, "Sqrt")) return false;
    const GraphNode *sum = graph_producer(g, root->in[0]);
    if (!graph_is(sum, "Add")) return false;
    int var = graph_scalar(g, sum->in[1], eps) ? sum->in[0] : sum->in[1];
    if (!graph_scalar(g, other(sum, var), eps)) return false;
    const GraphNode *variance = mean_of(g, var), *mean = mean_of(g, sub->in[1]);
    if (!variance || !mean || mean->in[0] != sub->in[0]) return false;
    *x = sub->in[0];
    return is_square_of(g, variance->in[0], div->in[0]);
}

static void make_norm(Graph *g, int i, int x, int gamma, int beta, double eps)
{
    int in[] = { x, gamma, beta }, out = g->node[i]->out[0];
    node_set_float(g, graph_replace(g, i, "LayerNorm", in, 3, out), "epsilon", (float)eps);
}

/* normalized * gamma */
static bool match_scaled(const Graph *g, const GraphNode *mul, int *x, int *gamma, double *eps)
{
    if (!graph_is(mul, "Mul")) return false;
    *gamma = is_row(g, mul->in[0]) ? mul->in[0] : mul->in[1];
    return is_row(g, *gamma) &&
           match_normalized(g, graph_producer(g, other(mul, *gamma)), x, eps);
}

/* normalized * gamma + beta */
static bool fuse_decomposed(Graph *g, int i)
{
    const GraphNode *add = g->node[i];
    int x, gamma;
    double eps;
    if (!graph_is(add, "Add")) return false;
    int beta = is_row(g, add->in[0]) ? add->in[0] : add->in[1];
    if (!is_row(g, beta) ||
        !match_scaled(g, graph_producer(g, other(add, beta)), &x, &gamma, &eps))
        return false;
    make_norm(g, i, x, gamma, beta, eps);
    return true;
}

/* Without beta; also as ONNX Runtime's optimizer leaves it: centered, then divided by its own size. */
static void fuse_without_beta(Graph *g, int i)
{
    const GraphNode *n = g->node[i];
    int x, gamma;
    double eps;
    if (match_scaled(g, n, &x, &gamma, &eps)) {
        make_norm(g, i, x, gamma, -1, eps);
        return;
    }
    if (!graph_is(n, "SimplifiedLayerNormalization") || onnx_int(n->node, "axis", -1) != -1 ||
        n->n_in < 2 || !is_row(g, n->in[1]))
        return;
    for (int k = 1; k < n->n_out; k++)
        if (n->out[k] >= 0) return; /* somebody wants the deviation */
    const GraphNode *sub = graph_producer(g, n->in[0]);
    const GraphNode *mean = graph_is(sub, "Sub") ? mean_of(g, sub->in[1]) : NULL;
    if (mean && mean->in[0] == sub->in[0])
        make_norm(g, i, sub->in[0], n->in[1], -1, onnx_float(n->node, "epsilon", 1e-5f));
}

static bool fuse_standard(Graph *g, int i)
{
    const GraphNode *n = g->node[i];
    if (!graph_is(n, "LayerNormalization") || onnx_int(n->node, "axis", -1) != -1) return false;
    for (int k = 1; k < n->n_out; k++)
        if (n->out[k] >= 0) return false; /* somebody wants mean or deviation */
    if (!is_row(g, n->in[1]) || (n->n_in > 2 && n->in[2] >= 0 && !is_row(g, n->in[2])))
        return false;
    int in[] = { n->in[0], n->in[1], n->n_in > 2 ? n->in[2] : -1 };
    float eps = onnx_float(n->node, "epsilon", 1e-5f);
    node_set_float(g, graph_replace(g, i, "LayerNorm", in, 3, n->out[0]), "epsilon", eps);
    return true;
}

bool pass_norm(Graph *g, Err *err)
{
    (void)err;
    for (int i = 0; i < g->n_node; i++)
        if (g->node[i]->op && !fuse_standard(g, i)) fuse_decomposed(g, i);
    for (int i = 0; i < g->n_node; i++) /* a Mul that an Add behind it has not taken */
        if (g->node[i]->op) fuse_without_beta(g, i);
    graph_remove_dead(g);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * work.c - what a row costs: multiply-adds of its products with weights, of its attention (a window
 * counts as a window) and of the products with relative positions. Norms, activations and tables are
 * left out, and a head that sees one token of a row is counted as if it saw all. `bench`,
 * `onnx explain` and the queue ask here. */
#include "plan.h"

enum { SHORT = 128 }; /* tokens; up to here a row costs its tokens */

/* Pairs of tokens that are at most so far apart; 0: all. */
static double pairs_within(double n, double window)
{
    return window == 0 || n <= window ? n * n : n * (2 * window + 1) - window * (window + 1);
}

double attention_work(const Graph *g, const GraphNode *n, double columns, int64_t length)
{
    double pairs = 2 * pairs_within((double)length, (double)onnx_int(n->node, "window", 0));
    for (int k = ATT_C2P_BY; k <= ATT_P2C_BY; k++) {
        int by = graph_input(n, k);
        if (by < 0 || !g->value[by].constant) continue;
        pairs += (double)length * (double)MIN(length, g->value[by].t.dim[0]);
    }
    return columns * pairs;
}

static bool is_product(const GraphNode *n)
{
    return strstr(n->op->name, "Linear") || strstr(n->op->name, "MatMul") || graph_is(n, "Gemm");
}

/* Numbers of a constant factor, which every token meets; 0: there is none. */
static double weights_of(const Graph *g, const GraphNode *n)
{
    double sum = (double)onnx_int(n->node, "N", 0) * (double)onnx_int(n->node, "K", 0);
    for (int k = 0; sum == 0 && k < n->n_in; k++) { /* ours say it; panels are filled up */
        const GraphValue *v = n->in[k] >= 0 ? &g->value[n->in[k]] : NULL;
        if (v && v->constant && v->t.rank >= 2) sum = (double)tensor_count(&v->t);
    }
    return sum;
}

/* Rows x columns x what is summed over, where both factors are made from the texts. */
static double product_work(const Symbols *s, const GraphNode *n, int64_t length)
{
    const Tensor *a = &s->t[n->in[0]], *y = &s->t[n->out[0]];
    double work = a->rank > 0 && y->rank >= 0;
    for (int d = -1; work > 0 && d < y->rank; d++) {
        int64_t dim = d < 0 ? a->dim[a->rank - 1] : y->dim[d];
        work *= dim == DIM_SEQUENCE ? (double)length : dim == DIM_BATCH ? 1 : (double)MAX(dim, 0);
    }
    return work;
}

static double node_work(const Engine *e, const GraphNode *n, int64_t length)
{
    const Tensor *y = n->n_out && n->out[0] >= 0 ? &e->symbols.t[n->out[0]] : NULL;
    if (y && graph_attends(n))
        return attention_work(e->graph, n, y->rank == 3 ? (double)y->dim[2] : 0, length);
    if (!y || !is_product(n)) return 0;
    double weights = weights_of(e->graph, n);
    return weights > 0 ? weights * (double)length : product_work(&e->symbols, n, length);
}

double engine_work(const Engine *e, int64_t length)
{
    double work = 0;
    if (e->fixed_S && !e->layout.ragged) length = e->fixed_S;
    for (int i = 0; i < e->graph->n_node; i++)
        if (e->graph->node[i]->op && (!e->layout.needed || e->layout.needed[i]))
            work += node_work(e, e->graph->node[i], length);
    return work;
}

int64_t engine_cost(const Engine *e, int64_t length, const RowInputs *own)
{
    int64_t numbers = 0;
    for (int i = 0; own && i < own->n; i++) numbers += tensor_count(&own->f[i].t);
    int64_t brought = (numbers + OWN_TOKEN - 1) / OWN_TOKEN;
    if (length <= SHORT) return length + brought;
    double unit = engine_work(e, SHORT) / SHORT, work = engine_work(e, length);
    return (unit > 0 ? MAX(length, (int64_t)MIN(work / unit, 1e15)) : length) + brought;
}

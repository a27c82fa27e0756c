/* SPDX-License-Identifier: Apache-2.0
 * fold.c - nodes that read only constants are run once and become constants; Identity and inference
 * Dropout vanish. */
#include "graph.h"

enum { FOLD_LIMIT = 1 << 24 }; /* elements: a folded table must not blow the file up */

static bool all_constant(const Graph *g, const GraphNode *node)
{
    for (int k = 0; k < node->n_in; k++)
        if (node->in[k] >= 0 && !g->value[node->in[k]].constant) return false;
    return node->n_in > 0;
}

static bool fold_node(Graph *g, GraphNode *node, Arena *scratch, Err *err)
{
    const Tensor **in = ARRAY(scratch, const Tensor *, node->n_in);
    for (int k = 0; k < node->n_in; k++) in[k] = node->in[k] >= 0 ? &g->value[node->in[k]].t : NULL;
    Tensor *out = ARRAY(scratch, Tensor, node->n_out);
    OpCall call = { .node = node->node,
                    .opset = node->opset,
                    .n_in = node->n_in,
                    .n_out = node->n_out,
                    .in = in,
                    .out = out,
                    .k = kernels(),
                    .scratch = scratch };
    if (!op_shape(node->op, &call, err)) return false;
    for (int k = 0; k < node->n_out; k++) {
        if (!tensor_sane(&out[k], err)) return false;
        if (tensor_count(&out[k]) > FOLD_LIMIT || dtype_size(out[k].type) == 0) return true;
        out[k].data = arena_raw(g->arena, MAX(tensor_bytes(&out[k]), (size_t)1));
    }
    if (!node->op->run(&call, err)) return false;
    for (int k = 0; k < node->n_out; k++) {
        if (node->out[k] < 0) continue;
        g->value[node->out[k]].t = out[k];
        g->value[node->out[k]].constant = true;
        g->value[node->out[k]].producer = -1;
    }
    node->op = NULL;
    return true;
}

/* Readers of `from` read `to` instead. A graph output keeps its name, so its node stays. */
static void forward(Graph *g, int i, int from, int to)
{
    for (int j = i + 1; j < g->n_node; j++)
        for (int k = 0; k < g->node[j]->n_in; k++)
            if (g->node[j]->in[k] == from) g->node[j]->in[k] = to;
}

bool pass_fold(Graph *g, Err *err)
{
    Arena scratch = { 0 };
    bool ok = true;
    for (int i = 0; ok && i < g->n_node; i++) {
        GraphNode *node = g->node[i];
        if (!node->op) continue;
        if (all_constant(g, node)) {
            ok = fold_node(g, node, &scratch, err);
        } else if ((graph_is(node, "Identity") ||
                    (graph_is(node, "Dropout") && node->n_out == 1)) &&
                   !g->value[node->out[0]].output) {
            forward(g, i, node->out[0], node->in[0]);
        }
        arena_reset(&scratch, 1 << 20);
    }
    arena_free(&scratch);
    if (ok) graph_remove_dead(g);
    return ok;
}

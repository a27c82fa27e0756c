/* SPDX-License-Identifier: Apache-2.0
 * infer.c - types and dims of every value for given input shapes, by the operators' own shape rules.
 * Values that depend on shapes alone (Shape, and small arithmetic on it) are computed on the way, since
 * Reshape and its kin need them: there is one evaluator, not a second one for symbols. */
#include "graph.h"

enum { KNOWN_LIMIT = 1 << 16 }; /* elements worth computing ahead of the run */

Inferred graph_inferred(const Graph *g, Arena *arena)
{
    Inferred in = { .t = ARRAY(arena, Tensor, g->n_value), .at = -1 };
    for (int v = 0; v < g->n_value; v++)
        if (g->value[v].constant) in.t[v] = g->value[v].t;
    return in;
}

/* Whether all inputs have data, and (in *missing) whether the shape rule lacks some. Shape reads dims only. */
static bool inputs_known(const GraphNode *node, const Tensor *const *in, bool *missing)
{
    bool all = true;
    *missing = false;
    for (int k = 0; k < node->n_in; k++) {
        if (!in[k] || in[k]->data || tensor_count(in[k]) == 0) continue;
        all = false;
        if (k < 32 && node->op->values >> k & 1) *missing = true;
    }
    return all || strcmp(node->op->name, "Shape") == 0 || strcmp(node->op->name, "Size") == 0;
}

static bool outputs_small(const OpCall *call, int64_t limit)
{
    for (int k = 0; k < call->n_out; k++)
        if (tensor_count(&call->out[k]) > (limit ? limit : KNOWN_LIMIT) ||
            dtype_size(call->out[k].type) == 0)
            return false;
    return true;
}

static bool infer_node(const GraphNode *node, Arena *arena, Inferred *to, Err *err)
{
    const Tensor **in = ARRAY(arena, const Tensor *, node->n_in);
    for (int k = 0; k < node->n_in; k++) { /* what was not wanted (a plain mask) is absent */
        const Tensor *t = node->in[k] >= 0 ? &to->t[node->in[k]] : NULL;
        in[k] = t && t->type != T_NONE ? t : NULL;
    }
    Tensor *out = ARRAY(arena, Tensor, node->n_out);
    OpCall call = { .node = node->node,
                    .opset = node->opset,
                    .n_in = node->n_in,
                    .n_out = node->n_out,
                    .in = in,
                    .out = out,
                    .k = kernels(),
                    .pool = to->pool,
                    .scratch = arena };
    bool missing, known = inputs_known(node, in, &missing);
    if (missing) return to->dynamic = true;
    if (!op_shape(node->op, &call, err)) return false;
    for (int k = 0; k < node->n_out; k++)
        if (!tensor_sane(&out[k], err))
            return within(err, "node '%.*s' (%s)", STR_ARG(node->node->name), node->op->name);
    if (known && outputs_small(&call, to->limit)) {
        for (int k = 0; k < node->n_out; k++)
            if (!(out[k].data =
                      arena_try(arena, MAX(tensor_bytes(&out[k]), (size_t)1), 1, MOST_BYTES, err)))
                return within(err, "node '%.*s' (%s)", STR_ARG(node->node->name), node->op->name);
        if (!node->op->run(&call, err)) return false;
    }
    for (int k = 0; k < node->n_out; k++)
        if (node->out[k] >= 0) to->t[node->out[k]] = out[k];
    return true;
}

bool graph_infer(const Graph *g, Arena *arena, Inferred *to, Err *err)
{
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *node = g->node[i];
        if (!node->op || (to->needs && !to->needs[i])) continue;
        if (!infer_node(node, arena, to, err)) return false;
        if (to->dynamic) return to->at = i, true;
    }
    return true;
}

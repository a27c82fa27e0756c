/* SPDX-License-Identifier: Apache-2.0
 * infer.c - types and dims of every value for given input shapes, by the operators' own shape rules.
 * Values that depend on shapes alone (Shape, and small arithmetic on it) are computed on the way, since
 * Reshape and its kin need them: there is one evaluator, not a second one for symbols. */
#include "graph.h"

enum { KNOWN_LIMIT = 1 << 16, KEPT_SCRATCH = 1 << 20 }; /* elements worth computing ahead; bytes */
static const size_t KNOWN_BYTES = (size_t)1 << 27; /* and of all such values together */
static const double KNOWN_WORK = 0x1p28, PROBE_WORK = 0x1p36; /* multiply-adds spent on them */

Inferred graph_inferred(const Graph *g, Arena *arena)
{
    Inferred in = { .t = ARRAY(arena, Tensor, g->n_value), .at = -1 };
    for (int v = 0; v < g->n_value; v++)
        if (g->value[v].constant) in.t[v] = g->value[v].t;
    return in;
}

/* Nodes that double what they read (Concat with itself, Tile, Expand, Pad) make 2^40 bytes out of a
 * file of 2 KB. Encoders make of their weights a few times as much for each row. */
size_t graph_most_bytes(const Graph *g, const Inferred *to)
{
    const size_t least = MOST_BYTES / 4, times = 64, most = 4 * MOST_BYTES;
    size_t given = 0;
    for (int v = 0; v < g->n_value; v++)
        if (g->value[v].constant || g->value[v].input) given += tensor_bytes(&to->t[v]);
    return given > (most - least) / times ? most : least + times * given;
}

/* Whether all inputs have data, and (in *missing) whether the shape rule lacks some. Shape reads dims only. */
static bool inputs_known(const GraphNode *node, const Tensor *const *in, bool *missing)
{
    bool all = true;
    *missing = false;
    for (int k = 0; k < node->n_in; k++) {
        if (!in[k] || in[k]->data || tensor_count(in[k]) == 0) continue;
        all = false;
        if (op_needs_values(node->op, k)) *missing = true;
    }
    return all || strcmp(node->op->name, "Shape") == 0 || strcmp(node->op->name, "Size") == 0;
}

/* A node of an If whose branch is not taken, as far as is known. */
static bool left_out(const GraphNode *node, Inferred *to)
{
    const Tensor *guard = node->guard ? &to->t[node->guard - 1] : NULL;
    if (guard && !guard->data) to->dynamic = true;
    return guard && guard->data && (tensor_count(guard) != 1 || tensor_get(guard, 0) == 0);
}

/* Worth computing here: small, or this is the run itself. */
static bool worth_it(const OpCall *call, double work, Inferred *to)
{
    for (int k = 0; k < call->n_out; k++)
        if (tensor_count(&call->out[k]) > (to->limit ? to->limit : KNOWN_LIMIT)) return false;
    to->known_work += work;
    return to->limit == INT64_MAX || to->known_work <= (to->limit ? PROBE_WORK : KNOWN_WORK);
}

static bool compute(const Op *op, OpCall *call, Arena *arena, Inferred *to, Err *err)
{
    size_t most = to->most ? to->most : KNOWN_BYTES;
    for (int k = 0; k < call->n_out; k++) {
        size_t bytes = MAX(tensor_bytes(&call->out[k]), (size_t)1);
        size_t left = MIN(most - MIN(to->taken, most), MOST_BYTES);
        to->taken += bytes;
        if (bytes > left)
            return op_fail(call, err, "found values of %zu bytes up to here, wanted at most %zu",
                           to->taken, to->taken - bytes + left);
        call->out[k].data = arena_try(arena, bytes, 1, left, err);
        if (!call->out[k].data)
            return within(err, "node '%.*s' (%s)", STR_ARG(call->node->name), op->name);
    }
    return op->run(call, err);
}

bool graph_infer_node(const GraphNode *node, Arena *arena, Arena *scratch, Inferred *to, Err *err)
{
    if (node->body) return graph_infer_loop(node, arena, to, err);
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
                    .scratch = scratch };
    bool missing, known = inputs_known(node, in, &missing);
    if (missing) return to->dynamic = true;
    if (!op_shape(node->op, &call, err)) return false;
    double work = op_work(node->op, &call);
    to->work += work;
    if (to->most_work && to->work > to->most_work)
        return op_fail(&call, err, "found %.3g multiply-adds up to here, wanted at most %.3g",
                       to->work, to->most_work);
    if (known && worth_it(&call, work, to) && !compute(node->op, &call, arena, to, err))
        return false;
    for (int k = 0; k < node->n_out; k++)
        if (node->out[k] >= 0) to->t[node->out[k]] = out[k];
    return true;
}

bool graph_infer(const Graph *g, Arena *arena, Inferred *to, Err *err)
{
    Arena scratch = { .local = true };
    bool ok = true;
    for (int i = 0; ok && i < g->n_node; i++) {
        const GraphNode *node = g->node[i];
        if (!node->op || (to->needs && !to->needs[i])) continue;
        if (left_out(node, to)) continue;
        ok = to->dynamic || graph_infer_node(node, arena, &scratch, to, err);
        arena_reset(&scratch, KEPT_SCRATCH);
        if (!ok || !to->dynamic) continue;
        to->at = i;
        break;
    }
    arena_free(&scratch);
    return ok;
}

/* SPDX-License-Identifier: Apache-2.0
 * fold.c - nodes that read only constants are run once and become constants; Identity and inference
 * Dropout vanish, and so do the branches of an If whose condition is a constant. */
#include "graph.h"

enum { FOLD_LIMIT = 1 << 24 };           /* elements: a folded table must not blow the file up */
static const double FOLD_WORK = 0x1p35; /* multiply-adds spent on all nodes of a pass */

typedef struct Fold {
    Graph *g;
    Arena scratch;
    double work;
} Fold;

static bool all_constant(const Graph *g, const GraphNode *node)
{
    for (int k = 0; k < node->n_in; k++)
        if (node->in[k] >= 0 && !g->value[node->in[k]].constant) return false;
    return node->n_in > 0 && !node->body;
}

/* Room for the results; false: too large to be worth it. */
static bool make_room(Fold *f, const Op *op, OpCall *call)
{
    size_t bytes = 0;
    for (int k = 0; k < call->n_out; k++) {
        if (tensor_count(&call->out[k]) > FOLD_LIMIT) return false;
        bytes += ROUND_UP(MAX(tensor_bytes(&call->out[k]), (size_t)1), 64);
    }
    f->work += op_work(op, call);
    char *at = f->work <= FOLD_WORK ? graph_room(f->g, bytes) : NULL;
    for (int k = 0; at && k < call->n_out; k++) {
        call->out[k].data = at;
        at += ROUND_UP(MAX(tensor_bytes(&call->out[k]), (size_t)1), 64);
    }
    return at != NULL;
}

static bool fold_node(Fold *f, GraphNode *node, Err *err)
{
    Graph *g = f->g;
    const Tensor **in = ARRAY(&f->scratch, const Tensor *, node->n_in);
    for (int k = 0; k < node->n_in; k++) in[k] = node->in[k] >= 0 ? &g->value[node->in[k]].t : NULL;
    Tensor *out = ARRAY(&f->scratch, Tensor, node->n_out);
    OpCall call = { .node = node->node,
                    .opset = node->opset,
                    .n_in = node->n_in,
                    .n_out = node->n_out,
                    .in = in,
                    .out = out,
                    .k = kernels(),
                    .scratch = &f->scratch };
    if (!op_shape(node->op, &call, err)) return false;
    if (!make_room(f, node->op, &call)) return true;
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

/* ---- If ---- */
static bool constant_truth(const Graph *g, int value, bool *truth)
{
    double number;
    if (!graph_scalar(g, value, &number)) return false;
    *truth = number != 0;
    return true;
}

/* A guard that is a constant is no guard; false: this node is never run. */
static bool settle_guard(const Graph *g, GraphNode *node)
{
    bool taken;
    if (!node->guard || !constant_truth(g, node->guard - 1, &taken)) return true;
    if (!taken) return false;
    node->guard = 0;
    return true;
}

/* Then and Else inside a branch that is settled; Either whose condition is. */
static void settle_branch(const Graph *g, GraphNode *node)
{
    bool truth;
    if ((graph_is(node, "Then") || graph_is(node, "Else")) && node->n_in > 1 &&
        constant_truth(g, node->in[1], &truth)) {
        if (!truth) node->in[0] = node->in[1]; /* not reached: whatever the condition would be */
        else node->in[1] = -1;
    }
    if (!graph_is(node, "Either") || node->n_in != 3 || node->in[1] < 0 || node->in[2] < 0 ||
        !constant_truth(g, node->in[0], &truth))
        return;
    OnnxNode *made = NEW(g->arena, OnnxNode);
    *made = (OnnxNode){ .op = STR("Identity"), .name = node->node->name };
    node->in[0] = node->in[truth ? 1 : 2];
    node->n_in = 1;
    node->node = made;
    node->op = op_find(made->domain, made->op, 1);
    node->opset = 1;
}

/* A node that hands its input on. A graph output keeps its name, so its node stays. */
static bool hands_on(const Graph *g, const GraphNode *node)
{
    return (graph_is(node, "Identity") || (graph_is(node, "Dropout") && node->n_out == 1)) &&
           !g->value[node->out[0]].output;
}

bool pass_fold(Graph *g, Err *err)
{
    Fold f = { .g = g };
    bool ok = true;
    Arena names = { .local = true };
    int *same = ARRAY(&names, int, g->n_value); /* what a value is read as */
    for (int v = 0; v < g->n_value; v++) same[v] = v;
    for (int i = 0; ok && i < g->n_node; i++) {
        GraphNode *node = g->node[i];
        if (!node->op) continue;
        for (int k = 0; k < node->n_in; k++)
            if (node->in[k] >= 0) node->in[k] = same[node->in[k]];
        if (!settle_guard(g, node)) {
            node->op = NULL;
            continue;
        }
        settle_branch(g, node);
        if (hands_on(g, node)) same[node->out[0]] = node->in[0]; /* a shared weight stays one */
        else if (all_constant(g, node)) ok = fold_node(&f, node, err) || node->guard;
        arena_reset(&f.scratch, 1 << 20);
    }
    arena_free(&f.scratch);
    arena_free(&names);
    if (ok) graph_remove_dead(g);
    return ok;
}

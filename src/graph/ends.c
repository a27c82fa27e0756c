/* SPDX-License-Identifier: Apache-2.0
 * ends.c - where the tokens of a row become one vector: the first token, a sum or a maximum over the
 * row, or the token that an index names (the last one). On rows without padding these read real tokens
 * only, which is right if padding has no part in the result: the sum must have zeros there, the maximum
 * very small numbers. So for every value that tokens have, the number that it has at padding is worked
 * out, starting from attention_mask's 0. */
#include <math.h>

#include "graph.h"

static const double HIDDEN = -1e4; /* no hidden state is that small */

/* ---- numbers at padding ---- */
double *padding_new(const Graph *g, Arena *arena)
{
    double *at = ARRAY(arena, double, g->n_value);
    for (int v = 0; v < g->n_value; v++)
        if (!graph_scalar(g, v, &at[v])) at[v] = NAN;
    for (int i = 0; i < g->n_input; i++)
        if (graph_role(g->value[g->input[i]].name) == ROLE_MASK) at[g->input[i]] = 0;
    return at;
}

static bool moves_only(const GraphNode *n)
{
    static const char *const movers[] = { "Expand", "Identity", "Reshape", "Squeeze", "Unsqueeze" };
    for (size_t i = 0; i < COUNT(movers); i++)
        if (graph_is(n, movers[i])) return true;
    return false;
}

/* The operator on single numbers. */
static double run_on_numbers(const Symbols *s, const GraphNode *n, const double *at)
{
    Arena scratch = { .local = true };
    Err ignored;
    Tensor *t = ARRAY(&scratch, Tensor, n->n_in), *out = ARRAY(&scratch, Tensor, n->n_out);
    const Tensor **in = ARRAY(&scratch, const Tensor *, n->n_in);
    double result = NAN;
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] < 0) continue;
        t[k] = (Tensor){ .type = s->t[n->in[k]].type, .data = arena_raw(&scratch, 8) };
        tensor_store(&t[k], 0, 1, &at[n->in[k]]);
        in[k] = &t[k];
    }
    OpCall call = { .node = n->node, .opset = n->opset, .n_in = n->n_in, .n_out = n->n_out,
                    .in = in, .out = out, .k = kernels(), .scratch = &scratch };
    if (n->n_out == 1 && op_shape(n->op, &call, &ignored) && tensor_count(&out[0]) == 1) {
        out[0].data = arena_raw(&scratch, 8);
        if (n->op->run(&call, &ignored)) result = tensor_get(&out[0], 0);
    }
    arena_free(&scratch);
    return result;
}

static double number_of(const Symbols *s, const GraphNode *n, const double *at)
{
    bool known = n->n_in > 0;
    if (moves_only(n)) return at[n->in[0]];
    if (n->op->token != TOKEN_EACH) return NAN;
    for (int k = 0; k < n->n_in; k++) known &= n->in[k] >= 0 && !isnan(at[n->in[k]]);
    if (known) return run_on_numbers(s, n, at);
    if (graph_is(n, "Mul") && (at[n->in[0]] == 0 || at[n->in[1]] == 0)) return 0;
    if (graph_is(n, "Where") && !isnan(at[n->in[0]])) return at[n->in[at[n->in[0]] ? 1 : 2]];
    return NAN;
}

void padding_follow(const Symbols *s, const GraphNode *n, double *at)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] >= 0) at[n->out[k]] = k ? NAN : number_of(s, n, at);
}

/* ---- ends ---- */
static bool reduces_tokens(const Graph *g, const Symbols *s, const GraphNode *n)
{
    size_t count;
    const int64_t *list = onnx_ints(n->node, "axes", &count);
    int rank = s->t[n->in[0]].rank, axes = graph_input(n, 1);
    double axis;
    if (list) return count == 1 && (list[0] + rank) % rank == 1;
    return axes >= 0 && graph_scalar(g, axes, &axis) && ((int64_t)axis + rank) % rank == 1;
}

/* Gather(x, 0, axis 1) */
static bool takes_first(const Graph *g, const Symbols *s, const GraphNode *n)
{
    double index;
    return graph_is(n, "Gather") && onnx_int(n->node, "axis", 0) == 1 &&
           s->t[n->in[1]].rank == 0 && graph_scalar(g, n->in[1], &index) && index == 0;
}

/* GatherElements(x, [B, 1, C]) along the tokens */
static bool takes_named(const Symbols *s, const GraphNode *n)
{
    const Tensor *x = &s->t[n->in[0]], *index = graph_is(n, "GatherElements") ? &s->t[n->in[1]] : NULL;
    return index && onnx_int(n->node, "axis", 0) == 1 && x->rank == 3 && index->type == T_I64 &&
           graph_of_row(index) && index->rank == 3 && index->dim[1] == 1;
}

RowEnd graph_row_end(const Graph *g, const Symbols *s, const GraphNode *n, const double *at)
{
    if (n->n_in == 0 || n->in[0] < 0 || n->n_out != 1 || !graph_leads(&s->t[n->in[0]]) ||
        s->t[n->in[0]].type != T_F32)
        return END_NONE;
    double padding = at[n->in[0]];
    if (takes_first(g, s, n)) return END_FIRST;
    if (takes_named(s, n)) return END_NAMED;
    if (graph_is(n, "ReduceSum") && padding == 0 && reduces_tokens(g, s, n)) return END_SUM;
    if (graph_is(n, "ReduceMax") && padding <= HIDDEN && reduces_tokens(g, s, n)) return END_MAX;
    return END_NONE;
}

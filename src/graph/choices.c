/* SPDX-License-Identifier: Apache-2.0
 * choices.c - graphs of multiple choice read [B, N, S], N choices of each question, and give [B, N]. Inside
 * they know rows only: the inputs are reshaped to [B * N, S] at once, and the scores of the rows to [B, N] at
 * the end. This pass takes both away: a row is a choice, its output one number, and rows of different
 * questions and lengths run together. What else reads an input sees it as [rows, 1, S], one choice of each.
 *
 * Which Reshapes these are is found by inference at two sizes of the graph as it was. A graph that counts
 * its choices elsewhere (a constant N, multiplied by the batch) does not give one number a row afterwards:
 * it is refused. */
#include "graph.h"

typedef struct Choices {
    int64_t B, N, S;
} Choices;
enum { TRIES = 2 };
static const Choices tries[TRIES] = { { 2, 3, 17 }, { 3, 5, 11 } };

static bool of_tokens(const Graph *g, int v)
{
    return role_of_token(graph_role(g->value[v].name));
}

static bool has_choices(const Graph *g)
{
    for (int i = 0; i < g->n_input; i++)
        if (graph_role(g->value[g->input[i]].name) == ROLE_TOKEN) return g->value[g->input[i]].t.rank == 3;
    return false;
}

static bool inputs_agree(const Graph *g, Err *err)
{
    for (int i = 0; i < g->n_input; i++) {
        const GraphValue *in = &g->value[g->input[i]];
        bool box = graph_role(in->name) == ROLE_BOX;
        if (of_tokens(g, g->input[i]) && (box || in->t.rank != 3))
            return fail(err, EF_UNSUPPORTED, "Input shape mismatch: graph input '%.*s' has %d dims beside "
                        "input_ids of [batch_size, num_choices, sequence_length], wanted the same",
                        STR_ARG(in->name), in->t.rank);
    }
    return true;
}

/* ---- the graph as it was ---- */
static int64_t declared(int64_t dim, int64_t otherwise)
{
    return dim > 0 ? dim : otherwise;
}

/* The size of a try, as far as the file leaves it open. */
static Choices size_of(const Graph *g, int try)
{
    Choices c = tries[try];
    for (int i = 0; i < g->n_input; i++) {
        const int64_t *dim = g->value[g->input[i]].t.dim;
        if (!of_tokens(g, g->input[i])) continue;
        c = (Choices){ declared(dim[0], c.B), declared(dim[1], c.N), declared(dim[2], c.S) };
    }
    return c;
}

static bool infer_choices(const Graph *g, Arena *arena, Choices c, Inferred *at, Err *err)
{
    *at = graph_inferred(g, arena);
    for (int i = 0; i < g->n_input; i++) {
        int v = g->input[i];
        at->t[v] = (Tensor){ .type = g->value[v].t.type, .rank = 3, .dim = { c.B, c.N, c.S } };
        if (!of_tokens(g, v)) at->t[v] = g->value[v].t; /* the engine refuses it by its name */
    }
    return graph_infer(g, arena, at, err);
}

static bool has_dims(const Tensor *t, int64_t rows, int64_t columns)
{
    return t->rank == 2 && t->dim[0] == rows && t->dim[1] == columns;
}

/* ---- rewriting ---- */
typedef struct Rewrite {
    Graph *g;
    Choices size[TRIES];
    Inferred at[TRIES];
    int *spread; /* [n_value]: an input as [rows, 1, S]; -1: not made yet */
} Rewrite;

static bool is_reshape(const GraphNode *n)
{
    return (graph_is(n, "Reshape") || graph_is(n, "Flatten")) && n->in[0] >= 0 && n->out[0] >= 0;
}

/* [B, N, S] to [B * N, S] */
static bool joins_choices(const Rewrite *r, const GraphNode *n)
{
    bool joins = is_reshape(n) && r->g->value[n->in[0]].input && of_tokens(r->g, n->in[0]);
    for (int i = 0; joins && i < TRIES; i++)
        joins = has_dims(&r->at[i].t[n->out[0]], r->size[i].B * r->size[i].N, r->size[i].S);
    return joins;
}

/* [B * N, 1] to [B, N] */
static bool parts_choices(const Rewrite *r, const GraphNode *n)
{
    bool parts = is_reshape(n) && r->g->value[n->out[0]].output;
    for (int i = 0; parts && i < TRIES; i++)
        parts = has_dims(&r->at[i].t[n->in[0]], r->size[i].B * r->size[i].N, 1) &&
                has_dims(&r->at[i].t[n->out[0]], r->size[i].B, r->size[i].N);
    return parts;
}

static void hand_on(Graph *g, GraphNode *n)
{
    OnnxNode *made = NEW(g->arena, OnnxNode);
    *made = (OnnxNode){ .op = STR("Identity"), .name = n->node->name };
    n->n_in = 1;
    n->node = made;
    n->op = op_find(made->domain, made->op, 1);
    n->opset = 1;
}

static int spread(Rewrite *r, int v, int before)
{
    Graph *g = r->g;
    if (r->spread[v] >= 0) return r->spread[v];
    int64_t dims[] = { 0, 1, -1 }; /* 0: as it is */
    Tensor t = { .type = T_I64, .rank = 1, .dim = { COUNT(dims) } };
    t.data = memcpy(arena_raw(g->arena, sizeof dims), dims, sizeof dims);
    int in[] = { v, graph_add_constant(g, str_format(g->arena, "#choice%d", v), &t) };
    GraphNode *n = graph_node(g, "Reshape", str_format(g->arena, "#choices%d", v), in, 2);
    graph_insert(g, before, n);
    return r->spread[v] = n->out[0];
}

static void rewrite_inputs(Graph *g)
{
    for (int i = 0; i < g->n_input; i++) {
        Tensor *t = &g->value[g->input[i]].t;
        if (!of_tokens(g, g->input[i])) continue;
        bool sized = t->dim[0] > 0 && t->dim[1] > 0;
        *t = (Tensor){ .type = t->type, .rank = 2,
                       .dim = { sized ? t->dim[0] * t->dim[1] : DIM_UNKNOWN, t->dim[2] } };
    }
}

static void rewrite(Rewrite *r, int n_value)
{
    Graph *g = r->g;
    for (int i = 0; i < g->n_node; i++) {
        GraphNode *n = g->node[i];
        if (!n->op) continue;
        if (joins_choices(r, n) || parts_choices(r, n)) {
            hand_on(g, n);
            continue;
        }
        for (int k = 0; k < n->n_in; k++) {
            int v = n->in[k];
            if (v < 0 || v >= n_value || !g->value[v].input || !of_tokens(g, v)) continue;
            int before = g->n_node;
            n->in[k] = spread(r, v, i);
            i += g->n_node - before; /* the node has moved behind what was put before it */
        }
    }
    rewrite_inputs(g);
}

/* ---- is a row a choice now? ---- */
static bool one_number_a_row(const Graph *g, Arena *arena, Choices c)
{
    Inferred at = graph_inferred(g, arena);
    Err ignored = { 0 };
    const int64_t rows = c.B * c.N;
    for (int i = 0; i < g->n_input; i++)
        if (!graph_bind_input(g, g->input[i], rows, c.S, &at.t[g->input[i]], &ignored)) return true;
    if (!graph_infer(g, arena, &at, &ignored)) return false;
    for (int i = 0; i < g->n_output && !at.dynamic; i++)
        if (!has_dims(&at.t[g->output[i]], rows, 1)) return false;
    return true;
}

static bool pass_with(Rewrite *r, Arena *scratch, Err *err)
{
    Graph *g = r->g;
    const int n_value = g->n_value;
    for (int i = 0; i < TRIES; i++) {
        r->size[i] = size_of(g, i);
        if (!infer_choices(g, scratch, r->size[i], &r->at[i], err)) return false;
    }
    r->spread = ARRAY(scratch, int, n_value);
    for (int v = 0; v < n_value; v++) r->spread[v] = -1;
    rewrite(r, n_value);
    for (int i = 0; i < TRIES; i++)
        if (!one_number_a_row(g, scratch, r->size[i]))
            return fail(err, EF_UNSUPPORTED, "multiple choice: the number of choices is fixed inside the "
                        "graph (found %lld), wanted any number: export it with that axis dynamic",
                        (long long)r->size[i].N);
    return true;
}

bool pass_choices(Graph *g, Err *err)
{
    Arena scratch = { .local = true };
    Rewrite r = { .g = g };
    if (!has_choices(g)) return true;
    bool ok = inputs_agree(g, err) && pass_with(&r, &scratch, err);
    arena_free(&scratch);
    return ok;
}

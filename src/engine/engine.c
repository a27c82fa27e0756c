/* SPDX-License-Identifier: Apache-2.0
 * engine.c - what can be decided about a graph once: which output is wanted, whether it is
 * ragged, which fixed sizes its inputs have. And the generic tier, which is shape inference with
 * all data known. */
#include "plan.h"

static bool engine_find_output(const Graph *g, Str name, int *value, Err *err)
{
    for (int i = 0; i < g->n_output; i++)
        if (str_eq(g->value[g->output[i]].name, name)) return *value = g->output[i], true;
    return fail(err, EF_BAD_MODEL, "Model must return %.*s", STR_ARG(name));
}

/* A state and what becomes of it: one tensor of floats, whose sizes the file says. */
static bool engine_add_state(const Graph *g, Arena *arena, int v, Engine *e, Err *err)
{
    const GraphValue *in = &g->value[v];
    const int axis = graph_batch_axis(g, v), k = e->n_output;
    EngineState *state = &e->state[e->n_state++];
    Tensor whole;
    if (!engine_find_output(g, str_of(graph_next_state(in->name)), &e->output[k], err) ||
        !graph_bind_input(g, v, 1, 1, &whole, err))
        return within(err, "state '%.*s'", STR_ARG(in->name));
    e->output_axis[e->n_output++] = axis;
    *state = (EngineState){ .input = str_dup(arena, in->name), .t = { .type = T_F32 } };
    for (int d = 0; d < whole.rank; d++)
        if (d != axis) state->t.dim[state->t.rank++] = whole.dim[d];
    return tensor_sane(&state->t, err);
}

static bool find_outputs(const Graph *g, Arena *arena, const Str *names, int n, Engine *e, Err *err)
{
    e->output = ARRAY(arena, int, n + g->n_input);
    e->output_axis = ARRAY(arena, int, n + g->n_input);
    e->state = ARRAY(arena, EngineState, g->n_input);
    e->n_output = n;
    for (int k = 0; k < n; k++)
        if (!engine_find_output(g, names[k], &e->output[k], err)) return false;
    for (int i = 0; i < g->n_input; i++)
        if (graph_role(g->value[g->input[i]].name) == ROLE_STATE &&
            !engine_add_state(g, arena, g->input[i], e, err))
            return false;
    return true;
}

static bool engine_check_inputs(const Graph *g, Engine *e, Err *err)
{
    bool ids = false;
    e->own = graph_has_own(g);
    e->fixed_B = g->fixed_B, e->fixed_S = g->fixed_S;
    for (int i = 0; i < g->n_input; i++) {
        Tensor ignored;
        int64_t B, S;
        const Role role = graph_role(g->value[g->input[i]].name);
        if (!role_of_row(role) && !graph_bind_input(g, g->input[i], 1, 1, &ignored, err)) return false;
        ids |= role == ROLE_TOKEN;
        graph_declares(g, g->input[i], &B, &S);
        if (B) e->fixed_B = B;
        if (S) e->fixed_S = S;
    }
    if (!ids && !e->own) return fail(err, EF_BAD_MODEL, "Missing input_ids: the graph has no such input");
    if (e->fixed_B > 65536 || e->fixed_S > (1 << 20))
        return fail(err, EF_BAD_MODEL, "Input shape mismatch: fixed size %lld x %lld",
                    (long long)e->fixed_B, (long long)e->fixed_S);
    return true;
}

static bool has_dim(const Tensor *t, int64_t dim)
{
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] == dim) return true;
    return false;
}

/* A dim that may count rows together with something else. */
static bool may_hold_rows(const Tensor *t)
{
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] == DIM_UNKNOWN || t->dim[i] <= DIM_NAMED) return true;
    return false;
}

/* It makes one value of all rows: a maximum over the batch. */
static bool joins_rows(const Symbols *s, const bool *carried, const GraphNode *n)
{
    bool rows = false;
    for (int k = 0; k < n->n_in; k++)
        rows |= n->in[k] >= 0 && carried[n->in[k]] && has_dim(&s->t[n->in[k]], DIM_BATCH);
    for (int k = 0; rows && k < n->n_out; k++) {
        const Tensor *t = n->out[k] >= 0 && carried[n->out[k]] ? &s->t[n->out[k]] : NULL;
        if (t && t->rank >= 0 && !has_dim(t, DIM_BATCH) && !may_hold_rows(t)) return true;
    }
    return false;
}

/* Of a ragged graph, where rows may meet: behind their vectors, and in the integers that are made padded. */
static bool behind_rows(const Layout *l, int i)
{
    return l->needed[i] && l->node[i] != FORM_TOKEN && !l->end[i];
}

/* What the file shows: whether a row's answer depends on the others can hang on a word (a branch
 * by the largest id), so trying (run.c) is not enough where rows are joined, or a branch is taken
 * for all of them. */
static bool mixes_rows(const Engine *e, const bool *carried)
{
    const Graph *g = e->graph;
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        bool branch = n->guard && (!e->own || carried[n->guard - 1]);
        bool named = e->symbols.known && (!e->layout.ragged || behind_rows(&e->layout, i));
        if (n->op && (n->op->mixes_rows || branch ||
                      (named && joins_rows(&e->symbols, carried, n))))
            return true;
    }
    return false;
}

/* A norm, a softmax, a reduction: along columns, not rows. */
static bool along_columns(const Graph *g, const GraphNode *n, int rank)
{
    size_t count;
    double axis;
    const int64_t *list = onnx_ints(n->node, "axes", &count);
    const OnnxAttr *one = onnx_attr(n->node, "axis");
    if (rank < 2 || graph_is(n, "LayerNorm")) return rank >= 2;
    if (list) return count == 1 && (list[0] + rank) % rank != 0;
    if (one) return (one->i + rank) % rank != 0;
    return str_starts(str_of(n->op->name), "Reduce") && graph_input(n, 1) >= 0 &&
           graph_scalar(g, graph_input(n, 1), &axis) && ((int64_t)axis + rank) % rank != 0;
}

/* It plainly works on each row's vector alone. */
static bool keeps_rows(const Graph *g, const Symbols *s, const bool *carried, const GraphNode *n)
{
    const TokenRule kind = n->op->token;
    if (graph_is(n, "Shape") || graph_is(n, "Size")) return true;
    if (n->out[0] < 0) return false;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] >= 0 && !graph_of_row(&s->t[n->out[k]])) return false;
    for (int k = 0; k < n->n_in; k++) {
        const Tensor *t = n->in[k] >= 0 && carried[n->in[k]] ? &s->t[n->in[k]] : NULL;
        if (!t) continue;
        if (!graph_of_row(t) || (kind == TOKEN_MATMUL && k == 1)) return false;
        if (kind == TOKEN_INNER && !along_columns(g, n, t->rank)) return false;
        if ((kind == TOKEN_EACH || kind == TOKEN_MATMUL) && t->rank != s->t[n->out[0]].rank) return false;
    }
    return kind == TOKEN_EACH || kind == TOKEN_INNER || kind == TOKEN_MATMUL || kind == TOKEN_RESHAPE;
}

/* Behind the vectors of rows without padding is something else: whether rows stay apart there is tried out. */
static bool may_mix_vectors(const Engine *e, const bool *carried)
{
    const Graph *g = e->graph;
    for (int i = 0; e->layout.ragged && i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        bool reads = false;
        for (int k = 0; n->op && k < n->n_in; k++) reads |= n->in[k] >= 0 && carried[n->in[k]];
        if (reads && behind_rows(&e->layout, i) && e->layout.node[i] == FORM_PLAIN &&
            !keeps_rows(g, &e->symbols, carried, n))
            return true;
    }
    return false;
}

bool engine_new(Arena *arena, Graph *g, const Str *outputs, int n, Engine **out, Err *err)
{
    Engine *e = NEW(arena, Engine);
    *e = (Engine){ .graph = g };
    if (!engine_check_inputs(g, e, err) || !find_outputs(g, arena, outputs, n, e, err))
        return false;
    if (!graph_symbols(g, arena, &e->symbols, err)) return within(err, "Input shape mismatch");
    graph_layout(g, arena, &e->symbols, e->output, e->n_output, &e->layout);
    const bool *carried = graph_carried(g, arena);
    e->mixes_rows = mixes_rows(e, carried);
    e->may_mix_vectors = may_mix_vectors(e, carried);
    if (e->layout.ragged && e->mixes_rows)
        e->layout.ragged = false, e->layout.why = "a value is made of all rows of a batch";
    e->plain_up_to = NEW(arena, int64_t);
    *e->plain_up_to = g->mask.up_to;
    *out = e;
    return true;
}

bool engine_ragged(const Engine *e, const char **why_not)
{
    if (why_not) *why_not = e->layout.why;
    return e->layout.ragged;
}

int engine_outputs(const Engine *e)
{
    return e->n_output - e->n_state;
}

int engine_states(const Engine *e)
{
    return e->n_state;
}

const EngineState *engine_state(const Engine *e, int k)
{
    return &e->state[k];
}

int64_t engine_state_numbers(const Engine *e)
{
    int64_t numbers = 0;
    for (int k = 0; k < e->n_state; k++) numbers += tensor_count(&e->state[k].t);
    return numbers;
}

int64_t engine_static_length(const Engine *e)
{
    return e->fixed_S;
}

static bool same_as_said(const GraphValue *in, const Tensor *t, Err *err)
{
    char found[128];
    if (in->t.type && t->type != in->t.type)
        return fail(err, EF_INVALID_INPUT, "input '%.*s': found %s, wanted %s", STR_ARG(in->name),
                    tensor_show(t, found), dtype_name(in->t.type));
    if (in->t.rank >= 0 && in->t.rank != t->rank)
        return fail(err, EF_INVALID_INPUT,
                    "Input shape mismatch: input '%.*s': found %s, wanted %d dims",
                    STR_ARG(in->name), tensor_show(t, found), in->t.rank);
    for (int i = 0; i < in->t.rank; i++)
        if (in->t.dim[i] >= 0 && in->t.dim[i] != t->dim[i])
            return fail(err, EF_INVALID_INPUT,
                        "Input shape mismatch: input '%.*s': found %s, wanted %lld at axis %d",
                        STR_ARG(in->name), tensor_show(t, found), (long long)in->t.dim[i], i);
    return true;
}

bool engine_run_generic(Graph *g, Pool *pool, const Named *in, size_t n_in, Arena *arena,
                        Named *out, Err *err)
{
    Inferred at = graph_inferred(g, arena);
    at.limit = INT64_MAX;
    at.pool = pool;
    for (int i = 0; i < g->n_input; i++) {
        const GraphValue *wanted = &g->value[g->input[i]];
        const Named *given = NULL;
        for (size_t k = 0; k < n_in; k++)
            if (str_eq(in[k].name, wanted->name)) given = &in[k];
        if (!given)
            return fail(err, EF_INVALID_INPUT, "input '%.*s' was not given", STR_ARG(wanted->name));
        if (!same_as_said(wanted, &given->t, err)) return false;
        at.t[g->input[i]] = given->t;
    }
    at.most = graph_most_bytes(g, &at);
    if (!graph_infer(g, arena, &at, err)) return within(err, "Model inference failed");
    for (int i = 0; i < g->n_output; i++)
        out[i] = (Named){ g->value[g->output[i]].name, at.t[g->output[i]] };
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * whole.c - tensors through an engine as they are given, padding and its mask included: all rows in one padded run. */
#include "runner.h"

static const Tensor *whole_given(const WholeRun *w, Str name)
{
    for (size_t i = 0; i < w->n_in; i++)
        if (str_eq(w->in[i].name, name)) return &w->in[i].t;
    return NULL;
}

/* A row's part of what rows bring; a number for all of them, as it is. */
static const Tensor *whole_row(Arena *arena, const Graph *g, int v, const Tensor *given)
{
    const int axis = graph_batch_axis(g, v);
    Tensor *row = NEW(arena, Tensor);
    *row = (Tensor){ .type = given->type, .data = axis < 0 ? given->data : NULL };
    for (int d = 0; d < given->rank; d++)
        if (d != axis) row->dim[row->rank++] = given->dim[d];
    return row;
}

/* Rows and tokens: what the first input that has them says. */
static bool whole_size(Runner *r, const WholeRun *w, Size *size, Err *err)
{
    const Graph *g = r->e->graph;
    const Tensor **own = ARRAY(&r->result, const Tensor *, g->n_input);
    bool rows = false, tokens = false;
    *size = (Size){ .B = 1, .own = r->e->own ? own : NULL };
    for (int i = 0; i < g->n_input; i++) {
        const int v = g->input[i], axis = graph_batch_axis(g, v);
        const Role role = graph_role(g->value[v].name);
        const Tensor *t = whole_given(w, g->value[v].name);
        if (!t || (axis >= 0 && t->rank <= axis) || (role_of_token(role) && t->rank < 2))
            return fail(err, EF_UNSUPPORTED, "input '%.*s' has no rows", STR_ARG(g->value[v].name));
        if (role_of_row(role)) own[i] = whole_row(&r->result, g, v, t);
        if (!rows && axis >= 0) size->B = t->dim[axis], rows = true;
        if (!tokens && role_of_token(role)) size->S = t->dim[1], tokens = true;
    }
    size->T = size->B * size->S;
    return true;
}

static bool whole_fill(const void *whole_run, const Graph *g, int i, Tensor *t, Err *err)
{
    const Tensor *given = whole_given(whole_run, g->value[g->input[i]].name);
    if (given->rank != t->rank || memcmp(given->dim, t->dim, (size_t)t->rank * sizeof *t->dim) != 0) {
        char found[128], wanted[128];
        return fail(err, EF_INVALID_INPUT, "Input shape mismatch: input '%.*s': found %s, wanted %s",
                    STR_ARG(g->value[g->input[i]].name), tensor_show(given, found), tensor_show(t, wanted));
    }
    tensor_convert(given, 0, t, 0, tensor_count(t));
    return true;
}

static Named whole_output(Arena *arena, const Graph *g, int v, const Tensor *t)
{
    Named out = { g->value[v].name, *t };
    const size_t bytes = tensor_bytes(t);
    out.t.data = arena_raw(arena, bytes + 1);
    if (bytes) memcpy(out.t.data, t->data, bytes);
    return out;
}

static bool whole_dynamic(Runner *r, const WholeRun *w, const Plan *plan, Named *out, Err *err)
{
    const Graph *g = r->e->graph;
    Inferred at;
    if (!runner_begin_dynamic(r, plan, whole_fill, w, &at, err)) return false;
    at.most = graph_most_bytes(g, &at);
    if (!graph_infer(g, &r->dynamic, &at, err)) return false;
    for (int k = 0; k < r->e->n_output; k++)
        out[k] = whole_output(w->arena, g, r->e->output[k], &at.t[r->e->output[k]]);
    return true;
}

static bool whole_plan(Runner *r, const WholeRun *w, Plan *plan, Named *out, Err *err)
{
    const Graph *g = r->e->graph;
    if (!runner_bind(r, plan, err)) return false;
    for (int i = 0; i < g->n_input; i++)
        if (!whole_fill(w, g, i, &plan->slot[plan->input[i]].t, err)) return false;
    for (int i = 0; i < plan->n_step; i++)
        if (!runner_step(r, plan, &plan->step[i], NULL, err)) return false;
    for (int k = 0; k < r->e->n_output; k++)
        out[k] = whole_output(w->arena, g, r->e->output[k], &plan->slot[plan->output[k]].t);
    return true;
}

bool runner_run_whole(Runner *r, const WholeRun *w, Named *out, Err *err)
{
    Plan *plan;
    Size size;
    arena_reset(&r->result, KEPT_SCRATCH);
    bool ok = whole_size(r, w, &size, err) && runner_plan(r, size, &plan, err) &&
              (plan->dynamic ? whole_dynamic(r, w, plan, out, err) : whole_plan(r, w, plan, out, err));
    return ok || within(err, "Model inference failed");
}

/* SPDX-License-Identifier: Apache-2.0
 * check.c - what any reader of ONNX relies on, whatever the operators are: every value has one
 * origin, every name that is read was made before, opsets are named. */
#include "onnx/onnx.h"

typedef struct CheckScope { /* names visible in a graph; those outside it too */
    Arena *arena;
    Map names;
    const struct CheckScope *up;
    const OnnxModel *model;
} CheckScope;

static bool scope_has(const CheckScope *s, Str name)
{
    for (; s; s = s->up)
        if (map_get(&s->names, name)) return true;
    return false;
}

static bool scope_define(CheckScope *s, Str name, const char *what, Err *err)
{
    if (!name.n) return fail(err, EF_BAD_MODEL, "found %s without a name", what);
    if (map_get(&s->names, name))
        return fail(err, EF_BAD_MODEL, "'%.*s': made twice", (int)MIN(name.n, 120), name.p);
    map_put(&s->names, s->arena, name, s);
    return true;
}

static bool domain_is_imported(const OnnxModel *m, Str domain)
{
    for (int i = 0; i < m->n_opset; i++)
        if (str_eq(m->opset[i].domain, domain)) return true;
    return false;
}

static bool check_graph(Arena *, const OnnxModel *, const OnnxGraph *, const CheckScope *up, Err *);

static bool check_node(CheckScope *s, const OnnxNode *n, Err *err)
{
    if (!n->op.n) return fail(err, EF_BAD_MODEL, "found no operator");
    if (!domain_is_imported(s->model, n->domain))
        return fail(err, EF_BAD_MODEL, "domain '%.*s' is not among the opsets",
                    (int)MIN(n->domain.n, 60), n->domain.p);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i].n && !scope_has(s, n->in[i]))
            return fail(err, EF_BAD_MODEL, "reads '%.*s', which nobody made before",
                        (int)MIN(n->in[i].n, 120), n->in[i].p);
    for (int i = 0; i < n->n_attr; i++)
        for (size_t k = 0; n->attr[i].g && k < n->attr[i].n; k++)
            if (!check_graph(s->arena, s->model, &n->attr[i].g[k], s, err))
                return within(err, "attribute '%.*s'", STR_ARG(n->attr[i].name));
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i].n && !scope_define(s, n->out[i], "a value", err)) return false;
    return true;
}

static bool check_graph(Arena *arena, const OnnxModel *m, const OnnxGraph *g, const CheckScope *up,
                        Err *err)
{
    CheckScope s = { .arena = arena, .up = up, .model = m };
    for (int i = 0; i < g->n_in; i++)
        if (!scope_define(&s, g->in[i].name, "an input", err)) return false;
    for (int i = 0; i < g->n_init; i++) { /* an input may have a default */
        if (map_get(&s.names, g->init[i].name)) continue;
        if (!scope_define(&s, g->init[i].name, "an initializer", err)) return false;
    }
    for (int i = 0; i < g->n_node; i++)
        if (!check_node(&s, &g->node[i], err))
            return within(err, "node %d '%.*s'", i, (int)MIN(g->node[i].name.n, 120),
                          g->node[i].name.p);
    for (int i = 0; i < g->n_out; i++)
        if (!scope_has(&s, g->out[i].name))
            return fail(err, EF_BAD_MODEL, "output '%.*s': nobody makes it",
                        (int)MIN(g->out[i].name.n, 120), g->out[i].name.p);
    return true;
}

bool onnx_check(Arena *arena, const OnnxModel *m, Err *err)
{
    if (!m->n_opset) return fail(err, EF_BAD_MODEL, "found no opset");
    return check_graph(arena, m, &m->graph, NULL, err);
}

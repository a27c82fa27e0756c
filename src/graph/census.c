/* SPDX-License-Identifier: Apache-2.0
 * census.c - which operators a model has, how many of each, and which of them nobody here knows.
 * Branches of If and the functions that are called count too. */
#include "graph.h"

enum { DEEPEST = 32 };

typedef struct Counter {
    Arena *arena;
    const OnnxModel *model;
    Census *to;
    int cap;
    bool *called; /* [n_function]: counted already */
} Counter;

static int64_t version_of(const OnnxOpset *opset, int n, Str domain)
{
    for (int i = 0; i < n; i++)
        if (str_eq(opset[i].domain, domain)) return opset[i].version;
    return domain.n ? 1 : 0;
}

static OpCount *row_of(Counter *c, const OnnxNode *node)
{
    Census *to = c->to;
    for (int i = 0; i < to->n; i++)
        if (str_eq(to->item[i].op, node->op) && str_eq(to->item[i].domain, node->domain))
            return &to->item[i];
    if (to->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 32;
        OpCount *bigger = ARRAY(c->arena, OpCount, c->cap);
        if (to->n) memcpy(bigger, to->item, sizeof *bigger * (size_t)to->n);
        to->item = bigger;
    }
    to->item[to->n] = (OpCount){ .domain = node->domain, .op = node->op, .known = true };
    return &to->item[to->n++];
}

static void count_nodes(Counter *c, const OnnxGraph *g, const OnnxOpset *opset, int n_opset,
                        int depth);

/* A function of the model's own: its nodes count once, however often it is called. */
static bool count_function(Counter *c, const OnnxNode *node, int depth)
{
    for (int i = 0; i < c->model->n_function; i++) {
        const OnnxFunction *f = &c->model->function[i];
        if (!str_eq(f->name, node->op) || !str_eq(f->domain, node->domain)) continue;
        if (!c->called[i]) {
            c->called[i] = true;
            count_nodes(c, &f->body, f->opset, f->n_opset, depth + 1);
        }
        return true;
    }
    return false;
}

static void count_nodes(Counter *c, const OnnxGraph *g, const OnnxOpset *opset, int n_opset,
                        int depth)
{
    for (int i = 0; i < g->n_node && depth < DEEPEST; i++) {
        const OnnxNode *node = &g->node[i];
        const int64_t version = version_of(opset, n_opset, node->domain);
        bool ours = node->domain.n == 0 && (str_is(node->op, "Constant") || str_is(node->op, "If"));
        bool known =
            ours || op_find(node->domain, node->op, version) || count_function(c, node, depth);
        OpCount *row = row_of(c, node);
        row->count++;
        row->known &= known;
        c->to->nodes++;
        c->to->unknown += !known;
        for (int k = 0; k < node->n_attr; k++)
            if (node->attr[k].type == A_GRAPH)
                count_nodes(c, node->attr[k].g, opset, n_opset, depth + 1);
    }
}

Census graph_census(Arena *arena, const OnnxModel *m)
{
    Census census = { 0 };
    Counter c = { .arena = arena, .model = m, .to = &census };
    c.called = ARRAY(arena, bool, m->n_function);
    count_nodes(&c, &m->graph, m->opset, m->n_opset, 0);
    return census;
}

/* SPDX-License-Identifier: Apache-2.0
 * known.c - values that shapes alone decide: which they are, and what they are at a given size. What
 * makes them is run as it stands, so nobody has to know how an exporter wrote it. */
#include "graph.h"

static const size_t KNOWN_BYTES = (size_t)5 << 29;

static bool reads_dims_only(const GraphNode *n)
{
    return graph_is(n, "Shape") || graph_is(n, "Size");
}

bool *graph_carried(const Graph *g, Arena *arena)
{
    bool *carried = ARRAY(arena, bool, g->n_value);
    for (int i = 0; i < g->n_input; i++) /* ROLE_ALL is known when a run is planned */
        carried[g->input[i]] = graph_role(g->value[g->input[i]].name) != ROLE_ALL;
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        bool any = false;
        for (int k = 0; n->op && k < n->n_in; k++) any |= n->in[k] >= 0 && carried[n->in[k]];
        for (int k = 0; n->op && k < n->n_out; k++)
            if (n->out[k] >= 0) carried[n->out[k]] = any && !reads_dims_only(n);
    }
    return carried;
}

/* Of a value that Shape reads, only the dims matter: where they have names, its makers are not run. */
static bool dims_suffice(const Symbols *s, const GraphNode *n)
{
    if (!graph_is(n, "Shape") || !s->known) return false;
    const Tensor *t = &s->t[n->in[0]];
    if (t->rank < 0) return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] == DIM_UNKNOWN || t->dim[i] <= DIM_NAMED) return false;
    return true;
}

bool *graph_makers(const Graph *g, Arena *arena, const Symbols *s, bool *wanted)
{
    bool *makers = ARRAY(arena, bool, g->n_node);
    for (int i = g->n_node - 1; i >= 0; i--) {
        const GraphNode *n = g->node[i];
        for (int k = 0; n->op && k < n->n_out; k++)
            makers[i] |= n->out[k] >= 0 && wanted[n->out[k]];
        if (!makers[i] || dims_suffice(s, n)) continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] >= 0) wanted[n->in[k]] = true;
    }
    return makers;
}

/* Gives the values whose dims suffice their dims at this size. */
static void set_dims(const Graph *g, const Symbols *s, const bool *makers, int64_t B, int64_t S,
                     Inferred *at)
{
    for (int i = 0; i < g->n_node; i++) {
        if (!makers[i] || !dims_suffice(s, g->node[i])) continue;
        int v = g->node[i]->in[0];
        if (g->value[v].constant || g->value[v].input) continue;
        at->t[v] = s->t[v];
        at->t[v].data = NULL;
        for (int d = 0; d < s->t[v].rank; d++) {
            int64_t dim = s->t[v].dim[d];
            at->t[v].dim[d] = dim == DIM_BATCH ? B : dim == DIM_SEQUENCE ? S : dim;
        }
    }
}

bool graph_make(const Graph *g, Arena *arena, const Symbols *s, const bool *makers, int64_t B,
                int64_t S, KnownMask *mask, Inferred *at)
{
    Err ignored;
    *at = graph_inferred(g, arena);
    at->needs = makers;
    at->limit = MAX(B * 64 * S * S, (int64_t)1 << 24);
    at->most = KNOWN_BYTES;
    for (int i = 0; i < g->n_input; i++) {
        Tensor *t = &at->t[g->input[i]];
        if (!graph_bind_input(g, g->input[i], B, S, t, &ignored)) return false;
        if (!mask || graph_role(g->value[g->input[i]].name) != ROLE_MASK) continue;
        t->data = arena_raw(arena, tensor_bytes(t));
        for (int64_t k = 0; k < B * S; k++) {
            double live = mask((int)(k / S), S, k % S);
            tensor_store(t, k, 1, &live);
        }
    }
    set_dims(g, s, makers, B, S, at);
    return graph_infer(g, arena, at, &ignored) && !at->dynamic;
}

bool graph_known_at(const Graph *g, Arena *arena, const Symbols *s, int value, int64_t B, int64_t S,
                    Tensor *out)
{
    Inferred at;
    bool *wanted = ARRAY(arena, bool, g->n_value);
    wanted[value] = true;
    if (g->value[value].constant) return *out = g->value[value].t, true;
    if (!graph_make(g, arena, s, graph_makers(g, arena, s, wanted), B, S, NULL, &at)) return false;
    *out = at.t[value];
    return out->data != NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * mask.c - exporters write the attention mask in a dozen ways, so it is not parsed but probed: the
 * subgraph that makes it is run on sample masks (a full row, shorter rows, one token, holes). Plain
 * means: exactly 0 for live keys, very negative for the others, whatever the query. Then attention
 * over rows without padding needs no mask at all. The verdict holds up to the probed length, which
 * lies beyond every integer constant of the subgraph (a window of 64 is invisible at 64). */
#include "graph.h"

enum { PROBE_ROWS = 4, LEAST_LENGTH = 520, MOST_LENGTH = 4104 };
static const size_t PROBE_BYTES = (size_t)5 << 29;
static const float HIDDEN = -1e4f; /* exp(score - 1e4) is 0 for any score a model makes */

/* Of a value that Shape reads, only the dims matter: where they have names, its makers are not run. */
static bool dims_suffice(const Symbols *s, const GraphNode *n)
{
    if (!graph_is(n, "Shape") || !s->known) return false;
    const Tensor *t = &s->t[n->in[0]];
    if (t->rank < 0) return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] == DIM_UNKNOWN) return false;
    return true;
}

/* Nodes from which the masks are made. */
static bool *mask_nodes(const Graph *g, Arena *arena, const Symbols *s, bool *any)
{
    bool *needed = ARRAY(arena, bool, g->n_node), *value = ARRAY(arena, bool, g->n_value);
    *any = false;
    for (int i = g->n_node - 1; i >= 0; i--) {
        const GraphNode *n = g->node[i];
        if (graph_mask_of(n) >= 0) value[graph_mask_of(n)] = *any = true;
        for (int k = 0; n->op && k < n->n_out; k++) needed[i] |= n->out[k] >= 0 && value[n->out[k]];
        if (!needed[i] || dims_suffice(s, n)) continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] >= 0) value[n->in[k]] = true;
    }
    return needed;
}

static int64_t largest_constant(const Graph *g, const bool *needed)
{
    int64_t most = 0;
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; needed[i] && k < g->node[i]->n_in; k++) {
            int v = g->node[i]->in[k];
            const Tensor *t = v >= 0 && g->value[v].constant ? &g->value[v].t : NULL;
            for (int d = 0; t && d < t->rank; d++) most = MAX(most, t->dim[d]);
            if (!t || (t->type != T_I64 && t->type != T_I32)) continue;
            for (int64_t j = 0; j < tensor_count(t); j++) {
                int64_t c = tensor_get_int(t, j);
                if (c < MOST_LENGTH) most = MAX(most, c); /* larger ones mean "to the end" */
            }
        }
    return most;
}

static bool live(int row, int64_t S, int64_t key)
{
    switch (row) {
    case 0: return true;
    case 1: return key < S - S / 3;
    case 2: return key < 1;
    default: return key < S / 2 && key % 5 != 3; /* holes */
    }
}

static void fill_mask(Tensor *t, int64_t S)
{
    for (int64_t i = 0; i < PROBE_ROWS * S; i++) {
        bool on = live((int)(i / S), S, i % S);
        if (t->type == T_I64) ((int64_t *)t->data)[i] = on;
        else if (t->type == T_I32) ((int32_t *)t->data)[i] = on;
        else ((float *)t->data)[i] = on;
    }
}

/* [PROBE_ROWS * S]; by_count: as a mask sees it that is made from the number of live keys, which
 * takes a row with holes for a shorter one (we make no holes). */
static const bool *live_keys(Arena *arena, int64_t S, bool by_count)
{
    bool *on = ARRAY(arena, bool, PROBE_ROWS * S);
    for (int r = 0; r < PROBE_ROWS; r++)
        for (int64_t k = 0, count = 0; k < S; k++)
            if (live(r, S, k)) on[r * S + (by_count ? count++ : k)] = true;
    return on;
}

/* t is broadcast to [PROBE_ROWS, H, S, S] */
static bool is_plain(const Tensor *t, int64_t S, const bool *on)
{
    if (!t->data || t->type != T_F32 || t->rank < 1 || t->rank > 4 || t->dim[t->rank - 1] != S)
        return false;
    int64_t dim[4] = { 1, 1, 1, S };
    for (int d = 0; d < t->rank; d++) dim[4 - t->rank + d] = t->dim[d];
    if ((dim[0] != PROBE_ROWS && dim[0] != 1) || (dim[2] != S && dim[2] != 1)) return false;
    if (dim[0] == 1) return false; /* the same for every row: a bias, not a padding mask */
    const float *p = t->data;
    for (int64_t r = 0; r < dim[0]; r++, on += S)
        for (int64_t h = 0; h < dim[1]; h++)
            for (int64_t q = 0; q < dim[2]; q++, p += S) {
                if (dim[2] == S && !on[q]) continue; /* nobody reads a dead query */
                for (int64_t k = 0; k < S; k++)
                    if (on[k] ? p[k] != 0 : !(p[k] <= HIDDEN)) return false;
            }
    return true;
}

static bool masks_plain(const Graph *g, Arena *arena, const Inferred *at, int64_t S)
{
    const bool *on = live_keys(arena, S, false), *counted = live_keys(arena, S, true);
    for (int i = 0; i < g->n_node; i++) {
        int mask = graph_mask_of(g->node[i]);
        if (mask >= 0 && !is_plain(&at->t[mask], S, on) && !is_plain(&at->t[mask], S, counted))
            return false;
    }
    return true;
}

/* Gives the values whose dims suffice their dims at this size. */
static void set_dims(const Graph *g, const Symbols *s, const bool *needed, int64_t S, Inferred *at)
{
    for (int i = 0; i < g->n_node; i++) {
        if (!needed[i] || !dims_suffice(s, g->node[i])) continue;
        int v = g->node[i]->in[0];
        if (g->value[v].constant || g->value[v].input) continue;
        at->t[v] = s->t[v];
        at->t[v].data = NULL;
        for (int d = 0; d < s->t[v].rank; d++) {
            int64_t dim = s->t[v].dim[d];
            at->t[v].dim[d] = dim == DIM_BATCH ? PROBE_ROWS : dim == DIM_SEQUENCE ? S : dim;
        }
    }
}

static bool probe(const Graph *g, Arena *arena, const Symbols *s, const bool *needed, int64_t S)
{
    Inferred at = graph_inferred(g, arena);
    at.needs = needed;
    at.limit = PROBE_ROWS * 64 * S * S;
    at.most = PROBE_BYTES;
    Err ignored;
    for (int i = 0; i < g->n_input; i++) {
        Tensor *t = &at.t[g->input[i]];
        if (!graph_bind_input(g, g->input[i], PROBE_ROWS, S, t, &ignored)) return false;
        if (!str_is(g->value[g->input[i]].name, "attention_mask")) continue;
        t->data = arena_raw(arena, tensor_bytes(t));
        fill_mask(t, S);
    }
    set_dims(g, s, needed, S, &at);
    return graph_infer(g, arena, &at, &ignored) && !at.dynamic && masks_plain(g, arena, &at, S);
}

/* A bias of each head is no padding mask, and large: it is not even tried. */
static bool by_head(const Graph *g, const Symbols *s)
{
    for (int i = 0; s->known && i < g->n_node; i++) {
        int mask = graph_mask_of(g->node[i]);
        if (mask >= 0 && s->t[mask].rank == 4 && s->t[mask].dim[1] > 1) return true;
    }
    return false;
}

MaskKind graph_probe_mask(const Graph *g, int64_t S)
{
    Arena scratch = { 0 };
    Symbols s;
    Err ignored;
    bool plain = graph_symbols(g, &scratch, &s, &ignored);
    if (plain) {
        bool any, *needed = mask_nodes(g, &scratch, &s, &any);
        plain = !any || (!by_head(g, &s) && probe(g, &scratch, &s, needed, S));
    }
    arena_free(&scratch);
    return plain ? MASK_PLAIN : MASK_UNPROVED;
}

bool pass_mask(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { 0 };
    Symbols s;
    Err ignored; /* no shapes, no verdict: the graph runs padded */
    if (graph_symbols(g, &scratch, &s, &ignored)) {
        bool any, *needed = mask_nodes(g, &scratch, &s, &any);
        int64_t S =
            MIN(MAX(largest_constant(g, needed) + 8, (int64_t)LEAST_LENGTH), (int64_t)MOST_LENGTH);
        g->mask = (MaskVerdict){ graph_probe_mask(g, S), any ? S : INT32_MAX };
    }
    arena_free(&scratch);
    return true;
}

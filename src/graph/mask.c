/* SPDX-License-Identifier: Apache-2.0
 * mask.c - exporters write the attention mask in a dozen ways, so it is not parsed but probed: the
 * subgraph that makes it is run on sample masks (a full row, shorter rows, one token, holes). What is
 * looked for: dead keys are very negative, and what live keys get depends on nothing but the head and
 * the distance from the query. Always 0: padding only. 0 up to a distance and then very negative: a
 * window. Anything else: a bias by distance (MPNet's buckets, a causal mask), kept as a table. Then
 * attention over rows without padding needs no mask tensor. The same is asked of the indices of
 * relative positions (DeBERTa).
 *
 * The verdict holds up to the probed length, which lies beyond every integer constant of the subgraph
 * (a window of 64 is invisible at 64); longer rows are probed again, and must go on as the tables
 * end. */
#include "graph.h"

enum { PROBE_ROWS = 4, LEAST_LENGTH = 520, MOST_LENGTH = 4104 };
static const float HIDDEN = -1e4f; /* exp(score - 1e4) is 0 for any score a model makes */

/* ---- what is probed ---- */
static const int probed[] = { ATT_MASK, ATT_C2P_AT, ATT_P2C_AT };

static bool *probe_makers(const Graph *g, Arena *arena, const Symbols *s, bool *any)
{
    bool *wanted = ARRAY(arena, bool, g->n_value);
    *any = false;
    for (int i = 0; i < g->n_node; i++)
        for (size_t k = 0; graph_attends(g->node[i]) && k < COUNT(probed); k++) {
            int v = graph_input(g->node[i], probed[k]);
            if (v >= 0) wanted[v] = *any = true;
        }
    return graph_makers(g, arena, s, wanted);
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

/* ---- a mask by distance ---- */
typedef struct Mask { /* of PROBE_ROWS rows, broadcast to [PROBE_ROWS, H, S, S] */
    const float *p;
    int64_t H, queries, S;
    float *table; /* [H][2 S - 1]: by key - query */
} Mask;

static bool read_mask(const Tensor *t, Arena *arena, int64_t S, Mask *m)
{
    if (!t->data || t->type != T_F32 || t->rank < 1 || t->rank > 4 || t->dim[t->rank - 1] != S)
        return false;
    int64_t dim[4] = { 1, 1, 1, S };
    for (int d = 0; d < t->rank; d++) dim[4 - t->rank + d] = t->dim[d];
    if (dim[0] != PROBE_ROWS || (dim[2] != S && dim[2] != 1)) return false;
    *m = (Mask){ t->data, dim[1], dim[2], S, ARRAY(arena, float, dim[1] * (2 * S - 1)) };
    for (int64_t h = 0; h < m->H && m->queries == S; h++) { /* of the row without padding */
        const float *p = m->p + h * S * S;
        for (int64_t d = 0; d < S; d++) {
            m->table[h * (2 * S - 1) + S - 1 + d] = p[d];
            m->table[h * (2 * S - 1) + S - 1 - d] = p[d * S];
        }
    }
    return true;
}

static bool same_query(const float *p, const float *by_distance, const bool *on, int64_t S)
{
    for (int64_t k = 0; k < S; k++) {
        bool gone = !(p[k] > HIDDEN);
        if (on[k] ? p[k] != by_distance[k] && !(gone && by_distance[k] <= HIDDEN) : !gone)
            return false;
    }
    return true;
}

/* The table tells all of the mask. */
static bool by_distance(const Mask *m, const bool *on)
{
    const int64_t S = m->S;
    const float *p = m->p;
    for (int r = 0; r < PROBE_ROWS; r++, on += S)
        for (int64_t h = 0; h < m->H; h++)
            for (int64_t q = 0; q < m->queries; q++, p += S) {
                if (m->queries == S && !on[q]) continue; /* nobody reads a dead query */
                if (!same_query(p, m->table + h * (2 * S - 1) + S - 1 - q, on, S)) return false;
            }
    for (int64_t h = 0; h < m->H; h++) /* a token sees itself */
        if (!(m->table[h * (2 * S - 1) + S - 1] > HIDDEN)) return false;
    return true;
}

/* 0 up to that distance, hidden beyond; 0: no window. */
static int64_t window_of(const Mask *m)
{
    const int64_t S = m->S;
    const float *middle = m->table + S - 1;
    int64_t w = 0;
    while (w + 1 < S && middle[w + 1] == 0) w++;
    if (w == 0 || w == S - 1) return 0;
    for (int64_t h = 0; h < m->H; h++, middle += 2 * S - 1)
        for (int64_t d = 1 - S; d < S; d++)
            if (d >= -w && d <= w ? middle[d] != 0 : !(middle[d] <= HIDDEN)) return 0;
    return w;
}

static bool is_zero(const Mask *m)
{
    for (int64_t i = 0; i < m->H * (2 * m->S - 1); i++)
        if (m->table[i] != 0) return false;
    return true;
}

/* ---- an index by distance ---- */
/* t is [..., S, S] and depends on row - column only: to table[2 S - 1]. */
static bool index_by_distance(const Tensor *t, int64_t S, int64_t P, int32_t *table)
{
    if (!t->data || (t->type != T_I64 && t->type != T_I32) || t->rank < 2 ||
        t->dim[t->rank - 1] != S || t->dim[t->rank - 2] != S)
        return false;
    for (int64_t d = 0; d < S; d++) {
        table[S - 1 - d] = (int32_t)tensor_get_int(t, d);
        table[S - 1 + d] = (int32_t)tensor_get_int(t, d * S);
    }
    for (int64_t d = 0; d < 2 * S - 1; d++)
        if (table[d] < 0 || table[d] >= P) return false;
    int64_t n = tensor_count(t);
    for (int64_t i = 0; i < n; i++)
        if (tensor_get_int(t, i) != table[S - 1 + i / S % S - i % S]) return false;
    return true;
}

/* ---- the verdict of one node ---- */
typedef struct Verdict {
    int64_t S;
    Mask mask; /* p NULL: none */
    int64_t window;
    bool biased;
    int32_t *index[2]; /* c2p, p2c: [2 S - 1] or NULL */
} Verdict;

static bool judge(const GraphNode *n, Arena *arena, const Inferred *at, int64_t S, Verdict *to)
{
    *to = (Verdict){ .S = S };
    int mask = graph_input(n, ATT_MASK);
    if (mask >= 0) {
        if (!read_mask(&at->t[mask], arena, S, &to->mask)) return false;
        if (!by_distance(&to->mask, live_keys(arena, S, false)) &&
            !by_distance(&to->mask, live_keys(arena, S, true)))
            return false;
        to->window = window_of(&to->mask);
        to->biased = !to->window && !is_zero(&to->mask);
    }
    for (int k = 0; k < 2; k++) {
        int v = graph_input(n, k ? ATT_P2C_AT : ATT_C2P_AT);
        if (v < 0) continue;
        to->index[k] = ARRAY(arena, int32_t, 2 * S - 1);
        if (!index_by_distance(&at->t[v], S, onnx_int(n->node, "positions", 0), to->index[k]))
            return false;
    }
    return true;
}

/* An entry of a kept table, which goes on as it ends. */
static int64_t place(const Tensor *table, int64_t distance)
{
    int64_t n = table->dim[table->rank - 1], R = (n + 1) / 2;
    return MIN(MAX(distance + R - 1, (int64_t)0), n - 1);
}

static bool same_bias(const Tensor *kept, const Verdict *v)
{
    if (!v->biased || kept->rank != 2 || kept->dim[0] != v->mask.H) return false;
    for (int64_t h = 0; h < v->mask.H; h++)
        for (int64_t d = 1 - v->S; d < v->S; d++) {
            float is = v->mask.table[h * (2 * v->S - 1) + v->S - 1 + d],
                  was = ((const float *)kept->data)[h * kept->dim[1] + place(kept, d)];
            if (is != was && !(is <= HIDDEN && was <= HIDDEN)) return false;
        }
    return true;
}

/* What was found at this length is what the node says already. */
static bool agrees(const Graph *g, const GraphNode *n, const Verdict *v)
{
    int bias = graph_input(n, ATT_BIAS);
    if (onnx_int(n->node, "window", 0) != v->window || (bias >= 0) != v->biased) return false;
    if (bias >= 0 && !same_bias(&g->value[bias].t, v)) return false;
    for (int k = 0; k < 2; k++) {
        int by = graph_input(n, k ? ATT_P2C_BY : ATT_C2P_BY);
        if ((by >= 0) != (v->index[k] != NULL)) return false;
        for (int64_t d = 1 - v->S; by >= 0 && d < v->S; d++)
            if (((const int32_t *)g->value[by].t.data)[place(&g->value[by].t, d)] !=
                v->index[k][v->S - 1 + d])
                return false;
    }
    return true;
}

/* ---- keeping it ---- */
static int kept_table(Graph *g, const GraphNode *n, const char *what, DType type, int64_t rows,
                      int64_t columns, const void *data)
{
    Tensor t = { .type = type, .rank = rows ? 2 : 1, .dim = { rows ? rows : columns, columns } };
    t.data = memcpy(arena_raw(g->arena, tensor_bytes(&t)), data, tensor_bytes(&t));
    for (int v = g->n_value - 1; v >= 0; v--) { /* layers share theirs */
        const GraphValue *old = &g->value[v];
        if (old->constant && tensor_same_shape(&old->t, &t) && old->t.type == type &&
            memcmp(old->t.data, data, tensor_bytes(&t)) == 0)
            return v;
    }
    return graph_add_constant(
        g, str_format(g->arena, "%.*s#%s%d", STR_ARG(n->node->name), what, g->n_value), &t);
}

static void widen(Graph *g, GraphNode *n)
{
    int *in = ARRAY(g->arena, int, ATT_INPUTS);
    for (int k = 0; k < ATT_INPUTS; k++) in[k] = graph_input(n, k);
    n->in = in;
    n->n_in = ATT_INPUTS;
}

static void keep(Graph *g, GraphNode *n, const Verdict *v)
{
    int64_t columns = 2 * v->S - 1;
    if (v->window) node_set_int(g, n, "window", v->window);
    if (!v->biased && !v->index[0] && !v->index[1]) return;
    widen(g, n);
    if (v->biased)
        n->in[ATT_BIAS] = kept_table(g, n, "bias", T_F32, v->mask.H, columns, v->mask.table);
    for (int k = 0; k < 2; k++)
        if (v->index[k])
            n->in[k ? ATT_P2C_BY : ATT_C2P_BY] =
                kept_table(g, n, "by", T_I32, 0, columns, v->index[k]);
}

/* ---- all nodes ---- */
static bool probe(const Graph *g, Arena *arena, const Symbols *s, const bool *makers, int64_t S,
                  Verdict *to)
{
    Inferred at;
    if (!graph_make(g, arena, s, makers, PROBE_ROWS, S, live, &at)) return false;
    for (int i = 0; i < g->n_node; i++)
        if (graph_attends(g->node[i]) && !judge(g->node[i], arena, &at, S, &to[i])) return false;
    return true;
}

MaskKind graph_probe_mask(const Graph *g, int64_t S)
{
    Arena scratch = { 0 };
    Symbols s;
    Err ignored;
    bool ok = graph_symbols(g, &scratch, &s, &ignored), any;
    if (ok) {
        const bool *makers = probe_makers(g, &scratch, &s, &any);
        Verdict *v = ARRAY(&scratch, Verdict, g->n_node);
        ok = !any || probe(g, &scratch, &s, makers, S, v);
        for (int i = 0; ok && any && i < g->n_node; i++)
            ok = !graph_attends(g->node[i]) || agrees(g, g->node[i], &v[i]);
    }
    arena_free(&scratch);
    return ok ? MASK_PLAIN : MASK_UNPROVED;
}

bool pass_mask(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { 0 };
    Symbols s;
    Err ignored; /* no shapes, no verdict: the graph runs padded */
    bool any;
    if (graph_symbols(g, &scratch, &s, &ignored)) {
        const bool *makers = probe_makers(g, &scratch, &s, &any);
        Verdict *v = ARRAY(&scratch, Verdict, g->n_node);
        int64_t S = MIN(MAX(largest_constant(g, makers) + 8, (int64_t)LEAST_LENGTH),
                        (int64_t)MOST_LENGTH);
        if (g->fixed_S) S = MIN(S, g->fixed_S); /* no row is longer */
        bool proved = !any || probe(g, &scratch, &s, makers, S, v);
        for (int i = 0; proved && any && i < g->n_node; i++)
            if (graph_attends(g->node[i])) keep(g, g->node[i], &v[i]);
        g->mask = (MaskVerdict){ proved ? MASK_PLAIN : MASK_UNPROVED, any ? S : INT32_MAX };
    }
    arena_free(&scratch);
    return true;
}

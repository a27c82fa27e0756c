/* SPDX-License-Identifier: Apache-2.0
 * fuse_embed.c - rows of tables (words, segments, positions), added and normed, become one Embed:
 *
 *   LayerNorm(Gather(words, ids) + Gather(segments, ids) + rows of a table by position)
 *
 * Rows by position are made from shapes alone, in as many ways as there are exporters: what they are is
 * compared with the table they come from, at the shortest and at the longest length it has rows for. */
#include "graph.h"

enum { MOST_TERMS = 4, MOST_STEPS = 8, SHORT = 7, MOST_FROM = 2 }; /* RoBERTa begins at row 2 */

typedef struct Term {
    int table, ids; /* ids -1: by position, from row `from` on */
    int64_t from;
    int scale; /* of a table of bytes, else -1 */
    int64_t zero;
} Term;

typedef struct Embed {
    Graph *g;
    Arena arena;
    Symbols s;
    const bool *carried;
    const int *uses;
    Term term[MOST_TERMS];
    int n;
} Embed;

static bool is_table(const Graph *g, int v)
{
    return v >= 0 && g->value[v].constant && g->value[v].t.rank == 2 &&
           g->value[v].t.type == T_F32 && tensor_count(&g->value[v].t) > 0;
}

/* Rows of a table of floats, or (fuse_quantized.c) of bytes. */
static bool looks_up(const Graph *g, const GraphNode *n)
{
    return graph_is(n, "Lookup") || (graph_is(n, "Gather") && is_table(g, n->in[0]) &&
                                     onnx_int(n->node, "axis", 0) == 0);
}

static Term term_of(const GraphNode *n)
{
    return (Term){ n->in[0], n->in[1], 0, graph_input(n, 2), onnx_int(n->node, "zero", 0) };
}

/* The rows that a value made from shapes takes: a look at them, or a table itself (-1: none). */
static bool rows_behind(const Embed *e, int v, Term *to)
{
    for (int step = 0; step < MOST_STEPS; step++) {
        const GraphNode *n = graph_producer(e->g, v);
        if (is_table(e->g, v)) return *to = (Term){ v, -1, 0, -1, 0 }, true;
        if (graph_is(n, "Lookup")) return *to = term_of(n), to->ids = -1, true;
        if (!n || n->n_in < 1 || n->in[0] < 0) return false;
        v = n->in[0];
    }
    return false;
}

/* v at length S is S rows of the table. */
static bool is_rows(Embed *e, int v, const Term *term, int64_t from, int64_t S)
{
    Tensor t;
    const Tensor *table = &e->g->value[term->table].t;
    const int64_t C = table->dim[1];
    if (!graph_known_at(e->g, &e->arena, &e->s, v, 1, S, &t) || tensor_count(&t) != S * C)
        return false;
    const float *x = t.data;
    if (term->scale < 0)
        return memcmp(x, (const float *)table->data + from * C, sizeof *x * (size_t)(S * C)) == 0;
    const float *scale = e->g->value[term->scale].t.data;
    for (int64_t i = 0; i < S * C; i++) {
        int64_t q = tensor_get_int(table, from * C + i) - term->zero;
        if (x[i] != scale[from + i / C] * (float)q) return false;
    }
    return true;
}

static bool by_position(Embed *e, int v, Term *to)
{
    const Tensor *named = &e->s.t[v];
    if (!rows_behind(e, v, to) || e->carried[v] || named->rank < 2 || named->type != T_F32 ||
        named->dim[named->rank - 2] != DIM_SEQUENCE)
        return false;
    for (int i = 0; i < named->rank - 2; i++)
        if (named->dim[i] != 1) return false;
    int64_t rows = e->g->value[to->table].t.dim[0];
    for (to->from = 0; to->from <= MOST_FROM && to->from + SHORT <= rows; to->from++)
        if (is_rows(e, v, to, to->from, SHORT)) return is_rows(e, v, to, to->from, rows - to->from);
    return false;
}

static bool by_id(const Embed *e, int v, Term *to)
{
    const GraphNode *n = graph_producer(e->g, v);
    if (!looks_up(e->g, n) || e->uses[v] != 1 || n->in[1] < 0 || !e->carried[n->in[1]] ||
        !graph_leads(&e->s.t[n->in[1]]) || e->s.t[n->in[1]].rank != 2)
        return false;
    *to = term_of(n);
    return true;
}

/* Leaves of a tree of Adds, in the order in which they are added. */
static bool collect(Embed *e, int v, int depth)
{
    const GraphNode *n = graph_producer(e->g, v);
    if (graph_is(n, "Add") && depth > 0 && e->uses[v] == 1 && e->carried[v])
        return collect(e, n->in[0], depth - 1) && collect(e, n->in[1], depth - 1);
    if (e->n == MOST_TERMS || v < 0) return false;
    Term *to = &e->term[e->n++];
    return by_id(e, v, to) || by_position(e, v, to);
}

/* Everybody who reads this shape asks for its first or second number. */
static bool asks_for_rows(const Graph *g, int shape)
{
    double index;
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        for (int k = 0; n->op && k < n->n_in; k++)
            if (n->in[k] == shape &&
                (k || !graph_is(n, "Gather") || onnx_int(n->node, "axis", 0) != 0 ||
                 !graph_scalar(g, n->in[1], &index) || (index != 0 && index != 1)))
                return false;
    }
    return !g->value[shape].output;
}

/* The shape of rows looked up begins as that of the ids does: then the rows have one reader less. */
static void ask_ids(Embed *e)
{
    for (int i = 0; i < e->g->n_node; i++) {
        GraphNode *n = e->g->node[i];
        if (!graph_is(n, "Shape") || n->in[0] < 0 || onnx_attr(n->node, "end") ||
            onnx_int(n->node, "start", 0) != 0)
            continue;
        const GraphNode *rows = graph_producer(e->g, n->in[0]);
        if (looks_up(e->g, rows) && graph_leads(&e->s.t[rows->in[1]]) &&
            asks_for_rows(e->g, n->out[0]))
            n->in[0] = rows->in[1];
    }
}

static void fuse(Embed *e, int i)
{
    Graph *g = e->g;
    const GraphNode *norm = g->node[i];
    e->n = 0;
    if (!graph_is(norm, "LayerNorm") || !collect(e, norm->in[0], MOST_TERMS)) return;
    int64_t C = g->value[e->term[0].table].t.dim[1];
    int in[2 + 3 * MOST_TERMS], n_in = 2;
    int64_t rows[MOST_TERMS], from[MOST_TERMS], zero[MOST_TERMS];
    bool tokens = false, zeros = false;
    in[0] = norm->in[1], in[1] = graph_input(norm, 2);
    for (int k = 0; k < e->n; k++) {
        const Term *t = &e->term[k];
        if (g->value[t->table].t.dim[1] != C) return;
        tokens |= t->ids >= 0;
        zeros |= t->zero != 0;
        rows[k] = g->value[t->table].t.dim[0], from[k] = t->from, zero[k] = t->zero;
        in[n_in++] = t->table, in[n_in++] = t->ids, in[n_in++] = t->scale;
    }
    if (!tokens) return;
    float eps = onnx_float(norm->node, "epsilon", 1e-5f);
    GraphNode *made = graph_replace(g, i, "Embed", in, n_in, norm->out[0]);
    node_set_float(g, made, "epsilon", eps);
    node_set_int(g, made, "K", C);
    node_set_ints(g, made, "rows", rows, e->n);
    node_set_ints(g, made, "from", from, e->n);
    if (zeros) node_set_ints(g, made, "zero", zero, e->n);
}

bool pass_embed(Graph *g, Err *err)
{
    (void)err;
    Err ignored; /* without shapes positions cannot be told */
    Embed e = { .g = g };
    bool known = graph_symbols(g, &e.arena, &e.s, &ignored) && e.s.known;
    if (known) ask_ids(&e);
    e.carried = graph_carried(g, &e.arena);
    e.uses = graph_uses(g, &e.arena);
    for (int i = 0; known && i < g->n_node; i++) fuse(&e, i);
    arena_free(&e.arena);
    graph_remove_dead(g);
    return true;
}

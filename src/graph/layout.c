/* SPDX-License-Identifier: Apache-2.0
 * layout.c - ragged is earned per graph. A batch can be stored as its real tokens, [1, T, ...] instead
 * of [B, S, ...], if everything between the tokens and the output works on each token alone, is the
 * fused Attention with a plain mask, or makes one vector of a row's tokens (ends.c). One node that needs
 * the padded form, and the graph runs padded: rows of equal length together, others one by one.
 *
 * Integers made along whole rows (a CumSum of live tokens) are computed padded, if rows.c proves them.
 * Values made from shapes alone (position ids, their embeddings) are computed for the longest row and
 * spread to the tokens; they must not depend on how long that row is, which is tried out. */
#include "graph.h"

enum { SMALL_S = 5, LARGE_S = 17 }; /* lengths at which position values are compared */

bool graph_leads(const Tensor *t)
{
    return t->rank >= 2 && t->dim[0] == DIM_BATCH && t->dim[1] == DIM_SEQUENCE;
}

bool layout_skips(const GraphNode *n, int k)
{
    return graph_attends(n) && (k == ATT_MASK || k == ATT_C2P_AT || k == ATT_P2C_AT);
}

static bool without_rows(const Tensor *t)
{
    if (t->rank < 0) return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0) return false;
    return true;
}

/* Broadcast against [B, S, ...] of that rank: no batch, and (position) the sequence or nothing at axis 1. */
static bool broadcasts(const Tensor *t, int rank, bool *position)
{
    *position = false;
    if (t->rank < 0 || t->rank > rank) return false;
    for (int i = 0; i < t->rank; i++) {
        int axis = rank - t->rank + i;
        if (axis == 1 && t->dim[i] == DIM_SEQUENCE) *position = true;
        else if (axis < 2 ? t->dim[i] != 1 : t->dim[i] < 0) return false;
    }
    return true;
}

bool graph_per_row(const Tensor *t, int rank)
{
    if (t->rank != rank || rank < 2 || t->dim[0] != DIM_BATCH || t->dim[1] != 1) return false;
    for (int i = 2; i < rank; i++)
        if (t->dim[i] < 0) return false;
    return true;
}

bool graph_of_row(const Tensor *t)
{
    if (t->rank < 1 || t->dim[0] != DIM_BATCH) return false;
    for (int i = 1; i < t->rank; i++)
        if (t->dim[i] < 0) return false;
    return true;
}

static void mark_needed(const Graph *g, Arena *arena, const int *outputs, int n_out, Layout *l)
{
    bool *wanted = ARRAY(arena, bool, g->n_value);
    for (int i = 0; i < n_out; i++) wanted[outputs[i]] = true;
    for (int i = g->n_node - 1; i >= 0; i--) {
        const GraphNode *n = g->node[i];
        for (int k = 0; n->op && k < n->n_out; k++)
            l->needed[i] |= n->out[k] >= 0 && wanted[n->out[k]];
        for (int k = 0; l->needed[i] && k < n->n_in; k++)
            if (n->in[k] >= 0 && !layout_skips(n, k)) wanted[n->in[k]] = true;
    }
}

/* Where a node names no axis, the last one is meant; before opset 13 Softmax took all from the second
 * on. */
static bool default_inside(const GraphNode *n, int rank)
{
    bool all = graph_is(n, "Softmax") || graph_is(n, "LogSoftmax") || graph_is(n, "Hardmax");
    return rank > 2 && !(all && n->opset < 13);
}

/* A Slice takes the same part of every token, whatever the size of the batch. */
static bool slices_alike(const Symbols *s, const GraphNode *n)
{
    for (int k = 1; graph_is(n, "Slice") && k < n->n_in; k++)
        if (n->in[k] >= 0 && !s->t[n->in[k]].data) return false;
    return true;
}

/* Axes that a node works along all lie inside a token. */
static bool axes_inside(const Graph *g, const Symbols *s, const GraphNode *n)
{
    int rank = s->t[n->in[0]].rank;
    size_t n_axes;
    const int64_t *list = onnx_ints(n->node, "axes", &n_axes);
    const OnnxAttr *one = onnx_attr(n->node, "axis");
    if (list) {
        for (size_t i = 0; i < n_axes; i++)
            if ((list[i] < 0 ? list[i] + rank : list[i]) < 2) return false;
        return true;
    }
    if (one) return (one->i < 0 ? one->i + rank : one->i) >= 2;
    bool by_input = graph_is(n, "Slice") || str_starts(str_of(n->op->name), "Reduce");
    if (!by_input) return default_inside(n, rank);
    int axes = graph_is(n, "Slice") ? 3 : 1;
    if (n->n_in <= axes || n->in[axes] < 0 || !g->value[n->in[axes]].constant) return false;
    const Tensor *t = &g->value[n->in[axes]].t;
    for (int64_t i = 0; i < tensor_count(t); i++) {
        int64_t axis = tensor_get_int(t, i);
        if ((axis < 0 ? axis + rank : axis) < 2) return false;
    }
    return tensor_count(t) > 0;
}

static bool keeps_leading_axes(const GraphNode *n)
{
    if (!graph_is(n, "Transpose")) return true; /* reshapes: the dims say it */
    size_t rank;
    const int64_t *perm = onnx_ints(n->node, "perm", &rank);
    return perm && rank >= 2 && perm[0] == 0 && perm[1] == 1;
}

/* Every input is a token value or has nothing to do with rows. */
static bool inputs_apart(const Symbols *s, const GraphNode *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] >= 0 && !graph_leads(&s->t[n->in[k]]) && !without_rows(&s->t[n->in[k]]))
            return false;
    return true;
}

static bool inputs_broadcast(const Symbols *s, const Layout *l, const GraphNode *n, int rank)
{
    bool position;
    for (int k = 0; k < n->n_in; k++) {
        if (n->in[k] < 0 || op_needs_values(n->op, k)) continue;
        const Tensor *t = &s->t[n->in[k]];
        bool by_row = l->value[n->in[k]] == FORM_ROWS && graph_per_row(t, rank);
        if (!(graph_leads(t) && t->rank == rank) && !broadcasts(t, rank, &position) && !by_row)
            return false;
    }
    return true;
}

static bool indices_lead(const Symbols *s, const GraphNode *n)
{
    for (int k = 3; k < n->n_in; k += 3)
        if (n->in[k] >= 0 && !graph_leads(&s->t[n->in[k]])) return false;
    return true;
}

static bool works_by_token(const Graph *g, const Symbols *s, const Layout *l, const GraphNode *n)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] >= 0 && !graph_leads(&s->t[n->out[k]])) return false;
    bool first = n->n_in > 0 && n->in[0] >= 0 && graph_leads(&s->t[n->in[0]]);
    switch (n->op->token) {
    case TOKEN_NO: return false;
    case TOKEN_EACH: return inputs_broadcast(s, l, n, s->t[n->out[0]].rank);
    case TOKEN_INNER: return first && axes_inside(g, s, n) && inputs_apart(s, n) && slices_alike(s, n);
    case TOKEN_MATMUL: return first && without_rows(&s->t[n->in[1]]) && inputs_apart(s, n);
    case TOKEN_GATHER:
        return onnx_int(n->node, "axis", 0) == 0 && without_rows(&s->t[n->in[0]]) &&
               graph_leads(&s->t[n->in[1]]);
    case TOKEN_EMBED: return indices_lead(s, n);
    case TOKEN_RESHAPE: return first && keeps_leading_axes(n);
    case TOKEN_ATTENTION: return first && graph_leads(&s->t[n->in[1]]) && graph_leads(&s->t[n->in[2]]);
    }
    return false;
}

Form layout_reads(const Graph *g, const Symbols *s, const Layout *l, int i, int k)
{
    const GraphNode *n = g->node[i];
    int v = n->in[k];
    bool position;
    if (v < 0 || l->node[i] == FORM_PLAIN || l->node[i] == FORM_ROWS || op_needs_values(n->op, k))
        return FORM_PLAIN;
    if (graph_leads(&s->t[v])) return FORM_TOKEN;
    if (n->op->token == TOKEN_EACH && l->value[v] == FORM_ROWS &&
        graph_per_row(&s->t[v], s->t[n->out[0]].rank))
        return FORM_TOKEN;
    if (n->op->token == TOKEN_EACH && broadcasts(&s->t[v], s->t[n->out[0]].rank, &position) &&
        position)
        return FORM_TOKEN;
    return FORM_PLAIN;
}

/* Known data of a value made from shapes: every row the same, and a longer row only adds to it. */
static bool prefix_stable(const Tensor *small, int64_t small_S, const Tensor *large, int64_t large_S)
{
    if (!small->data || !large->data || small->rank != large->rank || small->rank < 1) return false;
    int axis = -1;
    for (int i = 0; i < small->rank; i++)
        if (small->dim[i] == small_S && large->dim[i] == large_S) axis = axis < 0 ? i : -2;
    if (axis < 0) return false;
    size_t inner = dtype_size(small->type), a = inner * (size_t)small_S, b = inner * (size_t)large_S;
    for (int i = axis + 1; i < small->rank; i++) {
        if (small->dim[i] != large->dim[i]) return false;
        a *= (size_t)small->dim[i], b *= (size_t)small->dim[i];
    }
    int64_t rows_a = 1, rows_b = 1;
    for (int i = 0; i < axis; i++) rows_a *= small->dim[i], rows_b *= large->dim[i];
    for (int64_t r = 0; r < rows_b; r++)
        if (memcmp(small->data, (const char *)large->data + (size_t)r * b, a) != 0) return false;
    for (int64_t r = 0; r < rows_a; r++)
        if (memcmp(small->data, (const char *)small->data + (size_t)r * a, a) != 0) return false;
    return true;
}

static bool infer_known(const Graph *g, Arena *arena, const bool *needed, int64_t B, int64_t S,
                        Inferred *at, Err *err)
{
    *at = graph_inferred(g, arena);
    at->needs = needed;
    at->limit = 1 << 22;
    for (int i = 0; i < g->n_input; i++)
        if (!graph_bind_input(g, g->input[i], B, S, &at->t[g->input[i]], err)) return false;
    return graph_infer(g, arena, at, err);
}

static bool not_ragged(Layout *l, const char *why)
{
    l->ragged = false;
    l->why = why;
    return true;
}

static bool carries_tokens(const Layout *l, int v)
{
    return v >= 0 && (l->value[v] == FORM_TOKEN || l->value[v] == FORM_ROWS);
}

static bool is_integer(const Tensor *t)
{
    return t->type == T_I64 || t->type == T_I32 || t->type == T_BOOL;
}

/* No more than a number for each token. */
static bool is_small(const Tensor *t)
{
    if (t->rank < 0) return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] != DIM_BATCH && t->dim[i] != DIM_SEQUENCE && t->dim[i] != 1) return false;
    return true;
}

/* Integers, or numbers made from integers only: sums of them are exact in any order. */
static bool is_counted(const Graph *g, const Symbols *s, const Layout *l, int v)
{
    if (is_integer(&s->t[v])) return true;
    const GraphNode *maker = graph_producer(g, v);
    return is_small(&s->t[v]) &&
           (l->value[v] == FORM_ROWS ||
            (graph_is(maker, "Cast") && maker->in[0] >= 0 && is_integer(&s->t[maker->in[0]])));
}

/* Cheap enough to be run padded: integers, or few numbers, from integers. */
static bool works_by_row(const Graph *g, const Symbols *s, const Layout *l, const GraphNode *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (carries_tokens(l, n->in[k]) &&
            (!is_counted(g, s, l, n->in[k]) || op_needs_values(n->op, k)))
            return false;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] >= 0 && !is_integer(&s->t[n->out[k]]) && !is_small(&s->t[n->out[k]]))
            return false;
    return true;
}

/* Of what rows made, tokens read only what has a number for each of them, or for all of a row. */
static bool reads_by_token(const Symbols *s, const Layout *l, const GraphNode *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] >= 0 && l->value[n->in[k]] == FORM_ROWS && !graph_leads(&s->t[n->in[k]]) &&
            !graph_per_row(&s->t[n->in[k]], s->t[n->out[0]].rank))
            return false;
    return true;
}

/* Of all that rows made, it reads numbers for whole rows: as they lie, beside what ends.c made. */
static bool reads_whole_rows(const Symbols *s, const Layout *l, const GraphNode *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (carries_tokens(l, n->in[k]) &&
            (l->value[n->in[k]] != FORM_ROWS || !graph_of_row(&s->t[n->in[k]])))
            return false;
    return true;
}

/* Tokens had a part in it, but it is not theirs any more: made of what ends.c made, for as many tokens as the longest
 * row has, it would be taken for a value made from shapes. */
static bool reads_behind_ends(const Layout *l, const bool *carried, const GraphNode *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] >= 0 && !layout_skips(n, k) && carried[n->in[k]] && !carries_tokens(l, n->in[k])) return true;
    return false;
}

/* Decides node by node; false: this one needs the padded form of token data. */
static bool layout_place(const Graph *g, const Symbols *s, Layout *l, const bool *carried, double *padding, int i)
{
    const GraphNode *n = g->node[i];
    bool reads = false;
    bool dims_only = graph_is(n, "Shape") || graph_is(n, "Size");
    for (int k = 0; k < n->n_in && !dims_only; k++)
        reads |= !layout_skips(n, k) && carries_tokens(l, n->in[k]);
    if (!reads) return true;
    if (n->op->mixes_rows) return false;
    l->end[i] = l->value[n->in[0]] == FORM_TOKEN ? graph_row_end(g, s, n, padding) : END_NONE;
    if (l->end[i]) return l->node[i] = FORM_END, true;
    if (works_by_token(g, s, l, n) && reads_by_token(s, l, n) && !reads_behind_ends(l, carried, n))
        l->node[i] = FORM_TOKEN;
    else if (works_by_row(g, s, l, n)) l->node[i] = FORM_ROWS;
    else return reads_whole_rows(s, l, n);
    if (l->node[i] == FORM_TOKEN) padding_follow(s, n, padding);
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] >= 0) l->value[n->out[k]] = l->node[i];
    return true;
}

/* Integers made row by row are proved now, up to a length. */
static bool rows_hold(const Graph *g, const Symbols *s, const int *outputs, int n_out, Layout *l)
{
    bool any = false, given = false;
    for (int i = 0; i < g->n_node; i++) any |= l->node[i] == FORM_ROWS;
    l->up_to = any ? layout_rows_up_to(g, s, l) : INT32_MAX;
    for (int i = 0; i < n_out; i++) given |= l->value[outputs[i]] == FORM_ROWS;
    return l->up_to > 0 && !given;
}

static bool meets_tokens(const GraphNode *n, const bool *carried)
{
    bool any = false;
    for (int k = 0; k < n->n_in; k++)
        any |= n->in[k] >= 0 && !layout_skips(n, k) && carried[n->in[k]];
    return any && !graph_is(n, "Shape") && !graph_is(n, "Size");
}

typedef struct Spread { /* values made from shapes alone, at two lengths */
    const Graph *g;
    const Symbols *s;
    const Layout *l;
    Inferred small, large;
    int64_t small_S, S;
} Spread;

/* What node i reads as input k is at S what it is at small_S, and more of it. */
static bool is_stable(const Spread *x, int i, int k)
{
    const int v = x->g->node[i]->in[k];
    const Tensor *named = &x->s->t[v], *at = &x->large.t[v];
    if (x->S > LARGE_S && !at->data) return true; /* too large to be made here: as at LARGE_S */
    if (layout_reads(x->g, x->s, x->l, i, k) == FORM_TOKEN || graph_attends(x->g->node[i]))
        return prefix_stable(&x->small.t[v], x->small_S, at, x->S);
    return named->data && /* the same at every size tried */
           (x->S == LARGE_S || (tensor_same_shape(named, at) &&
                                memcmp(named->data, at->data, tensor_bytes(at)) == 0));
}

static bool spreads_agree(Spread *x, Arena *arena, const bool *carried, int64_t small_S)
{
    const Graph *g = x->g;
    const Layout *l = x->l;
    Err ignored;
    x->small_S = small_S;
    if (!infer_known(g, arena, l->needed, 2, small_S, &x->small, &ignored)) return small_S > LARGE_S;
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        if (!l->needed[i] || l->node[i] == FORM_ROWS) continue; /* rows.c sees to those */
        bool meets = meets_tokens(n, carried);
        for (int k = 0; meets && k < n->n_in; k++) {
            int v = n->in[k];
            if (v < 0 || carried[v] || g->value[v].constant || op_needs_values(n->op, k) ||
                layout_skips(n, k))
                continue;
            if (!is_stable(x, i, k)) return false;
        }
    }
    return true;
}

/* What meets the tokens and was made from shapes alone must not depend on the size of the batch: a short row
 * tells of its first tokens, one that is shorter by a token of those that are counted from the end. */
static bool spreads_are_stable(const Graph *g, Arena *arena, const Symbols *s, const Layout *l, int64_t S)
{
    Spread x = { .g = g, .s = s, .l = l, .S = S };
    Err ignored;
    const bool *carried = graph_carried(g, arena);
    if (!infer_known(g, arena, l->needed, 3, S, &x.large, &ignored))
        return S > LARGE_S; /* the run says why */
    return spreads_agree(&x, arena, carried, SMALL_S) && spreads_agree(&x, arena, carried, S - 1);
}

bool layout_positions_hold(const Graph *g, const Symbols *s, const Layout *l, int64_t S)
{
    Arena scratch = { .local = true };
    bool hold = S <= LARGE_S || spreads_are_stable(g, &scratch, s, l, S);
    arena_free(&scratch);
    return hold;
}

bool graph_layout(const Graph *g, Arena *arena, const Symbols *s, const int *outputs, int n, Layout *l)
{
    *l = (Layout){ .needed = ARRAY(arena, bool, g->n_node),
                   .node = ARRAY(arena, Form, g->n_node),
                   .end = ARRAY(arena, RowEnd, g->n_node),
                   .value = ARRAY(arena, Form, g->n_value) };
    mark_needed(g, arena, outputs, n, l);
    for (int i = 0; i < g->n_node; i++)
        if (g->node[i]->op && g->node[i]->guard)
            return not_ragged(l, "a branch (If) depends on the input");
    if (graph_has_own(g)) return not_ragged(l, "its rows bring tensors of their own");
    if (!s->known) return not_ragged(l, s->why);
    if (g->mask.kind != MASK_PLAIN)
        return not_ragged(l, "an attention mask is not a plain padding mask");
    for (int i = 0; i < g->n_input; i++)
        if (graph_leads(&s->t[g->input[i]])) l->value[g->input[i]] = FORM_TOKEN;
    double *padding = padding_new(g, arena);
    const bool *carried = graph_carried(g, arena);
    for (int i = 0; i < g->n_node; i++)
        if (l->needed[i] && !layout_place(g, s, l, carried, padding, i))
            return not_ragged(l, str_format(arena, "node '%.*s' (%s) needs the padded form",
                                            STR_ARG(g->node[i]->node->name), g->node[i]->op->name));
    if (!spreads_are_stable(g, arena, s, l, LARGE_S))
        return not_ragged(l, "a value made from positions depends on the batch");
    if (!rows_hold(g, s, outputs, n, l))
        return not_ragged(l, "integers of a row depend on the other rows or on padding");
    l->ragged = true;
    return true;
}

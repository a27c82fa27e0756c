/* SPDX-License-Identifier: Apache-2.0
 * unfix.c - many exporters write fixed sizes into a graph: inputs of [8, 64], Reshape to [8, 64, 4, 8],
 * positions as a constant [1, 64, C]. This pass turns such a graph back into one for any number of rows
 * of at most that many tokens, so that the passes behind it find attention and short texts cost what they
 * should. Nodes are walked in order with shapes inferred at three sizes; the declared one tells which
 * dims of a constant may be rows or tokens, the other two tell whether the node still fits:
 *
 *   Reshape, Expand    the target shape is computed from the dims of input_ids
 *   x + constant       [1, 64, C] is cut to the tokens there are; equal rows [8, 1, C] become one
 *   MatMul, GatherElements with a constant: the same; what was repeated for every row is tiled again
 *   mask[b, k]         Gather, GatherND of all rows and tokens in their order become a Reshape
 *
 * Where the file leaves the rows open, a list of dims may be made from them: [rows, 64, 4, 8].
 *
 * All or nothing: a node that fits none of this leaves the graph as it was, and it runs padded to its
 * sizes. Whether shorter rows give the same answers is not decided here but by layout.c's proof; the
 * engine pads to the declared sizes where that fails. Without an attention mask padding would be seen by
 * the model, so such graphs are left alone. */
#include "graph.h"

enum {
    SIZES = 3,
    LEAST_TOKENS = 8,
    MADE_BY_NODE = 24,
    ANY_ROWS = 13 /* looked at where the file leaves rows open: no constant is likely to have so many */
};

typedef struct Symbol { /* a dim: factor, times the rows, times the tokens */
    int64_t factor;
    bool B, S;
} Symbol;

typedef struct Unfix {
    Graph *g;
    Arena scratch;
    struct {
        int64_t B, S;
    } size[SIZES];
    Inferred at[SIZES];
    GraphNode **node; /* the new list */
    int n_node, cap_value;
    bool any_rows;          /* the file fixes tokens alone */
    int dims, rows, tokens; /* values: Shape(input_ids), and its two entries as [1] */
} Unfix;

/* ---- sizes ---- */
/* *B: 0 where rows are open. */
static bool declared_sizes(const Graph *g, int64_t *B, int64_t *S, int *ids)
{
    bool mask = false;
    *B = *S = 0, *ids = -1;
    for (int i = 0; i < g->n_input; i++) {
        const Role role = graph_role(g->value[g->input[i]].name);
        int64_t rows, tokens;
        if (!graph_declares(g, g->input[i], &rows, &tokens) || !tokens) return false;
        if (*S && (*B != rows || *S != tokens)) return false;
        *B = rows, *S = tokens;
        if (role == ROLE_TOKEN) *ids = g->input[i];
        mask |= role == ROLE_MASK;
    }
    return mask && *ids >= 0 && *S >= LEAST_TOKENS;
}

static int64_t symbol_at(const Unfix *u, Symbol s, int size)
{
    return s.factor * (s.B ? u->size[size].B : 1) * (s.S ? u->size[size].S : 1);
}

static bool is_symbolic(Symbol s)
{
    return s.B || s.S;
}

/* What axis `axis` of a value is at every size; false: none of rows, tokens and their products. */
static bool symbol_of(const Unfix *u, int v, int axis, Symbol *out)
{
    const Inferred *at = u->at;
    for (int kind = 0; kind < 4; kind++) {
        Symbol s = { 1, kind & 1, kind >> 1 };
        int64_t one = symbol_at(u, s, 0), dim = at[0].t[v].dim[axis];
        s.factor = dim / one;
        bool fits = dim % one == 0 && dim > 0;
        for (int i = 0; fits && i < SIZES; i++) fits = at[i].t[v].dim[axis] == symbol_at(u, s, i);
        if (fits) return *out = s, true;
    }
    return false;
}

static bool is_known(const Unfix *u, int v) /* a constant of the file */
{
    return v >= 0 && u->g->value[v].constant;
}

/* Numbers that no size changes: a constant, or made from what was fixed; NULL: others. */
static const Tensor *known_numbers(const Unfix *u, int v)
{
    const Tensor *first = v >= 0 ? &u->at[0].t[v] : NULL;
    bool same = first && first->data && first->type != T_NONE;
    for (int i = 1; same && i < SIZES; i++)
        same = u->at[i].t[v].data && tensor_same_shape(&u->at[i].t[v], first) &&
               memcmp(u->at[i].t[v].data, first->data, tensor_bytes(first)) == 0;
    return same ? first : NULL;
}

/* Of a list of dims: those of the declared size, where no other size changes anything but rows. */
static const Tensor *known_dims(const Unfix *u, int v)
{
    const Tensor *first = v >= 0 ? &u->at[0].t[v] : NULL;
    if (!u->any_rows || !first || !first->data || first->type != T_I64) return known_numbers(u, v);
    for (int i = 1; i < SIZES; i++) {
        const Tensor *t = &u->at[i].t[v];
        if (!t->data || !tensor_same_shape(t, first)) return NULL;
        for (int64_t k = 0; k < tensor_count(first); k++) {
            int64_t was = tensor_get_int(first, k), is = tensor_get_int(t, k);
            if (is * u->size[0].B != was * u->size[i].B && is != was) return NULL;
        }
    }
    return first;
}

/* An entry of such a list is made from the rows. */
static bool follows_rows(const Unfix *u, int dims, int64_t k)
{
    return u->any_rows && tensor_get_int(&u->at[0].t[dims], k) != tensor_get_int(&u->at[1].t[dims], k);
}

/* ---- new nodes ---- */
static bool unfix_append(Unfix *u, GraphNode *n)
{
    Err ignored;
    u->node[u->n_node++] = n;
    for (int i = 0; i < SIZES; i++)
        if (!graph_infer_node(n, &u->scratch, &u->scratch, &u->at[i], &ignored) ||
            u->at[i].dynamic)
            return false;
    return true;
}

static int made(Unfix *u, const char *op, const int *in, int n_in)
{
    Graph *g = u->g;
    GraphNode *n = graph_node(g, op, str_format(g->arena, "#unfix%d", g->n_value), in, n_in);
    if (!n->op || g->n_value > u->cap_value) return -1;
    if (graph_is(n, "Concat")) node_set_int(g, n, "axis", 0);
    return unfix_append(u, n) ? n->out[0] : -1;
}

static int constant(Unfix *u, const Tensor *t)
{
    Graph *g = u->g;
    int v = graph_add_constant(g, str_format(g->arena, "#fixed%d", g->n_value), t);
    if (g->n_value > u->cap_value) return -1;
    for (int i = 0; i < SIZES; i++) u->at[i].t[v] = *t;
    return v;
}

static int constant_int(Unfix *u, int64_t number) /* [1] */
{
    Tensor t = { .type = T_I64, .rank = 1, .dim = { 1 } };
    t.data = memcpy(arena_raw(u->g->arena, sizeof number), &number, sizeof number);
    return constant(u, &t);
}

static int symbol_value(Unfix *u, Symbol s) /* [1] */
{
    if (!is_symbolic(s)) return constant_int(u, s.factor);
    int v = s.B ? u->rows : u->tokens;
    if (s.B && s.S) v = made(u, "Mul", (int[]){ v, u->tokens }, 2);
    if (s.factor != 1 && v >= 0) v = made(u, "Mul", (int[]){ v, constant_int(u, s.factor) }, 2);
    return v;
}

/* A list of dims as a value; open: the one that stays -1, or -1. */
static int symbol_list(Unfix *u, const Symbol *s, int n, int open)
{
    int part[MAX_RANK];
    for (int i = 0; i < n; i++) {
        part[i] = i == open ? constant_int(u, -1) : symbol_value(u, s[i]);
        if (part[i] < 0) return -1;
    }
    return made(u, "Concat", part, n);
}

static int cut_to_tokens(Unfix *u, int v, int axis)
{
    int in[] = { v, constant_int(u, 0), u->tokens, constant_int(u, axis) };
    return made(u, "Slice", in, COUNT(in));
}

static bool begin(Unfix *u, int ids)
{
    int zero = constant_int(u, 0), one = constant_int(u, 1), two = constant_int(u, 2);
    u->dims = made(u, "Shape", &ids, 1);
    if (u->dims < 0) return false;
    u->rows = made(u, "Slice", (int[]){ u->dims, zero, one }, 3);
    u->tokens = made(u, "Slice", (int[]){ u->dims, one, two }, 3);
    return u->rows >= 0 && u->tokens >= 0;
}

/* ---- constants ---- */
/* The first of `copies` equal parts along the axis, which must be the outermost of more than one. */
static bool first_copy(const Tensor *t, int axis, int64_t copies, Tensor *out)
{
    for (int i = 0; i < axis; i++)
        if (t->dim[i] != 1) return false;
    size_t part = tensor_bytes(t) / (size_t)copies;
    for (int64_t c = 1; c < copies; c++)
        if (memcmp(t->data, (const char *)t->data + (size_t)c * part, part) != 0) return false;
    *out = *t;
    out->dim[axis] /= copies;
    return true;
}

/* A constant as its reader wants it at any size; false: it cannot be. A reader that broadcasts takes one
 * row for all of them. */
static bool adapt(Unfix *u, int *v, const Symbol *want, bool broadcasts)
{
    Tensor t = u->g->value[*v].t;
    Symbol repeat[MAX_RANK];
    bool tiled = false, changed = false;
    for (int a = 0; a < t.rank; a++) {
        repeat[a] = (Symbol){ 1, false, false };
        if (want[a].B && want[a].S) return false;
        if (!want[a].B || (broadcasts && t.dim[a] == 1)) continue;
        if (!first_copy(&t, a, u->size[0].B, &t)) return false;
        changed = true;
        if (broadcasts && t.dim[a] == 1) continue;
        repeat[a].B = tiled = true;
    }
    if (changed && (*v = constant(u, &t)) < 0) return false;
    for (int a = 0; a < t.rank; a++)
        if (want[a].S && (*v = cut_to_tokens(u, *v, a)) < 0) return false;
    if (!tiled) return true;
    int times = symbol_list(u, repeat, t.rank, -1);
    return times >= 0 && (*v = made(u, "Tile", (int[]){ *v, times }, 2)) >= 0;
}

/* ---- readers ---- */
typedef struct Reading { /* a copy of a node, to be changed or replaced */
    GraphNode *n;
} Reading;

static bool change(Reading *r, int k, int v)
{
    r->n->in[k] = v;
    return v >= 0;
}

/* The dims that a group of axes becomes when it is cut anew: rows first, then tokens. */
static bool cut_group(const Unfix *u, Symbol whole, const int64_t *dim, int n, Symbol *to)
{
    for (int i = 0; i < n; i++) {
        bool both = whole.B && whole.S && dim[i] == u->size[0].B * u->size[0].S;
        to[i] = (Symbol){ 1, whole.B && (both || dim[i] == u->size[0].B), false };
        to[i].S = whole.S && (both || (!to[i].B && dim[i] == u->size[0].S));
        if (n == 1) to[i] = whole;
        else if (!is_symbolic(to[i])) to[i].factor = dim[i];
        if (whole.factor % to[i].factor) return false;
        whole.factor /= to[i].factor;
        whole.B &= !to[i].B, whole.S &= !to[i].S;
    }
    return whole.factor == 1 && !is_symbolic(whole);
}

/* Matches the dims of `v` against the target's, group by group of equal size. */
static bool regroup(const Unfix *u, int v, const int64_t *to, int n, Symbol *out)
{
    const Tensor *from = &u->at[0].t[v];
    int i = 0, k = 0;
    while (k < n) {
        Symbol whole = { 1, false, false }, s;
        int64_t have = 1, want = to[k];
        int first = k++;
        while (i < from->rank && (have < want || i == 0 || k == n)) {
            if (!symbol_of(u, v, i, &s) || (s.B && whole.B) || (s.S && whole.S)) return false;
            whole = (Symbol){ whole.factor * s.factor, whole.B | s.B, whole.S | s.S };
            have *= from->dim[i++];
            while (have > want && k < n) want *= to[k++];
            if (have == want && k < n) break;
        }
        if (have != want || !cut_group(u, whole, to + first, k - first, out + first)) return false;
    }
    return i == from->rank;
}

static bool unfix_reshape(Unfix *u, Reading *r)
{
    const int x = r->n->in[0];
    const Tensor *from = &u->at[0].t[x], *t = known_dims(u, graph_input(r->n, 1));
    if (!t) return true;
    int64_t to[MAX_RANK], rest = tensor_count(from);
    Symbol s[MAX_RANK];
    int n = (int)tensor_count(t), open = -1;
    bool any = false;
    bool zero_copies = !onnx_int(r->n->node, "allowzero", 0);
    if (n > MAX_RANK || rest == 0) return false;
    for (int i = 0; i < n; i++) {
        to[i] = tensor_get_int(t, i);
        if (to[i] == 0 && zero_copies && i < from->rank) to[i] = from->dim[i];
        if (to[i] == -1) open = i;
        else if (to[i] <= 0 || rest % to[i]) return false;
        else rest /= to[i];
    }
    if (open >= 0) to[open] = rest;
    if (!regroup(u, x, to, n, s)) return false;
    for (int i = 0; i < n; i++) any |= i != open && is_symbolic(s[i]);
    return !any || change(r, 1, symbol_list(u, s, n, open));
}

/* The last axis of [B, S, C], where C happens to be as many as the tokens. */
static bool is_feature(const Symbol *s, int axis, int rank)
{
    return rank == 3 && axis == 2 && s[1].S && !s[1].B;
}

/* A constant [1, 64] that is repeated for every row: cut to the tokens. */
static bool unfix_expanded(Unfix *u, Reading *r)
{
    int v = r->n->in[0], rank = u->at[0].t[v].rank;
    const Tensor *dims = r->n->in[1] >= 0 ? &u->at[0].t[r->n->in[1]] : NULL;
    Symbol want[MAX_RANK];
    if (!u->any_rows || !is_known(u, v) || !dims || !dims->data) return true;
    const int more = (int)tensor_count(dims) - rank; /* axes before its own */
    for (int a = 0; a < rank; a++) {
        const int64_t n = u->at[0].t[v].dim[a];
        const bool feature = u->at[0].t[v].type == T_F32 && rank + more == 3 && a + more == 2;
        want[a] = (Symbol){ n, false, false };
        if (a + more >= 0 && n == u->size[0].S && !feature && tensor_get_int(dims, a + more) == n)
            want[a] = (Symbol){ 1, false, true };
    }
    return adapt(u, &v, want, true) && change(r, 0, v);
}

static bool unfix_expand(Unfix *u, Reading *r)
{
    if (!unfix_expanded(u, r)) return false;
    const int x = r->n->in[0];
    const Tensor *from = &u->at[0].t[x], *t = known_dims(u, graph_input(r->n, 1));
    if (!t) return true;
    Symbol s[MAX_RANK];
    int n = (int)tensor_count(t);
    bool any = false;
    if (n > MAX_RANK) return false;
    for (int i = 0; i < n; i++) {
        int axis = i - n + from->rank;
        s[i] = (Symbol){ tensor_get_int(t, i), false, false };
        if (axis >= 0 && from->dim[axis] != 1) {
            if (!symbol_of(u, x, axis, &s[i])) return false;
        } else if (follows_rows(u, r->n->in[1], i)) s[i] = (Symbol){ s[i].factor / u->size[0].B, true, false };
        else if (s[i].factor == u->size[0].S && !is_feature(s, i, n))
            s[i] = (Symbol){ 1, false, true };
        else if (!u->any_rows && s[i].factor == u->size[0].B && s[i].factor > 1) s[i] = (Symbol){ 1, true, false };
        any |= is_symbolic(s[i]);
    }
    return !any || change(r, 1, symbol_list(u, s, n, -1));
}

/* What the other inputs have at the axis of input k that is `back` from the end: the first that changes
 * with the size; else a number, 1 where none has it. */
static bool beside(const Unfix *u, const GraphNode *n, int k, int back, Symbol *out)
{
    *out = (Symbol){ 1, false, false };
    for (int j = 0; j < n->n_in; j++) {
        int v = n->in[j], axis = v >= 0 ? u->at[0].t[v].rank - back : -1;
        Symbol s;
        if (j == k || axis < 0 || is_known(u, v)) continue;
        if (!symbol_of(u, v, axis, &s)) return false;
        if (is_symbolic(s)) return *out = s, true;
        out->factor = MAX(out->factor, s.factor);
    }
    return true;
}

static bool reads_symbols(const Unfix *u, const GraphNode *n)
{
    for (int k = 0; k < n->n_in; k++)
        for (int a = 0; n->in[k] >= 0 && a < u->at[0].t[n->in[k]].rank; a++)
            for (int i = 1; i < SIZES; i++)
                if (u->at[i].t[n->in[k]].dim[a] != u->at[0].t[n->in[k]].dim[a]) return true;
    return false;
}

/* What input k, a constant, should have at each axis; inner: the axes that do not broadcast. */
static bool wanted(const Unfix *u, const GraphNode *n, int k, int inner, Symbol *want)
{
    const Tensor *t = &u->g->value[n->in[k]].t;
    for (int a = 0; a < t->rank; a++) {
        Symbol s;
        want[a] = (Symbol){ t->dim[a], false, false };
        if (t->rank - a <= inner || t->dim[a] == 1) continue;
        if (!beside(u, n, k, t->rank - a, &s)) return false;
        if (is_symbolic(s) && symbol_at(u, s, 0) != t->dim[a]) return false;
        if (is_symbolic(s)) want[a] = s;
        else if (s.factor == 1 && t->dim[a] == u->size[0].S) want[a] = (Symbol){ 1, false, true };
    }
    return true;
}

static bool unfix_constants(Unfix *u, Reading *r, int inner)
{
    if (!reads_symbols(u, r->n)) return true;
    for (int k = 0; k < r->n->n_in; k++) {
        Symbol want[MAX_RANK];
        int v = r->n->in[k];
        if (!is_known(u, v) || op_needs_values(r->n->op, k)) continue;
        if (!wanted(u, r->n, k, inner, want) || !adapt(u, &v, want, inner == 0) ||
            !change(r, k, v))
            return false;
    }
    return true;
}

/* A constant index into tokens, or tokens that index a constant repeated for every row. */
static bool unfix_gather_elements(Unfix *u, Reading *r)
{
    int fixed = is_known(u, r->n->in[1]), free = r->n->in[!fixed], v = r->n->in[fixed];
    int rank = u->at[0].t[free].rank;
    int64_t axis = onnx_int(r->n->node, "axis", 0);
    Symbol want[MAX_RANK];
    if (!is_known(u, v) || !reads_symbols(u, r->n)) return true;
    const Tensor *t = &u->g->value[v].t;
    if (t->rank != rank) return false;
    for (int a = 0; a < rank; a++) {
        want[a] = (Symbol){ t->dim[a], false, false };
        bool gathered = a == (axis < 0 ? axis + rank : axis);
        if (gathered && fixed && t->dim[a] == u->size[0].S) want[a] = (Symbol){ 1, false, true };
        else if (!gathered && !symbol_of(u, free, a, &want[a])) return false;
        if (symbol_at(u, want[a], 0) != t->dim[a]) return false;
    }
    return adapt(u, &v, want, false) && change(r, fixed, v);
}

/* At the declared size the index counts through all rows and tokens: 0, 1, 2 ... or [0, 0], [0, 1] ... */
static bool counts_through(const Unfix *u, const Tensor *index, int64_t columns)
{
    int64_t n = u->size[0].B * u->size[0].S;
    if (!index->data || index->type != T_I64 || tensor_count(index) != n * columns) return false;
    for (int64_t i = 0; i < n * columns; i++) {
        int64_t at = i / columns, want = columns == 1 ? at
                                       : i % 2        ? at % u->size[0].S
                                                      : at / u->size[0].S;
        if (tensor_get_int(index, i) != want) return false;
    }
    return true;
}

/* mask[b, k] for all b and k: Gather([B * S, ...]), GatherND([B, S]) */
static bool unfix_gather(Unfix *u, Reading *r, int64_t columns)
{
    const Tensor *index = &u->at[0].t[r->n->in[1]], *data = &u->at[0].t[r->n->in[0]];
    int x = r->n->in[0], n = index->rank - (columns > 1), rest = data->rank - 1;
    Symbol to[MAX_RANK], s;
    if (onnx_int(r->n->node, "axis", 0) || onnx_int(r->n->node, "batch_dims", 0) ||
        !counts_through(u, index, columns))
        return true;
    bool whole = columns > 1 ? data->rank == 2 && symbol_of(u, x, 1, &s) && s.S && s.factor == 1
                             : symbol_of(u, x, 0, &s) && s.B && s.S && s.factor == 1;
    if (columns > 1) rest = 0;
    if (!whole || n + rest > MAX_RANK) return true; /* an index into something else */
    if (!cut_group(u, (Symbol){ 1, true, true }, index->dim, n, to)) return false;
    for (int a = 0; a < rest; a++) to[n + a] = (Symbol){ data->dim[1 + a], false, false };
    int shape = symbol_list(u, to, n + rest, -1);
    GraphNode *reshape = graph_node(u->g, "Reshape", "", (int[]){ x, shape }, 2);
    reshape->node->name = r->n->node->name;
    reshape->out[0] = r->n->out[0];
    r->n = reshape;
    return shape >= 0;
}

static bool unfix_node(Unfix *u, Reading *r)
{
    if (graph_is(r->n, "Reshape")) return unfix_reshape(u, r);
    if (graph_is(r->n, "Expand")) return unfix_expand(u, r);
    if (graph_is(r->n, "GatherElements")) return unfix_gather_elements(u, r);
    if (graph_is(r->n, "Gather")) return unfix_gather(u, r, 1);
    if (graph_is(r->n, "GatherND")) return unfix_gather(u, r, 2);
    if (graph_is(r->n, "MatMul")) return unfix_constants(u, r, 2);
    return r->n->op->token != TOKEN_EACH || unfix_constants(u, r, 0);
}

/* ---- the pass ---- */
static bool unfix_nodes(Unfix *u)
{
    Graph *g = u->g;
    for (int i = 0; i < g->n_node; i++) {
        GraphNode *n = g->node[i];
        if (!n->op) continue;
        if (n->guard || n->op->mixes_rows) return false;
        Reading r = { NEW(g->arena, GraphNode) };
        *r.n = *n;
        r.n->in = memcpy(ARRAY(g->arena, int, n->n_in), n->in, sizeof *n->in * (size_t)n->n_in);
        if (!unfix_node(u, &r) || !unfix_append(u, r.n)) return false;
    }
    return true;
}

/* An output is one of rows, of tokens, or of neither. */
static bool outputs_fit(const Unfix *u)
{
    Symbol s;
    for (int i = 0; i < u->g->n_output; i++)
        for (int a = 0; a < u->at[0].t[u->g->output[i]].rank; a++)
            if (!symbol_of(u, u->g->output[i], a, &s)) return false;
    return true;
}

static bool prepare(Unfix *u, int64_t B, int64_t S)
{
    Graph *g = u->g;
    Err ignored;
    u->size[0].B = B, u->size[0].S = S;
    u->size[1].B = B + 1, u->size[1].S = S - 1;
    u->size[2].B = B + 3, u->size[2].S = S / 2;
    u->cap_value = g->n_value + MADE_BY_NODE * (g->n_node + 1);
    u->node = ARRAY(g->arena, GraphNode *, MADE_BY_NODE * (g->n_node + 1));
    for (int i = 0; i < SIZES; i++) {
        Inferred whole = graph_inferred(g, &u->scratch);
        u->at[i] = whole;
        u->at[i].t = ARRAY(&u->scratch, Tensor, u->cap_value + 1);
        memcpy(u->at[i].t, whole.t, sizeof *whole.t * (size_t)g->n_value);
        for (int k = 0; k < g->n_input; k++)
            if (!graph_bind_input(g, g->input[k], u->size[i].B, u->size[i].S,
                                  &u->at[i].t[g->input[k]], &ignored))
                return false;
    }
    return true;
}

void graph_unfixed(Graph *g, int64_t B, int64_t S)
{
    g->fixed_B = B, g->fixed_S = S;
    for (int i = 0; i < g->n_input; i++)
        g->value[g->input[i]].t.dim[0] = g->value[g->input[i]].t.dim[1] = DIM_UNKNOWN;
}

static void commit(Unfix *u)
{
    Graph *g = u->g;
    g->node = u->node;
    g->n_node = u->n_node;
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i]->n_out; k++)
            if (g->node[i]->out[k] >= 0) g->value[g->node[i]->out[k]].producer = i;
    graph_unfixed(g, u->any_rows ? 0 : u->size[0].B, u->size[0].S);
}

bool pass_unfix(Graph *g, Err *err)
{
    (void)err;
    int64_t B, S;
    int ids;
    Unfix u = { .g = g };
    if (!declared_sizes(g, &B, &S, &ids)) return true;
    u.any_rows = !B;
    if (prepare(&u, B ? B : ANY_ROWS, S) && begin(&u, ids) && unfix_nodes(&u) && outputs_fit(&u)) commit(&u);
    arena_free(&u.scratch);
    return true;
}

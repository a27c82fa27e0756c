/* SPDX-License-Identifier: Apache-2.0
 * fuse_index.c - ways of indexing in torch, as its exporters write them, become one node that works
 * row by row:
 *
 *   x[arange(B), i]      GatherND(x, Concat(Range, i)), or Gather(Flatten(x), i + Range * S)
 *                        -> GatherElements(x, i as [B, 1, C]) along the tokens
 *   x[condition] = c     ScatterND(x, Transpose(NonZero(condition)), Expand(c)) -> Where(condition, c, x)
 *   x[condition].view(B, -1, C)[:, -1]   (classifiers of BART and T5: the last token that ends a text)
 *                        Gather(Reshape(GatherND(x, Transpose(NonZero(condition)))), -1) -> as the first, the
 *                        index being ArgMax(CumSum(condition))
 *
 * NonZero makes shapes depend on data, so these must happen before symbols are looked for. */
#include "graph.h"

enum { FEW = 5 }; /* tokens at which shapes are looked at */

typedef struct Index {
    Graph *g;
    Symbols s;
} Index;

static const GraphNode *maker(const Graph *g, int value, const char *op)
{
    const GraphNode *n = graph_producer(g, value);
    return graph_is(n, op) ? n : NULL;
}

/* Behind nodes that give the same numbers other dims. */
static int unwrapped(const Graph *g, int value)
{
    for (const GraphNode *n; (n = graph_producer(g, value)) != NULL; value = n->in[0])
        if (!graph_is(n, "Unsqueeze") && !graph_is(n, "Squeeze") && !graph_is(n, "Reshape") &&
            !graph_is(n, "Cast"))
            break;
    return value;
}

/* 0, 1, 2 ... as many as there are rows */
static bool is_row_numbers(const Index *x, int value)
{
    const GraphNode *range = maker(x->g, unwrapped(x->g, value), "Range");
    double from, step;
    if (!range || !graph_scalar(x->g, range->in[0], &from) || from != 0) return false;
    if (!graph_scalar(x->g, range->in[2], &step) || step != 1) return false;
    const Tensor *t = &x->s.t[range->out[0]];
    return t->rank == 1 && t->dim[0] == DIM_BATCH;
}

static bool is_index(const Index *x, int value)
{
    const Tensor *t = &x->s.t[value];
    return t->rank == 1 && t->dim[0] == DIM_BATCH && t->type == T_I64;
}

static bool is_tokens(const Index *x, int value)
{
    const Tensor *t = &x->s.t[value];
    return graph_leads(t) && t->rank == 3 && t->dim[2] > 0 && t->type == T_F32;
}

/* GatherND(x, Concat(Range, i)) */
static bool match_pairs(const Index *x, const GraphNode *n, int *data, int *index)
{
    const GraphNode *pairs = graph_is(n, "GatherND") ? maker(x->g, n->in[1], "Concat") : NULL;
    if (!pairs || pairs->n_in != 2 || onnx_int(n->node, "batch_dims", 0)) return false;
    *data = n->in[0], *index = unwrapped(x->g, pairs->in[1]);
    return x->s.t[n->in[1]].rank == 2 && x->s.t[n->in[1]].dim[1] == 2 &&
           is_row_numbers(x, pairs->in[0]);
}

/* value is Range(B) * S */
static bool is_row_starts(const Index *x, int value)
{
    const GraphNode *times = maker(x->g, value, "Mul");
    for (int k = 0; times && k < 2; k++) {
        const GraphNode *dim = maker(x->g, unwrapped(x->g, times->in[k]), "Gather");
        const GraphNode *shape = dim ? maker(x->g, dim->in[0], "Shape") : NULL;
        double axis;
        if (shape && graph_scalar(x->g, dim->in[1], &axis) && axis == 1 &&
            graph_leads(&x->s.t[shape->in[0]]) && is_row_numbers(x, times->in[1 - k]))
            return true;
    }
    return false;
}

/* Gather(Flatten(x), i + Range * S) */
static bool match_flat(const Index *x, const GraphNode *n, int *data, int *index)
{
    const GraphNode *flat = graph_is(n, "Gather") ? maker(x->g, n->in[0], "Flatten") : NULL;
    const GraphNode *sum = flat ? maker(x->g, n->in[1], "Add") : NULL;
    if (!sum || onnx_int(n->node, "axis", 0) || onnx_int(flat->node, "axis", 1) != 2) return false;
    *data = flat->in[0];
    for (int k = 0; k < 2; k++)
        if (is_row_starts(x, sum->in[k])) return *index = sum->in[1 - k], true;
    return false;
}

static int constant_ints(Graph *g, const int64_t *from, int n)
{
    Tensor t = { .type = T_I64, .rank = 1, .dim = { n } };
    size_t bytes = sizeof *from * (size_t)n;
    t.data = memcpy(arena_raw(g->arena, bytes), from, bytes);
    return graph_add_constant(g, str_format(g->arena, "#ints%d", g->n_value), &t);
}

static int inserted(Graph *g, int *i, const char *op, const int *in, int n_in)
{
    GraphNode *n = graph_node(g, op, str_format(g->arena, "#index%d", g->n_value), in, n_in);
    n->guard = g->node[*i]->guard;
    graph_insert(g, (*i)++, n);
    if (graph_is(n, "GatherElements")) node_set_int(g, n, "axis", 1);
    return n->out[0];
}

/* Node *i, which makes [B, C], by an index [B]. */
static void gather_rows(Graph *g, int64_t columns, int *i, int data, int index)
{
    GraphNode *old = g->node[*i];
    const int64_t column[] = { -1, 1, 1 }, width[] = { 1, 1, columns }, row[] = { -1, columns };
    int three = inserted(g, i, "Reshape", (int[]){ index, constant_ints(g, column, 3) }, 2);
    int wide = inserted(g, i, "Expand", (int[]){ three, constant_ints(g, width, 3) }, 2);
    int taken = inserted(g, i, "GatherElements", (int[]){ data, wide }, 2);
    GraphNode *last = graph_node(g, "Reshape", str_format(g->arena, "%.*s", STR_ARG(old->node->name)),
                                 (int[]){ taken, constant_ints(g, row, 2) }, 2);
    last->out[0] = old->out[0], last->guard = old->guard;
    g->value[last->out[0]].producer = *i;
    g->node[*i] = last;
}

/* Transpose(NonZero(condition)): where it holds, a row for each place */
static const GraphNode *match_places(const Graph *g, int value)
{
    const GraphNode *turned = maker(g, value, "Transpose");
    size_t rank;
    const int64_t *perm = turned ? onnx_ints(turned->node, "perm", &rank) : NULL;
    return turned && (!perm || (rank == 2 && perm[0] == 1)) ? maker(g, turned->in[0], "NonZero") : NULL;
}

/* ScatterND(x, Transpose(NonZero(condition)), Expand(c)) */
static bool match_fill(const Graph *g, const GraphNode *n, int *condition, int *number)
{
    const GraphNode *where = graph_is(n, "ScatterND") ? match_places(g, n->in[1]) : NULL;
    double ignored;
    if (!where || onnx_attr(n->node, "reduction")) return false;
    *condition = where->in[0], *number = unwrapped(g, n->in[2]);
    const GraphNode *expand = maker(g, *number, "Expand");
    if (expand) *number = expand->in[0];
    return graph_scalar(g, *number, &ignored) && g->value[*number].t.rank == 0;
}

static void fill_where(Graph *g, int i, int condition, int number)
{
    GraphNode *old = g->node[i];
    GraphNode *n = graph_node(g, "Where", str_format(g->arena, "%.*s", STR_ARG(old->node->name)),
                              (int[]){ condition, number, old->in[0] }, 3);
    n->out[0] = old->out[0], n->guard = old->guard;
    g->value[n->out[0]].producer = i;
    g->node[i] = n;
}

/* [n_node]: what two values are made by: a NonZero before them, as optimizers order nodes, would be the end. */
static const bool *index_makers(const Graph *g, Arena *arena, int one, int two)
{
    bool *needed = ARRAY(arena, bool, g->n_node), *wanted = ARRAY(arena, bool, g->n_value);
    wanted[one] = wanted[two] = true;
    for (int i = g->n_node - 1; i >= 0; i--) {
        const GraphNode *n = g->node[i];
        for (int k = 0; n->op && k < n->n_out; k++) needed[i] |= n->out[k] >= 0 && wanted[n->out[k]];
        for (int k = 0; needed[i] && k < n->n_in; k++)
            if (n->in[k] >= 0) wanted[n->in[k]] = true;
        if (needed[i] && n->guard) wanted[n->guard - 1] = true;
    }
    return needed;
}

/* Shapes of two values, and of all they are made of, at one size, as far as they do not depend on data. */
static bool infer_once(const Graph *g, Arena *arena, int64_t tokens, int one, int two, Inferred *at)
{
    Err ignored;
    *at = graph_inferred(g, arena);
    at->needs = index_makers(g, arena, one, two);
    for (int i = 0; i < g->n_input; i++) {
        int64_t B, S;
        graph_declares(g, g->input[i], &B, &S);
        if (!graph_bind_input(g, g->input[i], B ? B : 2, S ? S : tokens, &at->t[g->input[i]], &ignored))
            return false;
    }
    return graph_infer(g, arena, at, &ignored);
}

/* Gather(Reshape(GatherND(x, Transpose(NonZero(condition))), shape), -1) along the second axis */
static bool match_last(const Graph *g, const GraphNode *n, int *data, int *condition, int *shape)
{
    const GraphNode *view = graph_is(n, "Gather") ? maker(g, n->in[0], "Reshape") : NULL;
    const GraphNode *taken = view && view->n_in == 2 ? maker(g, view->in[0], "GatherND") : NULL;
    const GraphNode *where = taken ? match_places(g, taken->in[1]) : NULL;
    double index;
    if (!where || onnx_int(n->node, "axis", 0) != 1 || onnx_int(taken->node, "batch_dims", 0) ||
        !graph_scalar(g, n->in[1], &index) || index != -1 || g->value[n->in[1]].t.rank)
        return false;
    return *data = taken->in[0], *condition = where->in[0], *shape = view->in[1], true;
}

/* v is the length of one axis of a value of three. */
static bool is_length(const Graph *g, int v, int of, int axis)
{
    const GraphNode *entry = graph_producer(g, unwrapped(g, v));
    const bool part = (graph_is(entry, "Gather") || graph_is(entry, "Slice")) && entry->n_in > 1;
    const GraphNode *shape = part ? maker(g, entry->in[0], "Shape") : NULL;
    double at, end;
    if (!shape || shape->in[0] != of || onnx_int(shape->node, "start", 0) || onnx_attr(shape->node, "end") ||
        !graph_scalar(g, entry->in[1], &at) || (at != axis && at != axis - 3))
        return false;
    if (graph_is(entry, "Gather")) return true;
    return entry->n_in > 2 && graph_scalar(g, entry->in[2], &end) && (axis == 2 ? end > 2 : end == at + 1);
}

/* Tokens of rows, a truth for each, and a view of what is taken as rows again, [B, -1, C]. */
static bool last_fits(const Graph *g, const Inferred *at, int data, int condition, int shape)
{
    const Tensor *x = &at->t[data], *c = &at->t[condition];
    const GraphNode *to = maker(g, shape, "Concat");
    double any, columns;
    return x->type == T_F32 && x->rank == 3 && c->type == T_BOOL && c->rank == 2 && c->dim[0] == x->dim[0] &&
           c->dim[1] == x->dim[1] && to && to->n_in == 3 && is_length(g, to->in[0], data, 0) &&
           graph_scalar(g, to->in[1], &any) && any == -1 &&
           (is_length(g, to->in[2], data, 2) ||
            (graph_scalar(g, to->in[2], &columns) && columns == (double)x->dim[2]));
}

/* Node *i takes the last token of each row where the condition holds; the sum of how often it held so far is at its
 * largest from there on, and padding behind it changes nothing. */
static void take_last(Graph *g, int64_t columns, int *i, int data, int condition)
{
    const int number = inserted(g, i, "Cast", &condition, 1);
    node_set_int(g, g->node[*i - 1], "to", T_I32);
    const int sum = inserted(g, i, "CumSum", (int[]){ number, constant_ints(g, (int64_t[]){ 1 }, 1) }, 2);
    const int index = inserted(g, i, "ArgMax", &sum, 1);
    node_set_int(g, g->node[*i - 1], "axis", 1);
    node_set_int(g, g->node[*i - 1], "keepdims", 0);
    gather_rows(g, columns, i, data, index);
}

static void fill_last(Graph *g, Arena *scratch)
{
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        Inferred at = { 0 }, longer = { 0 };
        int data, condition, shape;
        if (!n->op || !match_last(g, n, &data, &condition, &shape)) continue;
        if (infer_once(g, scratch, FEW, data, condition, &at) && last_fits(g, &at, data, condition, shape) &&
            infer_once(g, scratch, FEW + 1, data, condition, &longer) &&
            longer.t[data].dim[2] == at.t[data].dim[2]) /* columns, not as many as there are tokens */
            take_last(g, at.t[data].dim[2], &i, data, condition);
        arena_reset(scratch, 0);
    }
}

bool pass_fill(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { .local = true };
    Inferred at = { 0 };
    int condition, number;
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        if (!n->op || !match_fill(g, n, &condition, &number)) continue;
        if (!infer_once(g, &scratch, FEW, n->in[0], condition, &at)) break; /* each one found lets the next be seen */
        const Tensor *x = &at.t[n->in[0]], *c = &at.t[condition];
        bool whole = x->type != T_NONE && c->type == T_BOOL && tensor_same_shape(x, c) &&
                     x->type == g->value[number].t.type; /* not rows of x by a shorter condition */
        if (whole) fill_where(g, i, condition, number);
        arena_reset(&scratch, 0);
    }
    fill_last(g, &scratch);
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

bool pass_index(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { .local = true };
    Err ignored;
    Index x = { .g = g };
    bool known = graph_symbols(g, &scratch, &x.s, &ignored) && x.s.known;
    for (int i = 0, n = g->n_value; known && i < g->n_node; i++) {
        const GraphNode *node = g->node[i];
        int data, index;
        if (!node->op || node->n_out != 1 || node->out[0] >= n) continue; /* without a symbol: our own */
        if ((match_pairs(&x, node, &data, &index) || match_flat(&x, node, &data, &index)) &&
            is_tokens(&x, data) && is_index(&x, index))
            gather_rows(g, x.s.t[data].dim[2], &i, data, index);
    }
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * symbols.c - which dims are the batch, which the sequence: shapes are inferred at several sizes and
 * compared. A dim that equals B (or S) at every size is named so, one that never changes is a number.
 * The sizes spread from 2 to 509, so that a clamp or a window shows itself; every plan infers its true
 * sizes again and compares (engine/plan.c), so a wrong name can cost speed but never an answer. Of a sound
 * of any length, dims that follow from it get names of their own: equal at every size, equal names. */
#include "graph.h"

static const struct Probe {
    int64_t B, S;
    int64_t samples; /* of a row's sound, where any number may come */
} probes[] = { { 2, 3, 1613 }, { 3, 17, 16001 }, { 5, 67, 79999 }, { 7, 257, 333337 }, { 3, 509, 1234567 } };
enum { LEAST_PROBES = 2 };


/* Rows that are all of one size are no obstacle: then every dim is a number. */
static bool static_input(const Graph *g)
{
    int64_t B, S;
    for (int i = 0; i < g->n_input; i++)
        if (role_of_token(graph_role(g->value[g->input[i]].name)) &&
            graph_declares(g, g->input[i], &B, &S))
            return true;
    return false;
}

static Tensor samples_at(const Graph *g, int v, int axis, struct Probe size)
{
    Tensor t = g->value[v].t;
    t.data = NULL;
    if (t.dim[0] < 0) t.dim[0] = size.B;
    t.dim[axis] = size.samples;
    return t;
}

/* limit: most elements of a value that is computed; 0: as many as usual */
static bool infer_at(const Graph *g, Arena *arena, struct Probe size, int64_t limit, Inferred *out,
                     Err *err)
{
    *out = graph_inferred(g, arena);
    out->limit = limit;
    for (int i = 0; i < g->n_input; i++) {
        const int v = g->input[i], axis = graph_samples_axis(g, v);
        if (axis >= 0) out->t[v] = samples_at(g, v, axis, size);
        else if (!graph_bind_input(g, v, size.B, size.S, &out->t[v], err)) return false;
    }
    return graph_infer(g, arena, out, err);
}

typedef struct Naming {
    Arena *arena;
    const Inferred *at;      /* [n] */
    const struct Probe *size; /* [n] */
    int n;
    bool sound;              /* dims have names */
    int64_t (*name)[COUNT(probes)]; /* what each was at every probe */
    int names, room;
} Naming;

/* The name of a dim that was these sizes; a new one if none had it so far. */
static int64_t name_sizes(Naming *all, const int64_t *size)
{
    int i = 0;
    if (!all->sound) return DIM_UNKNOWN;
    while (i < all->names && memcmp(all->name[i], size, sizeof *all->name) != 0) i++;
    if (i == all->room) {
        int64_t (*more)[COUNT(probes)] = arena_raw(all->arena, sizeof *more * (size_t)(2 * i + 8));
        if (i) memcpy(more, all->name, sizeof *more * (size_t)i);
        all->name = more, all->room = 2 * i + 8;
    }
    if (i == all->names) memcpy(all->name[all->names++], size, sizeof *all->name);
    return DIM_NAMED - i;
}

static int64_t name_dim(Naming *all, int v, int axis)
{
    bool fixed = true, batch = true, sequence = true;
    int64_t sizes[COUNT(probes)] = { 0 };
    for (int i = 0; i < all->n; i++) {
        int64_t d = sizes[i] = all->at[i].t[v].dim[axis];
        fixed &= d == sizes[0];
        batch &= d == all->size[i].B;
        sequence &= d == all->size[i].S;
    }
    return fixed ? sizes[0] : batch ? DIM_BATCH : sequence ? DIM_SEQUENCE : name_sizes(all, sizes);
}

static void name_value(Naming *all, int v, Tensor *to)
{
    const Inferred *at = all->at;
    *to = at[0].t[v];
    to->data = NULL;
    for (int i = 1; i < all->n; i++)
        if (at[i].t[v].rank != to->rank || at[i].t[v].type != to->type) to->rank = -1;
    for (int axis = 0; axis < to->rank; axis++) to->dim[axis] = name_dim(all, v, axis);
    bool same = to->rank >= 0; /* a number that is the same at every size: keep its value */
    for (int i = 0; i < all->n && same; i++)
        same = at[i].t[v].data && tensor_same_shape(&at[i].t[v], &at[0].t[v]) &&
               memcmp(at[i].t[v].data, at[0].t[v].data, tensor_bytes(&at[0].t[v])) == 0;
    if (same) to->data = at[0].t[v].data;
}

static bool takes_sound(const Graph *g)
{
    for (int i = 0; i < g->n_input; i++)
        if (graph_samples_axis(g, g->input[i]) >= 0) return true;
    return false;
}

bool graph_symbols(const Graph *g, Arena *arena, Symbols *out, Err *err)
{
    *out = (Symbols){ .t = ARRAY(arena, Tensor, g->n_value) };
    if (static_input(g)) return out->why = "its inputs have fixed sizes", true;
    Inferred at[COUNT(probes)];
    struct Probe size[COUNT(probes)];
    int n = 0;
    Err first = { 0 };
    for (size_t i = 0; i < COUNT(probes); i++) {
        Err trouble = { 0 };
        if (!infer_at(g, arena, probes[i], 0, &at[n], &trouble)) {
            if (!first.code) first = trouble;
            continue; /* beyond the position table, most likely */
        }
        if (at[n].dynamic) return out->why = "a shape depends on data", true;
        size[n++] = probes[i];
    }
    if (n == 0 && graph_has_own(g)) return out->why = "the size of a row is not known before", true;
    if (n == 0) return *err = first, false;
    if (n < LEAST_PROBES) return out->why = "too few sizes can be inferred", true;
    Naming naming = { .arena = arena, .at = at, .size = size, .n = n, .sound = takes_sound(g) };
    for (int v = 0; v < g->n_value; v++) {
        if (g->value[v].constant) out->t[v] = g->value[v].t;
        else name_value(&naming, v, &out->t[v]);
    }
    out->known = true;
    return true;
}

/* Input k of a node with two, the other being the number that changes nothing. */
static bool unchanged(const Graph *g, const Symbols *s, const GraphNode *n, int k)
{
    double c;
    if (n->n_in != 2 || n->in[k] < 0 || !graph_scalar(g, n->in[1 - k], &c)) return false;
    if (g->value[n->in[1 - k]].t.rank > s->t[n->in[k]].rank) return false;
    if (graph_is(n, "Add")) return c == 0;
    if (graph_is(n, "Mul")) return c == 1;
    return k == 0 && ((graph_is(n, "Sub") && c == 0) || (graph_is(n, "Div") && c == 1));
}

/* A Reshape to the shape there is, of values whose dims have names: what torch writes around a norm. */
static bool keeps_shape(const Symbols *s, const GraphNode *n)
{
    const Tensor *in = &s->t[n->in[0]], *out = &s->t[n->out[0]];
    bool named = false;
    if (in->rank < 1 || in->rank != out->rank) return false;
    for (int i = 0; i < in->rank; i++) {
        if (in->dim[i] != out->dim[i] || in->dim[i] == DIM_UNKNOWN) return false;
        named |= in->dim[i] <= DIM_NAMED;
    }
    return named;
}

/* The input that a node hands on as it is: a Cast to the type there is, x + 0, x * 1; -1: none. */
static int handed_on(const Graph *g, const Symbols *s, const GraphNode *n)
{
    if (graph_is(n, "Cast") && n->in[0] >= 0) {
        const Tensor *t = &s->t[n->in[0]];
        return t->rank >= 0 && (int64_t)t->type == onnx_int(n->node, "to", 0) ? n->in[0] : -1;
    }
    if (graph_is(n, "Reshape") && n->in[0] >= 0 && n->out[0] >= 0 && keeps_shape(s, n)) return n->in[0];
    for (int k = 0; n->op && k < 2; k++)
        if (unchanged(g, s, n, k)) return n->in[k];
    return -1;
}

static void drop_neutral(Graph *g, const Symbols *s)
{
    for (int i = 0; i < g->n_node; i++) {
        GraphNode *n = g->node[i];
        int same = handed_on(g, s, n);
        if (same < 0) continue;
        OnnxNode *made = NEW(g->arena, OnnxNode); /* the next fold takes it away */
        *made = (OnnxNode){ .op = STR("Identity"), .name = n->node->name };
        n->in[0] = same, n->n_in = 1;
        n->node = made;
        n->op = op_find(made->domain, made->op, 1);
        n->opset = 1;
    }
}

/* ---- scalars that no size changes ---- */
/* Sizes beyond the probes: a number that was the same at all of those is looked at again here. */
enum { FURTHER_LIMIT = 256 }; /* shapes and what is made of them are small */
static const struct Probe further[] = {
    { 1, 1, 803 }, { 1, 2, 5000 }, { 2, 1031, 480000 }, { 1, 8209, 9600017 }
};

/* A shape, perhaps with its entries in another order, as ONNX Runtime leaves it behind a Transpose. */
static bool is_shape(const Graph *g, int v)
{
    const GraphNode *n = graph_producer(g, v);
    if (graph_is(n, "Gather") && g->value[n->in[1]].constant) n = graph_producer(g, n->in[0]);
    return graph_is(n, "Shape");
}

/* Entries of a shape that are numbers, not names. */
static bool takes_entries(const Graph *g, const Symbols *s, const GraphNode *n)
{
    if ((!graph_is(n, "Gather") && !graph_is(n, "Slice")) || !s->t[n->out[0]].data || !is_shape(g, n->in[0]))
        return false;
    for (int k = 1; k < n->n_in; k++)
        if (n->in[k] >= 0 && !g->value[n->in[k]].constant) return false;
    return true;
}

/* The dim that a value is one entry of, as Shape's reader takes it; DIM_UNKNOWN: none. */
static int64_t entry_of(const Graph *g, const Symbols *s, int v)
{
    const GraphNode *n = graph_producer(g, v);
    double index;
    while (graph_is(n, "Squeeze") || graph_is(n, "Unsqueeze") || graph_is(n, "Cast"))
        n = graph_producer(g, n->in[0]);
    if ((!graph_is(n, "Gather") && !graph_is(n, "Slice")) || tensor_count(&s->t[n->out[0]]) != 1 ||
        !graph_scalar(g, n->in[1], &index))
        return DIM_UNKNOWN;
    const GraphNode *shape = graph_producer(g, n->in[0]);
    if (!graph_is(shape, "Shape") || onnx_int(shape->node, "start", 0) || onnx_attr(shape->node, "end"))
        return DIM_UNKNOWN;
    const Tensor *t = &s->t[shape->in[0]];
    int axis = (int)index + (index < 0 ? MAX(t->rank, 0) : 0);
    return axis >= 0 && axis < t->rank ? t->dim[axis] : DIM_UNKNOWN;
}

/* A length compared with, or taken from, the same length. */
static bool reads_one_dim_twice(const Graph *g, const Symbols *s, const GraphNode *n)
{
    if (n->n_in != 2 || n->op->token != TOKEN_EACH || !s->t[n->out[0]].data) return false;
    int64_t dim = entry_of(g, s, n->in[0]);
    return dim != DIM_UNKNOWN && dim == entry_of(g, s, n->in[1]);
}

/* [n_value]: made from constants and from dims that are numbers. A comparison of the length with 512
 * is the same at every probe, too, but it is not one of these. */
static bool *settled_values(const Graph *g, Arena *arena, const Symbols *s)
{
    bool *settled = ARRAY(arena, bool, g->n_value);
    for (int v = 0; v < g->n_value; v++) settled[v] = g->value[v].constant;
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        bool all = n->op && n->n_in > 0 && !n->guard;
        for (int k = 0; all && k < n->n_in; k++) all = n->in[k] < 0 || settled[n->in[k]];
        if (graph_is(n, "Shape") || graph_is(n, "Size")) all = s->t[n->out[0]].data != NULL;
        all |= n->op && !n->guard && (takes_entries(g, s, n) || reads_one_dim_twice(g, s, n));
        for (int k = 0; n->op && k < n->n_out; k++)
            if (n->out[k] >= 0) settled[n->out[k]] = all;
    }
    return settled;
}

/* Dims may be cut off or filled up: at a size where they are, the value is none of these. */
static void look_further(const Graph *g, Arena *arena, const Symbols *s, bool *settled)
{
    for (size_t i = 0; i < COUNT(further); i++) {
        Inferred at;
        Err ignored;
        if (!infer_at(g, arena, further[i], FURTHER_LIMIT, &at, &ignored)) continue;
        for (int v = 0; v < g->n_value; v++)
            if (at.t[v].data && s->t[v].data && tensor_count(&s->t[v]) == 1 &&
                (!tensor_same_shape(&at.t[v], &s->t[v]) ||
                 memcmp(at.t[v].data, s->t[v].data, tensor_bytes(&s->t[v])) != 0))
                settled[v] = false;
    }
}

/* Scalars computed from shapes that never change (the square root of the head size) become constants. */
bool pass_symbols(Graph *g, Err *err)
{
    Arena scratch = { .local = true };
    Symbols s;
    if (!graph_symbols(g, &scratch, &s, err)) {
        arena_free(&scratch);
        return true; /* whatever is wrong with the shapes is said when the graph is planned */
    }
    bool *settled = s.known ? settled_values(g, &scratch, &s) : NULL;
    if (s.known) look_further(g, &scratch, &s, settled);
    for (int v = 0; s.known && v < g->n_value; v++) {
        if (g->value[v].producer < 0 || g->value[v].output || !s.t[v].data || !settled[v] ||
            tensor_count(&s.t[v]) != 1)
            continue;
        Tensor t = s.t[v];
        t.data = memcpy(arena_raw(g->arena, tensor_bytes(&t)), s.t[v].data, tensor_bytes(&t));
        GraphNode *maker = g->node[g->value[v].producer];
        for (int k = 0; k < maker->n_out; k++)
            if (maker->out[k] == v) maker->out[k] = -1;
        g->value[v].t = t;
        g->value[v].constant = true;
        g->value[v].producer = -1;
    }
    if (s.known) drop_neutral(g, &s);
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

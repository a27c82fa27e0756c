/* SPDX-License-Identifier: Apache-2.0
 * sample.c - a value [..., queries, keys] at chosen points, without making it: its makers are followed
 * from the value back to positions, constants and the mask, and run on the numbers at those points alone.
 * What a mask of S x S costs then grows with the points, not with the square of the length. Followed are
 * operators that work number by number and those that only move numbers; anything else ends it, and the
 * caller makes the whole value (known.c). */
#include <math.h>

#include "sample.h"

enum { MOST_DEPTH = 200, MOST_SMALL = 64 };

typedef struct Seen { /* a value that was sampled, and how its axes were read */
    int value;
    Axis axis[MAX_RANK];
    Tensor t;
    struct Seen *next;
} Seen;

struct Sampler {
    const Graph *g;
    const Symbols *s;
    Arena *arena, *shared, *own; /* in use: of what all heads have in common, or of one head */
    int head;
    const Point *point;
    int64_t n, B, S;
    SampleMask *mask;
    Seen *seen[2]; /* in either arena */
};

static bool sample(Sampler *x, int v, const Axis *axis, int depth, Tensor *out);

static Tensor points_of(Sampler *x, DType type)
{
    Tensor t = { .type = type, .rank = 1, .dim = { x->n } };
    t.data = arena_raw(x->arena, tensor_bytes(&t) + 1);
    return t;
}

static int64_t place_of(const Sampler *x, int64_t i, Axis axis)
{
    const Point *p = &x->point[i];
    switch (axis) {
    case AXIS_ROW: return p->row;
    case AXIS_HEAD: return x->head;
    case AXIS_QUERY: return p->query;
    case AXIS_KEY: return p->key;
    default: return 0;
    }
}

/* ---- where numbers come from ---- */
static bool sample_tensor(Sampler *x, const Tensor *from, const Axis *axis, Tensor *out)
{
    *out = points_of(x, from->type);
    size_t size = dtype_size(from->type);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t at = 0;
        for (int a = 0; a < from->rank; a++) {
            int64_t place = from->dim[a] == 1 ? 0 : place_of(x, i, axis[a]);
            if (place >= from->dim[a] || (from->dim[a] != 1 && axis[a] == AXIS_NONE)) return false;
            at = at * from->dim[a] + place;
        }
        memcpy((char *)out->data + (size_t)i * size, (const char *)from->data + (size_t)at * size,
               size);
    }
    return true;
}

static bool sample_mask(Sampler *x, int v, const Axis *axis, Tensor *out)
{
    if (!x->mask || axis[0] != AXIS_ROW || (axis[1] != AXIS_KEY && axis[1] != AXIS_QUERY))
        return false;
    *out = points_of(x, x->g->value[v].t.type);
    for (int64_t i = 0; i < x->n; i++) {
        double live = x->mask(x->point[i].row, x->S, place_of(x, i, axis[1]));
        tensor_store(out, i, 1, &live);
    }
    return true;
}

static bool is_mask(const Sampler *x, int v)
{
    return x->g->value[v].input && graph_role(x->g->value[v].name) == ROLE_MASK;
}

/* Few numbers that shapes decide: made, and then taken. */
static bool sample_small(Sampler *x, int v, const Axis *axis, Tensor *out)
{
    const Tensor *named = &x->s->t[v];
    Tensor made;
    int64_t count = 1;
    for (int a = 0; a < named->rank; a++) count *= named->dim[a] < 0 ? MOST_SMALL + 1 : named->dim[a];
    if (named->rank < 0 || count > MOST_SMALL) return false;
    return graph_known_at(x->g, x->arena, x->s, v, x->B, x->S, &made) &&
           sample_tensor(x, &made, axis, out);
}

static bool sample_range(Sampler *x, const GraphNode *n, const Axis *axis, Tensor *out)
{
    double from, step;
    const Tensor *named = &x->s->t[n->out[0]];
    if (!graph_scalar(x->g, n->in[0], &from) || !graph_scalar(x->g, n->in[2], &step)) return false;
    if (named->rank != 1 || (named->dim[0] != DIM_SEQUENCE && named->dim[0] != DIM_BATCH))
        return false;
    if (axis[0] == AXIS_NONE) return false;
    *out = points_of(x, named->type);
    for (int64_t i = 0; i < x->n; i++) {
        double number = from + step * (double)place_of(x, i, axis[0]);
        tensor_store(out, i, 1, &number);
    }
    return true;
}

/* ---- operators that move numbers ---- */
/* Axes of an input that is broadcast: aligned at the end. */
static void align(const Tensor *in, const Axis *of, int rank, Axis *axis)
{
    for (int a = 0; a < in->rank; a++)
        axis[a] = in->dim[a] == 1 ? AXIS_NONE : of[rank - in->rank + a];
}

/* The axes that are not 1 stay in their order. */
static bool keep_order(const Tensor *in, const Tensor *out, const Axis *of, Axis *axis)
{
    int b = 0;
    for (int a = 0; a < in->rank; a++) {
        axis[a] = AXIS_NONE;
        if (in->dim[a] == 1) continue;
        while (b < out->rank && out->dim[b] == 1) b++;
        if (b == out->rank || in->dim[a] == DIM_UNKNOWN || in->dim[a] != out->dim[b]) return false;
        axis[a] = of[b++];
    }
    while (b < out->rank && out->dim[b] == 1) b++;
    return b == out->rank;
}

static bool sample_expand(Sampler *x, const GraphNode *n, const Axis *of, int depth, Tensor *out)
{
    Axis axis[MAX_RANK];
    align(&x->s->t[n->in[0]], of, x->s->t[n->out[0]].rank, axis);
    return sample(x, n->in[0], axis, depth, out);
}

static bool sample_transpose(Sampler *x, const GraphNode *n, const Axis *of, int depth, Tensor *out)
{
    Axis axis[MAX_RANK];
    size_t rank;
    const int64_t *perm = onnx_ints(n->node, "perm", &rank);
    if (!perm || (int)rank != x->s->t[n->out[0]].rank) return false;
    for (size_t a = 0; a < rank; a++) axis[perm[a]] = of[a];
    return sample(x, n->in[0], axis, depth, out);
}

static bool keeps_order(const GraphNode *n)
{
    static const char *const names[] = { "Reshape", "Unsqueeze", "Squeeze", "Identity", "Flatten" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (graph_is(n, names[i])) return true;
    return false;
}

/* Some go by way of one long row, whose only dim has no name: then what is behind it is looked at. */
static bool sample_reshaped(Sampler *x, const GraphNode *n, const Axis *of, int depth, Tensor *out)
{
    const Tensor *to = &x->s->t[n->out[0]];
    Axis axis[MAX_RANK];
    for (; keeps_order(n); n = graph_producer(x->g, n->in[0])) {
        const Tensor *from = &x->s->t[n->in[0]];
        if (from->rank >= 0 && keep_order(from, to, of, axis))
            return sample(x, n->in[0], axis, depth, out);
    }
    return false;
}

/* From the start on, all that is asked for: what is cut off was not. */
static bool sample_slice(Sampler *x, const GraphNode *n, const Axis *axis, int depth, Tensor *out)
{
    double from, step = 1;
    if (!graph_scalar(x->g, n->in[1], &from) || from != 0) return false;
    if (n->n_in > 4 && n->in[4] >= 0 && (!graph_scalar(x->g, n->in[4], &step) || step != 1))
        return false;
    return sample(x, n->in[0], axis, depth, out);
}

/* ---- tables ---- */
/* The mask, flat or not, behind nodes that keep its numbers in order. */
static int mask_behind(const Sampler *x, int v)
{
    for (int step = 0; step < 8 && v >= 0; step++) {
        if (is_mask(x, v)) return v;
        const GraphNode *n = graph_producer(x->g, v);
        if (!graph_is(n, "Flatten") && !graph_is(n, "Reshape") && !graph_is(n, "Cast") &&
            !graph_is(n, "Unsqueeze"))
            return -1;
        v = n->in[0];
    }
    return -1;
}

/* mask[i] of a flat mask, mask[r, i] of another: as the data's own type. */
static bool look_up_mask(Sampler *x, DType type, const Tensor *row, const Tensor *at, Tensor *out)
{
    *out = points_of(x, type);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t k = tensor_get_int(at, i), r = row ? tensor_get_int(row, i) : k / x->S;
        if (k < 0 || r < 0 || r >= x->B || (row && k >= x->S)) return false;
        double live = x->mask((int)r, x->S, row ? k : k % x->S);
        tensor_store(out, i, 1, &live);
    }
    return true;
}

static bool sample_gather(Sampler *x, const GraphNode *n, const Axis *axis, int depth, Tensor *out)
{
    const Tensor *index = &x->s->t[n->in[1]], *data = &x->s->t[n->in[0]];
    Tensor at, table;
    if (onnx_int(n->node, "axis", 0) || !sample(x, n->in[1], axis, depth, &at)) return false;
    if (mask_behind(x, n->in[0]) >= 0 && x->mask) return look_up_mask(x, data->type, NULL, &at, out);
    if (!x->g->value[n->in[0]].constant || data->rank > 2) return false;
    table = x->g->value[n->in[0]].t;
    *out = points_of(x, table.type);
    const size_t size = dtype_size(table.type);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t r = tensor_get_int(&at, i), width = table.rank == 2 ? table.dim[1] : 1;
        int64_t c = width > 1 ? place_of(x, i, axis[index->rank]) : 0;
        if (r < 0) r += table.dim[0];
        if (r < 0 || r >= table.dim[0] || c >= width) return false;
        memcpy((char *)out->data + (size_t)i * size,
               (const char *)table.data + (size_t)(r * width + c) * size, size);
    }
    return true;
}

/* mask[r, k] by pairs of numbers */
static bool sample_pairs(Sampler *x, const GraphNode *n, const Axis *axis, int depth, Tensor *out)
{
    const GraphNode *pairs = graph_producer(x->g, n->in[1]);
    Axis own[2][MAX_RANK];
    Tensor number[2];
    if (!graph_is(pairs, "Concat") || pairs->n_in != 2 || mask_behind(x, n->in[0]) < 0 || !x->mask)
        return false;
    for (int k = 0; k < 2; k++) {
        const Tensor *t = &x->s->t[pairs->in[k]];
        for (int a = 0; a < t->rank; a++)
            own[k][a] = a == t->rank - 1 || t->dim[a] == 1 ? AXIS_NONE : axis[a];
        if (t->rank < 1 || !sample(x, pairs->in[k], own[k], depth, &number[k])) return false;
    }
    return look_up_mask(x, x->s->t[n->in[0]].type, &number[0], &number[1], out);
}

/* ---- operators that work number by number ---- */
/* The operator itself, which must make one number for each point. */
static bool run_at_points(Sampler *x, const GraphNode *n, const Tensor **in, Tensor *out)
{
    Err ignored;
    Tensor *made = ARRAY(x->arena, Tensor, n->n_out);
    OpCall call = { .node = n->node, .opset = n->opset, .n_in = n->n_in, .n_out = n->n_out,
                    .in = in, .out = made, .k = kernels(), .scratch = x->arena };
    if (n->n_out != 1 || !op_shape(n->op, &call, &ignored) || tensor_count(&made[0]) != x->n)
        return false;
    made[0].data = arena_raw(x->arena, tensor_bytes(&made[0]) + 1);
    *out = made[0];
    return n->op->run(&call, &ignored);
}

static bool sample_each(Sampler *x, const GraphNode *n, const Axis *of, int depth, Tensor *out)
{
    Tensor *t = ARRAY(x->arena, Tensor, n->n_in);
    const Tensor **in = ARRAY(x->arena, const Tensor *, n->n_in);
    int rank = x->s->t[n->out[0]].rank;
    for (int k = 0; k < n->n_in; k++) {
        Axis axis[MAX_RANK];
        if (n->in[k] < 0) continue;
        const Tensor *named = &x->s->t[n->in[k]];
        if (named->rank < 0 || named->rank > rank) return false;
        align(named, of, rank, axis);
        if (!sample(x, n->in[k], axis, depth, &t[k])) return false;
        in[k] = &t[k];
    }
    return run_at_points(x, n, in, out);
}

/* The same number everywhere (ConstantOfShape). */
static bool sample_fill(Sampler *x, const GraphNode *n, Tensor *out)
{
    const Tensor shape = { .type = T_I64, .rank = 1, .dim = { 1 }, .data = &x->n };
    return run_at_points(x, n, (const Tensor *[]){ &shape }, out);
}

/* Some limits (of Clip) must be single numbers. */
static bool sample_clip(Sampler *x, const GraphNode *n, const Axis *of, int depth, Tensor *out)
{
    double least = -INFINITY, most = INFINITY, number;
    if (n->n_in > 1 && n->in[1] >= 0 && !graph_scalar(x->g, n->in[1], &least)) return false;
    if (n->n_in > 2 && n->in[2] >= 0 && !graph_scalar(x->g, n->in[2], &most)) return false;
    if (n->n_in < 2 || !sample(x, n->in[0], of, depth, out)) return false;
    Tensor from = *out;
    *out = points_of(x, from.type);
    for (int64_t i = 0; i < x->n; i++) {
        number = MIN(MAX(tensor_get(&from, i), least), most);
        tensor_store(out, i, 1, &number);
    }
    return true;
}

static bool sample_node(Sampler *x, const GraphNode *n, const Axis *axis, int depth, Tensor *out)
{
    if (keeps_order(n)) return sample_reshaped(x, n, axis, depth, out);
    if (graph_is(n, "Expand")) return sample_expand(x, n, axis, depth, out);
    if (graph_is(n, "Transpose")) return sample_transpose(x, n, axis, depth, out);
    if (graph_is(n, "ConstantOfShape")) return sample_fill(x, n, out);
    if (graph_is(n, "Range")) return sample_range(x, n, axis, out);
    if (graph_is(n, "Slice")) return sample_slice(x, n, axis, depth, out);
    if (graph_is(n, "Gather")) return sample_gather(x, n, axis, depth, out);
    if (graph_is(n, "GatherND")) return sample_pairs(x, n, axis, depth, out);
    if (graph_is(n, "Clip")) return sample_clip(x, n, axis, depth, out);
    return n->op->token == TOKEN_EACH && sample_each(x, n, axis, depth, out);
}

static bool by_head(const Axis *axis, int rank)
{
    for (int a = 0; a < rank; a++)
        if (axis[a] == AXIS_HEAD) return true;
    return false;
}

static bool sample_new(Sampler *x, int v, const Axis *axis, int depth, Tensor *out)
{
    const int rank = x->s->t[v].rank;
    const GraphNode *n = graph_producer(x->g, v);
    bool ok = x->g->value[v].constant ? sample_tensor(x, &x->g->value[v].t, axis, out)
              : is_mask(x, v)         ? sample_mask(x, v, axis, out)
              : n && (sample_small(x, v, axis, out) || sample_node(x, n, axis, depth - 1, out));
    if (!ok) return false;
    Seen *seen = NEW(x->arena, Seen);
    *seen = (Seen){ .value = v, .t = *out };
    memcpy(seen->axis, axis, sizeof *axis * (size_t)rank);
    Seen **list = &x->seen[x->arena == x->own];
    seen->next = *list, *list = seen;
    return true;
}

static bool sample(Sampler *x, int v, const Axis *axis, int depth, Tensor *out)
{
    const int rank = x->s->t[v].rank;
    if (rank < 0 || depth == 0) return false;
    const bool own = by_head(axis, rank);
    for (Seen *seen = x->seen[own]; seen; seen = seen->next)
        if (seen->value == v && memcmp(seen->axis, axis, sizeof *axis * (size_t)rank) == 0)
            return *out = seen->t, true;
    Arena *outer = x->arena;
    x->arena = own ? x->own : x->shared;
    bool ok = sample_new(x, v, axis, depth, out);
    x->arena = outer;
    return ok;
}

Sampler *sampler_new(Arena *shared, Arena *own, const Graph *g, const Symbols *s, const Points *p,
                     SampleMask *mask)
{
    Sampler *x = NEW(shared, Sampler);
    *x = (Sampler){ .g = g, .s = s, .shared = shared, .own = own, .point = p->point, .n = p->n,
                    .B = p->B, .S = p->S, .mask = mask };
    return x;
}

void sampler_head(Sampler *x, int head)
{
    x->head = head;
    x->seen[1] = NULL;
    arena_reset(x->own, 0);
}

bool sampler_take(Sampler *x, int v, const Axis *axis, Tensor *out)
{
    return x->s->known && sample(x, v, axis, MOST_DEPTH, out);
}

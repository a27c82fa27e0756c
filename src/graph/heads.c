/* SPDX-License-Identifier: Apache-2.0
 * heads.c - how exporters cut a value [B, S, C] into heads and bring these to a matrix product:
 *
 *   Reshape [B,S,H,D], or one third of [B,S,3,H,D]; Transposes, some of them on [B*H,S,D];
 *   constant factors; x * cos + Concat(-x2, x1) * sin, the rotation of ModernBERT and ESM; heads of
 *   keys and values repeated for groups of queries: Unsqueeze, Expand (or Tile) and Reshape, or Gather
 *
 * in any order. Followed backwards, from the product to the value. */
#include "attention.h"

enum { MOST_STEPS = 16 };

bool scalar_factor(const Graph *g, const GraphNode *n, int *rest, double *factor)
{
    double c;
    if (graph_is(n, "Div") && graph_scalar(g, n->in[1], &c) && c != 0)
        return *rest = n->in[0], *factor = 1 / c, true;
    for (int k = 0; graph_is(n, "Mul") && k < 2; k++)
        if (graph_scalar(g, n->in[k], &c)) return *rest = n->in[1 - k], *factor = c, true;
    return false;
}

/* ---- axes ---- */
bool swaps_last(const GraphNode *n)
{
    size_t rank;
    const int64_t *perm = graph_is(n, "Transpose") ? onnx_ints(n->node, "perm", &rank) : NULL;
    if (!perm || rank < 3 || rank > 4) return false;
    for (size_t i = 0; i + 2 < rank; i++)
        if (perm[i] != (int64_t)i) return false;
    return perm[rank - 2] == (int64_t)rank - 1 && perm[rank - 1] == (int64_t)rank - 2;
}

/* total: which axis of the source is axis i of the product's operand */
static bool compose(const GraphNode *transpose, int total[4])
{
    static const int64_t last[4] = { 0, 1, 3, 2 };
    size_t n;
    const int64_t *perm = onnx_ints(transpose->node, "perm", &n);
    if (perm && n == 3 && swaps_last(transpose)) perm = last, n = 4;
    if (!perm || n != 4) return false;
    for (int i = 0; i < 4; i++) {
        if (perm[total[i]] < 0 || perm[total[i]] > 3) return false;
        total[i] = (int)perm[total[i]];
    }
    return true;
}

bool counts_tokens(const Finder *f, int64_t dim)
{
    return f->rows ? dim > 0 || dim <= DIM_NAMED : dim == DIM_SEQUENCE;
}

static bool joined(const Finder *f, const Tensor *four, const Tensor *three)
{
    if (four->rank != 4 || three->rank != 3 || (!f->rows && four->dim[0] != DIM_BATCH) || four->dim[1] <= 0)
        return false;
    for (int i = 2; i < 4; i++)
        if (four->dim[i] == DIM_UNKNOWN || four->dim[i] != three->dim[i - 1]) return false;
    return true;
}

/* [B, S, C] cut into heads [B, S, H, D], not [B * H, S, D] parted. */
static bool is_merged(const Tensor *three, const Tensor *four)
{
    return three->dim[1] == four->dim[1] && three->dim[2] == four->dim[2] * four->dim[3] &&
           !(three->dim[1] == four->dim[2] && three->dim[2] == four->dim[3]);
}

static bool joins_or_parts(const Finder *f, const GraphNode *n)
{
    if (!graph_is(n, "Reshape")) return false;
    const Tensor *in = &f->s.t[n->in[0]], *out = &f->s.t[n->out[0]];
    if (joined(f, in, out)) return true;
    return (f->rows ? !is_merged(in, out) : in->dim[0] != DIM_BATCH) && joined(f, out, in);
}

int heads_through(const Finder *f, int value)
{
    for (int step = 0; step < MOST_STEPS; step++) {
        const GraphNode *n = graph_producer(f->g, value);
        if (!joins_or_parts(f, n)) break;
        value = n->in[0];
    }
    return value;
}

/* ---- where heads come from ---- */
static bool is_last_axis(const GraphNode *n, int rank)
{
    int64_t axis = onnx_int(n->node, "axis", 0);
    return axis == -1 || axis == rank - 1;
}

/* A source that is a run of columns of a wider one. */
static void widen_source(const Finder *f, Heads *h)
{
    const GraphNode *n = graph_producer(f->g, h->source);
    if (!graph_is(n, "Split") || !is_last_axis(n, 3)) return;
    int64_t before = 0;
    for (int k = 0; k < n->n_out && n->out[k] != h->source; k++) {
        const Tensor *t = n->out[k] >= 0 ? &f->s.t[n->out[k]] : NULL;
        if (!t || t->rank != 3 || t->dim[2] < 0) return;
        before += t->dim[2];
    }
    h->source = n->in[0];
    h->at += before;
}

static bool splits_heads(const Finder *f, const GraphNode *reshape, int64_t parts, Heads *h)
{
    const Tensor *in = &f->s.t[reshape->in[0]], *out = &f->s.t[reshape->out[0]];
    int rank = parts ? 5 : 4;
    if (in->rank != 3 || out->rank != rank || in->type != T_F32) return false;
    if (!f->rows && (in->dim[0] != DIM_BATCH || out->dim[0] != DIM_BATCH)) return false;
    if (!counts_tokens(f, in->dim[1]) || out->dim[1] != in->dim[1]) return false;
    h->source = reshape->in[0], h->H = out->dim[rank - 2], h->D = out->dim[rank - 1];
    if (h->H <= 0 || h->D <= 0) return false;
    return h->H * h->D * MAX(parts, (int64_t)1) == in->dim[2];
}

static bool constant_at(const Finder *f, const GraphNode *n, int k, int64_t *out)
{
    double number;
    if (k >= n->n_in || !graph_scalar(f->g, n->in[k], &number)) return false;
    *out = (int64_t)number;
    return true;
}

/* v is part *index of axis *axis of a value of five axes, with that axis gone; *turned: a Transpose of the part
 * before that, where ONNX Runtime's optimizer has moved it, or NULL. */
static bool is_part(const Finder *f, int v, int *five, int *axis, int64_t *index, const GraphNode **turned)
{
    const GraphNode *n = graph_producer(f->g, v);
    int64_t sliced = 0;
    if (f->s.t[v].rank != 4) return false;
    if (graph_is(n, "Gather") && f->s.t[n->in[0]].rank == 5) {
        *five = n->in[0], *axis = (int)((onnx_int(n->node, "axis", 0) + 5) % 5);
        return f->s.t[n->in[1]].rank == 0 && constant_at(f, n, 1, index);
    }
    if (!graph_is(n, "Squeeze") || f->s.t[n->in[0]].rank != 5) return false;
    int part = n->in[0];
    n = graph_producer(f->g, part);
    if (graph_is(n, "Transpose")) {
        *turned = n, part = n->in[0];
        n = graph_producer(f->g, part);
    }
    if (graph_is(n, "Split")) {
        *axis = (int)((onnx_int(n->node, "axis", 0) + 5) % 5);
        *five = n->in[0];
        for (*index = 0; n->out[*index] != part;) ++*index;
        return f->s.t[*five].dim[*axis] == n->n_out && f->s.t[part].dim[*axis] == 1;
    }
    if (!graph_is(n, "Slice") || !constant_at(f, n, 1, index) || !constant_at(f, n, 3, &sliced))
        return false;
    *five = n->in[0], *axis = (int)((sliced + 5) % 5);
    return f->s.t[part].dim[*axis] == 1;
}

/* The same four axes before a Transpose of all five, of which `axis` is the one that is gone. */
static bool compose_five(const GraphNode *transpose, int *axis, int total[4])
{
    size_t n;
    const int64_t *perm = onnx_ints(transpose->node, "perm", &n);
    if (!perm || n != 5) return false;
    int from = (int)perm[*axis];
    for (int i = 0; i < 4; i++) {
        int at = (int)perm[total[i] + (total[i] >= *axis)];
        total[i] = at - (at > from);
    }
    *axis = from;
    return true;
}

/* The four axes before a Transpose of all five, of which Squeeze takes away the one that was `axis` before. */
static bool compose_squeezed(const Finder *f, const GraphNode *squeeze, const GraphNode *turned, int axis, int total[4])
{
    size_t n;
    double gone;
    const int64_t *perm = onnx_ints(turned->node, "perm", &n), *list;
    int at = 0;
    if (!perm || n != 5) return false;
    while (at < 5 && perm[at] != axis) at++;
    list = onnx_ints(squeeze->node, "axes", &n);
    if (list ? n != 1 : squeeze->n_in < 2 || !graph_scalar(f->g, squeeze->in[1], &gone)) return false;
    if (list) gone = (double)list[0];
    return at < 5 && (gone == at || gone == at - 5) && compose_five(turned, &at, total);
}

static bool takes_part(const Finder *f, int v, int total[4], Heads *h)
{
    const GraphNode *turned = NULL;
    int five, axis;
    int64_t index;
    if (!is_part(f, v, &five, &axis, &index, &turned)) return false;
    if (turned && !compose_squeezed(f, graph_producer(f->g, v), turned, axis, total)) return false;
    const GraphNode *reshape = graph_producer(f->g, five);
    if (graph_is(reshape, "Transpose")) {
        if (!compose_five(reshape, &axis, total)) return false;
        five = reshape->in[0];
        reshape = graph_producer(f->g, five);
    }
    int64_t parts = f->s.t[five].dim[2];
    if (!graph_is(reshape, "Reshape") || axis != 2 || parts <= 0 || index < 0 || index >= parts)
        return false;
    if (!splits_heads(f, reshape, parts, h)) return false;
    h->at = index * h->H * h->D;
    return true;
}

/* ---- rotation ---- */
/* v is the first or second half of x along the last axis. */
static bool is_half(const Finder *f, int v, int x, int which)
{
    const GraphNode *n = graph_producer(f->g, v);
    const Tensor *whole = &f->s.t[x], *half = &f->s.t[v];
    int last = whole->rank - 1;
    if (last < 0 || half->rank != whole->rank || 2 * half->dim[last] != whole->dim[last])
        return false;
    if (!n || n->n_in < 1 || n->in[0] != x) return false;
    if (graph_is(n, "Split")) return is_last_axis(n, last + 1) && n->out[which] == v;
    int64_t from, axis, step = 1;
    if (!graph_is(n, "Slice") || !constant_at(f, n, 1, &from) || !constant_at(f, n, 3, &axis))
        return false;
    if (n->n_in > 4 && n->in[4] >= 0 && !constant_at(f, n, 4, &step)) return false;
    return step == 1 && from == which * half->dim[last] && (axis == last || axis == -1);
}

/* v = Concat(-x2, x1) */
static bool is_turned(const Finder *f, int v, int x)
{
    const GraphNode *concat = graph_producer(f->g, v);
    if (!graph_is(concat, "Concat") || concat->n_in != 2 ||
        !is_last_axis(concat, f->s.t[v].rank))
        return false;
    const GraphNode *neg = graph_producer(f->g, concat->in[0]);
    return graph_is(neg, "Neg") && is_half(f, neg->in[0], x, 1) && is_half(f, concat->in[1], x, 0);
}

/* A number for every position and column of a head: only those two axes, as x has them. */
static bool is_angles(const Finder *f, int v, int x)
{
    const Tensor *t = &f->s.t[v], *to = &f->s.t[x];
    if (v < 0 || f->carried[v] || t->type != T_F32 || t->rank < 2 || t->rank > to->rank)
        return false;
    bool sequence = false;
    for (int i = 0; i < t->rank; i++) {
        int64_t dim = t->dim[i], of = to->dim[to->rank - t->rank + i];
        if (i == t->rank - 1 ? dim != of || dim <= 0 : dim != 1 && dim != DIM_SEQUENCE)
            return false;
        if (dim == DIM_SEQUENCE && (of != DIM_SEQUENCE || sequence)) return false;
        sequence |= dim == DIM_SEQUENCE;
    }
    return sequence;
}

static bool match_turn(const Finder *f, const GraphNode *one, const GraphNode *two, int *x,
                       Heads *h)
{
    for (int i = 0; i < 4; i++) {
        int c = one->in[i & 1], y = two->in[i >> 1], s = two->in[1 - (i >> 1)];
        *x = one->in[1 - (i & 1)];
        if (*x < 0 || y < 0 || s < 0 || c < 0 || !is_turned(f, y, *x)) continue;
        if (is_angles(f, c, *x) && is_angles(f, s, *x)) return h->cos = c, h->sin = s, true;
    }
    return false;
}

static bool is_rotated(const Finder *f, const GraphNode *add, int *x, Heads *h)
{
    if (!graph_is(add, "Add") || h->cos >= 0) return false;
    const GraphNode *a = graph_producer(f->g, add->in[0]), *b = graph_producer(f->g, add->in[1]);
    if (!graph_is(a, "Mul") || !graph_is(b, "Mul")) return false;
    return match_turn(f, a, b, x, h) || match_turn(f, b, a, x, h);
}

/* ---- heads that several queries share ---- */
/* small and large differ in nothing but `axis`, where small has `from` and large `to`. */
static bool differs_at(const Tensor *small, const Tensor *large, int axis, int64_t from, int64_t to)
{
    if (small->rank != large->rank) return false;
    for (int i = 0; i < small->rank; i++) {
        const bool here = i == axis;
        if (small->dim[i] == DIM_UNKNOWN || small->dim[i] != (here ? from : large->dim[i]) ||
            (here && large->dim[i] != to))
            return false;
    }
    return true;
}

/* Four axes with one more behind `axis`, and of that length. */
static bool has_inner_axis(const Tensor *five, const Tensor *four, int axis, int64_t length)
{
    if (five->rank != 5 || four->rank != 4 || five->dim[axis + 1] != length) return false;
    for (int i = 0; i < 4; i++) {
        const int64_t dim = five->dim[i + (i > axis)];
        if (dim == DIM_UNKNOWN || dim != four->dim[i]) return false;
    }
    return true;
}

/* Reshape(Expand(Unsqueeze(x))): each of axis `axis` of x so many times; perhaps heads and batch are joined with it. */
static bool is_expanded(const Finder *f, const GraphNode *join, int axis, int *x, int64_t *copies)
{
    const GraphNode *repeat = graph_producer(f->g, join->in[0]);
    if (!graph_is(join, "Reshape") || !(graph_is(repeat, "Expand") || graph_is(repeat, "Tile"))) return false;
    const GraphNode *one = graph_producer(f->g, repeat->in[0]);
    if (!graph_is(one, "Unsqueeze") && !graph_is(one, "Reshape")) return false;
    const Tensor *out = &f->s.t[join->out[0]], *many = &f->s.t[repeat->out[0]];
    const Tensor *single = &f->s.t[repeat->in[0]], *in = &f->s.t[one->in[0]];
    if (in->rank != 4 || many->rank != 5 || axis > 2) return false;
    *x = one->in[0], *copies = many->dim[axis + 1];
    const int64_t few = in->dim[axis], all = out->rank == 4 ? out->dim[axis] : -1;
    if (few <= 0 || *copies <= 0 || !has_inner_axis(single, in, axis, 1) ||
        !differs_at(single, many, axis + 1, 1, *copies))
        return false;
    if (all < 0) return axis == 1 && joined(f, in, out);
    return all % few == 0 && all / few == *copies && differs_at(in, out, axis, few, all);
}

/* Gather(x, [0, 0, 1, 1, ..]) */
static bool is_gathered(const Finder *f, const GraphNode *n, int axis, int *x, int64_t *copies)
{
    if (!graph_is(n, "Gather") || !f->g->value[n->in[1]].constant) return false;
    const Tensor *at = &f->g->value[n->in[1]].t, *in = &f->s.t[n->in[0]];
    const int64_t by = onnx_int(n->node, "axis", 0);
    if (in->rank != 4 || at->rank != 1 || (by < 0 ? by + 4 : by) != axis || in->dim[axis] <= 0) return false;
    *x = n->in[0], *copies = at->dim[0] / in->dim[axis];
    bool whole = *copies > 0 && at->dim[0] == *copies * in->dim[axis];
    for (int64_t i = 0; whole && i < at->dim[0]; i++) whole = tensor_get_int(at, i) == i / *copies;
    return whole;
}

static bool repeats_heads(const Finder *f, const GraphNode *n, int axis, int *x, Heads *h)
{
    int64_t copies;
    if (!n || h->copies > 1) return false;
    if (!is_expanded(f, n, axis, x, &copies) && !is_gathered(f, n, axis, x, &copies)) return false;
    return h->copies = copies, true;
}

/* Heads that were made otherwise, of a norm of each of them as a rule. */
static bool takes_heads(const Finder *f, int v, Heads *h)
{
    const Tensor *t = &f->s.t[v];
    if (t->rank != 4 || t->type != T_F32 || (!f->rows && t->dim[0] != DIM_BATCH) || !counts_tokens(f, t->dim[1]))
        return false;
    h->source = v, h->H = t->dim[2], h->D = t->dim[3];
    return h->H > 0 && h->D > 0;
}

bool heads_match(const Finder *f, int value, const int wanted[4], Heads *h)
{
    int total[4] = { 0, 1, 2, 3 };
    *h = (Heads){ .copies = 1, .scale = 1, .cos = -1, .sin = -1 };
    for (int step = 0; step < MOST_STEPS; step++) {
        const GraphNode *n = graph_producer(f->g, value);
        double factor;
        int x;
        if (repeats_heads(f, n, total[1], &x, h)) value = x;
        else if (joins_or_parts(f, n)) value = n->in[0];
        else if (graph_is(n, "Transpose") && compose(n, total)) value = n->in[0];
        else if (scalar_factor(f->g, n, &value, &factor)) h->scale *= factor;
        else if (is_rotated(f, n, &x, h)) value = x;
        else break;
    }
    const GraphNode *n = graph_producer(f->g, value);
    bool columns = n && (graph_is(n, "Reshape") ? splits_heads(f, n, 0, h)
                                                : takes_part(f, value, total, h));
    if ((!columns && !takes_heads(f, value, h)) || memcmp(total, wanted, sizeof total) != 0) return false;
    if (columns) widen_source(f, h);
    return true;
}

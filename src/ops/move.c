/* SPDX-License-Identifier: Apache-2.0
 * move.c - operators that carry numbers to other places by a fixed rule: transposing, cutting,
 * joining, repeating, padding. Types do not matter here, only the size of an element. */
#include "walk.h"

static Move move_of(const OpCall *call)
{
    return (Move){ call->in[0]->data, call->out[0].data, dtype_size(call->out[0].type) };
}

/* ---- Transpose ---- */

static bool find_order(const OpCall *call, int *order, Err *err)
{
    const int rank = call->in[0]->rank;
    const OnnxAttr *a = onnx_attr(call->node, "perm");
    bool used[MAX_RANK] = { 0 };
    if (a && (a->type != A_INTS || a->n != (size_t)rank))
        return op_fail(call, err, "perm: found %zu numbers, wanted %d", a->n, rank);
    for (int i = 0; i < rank; i++) {
        order[i] = a ? op_axis(call, a->ints[i], rank, err) : rank - 1 - i;
        if (order[i] < 0) return false;
        if (used[order[i]]) return op_fail(call, err, "perm: found axis %d twice", order[i]);
        used[order[i]] = true;
    }
    return true;
}

static bool transpose_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    int order[MAX_RANK];
    int64_t dim[MAX_RANK];
    if (!find_order(call, order, err)) return false;
    for (int i = 0; i < t->rank; i++) dim[i] = t->dim[order[i]];
    return op_out(call, 0, t->type, t->rank, dim);
}

/* Matrices [rows, columns] of numbers of 32 bits to [columns, rows]: channels first to channels last and back. */
enum { TURN_COLUMNS = 256, TURN_TILE = 4 }; /* columns at a time, whose results the first cache keeps */
typedef struct TurnJob {
    const uint32_t *in;
    uint32_t *out;
    int64_t rows, columns, each; /* each: pieces of a matrix */
} TurnJob;

static void turn_piece(const TurnJob *job, const uint32_t *in, uint32_t *out, int64_t from, int64_t to)
{
    const int64_t R = job->rows, C = job->columns, whole = R / TURN_TILE * TURN_TILE;
    int64_t c = from;
    for (; c + TURN_TILE <= to; c += TURN_TILE)
        for (int64_t r = 0; r < whole; r += TURN_TILE)
#pragma GCC unroll 4
            for (int i = 0; i < TURN_TILE; i++)
#pragma GCC unroll 4
                for (int k = 0; k < TURN_TILE; k++) out[(c + i) * R + r + k] = in[(r + k) * C + c + i];
    for (; c < to; c++)
        for (int64_t r = 0; r < whole; r++) out[c * R + r] = in[r * C + c];
    for (int64_t r = whole; r < R; r++)
        for (int64_t k = from; k < to; k++) out[k * R + r] = in[r * C + k];
}

static void turn_range(void *context, int64_t from, int64_t to)
{
    const TurnJob *job = context;
    const int64_t size = job->rows * job->columns;
    for (int64_t i = from; i < to; i++) {
        const int64_t matrix = i / job->each, c = i % job->each * TURN_COLUMNS;
        turn_piece(job, job->in + matrix * size, job->out + matrix * size, c, MIN(c + TURN_COLUMNS, job->columns));
    }
}

/* Whether the order is 0 .. b-1, then k .. rank-1, then b .. k-1: matrices that are turned. */
static bool turn_find(const Tensor *t, const int *order, TurnJob *job, int64_t *matrices)
{
    const int n = t->rank;
    int b = 0;
    while (b < n && order[b] == b) b++;
    if (b == n || dtype_size(t->type) != sizeof *job->in) return false;
    const int k = order[b];
    for (int i = b; i < n; i++)
        if (order[i] != (i - b < n - k ? k + i - b : i - (n - k))) return false;
    *matrices = job->rows = job->columns = 1;
    for (int i = 0; i < n; i++) *(i < b ? matrices : i < k ? &job->rows : &job->columns) *= t->dim[i];
    return true;
}

static bool transpose_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    int order[MAX_RANK];
    int64_t dense[MAX_RANK], step[MAX_RANK], matrices;
    TurnJob turn = { .in = t->data, .out = call->out[0].data };
    if (!find_order(call, order, err)) return false;
    if (turn_find(t, order, &turn, &matrices)) {
        turn.each = (turn.columns + TURN_COLUMNS - 1) / TURN_COLUMNS;
        const int64_t piece = MAX(turn.rows * MIN(turn.columns, TURN_COLUMNS), 1); /* numbers */
        op_split(call, matrices * turn.each, MAX(32768 / piece, 1), turn_range, &turn);
        return true;
    }
    dense_steps(t->rank, t->dim, dense);
    for (int i = 0; i < t->rank; i++) step[i] = dense[order[i]];
    Walk walk = walk_over(t->rank, call->out[0].dim);
    walk_steps(&walk, step);
    Move move = move_of(call);
    walk_run(&walk, call, walk_gather, &move);
    return true;
}

/* ---- Concat and Split: blocks along one axis ---- */

typedef struct Blocks {
    int axis;
    int64_t outer;
    size_t inner;           /* bytes of one step along the axis */
} Blocks;

static Blocks blocks_of(const Tensor *t, int axis)
{
    Blocks b = { .axis = axis, .outer = 1, .inner = dtype_size(t->type) };
    for (int i = 0; i < axis; i++) b.outer *= t->dim[i];
    for (int i = axis + 1; i < t->rank; i++) b.inner *= (size_t)t->dim[i];
    return b;
}

static bool concat_shape(OpCall *call, Err *err)
{
    const Tensor *first = call->in[0];
    const int axis =
        op_axis(call, op_attr_int(call, "axis", call->opset < 4 ? 1 : 0), first->rank, err);
    char a[128], b[128];
    if (axis < 0) return false;
    int64_t dim[MAX_RANK];
    memcpy(dim, first->dim, sizeof dim);
    for (int i = 1; i < call->n_in; i++) {
        const Tensor *t = call->in[i];
        if (!t) return op_fail(call, err, "input %d: found none, wanted one", i);
        bool fits = t->rank == first->rank && t->type == first->type;
        for (int k = 0; fits && k < t->rank; k++) fits = k == axis || t->dim[k] == first->dim[k];
        if (!fits)
            return op_fail(call, err, "input %d: found %s, wanted %s but for axis %d", i,
                           tensor_show(t, a), tensor_show(first, b), axis);
        dim[axis] = MIN(dim[axis] + t->dim[axis], (int64_t)1 << 41); /* too large stays too large */
    }
    return op_out(call, 0, first->type, first->rank, dim);
}

static bool concat_run(OpCall *call, Err *err)
{
    Tensor *out = &call->out[0];
    const int axis =
        op_axis(call, op_attr_int(call, "axis", call->opset < 4 ? 1 : 0), out->rank, err);
    if (axis < 0) return false;
    const Blocks b = blocks_of(out, axis);
    const size_t row = (size_t)out->dim[axis] * b.inner;
    char *to = out->data;
    for (int i = 0; i < call->n_in; i++) {
        const size_t size = (size_t)call->in[i]->dim[axis] * b.inner;
        const char *from = call->in[i]->data;
        for (int64_t o = 0; o < b.outer && size; o++)
            memcpy(to + (size_t)o * row, from + (size_t)o * size, size);
        to += size;
    }
    return true;
}

/* Length of piece i: said by attribute or input, or equal parts (the last one smaller). */
static bool split_length(const OpCall *call, int64_t whole, int i, int64_t *out, Err *err)
{
    const Tensor *input = op_in(call, 1);
    const OnnxAttr *a = onnx_attr(call->node, "split");
    const int64_t said = input ? tensor_count(input) : a && a->type == A_INTS ? (int64_t)a->n : -1;
    if (said >= 0 && said != call->n_out)
        return op_fail(call, err, "split: found %lld lengths, wanted %d", (long long)said,
                       call->n_out);
    const int64_t parts = op_attr_int(call, "num_outputs", call->n_out);
    if (said < 0 && parts != call->n_out)
        return op_fail(call, err, "num_outputs: found %lld, wanted %d", (long long)parts,
                       call->n_out);
    const int64_t part = (whole + parts - 1) / parts;
    *out = said >= 0 ? (input ? tensor_get_int(input, i) : a->ints[i])
                     : MAX(MIN(part, whole - i * part), 0);
    return true;
}

static bool split_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const int axis = op_axis(call, op_attr_int(call, "axis", 0), t->rank, err);
    if (axis < 0) return false;
    int64_t left = t->dim[axis], dim[MAX_RANK];
    memcpy(dim, t->dim, sizeof dim);
    for (int i = 0; i < call->n_out; i++) {
        if (!split_length(call, t->dim[axis], i, &dim[axis], err)) return false;
        if (dim[axis] < 0 || dim[axis] > left)
            return op_fail(call, err, "split: found %lld at %d, wanted at most %lld",
                           (long long)dim[axis], i, (long long)left);
        left -= dim[axis];
        op_out(call, i, t->type, t->rank, dim);
    }
    if (left) return op_fail(call, err, "split: %lld elements left over", (long long)left);
    return true;
}

static bool split_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const int axis = op_axis(call, op_attr_int(call, "axis", 0), t->rank, err);
    if (axis < 0) return false;
    const Blocks b = blocks_of(t, axis);
    const size_t row = (size_t)t->dim[axis] * b.inner;
    const char *from = t->data;
    for (int i = 0; i < call->n_out; i++) {
        const size_t size = (size_t)call->out[i].dim[axis] * b.inner;
        char *to = call->out[i].data;
        for (int64_t o = 0; to && o < b.outer && size; o++)
            memcpy(to + (size_t)o * size, from + (size_t)o * row, size);
        from += size;
    }
    return true;
}

/* ---- Slice: attributes until opset 10, inputs after ---- */

typedef struct SliceCut {
    int64_t start, step, n; /* of one axis */
} SliceCut;

typedef struct SliceList {
    const Tensor *input;
    const OnnxAttr *attr;
    int64_t n;              /* -1: not given */
} SliceList;

static bool slice_list(const OpCall *call, int index, const char *name, SliceList *list, Err *err)
{
    const Tensor *t = op_in(call, index);
    const OnnxAttr *a = onnx_attr(call->node, name);
    *list = (SliceList){ t, a, -1 };
    if (t && ((t->type != T_I64 && t->type != T_I32) || t->rank != 1))
        return op_wrong_input(call, index, "a list of int64 numbers", err);
    if (t) {
        list->n = t->dim[0];
    } else if (a && a->type == A_INTS) {
        list->n = (int64_t)a->n;
    }
    return true;
}

static int64_t list_at(const SliceList *list, int64_t i, int64_t otherwise)
{
    if (list->n < 0) return otherwise;
    return list->input ? tensor_get_int(list->input, i) : list->attr->ints[i];
}

static SliceCut cut_of(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    if (start < 0) start += dim;
    if (end < 0) end += dim;
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? dim - 1 : dim;
    start = MAX(MIN(start, high), step < 0 ? MIN(0, high) : 0);
    end = MAX(MIN(end, high), low);
    const int64_t way = step < 0 ? start - end : end - start;
    const uint64_t stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    const int64_t n = way > 0 ? 1 + (int64_t)((uint64_t)(way - 1) / stride) : 0;
    return (SliceCut){ start, n > 1 ? step : 1, n };
}

static bool find_cuts(const OpCall *call, SliceCut *cut, Err *err)
{
    const Tensor *t = call->in[0];
    static const char *const names[] = { "starts", "ends", "axes", "steps" };
    SliceList list[4];
    for (int i = 0; i < 4; i++)
        if (!slice_list(call, i + 1, names[i], &list[i], err)) return false;
    const int64_t n = list[0].n;
    for (int i = 0; i < 4; i++)
        if (list[i].n != n && (i < 2 || list[i].n >= 0))
            return op_fail(call, err, "%s: found %lld numbers, wanted %lld", names[i],
                           (long long)list[i].n, (long long)n);
    if (n < 0) return op_fail(call, err, "starts: found none, wanted one for each axis");
    for (int i = 0; i < t->rank; i++) cut[i] = (SliceCut){ 0, 1, t->dim[i] };
    for (int64_t i = 0; i < n; i++) {
        const int axis = op_axis(call, list_at(&list[2], i, i), t->rank, err);
        const int64_t step = list_at(&list[3], i, 1);
        if (axis < 0) return false;
        if (!step) return op_fail(call, err, "steps: found 0, wanted another number");
        cut[axis] = cut_of(t->dim[axis], list_at(&list[0], i, 0), list_at(&list[1], i, 0), step);
    }
    return true;
}

static bool slice_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    SliceCut cut[MAX_RANK];
    int64_t dim[MAX_RANK];
    if (!find_cuts(call, cut, err)) return false;
    for (int i = 0; i < t->rank; i++) dim[i] = cut[i].n;
    return op_out(call, 0, t->type, t->rank, dim);
}

static bool slice_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    SliceCut cut[MAX_RANK];
    int64_t step[MAX_RANK];
    if (!find_cuts(call, cut, err)) return false;
    dense_steps(t->rank, t->dim, step);
    Walk walk = walk_over(t->rank, call->out[0].dim);
    for (int i = 0; i < t->rank; i++) {
        walk.base[0] += cut[i].start * step[i];
        step[i] *= cut[i].step;
    }
    walk_steps(&walk, step);
    Move move = move_of(call);
    walk_run(&walk, call, walk_gather, &move);
    return true;
}

/* ---- Tile: each dim becomes (repeats, dim) ---- */

static bool tile_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *repeats = call->in[1];
    int64_t dim[MAX_RANK];
    if (repeats->type != T_I64 || repeats->rank != 1 || repeats->dim[0] != t->rank)
        return op_wrong_input(call, 1, "one int64 number for each dimension", err);
    for (int i = 0; i < t->rank; i++) {
        const int64_t times = tensor_get_int(repeats, i);
        if (times < 0 || __builtin_mul_overflow(times, t->dim[i], &dim[i]))
            return op_fail(call, err, "repeats: found %lld at %d", (long long)times, i);
    }
    return op_out(call, 0, t->type, t->rank, dim);
}

static bool tile_run(OpCall *call, Err *err)
{
    (void)err;
    const Tensor *t = call->in[0];
    int64_t dense[MAX_RANK], dim[WALK_RANK], step[WALK_RANK];
    dense_steps(t->rank, t->dim, dense);
    for (int i = 0; i < t->rank; i++) {
        dim[2 * i] = t->dim[i] ? call->out[0].dim[i] / t->dim[i] : 0;
        dim[2 * i + 1] = t->dim[i];
        step[2 * i] = 0;
        step[2 * i + 1] = dense[i];
    }
    Walk walk = walk_over(2 * t->rank, dim);
    walk_steps(&walk, step);
    Move move = move_of(call);
    walk_run(&walk, call, walk_gather, &move);
    return true;
}

/* ---- Pad: attributes until opset 11, inputs after; axes from 18 ---- */

typedef struct Pads {
    int64_t before[MAX_RANK], after[MAX_RANK];
} Pads;

static bool pad_numbers(const OpCall *call, SliceList *pads, SliceList *axes, Err *err)
{
    const int rank = call->in[0]->rank;
    if (!slice_list(call, 1, "pads", pads, err) || !slice_list(call, 3, "", axes, err))
        return false;
    const int64_t wanted = 2 * (axes->n < 0 ? rank : axes->n);
    if (pads->n == wanted) return true;
    return op_fail(call, err, "pads: found %lld numbers, wanted %lld", (long long)pads->n,
                   (long long)wanted);
}

static bool find_pads(const OpCall *call, Pads *out, Err *err)
{
    SliceList pads, axes;
    if (!pad_numbers(call, &pads, &axes, err)) return false;
    *out = (Pads){ 0 };
    const int64_t n = pads.n / 2, limit = (int64_t)1 << 40;
    for (int64_t i = 0; i < n; i++) {
        const int axis = op_axis(call, list_at(&axes, i, i), call->in[0]->rank, err);
        const int64_t before = list_at(&pads, i, 0), after = list_at(&pads, n + i, 0);
        if (axis < 0) return false;
        if (before < -limit || before > limit || after < -limit || after > limit)
            return op_fail(call, err, "pads: found %lld and %lld for axis %d", (long long)before,
                           (long long)after, axis);
        out->before[axis] = before;
        out->after[axis] = after;
    }
    return true;
}

typedef enum { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP, PAD_MODES } PadMode;

static bool pad_mode(const OpCall *call, PadMode *mode, Err *err)
{
    static const char *const names[PAD_MODES] = { "constant", "edge", "reflect", "wrap" };
    const Str name = onnx_string(call->node, "mode", "constant");
    for (*mode = 0; *mode < PAD_MODES; (*mode)++)
        if (str_is(name, names[*mode])) return true;
    return op_fail(call, err, "mode: found '%.*s', wanted constant, edge, reflect or wrap",
                   (int)MIN(name.n, 40), name.p);
}

static bool pad_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *value = op_in(call, 2);
    Pads pads;
    PadMode mode;
    int64_t dim[MAX_RANK];
    if (!pad_mode(call, &mode, err) || !find_pads(call, &pads, err)) return false;
    if (value && (tensor_count(value) != 1 || value->type != t->type))
        return op_wrong_input(call, 2, "one number of the type of input 0", err);
    for (int i = 0; i < t->rank; i++) {
        dim[i] = t->dim[i] + pads.before[i] + pads.after[i];
        if (dim[i] < 0 || (mode != PAD_CONSTANT && !t->dim[i] && dim[i]))
            return op_fail(call, err, "axis %d: found dimension %lld and pads %lld, %lld", i,
                           (long long)t->dim[i], (long long)pads.before[i],
                           (long long)pads.after[i]);
    }
    return op_out(call, 0, t->type, t->rank, dim);
}

/* Where an output index outside the input comes from; -1: the constant. */
static int64_t pad_source(PadMode mode, int64_t at, int64_t dim)
{
    if (at >= 0 && at < dim) return at;
    const int64_t period = mode == PAD_REFLECT ? MAX(2 * dim - 2, 1) : dim;
    int64_t rest;
    switch (mode) {
    case PAD_EDGE: return at < 0 ? 0 : dim - 1;
    case PAD_WRAP: rest = at % period; return rest < 0 ? rest + period : rest;
    case PAD_REFLECT:
        rest = at % period;
        if (rest < 0) rest += period;
        return rest < dim ? rest : period - rest;
    default: return -1;
    }
}

typedef struct PadJob {
    const Tensor *in;
    Tensor *out;
    const int64_t *map[MAX_RANK]; /* by axis: source index of an output index, times its step */
    int last;                     /* the last axis that is padded, or the first of all */
    int64_t from, to;             /* of it: what lies in the input as it does in the output */
    size_t item;                  /* bytes of one index of it */
    uint8_t value[8];
    size_t size;
} PadJob;

/* The constant, as often as it fits. */
static void pad_fill(const PadJob *job, char *out, size_t bytes)
{
    if (!bytes) return;
    memcpy(out, job->value, job->size);
    for (size_t done = job->size; done < bytes; done *= 2) memcpy(out + done, out, MIN(done, bytes - done));
}

static void pad_items(const PadJob *job, const char *in, char *out, int64_t from, int64_t to)
{
    const int64_t *map = job->map[job->last];
    for (int64_t k = from; k < to; k++) {
        if (map[k] < 0) pad_fill(job, out + (size_t)k * job->item, job->item);
        else memcpy(out + (size_t)k * job->item, in + (size_t)map[k] * job->size, job->item);
    }
}

/* Lines: all of the last padded axis, and what is inside. */
static void pad_lines(void *context, int64_t from, int64_t to)
{
    const PadJob *job = context;
    const Tensor *out = job->out;
    const int64_t n = out->dim[job->last];
    for (int64_t i = from; i < to; i++) {
        int64_t rest = i, at = 0;
        for (int axis = job->last - 1; axis >= 0 && at >= 0; axis--) {
            const int64_t source = job->map[axis][rest % out->dim[axis]];
            rest /= out->dim[axis];
            at = source < 0 ? -1 : at + source;
        }
        char *line = (char *)out->data + (size_t)(i * n) * job->item;
        if (at < 0) {
            pad_fill(job, line, (size_t)n * job->item);
            continue;
        }
        const char *in = (const char *)job->in->data + (size_t)at * job->size;
        pad_items(job, in, line, 0, job->from);
        if (job->from < job->to)
            memcpy(line + (size_t)job->from * job->item, in + (size_t)job->map[job->last][job->from] * job->size,
                   (size_t)(job->to - job->from) * job->item);
        pad_items(job, in, line, job->to, n);
    }
}

/* Axes behind the last padded one move with it. */
static void pad_last(PadJob *job, const Pads *pads)
{
    const Tensor *t = job->in;
    int last = t->rank - 1;
    job->item = job->size;
    while (last > 0 && !pads->before[last] && !pads->after[last]) job->item *= (size_t)t->dim[last--];
    job->last = last;
    const int64_t n = job->out->dim[last], before = pads->before[last];
    job->from = MIN(MAX(before, 0), n);
    job->to = MAX(MIN(before + t->dim[last], n), job->from);
}

static bool pad_run(OpCall *call, Err *err)
{
    enum { AT_ONCE = 32768 }; /* numbers */
    const Tensor *t = call->in[0];
    PadJob job = { .in = t, .out = &call->out[0], .size = dtype_size(t->type) };
    Pads pads;
    PadMode mode;
    int64_t step[MAX_RANK];
    if (!pad_mode(call, &mode, err) || !find_pads(call, &pads, err)) return false;
    const int64_t count = tensor_count(job.out);
    if (!count) return true;
    if (!t->rank) return memcpy(job.out->data, t->data, job.size), true;
    dense_steps(t->rank, t->dim, step);
    for (int i = 0; i < t->rank; i++) {
        int64_t *map = op_scratch(call, job.out->dim[i], sizeof *map, err);
        if (!map) return false;
        for (int64_t k = 0; k < job.out->dim[i]; k++) {
            const int64_t source = pad_source(mode, k - pads.before[i], t->dim[i]);
            map[k] = source < 0 ? -1 : source * step[i];
        }
        job.map[i] = map;
    }
    const double old_value = onnx_float(call->node, "value", 0);
    Tensor value = { .type = t->type, .data = job.value };
    tensor_store(&value, 0, 1, &old_value);
    if (op_in(call, 2)) memcpy(job.value, call->in[2]->data, job.size);
    pad_last(&job, &pads);
    int64_t lines = 1;
    for (int i = 0; i < job.last; i++) lines *= job.out->dim[i];
    op_split(call, lines, MAX(AT_ONCE / (count / lines), 1), pad_lines, &job);
    return true;
}

/* ---- Trilu, EyeLike ---- */

static bool trilu_shape(OpCall *call, Err *err)
{
    const Tensor *k = op_in(call, 1);
    if (call->in[0]->rank < 2) return op_wrong_input(call, 0, "at least two dimensions", err);
    if (k && (tensor_count(k) != 1 || k->type != T_I64))
        return op_wrong_input(call, 1, "one int64 number", err);
    return op_same(call, err);
}

static bool trilu_run(OpCall *call, Err *err)
{
    (void)err;
    const Tensor *t = call->in[0];
    const int64_t rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
    int64_t k = op_in(call, 1) ? tensor_get_int(call->in[1], 0) : 0;
    k = MAX(MIN(k, columns), -rows);
    const bool upper = op_attr_int(call, "upper", 1);
    const size_t size = dtype_size(t->type);
    char *to = call->out[0].data;
    if (to != t->data) memcpy(to, t->data, tensor_bytes(t));
    const int64_t lines = columns ? tensor_count(t) / columns : 0;
    for (int64_t i = 0; i < lines; i++) {
        /* upper keeps columns >= row + k, lower keeps columns <= row + k */
        const int64_t edge = MAX(MIN(i % rows + k + !upper, columns), 0);
        const int64_t from = upper ? 0 : edge, n = upper ? edge : columns - edge;
        memset(to + (size_t)(i * columns + from) * size, 0, (size_t)n * size);
    }
    return true;
}

static bool eye_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const int64_t type = op_attr_int(call, "dtype", t->type);
    if (t->rank != 2) return op_wrong_input(call, 0, "two dimensions", err);
    if (type < 1 || type >= T_COUNT || !dtype_size((DType)type))
        return op_fail(call, err, "dtype: found %lld, wanted a type of numbers", (long long)type);
    return op_out(call, 0, (DType)type, 2, t->dim);
}

static bool eye_run(OpCall *call, Err *err)
{
    (void)err;
    Tensor *out = &call->out[0];
    const double one = 1;
    int64_t k = op_attr_int(call, "k", 0);
    k = MAX(MIN(k, out->dim[1]), -out->dim[0]);
    memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < out->dim[0]; i++)
        if (i + k >= 0 && i + k < out->dim[1]) tensor_store(out, i * out->dim[1] + i + k, 1, &one);
    return true;
}

const Op ops_move[] = {
    /* name, domain, since, inputs, shape, run, values, token */
    { "Concat", NULL, 1, 1, 0, concat_shape, concat_run, 0, TOKEN_INNER },
    { "EyeLike", NULL, 9, 1, 1, eye_shape, eye_run, 0, TOKEN_NO },
    { "Pad", NULL, 2, 1, 1, pad_shape, pad_run, 0, TOKEN_NO },
    { "Pad", NULL, 11, 2, 4, pad_shape, pad_run, 1 << 1 | 1 << 3, TOKEN_NO },
    { "Slice", NULL, 1, 1, 1, slice_shape, slice_run, 0, TOKEN_INNER },
    { "Slice", NULL, 10, 3, 5, slice_shape, slice_run, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4, TOKEN_INNER },
    { "Split", NULL, 2, 1, 1, split_shape, split_run, 0, TOKEN_INNER },
    { "Split", NULL, 13, 1, 2, split_shape, split_run, 1 << 1, TOKEN_INNER },
    { "Tile", NULL, 6, 2, 2, tile_shape, tile_run, 1 << 1, TOKEN_NO },
    { "Transpose", NULL, 1, 1, 1, transpose_shape, transpose_run, 0, TOKEN_RESHAPE },
    { "Trilu", NULL, 14, 1, 2, trilu_shape, trilu_run, 0, TOKEN_NO },
    { 0 }
};

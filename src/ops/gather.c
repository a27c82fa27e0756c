/* SPDX-License-Identifier: Apache-2.0
 * gather.c - operators that carry numbers to places named by other numbers. Indices are data:
 * each is checked when it is used, and a wrong one ends the run with a message, not the program. */
#include "walk.h"

static bool index_type(const OpCall *call, int input, Err *err)
{
    const DType type = call->in[input]->type;
    return type == T_I64 || type == T_I32 ||
           op_wrong_input(call, input, "int64 or int32 indices", err);
}

/* Index i as a place in 0 .. dim-1; negative ones count from the end. */
static bool gather_place(const OpCall *call, const Tensor *indices, int64_t i, int64_t dim,
                         int64_t *out, Err *err)
{
    const int64_t at = tensor_get_int(indices, i);
    *out = at < 0 ? at + dim : at;
    if (*out >= 0 && *out < dim) return true;
    return op_fail(call, err, "index: found %lld, wanted %lld to %lld", (long long)at,
                   (long long)-dim, (long long)(dim - 1));
}

/* Checks the smallest and the largest index first: a short loop, which nearly always suffices. */
static bool all_places(const OpCall *call, const Tensor *indices, int64_t dim, Err *err)
{
    int64_t least = 0, most = -1, at;
    const int64_t n = tensor_count(indices), *wide = indices->data;
    const int32_t *narrow = indices->data;
    for (int64_t i = 0; i < n && indices->type == T_I64; i++)
        least = MIN(least, wide[i]), most = MAX(most, wide[i]);
    for (int64_t i = 0; i < n && indices->type == T_I32; i++)
        least = MIN(least, (int64_t)narrow[i]), most = MAX(most, (int64_t)narrow[i]);
    if (least >= -dim && most < dim) return true;
    for (int64_t i = 0; i < n; i++)
        if (!gather_place(call, indices, i, dim, &at, err)) return false;
    return true;
}

static int64_t gather_product(const int64_t *dim, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= dim[i];
    return n;
}

static bool join_dims(OpCall *call, DType type, const int64_t *dim, int rank, Err *err)
{
    if (rank > MAX_RANK)
        return op_fail(call, err, "found %d dimensions, wanted at most %d", rank, MAX_RANK);
    return op_out(call, 0, type, rank, dim);
}

/* ---- Gather ---- */

static bool gather_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *indices = call->in[1];
    const int axis = op_axis(call, op_attr_int(call, "axis", 0), t->rank, err);
    int64_t dim[2 * MAX_RANK];
    if (axis < 0 || !index_type(call, 1, err)) return false;
    int rank = 0;
    for (int i = 0; i < axis; i++) dim[rank++] = t->dim[i];
    for (int i = 0; i < indices->rank; i++) dim[rank++] = indices->dim[i];
    for (int i = axis + 1; i < t->rank; i++) dim[rank++] = t->dim[i];
    return join_dims(call, t->type, dim, rank, err);
}

typedef struct GatherJob {
    const Tensor *data, *indices;
    char *out;
    int64_t n, dim;         /* indices; rows to choose from */
    size_t row;             /* bytes */
} GatherJob;

static void gather_range(void *context, int64_t from, int64_t to)
{
    const GatherJob *job = context;
    for (int64_t i = from; i < to; i++) {
        int64_t at = tensor_get_int(job->indices, i % job->n);
        if (at < 0) at += job->dim;
        memcpy(job->out + (size_t)i * job->row,
               (const char *)job->data->data + (size_t)(i / job->n * job->dim + at) * job->row,
               job->row);
    }
}

static bool gather_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *indices = call->in[1];
    const int axis = op_axis(call, op_attr_int(call, "axis", 0), t->rank, err);
    if (axis < 0 || !all_places(call, indices, t->dim[axis], err)) return false;
    GatherJob job = { t, indices, call->out[0].data, tensor_count(indices), t->dim[axis],
                      (size_t)gather_product(t->dim, axis + 1, t->rank) * dtype_size(t->type) };
    const int64_t rows = gather_product(t->dim, 0, axis) * job.n;
    if (job.row) op_split(call, rows, MAX(65536 / (int64_t)job.row, 1), gather_range, &job);
    return true;
}

/* ---- GatherElements, ScatterElements: an index for each element, along one axis ---- */

typedef struct Cursor { /* place of element i of `indices` in a tensor of the same rank */
    int axis;
    int64_t step[MAX_RANK];
} Cursor;

static bool element_place(const OpCall *call, const Cursor *c, const Tensor *t,
                          const Tensor *indices, int64_t i, int64_t *out, Err *err)
{
    int64_t rest = i, at;
    if (!gather_place(call, indices, i, t->dim[c->axis], &at, err)) return false;
    *out = at * c->step[c->axis];
    for (int k = t->rank - 1; k >= 0; k--) {
        if (k != c->axis) *out += rest % indices->dim[k] * c->step[k];
        rest /= indices->dim[k];
    }
    return true;
}

static bool elements_fit(const OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *indices = call->in[1];
    const int axis = op_axis(call, op_attr_int(call, "axis", 0), t->rank, err);
    if (axis < 0 || !index_type(call, 1, err)) return false;
    bool fits = indices->rank == t->rank;
    for (int i = 0; fits && i < t->rank; i++) fits = i == axis || indices->dim[i] <= t->dim[i];
    return fits || op_wrong_input(call, 1, "indices with the rank of input 0 and no larger", err);
}

static bool gather_elements_shape(OpCall *call, Err *err)
{
    return elements_fit(call, err) &&
           op_out(call, 0, call->in[0]->type, call->in[1]->rank, call->in[1]->dim);
}

typedef struct ElementsJob {
    const Tensor *data, *indices;
    Cursor c;
    char *out;
    size_t size;            /* of an element */
} ElementsJob;

static int64_t index_at(const Tensor *indices, int64_t i)
{
    return indices->type == T_I64 ? ((const int64_t *)indices->data)[i]
                                  : ((const int32_t *)indices->data)[i];
}

static void gather_copy(const char *from, char *to, size_t size)
{
    if (size == 4) memcpy(to, from, 4);
    else if (size == 8) memcpy(to, from, 8);
    else memcpy(to, from, size);
}

/* Rows of indices along their last axis: where a row begins is found once. */
static void gather_elements_range(void *context, int64_t from, int64_t to)
{
    const ElementsJob *job = context;
    const Tensor *indices = job->indices;
    const int axis = job->c.axis, last = indices->rank - 1;
    const int64_t n = indices->dim[last], across = job->c.step[axis], dim = job->data->dim[axis],
                  along = axis == last ? 0 : job->c.step[last];
    for (int64_t r = from; r < to; r++) {
        int64_t base = 0, rest = r;
        for (int k = last - 1; k >= 0; k--) {
            if (k != axis) base += rest % indices->dim[k] * job->c.step[k];
            rest /= indices->dim[k];
        }
        for (int64_t j = 0; j < n; j++) {
            int64_t at = index_at(indices, r * n + j);
            int64_t place = base + j * along + (at < 0 ? at + dim : at) * across;
            gather_copy((const char *)job->data->data + (size_t)place * job->size,
                        job->out + (size_t)(r * n + j) * job->size, job->size);
        }
    }
}

static bool gather_elements_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *indices = call->in[1];
    ElementsJob job = { .data = t, .indices = indices, .out = call->out[0].data };
    job.c.axis = op_axis(call, op_attr_int(call, "axis", 0), t->rank, err);
    job.size = dtype_size(t->type);
    if (job.c.axis < 0 || !all_places(call, indices, t->dim[job.c.axis], err)) return false;
    dense_steps(t->rank, t->dim, job.c.step);
    const int64_t n = MAX(indices->dim[indices->rank - 1], 1), rows = tensor_count(indices) / n;
    op_split(call, rows, MAX(16384 / n, 1), gather_elements_range, &job);
    return true;
}

/* ---- writing with a reduction ---- */

typedef enum { PUT, PUT_ADD, PUT_MUL, PUT_MAX, PUT_MIN, PUT_KINDS } ScatterKind;

static bool put_kind(const OpCall *call, ScatterKind *kind, Err *err)
{
    static const char *const names[PUT_KINDS] = { "none", "add", "mul", "max", "min" };
    const Str name = onnx_string(call->node, "reduction", "none");
    for (*kind = 0; *kind < PUT_KINDS; (*kind)++)
        if (str_is(name, names[*kind])) return true;
    return op_fail(call, err, "reduction: found '%.*s', wanted none, add, mul, max or min",
                   (int)MIN(name.n, 40), name.p);
}

static void scatter_put_floats(ScatterKind kind, Tensor *out, int64_t at, const Tensor *from,
                               int64_t i)
{
    const double a = tensor_get(out, at), b = tensor_get(from, i);
    const double result[] = { b, a + b, a * b, MAX(a, b), MIN(a, b) };
    tensor_store(out, at, 1, &result[kind]);
}

static void scatter_put_ints(ScatterKind kind, Tensor *out, int64_t at, const Tensor *from,
                             int64_t i)
{
    const int64_t a = tensor_get_int(out, at), b = tensor_get_int(from, i);
    int64_t result[] = { b, (int64_t)((uint64_t)a + (uint64_t)b),
                         (int64_t)((uint64_t)a * (uint64_t)b), MAX(a, b), MIN(a, b) };
    Tensor value = { .type = T_I64, .data = result };
    tensor_convert(&value, kind, out, at, 1);
}

static void scatter_put(ScatterKind kind, Tensor *out, int64_t at, const Tensor *from, int64_t i,
                        int64_t n)
{
    const DType type = out->type;
    if (kind == PUT) {
        tensor_convert(from, i, out, at, n);
        return;
    }
    const bool floats = dtype_is_float(type);
    for (int64_t k = 0; k < n; k++) {
        if (floats) scatter_put_floats(kind, out, at + k, from, i + k);
        if (!floats) scatter_put_ints(kind, out, at + k, from, i + k);
    }
}

static void start_from_data(OpCall *call)
{
    const Tensor *t = call->in[0];
    if (call->out[0].data != t->data && tensor_bytes(t))
        memcpy(call->out[0].data, t->data, tensor_bytes(t));
}

static bool scatter_elements_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *updates = call->in[2];
    ScatterKind kind;
    if (!elements_fit(call, err) || !put_kind(call, &kind, err)) return false;
    if (updates->type != t->type || !tensor_same_shape(updates, call->in[1]))
        return op_wrong_input(call, 2, "the type of input 0 and the shape of input 1", err);
    return op_same(call, err);
}

static bool scatter_elements_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *indices = call->in[1];
    Cursor c = { op_axis(call, op_attr_int(call, "axis", 0), t->rank, err), { 0 } };
    ScatterKind kind;
    if (c.axis < 0 || !put_kind(call, &kind, err)) return false;
    dense_steps(t->rank, t->dim, c.step);
    start_from_data(call);
    const int64_t n = tensor_count(indices);
    for (int64_t i = 0, at; i < n; i++) {
        if (!element_place(call, &c, t, indices, i, &at, err)) return false;
        scatter_put(kind, &call->out[0], at, call->in[2], i, 1);
    }
    return true;
}

/* ---- GatherND, ScatterND: an index is a row of numbers ---- */

typedef struct GatherRows {
    int batch, depth;       /* leading dims in common; numbers of one index */
    int64_t count, slice;   /* indices in all; elements each of them names */
} GatherRows;

static bool find_rows(const OpCall *call, GatherRows *r, Err *err)
{
    const Tensor *t = call->in[0], *indices = call->in[1];
    const int64_t batch = op_attr_int(call, "batch_dims", 0);
    if (!index_type(call, 1, err)) return false;
    if (batch < 0 || batch >= MIN(t->rank, indices->rank))
        return op_fail(call, err, "batch_dims: found %lld, wanted fewer than both ranks %d and %d",
                       (long long)batch, t->rank, indices->rank);
    const int64_t depth = indices->dim[indices->rank - 1];
    if (depth < 1 || depth > t->rank - batch)
        return op_wrong_input(call, 1, "a last dimension no larger than the rank of input 0", err);
    for (int i = 0; i < batch; i++)
        if (t->dim[i] != indices->dim[i])
            return op_wrong_input(call, 1, "the batch dims of input 0", err);
    *r = (GatherRows){ (int)batch, (int)depth, gather_product(indices->dim, 0, indices->rank - 1),
                 gather_product(t->dim, (int)(batch + depth), t->rank) };
    return true;
}

/* First element that index row i names. */
static bool row_place(const OpCall *call, const GatherRows *r, int64_t i, int64_t *out, Err *err)
{
    const Tensor *t = call->in[0], *indices = call->in[1];
    const int64_t batches = gather_product(t->dim, 0, r->batch);
    int64_t at = i / (r->count / batches);
    for (int k = 0; k < r->depth; k++) {
        const int64_t dim = t->dim[r->batch + k];
        int64_t index;
        if (!gather_place(call, indices, i * r->depth + k, dim, &index, err)) return false;
        at = at * dim + index;
    }
    *out = at * r->slice;
    return true;
}

static bool gather_nd_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *indices = call->in[1];
    int64_t dim[2 * MAX_RANK];
    GatherRows r;
    if (!find_rows(call, &r, err)) return false;
    int rank = 0;
    for (int i = 0; i < indices->rank - 1; i++) dim[rank++] = indices->dim[i];
    for (int i = r.batch + r.depth; i < t->rank; i++) dim[rank++] = t->dim[i];
    return join_dims(call, t->type, dim, rank, err);
}

static bool gather_nd_run(OpCall *call, Err *err)
{
    GatherRows r;
    if (!find_rows(call, &r, err)) return false;
    for (int64_t i = 0, at; i < r.count; i++) {
        if (!row_place(call, &r, i, &at, err)) return false;
        tensor_convert(call->in[0], at, &call->out[0], i * r.slice, r.slice);
    }
    return true;
}

static bool scatter_nd_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *updates = call->in[2];
    ScatterKind kind;
    GatherRows r;
    if (!find_rows(call, &r, err) || !put_kind(call, &kind, err)) return false;
    if (updates->type != t->type || tensor_count(updates) != r.count * r.slice)
        return op_wrong_input(call, 2, "the type of input 0 and a slice of it for each index", err);
    return op_same(call, err);
}

static bool scatter_nd_run(OpCall *call, Err *err)
{
    GatherRows r;
    ScatterKind kind;
    if (!find_rows(call, &r, err) || !put_kind(call, &kind, err)) return false;
    start_from_data(call);
    for (int64_t i = 0, at; i < r.count; i++) {
        if (!row_place(call, &r, i, &at, err)) return false;
        scatter_put(kind, &call->out[0], at, call->in[2], i * r.slice, r.slice);
    }
    return true;
}

/* ---- OneHot ---- */

static bool one_hot_shape(OpCall *call, Err *err)
{
    const Tensor *indices = call->in[0], *depth = call->in[1], *values = call->in[2];
    const int axis = op_axis(call, op_attr_int(call, "axis", -1), indices->rank + 1, err);
    int64_t dim[2 * MAX_RANK];
    if (axis < 0) return false;
    if (tensor_count(depth) != 1) return op_wrong_input(call, 1, "one number", err);
    if (values->rank != 1 || values->dim[0] != 2)
        return op_wrong_input(call, 2, "two numbers: off, on", err);
    const int64_t n = tensor_get_int(depth, 0);
    if (n < 0) return op_fail(call, err, "depth: found %lld, wanted a count", (long long)n);
    for (int i = 0; i <= indices->rank; i++)
        dim[i] = i == axis ? n : indices->dim[i - (i > axis)];
    return join_dims(call, values->type, dim, indices->rank + 1, err);
}

static bool one_hot_run(OpCall *call, Err *err)
{
    const Tensor *indices = call->in[0], *values = call->in[2];
    Tensor *out = &call->out[0];
    const int axis = op_axis(call, op_attr_int(call, "axis", -1), out->rank, err);
    if (axis < 0) return false;
    const int64_t depth = out->dim[axis], inner = gather_product(out->dim, axis + 1, out->rank);
    const int64_t n = tensor_count(out), count = tensor_count(indices);
    for (int64_t i = 0; i < n; i++) tensor_convert(values, 0, out, i, 1);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = tensor_get_int(indices, i);
        if (at < 0) at += depth;
        if (at < 0 || at >= depth) continue; /* such a row stays off */
        tensor_convert(values, 1, out, (i / inner * depth + at) * inner + i % inner, 1);
    }
    return true;
}

const Op ops_gather[] = {
    /* name, domain, since, inputs, shape, run, values, token */
    { "Gather", NULL, 1, 2, 2, gather_shape, gather_run, 0, TOKEN_GATHER },
    { "GatherElements", NULL, 11, 2, 2, gather_elements_shape, gather_elements_run, 0, TOKEN_NO },
    { "GatherND", NULL, 11, 2, 2, gather_nd_shape, gather_nd_run, 0, TOKEN_NO },
    { "OneHot", NULL, 9, 3, 3, one_hot_shape, one_hot_run, 1 << 1, TOKEN_NO },
    { "Scatter", NULL, 9, 3, 3, scatter_elements_shape, scatter_elements_run, 0, TOKEN_NO },
    { "ScatterElements", NULL, 11, 3, 3, scatter_elements_shape, scatter_elements_run, 0, TOKEN_NO },
    { "ScatterND", NULL, 11, 3, 3, scatter_nd_shape, scatter_nd_run, 0, TOKEN_NO },
    { 0 }
};

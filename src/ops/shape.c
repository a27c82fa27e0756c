/* SPDX-License-Identifier: Apache-2.0
 * shape.c - operators about shapes: reading them, changing them, and making tensors from them.
 * Those that only rename dims copy their input (or do nothing when the plan gave both the same
 * memory). */
#include <math.h>

#include "walk.h"

static void copy_range(void *context, int64_t from, int64_t to)
{
    OpCall *call = context;
    tensor_convert(call->in[0], from, &call->out[0], from, to - from);
}

static bool shape_copy_run(OpCall *call, Err *err)
{
    (void)err;
    if (call->out[0].data != call->in[0]->data)
        op_split(call, tensor_count(&call->out[0]), 32768, copy_range, call);
    return true;
}

/* ---- Shape, Size ---- */

static int64_t clamp_axis(int64_t axis, int rank)
{
    if (axis < 0) axis = MAX(axis, -rank) + rank;
    return MIN(axis, rank);
}

static bool shape_shape(OpCall *call, Err *err)
{
    (void)err;
    const int rank = call->in[0]->rank;
    const int64_t from = clamp_axis(op_attr_int(call, "start", 0), rank);
    const int64_t to = clamp_axis(op_attr_int(call, "end", rank), rank);
    return op_out(call, 0, T_I64, 1, (int64_t[]){ MAX(to - from, 0) });
}

static bool shape_run(OpCall *call, Err *err)
{
    (void)err;
    const Tensor *t = call->in[0];
    const int64_t from = clamp_axis(op_attr_int(call, "start", 0), t->rank);
    memcpy(call->out[0].data, t->dim + from, tensor_bytes(&call->out[0]));
    return true;
}

static bool size_shape(OpCall *call, Err *err)
{
    (void)err;
    return op_out(call, 0, T_I64, 0, (int64_t[]){ 0 });
}

static bool size_run(OpCall *call, Err *err)
{
    (void)err;
    *(int64_t *)call->out[0].data = tensor_count(call->in[0]);
    return true;
}

/* ---- lists of integers that come as an attribute in old opsets and as an input in new ones ---- */

typedef struct Ints {
    const Tensor *input;
    const OnnxAttr *attr;
    int64_t n;
} Ints;

static bool find_ints(const OpCall *call, int index, const char *name, Ints *list, Err *err)
{
    const Tensor *t = op_in(call, index);
    const OnnxAttr *a = onnx_attr(call->node, name);
    *list = (Ints){ .input = t, .attr = a };
    if (t && ((t->type != T_I64 && t->type != T_I32) || t->rank > 1))
        return op_wrong_input(call, index, "a list of int64 numbers", err);
    if (t) {
        list->n = tensor_count(t);
    } else if (a && a->type == A_INTS) {
        list->n = (int64_t)a->n;
    }
    return true;
}

static int64_t int_at(const Ints *list, int64_t i)
{
    return list->input ? tensor_get_int(list->input, i) : list->attr->ints[i];
}

static bool shape_too_many(const OpCall *call, int64_t rank, Err *err)
{
    if (rank <= MAX_RANK) return false;
    op_fail(call, err, "found %lld dimensions, wanted at most %d", (long long)rank, MAX_RANK);
    return true;
}

/* ---- Reshape ---- */

/* Product of the dims that are said; *unknown is the place of -1, or -1. */
static bool said_dims(const OpCall *call, const Ints *list, int64_t *dim, int *unknown, Err *err)
{
    const Tensor *t = call->in[0];
    const bool zero_is_zero = op_attr_int(call, "allowzero", 0);
    *unknown = -1;
    for (int i = 0; i < list->n; i++) {
        dim[i] = int_at(list, i);
        if (dim[i] == 0 && !zero_is_zero) {
            if (i >= t->rank)
                return op_fail(call, err, "shape: found 0 at %d, wanted a place below rank %d", i,
                               t->rank);
            dim[i] = t->dim[i];
        }
        if (dim[i] < -1 || (dim[i] == -1 && *unknown >= 0))
            return op_fail(call, err, "shape: found %lld at %d, wanted at most one -1",
                           (long long)dim[i], i);
        if (dim[i] == -1) {
            *unknown = i;
            dim[i] = 1;
        }
    }
    return true;
}

static bool reshape_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    Tensor out = { .type = t->type };
    Ints list;
    int unknown;
    char in_show[128], out_show[128];
    if (!find_ints(call, 1, "shape", &list, err) || shape_too_many(call, list.n, err)) return false;
    if (!said_dims(call, &list, out.dim, &unknown, err)) return false;
    out.rank = (int)list.n;
    Err why;
    if (!tensor_sane(&out, &why)) return op_fail(call, err, "%s", why.message);
    const int64_t have = tensor_count(t), said = tensor_count(&out);
    if (unknown >= 0 && said > 0) out.dim[unknown] = have / said;
    if (unknown >= 0 && said == 0) out.dim[unknown] = 0;
    if (tensor_count(&out) != have)
        return op_fail(call, err, "found %s, wanted %s: as many elements", tensor_show(t, in_show),
                       tensor_show(&out, out_show));
    return op_out(call, 0, t->type, out.rank, out.dim);
}

/* ---- Squeeze, Unsqueeze, Flatten ---- */

static bool squeeze_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    bool gone[MAX_RANK] = { 0 };
    int64_t dim[MAX_RANK];
    Ints list;
    if (!find_ints(call, 1, "axes", &list, err)) return false;
    for (int64_t i = 0; i < list.n; i++) {
        const int axis = op_axis(call, int_at(&list, i), t->rank, err);
        if (axis < 0) return false;
        if (t->dim[axis] != 1)
            return op_fail(call, err, "axis %d: found dimension %lld, wanted 1", axis,
                           (long long)t->dim[axis]);
        gone[axis] = true;
    }
    int rank = 0;
    for (int i = 0; i < t->rank; i++)
        if (list.n ? !gone[i] : t->dim[i] != 1) dim[rank++] = t->dim[i];
    return op_out(call, 0, t->type, rank, dim);
}

static bool unsqueeze_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    bool made[MAX_RANK] = { 0 };
    int64_t dim[MAX_RANK];
    Ints list;
    if (!find_ints(call, 1, "axes", &list, err) || shape_too_many(call, list.n + t->rank, err))
        return false;
    const int rank = t->rank + (int)list.n;
    for (int64_t i = 0; i < list.n; i++) {
        const int axis = op_axis(call, int_at(&list, i), rank, err);
        if (axis < 0) return false;
        if (made[axis]) return op_fail(call, err, "axes: found %d twice", axis);
        made[axis] = true;
    }
    for (int i = 0, from = 0; i < rank; i++) dim[i] = made[i] ? 1 : t->dim[from++];
    return op_out(call, 0, t->type, rank, dim);
}

static bool flatten_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const int64_t axis = op_attr_int(call, "axis", 1);
    if (axis < -t->rank || axis > t->rank)
        return op_fail(call, err, "axis: found %lld, wanted %d to %d", (long long)axis, -t->rank,
                       t->rank);
    int64_t dim[2] = { 1, 1 };
    for (int i = 0; i < t->rank; i++) dim[i >= (axis < 0 ? axis + t->rank : axis)] *= t->dim[i];
    return op_out(call, 0, t->type, 2, dim);
}

/* ---- Expand ---- */

static bool expand_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    Tensor wanted = { .type = t->type };
    Ints list;
    if (!find_ints(call, 1, "", &list, err) || shape_too_many(call, list.n, err)) return false;
    wanted.rank = (int)list.n;
    for (int i = 0; i < wanted.rank; i++) wanted.dim[i] = int_at(&list, i);
    Err why;
    if (!tensor_sane(&wanted, &why)) return op_fail(call, err, "shape: %s", why.message);
    OpCall two = { .node = call->node, .n_in = 2, .in = (const Tensor *[]){ t, &wanted } };
    int64_t dim[MAX_RANK];
    int rank;
    return op_broadcast(&two, 0, 1, dim, &rank, err) && op_out(call, 0, t->type, rank, dim);
}

static bool expand_run(OpCall *call, Err *err)
{
    (void)err;
    Walk walk = walk_over(call->out[0].rank, call->out[0].dim);
    walk_broadcast(&walk, call->in[0]);
    Move move = { call->in[0]->data, call->out[0].data, dtype_size(call->out[0].type) };
    walk_run(&walk, call, walk_gather, &move);
    return true;
}

/* ---- tensors made of nothing but a shape: ConstantOfShape, Range, Constant ---- */

static bool fill_shape(OpCall *call, Err *err)
{
    const OnnxAttr *a = onnx_attr(call->node, "value");
    DType type = T_F32;
    int64_t dim[MAX_RANK];
    Ints list;
    if (a && (a->type != A_TENSOR || !a->t->t.data || tensor_count(&a->t->t) != 1))
        return op_fail(call, err, "value: wanted a tensor of one number");
    if (a) type = a->t->t.type;
    if (!find_ints(call, 0, "", &list, err) || shape_too_many(call, list.n, err)) return false;
    for (int i = 0; i < list.n; i++) dim[i] = int_at(&list, i);
    return op_out(call, 0, type, (int)list.n, dim);
}

static bool fill_run(OpCall *call, Err *err)
{
    (void)err;
    const OnnxAttr *a = onnx_attr(call->node, "value");
    const size_t size = dtype_size(call->out[0].type), bytes = tensor_bytes(&call->out[0]);
    uint8_t one[8] = { 0 };
    char *out = call->out[0].data;
    if (!bytes) return true;
    if (a) memcpy(one, a->t->t.data, size);
    memcpy(out, one, size);
    for (size_t done = size; done < bytes; done *= 2) /* what is there doubles */
        memcpy(out + done, out, MIN(done, bytes - done));
    return true;
}

static bool range_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    for (int i = 0; i < 3; i++) {
        if (tensor_count(call->in[i]) != 1) return op_wrong_input(call, i, "one number", err);
        if (call->in[i]->type != t->type)
            return op_wrong_input(call, i, "the type of input 0", err);
    }
    const double start = tensor_get(t, 0), limit = tensor_get(call->in[1], 0);
    const double delta = tensor_get(call->in[2], 0), n = ceil((limit - start) / delta);
    if (!(delta != 0) || !(n < 0x1p40))
        return op_fail(call, err, "found start %g, limit %g, delta %g, wanted a finite count",
                       start, limit, delta);
    return op_out(call, 0, t->type, 1, (int64_t[]){ n > 0 ? (int64_t)n : 0 });
}

static bool range_run(OpCall *call, Err *err)
{
    (void)err;
    Tensor *out = &call->out[0];
    const double start = tensor_get(call->in[0], 0), delta = tensor_get(call->in[2], 0);
    const uint64_t first = (uint64_t)tensor_get_int(call->in[0], 0);
    const uint64_t step = (uint64_t)tensor_get_int(call->in[2], 0);
    const bool floats = dtype_is_float(out->type);
    for (int64_t i = 0; i < out->dim[0]; i++) {
        const double x = start + (double)i * delta;
        int64_t value = (int64_t)(first + (uint64_t)i * step);
        Tensor exact = { .type = T_I64, .data = &value };
        if (floats) tensor_store(out, i, 1, &x);
        if (!floats) tensor_convert(&exact, 0, out, i, 1);
    }
    return true;
}

/* The graph turns Constant nodes into weights; the row is for whoever runs a node alone. */
static bool constant_value(const OpCall *call, Tensor *out, Err *err)
{
    const OnnxAttr *a = call->node->n_attr ? &call->node->attr[0] : NULL;
    *out = (Tensor){ 0 };
    if (a && a->type == A_TENSOR) *out = a->t->t;
    if (a && (a->type == A_FLOAT || a->type == A_FLOATS)) out->type = T_F32;
    if (a && (a->type == A_INT || a->type == A_INTS)) out->type = T_I64;
    if (a && (a->type == A_INTS || a->type == A_FLOATS)) {
        out->rank = 1;
        out->dim[0] = (int64_t)a->n;
        out->data = a->type == A_INTS ? (void *)a->ints : (void *)a->floats;
    }
    if (a && a->type == A_FLOAT) out->data = (void *)&a->f;
    if (a && a->type == A_INT) out->data = (void *)&a->i;
    return out->data || op_fail(call, err, "wanted one attribute with numbers");
}

static bool constant_shape(OpCall *call, Err *err)
{
    Tensor t;
    return constant_value(call, &t, err) && op_out(call, 0, t.type, t.rank, t.dim);
}

static bool constant_run(OpCall *call, Err *err)
{
    Tensor t;
    if (!constant_value(call, &t, err)) return false;
    memcpy(call->out[0].data, t.data, tensor_bytes(&t));
    return true;
}

/* ---- NonZero: the shape is the data ---- */

static bool nonzero_shape(OpCall *call, Err *err)
{
    (void)err;
    const Tensor *t = call->in[0];
    int64_t n = 0;
    for (int64_t i = 0; i < tensor_count(t); i++) n += tensor_get(t, i) != 0;
    return op_out(call, 0, T_I64, 2, (int64_t[]){ MAX(t->rank, 1), n });
}

static bool nonzero_run(OpCall *call, Err *err)
{
    (void)err;
    const Tensor *t = call->in[0];
    const int64_t n = call->out[0].dim[1];
    int64_t *out = call->out[0].data, found = 0;
    for (int64_t i = 0; i < tensor_count(t) && found < n; i++) {
        if (tensor_get(t, i) == 0) continue;
        int64_t rest = i;
        if (!t->rank) out[found] = 0;
        for (int axis = t->rank - 1; axis >= 0; axis--) {
            out[axis * n + found] = rest % t->dim[axis];
            rest /= t->dim[axis];
        }
        found++;
    }
    return true;
}

const Op ops_shape[] = {
    /* name, domain, since, inputs, shape, run, values, token */
    { "Constant", NULL, 1, 0, 0, constant_shape, constant_run, 0, TOKEN_NO },
    { "ConstantOfShape", NULL, 9, 1, 1, fill_shape, fill_run, 1 << 0, TOKEN_NO },
    { "Expand", NULL, 8, 2, 2, expand_shape, expand_run, 1 << 1, TOKEN_EACH },
    { "Flatten", NULL, 1, 1, 1, flatten_shape, shape_copy_run, 0, TOKEN_NO, .view = true },
    { "NonZero", NULL, 9, 1, 1, nonzero_shape, nonzero_run, 1 << 0, TOKEN_NO },
    { "Range", NULL, 11, 3, 3, range_shape, range_run, 7, TOKEN_NO },
    { "Reshape", NULL, 1, 1, 1, reshape_shape, shape_copy_run, 0, TOKEN_RESHAPE, .view = true },
    { "Reshape", NULL, 5, 2, 2, reshape_shape, shape_copy_run, 1 << 1, TOKEN_RESHAPE, .view = true },
    { "Shape", NULL, 1, 1, 1, shape_shape, shape_run, 0, TOKEN_NO, .cost = COST_DIMS },
    { "Size", NULL, 1, 1, 1, size_shape, size_run, 0, TOKEN_NO, .cost = COST_DIMS },
    { "Squeeze", NULL, 1, 1, 1, squeeze_shape, shape_copy_run, 0, TOKEN_RESHAPE, .view = true },
    { "Squeeze", NULL, 13, 1, 2, squeeze_shape, shape_copy_run, 1 << 1, TOKEN_RESHAPE, .view = true },
    { "Unsqueeze", NULL, 1, 1, 1, unsqueeze_shape, shape_copy_run, 0, TOKEN_RESHAPE, .view = true },
    { "Unsqueeze", NULL, 13, 2, 2, unsqueeze_shape, shape_copy_run, 1 << 1, TOKEN_RESHAPE, .view = true },
    { 0 }
};

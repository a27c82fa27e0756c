/* SPDX-License-Identifier: Apache-2.0
 * common.c - what every family needs: messages that name the node, axes, broadcasting of shapes,
 * numbers of any type as double or int64, and splitting work over the pool. */
#include "ops/ops.h"

bool op_fail(const OpCall *call, Err *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    text_print(text, sizeof text, format, args);
    va_end(args);
    const OnnxNode *n = call->node;
    return fail(err, EF_BAD_MODEL, "node '%.*s' (%.*s): %s", (int)MIN(n->name.n, 200), n->name.p,
                (int)MIN(n->op.n, 60), n->op.p, text);
}

const Tensor *op_in(const OpCall *call, int index)
{
    return index < call->n_in ? call->in[index] : NULL;
}

bool op_out(OpCall *call, int index, DType type, int rank, const int64_t *dim)
{
    if (index >= call->n_out) return true;
    Tensor *t = &call->out[index];
    t->type = type;
    t->rank = rank;
    if (rank) memmove(t->dim, dim, sizeof *dim * (size_t)rank);
    return true;
}

bool op_wrong_input(const OpCall *call, int index, const char *wanted, Err *err)
{
    char show[128];
    return op_fail(call, err, "input %d: found %s, wanted %s", index,
                   tensor_show(call->in[index], show), wanted);
}

bool op_same(OpCall *call, Err *err)
{
    (void)err;
    const Tensor *t = call->in[0];
    return op_out(call, 0, t->type, t->rank, t->dim);
}

bool op_broadcast(OpCall *call, int a, int b, int64_t *dim, int *rank, Err *err)
{
    const Tensor *x = call->in[a], *y = call->in[b];
    char show_x[128], show_y[128];
    *rank = MAX(x->rank, y->rank);
    for (int i = 0; i < *rank; i++) {
        int at_x = i - (*rank - x->rank), at_y = i - (*rank - y->rank);
        int64_t dx = at_x < 0 ? 1 : x->dim[at_x], dy = at_y < 0 ? 1 : y->dim[at_y];
        if (dx != dy && dx != 1 && dy != 1)
            return op_fail(call, err,
                           "inputs %d and %d: found %s and %s, wanted shapes that broadcast", a, b,
                           tensor_show(x, show_x), tensor_show(y, show_y));
        dim[i] = dx == 1 ? dy : dx;
    }
    return true;
}

int64_t op_broadcast_place(const Tensor *small, const Tensor *big, int64_t index)
{
    int64_t at = 0, step = 1;
    for (int i = big->rank - 1, k = small->rank - 1; k >= 0; i--, k--) {
        if (small->dim[k] != 1) at += index % big->dim[i] * step;
        step *= small->dim[k];
        index /= big->dim[i];
    }
    return at;
}

int op_axis(const OpCall *call, int64_t axis, int rank, Err *err)
{
    if (axis >= -rank && axis < rank) return (int)(axis < 0 ? axis + rank : axis);
    op_fail(call, err, "axis: found %lld, wanted %d to %d", (long long)axis, -rank, rank - 1);
    return -1;
}

int64_t op_attr_int(const OpCall *call, const char *name, int64_t otherwise)
{
    return onnx_int(call->node, name, otherwise);
}

void *op_scratch(OpCall *call, int64_t count, size_t size, Err *err)
{
    return arena_try(call->scratch, (size_t)count, size, MOST_BYTES, err);
}

const int64_t *op_ints(OpCall *call, const Tensor *t, Err *err)
{
    if (t->type != T_I64 && t->type != T_I32) {
        char show[128];
        op_fail(call, err, "found %s, wanted int32 or int64 numbers", tensor_show(t, show));
        return NULL;
    }
    const int64_t n = tensor_count(t);
    int64_t *out = op_scratch(call, n, sizeof *out, err);
    for (int64_t i = 0; out && i < n; i++) out[i] = tensor_get_int(t, i);
    return out;
}

/* ---- any number type ---- */

/* What a conversion to integers does with numbers that do not fit: the smallest one, as x86 does. */
static int64_t int_of(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

int64_t tensor_get_int(const Tensor *t, int64_t i)
{
    switch (t->type) {
    case T_I64: return ((const int64_t *)t->data)[i];
    case T_U64: return (int64_t)((const uint64_t *)t->data)[i];
    case T_I32: return ((const int32_t *)t->data)[i];
    case T_U32: return ((const uint32_t *)t->data)[i];
    case T_I16: return ((const int16_t *)t->data)[i];
    case T_U16: return ((const uint16_t *)t->data)[i];
    case T_I8: return ((const int8_t *)t->data)[i];
    case T_U8: return ((const uint8_t *)t->data)[i];
    case T_BOOL: return ((const uint8_t *)t->data)[i] != 0;
    default: return int_of(tensor_get(t, i));
    }
}

double tensor_get(const Tensor *t, int64_t i)
{
    switch (t->type) {
    case T_F32: return ((const float *)t->data)[i];
    case T_F64: return ((const double *)t->data)[i];
    case T_F16: return f16_to_f32(((const uint16_t *)t->data)[i]);
    case T_BF16: return bf16_to_f32(((const uint16_t *)t->data)[i]);
    case T_U64: return (double)((const uint64_t *)t->data)[i];
    case T_NONE:
    case T_STR: return 0;
    default: return (double)tensor_get_int(t, i);
    }
}

void tensor_load(const Tensor *t, int64_t at, int64_t n, double *out)
{
    if (t->type == T_F32) {
        const float *x = (const float *)t->data + at;
        for (int64_t i = 0; i < n; i++) out[i] = x[i];
    } else {
        for (int64_t i = 0; i < n; i++) out[i] = tensor_get(t, at + i);
    }
}

static void set_int(Tensor *t, int64_t i, int64_t x)
{
    switch (dtype_size(t->type)) {
    case 8: ((int64_t *)t->data)[i] = x; break;
    case 4: ((uint32_t *)t->data)[i] = (uint32_t)x; break;
    case 2: ((uint16_t *)t->data)[i] = (uint16_t)x; break;
    default: ((uint8_t *)t->data)[i] = t->type == T_BOOL ? x != 0 : (uint8_t)x; break;
    }
}

static void set_double(Tensor *t, int64_t i, double x)
{
    switch (t->type) {
    case T_F32: ((float *)t->data)[i] = (float)x; break;
    case T_F64: ((double *)t->data)[i] = x; break;
    case T_F16: ((uint16_t *)t->data)[i] = f32_to_f16((float)x); break;
    case T_BF16: ((uint16_t *)t->data)[i] = f32_to_bf16((float)x); break;
    case T_BOOL: ((uint8_t *)t->data)[i] = x != 0; break;
    case T_U64:
        ((uint64_t *)t->data)[i] = x >= 0x1p63 && x < 0x1p64 ? (uint64_t)x : (uint64_t)int_of(x);
        break;
    default: set_int(t, i, int_of(x));
    }
}

void tensor_store(Tensor *t, int64_t at, int64_t n, const double *from)
{
    if (t->type == T_F32) {
        float *y = (float *)t->data + at;
        for (int64_t i = 0; i < n; i++) y[i] = (float)from[i];
    } else {
        for (int64_t i = 0; i < n; i++) set_double(t, at + i, from[i]);
    }
}

#define INTS_TO_FLOATS(T) \
    for (int64_t i = 0; i < n; i++) y[i] = (float)((const T *)from->data)[at + i]
/* Of tables with small numbers every token takes a row. False: the type is none of these. */
static bool ints_to_floats(const Tensor *from, int64_t at, float *y, int64_t n)
{
    switch ((int)from->type) {
    case T_I64: INTS_TO_FLOATS(int64_t); return true;
    case T_I32: INTS_TO_FLOATS(int32_t); return true;
    case T_I8: INTS_TO_FLOATS(int8_t); return true;
    case T_U8: INTS_TO_FLOATS(uint8_t); return true;
    default: return false;
    }
}

/* Integers go through int64, everything else through double: each is exact for what it carries. */
void tensor_convert(const Tensor *from, int64_t at, Tensor *to, int64_t to_at, int64_t n)
{
    if (from->type == to->type) {
        const size_t size = dtype_size(to->type);
        memcpy((char *)to->data + (size_t)to_at * size,
               (const char *)from->data + (size_t)at * size, (size_t)n * size);
    } else if (to->type == T_F32 && ints_to_floats(from, at, (float *)to->data + to_at, n)) {
        return;
    } else if (dtype_is_float(from->type) || dtype_is_float(to->type)) {
        for (int64_t i = 0; i < n; i++) set_double(to, to_at + i, tensor_get(from, at + i));
    } else {
        for (int64_t i = 0; i < n; i++) set_int(to, to_at + i, tensor_get_int(from, at + i));
    }
}

/* float16 and bfloat16 are computed in float. */
const float *op_f32(OpCall *call, const Tensor *t, Err *err)
{
    if (t->type == T_F32) return t->data;
    const int64_t n = tensor_count(t);
    Tensor out = { .type = T_F32, .data = op_scratch(call, MAX(n, 1), sizeof(float), err) };
    if (out.data) tensor_convert(t, 0, &out, 0, n);
    return out.data;
}

/* ---- splitting ---- */

typedef struct LoopSplit {
    OpRange *fn;
    void *context;
    int64_t n, grain;
} LoopSplit;

static void split_piece(void *arg, int index, int worker)
{
    (void)worker;
    const LoopSplit *s = arg;
    const int64_t from = index * s->grain;
    s->fn(s->context, from, MIN(from + s->grain, s->n));
}

void op_split(const OpCall *call, int64_t n, int64_t grain, OpRange *fn, void *context)
{
    if (n <= 0) return;
    grain = MAX(MAX(grain, 1), (n >> 30) + 1);
    const int64_t pieces = (n + grain - 1) / grain;
    if (pieces == 1) {
        fn(context, 0, n);
        return;
    }
    LoopSplit s = { fn, context, n, grain };
    pool_for(call->pool, (int)pieces, split_piece, &s);
}

Low op_low_beside(const OpCall *call)
{
    (void)call;
    return (Low){ .beside = true };
}

int op_workers(const OpCall *call, int64_t work)
{
    enum { SMALL_WORK = 1 << 18 };
    return work < SMALL_WORK ? 1 : pool_threads(call->pool);
}

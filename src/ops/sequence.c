/* SPDX-License-Identifier: Apache-2.0
 * sequence.c - SplitToSequence and SequenceAt, as torch writes unbind and chunk: a tensor cut along an axis
 * into parts of one shape, and a part by its number. Such a sequence is held as one tensor, the parts along
 * a first axis of its own; one of parts that differ is refused. */
#include "ops/ops.h"

typedef struct Parts {
    int axis;
    int64_t n, size, outer; /* parts; what each has of the axis; how often the axis is gone through */
    size_t piece;           /* bytes of a part that lie together */
} Parts;

/* Without `split`, or with parts of 1 as torch says it, keepdims=0 takes the axis away: ONNX Runtime does so too. */
static bool sequence_parts(const OpCall *call, Parts *p, bool *kept, Err *err)
{
    const Tensor *t = call->in[0], *split = call->n_in > 1 ? call->in[1] : NULL;
    *p = (Parts){ .axis = op_axis(call, op_attr_int(call, "axis", 0), t->rank, err), .size = 1, .outer = 1 };
    if (p->axis < 0) return false;
    const int64_t whole = t->dim[p->axis];
    p->n = whole;
    if (split) p->size = tensor_count(split) ? tensor_get_int(split, 0) : 0;
    bool alike = p->size > 0 && whole % p->size == 0;
    if (alike) p->n = whole / p->size;
    if (split && split->rank) alike = alike && tensor_count(split) == p->n;
    for (int64_t i = 0; alike && split && split->rank && i < p->n; i++) alike = tensor_get_int(split, i) == p->size;
    if (!alike) return op_fail(call, err, "split: wanted parts of one size that %lld elements have", (long long)whole);
    *kept = op_attr_int(call, "keepdims", 1) != 0 || p->size > 1 || (split && split->rank);
    p->piece = (size_t)p->size * dtype_size(t->type);
    for (int i = 0; i < t->rank; i++) {
        if (i < p->axis) p->outer *= t->dim[i];
        if (i > p->axis) p->piece *= (size_t)t->dim[i];
    }
    return true;
}

static bool sequence_split_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    Parts p;
    bool kept;
    int64_t dim[MAX_RANK + 1];
    int rank = 0;
    if (!sequence_parts(call, &p, &kept, err)) return false;
    dim[rank++] = p.n;
    for (int i = 0; i < t->rank; i++)
        if (i != p.axis || kept) dim[rank++] = i == p.axis ? p.size : t->dim[i];
    if (rank > MAX_RANK) return op_fail(call, err, "found %d dimensions, wanted at most %d", rank - 1, MAX_RANK - 1);
    return op_out(call, 0, t->type, rank, dim);
}

static bool sequence_split_run(OpCall *call, Err *err)
{
    Parts p;
    bool kept;
    if (!sequence_parts(call, &p, &kept, err)) return false;
    const char *from = call->in[0]->data;
    char *to = call->out[0].data;
    for (int64_t i = 0; i < p.outer; i++)
        for (int64_t k = 0; k < p.n; k++, from += p.piece)
            memcpy(to + (size_t)(k * p.outer + i) * p.piece, from, p.piece);
    return true;
}

static bool sequence_at_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *at = call->in[1];
    if (t->rank < 1 || tensor_count(at) != 1 || (at->type != T_I64 && at->type != T_I32))
        return op_fail(call, err, "wanted parts of a tensor, and the number of one");
    return op_out(call, 0, t->type, t->rank - 1, t->dim + 1);
}

static bool sequence_at_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const int64_t at = tensor_get_int(call->in[1], 0), from = at < 0 ? at + t->dim[0] : at;
    if (from < 0 || from >= t->dim[0])
        return op_fail(call, err, "position: found %lld, wanted %lld to %lld", (long long)at, (long long)-t->dim[0],
                       (long long)t->dim[0] - 1);
    const size_t bytes = tensor_bytes(&call->out[0]);
    memcpy(call->out[0].data, (const char *)t->data + (size_t)from * bytes, bytes);
    return true;
}

const Op ops_sequence[] = {
    { "SplitToSequence", NULL, 11, 1, 2, sequence_split_shape, sequence_split_run, 1 << 1, TOKEN_NO },
    { "SequenceAt", NULL, 11, 2, 2, sequence_at_shape, sequence_at_run, 0, TOKEN_NO },
    { 0 }
};

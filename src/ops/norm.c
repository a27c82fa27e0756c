/* SPDX-License-Identifier: Apache-2.0
 * norm.c - softmax and normalisations: each line of numbers along an axis becomes a line of the
 * same length. Contiguous f32 lines go to the row kernels; everything else (other axes, other
 * types, wanted means) takes the plain way in double. */
#include <math.h>

#include "walk.h"

/* ---- Softmax ---- */

typedef struct SoftmaxLine { /* [outer, n, inner]: a line has n numbers, inner apart */
    int64_t outer, n, inner;
} SoftmaxLine;

/* Until opset 13 everything from the axis on is one line. */
static bool softmax_find_line(const OpCall *call, SoftmaxLine *line, Err *err)
{
    const Tensor *t = call->in[0];
    const bool flat = call->opset < 13;
    const int64_t wanted = op_attr_int(call, "axis", flat ? 1 : -1);
    *line = (SoftmaxLine){ 1, 1, 1 };
    if (!t->rank) return true;
    if (flat && wanted == t->rank) { /* allowed then: lines of one */
        line->outer = tensor_count(t);
        return true;
    }
    const int axis = op_axis(call, wanted, t->rank, err);
    if (axis < 0) return false;
    for (int i = 0; i < axis; i++) line->outer *= t->dim[i];
    for (int i = axis + 1; i < t->rank; i++) *(flat ? &line->n : &line->inner) *= t->dim[i];
    line->n *= t->dim[axis];
    return true;
}

static bool softmax_shape(OpCall *call, Err *err)
{
    SoftmaxLine line;
    if (!dtype_is_float(call->in[0]->type)) return op_wrong_input(call, 0, "floats", err);
    return softmax_find_line(call, &line, err) && op_same(call, err);
}

typedef enum { SOFT, LOG_SOFT, HARD } SoftKind;
typedef struct SoftJob {
    const OpCall *call;
    SoftKind kind;
    SoftmaxLine line;
} SoftJob;

static void soft_line(const SoftJob *job, int64_t base)
{
    const Tensor *in = job->call->in[0];
    Tensor *out = &job->call->out[0];
    const SoftmaxLine *l = &job->line;
    double top = -INFINITY, sum = 0;
    int64_t best = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const double x = tensor_get(in, base + i * l->inner);
        if (x > top) best = i;
        top = x > top || x != x ? x : top;
    }
    if (top == -INFINITY) top = 0; /* a line of nothing but -inf gives NaN by 0 / 0 below */
    for (int64_t i = 0; i < l->n && job->kind != HARD; i++)
        sum += exp(tensor_get(in, base + i * l->inner) - top);
    for (int64_t i = 0; i < l->n; i++) {
        const int64_t at = base + i * l->inner;
        const double x = tensor_get(in, at) - top;
        const double y = job->kind == HARD   ? i == best
                         : job->kind == SOFT ? exp(x) / sum
                                             : x - log(sum);
        tensor_store(out, at, 1, &y);
    }
}

static void soft_range(void *context, int64_t from, int64_t to)
{
    const SoftJob *job = context;
    const OpCall *call = job->call;
    const SoftmaxLine *l = &job->line;
    const bool fast = job->kind == SOFT && l->inner == 1 && call->in[0]->type == T_F32 && call->k;
    for (int64_t i = from; i < to; i++) {
        const int64_t base = i / l->inner * l->n * l->inner + i % l->inner;
        if (fast) {
            call->k->softmax((const float *)call->in[0]->data + base,
                             (float *)call->out[0].data + base, l->n);
        } else {
            soft_line(job, base);
        }
    }
}

static bool softmax_any(OpCall *call, SoftKind kind, Err *err)
{
    SoftJob job = { call, kind, { 0 } };
    if (!softmax_find_line(call, &job.line, err)) return false;
    if (job.line.n)
        op_split(call, job.line.outer * job.line.inner, MAX(16384 / job.line.n, 1), soft_range,
                 &job);
    return true;
}

static bool softmax_run(OpCall *call, Err *err)
{
    return softmax_any(call, SOFT, err);
}

static bool log_softmax_run(OpCall *call, Err *err)
{
    return softmax_any(call, LOG_SOFT, err);
}

static bool hardmax_run(OpCall *call, Err *err)
{
    return softmax_any(call, HARD, err);
}

/* ---- LayerNormalization, RMSNormalization and their com.microsoft relatives ---- */

typedef struct NormRows {
    const OpCall *call;
    const Tensor *x;
    const Tensor *scale, *shift;   /* broadcast to x; shift or NULL */
    Tensor *y, *mean, *invstd;     /* mean, invstd or NULL */
    int64_t M, C;
    double eps;
    bool rms;                      /* the mean is taken for zero */
} NormRows;

static bool norm_rows(const OpCall *call, int64_t wanted, int64_t *M, int64_t *C, int *at, Err *err)
{
    const Tensor *t = call->in[0];
    const int axis = op_axis(call, wanted, t->rank, err);
    if (axis < 0) return false;
    *M = *C = 1;
    for (int i = 0; i < t->rank; i++) *(i < axis ? M : C) *= t->dim[i];
    *at = axis;
    return true;
}

static bool broadcasts_to(const Tensor *small, const Tensor *big)
{
    bool fits = small->rank <= big->rank;
    for (int i = 0; fits && i < small->rank; i++)
        fits = small->dim[i] == 1 || small->dim[i] == big->dim[i + big->rank - small->rank];
    return fits;
}

static void norm_one_row(const NormRows *job, int64_t m)
{
    const int64_t C = job->C, base = m * C;
    double mean = 0, square = 0;
    for (int64_t i = 0; i < C && !job->rms; i++) mean += tensor_get(job->x, base + i);
    mean /= (double)C;
    for (int64_t i = 0; i < C; i++) {
        const double d = tensor_get(job->x, base + i) - mean;
        square += d * d;
    }
    const double invstd = 1 / sqrt(square / (double)C + job->eps);
    for (int64_t i = 0; i < C; i++) {
        double y = (tensor_get(job->x, base + i) - mean) * invstd;
        y *= tensor_get(job->scale, op_broadcast_place(job->scale, job->x, base + i));
        if (job->shift) y += tensor_get(job->shift, op_broadcast_place(job->shift, job->x, base + i));
        tensor_store(job->y, base + i, 1, &y);
    }
    if (job->mean) tensor_store(job->mean, m, 1, &mean);
    if (job->invstd) tensor_store(job->invstd, m, 1, &invstd);
}

static bool norm_is_plain(const NormRows *job)
{
    const OpCall *call = job->call;
    return call->k && !job->rms && !job->mean && !job->invstd && job->x->type == T_F32 &&
           job->scale->type == T_F32 && tensor_count(job->scale) == job->C &&
           (!job->shift || (job->shift->type == T_F32 && tensor_count(job->shift) == job->C));
}

static void norm_range(void *context, int64_t from, int64_t to)
{
    const NormRows *job = context;
    if (norm_is_plain(job)) {
        const Norm n = { .x = job->x->data,
                         .gamma = job->scale->data,
                         .beta = job->shift ? job->shift->data : NULL,
                         .y = job->y->data,
                         .M = job->M,
                         .C = job->C,
                         .eps = (float)job->eps };
        job->call->k->layer_norm(&n, from, to);
        return;
    }
    for (int64_t m = from; m < to; m++) norm_one_row(job, m);
}

static void norm_all_rows(const NormRows *job)
{
    if (job->C) op_split(job->call, job->M, MAX(8192 / job->C, 1), norm_range, (void *)job);
}

static Tensor *wanted_out(const OpCall *call, int index)
{
    return index < call->n_out && call->out[index].data ? &call->out[index] : NULL;
}

/* Outputs 1 and 2 (mean and inverse deviation) have the normalised dims as ones. */
static bool layer_norm_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    int64_t M, C, dim[MAX_RANK];
    int axis;
    if (!dtype_is_float(t->type)) return op_wrong_input(call, 0, "floats", err);
    if (!norm_rows(call, op_attr_int(call, "axis", -1), &M, &C, &axis, err)) return false;
    for (int i = 1; i < call->n_in; i++)
        if (call->in[i] && !broadcasts_to(call->in[i], t))
            return op_wrong_input(call, i, "a tensor that broadcasts to input 0", err);
    for (int i = 0; i < t->rank; i++) dim[i] = i < axis ? t->dim[i] : 1;
    const DType stash = t->type == T_F64 ? T_F64 : T_F32;
    return op_same(call, err) && op_out(call, 1, stash, t->rank, dim) &&
           op_out(call, 2, stash, t->rank, dim);
}

static bool any_norm(OpCall *call, bool rms, Err *err)
{
    int axis;
    NormRows job = { .call = call,
                    .x = call->in[0],
                    .scale = call->in[1],
                    .shift = op_in(call, 2),
                    .y = &call->out[0],
                    .rms = rms,
                    .eps = onnx_float(call->node, "epsilon", 1e-5f) };
    if (!norm_rows(call, op_attr_int(call, "axis", -1), &job.M, &job.C, &axis, err)) return false;
    if (!rms) job.mean = wanted_out(call, 1);
    job.invstd = wanted_out(call, rms ? 1 : 2);
    norm_all_rows(&job);
    return true;
}

static bool layer_norm_run(OpCall *call, Err *err)
{
    return any_norm(call, false, err);
}

static bool rms_norm_run(OpCall *call, Err *err)
{
    return any_norm(call, true, err);
}

/* com.microsoft SkipLayerNormalization: x, skip, gamma, [beta], [bias]; the simplified one has no beta.
 * Output 3 is x + skip + bias. */
static bool skip_norm_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    if (!dtype_is_float(t->type) || t->rank < 2)
        return op_wrong_input(call, 0, "rows of floats", err);
    if (!broadcasts_to(call->in[1], t)) return op_wrong_input(call, 1, "the shape of input 0", err);
    for (int i = 2; i < call->n_in; i++)
        if (call->in[i] && (call->in[i]->rank != 1 || call->in[i]->dim[0] != t->dim[t->rank - 1]))
            return op_wrong_input(call, i, "a row of input 0", err);
    int64_t dim[MAX_RANK];
    memcpy(dim, t->dim, sizeof dim);
    dim[t->rank - 1] = 1;
    return op_same(call, err) && op_out(call, 1, T_F32, t->rank, dim) &&
           op_out(call, 2, T_F32, t->rank, dim) && op_out(call, 3, t->type, t->rank, t->dim);
}

static bool skip_norm(OpCall *call, bool rms, Err *err)
{
    const Tensor *t = call->in[0], *skip = call->in[1], *bias = op_in(call, rms ? 3 : 4);
    const int64_t n = tensor_count(t), C = t->dim[t->rank - 1];
    Tensor sum = *t, *kept = wanted_out(call, 3);
    sum.data = kept ? kept->data : op_scratch(call, MAX(n, 1), dtype_size(t->type), err);
    if (!sum.data) return false;
    for (int64_t i = 0; i < n; i++) {
        double x = tensor_get(t, i) + tensor_get(skip, op_broadcast_place(skip, t, i));
        if (bias) x += tensor_get(bias, i % C);
        tensor_store(&sum, i, 1, &x);
    }
    NormRows job = { .call = call,
                    .x = &sum,
                    .scale = call->in[2],
                    .shift = rms ? NULL : op_in(call, 3),
                    .y = &call->out[0],
                    .mean = rms ? NULL : wanted_out(call, 1),
                    .invstd = wanted_out(call, 2),
                    .M = C ? n / C : 0,
                    .C = C,
                    .rms = rms,
                    .eps = onnx_float(call->node, "epsilon", 1e-12f) };
    norm_all_rows(&job);
    return true;
}

static bool skip_norm_run(OpCall *call, Err *err)
{
    return skip_norm(call, false, err);
}

static bool skip_rms_norm_run(OpCall *call, Err *err)
{
    return skip_norm(call, true, err);
}

#define MICROSOFT "com.microsoft"
const Op ops_norm[] = {
    /* name, domain, since, inputs, shape, run, values, token */
    { "Hardmax", NULL, 1, 1, 1, softmax_shape, hardmax_run, 0, TOKEN_INNER },
    /* of 17; ONNX Runtime writes it into older models too */
    { "LayerNormalization", NULL, 1, 2, 3, layer_norm_shape, layer_norm_run, 0, TOKEN_INNER },
    { "LogSoftmax", NULL, 1, 1, 1, softmax_shape, log_softmax_run, 0, TOKEN_INNER },
    { "RMSNormalization", NULL, 23, 2, 2, layer_norm_shape, rms_norm_run, 0, TOKEN_INNER },
    { "SimplifiedLayerNormalization", NULL, 1, 2, 2, layer_norm_shape, rms_norm_run, 0, TOKEN_INNER },
    { "SkipLayerNormalization", MICROSOFT, 1, 3, 5, skip_norm_shape, skip_norm_run, 0, TOKEN_INNER },
    { "SkipSimplifiedLayerNormalization", MICROSOFT, 1, 3, 4, skip_norm_shape, skip_rms_norm_run, 0,
      TOKEN_INNER },
    { "Softmax", NULL, 1, 1, 1, softmax_shape, softmax_run, 0, TOKEN_INNER },
    { 0 }
};

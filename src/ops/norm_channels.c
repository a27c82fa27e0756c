/* SPDX-License-Identifier: Apache-2.0
 * norm_channels.c - normalisations of [N, C, ...] by channel: BatchNormalization with its known mean and
 * variance, InstanceNormalization and GroupNormalization with those of the picture at hand, and
 * LpNormalization along one axis. Sums are in double, in memory order. */
#include <math.h>

#include "ops/ops.h"

/* ---- y = x * scale + shift, for each channel ---- */

typedef struct ChannelJob {
    const OpCall *call;
    int64_t channels, inner;   /* numbers of one channel of one picture */
    int64_t each;              /* channels that are normed together */
    double eps;
} ChannelJob;

static ChannelJob channel_job(const OpCall *call)
{
    const Tensor *t = call->in[0];
    ChannelJob job = { .call = call, .channels = t->rank > 1 ? t->dim[1] : 1, .inner = 1, .each = 1,
                       .eps = onnx_float(call->node, "epsilon", 1e-5f) };
    for (int i = 2; i < t->rank; i++) job.inner *= t->dim[i];
    return job;
}

/* Numbers at .. at + n - 1. */
static void channel_scale(const ChannelJob *job, int64_t at, int64_t n, double scale, double shift)
{
    const Tensor *x = job->call->in[0];
    Tensor *y = &job->call->out[0];
    if (x->type == T_F32) {
        const float *from = (const float *)x->data + at, by = (float)scale, more = (float)shift;
        float *to = (float *)y->data + at;
        for (int64_t i = 0; i < n; i++) to[i] = from[i] * by + more;
        return;
    }
    for (int64_t i = at; i < at + n; i++) {
        const double v = tensor_get(x, i) * scale + shift;
        tensor_store(y, i, 1, &v);
    }
}

static bool channel_numbers(const OpCall *call, int first, int last, int64_t channels, Err *err)
{
    const Tensor *t = call->in[0];
    if (!dtype_is_float(t->type) || t->rank < 1) return op_wrong_input(call, 0, "floats", err);
    for (int i = first; i <= last; i++)
        if (tensor_count(call->in[i]) != channels)
            return op_wrong_input(call, i, "a number for each channel", err);
    return true;
}

/* ---- BatchNormalization, inference ---- */

enum { BATCH_SCALE = 1, BATCH_SHIFT, BATCH_MEAN, BATCH_VAR };

static bool batch_norm_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    if (op_attr_int(call, "training_mode", 0))
        return fail(err, EF_UNSUPPORTED,
                    "node '%.*s' (BatchNormalization): found training_mode, wanted inference",
                    STR_ARG(call->node->name));
    return channel_numbers(call, 1, 4, t->rank > 1 ? t->dim[1] : 1, err) && op_same(call, err);
}

static void batch_norm_range(void *context, int64_t from, int64_t to)
{
    const ChannelJob *job = context;
    const OpCall *call = job->call;
    for (int64_t i = from; i < to; i++) {
        const int64_t c = i % job->channels;
        const double scale = tensor_get(call->in[BATCH_SCALE], c) /
                             sqrt(tensor_get(call->in[BATCH_VAR], c) + job->eps);
        channel_scale(job, i * job->inner, job->inner, scale,
                      tensor_get(call->in[BATCH_SHIFT], c) - tensor_get(call->in[BATCH_MEAN], c) * scale);
    }
}

static bool batch_norm_run(OpCall *call, Err *err)
{
    (void)err;
    ChannelJob job = channel_job(call);
    if (job.inner)
        op_split(call, tensor_count(call->in[0]) / job.inner, MAX(16384 / job.inner, 1),
                 batch_norm_range, &job);
    return true;
}

/* ---- InstanceNormalization, GroupNormalization, MeanVarianceNormalization ---- */

static void moments(const Tensor *x, int64_t at, int64_t n, double *mean, double *var)
{
    double sum = 0, square = 0;
    for (int64_t i = at; i < at + n; i++) sum += tensor_get(x, i);
    *mean = sum / (double)n;
    for (int64_t i = at; i < at + n; i++) {
        const double d = tensor_get(x, i) - *mean;
        square += d * d;
    }
    *var = square / (double)n;
}

static void group_norm_range(void *context, int64_t from, int64_t to)
{
    const ChannelJob *job = context;
    const OpCall *call = job->call;
    const int64_t groups = job->channels / job->each, size = job->each * job->inner;
    const bool by_group = tensor_count(call->in[1]) == groups && groups != job->channels;
    for (int64_t i = from; i < to; i++) {
        double mean, var;
        moments(call->in[0], i * size, size, &mean, &var);
        for (int64_t k = 0; k < job->each; k++) {
            const int64_t c = by_group ? i % groups : i % groups * job->each + k;
            const double scale = tensor_get(call->in[1], c) / sqrt(var + job->eps);
            channel_scale(job, i * size + k * job->inner, job->inner, scale,
                          tensor_get(call->in[2], c) - mean * scale);
        }
    }
}

static bool group_norm_any(OpCall *call, int64_t groups)
{
    ChannelJob job = channel_job(call);
    job.each = job.channels / groups;
    const int64_t size = job.each * job.inner, n = tensor_count(call->in[0]);
    if (n) op_split(call, n / size, MAX(4096 / size, 1), group_norm_range, &job);
    return true;
}

static bool instance_norm_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    if (t->rank < 3) return op_wrong_input(call, 0, "[N, C, ...]", err);
    return channel_numbers(call, 1, 2, t->dim[1], err) && op_same(call, err);
}

static bool instance_norm_run(OpCall *call, Err *err)
{
    (void)err;
    return group_norm_any(call, MAX(call->in[0]->dim[1], 1));
}

/* Until opset 21 scale and bias had a number for each group. */
static bool group_norm_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const int64_t groups = op_attr_int(call, "num_groups", 0);
    if (t->rank < 3) return op_wrong_input(call, 0, "[N, C, ...]", err);
    if (groups < 1 || t->dim[1] % groups)
        return op_fail(call, err, "num_groups: found %lld, wanted one that divides the channels",
                       (long long)groups);
    return channel_numbers(call, 1, 2, call->opset < 21 ? groups : t->dim[1], err) && op_same(call, err);
}

static bool group_norm_run(OpCall *call, Err *err)
{
    (void)err;
    return group_norm_any(call, op_attr_int(call, "num_groups", 1));
}

/* ---- NormLast: InstanceNormalization of [N, ..., C], as graph/channels_last.c has it, then an activation ---- */

typedef struct LastJob {
    const OpCall *call;
    int64_t channels, rows;    /* rows of one picture */
    double eps;
    Act act;
    float *scale, *shift;      /* [N, C] */
} LastJob;

enum { LAST_BLOCK = 64 };      /* channels whose sums one worker keeps */

/* Sums and squares in double, in one reading: the squares of floats are exact there. */
static void last_moments(void *context, int64_t from, int64_t to)
{
    const LastJob *job = context;
    const int64_t blocks = (job->channels + LAST_BLOCK - 1) / LAST_BLOCK;
    for (int64_t i = from; i < to; i++) {
        const int64_t c = i % blocks * LAST_BLOCK, n = MIN(job->channels - c, (int64_t)LAST_BLOCK);
        const int64_t at = i / blocks * job->channels + c;
        const float *x = (const float *)job->call->in[0]->data + i / blocks * job->rows * job->channels + c;
        double sum[LAST_BLOCK] = { 0 }, square[LAST_BLOCK] = { 0 };
        for (int64_t r = 0; r < job->rows; r++, x += job->channels)
            for (int64_t k = 0; k < n; k++) sum[k] += x[k], square[k] += (double)x[k] * x[k];
        for (int64_t k = 0; k < n; k++) {
            const double mean = sum[k] / (double)job->rows;
            const double var = MAX(square[k] / (double)job->rows - mean * mean, 0);
            const double by = tensor_get(job->call->in[1], c + k) / sqrt(var + job->eps);
            job->scale[at + k] = (float)by;
            job->shift[at + k] = (float)(tensor_get(job->call->in[2], c + k) - mean * by);
        }
    }
}

static void last_rows(void *context, int64_t from, int64_t to)
{
    const LastJob *job = context;
    const int64_t C = job->channels;
    for (int64_t r = from; r < to; r++) {
        const float *x = (const float *)job->call->in[0]->data + r * C;
        const float *scale = job->scale + r / job->rows * C, *shift = job->shift + r / job->rows * C;
        float *y = (float *)job->call->out[0].data + r * C;
        for (int64_t k = 0; k < C; k++) y[k] = x[k] * scale[k] + shift[k];
        if (job->act != ACT_NONE) job->call->k->activate(job->act, y, y, C);
    }
}

static bool norm_last_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const int64_t C = t->dim[t->rank - 1], N = t->dim[0], blocks = (C + LAST_BLOCK - 1) / LAST_BLOCK;
    LastJob job = { .call = call, .channels = C, .rows = 1, .act = (Act)op_attr_int(call, "act", ACT_NONE),
                    .eps = onnx_float(call->node, "epsilon", 1e-5f) };
    for (int i = 1; i + 1 < t->rank; i++) job.rows *= t->dim[i];
    if (!tensor_count(t)) return true;
    job.scale = op_scratch(call, 2 * N * C, sizeof(float), err);
    if (!job.scale) return false;
    job.shift = job.scale + N * C;
    op_split(call, N * blocks, MAX(16384 / (job.rows * LAST_BLOCK), 1), last_moments, &job);
    op_split(call, N * job.rows, MAX(16384 / C, 1), last_rows, &job);
    return true;
}

static bool norm_last_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    if (t->type != T_F32 || t->rank < 3) return op_wrong_input(call, 0, "floats [N, ..., C]", err);
    if ((uint64_t)op_attr_int(call, "act", ACT_NONE) >= ACT_COUNT)
        return op_fail(call, err, "activation is not known");
    return channel_numbers(call, 1, 2, t->dim[t->rank - 1], err) && op_same(call, err);
}

/* ---- LpNormalization ---- */

static bool lp_norm_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const int64_t p = op_attr_int(call, "p", 2);
    if (!dtype_is_float(t->type)) return op_wrong_input(call, 0, "floats", err);
    if (p != 1 && p != 2) return op_fail(call, err, "p: found %lld, wanted 1 or 2", (long long)p);
    return op_axis(call, op_attr_int(call, "axis", -1), t->rank, err) >= 0 && op_same(call, err);
}

static bool lp_norm_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const bool two = op_attr_int(call, "p", 2) == 2;
    const int axis = op_axis(call, op_attr_int(call, "axis", -1), t->rank, err);
    if (axis < 0) return false;
    int64_t inner = 1;
    for (int i = axis + 1; i < t->rank; i++) inner *= t->dim[i];
    const int64_t n = t->dim[axis], lines = n ? tensor_count(t) / n : 0;
    for (int64_t i = 0; i < lines; i++) {
        const int64_t at = i / inner * n * inner + i % inner;
        double sum = 0;
        for (int64_t k = 0; k < n; k++) {
            const double x = tensor_get(t, at + k * inner);
            sum += two ? x * x : fabs(x);
        }
        if (two) sum = sqrt(sum);
        for (int64_t k = 0; k < n; k++) {
            const double y = sum == 0 ? 0 : tensor_get(t, at + k * inner) / sum;
            tensor_store(&call->out[0], at + k * inner, 1, &y);
        }
    }
    return true;
}

const Op ops_norm_channels[] = {
    { "BatchNormalization", NULL, 9, 5, 5, batch_norm_shape, batch_norm_run },
    { "GroupNormalization", NULL, 18, 3, 3, group_norm_shape, group_norm_run },
    { "InstanceNormalization", NULL, 1, 3, 3, instance_norm_shape, instance_norm_run },
    { "NormLast", "encoderfile", 1, 3, 3, norm_last_shape, norm_last_run },
    { "LpNormalization", NULL, 1, 1, 1, lp_norm_shape, lp_norm_run },
    { 0 }
};

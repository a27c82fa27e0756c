/* SPDX-License-Identifier: Apache-2.0
 * pool.c - windows reduced to one number: MaxPool, AveragePool, LpPool and their global relatives, over any
 * number of spatial dims. A plane is [in..., inner]: inner is 1 where the channels come first, and the
 * channels themselves where the graph keeps them last (attribute `last`). Numbers are added in the order of
 * the window, one sum for each output. */
#include <math.h>

#include "ops/window.h"

typedef enum { POOL_MAX, POOL_MEAN, POOL_LP } PoolKind;

typedef struct PoolJob {
    PoolKind kind;
    SlidingWindow w;
    int64_t planes, inner;
    bool whole;                /* padding counts in a mean */
    bool turned;               /* indices count the first spatial dim fastest */
    double p;                  /* of POOL_LP */
    const float *x;
    float *y;
    int64_t *index;            /* of MaxPool, or NULL */
} PoolJob;

/* ---- shape ---- */

static bool pool_input(const OpCall *call, PoolKind kind, PoolJob *job, Err *err)
{
    const Tensor *x = call->in[0];
    const bool byte = kind == POOL_MAX && (x->type == T_I8 || x->type == T_U8);
    const bool last = op_attr_int(call, "last", 0);
    *job = (PoolJob){ .kind = kind, .w.dims = x->rank - 2, .p = (double)op_attr_int(call, "p", 2) };
    if (x->rank < 3 || (!byte && x->type != T_F32 && x->type != T_F16 && x->type != T_BF16))
        return op_wrong_input(call, 0, "floats of 16 or 32 bits [N, C, ...]", err);
    if (job->p < 1) return op_fail(call, err, "p: found %g, wanted 1 or more", job->p);
    for (int i = 0; i < job->w.dims; i++) job->w.in[i] = x->dim[i + (last ? 1 : 2)];
    job->planes = last ? x->dim[0] : x->dim[0] * x->dim[1];
    job->inner = last ? x->dim[x->rank - 1] : 1;
    job->whole = op_attr_int(call, "count_include_pad", 0);
    job->turned = op_attr_int(call, "storage_order", 0);
    return true;
}

static bool pool_window(const OpCall *call, PoolKind kind, PoolJob *job, Err *err)
{
    if (!pool_input(call, kind, job, err) || !window_kernel(call, &job->w, err) ||
        !window_read(call, op_attr_int(call, "ceil_mode", 0), &job->w, err))
        return false;
    for (int i = 0; i < job->w.dims; i++)
        if (job->w.before[i] >= job->w.kernel[i] * job->w.dilation[i] ||
            job->w.after[i] >= job->w.kernel[i] * job->w.dilation[i])
            return op_fail(call, err, "pads: found a window of padding alone");
    return true;
}

static bool pool_global(const OpCall *call, PoolKind kind, PoolJob *job, Err *err)
{
    if (!pool_input(call, kind, job, err)) return false;
    SlidingWindow *w = &job->w;
    w->size = w->positions = 1;
    for (int i = 0; i < w->dims; i++) {
        w->kernel[i] = w->in[i];
        w->stride[i] = w->dilation[i] = w->out[i] = 1;
        if (__builtin_mul_overflow(w->size, w->in[i], &w->size)) /* a tensor of no numbers can have such dims */
            return op_wrong_input(call, 0, "fewer positions", err);
    }
    return w->size > 0 || op_wrong_input(call, 0, "at least one position", err);
}

static bool pool_output(OpCall *call, const PoolJob *job, Err *err)
{
    int64_t dim[MAX_RANK];
    const Tensor *x = call->in[0];
    const bool last = op_attr_int(call, "last", 0);
    memcpy(dim, x->dim, sizeof dim);
    memcpy(dim + (last ? 1 : 2), job->w.out, sizeof(int64_t) * (size_t)job->w.dims);
    if (call->n_out > 1 && (job->kind != POOL_MAX || last))
        return op_fail(call, err, "output 1: this operator has no such output");
    return op_out(call, 0, x->type, x->rank, dim) && op_out(call, 1, T_I64, x->rank, dim);
}

/* ---- run ---- */

static void pool_step(PoolKind kind, double p, const float *x, int64_t n, float *y)
{
    enum { AT_ONCE = 16 }; /* a constant, so that the compiler takes vectors */
    switch (kind) {
    case POOL_MAX:
        for (; n >= AT_ONCE; n -= AT_ONCE, x += AT_ONCE, y += AT_ONCE)
            for (int i = 0; i < AT_ONCE; i++) y[i] = x[i] <= y[i] ? y[i] : x[i]; /* NaN stays */
        for (int64_t i = 0; i < n; i++) y[i] = x[i] <= y[i] ? y[i] : x[i];
        break;
    case POOL_MEAN:
        for (int64_t i = 0; i < n; i++) y[i] += x[i];
        break;
    case POOL_LP:
        for (int64_t i = 0; i < n; i++) y[i] += (float)pow(fabs(x[i]), p);
        break;
    }
}

/* Numbers of the window that a mean is divided by. Windows may reach beyond the padding (ceil_mode); what
 * lies there does not count. */
static int64_t pool_counted(const PoolJob *job, const int64_t *at)
{
    const SlidingWindow *w = &job->w;
    int64_t n = 1, from[SPACE], to[SPACE];
    window_inside(w, at, from, to);
    for (int i = 0; i < w->dims; i++) {
        const int64_t end = w->in[i] + w->after[i] - (at[i] * w->stride[i] - w->before[i]);
        const int64_t whole = MIN((end + w->dilation[i] - 1) / w->dilation[i], w->kernel[i]);
        n *= job->whole ? whole : to[i] - from[i];
    }
    return MAX(n, 1);
}

static void pool_finish(const PoolJob *job, const int64_t *at, float *y)
{
    if (job->kind == POOL_MEAN) {
        const float n = (float)pool_counted(job, at);
        for (int64_t i = 0; i < job->inner; i++) y[i] /= n;
    }
    for (int64_t i = 0; job->kind == POOL_LP && i < job->inner; i++)
        y[i] = (float)pow(y[i], 1 / job->p);
}

/* One output position of a plane. */
static void pool_position(const PoolJob *job, const float *x, const int64_t *at, float *y)
{
    const SlidingWindow *w = &job->w;
    int64_t from[SPACE], to[SPACE], k[SPACE];
    window_inside(w, at, from, to);
    for (int64_t i = 0; i < job->inner; i++) y[i] = job->kind == POOL_MAX ? -INFINITY : 0;
    for (int i = 0; i < w->dims; i++) {
        if (from[i] >= to[i]) return pool_finish(job, at, y);
        k[i] = from[i];
    }
    for (int i = w->dims - 1; i >= 0;) { /* k counts through from .. to */
        pool_step(job->kind, job->p, x + window_source(w, at, k) * job->inner, job->inner, y);
        for (i = w->dims - 1; i >= 0 && ++k[i] == to[i]; i--) k[i] = from[i];
    }
    pool_finish(job, at, y);
}

/* Where the largest number of a window lies, in the whole tensor; the first of equals. */
static int64_t pool_index(const PoolJob *job, const float *x, const int64_t *at, float most)
{
    const SlidingWindow *w = &job->w;
    int64_t k[SPACE] = { 0 }, place, turned = 0;
    do {
        place = window_source(w, at, k);
        if (place >= 0 && (x[place] == most || most != most)) break;
    } while (window_next(k, w->kernel, w->dims));
    if (!job->turned || place < 0) return MAX(place, 0);
    for (int i = w->dims - 1; i >= 0; i--)
        turned = turned * w->in[i] + at[i] * w->stride[i] - w->before[i] + k[i] * w->dilation[i];
    return turned;
}

static void pool_planes(void *context, int64_t from, int64_t to)
{
    const PoolJob *job = context;
    const SlidingWindow *w = &job->w;
    const int64_t volume = window_volume(w);
    for (int64_t i = from; i < to; i++) {
        const float *x = job->x + i * volume * job->inner;
        int64_t at[SPACE] = { 0 };
        for (int64_t p = 0; p < w->positions; p++, window_next(at, w->out, w->dims)) {
            const int64_t place = i * w->positions + p;
            pool_position(job, x, at, job->y + place * job->inner);
            if (job->index)
                job->index[place] = i * volume + pool_index(job, x, at, job->y[place]);
        }
    }
}

/* ---- the largest of each channel, channels last: a kernel ---- */
typedef struct PoolRows {
    const Kernels *k;
    Depthwise d; /* of the first picture */
} PoolRows;

static void pool_rows(void *context, int64_t from, int64_t to)
{
    const PoolRows *job = context;
    for (int64_t at = from, end; at < to; at = end) { /* rows of one picture at a time */
        const int64_t image = at / job->d.out[0], first = image * job->d.out[0];
        Depthwise d = job->d;
        end = MIN(to, first + d.out[0]);
        d.x += image * d.in[0] * d.in[1] * d.C;
        d.y += first * d.out[1] * d.C;
        job->k->depthwise(&d, at - first, end - first);
    }
}

static bool pool_has_kernel(const OpCall *call, const PoolJob *job)
{
    return job->kind == POOL_MAX && job->w.dims <= 2 && !job->index && call->in[0]->type == T_F32 &&
           op_attr_int(call, "last", 0);
}

static void pool_by_kernel(const OpCall *call, const PoolJob *job)
{
    PoolRows rows = { call->k, window_depthwise(&job->w) };
    rows.d.x = job->x, rows.d.y = job->y, rows.d.C = job->inner;
    const int64_t work = MAX(rows.d.out[1] * job->inner * job->w.size, 1);
    op_split(call, job->planes * rows.d.out[0], MAX(65536 / work, 1), pool_rows, &rows);
}

static bool pool_all(OpCall *call, PoolJob *job, Err *err)
{
    Tensor *out = &call->out[0], y = *out;
    const int64_t n = tensor_count(out);
    y.type = T_F32;
    if (out->type != T_F32) y.data = op_scratch(call, MAX(n, 1), sizeof(float), err);
    job->x = y.data ? op_f32(call, call->in[0], err) : NULL;
    job->y = y.data;
    job->index = call->n_out > 1 ? call->out[1].data : NULL;
    if (!job->x) return !n;
    if (n && pool_has_kernel(call, job)) return pool_by_kernel(call, job), true;
    int64_t work; /* of a plane; a window may be far larger than the picture */
    if (__builtin_mul_overflow(job->w.positions, job->w.size, &work) ||
        __builtin_mul_overflow(work, job->inner, &work))
        work = INT64_MAX;
    if (n) op_split(call, job->planes, MAX(16384 / MAX(work, 1), 1), pool_planes, job);
    if (out->type != T_F32) tensor_convert(&y, 0, out, 0, n);
    return true;
}

#define POOL(name, kind, find)                                     \
    static bool name##_shape(OpCall *call, Err *err)               \
    {                                                              \
        PoolJob job;                                               \
        return find(call, kind, &job, err) && pool_output(call, &job, err); \
    }                                                              \
    static bool name##_run(OpCall *call, Err *err)                 \
    {                                                              \
        PoolJob job;                                               \
        return find(call, kind, &job, err) && pool_all(call, &job, err); \
    }
POOL(max_pool, POOL_MAX, pool_window)
POOL(average_pool, POOL_MEAN, pool_window)
POOL(lp_pool, POOL_LP, pool_window)
POOL(global_max_pool, POOL_MAX, pool_global)
POOL(global_average_pool, POOL_MEAN, pool_global)
POOL(global_lp_pool, POOL_LP, pool_global)

const Op ops_pool[] = {
    { "AveragePool", NULL, 1, 1, 1, average_pool_shape, average_pool_run },
    { "GlobalAveragePool", NULL, 1, 1, 1, global_average_pool_shape, global_average_pool_run },
    { "GlobalLpPool", NULL, 1, 1, 1, global_lp_pool_shape, global_lp_pool_run },
    { "GlobalMaxPool", NULL, 1, 1, 1, global_max_pool_shape, global_max_pool_run },
    { "LpPool", NULL, 1, 1, 1, lp_pool_shape, lp_pool_run },
    { "MaxPool", NULL, 1, 1, 1, max_pool_shape, max_pool_run },
    { 0 }
};

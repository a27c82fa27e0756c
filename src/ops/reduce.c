/* SPDX-License-Identifier: Apache-2.0
 * reduce.c - sums, means, extremes and their places along axes; running sums; the k largest.
 *
 * Floats are added up in double, integers in int64, one output at a time in index order: the
 * result does not depend on threads or on the other rows. Two ways through memory: when the last
 * axis is reduced, an output reads contiguous spans; when it is kept, a row of outputs takes one
 * row of the input after the other. */
#include <math.h>
#include <stdlib.h>

#include "walk.h"

typedef enum {
    SUM,
    MEAN,
    BIGGEST,
    SMALLEST,
    PRODUCT,
    L1,
    L2,
    SQUARES,
    LOG_SUM,
    LOG_SUM_EXP
} ReduceKind;
enum { BLOCK = 256 };

/* ---- folding a span into accumulators: step 0: all into one, step 1: each into its own ---- */

#define EACH(expression)                                   \
    if (step) {                                            \
        for (int64_t i = 0; i < n; i++) {                  \
            A s = acc[i];                                  \
            acc[i] = (expression);                         \
        }                                                  \
    } else {                                               \
        A s = *acc;                                        \
        for (int64_t i = 0; i < n; i++) s = (expression);  \
        *acc = s;                                          \
    }                                                      \
    break

static void fold_floats(ReduceKind kind, double *acc, int step, const double *x, int64_t n,
                        const double *top)
{
    typedef double A;
    switch (kind) {
    case BIGGEST: EACH(x[i] > s || x[i] != x[i] ? x[i] : s);
    case SMALLEST: EACH(x[i] < s || x[i] != x[i] ? x[i] : s);
    case PRODUCT: EACH(s * x[i]);
    case L1: EACH(s + fabs(x[i]));
    case L2:
    case SQUARES: EACH(s + x[i] * x[i]);
    case LOG_SUM_EXP: EACH(s + exp(x[i] - top[i * step]));
    default: EACH(s + x[i]);
    }
}

static void fold_ints(ReduceKind kind, int64_t *acc, int step, const int64_t *x, int64_t n)
{
    typedef int64_t A;
#define U(v) ((uint64_t)(v)) /* wraps around instead of overflowing */
    switch (kind) {
    case BIGGEST: EACH(MAX(s, x[i]));
    case SMALLEST: EACH(MIN(s, x[i]));
    case PRODUCT: EACH((A)(U(s) * U(x[i])));
    case L1: EACH((A)(U(s) + (x[i] < 0 ? 0 - U(x[i]) : U(x[i]))));
    case SQUARES: EACH((A)(U(s) + U(x[i]) * U(x[i])));
    default: EACH((A)(U(s) + U(x[i])));
    }
#undef U
}

static double start_float(ReduceKind kind)
{
    return kind == BIGGEST ? -INFINITY : kind == SMALLEST ? INFINITY : kind == PRODUCT;
}

static int64_t start_int(ReduceKind kind)
{
    return kind == BIGGEST ? INT64_MIN : kind == SMALLEST ? INT64_MAX : kind == PRODUCT;
}

static double end_float(ReduceKind kind, double acc, double top, int64_t n)
{
    switch (kind) {
    case MEAN: return acc / (double)n;
    case L2: return sqrt(acc);
    case LOG_SUM: return log(acc);
    case LOG_SUM_EXP: return log(acc) + top;
    default: return acc;
    }
}

/* ---- axes ---- */

typedef struct Axes {
    bool on[MAX_RANK];
    bool nothing;           /* noop_with_empty_axes: the output is the input */
} Axes;

static bool add_axis(const OpCall *call, int64_t axis, Axes *axes, Err *err)
{
    int at = op_axis(call, axis, call->in[0]->rank, err);
    if (at < 0) return false;
    axes->on[at] = true;
    return true;
}

static bool find_axes(const OpCall *call, Axes *axes, Err *err)
{
    const Tensor *input = op_in(call, 1);
    const OnnxAttr *a = onnx_attr(call->node, "axes");
    const int64_t n = input ? tensor_count(input) : a && a->type == A_INTS ? (int64_t)a->n : 0;
    *axes = (Axes){ 0 };
    if (input && input->type != T_I64 && input->type != T_I32)
        return op_wrong_input(call, 1, "int64 axes", err);
    for (int64_t i = 0; i < n; i++)
        if (!add_axis(call, input ? tensor_get_int(input, i) : a->ints[i], axes, err)) return false;
    axes->nothing = !n && op_attr_int(call, "noop_with_empty_axes", 0);
    for (int i = 0; i < MAX_RANK && !n && !axes->nothing; i++) axes->on[i] = true;
    return true;
}

static bool reduce_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    const bool keep = op_attr_int(call, "keepdims", 1);
    int64_t dim[MAX_RANK];
    int rank = 0;
    Axes axes;
    if (!find_axes(call, &axes, err)) return false;
    for (int i = 0; i < t->rank; i++) {
        if (axes.on[i] && !keep) continue;
        dim[rank++] = axes.on[i] ? 1 : t->dim[i];
    }
    return op_out(call, 0, t->type, rank, dim);
}

/* ---- running ---- */

typedef struct Dims { /* dims and steps of the axes that are kept, or reduced, merged */
    int rank;
    int64_t dim[MAX_RANK], step[MAX_RANK], count;
} Dims;

static void add_dim(Dims *d, int64_t dim, int64_t step)
{
    d->count *= dim;
    if (dim == 1) return;
    if (d->rank && d->step[d->rank - 1] == step * dim) {
        d->dim[d->rank - 1] *= dim;
        d->step[d->rank - 1] = step;
        return;
    }
    d->dim[d->rank] = dim;
    d->step[d->rank++] = step;
}

static int64_t reduce_place(const Dims *d, int rank, int64_t index)
{
    int64_t at = 0;
    for (int i = rank - 1; i >= 0; i--) {
        at += index % d->dim[i] * d->step[i];
        index /= d->dim[i];
    }
    return at;
}

typedef struct ReduceJob {
    ReduceKind kind;
    const Tensor *in;
    Tensor *out;
    Dims kept, reduced;
    int64_t run;            /* contiguous input elements of one visit */
    bool columns;           /* the last axis is kept: run outputs side by side */
    bool floats;
} ReduceJob;

static void load_ints(const Tensor *t, int64_t at, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) out[i] = tensor_get_int(t, at + i);
}

typedef struct Lane { /* what is known about up to BLOCK outputs */
    double floats[BLOCK], top[BLOCK];
    int64_t ints[BLOCK];
    int64_t n;
} Lane;

static void fold_span(const ReduceJob *job, ReduceKind kind, Lane *lane, int64_t at, int64_t n)
{
    double x[BLOCK];
    int64_t v[BLOCK];
    for (int64_t done = 0; done < n; done += BLOCK) {
        const int64_t some = MIN(BLOCK, n - done);
        if (job->floats) {
            tensor_load(job->in, at + done, some, x);
            fold_floats(kind, lane->floats, job->columns, x, some, lane->top);
        } else {
            load_ints(job->in, at + done, some, v);
            fold_ints(kind, lane->ints, job->columns, v, some);
        }
    }
}

static void fold_lane(const ReduceJob *job, ReduceKind kind, Lane *lane, int64_t base)
{
    for (int64_t i = 0; i < lane->n; i++) {
        lane->floats[i] = start_float(kind);
        lane->ints[i] =
            job->in->type == T_BOOL ? kind == SMALLEST || kind == PRODUCT : start_int(kind);
    }
    const int64_t span = job->columns ? lane->n : job->run;
    const int64_t visits =
        job->columns ? job->reduced.count : job->reduced.count / MAX(job->run, 1);
    const int rank = job->columns ? job->reduced.rank : job->reduced.rank - (job->run > 1);
    for (int64_t i = 0; i < visits; i++)
        fold_span(job, kind, lane, base + reduce_place(&job->reduced, rank, i), span);
}

/* Outputs at .. at + lane->n - 1 (of one row of the input when there are columns). */
static void reduce_lane(const ReduceJob *job, Lane *lane, int64_t at)
{
    const int64_t base =
        job->columns ? reduce_place(&job->kept, job->kept.rank - 1, at / job->run) + at % job->run
                     : reduce_place(&job->kept, job->kept.rank, at);
    if (job->kind == LOG_SUM_EXP) {
        fold_lane(job, BIGGEST, lane, base);
        for (int64_t i = 0; i < lane->n; i++)
            lane->top[i] = isfinite(lane->floats[i]) ? lane->floats[i] : 0;
    }
    fold_lane(job, job->kind, lane, base);
    const int64_t n = job->reduced.count;
    for (int64_t i = 0; i < lane->n; i++) {
        lane->floats[i] = end_float(job->kind, lane->floats[i], lane->top[i], n);
        if (job->kind == MEAN) lane->ints[i] = n ? lane->ints[i] / n : 0;
    }
    Tensor ints = { .type = T_I64, .data = lane->ints };
    if (job->floats) {
        tensor_store(job->out, at, lane->n, lane->floats);
    } else {
        tensor_convert(&ints, 0, job->out, at, lane->n);
    }
}

static void reduce_range(void *context, int64_t from, int64_t to)
{
    const ReduceJob *job = context;
    Lane lane;
    for (int64_t at = from; at < to; at += lane.n) {
        lane.n = 1;
        if (job->columns) lane.n = MIN(MIN(BLOCK, to - at), job->run - at % job->run);
        reduce_lane(job, &lane, at);
    }
}

static bool reduce_run(OpCall *call, ReduceKind kind, Err *err)
{
    const Tensor *t = call->in[0];
    Tensor *out = &call->out[0];
    Axes axes;
    if (!find_axes(call, &axes, err)) return false;
    const int64_t n = tensor_count(out);
    if (axes.nothing && (kind == SUM || kind == MEAN || kind == BIGGEST || kind == SMALLEST ||
                         kind == PRODUCT)) {
        tensor_convert(t, 0, out, 0, n);
        return true;
    }
    ReduceJob job = { .kind = kind,
                .in = t,
                .out = out,
                .kept.count = 1,
                .reduced.count = 1,
                .floats = dtype_is_float(t->type) || kind == L2 || kind == LOG_SUM ||
                          kind == LOG_SUM_EXP };
    int64_t step[MAX_RANK];
    dense_steps(t->rank, t->dim, step);
    for (int i = 0; i < t->rank; i++)
        add_dim(axes.on[i] ? &job.reduced : &job.kept, t->dim[i], step[i]);
    const Dims *k = &job.kept, *r = &job.reduced;
    job.columns = k->rank && k->step[k->rank - 1] == 1;
    const bool spans = r->rank && r->step[r->rank - 1] == 1;
    job.run = job.columns ? k->dim[k->rank - 1] : spans ? r->dim[r->rank - 1] : 1;
    op_split(call, n, MAX(32768 / MAX(r->count, 1), 1), reduce_range, &job);
    return true;
}

#define REDUCE(name, kind) \
    static bool name##_run(OpCall *call, Err *err) { return reduce_run(call, kind, err); }
REDUCE(sum, SUM)
REDUCE(mean, MEAN)
REDUCE(max, BIGGEST)
REDUCE(min, SMALLEST)
REDUCE(product, PRODUCT)
REDUCE(l1, L1)
REDUCE(l2, L2)
REDUCE(squares, SQUARES)
REDUCE(log_sum, LOG_SUM)
REDUCE(log_sum_exp, LOG_SUM_EXP)

/* ---- lines along one axis: ArgMax, CumSum, TopK ---- */

typedef struct ReduceLine { /* [outer, n, inner] */
    int axis;
    int64_t outer, n, inner;
} ReduceLine;

static bool find_line(const OpCall *call, int64_t axis, ReduceLine *line, Err *err)
{
    const Tensor *t = call->in[0];
    *line = (ReduceLine){ .axis = op_axis(call, axis, t->rank, err), .outer = 1, .inner = 1 };
    if (line->axis < 0) return false;
    for (int i = 0; i < line->axis; i++) line->outer *= t->dim[i];
    for (int i = line->axis + 1; i < t->rank; i++) line->inner *= t->dim[i];
    line->n = t->dim[line->axis];
    return true;
}

/* Orders elements of any number type; NaN is the greatest, as in NumPy's argmax. */
static int element_compare(const Tensor *t, int64_t a, int64_t b)
{
    if (!dtype_is_float(t->type)) {
        int64_t x = tensor_get_int(t, a), y = tensor_get_int(t, b);
        return (x > y) - (x < y);
    }
    double x = tensor_get(t, a), y = tensor_get(t, b);
    if (x != x || y != y) return (x != x) - (y != y);
    return (x > y) - (x < y);
}

static bool arg_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    int64_t dim[MAX_RANK];
    ReduceLine line;
    int rank = 0;
    if (!find_line(call, op_attr_int(call, "axis", 0), &line, err)) return false;
    for (int i = 0; i < t->rank; i++) {
        if (i != line.axis) dim[rank++] = t->dim[i];
        if (i == line.axis && op_attr_int(call, "keepdims", 1)) dim[rank++] = 1;
    }
    if (!line.n && line.outer && line.inner)
        return op_fail(call, err, "axis %d: found no elements, wanted one", line.axis);
    return op_out(call, 0, T_I64, rank, dim);
}

static bool arg_run(OpCall *call, int sign, Err *err)
{
    ReduceLine line;
    const bool last = op_attr_int(call, "select_last_index", 0);
    if (!find_line(call, op_attr_int(call, "axis", 0), &line, err)) return false;
    int64_t *out = call->out[0].data;
    for (int64_t o = 0; o < line.outer * line.inner; o++) {
        const int64_t base = o / line.inner * line.n * line.inner + o % line.inner;
        int64_t best = 0;
        for (int64_t i = 1; i < line.n; i++) {
            int order = sign * element_compare(call->in[0], base + i * line.inner,
                                               base + best * line.inner);
            if (order > 0 || (order == 0 && last)) best = i;
        }
        out[o] = best;
    }
    return true;
}

static bool arg_max_run(OpCall *call, Err *err)
{
    return arg_run(call, 1, err);
}

static bool arg_min_run(OpCall *call, Err *err)
{
    return arg_run(call, -1, err);
}

static bool cumulate_shape(OpCall *call, Err *err)
{
    const Tensor *axis = call->in[1];
    if ((axis->type != T_I32 && axis->type != T_I64) || tensor_count(axis) != 1)
        return op_wrong_input(call, 1, "one int64 or int32 axis", err);
    return op_same(call, err);
}

typedef struct Running {
    bool product, exclusive;
    double x;
    int64_t i;
} Running;

/* One element into the running value; what is stored there is the value before or after. */
static void cumulate_one(OpCall *call, Running *r, int64_t at)
{
    const Tensor *t = call->in[0];
    const bool floats = dtype_is_float(t->type);
    const double x = floats ? tensor_get(t, at) : 0;
    const uint64_t i = floats ? 0 : (uint64_t)tensor_get_int(t, at);
    Tensor ints = { .type = T_I64, .data = &r->i };
    for (int pass = 0; pass < 2; pass++) {
        if (pass == r->exclusive) {
            r->x = r->product ? r->x * x : r->x + x;
            r->i = (int64_t)(r->product ? (uint64_t)r->i * i : (uint64_t)r->i + i);
        } else if (floats) {
            tensor_store(&call->out[0], at, 1, &r->x);
        } else {
            tensor_convert(&ints, 0, &call->out[0], at, 1);
        }
    }
}

static bool cumulate_run(OpCall *call, bool product, Err *err)
{
    ReduceLine line;
    const bool reverse = op_attr_int(call, "reverse", 0);
    const bool exclusive = op_attr_int(call, "exclusive", 0);
    if (!find_line(call, tensor_get_int(call->in[1], 0), &line, err)) return false;
    for (int64_t o = 0; o < line.outer * line.inner && line.n; o++) {
        const int64_t base = o / line.inner * line.n * line.inner + o % line.inner;
        Running r = { product, exclusive, product, product };
        for (int64_t i = 0; i < line.n; i++)
            cumulate_one(call, &r, base + (reverse ? line.n - 1 - i : i) * line.inner);
    }
    return true;
}

static bool cumulative_sum_run(OpCall *call, Err *err)
{
    return cumulate_run(call, false, err);
}

static bool cumulative_product_run(OpCall *call, Err *err)
{
    return cumulate_run(call, true, err);
}

/* ---- TopK: k is an attribute until opset 10 ---- */

static bool top_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *input = op_in(call, 1);
    ReduceLine line;
    if (!find_line(call, op_attr_int(call, "axis", -1), &line, err)) return false;
    if (input && (tensor_count(input) != 1 || input->type != T_I64))
        return op_wrong_input(call, 1, "one int64 number k", err);
    const int64_t k = input ? tensor_get_int(input, 0) : op_attr_int(call, "k", 0);
    if (k < 0 || k > line.n)
        return op_fail(call, err, "k: found %lld, wanted 0 to %lld", (long long)k,
                       (long long)line.n);
    int64_t dim[MAX_RANK];
    memcpy(dim, t->dim, sizeof dim);
    dim[line.axis] = k;
    return op_out(call, 0, t->type, t->rank, dim) && op_out(call, 1, T_I64, t->rank, dim);
}

typedef struct Order {
    const Tensor *t;
    int64_t base, inner;
    int sign;
} Order;

static int by_value(const void *a, const void *b, void *context)
{
    const Order *o = context;
    const int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    const int order =
        o->sign * element_compare(o->t, o->base + k * o->inner, o->base + i * o->inner);
    return order ? order : (i > k) - (i < k);
}

static bool top_run(OpCall *call, Err *err)
{
    ReduceLine line;
    if (!find_line(call, op_attr_int(call, "axis", -1), &line, err)) return false;
    const int64_t k = call->out[0].dim[line.axis];
    int64_t *index = op_scratch(call, line.n, sizeof *index, err);
    if (!index) return false;
    Order order = { call->in[0], 0, line.inner, op_attr_int(call, "largest", 1) ? 1 : -1 };
    for (int64_t o = 0; o < line.outer * line.inner && k; o++) {
        order.base = o / line.inner * line.n * line.inner + o % line.inner;
        const int64_t to = o / line.inner * k * line.inner + o % line.inner;
        for (int64_t i = 0; i < line.n; i++) index[i] = i;
        qsort_r(index, (size_t)line.n, sizeof *index, by_value, &order);
        for (int64_t i = 0; i < k; i++) {
            const int64_t at = to + i * line.inner;
            if (call->out[0].data)
                tensor_convert(call->in[0], order.base + index[i] * line.inner, &call->out[0], at,
                               1);
            if (call->n_out > 1 && call->out[1].data) ((int64_t *)call->out[1].data)[at] = index[i];
        }
    }
    return true;
}

/* Axes are an attribute at first, and an input from the second row on. */
#define REDUCE_ROWS(op, name, input)                                             \
    { op, NULL, 1, 1, 1, reduce_shape, name##_run, 0, TOKEN_INNER },             \
    { op, NULL, input, 1, 2, reduce_shape, name##_run, 1 << 1, TOKEN_INNER }
const Op ops_reduce[] = {
    REDUCE_ROWS("ReduceSum", sum, 13),
    REDUCE_ROWS("ReduceMean", mean, 18),
    REDUCE_ROWS("ReduceMax", max, 18),
    REDUCE_ROWS("ReduceMin", min, 18),
    REDUCE_ROWS("ReduceProd", product, 18),
    REDUCE_ROWS("ReduceL1", l1, 18),
    REDUCE_ROWS("ReduceL2", l2, 18),
    REDUCE_ROWS("ReduceSumSquare", squares, 18),
    REDUCE_ROWS("ReduceLogSum", log_sum, 18),
    REDUCE_ROWS("ReduceLogSumExp", log_sum_exp, 18),
    { "ArgMax", NULL, 1, 1, 1, arg_shape, arg_max_run, 0, TOKEN_INNER },
    { "ArgMin", NULL, 1, 1, 1, arg_shape, arg_min_run, 0, TOKEN_INNER },
    { "CumSum", NULL, 11, 2, 2, cumulate_shape, cumulative_sum_run, 0, TOKEN_NO },
    { "CumProd", NULL, 26, 2, 2, cumulate_shape, cumulative_product_run, 0, TOKEN_NO },
    { "TopK", NULL, 1, 1, 1, top_shape, top_run, 0, TOKEN_NO },
    { "TopK", NULL, 10, 2, 2, top_shape, top_run, 1 << 1, TOKEN_NO },
    { 0 }
};

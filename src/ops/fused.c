/* SPDX-License-Identifier: Apache-2.0
 * fused.c - operators of our own domain ("encoderfile"), made by the passes in graph/fuse_*.c. Their
 * arithmetic is a kernel each; what is written here is how the work is cut among the pool's workers. */
#include "ops.h"

enum { CHUNKS_PER_WORKER = 3 };

static int64_t fused_rows_of(const Tensor *t)
{
    int64_t rows = 1;
    for (int i = 0; i < t->rank - 1; i++) rows *= t->dim[i];
    return rows;
}

/* ---- Linear(x, panels, bias?, residual?) and LinearQ(..., w_scale, w_sum, w_zero?, w_fits) ---- */
static bool panels_fit(const Tensor *w, int rank, int64_t per_k, int64_t N, int64_t K)
{
    return w->rank == rank && w->dim[0] == ROUND_UP(N, PANEL) / PANEL &&
           w->dim[1] == ROUND_UP(K, per_k) / per_k && w->dim[2] == PANEL &&
           (rank == 3 || w->dim[3] == per_k);
}

/* Before graph/pack.c: one matrix, or several with as many columns each, behind the epilogue. */
static bool matrices_fit(const OpCall *c, int64_t N, int64_t K)
{
    int parts = 1 + MAX(c->n_in - 4, 0);
    bool turned = op_attr_int(c, "turned", 0);
    for (int i = 0; i < parts; i++) {
        const Tensor *w = c->in[i ? 3 + i : 1];
        if (!w || w->type != T_F32 || w->rank != 2 || w->dim[turned ? 0 : 1] * parts != N ||
            w->dim[turned ? 1 : 0] != K || (parts > 1 && N / parts % PANEL))
            return false;
    }
    return true;
}

static bool linear_dims(OpCall *c, bool fits, int n_rows, Err *err)
{
    const Tensor *x = c->in[0];
    if (c->n_in < 4) return op_fail(c, err, "found %d inputs, wanted 4 or more", c->n_in);
    int64_t N = op_attr_int(c, "N", 0), K = op_attr_int(c, "K", 0);
    if (N <= 0 || K <= 0 || N > INT32_MAX || K > INT32_MAX || !fits)
        return op_fail(c, err, "panels do not fit N = %lld, K = %lld", (long long)N, (long long)K);
    if (x->rank < 1 || x->type != T_F32 || x->dim[x->rank - 1] != K)
        return op_fail(c, err, "input has %lld columns, weight has %lld rows",
                       (long long)(x->rank ? x->dim[x->rank - 1] : 0), (long long)K);
    if ((uint64_t)op_attr_int(c, "act", ACT_NONE) >= ACT_COUNT)
        return op_fail(c, err, "activation is not known");
    for (int i = 2; i < n_rows; i++) {
        if (c->in[i] && i < 4 && c->in[i]->type != T_F32) return op_wrong_input(c, i, "float", err);
        if (c->in[i] && i != 3 && (c->in[i]->rank != 1 || c->in[i]->dim[0] != ROUND_UP(N, PANEL)))
            return op_fail(c, err, "input %d does not have a number per column", i);
    }
    c->out[0] = *x;
    c->out[0].data = NULL;
    c->out[0].dim[x->rank - 1] = N;
    return true;
}

static bool linear_shape(OpCall *c, Err *err)
{
    const Tensor *w = c->in[1];
    int64_t N = op_attr_int(c, "N", 0), K = op_attr_int(c, "K", 0);
    if (w->type != T_F32 && w->type != T_BF16)
        return op_fail(c, err, "weight panels are not float");
    bool fits = w->rank == 2         ? matrices_fit(c, N, K)
                : w->type == T_BF16 ? panels_fit(w, 4, 2, N, K)
                                     : panels_fit(w, 3, 1, N, K);
    return linear_dims(c, fits, MIN(c->n_in, 4), err);
}

static bool linear_q_shape(OpCall *c, Err *err)
{
    if (c->in[1]->type != T_I8) return op_fail(c, err, "weight panels are not int8");
    if (c->n_in < 8 || !c->in[4] || !c->in[5] || !c->in[7])
        return op_fail(c, err, "scales, sums or sizes are missing: the program that packed this model "
                               "is older than this one, build the package again");
    if (c->in[4]->type != T_F32 || c->in[5]->type != T_I32 || (c->in[6] && c->in[6]->type != T_I32))
        return op_fail(c, err, "scales or sums have the wrong type");
    int64_t N = op_attr_int(c, "N", 0), K = op_attr_int(c, "K", 0);
    if (!linear_dims(c, panels_fit(c->in[1], 4, 4, N, K), 7, err)) return false;
    const Tensor *fits = c->in[7];
    return (fits->type == T_U8 && fits->rank == 2 && fits->dim[0] == c->in[1]->dim[0] &&
            fits->dim[1] == fits_row(K)) ||
           op_wrong_input(c, 7, "a byte for every block of the panels", err);
}

typedef struct LinearJob {
    const Gemm *gemm;
    const Linear *l;
    int64_t row_step, panel_step;
    int row_chunks;
} LinearJob;

static void linear_chunk(void *arg, int index, int worker)
{
    (void)worker;
    const LinearJob *job = arg;
    int64_t panels = (job->l->N + PANEL - 1) / PANEL;
    int64_t m0 = index % job->row_chunks * job->row_step,
            p0 = index / job->row_chunks * job->panel_step;
    job->gemm->run(job->l, m0, MIN(m0 + job->row_step, job->l->M), p0,
                   MIN(p0 + job->panel_step, panels));
}

/* The columns are split first, so that each worker reads its own part of the weight once. With
 * more rows than columns, the rows are split first, since then they are the larger side. */
static void run_gemm(const OpCall *c, const Gemm *gemm, const Linear *l)
{
    int64_t panels = (l->N + PANEL - 1) / PANEL, tiles = (l->M + gemm->mr - 1) / gemm->mr;
    int threads = op_workers(c, l->M * l->N * l->K);
    int64_t chunks = threads == 1 ? 1 : (int64_t)threads * CHUNKS_PER_WORKER;
    int64_t columns = l->M > l->N ? (chunks + tiles - 1) / tiles : MIN(chunks, panels);
    int64_t rows = l->M > l->N ? MIN(chunks, tiles) : (chunks + panels - 1) / panels;
    LinearJob job = { .gemm = gemm, .l = l };
    job.panel_step = (panels + columns - 1) / columns;
    job.row_step = MAX((tiles + rows - 1) / rows, 1) * gemm->mr;
    job.row_chunks = (int)MAX((l->M + job.row_step - 1) / job.row_step, 1);
    int count = (int)((panels + job.panel_step - 1) / job.panel_step) * job.row_chunks;
    pool_for(threads == 1 ? NULL : c->pool, count, linear_chunk, &job);
}

static Linear linear_args(const OpCall *c)
{
    const Tensor *x = c->in[0];
    int64_t N = op_attr_int(c, "N", 0), K = op_attr_int(c, "K", 0);
    const Tensor *bias = op_in(c, 2), *residual = op_in(c, 3);
    return (Linear){ .x = x->data,
                     .w = c->in[1]->data,
                     .bias = bias ? bias->data : NULL,
                     .residual = residual ? residual->data : NULL,
                     .y = c->out[0].data,
                     .ldx = K,
                     .ldr = N,
                     .ldy = N,
                     .M = fused_rows_of(x),
                     .N = N,
                     .K = K,
                     .act = (Act)op_attr_int(c, "act", ACT_NONE),
                     .late = op_attr_int(c, "late", 0),
                     .far = c->far,
                     .ahead = c->ahead ? c->ahead->data : NULL,
                     .ahead_bytes = c->ahead ? (int64_t)tensor_bytes(c->ahead) : 0 };
}

/* A weight that is not in panels: there was no memory for it, or graph/pack.c has not run yet. */
static bool pack_now(OpCall *c, Linear *l, Err *err)
{
    int parts = 1 + MAX(c->n_in - 4, 0);
    int64_t N = l->N / parts;
    size_t one = panels_f32_size(N, l->K);
    float *panels = op_scratch(c, (int64_t)one * parts, sizeof(float), err);
    for (int i = 0; panels && i < parts; i++)
        panels_f32_pack(c->in[i ? 3 + i : 1]->data, op_attr_int(c, "turned", 0), N, l->K,
                        panels + (size_t)i * one);
    l->w = panels;
    return panels != NULL;
}

/* Rows of x in the precision of the weight, made by all workers. */
typedef struct RowsJob {
    const OpCall *c;
    const Linear *l;
    uint8_t *q; /* int8, or */
    uint16_t *b;
    RowScale *row;
    int64_t step;
} RowsJob;

static void rows_chunk(void *arg, int index, int worker)
{
    (void)worker;
    const RowsJob *job = arg;
    const Linear *l = job->l;
    int64_t m0 = index * job->step, m1 = MIN(m0 + job->step, l->M);
    if (job->b) job->c->k->bf16_rows(l->x, l->ldx, l->K, job->b, m0, m1);
    else job->c->k->quantize_rows(l->x, l->ldx, l->K, job->q, job->row, m0, m1);
}

static void convert_rows(const OpCall *c, RowsJob *job)
{
    const Linear *l = job->l;
    int threads = op_workers(c, l->M * l->K * 8);
    job->step = (l->M + threads - 1) / threads;
    pool_for(threads == 1 ? NULL : c->pool, (int)((l->M + job->step - 1) / job->step), rows_chunk,
             job);
}

/* A product whose x is floats, in the precision of its weight: block by block of rows, so that what was converted is
 * still near when it is multiplied. A block has enough rows for a weight that is read again. */
static bool run_converted(OpCall *c, const Gemm *gemm, const Linear *l, Err *err)
{
    enum { NEAR_BYTES = 512 << 10, LEAST_ROWS = 1024 };
    const bool bytes = l->w_scale != NULL;
    const int64_t row = bytes ? row_i8(l->K) : 2 * row_bf16(l->K);
    const int64_t most = MAX(NEAR_BYTES / row, LEAST_ROWS) * op_workers(c, l->M * l->N * l->K);
    const int64_t blocks = (l->M + most - 1) / most, step = ROUND_UP((l->M + blocks - 1) / blocks, gemm->mr);
    Linear part = *l;
    RowsJob job = { .c = c, .l = &part };
    void *low = op_scratch(c, 1, bytes ? rows_i8_size(step, l->K) : rows_bf16_size(step, l->K), err);
    job.row = low && bytes ? op_scratch(c, step, sizeof(RowScale), err) : NULL;
    if (!low || (bytes && !job.row)) return false;
    if (bytes) part.xq = job.q = low, part.row = job.row;
    else part.xb = job.b = low;
    for (int64_t m = 0; m < l->M; m += step) {
        part.M = MIN(step, l->M - m);
        part.x = l->x + m * l->ldx, part.y = l->y ? l->y + m * l->ldy : NULL;
        if (l->residual) part.residual = l->residual + m * l->ldr;
        if (l->yb) part.yb = l->yb + m * row_bf16(l->N);
        part.ahead = m + step < l->M ? NULL : l->ahead;
        convert_rows(c, &job);
        run_gemm(c, gemm, &part);
    }
    return true;
}

static bool residual_fits(const OpCall *c, Err *err)
{
    return !op_in(c, 3) || tensor_same_shape(c->in[3], &c->out[0]) ||
           op_fail(c, err, "residual has another shape");
}

static bool linear_run(OpCall *c, Err *err)
{
    Linear l = linear_args(c);
    if (!residual_fits(c, err)) return false;
    if (!l.M) return true;
    if (c->in[1]->type == T_BF16) {
        l.xb = c->low_in, l.yb = c->low_out;
        if (!l.xb) return run_converted(c, c->k->gemm_bf16, &l, err);
        run_gemm(c, c->k->gemm_bf16, &l);
        return true;
    }
    if (c->in[1]->rank == 2 && !pack_now(c, &l, err)) return false;
    run_gemm(c, c->k->gemm_f32, &l);
    return true;
}

static Low linear_low(const OpCall *c)
{
    if (c->in[1]->type != T_BF16) return (Low){ 0 };
    return (Low){ .reads = 1, .writes = true, .beside = c->k->gemm_bf16->pieces };
}

static bool linear_q_run(OpCall *c, Err *err)
{
    Linear l = linear_args(c);
    if (!residual_fits(c, err)) return false;
    if (!l.M) return true;
    l.w_scale = c->in[4]->data, l.w_sum = c->in[5]->data;
    l.w_zero = c->in[6] ? c->in[6]->data : NULL;
    l.w_fits = c->in[7]->data;
    return run_converted(c, c->k->gemm_i8, &l, err);
}

/* ---- LayerNorm(x, gamma, beta?) over the last axis ---- */
static bool norm_shape(OpCall *c, Err *err)
{
    const Tensor *x = c->in[0];
    int64_t C = x->rank ? x->dim[x->rank - 1] : 0;
    if (x->type != T_F32 || x->rank < 1)
        return op_wrong_input(c, 0, "float with 1 dim or more", err);
    for (int i = 1; i < c->n_in; i++)
        if (c->in[i] && (c->in[i]->rank != 1 || c->in[i]->dim[0] != C || c->in[i]->type != T_F32))
            return op_fail(c, err, "input %d does not have %lld floats", i, (long long)C);
    return op_same(c, err);
}

typedef struct NormJob {
    const OpCall *c;
    Norm norm;
    int64_t step;
} NormJob;

static void norm_chunk(void *arg, int index, int worker)
{
    (void)worker;
    const NormJob *job = arg;
    int64_t m0 = index * job->step;
    job->c->k->layer_norm(&job->norm, m0, MIN(m0 + job->step, job->norm.M));
}

static bool fused_norm_run(OpCall *c, Err *err)
{
    (void)err;
    const Tensor *x = c->in[0], *beta = c->n_in > 2 ? c->in[2] : NULL;
    NormJob job = { .c = c };
    job.norm = (Norm){ .x = x->data,
                       .gamma = c->in[1]->data,
                       .beta = beta ? beta->data : NULL,
                       .y = c->out[0].data,
                       .yb = c->low_out,
                       .M = fused_rows_of(x),
                       .C = x->dim[x->rank - 1],
                       .eps = onnx_float(c->node, "epsilon", 1e-5f) };
    if (!job.norm.M || !job.norm.C) return true;
    int threads = op_workers(c, job.norm.M * job.norm.C * 8);
    job.step = (job.norm.M + threads - 1) / threads;
    pool_for(threads == 1 ? NULL : c->pool, (int)((job.norm.M + job.step - 1) / job.step),
             norm_chunk, &job);
    return true;
}

/* ---- Activation(x) ---- */
static bool activation_shape(OpCall *c, Err *err)
{
    if (c->in[0]->type != T_F32)
        return op_fail(c, err, "input is %s, wanted float", dtype_name(c->in[0]->type));
    if ((uint64_t)op_attr_int(c, "act", ACT_NONE) >= ACT_COUNT)
        return op_fail(c, err, "activation is not known");
    return op_same(c, err);
}

typedef struct ActJob {
    const OpCall *c;
    Act act;
    int64_t n, step;
} ActJob;

static void act_chunk(void *arg, int index, int worker)
{
    (void)worker;
    const ActJob *job = arg;
    int64_t from = index * job->step;
    const float *x = job->c->in[0]->data;
    float *y = job->c->out[0].data;
    job->c->k->activate(job->act, x + from, y + from, MIN(job->step, job->n - from));
}

static bool activation_run(OpCall *c, Err *err)
{
    (void)err;
    ActJob job = { .c = c,
                   .act = (Act)op_attr_int(c, "act", ACT_NONE),
                   .n = tensor_count(c->in[0]) };
    if (!job.n) return true;
    int threads = op_workers(c, job.n * 16);
    job.step = ROUND_UP((job.n + threads - 1) / threads, 16);
    pool_for(threads == 1 ? NULL : c->pool, (int)((job.n + job.step - 1) / job.step), act_chunk,
             &job);
    return true;
}

/* ---- Gated(x): act(first half of the columns) * second half ---- */
static bool gated_shape(OpCall *c, Err *err)
{
    const Tensor *x = c->in[0];
    if (x->type != T_F32 || x->rank < 1 || x->dim[x->rank - 1] % 2)
        return op_wrong_input(c, 0, "floats with an even number of columns", err);
    if ((uint64_t)op_attr_int(c, "act", ACT_NONE) >= ACT_COUNT)
        return op_fail(c, err, "activation is not known");
    op_same(c, err);
    c->out[0].dim[x->rank - 1] /= 2;
    return true;
}

static void gated_chunk(void *arg, int index, int worker)
{
    (void)worker;
    const ActJob *job = arg;
    const Tensor *out = &job->c->out[0];
    int64_t F = out->dim[out->rank - 1], from = index * job->step,
            to = MIN(from + job->step, job->n);
    for (int64_t m = from; m < to; m++) {
        const float *x = (const float *)job->c->in[0]->data + m * 2 * F;
        float *y = (float *)out->data + m * F;
        job->c->k->activate(job->act, x, y, F);
        for (int64_t i = 0; i < F; i++) y[i] *= x[F + i];
    }
}

static bool gated_run(OpCall *c, Err *err)
{
    (void)err;
    ActJob job = { .c = c,
                   .act = (Act)op_attr_int(c, "act", ACT_NONE),
                   .n = fused_rows_of(&c->out[0]) };
    if (!tensor_count(&c->out[0])) return true;
    int threads = op_workers(c, tensor_count(c->in[0]) * 16);
    job.step = (job.n + threads - 1) / threads;
    pool_for(threads == 1 ? NULL : c->pool, (int)((job.n + job.step - 1) / job.step), gated_chunk,
             &job);
    return true;
}

#define OWN "encoderfile"
const Op ops_fused[] = {
    { "Linear", OWN, 1, 2, 6, linear_shape, linear_run, .token = TOKEN_MATMUL, .low = linear_low,
      .onto = 3, .cost = COST_PRODUCT },
    { "LinearQ", OWN, 1, 2, 8, linear_q_shape, linear_q_run, .token = TOKEN_MATMUL,
      .onto = 3, .cost = COST_PRODUCT },
    { "LayerNorm", OWN, 1, 2, 3, norm_shape, fused_norm_run, .token = TOKEN_INNER,
      .low = op_low_beside },
    { "Activation", OWN, 1, 1, 1, activation_shape, activation_run, .token = TOKEN_EACH },
    { "Gated", OWN, 1, 1, 1, gated_shape, gated_run, .token = TOKEN_INNER },
    { 0 },
};

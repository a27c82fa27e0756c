/* SPDX-License-Identifier: Apache-2.0
 * fused.c - operators of our own domain ("encoderfile"), made by the passes in graph/fuse_*.c. Their
 * arithmetic is a kernel each; what is written here is how the work is cut among the pool's workers. */
#include "ops.h"

enum {
    CHUNKS_PER_WORKER = 3,
    SMALL_WORK = 1 << 18
}; /* multiply-adds below which one worker is enough */

static int workers(const OpCall *c, int64_t work)
{
    return work < SMALL_WORK ? 1 : pool_threads(c->pool);
}

static int64_t rows_of(const Tensor *t)
{
    int64_t rows = 1;
    for (int i = 0; i < t->rank - 1; i++) rows *= t->dim[i];
    return rows;
}

/* ---- Linear(x, panels, bias?, residual?) and LinearQ(..., w_scale, w_sum, w_zero) ---- */
static bool linear_dims(OpCall *c, int panel_rank, int64_t per_k, Err *err)
{
    const Tensor *x = c->in[0], *w = c->in[1];
    if (c->n_in < 4) return op_fail(c, err, "found %d inputs, wanted 4 or more", c->n_in);
    int64_t N = op_attr_int(c, "N", 0), K = op_attr_int(c, "K", 0);
    if (N <= 0 || K <= 0 || N > INT32_MAX || K > INT32_MAX || w->rank != panel_rank ||
        w->dim[0] != ROUND_UP(N, PANEL) / PANEL || w->dim[1] != ROUND_UP(K, per_k) / per_k ||
        w->dim[2] != PANEL || (panel_rank == 4 && w->dim[3] != per_k))
        return op_fail(c, err, "panels do not fit N = %lld, K = %lld", (long long)N, (long long)K);
    if (x->rank < 1 || x->type != T_F32 || x->dim[x->rank - 1] != K)
        return op_fail(c, err, "input has %lld columns, weight has %lld rows",
                       (long long)(x->rank ? x->dim[x->rank - 1] : 0), (long long)K);
    if ((uint64_t)op_attr_int(c, "act", ACT_NONE) >= ACT_COUNT)
        return op_fail(c, err, "activation is not known");
    for (int i = 2; i < c->n_in; i++) {
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
    if (c->in[1]->type != T_F32) return op_fail(c, err, "weight panels are not float");
    return linear_dims(c, 3, 1, err);
}

static bool linear_q_shape(OpCall *c, Err *err)
{
    if (c->in[1]->type != T_I8) return op_fail(c, err, "weight panels are not int8");
    if (c->n_in < 7 || !c->in[4] || !c->in[5] || !c->in[6])
        return op_fail(c, err, "scales or sums are missing");
    if (c->in[4]->type != T_F32 || c->in[5]->type != T_I32 || c->in[6]->type != T_I32)
        return op_fail(c, err, "scales or sums have the wrong type");
    return linear_dims(c, 4, 4, err);
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

/* Columns are cut first: then each worker reads its own part of the weight, once. */
static void run_gemm(const OpCall *c, const Gemm *gemm, const Linear *l)
{
    int64_t panels = (l->N + PANEL - 1) / PANEL;
    int threads = workers(c, l->M * l->N * l->K),
        chunks = threads == 1 ? 1 : threads * CHUNKS_PER_WORKER;
    int64_t column_chunks = MIN((int64_t)chunks, panels),
            row_chunks = (chunks + column_chunks - 1) / column_chunks;
    LinearJob job = { .gemm = gemm, .l = l };
    job.panel_step = (panels + column_chunks - 1) / column_chunks;
    job.row_step = MAX(ROUND_UP((l->M + row_chunks - 1) / row_chunks, gemm->mr), 1);
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
                     .M = rows_of(x),
                     .N = N,
                     .K = K,
                     .act = (Act)op_attr_int(c, "act", ACT_NONE) };
}

static bool linear_run(OpCall *c, Err *err)
{
    Linear l = linear_args(c);
    if (op_in(c, 3) && !tensor_same_shape(c->in[3], &c->out[0]))
        return op_fail(c, err, "residual has another shape");
    if (l.M) run_gemm(c, c->k->gemm_f32, &l);
    return true;
}

typedef struct QuantizeJob {
    const OpCall *c;
    const Linear *l;
    uint8_t *q;
    RowScale *row;
    int64_t step;
} QuantizeJob;

static void quantize_chunk(void *arg, int index, int worker)
{
    (void)worker;
    const QuantizeJob *job = arg;
    int64_t m0 = index * job->step;
    job->c->k->quantize_rows(job->l->x, job->l->ldx, job->l->K, job->q, job->row, m0,
                             MIN(m0 + job->step, job->l->M));
}

static bool linear_q_run(OpCall *c, Err *err)
{
    Linear l = linear_args(c);
    if (op_in(c, 3) && !tensor_same_shape(c->in[3], &c->out[0]))
        return op_fail(c, err, "residual has another shape");
    if (!l.M) return true;
    QuantizeJob job = { .c = c, .l = &l };
    job.q = op_scratch(c, ROUND_UP(l.M, PANEL), (size_t)row_i8(l.K), err);
    job.row = op_scratch(c, l.M, sizeof(RowScale), err);
    if (!job.q || !job.row) return false;
    int threads = workers(c, l.M * l.K * 8);
    job.step = (l.M + threads - 1) / threads;
    pool_for(threads == 1 ? NULL : c->pool, (int)((l.M + job.step - 1) / job.step), quantize_chunk,
             &job);
    l.xq = job.q, l.row = job.row;
    l.w_scale = c->in[4]->data, l.w_sum = c->in[5]->data, l.w_zero = c->in[6]->data;
    run_gemm(c, c->k->gemm_i8, &l);
    return true;
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

static bool norm_run(OpCall *c, Err *err)
{
    (void)err;
    const Tensor *x = c->in[0], *beta = c->n_in > 2 ? c->in[2] : NULL;
    NormJob job = { .c = c };
    job.norm = (Norm){ .x = x->data,
                       .gamma = c->in[1]->data,
                       .beta = beta ? beta->data : NULL,
                       .y = c->out[0].data,
                       .M = rows_of(x),
                       .C = x->dim[x->rank - 1],
                       .eps = onnx_float(c->node, "epsilon", 1e-5f) };
    if (!job.norm.M || !job.norm.C) return true;
    int threads = workers(c, job.norm.M * job.norm.C * 8);
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
    int threads = workers(c, job.n * 16);
    job.step = ROUND_UP((job.n + threads - 1) / threads, 16);
    pool_for(threads == 1 ? NULL : c->pool, (int)((job.n + job.step - 1) / job.step), act_chunk,
             &job);
    return true;
}

/* ---- Attention(q, k, v, mask?): [B, S, C] each, or ragged [1, T, C] ---- */
static bool attention_shape(OpCall *c, Err *err)
{
    int64_t H = op_attr_int(c, "heads", 0);
    const Tensor *q = c->in[0];
    for (int i = 0; i < 3; i++)
        if (c->in[i]->rank != 3 || c->in[i]->type != T_F32 || !tensor_same_shape(c->in[i], q))
            return op_fail(c, err, "q, k and v do not have one shape [B, S, C]");
    if (H <= 0 || H > q->dim[2] || q->dim[2] % H)
        return op_fail(c, err, "%lld columns are not divisible by %lld heads", (long long)q->dim[2],
                       (long long)H);
    if (q->dim[0] * q->dim[1] > INT32_MAX || q->dim[0] * H > INT32_MAX || q->dim[2] > INT32_MAX)
        return op_wrong_input(c, 0, "fewer than 2^31 tokens, rows of heads and columns", err);
    return op_same(c, err);
}

/* Strides of a mask that broadcasts to [B, H, S, S]. */
static bool mask_strides(const OpCall *c, int64_t B, int64_t S, Attention *a, Err *err)
{
    const Tensor *m = c->n_in > 3 ? c->in[3] : NULL;
    if (!m) return true;
    int64_t dim[4] = { 1, 1, 1, 1 };
    for (int i = 0; i < m->rank && m->rank <= 4; i++) dim[4 - m->rank + i] = m->dim[i];
    bool fits = m->type == T_F32 && m->rank <= 4 && dim[3] == S && (dim[2] == S || dim[2] == 1) &&
                (dim[1] == a->H || dim[1] == 1) && (dim[0] == B || dim[0] == 1);
    if (!fits)
        return op_fail(c, err, "mask does not broadcast to [%lld, %d, %lld, %lld]", (long long)B,
                       a->H, (long long)S, (long long)S);
    a->mask = m->data;
    a->mask_query = dim[2] == 1 ? 0 : S;
    a->mask_head = dim[1] == 1 ? 0 : dim[2] * S;
    a->mask_row = dim[0] == 1 ? 0 : dim[1] * dim[2] * S;
    return true;
}

typedef struct AttentionJob {
    const OpCall *c;
    Attention a;
    float *scratch;
    size_t scratch_size; /* floats of one worker */
} AttentionJob;

static void attention_item(void *arg, int index, int worker)
{
    AttentionJob *job = arg;
    int r = index / job->a.H, h = index % job->a.H;
    int64_t length = job->a.start[r + 1] - job->a.start[r];
    if (length)
        job->c->k->attention(&job->a, r, h, 0, length,
                             job->scratch + (size_t)worker * job->scratch_size);
}

static const int32_t *equal_rows(const OpCall *c, int64_t B, int64_t S)
{
    int32_t *start = arena_raw(c->scratch, sizeof *start * (size_t)(B + 1));
    for (int64_t r = 0; r <= B; r++) start[r] = (int32_t)(r * S);
    return start;
}

static bool attention_run(OpCall *c, Err *err)
{
    const Tensor *q = c->in[0];
    int64_t B = c->ragged ? c->ragged->B : q->dim[0], S = c->ragged ? c->ragged->S : q->dim[1],
            C = q->dim[2];
    int H = (int)op_attr_int(c, "heads", 1);
    AttentionJob job = { .c = c };
    job.a = (Attention){ .q = q->data,
                         .k = c->in[1]->data,
                         .v = c->in[2]->data,
                         .out = c->out[0].data,
                         .ldq = C,
                         .ldk = C,
                         .ldv = C,
                         .ldo = C,
                         .B = (int)B,
                         .H = H,
                         .D = (int)(C / H),
                         .scale = onnx_float(c->node, "scale", 1) };
    if (!mask_strides(c, B, S, &job.a, err)) return false;
    if (!B || !S) return true;
    job.a.start = c->ragged ? c->ragged->start : equal_rows(c, B, S);
    int threads = workers(c, tensor_count(q) * S);
    job.scratch_size = ROUND_UP(attention_scratch(S, job.a.D), 64);
    job.scratch = op_scratch(c, (int64_t)job.scratch_size * threads, sizeof(float), err);
    if (!job.scratch) return false;
    pool_for(threads == 1 ? NULL : c->pool, (int)B * H, attention_item, &job);
    return true;
}

#define OWN "encoderfile"
const Op ops_fused[] = {
    { "Linear", OWN, 1, 2, 4, linear_shape, linear_run, .token = TOKEN_MATMUL },
    { "LinearQ", OWN, 1, 2, 7, linear_q_shape, linear_q_run, .token = TOKEN_MATMUL },
    { "LayerNorm", OWN, 1, 2, 3, norm_shape, norm_run, .token = TOKEN_INNER },
    { "Activation", OWN, 1, 1, 1, activation_shape, activation_run, .token = TOKEN_EACH },
    { "Attention", OWN, 1, 3, 4, attention_shape, attention_run, .token = TOKEN_ATTENTION },
    { 0 },
};

/* SPDX-License-Identifier: Apache-2.0
 * step.c - one step of a plan: an operator, or rows copied between the ragged form and others. */
#include "runner.h"

static void step_spread_rows(const Tensor *from, Tensor *to, const Ragged *ragged)
{
    size_t row = tensor_bytes(to) / (size_t)MAX(ragged->T, (int64_t)1);
    char *out = to->data;
    for (int r = 0; r < ragged->B; r++) {
        size_t n = (size_t)(ragged->start[r + 1] - ragged->start[r]) * row;
        memcpy(out, from->data, n);
        out += n;
    }
}

/* Rows of bytes between [1, T, ...] and [B, S, ...]; what fills up is zero. */
static void step_pad_rows(const Tensor *from, Tensor *to, const Ragged *ragged)
{
    size_t token = tensor_bytes(to) / (size_t)MAX(ragged->B * ragged->S, (int64_t)1);
    memset(to->data, 0, tensor_bytes(to));
    for (int r = 0; r < ragged->B; r++)
        memcpy((char *)to->data + (size_t)(r * ragged->S) * token,
               (const char *)from->data + (size_t)ragged->start[r] * token,
               (size_t)(ragged->start[r + 1] - ragged->start[r]) * token);
}

static void step_unpad_rows(const Tensor *from, Tensor *to, const Ragged *ragged)
{
    size_t token = tensor_bytes(from) / (size_t)MAX(ragged->B * ragged->S, (int64_t)1);
    for (int r = 0; r < ragged->B; r++)
        memcpy((char *)to->data + (size_t)ragged->start[r] * token,
               (const char *)from->data + (size_t)(r * ragged->S) * token,
               (size_t)(ragged->start[r + 1] - ragged->start[r]) * token);
}

/* Copies the one vector of a row to each of its tokens. */
static void step_repeat_rows(const Tensor *from, Tensor *to, const Ragged *ragged)
{
    size_t one = tensor_bytes(from) / (size_t)MAX(ragged->B, 1);
    for (int r = 0; r < ragged->B; r++)
        for (int32_t t = ragged->start[r]; t < ragged->start[r + 1]; t++)
            memcpy((char *)to->data + (size_t)t * one, (const char *)from->data + (size_t)r * one,
                   one);
}

static void step_first_rows(const Tensor *from, Tensor *to, const Ragged *ragged)
{
    size_t row = tensor_bytes(to) / (size_t)ragged->B;
    for (int r = 0; r < ragged->B; r++)
        memcpy((char *)to->data + (size_t)r * row,
               (const char *)from->data + (size_t)ragged->start[r] * row, row);
}

static void step_sum_rows(const Tensor *from, Tensor *to, const Ragged *ragged)
{
    const int64_t width = tensor_count(to) / MAX(ragged->B, 1);
    const float *x = from->data;
    float *sum = memset(to->data, 0, tensor_bytes(to));
    for (int r = 0; r < ragged->B; r++, sum += width)
        for (int32_t t = ragged->start[r]; t < ragged->start[r + 1]; t++)
            for (int64_t c = 0; c < width; c++) sum[c] += x[t * width + c];
}

static void step_max_rows(const Tensor *from, Tensor *to, const Ragged *ragged)
{
    const int64_t width = tensor_count(to) / MAX(ragged->B, 1);
    const float *x = from->data;
    float *most = to->data;
    step_first_rows(from, to, ragged);
    for (int r = 0; r < ragged->B; r++, most += width)
        for (int32_t t = ragged->start[r]; t < ragged->start[r + 1]; t++)
            for (int64_t c = 0; c < width; c++) most[c] = MAX(most[c], x[t * width + c]);
}

/* The token that an index [B, 1, C] names; one outside of its row has a meaning in the padded form only. */
static bool step_named_rows(const Tensor *const *in, Tensor *to, const Ragged *ragged, Err *err)
{
    const int64_t width = tensor_count(to) / MAX(ragged->B, 1), *index = in[1]->data;
    const float *x = in[0]->data;
    float *out = to->data;
    for (int r = 0; r < ragged->B; r++)
        for (int64_t c = 0; c < width; c++, index++) {
            if (*index < 0 || *index >= ragged->start[r + 1] - ragged->start[r])
                return fail(err, EF_UNSUPPORTED, "token %lld of a row is taken, which is padding",
                            (long long)*index);
            *out++ = x[(ragged->start[r] + *index) * width + c];
        }
    return true;
}

/* The weight of the next product, to be prefetched. NULL with several workers: each reads only a
 * part of it. */
static const Tensor *step_weight_ahead(const Runner *r, const Plan *plan, const PlanStep *step)
{
    if (!plan->far || pool_threads(r->pool) > 1) return NULL;
    while (++step < plan->step + plan->n_step)
        if (step_multiplies(step)) return step->in[1];
    return NULL;
}

bool runner_step(Runner *r, const Plan *plan, const PlanStep *step, const Ragged *ragged, Err *err)
{
    static void (*const copies[])(const Tensor *, Tensor *, const Ragged *) = {
        [STEP_SPREAD] = step_spread_rows,
        [STEP_FIRST] = step_first_rows,
        [STEP_PAD] = step_pad_rows,
        [STEP_UNPAD] = step_unpad_rows,
        [STEP_REPEAT] = step_repeat_rows,
        [STEP_SUM] = step_sum_rows,
        [STEP_MAX] = step_max_rows,
    };
    if (step->kind == STEP_NAMED) return step_named_rows(step->in, &step->out[0], ragged, err);
    if (step->kind != STEP_OP) return copies[step->kind](step->in[0], &step->out[0], ragged), true;
    const GraphNode *n = step->node;
    OpCall call = { .node = n->node,
                    .opset = n->opset,
                    .n_in = step->n_in,
                    .n_out = step->n_out,
                    .in = step->in,
                    .out = step->out,
                    .k = kernels(),
                    .pool = r->pool,
                    .scratch = &r->scratch,
                    .ragged = ragged,
                    .far = plan->far,
                    .ahead = step_weight_ahead(r, plan, step) };
    if (step->low_in >= 0) call.low_in = plan->slot[step->low_in].t.data;
    if (step->low_out >= 0) call.low_out = plan->slot[step->low_out].t.data;
    bool ok = n->op->run(&call, err);
    arena_reset(&r->scratch, KEPT_SCRATCH);
    return ok;
}

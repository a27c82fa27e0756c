/* SPDX-License-Identifier: Apache-2.0
 * run.c - batches through an engine. Rows are grouped so that none can influence another: all at
 * once under a ragged plan, else rows of equal length, else one by one; graphs with fixed sizes
 * get their rows padded to S and chunked to B. A large ragged batch is cut into parts that
 * workers take through the whole model, each by itself: nobody waits at the end of a step, and
 * what a part computes stays in its worker's caches. */
#include <stdlib.h>

#include "runner.h"

enum {
    PART_TOKENS = 256,  /* about: enough rows for a product, few enough for the second cache */
    LEAST_TOKENS = 128, /* per worker; with fewer, all workers share each step */
    SHARE = 2           /* a worker takes 1 / SHARE of its equal share of the remaining tokens */
};

/* ---- inputs ---- */
static int64_t token_value(const Batch *b, Role role, int64_t at, int64_t position)
{
    switch (role) {
    case ROLE_TOKEN: return b->ids[at];
    case ROLE_MASK: return 1;
    case ROLE_POSITION: return position;
    default: return b->type_ids ? b->type_ids[at] : 0;
    }
}

static void tensor_put_int(Tensor *t, int64_t index, int64_t value)
{
    if (t->type == T_I64) ((int64_t *)t->data)[index] = value;
    else if (t->type == T_I32) ((int32_t *)t->data)[index] = (int32_t)value;
    else if (t->type == T_BOOL) ((uint8_t *)t->data)[index] = value != 0;
    else ((float *)t->data)[index] = (float)value;
}

static void fill_boxes(const EngineRows *rows, int64_t S, Tensor *t)
{
    const Batch *b = rows->batch;
    int64_t at = 0;
    memset(t->data, 0, tensor_bytes(t));
    for (int i = 0; b->boxes && i < rows->n; i++) {
        int64_t from = b->start[rows->row[i]], n = b->start[rows->row[i] + 1] - from;
        for (int64_t k = 0; k < n * BOX_NUMBERS; k++)
            tensor_put_int(t, at + k, b->boxes[from * BOX_NUMBERS + k]);
        at += MAX(S, n) * BOX_NUMBERS;
    }
}

/* Rows one after another (step = their own length) or padded to `step`. */
static void fill_input(const Graph *g, int input, const EngineRows *rows, bool ragged, Tensor *t)
{
    const Role role = graph_role(g->value[g->input[input]].name);
    if (role_of_row(role)) return own_fill(rows, g, input, t);
    const int64_t S = ragged ? 0 : t->dim[1], filling = role == ROLE_TOKEN ? g->pad_id : 0;
    int64_t at = 0;
    if (role == ROLE_BOX) return fill_boxes(rows, S, t);
    for (int i = 0; i < rows->n; i++) {
        int32_t from = rows->batch->start[rows->row[i]], to = rows->batch->start[rows->row[i] + 1];
        for (int32_t k = from; k < to; k++)
            tensor_put_int(t, at++, token_value(rows->batch, role, k, k - from));
        for (int64_t k = to - from; k < S; k++) tensor_put_int(t, at++, filling);
    }
    for (int64_t total = tensor_count(t); at < total;)
        tensor_put_int(t, at++, filling); /* rows that fill up B */
}

/* ---- outputs ---- */
/* Whether output k is [B, S] (one number per token) and not [B, labels]: by the symbolic dims
 * or, without them, by the file's declared dims. */
static bool is_flat(const Engine *e, int k, const Tensor *t, const Size *size)
{
    const OnnxGraph *file = &e->graph->model->graph;
    if (t->rank != 2) return false;
    if (e->symbols.known) return e->symbols.t[e->output[k]].dim[1] == DIM_SEQUENCE;
    for (int i = 0; i < file->n_out; i++)
        if (str_eq(file->out[i].name, e->graph->value[e->output[k]].name))
            return file->out[i].rank == 2 && file->out[i].dim[1] < 0 && t->dim[1] == size->S;
    return false;
}

/* tokens 0: one vector for the row */
static RowOutput row_output(const float *data, int64_t tokens, bool flat, int64_t width)
{
    RowOutput out = { .data = data, .tokens = tokens ? tokens : 1, .width = width };
    if (tokens) out.dim[out.rank++] = tokens;
    if (!flat) out.dim[out.rank++] = width;
    return out;
}

/* The numbers of an output: a file may declare it as float16 or float64. NULL: it has none of floats. */
static const float *output_floats(Runner *r, const Tensor *t)
{
    Tensor wide = *t;
    if (t->type == T_F32) return t->data;
    if (t->type != T_F16 && t->type != T_F64) return NULL;
    wide.type = T_F32;
    wide.data = arena_raw(&r->result, tensor_bytes(&wide) + 1);
    tensor_convert(t, 0, &wide, 0, tensor_count(t));
    return wide.data;
}

/* Rows of output k, from its tensor. */
static bool read_output(Runner *r, int k, const Tensor *t, Form form, const Size *size,
                        const EngineRows *rows, RowOutput *out, Err *err)
{
    char found[128];
    const Engine *e = r->e;
    if (e->own) return own_read(e, &r->result, k, t, size, rows, out, err);
    bool flat = is_flat(e, k, t, size), by_token = t->rank == 3 || flat;
    const float *data = t->rank == 2 || t->rank == 3 ? output_floats(r, t) : NULL;
    if (!data)
        return fail(err, EF_UNSUPPORTED, "the output is %s, wanted float with 2 or 3 dims",
                    tensor_show(t, found));
    if (form != FORM_TOKEN && (t->dim[0] != size->B || (by_token && t->dim[1] != size->S)))
        return fail(err, EF_UNSUPPORTED, "the output is %s, wanted %lld rows of %lld tokens",
                    tensor_show(t, found), (long long)size->B, (long long)size->S);
    int64_t width = flat ? 1 : t->dim[t->rank - 1], S = by_token ? t->dim[1] : 1, token = 0;
    for (int i = 0; i < rows->n; i++) {
        int row = rows->row[i];
        int64_t length = rows->batch->start[row + 1] - rows->batch->start[row];
        if (form != FORM_TOKEN) token = i * S;
        out[row * e->n_output + k] =
            row_output(data + token * width, by_token ? length : 0, flat, width);
        token += length;
    }
    return true;
}

/* Those of rows that bring inputs are copies already. */
static void keep_outputs(Runner *r, const EngineRows *rows, RowOutput *out)
{
    const int n = r->e->n_output;
    for (int i = 0; !r->e->own && i < rows->n * n; i++) {
        RowOutput *o = &out[rows->row[i / n] * n + i % n];
        size_t bytes = sizeof(float) * (size_t)(o->tokens * o->width);
        o->data = memcpy(arena_raw(&r->result, bytes), o->data, bytes);
    }
}

/* ---- one run ---- */
static bool run_fill_dynamic(const void *rows, const Graph *g, int input, Tensor *t, Err *err)
{
    (void)err;
    fill_input(g, input, rows, false, t);
    return true;
}

static bool run_dynamic(Runner *r, const Plan *plan, const EngineRows *rows, RowOutput *out,
                        Err *err)
{
    const Graph *g = r->e->graph;
    Inferred at;
    if (!runner_begin_dynamic(r, plan, run_fill_dynamic, rows, &at, err)) return false;
    at.most = MIN(graph_most_bytes(g, &at), MOST_BYTES) * (size_t)rows->n;
    if (!graph_infer(g, &r->dynamic, &at, err)) return false;
    for (int k = 0; k < r->e->n_output; k++)
        if (!read_output(r, k, &at.t[r->e->output[k]], FORM_PLAIN, &plan->size, rows, out, err))
            return false;
    return true;
}

/* The steps of a run whose times are wanted; those of another plan than the last one's begin anew. */
static bool run_timed_steps(Runner *r, const Plan *plan, const Ragged *ragged, Err *err)
{
    struct StepTimes *t = &r->times;
    if (t->plan != plan) t->seconds = ARRAY(&t->arena, double, plan->n_step);
    for (int i = 0; i < plan->n_step; i++) {
        const double from = now_seconds();
        if (!runner_step(r, plan, &plan->step[i], ragged, err)) return false;
        const double took = now_seconds() - from;
        if (t->plan != plan || took < t->seconds[i]) t->seconds[i] = took;
    }
    t->plan = plan;
    return true;
}

static bool run_steps(Runner *r, const Plan *plan, const Ragged *ragged, Err *err)
{
    if (r->times.wanted) return run_timed_steps(r, plan, ragged, err);
    for (int i = 0; i < plan->n_step; i++)
        if (!runner_step(r, plan, &plan->step[i], ragged, err)) return false;
    return true;
}

static bool run_plan(Runner *r, Plan *plan, const EngineRows *rows, const Ragged *ragged,
                     RowOutput *out, Err *err)
{
    const Graph *g = r->e->graph;
    if (!runner_bind(r, plan, err)) return false;
    for (int i = 0; i < g->n_input; i++)
        fill_input(g, i, rows, plan->size.ragged, &plan->slot[plan->input[i]].t);
    if (!run_steps(r, plan, ragged, err)) return false;
    for (int k = 0; k < r->e->n_output; k++)
        if (!read_output(r, k, &plan->slot[plan->output[k]].t, plan->output_form[k],
                         &plan->size, rows, out, err))
            return false;
    return true;
}

static const Tensor *const *row_own(const Runner *r, const EngineRows *rows, int i)
{
    return rows->own ? rows->own + rows->row[i] * r->e->graph->n_input : NULL;
}

static bool run_padded(Runner *r, const EngineRows *rows, int64_t B, int64_t S, RowOutput *out,
                       Err *err)
{
    Plan *plan;
    Size size = { .B = B, .S = S, .T = B * S, .own = row_own(r, rows, 0) };
    if (!runner_plan(r, size, &plan, err)) return false;
    if (plan->dynamic) return r->times.plan = plan, run_dynamic(r, plan, rows, out, err);
    return run_plan(r, plan, rows, NULL, out, err);
}

static bool run_ragged(Runner *r, const EngineRows *rows, int64_t S, RowOutput *out, Err *err)
{
    Plan *plan;
    int64_t T = rows->batch->start[rows->n];
    Ragged ragged = { .B = rows->n, .T = T, .S = S, .start = rows->batch->start };
    Size size = { .B = rows->n, .S = S, .T = T, .ragged = true };
    return runner_plan(r, size, &plan, err) && run_plan(r, plan, rows, &ragged, out, err);
}

/* ---- grouping ---- */
static int64_t row_length(const Batch *b, int row)
{
    return b->start[row + 1] - b->start[row];
}

/* Rows of one length, in one run; their outputs are copied. */
static bool run_alike(Runner *r, const EngineRows *rows, RowOutput *out, Err *err)
{
    const Engine *e = r->e;
    int64_t B = e->fixed_B ? e->fixed_B : rows->n;
    int64_t S = e->fixed_S ? e->fixed_S : row_length(rows->batch, rows->row[0]);
    if (!run_padded(r, rows, B, S, out, err)) return false;
    keep_outputs(r, rows, out);
    return true;
}

/* ---- do rows of one length answer together as each does alone? ---- */
enum { TRIED_ROWS = 3, TRIED_TOKENS = 6 };

static bool same_output(const RowOutput *a, const RowOutput *b)
{
    return a->tokens == b->tokens && a->width == b->width &&
           memcmp(a->data, b->data, sizeof(float) * (size_t)(a->tokens * a->width)) == 0;
}

/* Rows to try it out with; those of pictures are costly, and two tell as much. */
static int tried_rows(const Engine *e)
{
    const int n = e->own ? 2 : TRIED_ROWS;
    return e->fixed_B ? (int)MIN(e->fixed_B, (int64_t)n) : n;
}

/* In place of what a row brings: other numbers of the same shapes, but the same settings. */
static void sample_own(Runner *r, const Tensor *const *like, int row, const Tensor **own)
{
    uint32_t seed = 1 + (uint32_t)row;
    for (int i = 0; i < r->e->graph->n_input; i++) {
        bool same = !like[i] || graph_batch_axis(r->e->graph, r->e->graph->input[i]) < 0;
        own[i] = like[i];
        if (same) continue;
        Tensor *t = NEW(&r->result, Tensor);
        *t = *like[i];
        t->data = arena_raw(&r->result, tensor_bytes(t) + 1);
        for (int64_t k = 0; k < tensor_count(t); k++) {
            seed = seed * 1664525u + 1013904223u;
            double number = dtype_is_float(t->type) ? (double)(seed >> 8) / (1 << 23) - 1 : 1;
            tensor_store(t, k, 1, &number);
        }
        own[i] = t;
    }
}

/* A graph may take the mean of a batch, or compute with its size: that is not parsed but tried out.
 * like: what a row brings, or NULL. */
static bool try_apart(Runner *r, const Tensor *const *like, Err *err)
{
    const Engine *e = r->e;
    const int n = tried_rows(e), inputs = e->graph->n_input;
    const int tokens = e->fixed_S ? (int)MIN(e->fixed_S, (int64_t)TRIED_TOKENS) : TRIED_TOKENS;
    int32_t start[TRIED_ROWS + 1], ids[TRIED_ROWS * TRIED_TOKENS];
    int row[TRIED_ROWS];
    RowOutput *all = ARRAY(&r->result, RowOutput, n * e->n_output);
    RowOutput *alone = ARRAY(&r->result, RowOutput, n * e->n_output);
    const Tensor **own = like ? ARRAY(&r->result, const Tensor *, n * inputs) : NULL;
    for (int i = 0; i <= n; i++) start[i] = i * tokens;
    for (int i = 0; i < n; i++) row[i] = i;
    for (int i = 0; like && i < n; i++) sample_own(r, like, i, own + i * inputs);
    for (int k = 0; k < n * tokens; k++) /* every row has its own least and largest */
        ids[k] = 1 + k / tokens * 2 + k % tokens * 5 / 3 % 2;
    const Batch b = { .B = n, .start = start, .ids = ids };
    if (!run_alike(r, &(EngineRows){ &b, row, n, own }, all, err)) return false;
    for (int i = 0; i < n; i++)
        if (!run_alike(r, &(EngineRows){ &b, row + i, 1, own }, alone, err)) return false;
    for (int i = 0; i < n * e->n_output; i++)
        if (!same_output(&all[i], &alone[i])) return false;
    return true;
}

static bool rows_stay_apart(Runner *r, const Tensor *const *like)
{
    Err ignored;
    if (r->apart == APART_UNTRIED)
        r->apart = !r->e->mixes_rows && try_apart(r, like, &ignored) ? APART_YES : APART_NO;
    return r->apart == APART_YES;
}

static _Thread_local struct Sorting { /* qsort has no context */
    const Engine *e;
    const EngineRows *rows;
} sorting;

/* 0: rows a and b, by their numbers in the batch, can be in one run. */
static int order_of_rows(struct Sorting by, int a, int b)
{
    const int inputs = by.e->graph->n_input;
    const Tensor *const *own = by.rows->own;
    int64_t x = row_length(by.rows->batch, a), y = row_length(by.rows->batch, b);
    if (!by.e->fixed_S && x != y) return x < y ? -1 : 1;
    return own ? own_order(by.e->graph, own + a * inputs, own + b * inputs) : 0;
}

static int by_shape(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b, order = order_of_rows(sorting, x, y);
    return order ? order : x - y;
}

/* The rows have been sorted by shape. */
static bool run_groups(Runner *r, const EngineRows *rows, RowOutput *out, Err *err)
{
    const Engine *e = r->e;
    const int *row = rows->row, n = rows->n;
    for (int from = 0, to; from < n; from = to) {
        int64_t most = e->fixed_B ? e->fixed_B : n;
        for (to = from + 1; to < n && to - from < most; to++)
            if (order_of_rows((struct Sorting){ e, rows }, row[from], row[to])) break;
        if (to - from > 1 && !rows_stay_apart(r, row_own(r, rows, from))) to = from + 1;
        EngineRows group = { rows->batch, row + from, to - from, rows->own };
        if (!run_alike(r, &group, out, err)) return false;
    }
    return true;
}

/* The mask verdict is bounded: a longer row is probed again, by the runner that meets it first. */
static bool mask_holds(Runner *r, int64_t S)
{
    int64_t known = __atomic_load_n(r->e->plain_up_to, __ATOMIC_RELAXED);
    if (S > known && S < r->masked_from) {
        known = graph_mask_up_to(r->e->graph, &r->e->symbols, known, S);
        /* what is lost between these two is probed again */
        if (known > __atomic_load_n(r->e->plain_up_to, __ATOMIC_RELAXED))
            __atomic_store_n(r->e->plain_up_to, known, __ATOMIC_RELAXED);
    }
    if (S > known) r->masked_from = MIN(r->masked_from, S);
    return S <= known;
}

/* The same for integers computed along rows. */
static bool row_shapes_hold(Runner *r, int64_t S)
{
    const Engine *e = r->e;
    if (S <= r->rows_up_to) return true;
    if (layout_try_rows(e->graph, &e->symbols, &e->layout, S) != ROWS_HOLD) return false;
    r->rows_up_to = S;
    return true;
}

/* And that of values made from positions: their rule may be another for long rows. */
static bool positions_hold(Runner *r, int64_t S)
{
    const Engine *e = r->e;
    if (S <= r->spread_up_to) return true;
    if (!layout_positions_hold(e->graph, &e->symbols, &e->layout, S)) return false;
    r->spread_up_to = S;
    return true;
}

/* ---- parts ---- */
typedef struct PartsJob {
    Runner *r;
    const Batch *batch;
    const int *order; /* 0, 1, 2 ... */
    int *first;       /* [n + 1]: rows of the batch */
    int n;
    RowOutput *out;
    Err *err; /* [n] */
} PartsJob;

/* Not if one row is longer than a worker's share: the other workers would wait for it. */
static bool is_cut(const Runner *r, const Batch *b, int64_t longest)
{
    int64_t T = b->start[b->B], threads = pool_threads(r->pool);
    return !r->times.wanted && T >= threads * MAX(LEAST_TOKENS, longest) && T >= 2 * PART_TOKENS;
}

static int first_row(const Batch *b, int64_t token) /* that does not begin before it */
{
    int low = 0, high = b->B;
    while (low < high) {
        int middle = (low + high) / 2;
        if (b->start[middle] < token) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* One worker gets equal parts. Of several, one may be half as fast as another (its core is shared):
 * parts become smaller towards the end, so that all end together. */
static int64_t part_tokens(int64_t left, int threads)
{
    int64_t share = MAX(LEAST_TOKENS, left / (SHARE * threads));
    int64_t about = threads > 1 ? MIN(share, PART_TOKENS) : PART_TOKENS;
    int64_t count = MAX(1, (left + about / 2) / about);
    return (left + count - 1) / count;
}

static int cut_rows(const Batch *b, int threads, int *first) /* first [B + 1] */
{
    int n = 0;
    first[0] = 0;
    for (int row = 0; row < b->B; first[++n] = row) {
        int64_t size = part_tokens(b->start[b->B] - b->start[row], threads);
        row = first_row(b, b->start[row] + MAX(size, 1));
    }
    return n;
}

/* Rows from .. to of a batch without tensors of their own, as a batch. */
static Batch part_of(Arena *arena, const Batch *b, int from, int to)
{
    int32_t first = b->start[from], *start = ARRAY(arena, int32_t, to - from + 1);
    for (int i = from; i < to; i++) start[i + 1 - from] = b->start[i + 1] - first;
    return (Batch){ .B = to - from, .start = start, .ids = b->ids + first,
                    .type_ids = b->type_ids ? b->type_ids + first : NULL,
                    .boxes = b->boxes ? b->boxes + (size_t)first * BOX_NUMBERS : NULL };
}

static int64_t longest_row(const Batch *b)
{
    int64_t S = 0;
    for (int i = 0; i < b->B; i++) S = MAX(S, row_length(b, i));
    return S;
}

static void run_part(void *arg, int index, int worker)
{
    const PartsJob *job = arg;
    Runner *r = job->r->part[worker];
    const int from = job->first[index];
    const Batch part = part_of(&r->result, job->batch, from, job->first[index + 1]);
    EngineRows rows = { &part, job->order, part.B };
    RowOutput *out = job->out + from * r->e->n_output;
    if (run_ragged(r, &rows, longest_row(&part), out, &job->err[index])) keep_outputs(r, &rows, out);
}

static bool run_parts(Runner *r, const EngineRows *rows, RowOutput *out, Err *err)
{
    const Batch *b = rows->batch;
    int threads = pool_threads(r->pool), *first = ARRAY(&r->result, int, b->B + 1);
    int n = cut_rows(b, threads, first);
    if (!r->part) r->part = ARRAY(&r->own, Runner *, pool_most(r->pool));
    for (int i = 0; i < threads; i++) {
        if (!r->part[i]) r->part[i] = runner_new(r->e, NULL);
        arena_reset(&r->part[i]->result, KEPT_SCRATCH);
    }
    PartsJob job = { r, b, rows->row, first, n, out, ARRAY(&r->result, Err, n) };
    pool_for(r->pool, n, run_part, &job);
    for (int i = 0; i < n; i++)
        if (job.err[i].code) return *err = job.err[i], false;
    return true;
}

/* Rows up to this length run under a ragged plan. */
static bool ragged_holds(Runner *r, int64_t S)
{
    return mask_holds(r, S) && row_shapes_hold(r, S) && positions_hold(r, S);
}

/* Rows that do not run together under the ragged plan: one of them may be too long for it, or they meet. Each runs as
 * it does alone, or its numbers would be rounded otherwise. order: 0, 1, 2 ... */
static bool run_each(Runner *r, const Batch *b, const int *order, RowOutput *out, Err *err)
{
    for (int i = 0; i < b->B; i++) {
        const Batch alone = part_of(&r->result, b, i, i + 1);
        const EngineRows row = { &alone, order, 1, NULL };
        RowOutput *to = out + i * r->e->n_output;
        const int64_t S = row_length(b, i);
        const bool ragged = ragged_holds(r, S);
        if (ragged && run_ragged(r, &row, S, to, err)) keep_outputs(r, &row, to);
        else if (ragged && err->code != EF_UNSUPPORTED) return false;
        else if (!run_alike(r, &row, to, err)) return false;
    }
    return true;
}

bool runner_run(Runner *r, const Batch *b, RowOutput *out, Err *err)
{
    const int64_t S = longest_row(b);
    arena_reset(&r->result, KEPT_SCRATCH);
    int *order = ARRAY(&r->result, int, b->B);
    EngineRows rows = { b, order, b->B, NULL };
    if (r->e->own && !own_of_rows(r->e, &r->result, b, &rows.own, err))
        return within(err, "Model inference failed");
    for (int i = 0; i < b->B; i++) order[i] = i;
    if (r->e->fixed_S && S > r->e->fixed_S)
        return fail(err, EF_INVALID_INPUT,
                    "Model inference failed: text has %lld tokens, the model takes %lld",
                    (long long)S, (long long)r->e->fixed_S);
    const bool apart = b->B == 1 || !r->e->may_mix_vectors || rows_stay_apart(r, NULL);
    if (r->e->layout.ragged && apart && ragged_holds(r, S)) {
        if (is_cut(r, b, S) ? run_parts(r, &rows, out, err) : run_ragged(r, &rows, S, out, err))
            return true;
        if (err->code != EF_UNSUPPORTED) return within(err, "Model inference failed");
    } /* the shapes proved for ragged runs do not hold at this length: try the padded form */
    if (r->e->layout.ragged && b->B > 1)
        return run_each(r, b, order, out, err) || within(err, "Model inference failed");
    sorting = (struct Sorting){ r->e, &rows };
    if (!r->e->fixed_S || r->e->own) qsort(order, (size_t)b->B, sizeof *order, by_shape);
    return run_groups(r, &rows, out, err) || within(err, "Model inference failed");
}

bool runner_profile(Runner *r, const Batch *b, Arena *arena, Profile *p, Err *err)
{
    RowOutput *out = ARRAY(arena, RowOutput, b->B * r->e->n_output);
    double spent = 0;
    bool ok = runner_run(r, b, out, err);
    r->times.wanted = true;
    r->times.plan = NULL;
    for (p->done = 0; ok && p->done < p->runs && (!p->done || spent < p->most_seconds); p->done++) {
        const double from = now_seconds();
        ok = runner_run(r, b, out, err);
        const double took = now_seconds() - from;
        p->seconds = p->done ? MIN(p->seconds, took) : took;
        spent += took;
    }
    r->times.wanted = false;
    if (!ok) return false;
    plan_explain(r->e, r->times.plan, arena, &p->plan);
    for (int i = 0; i < p->plan.n; i++) p->plan.step[i].seconds = r->times.seconds[i];
    return true;
}

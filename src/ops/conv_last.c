/* SPDX-License-Identifier: Apache-2.0
 * conv_last.c - convolutions of our own domain, channels last: graph/channels_last.c makes them where the
 * filters are constant. ConvLast is a product of windows [positions, K] with filters in panels, like Linear
 * (fused.c): the windows of a few hundred positions are copied together, then multiplied, so that nothing as
 * large as all windows of a picture is made; where the product takes rows in pieces (bf16), it is told where they
 * lie instead. Which positions share a block changes nothing: a row of a product does not depend on its
 * neighbours. DepthwiseLast has a kernel of its own. */
#include "ops/window.h"

enum {
    BLOCK_BYTES = 512 << 10,   /* of windows that are multiplied at once: about the second cache */
    CHUNKS = 3,                /* of work for each worker, at least */
};

typedef struct ConvLast {
    SlidingWindow w;
    int64_t images, C, M, K, group; /* C, M: of all groups; K of one */
    int64_t unit, line;             /* bytes of a number, and from line to line, of what windows are copied from */
} ConvLast;

/* ---- shape ---- */

static bool conv_last_of(const OpCall *call, ConvLast *c, Err *err)
{
    const Tensor *x = call->in[0];
    *c = (ConvLast){ .w.dims = x->rank - 2, .M = op_attr_int(call, "N", 0), .K = op_attr_int(call, "K", 0),
                     .group = op_attr_int(call, "group", 1) };
    if (x->rank < 3 || x->type != T_F32) return op_wrong_input(call, 0, "floats [N, ..., C]", err);
    c->images = x->dim[0], c->C = x->dim[x->rank - 1];
    for (int i = 0; i < c->w.dims; i++) c->w.in[i] = x->dim[i + 1];
    if (!window_kernel(call, &c->w, err) || !window_read(call, false, &c->w, err)) return false;
    int64_t numbers; /* of a window of one group */
    if (c->group < 1 || c->M < 1 || c->M > INT32_MAX || c->K < 1 || c->M % c->group || c->C % c->group ||
        __builtin_mul_overflow(c->C / c->group, c->w.size, &numbers) || c->K != numbers)
        return op_wrong_input(call, 0, "as many channels as the filters have", err);
    if ((uint64_t)op_attr_int(call, "act", ACT_NONE) >= ACT_COUNT)
        return op_fail(call, err, "activation is not known");
    return true;
}

int64_t conv_last_bias(int64_t channels, int64_t group)
{
    const int64_t N = channels / group;
    return channels - N + ROUND_UP(N, PANEL);
}

/* numbers: of a bias, so that a kernel may read whole panels. */
static bool conv_last_output(OpCall *call, const ConvLast *c, int64_t numbers, Err *err)
{
    int64_t dim[MAX_RANK] = { c->images };
    const Tensor *bias = op_in(call, 2);
    memcpy(dim + 1, c->w.out, sizeof(int64_t) * (size_t)c->w.dims);
    dim[c->w.dims + 1] = c->M;
    if (bias && (bias->type != T_F32 || bias->rank != 1 || bias->dim[0] != numbers))
        return op_wrong_input(call, 2, "a number for each channel, filled up to whole panels", err);
    return op_out(call, 0, T_F32, c->w.dims + 2, dim);
}

/* Panels of every group, or, before graph/pack.c, one matrix [M, K]. */
static bool filters_fit(const OpCall *call, const ConvLast *c)
{
    const Tensor *w = call->in[1];
    const int64_t N = c->M / c->group, panels = c->group * ((N + PANEL - 1) / PANEL);
    if (w->type == T_F32 && w->rank == 2) return c->group == 1 && w->dim[0] == c->M && w->dim[1] == c->K;
    if (w->type == T_F32)
        return w->rank == 3 && w->dim[0] == panels && w->dim[1] == c->K && w->dim[2] == PANEL;
    const int64_t k = w->type == T_BF16 ? 2 : 4;
    return (w->type == T_BF16 || w->type == T_I8) && c->group == 1 && w->rank == 4 && w->dim[0] == panels &&
           w->dim[1] == (c->K + k - 1) / k && w->dim[2] == PANEL && w->dim[3] == k;
}

static bool conv_last_shape(OpCall *call, Err *err)
{
    ConvLast c;
    const bool bytes = call->n_in > 4;
    if (!conv_last_of(call, &c, err)) return false;
    if (!filters_fit(call, &c) || (call->in[1]->type == T_I8) != bytes)
        return op_fail(call, err, "filters do not fit N = %lld, K = %lld", (long long)c.M, (long long)c.K);
    for (int i = 4; i < 6 && bytes; i++)
        if (!op_in(call, i) || call->in[i]->type != (i == 4 ? T_F32 : T_I32) ||
            tensor_count(call->in[i]) != ROUND_UP(c.M, PANEL))
            return op_fail(call, err, "input %d does not have a number per column", i);
    const Tensor *fits = op_in(call, 7), *zero = bytes ? op_in(call, 6) : NULL;
    if (zero && (zero->type != T_I32 || tensor_count(zero) != ROUND_UP(c.M, PANEL)))
        return op_fail(call, err, "input 6 does not have a number per column");
    if (bytes && (!fits || fits->type != T_U8 || tensor_count(fits) != call->in[1]->dim[0] * fits_row(c.K)))
        return op_fail(call, err, "input 7 does not have a byte for every block of the panels");
    if (op_in(call, 3) && call->in[3]->type != T_F32) return op_wrong_input(call, 3, "floats", err);
    return conv_last_output(call, &c, conv_last_bias(c.M, c.group), err);
}

/* ---- windows ---- */

/* Mostly a few dozen bytes: a call would cost as much. */
static inline void copy_bytes(char *out, const char *from, int64_t n)
{
    enum { AT_ONCE = 16, MOST = 256 };
    if (n < AT_ONCE || n > MOST) {
        memcpy(out, from, (size_t)n);
        return;
    }
    for (int64_t i = 0; i + AT_ONCE <= n; i += AT_ONCE) memcpy(out + i, from + i, AT_ONCE);
    memcpy(out + n - AT_ONCE, from + n - AT_ONCE, AT_ONCE);
}

/* The taps of the last dim of one window line, which lie beside each other: `run` bytes each. */
static void copy_line(const ConvLast *c, const char *line, int64_t at, int64_t run, char *out)
{
    const int d = c->w.dims - 1;
    const int64_t step = c->w.dilation[d], kernel = c->w.kernel[d], size = c->w.in[d], next = c->C * c->unit;
    const int64_t x = at * c->w.stride[d] - c->w.before[d];
    if (step == 1 && run == next) { /* neighbours: one copy */
        const int64_t from = MIN(MAX(-x, 0), kernel), to = MAX(MIN(kernel, size - x), from);
        if (from) memset(out, 0, (size_t)(from * run));
        copy_bytes(out + from * run, line + (x + from) * run, (to - from) * run);
        if (to < kernel) memset(out + to * run, 0, (size_t)((kernel - to) * run));
        return;
    }
    for (int64_t k = 0; k < kernel; k++, out += run) {
        const int64_t i = x + k * step;
        if (i < 0 || i >= size) memset(out, 0, (size_t)run);
        else copy_bytes(out, line + i * next, run);
    }
}

/* Which line of the picture: outer taps k of the position `at`; -1: in the padding. */
static int64_t line_of(const SlidingWindow *w, const int64_t *at, const int64_t *k)
{
    int64_t line = 0;
    for (int i = 0; i + 1 < w->dims; i++) {
        const int64_t x = at[i] * w->stride[i] - w->before[i] + k[i] * w->dilation[i];
        if (x < 0 || x >= w->in[i]) return -1;
        line = line * w->in[i] + x;
    }
    return line;
}

/* Windows are made line by line: a line of the picture gives one line to each of the windows that are beside
 * each other in the output. */
typedef struct WindowLines {
    const ConvLast *c;
    const char *x;             /* the pictures */
    int64_t line;              /* bytes of one of their lines */
    int64_t row, each;         /* bytes from window to window in what is made, and of a line of one */
    /* Lines of the windows at .. at + n; line NULL: in the padding. */
    void (*put)(const struct WindowLines *, const char *line, int64_t at, int64_t n, char *out);
    const void *zero;          /* of point_lines: what the padding is */
} WindowLines;

/* Windows from .. to, counted through all pictures. */
static void walk_windows(const WindowLines *l, int64_t from, int64_t to, char *out)
{
    const SlidingWindow *w = &l->c->w;
    const int outer = w->dims - 1;
    int64_t at[SPACE], rest = from % w->positions;
    const int64_t picture = window_volume(w) / MAX(w->in[outer], 1) * l->line;
    const char *x = l->x + from / w->positions * picture;
    for (int i = outer; i >= 0; rest /= w->out[i--]) at[i] = rest % w->out[i];
    for (int64_t n; from < to; from += n, out += n * l->row) {
        int64_t k[SPACE] = { 0 };
        char *to_line = out;
        n = MIN(w->out[outer] - at[outer], to - from);
        do {
            const int64_t line = line_of(w, at, k);
            l->put(l, line < 0 ? NULL : x + line * l->line, at[outer], n, to_line);
            to_line += l->each;
        } while (window_next(k, w->kernel, outer));
        at[outer] = 0;
        if (!window_next(at, w->out, outer)) x += picture;
    }
}

/* `count` times n bytes. */
static void copy_many(const char *from, int64_t step, int64_t n, int64_t count, char *out, int64_t row)
{
    enum { HALF = 32 };
    if (n >= HALF && n <= 2 * HALF) /* 7 x 3 numbers of bf16: the first layer of many */
        for (int64_t i = 0; i < count; i++, from += step, out += row) {
            memcpy(out, from, HALF);
            memcpy(out + n - HALF, from + n - HALF, HALF);
        }
    else
        for (int64_t i = 0; i < count; i++, from += step, out += row) copy_bytes(out, from, n);
}

/* Those that do not reach into the padding are copied without looking. */
static void copy_lines(const WindowLines *l, const char *line, int64_t at, int64_t n, char *out)
{
    const ConvLast *c = l->c;
    const int d = c->w.dims - 1;
    const int64_t stride = c->w.stride[d], before = c->w.before[d], room = c->w.in[d] + before - c->w.kernel[d];
    const int64_t run = c->C / c->group * c->unit, end = at + n;
    for (int64_t i = 0; !line && i < n; i++, out += l->row) memset(out, 0, (size_t)l->each);
    if (!line) return;
    const bool beside = c->w.dilation[d] == 1 && c->group == 1;
    const int64_t from = MIN(MAX((before + stride - 1) / stride, at), end);
    const int64_t to = beside && room >= 0 ? MAX(MIN(room / stride + 1, end), from) : from;
    for (; at < from; at++, out += l->row) copy_line(c, line, at, run, out);
    copy_many(line + (from * stride - before) * run, stride * run, l->each, to - from, out, l->row);
    out += (to - from) * l->row;
    for (at = to; at < end; at++, out += l->row) copy_line(c, line, at, run, out);
}

/* Windows of group g as K numbers: taps in order, the group's channels of each; `row` bytes apart, filled up
 * with zeros. */
static void copy_windows(const ConvLast *c, const char *x, int64_t g, int64_t from, int64_t to, char *out, int64_t row)
{
    const int64_t run = c->C / c->group * c->unit, used = c->K * c->unit;
    const WindowLines l = { .c = c, .x = x + g * run, .line = c->line, .row = row,
                            .each = run * c->w.kernel[c->w.dims - 1], .put = copy_lines };
    walk_windows(&l, from, to, out);
    for (int64_t m = from; used < row && m < to; m++, out += row) memset(out + used, 0, (size_t)(row - used));
}

/* ---- windows in pieces: where each tap's channels are, instead of a copy ---- */

static void point_lines(const WindowLines *l, const char *line, int64_t at, int64_t n, char *out)
{
    const SlidingWindow *w = &l->c->w;
    const int d = w->dims - 1;
    const int64_t row = row_bf16(l->c->C), size = line ? w->in[d] : 0;
    for (int64_t i = at; i < at + n; i++, out += l->row)
        for (int64_t k = 0; k < w->kernel[d]; k++) {
            const int64_t x = i * w->stride[d] - w->before[d] + k * w->dilation[d];
            const bool inside = x >= 0 && x < size;
            ((const uint16_t **)out)[k] = inside ? (const uint16_t *)line + x * row : l->zero;
        }
}

/* [to - from, taps]; rows: of bf16, one for each position of the pictures. */
static void point_windows(const ConvLast *c, const uint16_t *rows, const uint16_t *zero, int64_t from, int64_t to,
                          const uint16_t **out)
{
    const int d = c->w.dims - 1;
    const int64_t one = sizeof *out, line = c->w.in[d] * row_bf16(c->C) * (int64_t)sizeof *rows;
    const WindowLines l = { .c = c, .x = (const char *)rows, .line = line, .row = c->w.size * one,
                            .each = c->w.kernel[d] * one, .put = point_lines, .zero = zero };
    walk_windows(&l, from, to, (char *)out);
}

/* ---- products ---- */

typedef struct ConvJob {
    const OpCall *call;
    const ConvLast *c;
    const Gemm *gemm;
    Linear l;                  /* of one group; x: a worker's windows */
    const char *x;             /* floats, or what is rounded already */
    int64_t rows, block;       /* in all; of one block */
    int64_t blocks, parts;     /* blocks of rows; parts of the panels */
    int64_t each;              /* panels of a part */
    float *windows;            /* [workers][block][K]; NULL: what is rounded already goes to `low` */
    void *low;                 /* [workers]: the same in the precision of the filters, or NULL */
    size_t low_size;
    RowScale *scale;           /* [workers][block], of int8 */
    const uint16_t *pieces;    /* in place of all these: rows of bf16, one for each position; or NULL */
    const uint16_t *zero;      /* that of the padding */
    const uint16_t **at;       /* [workers][block][taps] */
} ConvJob;

/* A worker's windows in the precision of the filters. */
static void conv_lower(const ConvJob *job, Linear *l, int64_t rows, int worker)
{
    const Kernels *k = job->call->k;
    void *low = (char *)job->low + (size_t)worker * job->low_size;
    if (l->w_scale) {
        RowScale *scale = job->scale + worker * job->block;
        k->quantize_rows(l->x, l->K, l->K, low, scale, 0, rows);
        l->xq = low, l->row = scale;
    } else {
        k->bf16_rows(l->x, l->K, l->K, low, 0, rows);
        l->xb = low;
    }
}

static void conv_block(void *arg, int index, int worker)
{
    const ConvJob *job = arg;
    const ConvLast *c = job->c;
    const int64_t g = index / (job->blocks * job->parts), block = index / job->parts % job->blocks;
    const int64_t from = block * job->block, to = MIN(from + job->block, job->rows);
    const int64_t N = job->l.N, panels = (N + PANEL - 1) / PANEL, p0 = index % job->parts * job->each;
    Linear l = job->l;
    l.M = to - from;
    if (job->at) {
        const uint16_t **at = job->at + worker * job->block * c->w.size;
        point_windows(c, job->pieces, job->zero, from, to, at);
        l.at = at, l.taps = c->w.size;
    } else if (job->windows) {
        float *windows = job->windows + worker * job->block * c->K;
        copy_windows(c, job->x, g, from, to, (char *)windows, c->K * c->unit);
        l.x = windows;
        if (job->low) conv_lower(job, &l, to - from, worker);
    } else {
        char *low = (char *)job->low + (size_t)worker * job->low_size;
        copy_windows(c, job->x, g, from, to, low, row_bf16(c->K) * c->unit);
        l.xb = (uint16_t *)low;
    }
    if (l.y) l.y += from * c->M + g * N;
    if (l.yb) l.yb += from * row_bf16(c->M);
    if (l.residual) l.residual += from * c->M + g * N;
    if (l.bias) l.bias += g * N;
    if (c->group > 1) l.w = (const float *)l.w + (size_t)g * panels_f32_size(N, c->K);
    job->gemm->run(&l, 0, to - from, p0, MIN(p0 + job->each, panels));
}

/* What a block has of each window: neighbours share their pieces, and half of a block is left for Y. */
static int64_t conv_window_bytes(const ConvJob *job)
{
    const ConvLast *c = job->c;
    if (!job->pieces) return c->K * c->unit;
    return 2 * (row_bf16(c->C) * (int64_t)sizeof *job->pieces + c->w.size * (int64_t)sizeof *job->at);
}

/* Rows are shared out first; where there are fewer blocks than workers, the panels too. */
static void conv_share(ConvJob *job, int workers)
{
    const int64_t panels = (job->l.N + PANEL - 1) / PANEL, mr = job->gemm->mr;
    const int64_t wanted = workers == 1 ? 1 : (int64_t)workers * CHUNKS;
    int64_t most = MAX(BLOCK_BYTES / conv_window_bytes(job), 8 * mr);
    if (workers > 1) most = MIN(most, MAX(job->rows / wanted, 4 * mr));
    const int64_t blocks = (job->rows + most - 1) / most;
    job->block = ROUND_UP((job->rows + blocks - 1) / blocks, mr);
    job->blocks = (job->rows + job->block - 1) / job->block;
    const int64_t parts = MIN(panels, (wanted + job->blocks * job->c->group - 1) / (job->blocks * job->c->group));
    job->each = (panels + parts - 1) / parts;
    job->parts = (panels + job->each - 1) / job->each;
}

/* The picture as bf16, line by line, where its numbers stand in several windows. */
typedef struct RoundJob {
    const OpCall *call;
    const float *x;
    int64_t K;                 /* of a line */
    uint16_t *to;
} RoundJob;

static void round_lines(void *context, int64_t from, int64_t to)
{
    const RoundJob *job = context;
    job->call->k->bf16_rows(job->x, job->K, job->K, job->to, from, to);
}

/* Whether the product reads windows in pieces, where their rows are bf16. Of few channels they are too short. */
static bool conv_pieces(const OpCall *call, int64_t channels)
{
    enum { LEAST = 16 };
    return call->in[1]->type == T_BF16 && call->k->gemm_bf16->pieces && channels >= LEAST && channels % 2 == 0;
}

static bool conv_round_rows(OpCall *call, ConvJob *job, const ConvLast *c, Err *err)
{
    const int64_t rows = tensor_count(call->in[0]) / c->C;
    uint16_t *low = op_scratch(call, 1, rows_bf16_size(rows, c->C), err);
    if (!low) return false;
    RoundJob round = { call, call->in[0]->data, c->C, low };
    op_split(call, rows, MAX(65536 / c->C, 1), round_lines, &round);
    job->pieces = low;
    return true;
}

static bool conv_round(OpCall *call, ConvJob *job, ConvLast *c, Err *err)
{
    int64_t apart = 1; /* windows that begin at every so many numbers */
    for (int i = 0; i < c->w.dims; i++) apart *= c->w.stride[i];
    job->pieces = call->low_in;
    if (call->low_in || call->in[1]->type != T_BF16 || c->w.size <= apart || !c->C) return true;
    if (conv_pieces(call, c->C)) return conv_round_rows(call, job, c, err);
    const int64_t K = c->w.in[c->w.dims - 1] * c->C, lines = tensor_count(call->in[0]) / MAX(K, 1);
    uint16_t *low = op_scratch(call, 1, rows_bf16_size(lines, K), err);
    if (!low) return false;
    RoundJob round = { call, call->in[0]->data, K, low };
    op_split(call, lines, MAX(65536 / MAX(K, 1), 1), round_lines, &round);
    job->x = (const char *)low;
    c->unit = sizeof *low, c->line = row_bf16(K) * c->unit;
    return true;
}

static bool conv_room(OpCall *call, ConvJob *job, int workers, Err *err)
{
    const int64_t K = job->c->K;
    const DType type = call->in[1]->type;
    if (job->pieces) {
        uint16_t *zero = op_scratch(call, job->c->C, sizeof *zero, err);
        job->at = zero ? op_scratch(call, workers * job->block * job->c->w.size, sizeof *job->at, err) : NULL;
        job->zero = zero;
        return job->at && memset(zero, 0, (size_t)job->c->C * sizeof *zero);
    }
    if (job->c->unit == sizeof(float)) {
        job->windows = op_scratch(call, workers * job->block, (size_t)K * sizeof(float), err);
        if (!job->windows || type == T_F32) return job->windows != NULL;
    }
    job->low_size = type == T_I8 ? rows_i8_size(job->block, K) : rows_bf16_size(job->block, K);
    job->low_size = ROUND_UP(job->low_size, 64);
    job->low = op_scratch(call, workers, job->low_size, err);
    job->scale = job->low ? op_scratch(call, workers * job->block, sizeof(RowScale), err) : NULL;
    return job->scale != NULL;
}

static Linear conv_linear(const OpCall *call, const ConvLast *c)
{
    const Tensor *bias = op_in(call, 2), *residual = op_in(call, 3), *w = call->in[1];
    Linear l = { .w = w->data, .bias = bias ? bias->data : NULL,
                 .residual = residual ? residual->data : NULL, .y = call->out[0].data, .ldx = c->K,
                 .ldr = c->M, .ldy = c->M, .N = c->M / c->group, .K = c->K,
                 .act = (Act)op_attr_int(call, "act", ACT_NONE), .late = op_attr_int(call, "late", 0),
                 .far = call->far, .yb = call->low_out };
    if (w->type != T_I8) return l;
    l.w_scale = call->in[4]->data, l.w_sum = call->in[5]->data;
    l.w_zero = call->in[6] ? call->in[6]->data : NULL;
    l.w_fits = call->in[7]->data;
    return l;
}

static bool conv_last_run(OpCall *call, Err *err)
{
    ConvLast c;
    const Tensor *residual = op_in(call, 3), *w = call->in[1];
    if (!conv_last_of(call, &c, err)) return false;
    if (residual && !tensor_same_shape(residual, &call->out[0]))
        return op_fail(call, err, "residual has another shape");
    ConvJob job = { .call = call, .c = &c, .l = conv_linear(call, &c), .x = call->in[0]->data,
                    .rows = c.images * c.w.positions };
    if (!job.rows) return true;
    c.unit = sizeof(float), c.line = c.w.in[c.w.dims - 1] * c.C * c.unit;
    job.gemm = w->type == T_I8 ? call->k->gemm_i8 : w->type == T_BF16 ? call->k->gemm_bf16 : call->k->gemm_f32;
    if (w->rank == 2) { /* graph/pack.c had no room, or has not run yet */
        float *panels = op_scratch(call, 1, panels_f32_size(c.M, c.K) * sizeof(float), err);
        if (!panels) return false;
        panels_f32_pack(w->data, true, c.M, c.K, panels);
        job.l.w = panels;
    }
    const int workers = op_workers(call, job.rows * c.M * c.K);
    if (!conv_round(call, &job, &c, err)) return false;
    conv_share(&job, workers);
    if (!conv_room(call, &job, workers, err)) return false;
    pool_for(workers == 1 ? NULL : call->pool, (int)(c.group * job.blocks * job.parts), conv_block, &job);
    return true;
}

static Low conv_last_low(const OpCall *call)
{
    const Tensor *x = call->in[0];
    const bool low = call->in[1]->type == T_BF16 && call->k->gemm_bf16->pieces;
    return (Low){ .reads = low && conv_pieces(call, x->dim[x->rank - 1]), .writes = low, .beside = low };
}

/* ---- DepthwiseLast(x, w [taps, C], bias?) ---- */

static bool depthwise_shape(OpCall *call, Err *err)
{
    ConvLast c;
    const Tensor *w = call->in[1];
    if (!conv_last_of(call, &c, err)) return false;
    if (c.w.dims > 2 || c.group != c.C || c.M != c.C || w->type != T_F32 || w->rank != 2 ||
        w->dim[0] != c.w.size || w->dim[1] != c.C)
        return op_wrong_input(call, 1, "a filter for each channel of [N, H, W, C]", err);
    return conv_last_output(call, &c, conv_last_bias(c.M, 1), err);
}

typedef struct DepthwiseJob {
    const OpCall *call;
    Depthwise d;               /* of the first picture */
    int64_t step;              /* rows of one item */
    Act act;
} DepthwiseJob;

static void depthwise_rows(void *context, int64_t from, int64_t to)
{
    const DepthwiseJob *job = context;
    for (int64_t at = from, end; at < to; at = end) { /* rows of one picture at a time */
        const int64_t image = at / job->d.out[0], first = image * job->d.out[0];
        Depthwise d = job->d;
        end = MIN(to, first + d.out[0]);
        d.x += image * d.in[0] * d.in[1] * d.C;
        d.y += first * d.out[1] * d.C;
        job->call->k->depthwise(&d, at - first, end - first);
        float *y = d.y + (at - first) * d.out[1] * d.C;
        if (job->act != ACT_NONE) job->call->k->activate(job->act, y, y, (end - at) * d.out[1] * d.C);
    }
}

static bool depthwise_run(OpCall *call, Err *err)
{
    ConvLast c;
    const Tensor *bias = op_in(call, 2);
    if (!conv_last_of(call, &c, err)) return false;
    DepthwiseJob job = { .call = call, .act = (Act)op_attr_int(call, "act", ACT_NONE) };
    Depthwise *d = &job.d;
    *d = window_depthwise(&c.w);
    d->x = call->in[0]->data, d->w = call->in[1]->data, d->bias = bias ? bias->data : NULL;
    d->y = call->out[0].data, d->C = c.C;
    const int64_t rows = c.images * d->out[0], work = MAX(d->out[1] * c.C * c.w.size, 1);
    if (tensor_count(&call->out[0])) op_split(call, rows, MAX(65536 / work, 1), depthwise_rows, &job);
    return true;
}

#define OWN "encoderfile"
const Op ops_conv_last[] = {
    { "ConvLast", OWN, 1, 2, 4, conv_last_shape, conv_last_run, .low = conv_last_low, .onto = 3,
      .cost = COST_WINDOW },
    { "ConvLastQ", OWN, 1, 2, 8, conv_last_shape, conv_last_run, .onto = 3, .cost = COST_WINDOW },
    { "DepthwiseLast", OWN, 1, 2, 3, depthwise_shape, depthwise_run },
    { 0 }
};

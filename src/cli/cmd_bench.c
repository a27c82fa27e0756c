/* SPDX-License-Identifier: Apache-2.0
 * cmd_bench.c - the time of one batch through the engine alone: no tokenizer, no queue, no sockets.
 * Ids are fixed, and pictures drawn, so two runs do the same work.
 *
 * gflops counts multiplications and additions as engine/work.c does: those that are done, also in a
 * window. Beside them stands the part of what as many cores can do at most, in fp32. */
#include <stdlib.h>

#include "base/thread.h"
#include "cli/cli.h"
#include "kernels/kernels.h"

enum { WARM_UP = 2, MOST_ROWS = 4096, MOST_TOKENS = 1 << 22 };

static const Option options[] = {
    OPTIONS_OPEN,
    { "lengths", 'l', "N,N,...", "tokens of each text of the batch; default 128, or what the model takes" },
    { "rows", 'b', "N", "of a model that reads pictures: how many; default 1", TAKES_COUNT, .least = 1,
      .most = MOST_ROWS },
    OPTION_THREADS,
    { "repeat", 'n', "N", "timed runs", TAKES_COUNT, .standard = "20", .least = 1,
      .most = 1 << 20 },
    { "precision", 0, "P", "fp32, bf16 or int8; other than the model's own of an .onnx only" },
    { "json", 0, NULL, "as JSON" },
    { 0 },
};
typedef struct Bench {
    const Model *model;
    Batch batch;
    int32_t *start;
    double *seconds;     /* [repeat], sorted */
    double first;        /* of all runs, which finds memory and proves what it must */
    int repeat, threads;
} Bench;

static bool read_lengths(Bench *b, Arena *arena, const char *text, Err *err)
{
    b->start = ARRAY(arena, int32_t, MOST_ROWS + 1);
    Str left = str_of(text);
    while (left.n) {
        const char *comma = memchr(left.p, ',', left.n);
        Str word = { left.p, comma ? (size_t)(comma - left.p) : left.n };
        int64_t n;
        if (!str_int(word, &n) || n < 1 || b->batch.B == MOST_ROWS ||
            b->start[b->batch.B] + n > MOST_TOKENS)
            return fail(err, EF_USAGE,
                        "--lengths: found \"%.*s\", wanted up to %d counts like 32,32,7",
                        STR_ARG(word), MOST_ROWS);
        b->start[b->batch.B + 1] = b->start[b->batch.B] + (int32_t)n;
        b->batch.B++;
        left = comma ? (Str){ comma + 1, left.n - word.n - 1 } : (Str){ 0 };
    }
    return b->batch.B > 0 || fail(err, EF_USAGE, "--lengths: wanted counts like 32,32,7");
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure(Bench *b, Arena *arena, Err *err)
{
    Pool *pool = pool_new(b->threads);
    Runner *runner = runner_new(b->model->engine, pool);
    const Engine *engine = b->model->engine;
    RowOutput *out = ARRAY(arena, RowOutput, b->batch.B * (engine_outputs(engine) + engine_states(engine)));
    bool ok = true;
    b->threads = pool_threads(pool);
    for (int i = -WARM_UP; i < b->repeat && ok; i++) {
        double from = now_seconds();
        ok = runner_run(runner, &b->batch, out, err);
        double took = now_seconds() - from;
        if (i == -WARM_UP) b->first = took;
        if (i >= 0) b->seconds[i] = took;
    }
    qsort(b->seconds, (size_t)b->repeat, sizeof *b->seconds, by_size);
    runner_free(runner);
    pool_free(pool);
    return ok;
}

static double flops(const Bench *b)
{
    double sum = 0;
    for (int r = 0; r < b->batch.B; r++)
        sum += 2 * engine_work(b->model->engine, b->batch.start[r + 1] - b->batch.start[r]);
    return sum;
}

/* ---- the peak ---- */
/* Multiplications and additions a second of one core: a product whose factors stay in the first cache. */
static double core_peak(Arena *arena)
{
    enum { M = 48, K = 128, TIMES = 64, TRIES = 50 };
    const Gemm *gemm = kernels()->gemm_f32;
    float *x = ARRAY(arena, float, M * K), *w = ARRAY(arena, float, PANEL * K),
          *y = ARRAY(arena, float, M * PANEL);
    const Linear l = { .x = x, .w = w, .y = y, .ldx = K, .ldy = PANEL, .M = M, .N = PANEL, .K = K };
    double best = 1;
    for (int i = 0; i < TRIES; i++) {
        double from = now_seconds();
        for (int k = 0; k < TIMES; k++) gemm->run(&l, 0, M, 0, 1);
        best = MIN(best, now_seconds() - from);
    }
    return 2.0 * M * PANEL * K * TIMES / best;
}

/* Nearest rank. */
static double percentile(const Bench *b, int percent)
{
    int rank = (b->repeat * percent + 99) / 100;
    return b->seconds[MAX(rank, 1) - 1];
}

static void put_times(Value *v, const Bench *b)
{
    value_add(v, "first_ms", value_of_float(b->first * 1e3));
    value_add(v, "best_ms", value_of_float(b->seconds[0] * 1e3));
    value_add(v, "median_ms", value_of_float(percentile(b, 50) * 1e3));
    value_add(v, "p99_ms", value_of_float(percentile(b, 99) * 1e3));
}

static void put_setting(Value *v, const Bench *b)
{
    value_add(v, "isa", value_of_str(str_of(kernels_isa(kernels(), b->model->precision))));
    value_add(v, "threads", value_of_int(b->threads));
    value_add(v, "precision", value_of_str(str_of(b->model->precision)));
    value_add(v, "rows", value_of_int(b->batch.B));
}

static bool bench_report(Args *a, const Bench *b, Err *err)
{
    const char *why = NULL, *isa = kernels_isa(kernels(), b->model->precision);
    double best = b->seconds[0], median = percentile(b, 50), tokens = b->batch.start[b->batch.B];
    double rate = flops(b) / median, peak = core_peak(&a->arena) * b->threads;
    Value v = value_map(&a->arena, 14);
    put_times(&v, b);
    value_add(&v, "tokens_per_s", value_of_float(tokens / median));
    value_add(&v, "gflops", value_of_float(rate / 1e9));
    value_add(&v, "part_of_peak", value_of_float(rate / peak));
    put_setting(&v, b);
    value_add(&v, "tokens", value_of_int((int64_t)tokens));
    value_add(&v, "repeat", value_of_int(b->repeat));
    value_add(&v, "ragged", value_of_bool(engine_ragged(b->model->engine, &why)));
    if (args_has(a, "json")) return out_json(&v, err);
    char line[512];
    int n = snprintf(
        line, sizeof line,
        "%d rows, %.0f tokens, %d threads, %s, %s: best %.3f ms, median %.3f ms, p99 %.3f ms, "
        "%.0f tokens/s, %.1f GFLOP/s (%.0f %% of the fp32 peak)\n",
        b->batch.B, tokens, b->threads, isa, b->model->precision, best * 1e3,
        median * 1e3, percentile(b, 99) * 1e3, tokens / median, rate / 1e9,
        100 * rate / peak);
    return out_write((Str){ line, (size_t)n }, err);
}

/* Of rows that bring tensors; their work is not counted, since it depends on the sizes inside. */
static bool bench_report_tensors(Args *a, const Bench *b, Err *err)
{
    const double median = percentile(b, 50);
    const Tensor *first = &b->batch.own[0].f[0].t;
    char shape[128];
    Value v = value_map(&a->arena, 12);
    put_times(&v, b);
    value_add(&v, "rows_per_s", value_of_float(b->batch.B / median));
    put_setting(&v, b);
    value_add(&v, "input", value_of_str(str_of(b->batch.own[0].f[0].input)));
    value_add(&v, "input_shape", value_of_str(str_of(tensor_show(first, shape))));
    value_add(&v, "repeat", value_of_int(b->repeat));
    if (args_has(a, "json")) return out_json(&v, err);
    char line[512];
    const int n = snprintf(line, sizeof line,
                           "%d x %s %s, %d threads, %s, %s: best %.3f ms, median %.3f ms, p99 %.3f ms, %.1f a second\n",
                           b->batch.B, b->batch.own[0].f[0].input, shape, b->threads,
                           kernels_isa(kernels(), b->model->precision), b->model->precision, b->seconds[0] * 1e3,
                           median * 1e3, percentile(b, 99) * 1e3, b->batch.B / median);
    return out_write((Str){ line, (size_t)n }, err);
}

static bool check_precision(const Args *a, const Model *m, Err *err)
{
    const char *wanted = args_value(a, "precision");
    if (!wanted || strcmp(wanted, m->precision) == 0) return true;
    return fail(err, EF_UNSUPPORTED,
                "--precision: found a model in %s, wanted %s: a package has one, a folder its model.onnx",
                m->precision, wanted);
}

/* A lone .onnx needs no folder around it: its graph is all that is timed. */
static bool open_model(Args *a, Model **m, Err *err)
{
    const char *path = args_value(a, "model");
    const ModelOpen how = args_open(a);
    if (path && !how.task.n && !how.tokenizer && str_ends(str_of(path), ".onnx")) {
        const char *precision = args_value(a, "precision");
        return model_open_bare_in(precision ? str_of(precision) : (Str){ 0 }, path, m, err);
    }
    return args_model(a, m, err);
}

static bool bench_rows(Args *a, Bench *b, bool tensors, Err *err)
{
    const char *lengths = args_value(a, "lengths");
    if (tensors && lengths)
        return fail(err, EF_USAGE, "--lengths: found a model whose rows are no texts, wanted --rows N");
    if (!tensors && args_has(a, "rows"))
        return fail(err, EF_USAGE, "--rows: found a model that reads texts, wanted --lengths N,N,...");
    const int rows = args_has(a, "rows") ? (int)args_int(a, "rows") : 1;
    if (tensors) return model_sample_batch(b->model, &a->arena, rows, &b->batch, err);
    if (!lengths) lengths = str_format(&a->arena, "%d", model_usual_length(b->model));
    if (!read_lengths(b, &a->arena, lengths, err)) return false;
    b->batch = model_sample_tokens(b->model, &a->arena, b->start, b->batch.B);
    return true;
}

static bool bench(Args *a, Bench *b, Err *err)
{
    const bool tensors = model_brings_tensors(b->model);
    if (!check_precision(a, b->model, err) || !bench_rows(a, b, tensors, err)) return false;
    b->repeat = (int)args_int(a, "repeat");
    b->threads = (int)args_int(a, "threads");
    b->seconds = ARRAY(&a->arena, double, b->repeat);
    return measure(b, &a->arena, err) && (tensors ? bench_report_tensors : bench_report)(a, b, err);
}

static bool bench_run(Args *a, Err *err)
{
    Model *m;
    if (a->n_text)
        return fail(err, EF_USAGE, "bench: found \"%s\", wanted options only", a->text[0]);
    if (!open_model(a, &m, err)) return false;
    Bench b = { .model = m };
    bool ok = bench(a, &b, err);
    model_close(m);
    return ok;
}

const Command cmd_bench = {
    .name = "bench",
    .summary = "time one batch through the model",
    .options = options,
    .run = bench_run,
    .model_first = true,
    .usage = "[MODEL] [--lengths 32,32,7] [OPTIONS]",
    .example =
        "  encoderfile bench --model my-ner.encoderfile --lengths 128,64,32 --threads 2 --json\n",
};

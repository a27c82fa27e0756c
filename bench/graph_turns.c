/* SPDX-License-Identifier: Apache-2.0
 * graph_turns.c - turns.c for a graph that takes pictures: one of several that a script times in turns.
 *
 *     build/bench/graph_turns MODEL.onnx fp32|bf16|int8 PIXELS.npy     (floats [N, C, H, W])
 *
 * "SECONDS" runs the first picture until the time is over, twice at least, and is answered by the best run in
 * milliseconds of wall and of CPU time; "answers FILE.npy" runs all pictures, and writes their first output. Other
 * inputs than the first are ones. The first line out is the instruction set. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "base/thread.h"
#include "data/npy.h"
#include "engine/engine.h"
#include "kernels/kernels.h"
#include "model/source.h"

enum { MOST_INPUTS = 8, MOST_OUTPUTS = 16, LEAST_RUNS = 2 };

typedef struct Turn {
    Arena arena;
    Engine *engine;
    Runner *runner;
    Npy pixels;
    Feature feature[MOST_INPUTS]; /* of one row */
    int n;
} Turn;

static bool open_graph(Turn *t, const char *path, const char *precision, Err *err)
{
    static OnnxFile file;
    Graph *g;
    Str out[MOST_OUTPUTS];
    if (!onnx_file_open(&t->arena, path, &file, err) || !graph_from_onnx(&t->arena, &file.model, &g, err)) return false;
    if (!precision_find(str_of(precision), &g->precision)) return fail(err, EF_USAGE, "found \"%s\", wanted a precision", precision);
    if (!graph_optimize(g, false, err)) return false;
    const int n = MIN(g->n_output, MOST_OUTPUTS);
    for (int i = 0; i < n; i++) out[i] = g->value[g->output[i]].name;
    t->n = MIN(g->n_input, MOST_INPUTS);
    for (int i = 0; i < t->n; i++) {
        const GraphValue *v = &g->value[g->input[i]];
        Tensor one = { .type = i ? v->t.type : T_F32, .rank = i ? v->t.rank - 1 : 3 };
        for (int d = 0; d < one.rank; d++) one.dim[d] = i && v->t.dim[d + 1] > 0 ? v->t.dim[d + 1] : t->pixels.dim[4 - one.rank + d];
        const int64_t count = tensor_count(&one);
        one.data = i ? arena_alloc(&t->arena, tensor_bytes(&one)) : NULL;
        for (int64_t k = 0; i && k < count; k++) tensor_store(&one, k, 1, &(double){ 1 });
        t->feature[i] = (Feature){ str_dup(&t->arena, v->name), one };
    }
    return engine_new(&t->arena, g, out, n, &t->engine, err);
}

static bool run_row(Turn *t, int64_t row, RowOutput *out, Err *err)
{
    static const int32_t start[2];
    Tensor *x = &t->feature[0].t;
    x->data = (char *)t->pixels.data + (size_t)row * tensor_bytes(x);
    const RowInputs own = { t->feature, t->n };
    return runner_run(t->runner, &(Batch){ .B = 1, .start = start, .own = &own }, out, err);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool print_best(Turn *t, double seconds, Err *err)
{
    RowOutput out[2 * MOST_OUTPUTS];
    double wall = 1e9, cpu = 1e9;
    const double end = now_seconds() + seconds;
    for (int i = 0; i < LEAST_RUNS || now_seconds() < end; i++) {
        const double from = now_seconds(), cpu_from = cpu_seconds();
        if (!run_row(t, 0, out, err)) return false;
        wall = MIN(wall, now_seconds() - from), cpu = MIN(cpu, cpu_seconds() - cpu_from);
    }
    return printf("%.4f %.4f\n", wall * 1e3, cpu * 1e3) > 0;
}

static bool write_answers(Turn *t, const char *path, Err *err)
{
    RowOutput out[2 * MOST_OUTPUTS];
    Buf numbers = { .arena = &t->arena }, file = { .arena = &t->arena };
    const int64_t rows = t->pixels.dim[0];
    for (int64_t r = 0; r < rows; r++) {
        if (!run_row(t, r, out, err)) return false;
        buf_add(&numbers, out->data, sizeof(float) * (size_t)(out->tokens * out->width));
    }
    Npy n = { .kind = 'f', .size = 4, .rank = 2, .dim = { rows, out->tokens * out->width }, .data = numbers.p, .bytes = numbers.n };
    npy_write(&file, &n);
    return file_write(&t->arena, path, (Str){ file.p, file.n }, err) && puts("written") >= 0;
}

int main(int argc, char **argv)
{
    Err err = { 0 };
    Turn t = { 0 };
    Str file;
    char line[4096];
    if (argc < 4) return fprintf(stderr, "usage: graph_turns MODEL.onnx PRECISION PIXELS.npy\n"), 2;
    bool ok = file_read(&t.arena, argv[3], 4ull << 30, &file, &err) && npy_read(file, &t.pixels, &err) &&
              (t.pixels.rank == 4 || fail(&err, EF_USAGE, "found another rank, wanted [N, C, H, W]")) &&
              open_graph(&t, argv[1], argv[2], &err);
    if (ok) t.runner = runner_new(t.engine, NULL);
    if (ok) puts(kernels()->isa);
    fflush(stdout);
    while (ok && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        ok = str_starts(str_of(line), "answers ") ? write_answers(&t, line + 8, &err) : print_best(&t, strtod(line, NULL), &err);
        fflush(stdout);
    }
    if (!ok) fprintf(stderr, "graph_turns: %s\n", err.message);
    if (t.runner) runner_free(t.runner);
    return !ok;
}

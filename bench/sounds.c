/* SPDX-License-Identifier: Apache-2.0
 * sounds.c - our engine on a graph that takes one tensor of floats, timed in turns with others by
 * bench/sounds.py: it stays loaded, and works only when told to.
 *
 *     build/bench/sounds MODEL.onnx [fp32|bf16|int8]
 *
 * A line "RUNS DIM,DIM,..." runs one row of that shape, without the axis that counts rows, and is
 * answered by the least CPU time in milliseconds and the sum of the output. The first line out is
 * the instruction set. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "engine/engine.h"
#include "kernels/kernels.h"

typedef struct Timed {
    Arena arena;
    Mapping file;
    OnnxModel model;
    Graph *graph;
    Engine *engine;
    Runner *runner;
} Timed;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool open_timed(Timed *t, const char *path, const char *precision, Err *err)
{
    Precision wanted;
    if (!file_map(path, &t->file, err) ||
        !onnx_read(&t->arena, (Str){ (const char *)t->file.p, t->file.n }, &t->model, err) ||
        !graph_from_onnx(&t->arena, &t->model, &t->graph, err))
        return false;
    if (!precision_find(str_of(precision), &wanted))
        return fail(err, EF_USAGE, "precision: found \"%s\", wanted fp32, bf16 or int8", precision);
    t->graph->precision = wanted;
    Str out = t->model.graph.out[0].name;
    if (!graph_optimize(t->graph, false, err) ||
        !engine_new(&t->arena, t->graph, &out, 1, &t->engine, err))
        return false;
    t->runner = runner_new(t->engine, NULL);
    return true;
}

static bool answer_line(Timed *t, char *line, Err *err)
{
    static const int32_t start[2];
    Arena arena = { 0 };
    char *at;
    long runs = strtol(line, &at, 10);
    Feature f = { str_dup(&arena, t->model.graph.in[0].name), { .type = T_F32 } };
    while ((*at == ' ' || *at == ',') && f.t.rank < 4) f.t.dim[f.t.rank++] = strtol(at + 1, &at, 10);
    int64_t n = tensor_count(&f.t);
    float *x = f.t.data = ARRAY(&arena, float, n);
    for (int64_t i = 0; i < n; i++) x[i] = (float)((uint64_t)i * 7919u % 1000u) / 500.0f - 1.0f;
    RowInputs own = { &f, 1 };
    RowOutput out;
    double best = 1e9, sum = 0;
    bool ok = true;
    for (long i = 0; ok && i < runs; i++) {
        double from = cpu_seconds();
        ok = runner_run(t->runner, &(Batch){ .B = 1, .start = start, .own = &own }, &out, err);
        best = MIN(best, cpu_seconds() - from);
    }
    for (int64_t i = 0; ok && i < out.tokens * out.width; i++) sum += out.data[i];
    if (ok) printf("%.6f %.9g\n", best * 1e3, sum);
    fflush(stdout);
    arena_free(&arena);
    return ok;
}

int main(int argc, char **argv)
{
    Err err = { 0 };
    Timed t = { 0 };
    char line[256];
    if (argc < 2) return fprintf(stderr, "usage: sounds MODEL.onnx [PRECISION]\n"), 2;
    bool ok = open_timed(&t, argv[1], argc > 2 ? argv[2] : "fp32", &err);
    if (ok) printf("%s\n", kernels()->isa), fflush(stdout);
    while (ok && fgets(line, sizeof line, stdin)) ok = answer_line(&t, line, &err);
    if (!ok) fprintf(stderr, "sounds: %s\n", err.message);
    if (t.runner) runner_free(t.runner);
    file_unmap(&t.file);
    arena_free(&t.arena);
    return !ok;
}

/* SPDX-License-Identifier: Apache-2.0
 * turns.c - our engine as one of several that a script times in turns: it stays loaded, as the others
 * do, and works only when told to.
 *
 *     build/bench/turns MODEL THREADS [fp32|bf16|int8]     (the precision: of an .onnx only)
 *
 * A line "SECONDS LENGTH,LENGTH,..." runs rows of these lengths until the time is over, twice at
 * least, and is answered by the best run in milliseconds. The first line out is the instruction set. */
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"
#include "kernels/kernels.h"
#include "model/model.h"

enum { MOST_ROWS = 4096, LEAST_RUNS = 2, IDS = 1000 };

typedef struct Turn {
    Runner *runner;
    Batch batch;
    double seconds;
} Turn;

static bool read_turn(char *line, Turn *t, int32_t *start, Arena *arena)
{
    char *at;
    t->seconds = strtod(line, &at);
    t->batch.B = 0;
    for (start[0] = 0; *at == ' ' || *at == ','; t->batch.B++) {
        long n = strtol(at + 1, &at, 10);
        if (n < 1 || n > 1 << 16 || t->batch.B == MOST_ROWS) return false;
        start[t->batch.B + 1] = start[t->batch.B] + (int32_t)n;
    }
    int32_t tokens = start[t->batch.B], *ids = ARRAY(arena, int32_t, tokens + 1);
    for (int32_t i = 0; i < tokens; i++) ids[i] = (int32_t)((uint32_t)i * 7919u % IDS);
    t->batch.start = start;
    t->batch.ids = ids;
    return t->batch.B > 0;
}

/* Negative: it failed. */
static double best_ms(const Turn *t, RowOutput *out, Err *err)
{
    double best = 1e9, from = now_seconds(), end = from + t->seconds;
    for (int i = 0; i < LEAST_RUNS || from < end; i++) {
        if (!runner_run(t->runner, &t->batch, out, err)) return -1;
        double to = now_seconds();
        best = MIN(best, to - from);
        from = to;
    }
    return best * 1e3;
}

static bool answer(Turn *t, char *line, Err *err)
{
    static int32_t start[MOST_ROWS + 1];
    static RowOutput out[MOST_ROWS];
    Arena arena = { 0 };
    bool ok = read_turn(line, t, start, &arena) ||
              fail(err, EF_USAGE, "found \"%.40s\", wanted SECONDS LENGTH,LENGTH,...", line);
    double ms = ok ? best_ms(t, out, err) : -1;
    arena_free(&arena);
    if (ms < 0) return false;
    printf("%.6f\n", ms);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    Err err = { 0 };
    Model *model;
    char line[1 << 16];
    if (argc < 3) return fprintf(stderr, "usage: turns MODEL THREADS [PRECISION]\n"), 2;
    bool bare = str_ends(str_of(argv[1]), ".onnx");
    Str precision = argc > 3 ? str_of(argv[3]) : (Str){ 0 };
    bool ok = bare ? model_open_bare_in(precision, argv[1], &model, &err)
                   : model_open(argv[1], &model, &err);
    if (!ok) return fprintf(stderr, "turns: %s\n", err.message), 1;
    Pool *pool = pool_new(atoi(argv[2]));
    Turn turn = { .runner = runner_new(model->engine, pool) };
    printf("%s\n", kernels()->isa);
    fflush(stdout);
    while (ok && fgets(line, sizeof line, stdin)) ok = answer(&turn, line, &err);
    if (!ok) fprintf(stderr, "turns: %s\n", err.message);
    runner_free(turn.runner);
    pool_free(pool);
    model_close(model);
    return !ok;
}

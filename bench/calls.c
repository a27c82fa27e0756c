/* SPDX-License-Identifier: Apache-2.0
 * calls.c - texts in, JSON out, inside one process: the public C API in a loop that a script drives.
 *
 *     build/bench/calls MODEL THREADS [PARAMS_JSON]
 *
 * A line "SECONDS<tab>TEXT<tab>TEXT..." predicts these texts in one call until the time is over,
 * twice at least, and is answered by the best call in milliseconds, a tab, and the JSON. */
#include <encoderfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 4096, LEAST_RUNS = 2 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool answer(ef_model *model, char *line, const char *params, ef_error *err)
{
    static ef_input in[MOST];
    size_t n = 0;
    double best = 1e9, end = now() + atof(line);
    line[strcspn(line, "\n")] = 0;
    for (strtok(line, "\t"); n < MOST; n++) {
        const char *text = strtok(NULL, "\t");
        if (!text) break;
        in[n] = ef_text(text);
    }
    ef_reply *reply = NULL;
    for (int i = 0; i < LEAST_RUNS || now() < end; i++) {
        ef_reply_free(reply);
        double from = now();
        reply = ef_predict(model, in, n, params, err);
        if (!reply) return false;
        ef_reply_json(reply);
        double took = now() - from;
        if (took < best) best = took;
    }
    printf("%.6f\t%s\n", best * 1e3, ef_reply_json(reply));
    fflush(stdout);
    ef_reply_free(reply);
    return true;
}

int main(int argc, char **argv)
{
    static char line[1 << 20];
    ef_error err;
    if (argc < 3) return fprintf(stderr, "usage: calls MODEL THREADS [PARAMS_JSON]\n"), 2;
    ef_options options = { .struct_size = sizeof options, .threads = atoi(argv[2]) };
    ef_model *model = ef_open(argv[1], &options, &err);
    bool ok = model;
    while (ok && fgets(line, sizeof line, stdin))
        ok = answer(model, line, argc > 3 ? argv[3] : NULL, &err);
    if (!ok) fprintf(stderr, "calls: %s\n", err.message);
    ef_close(model);
    return !ok;
}

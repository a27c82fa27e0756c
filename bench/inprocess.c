/* SPDX-License-Identifier: Apache-2.0
 * inprocess.c - what a request costs without a server: ef_predict and the reply's JSON, in a loop.
 *
 *   inprocess MODEL SECONDS TEXT
 *
 * Prints one line of JSON: how many, median and 99th percentile in microseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "encoderfile.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

int main(int argc, char **argv)
{
    enum { MOST = 1 << 20 };
    static double seconds[MOST];
    ef_error err;
    size_t n = 0;
    if (argc != 4) return fprintf(stderr, "usage: inprocess MODEL SECONDS TEXT\n"), 2;
    ef_model *m = ef_open(argv[1], NULL, &err);
    if (!m) return fprintf(stderr, "%s\n", err.message), 1;
    ef_input in = ef_text(argv[3]);
    for (double end = now() + atof(argv[2]); now() < end && n < MOST;) {
        double begin = now();
        ef_reply *r = ef_predict(m, &in, 1, NULL, &err);
        if (!r || !ef_reply_json(r)) return fprintf(stderr, "%s\n", err.message), 1;
        seconds[n++] = now() - begin;
        ef_reply_free(r);
    }
    ef_close(m);
    qsort(seconds, n, sizeof *seconds, by_size);
    printf("{\"n\": %zu, \"median_us\": %.1f, \"p99_us\": %.1f}\n", n, seconds[n / 2] * 1e6,
           seconds[n * 99 / 100] * 1e6);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * inprocess.c - what a request costs without a server: ef_predict and the reply's JSON.
 *
 *   inprocess MODEL TEXT
 *
 * Each line of standard input is a number: so many calls are made, and their median in
 * microseconds is printed. So it can be measured in turns with something else. */
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

/* Microseconds; < 0: err. */
static double call(ef_model *m, const ef_input *in, ef_error *err)
{
    double begin = now();
    ef_reply *r = ef_predict(m, in, 1, NULL, err);
    bool ok = r && ef_reply_json(r);
    double took = now() - begin;
    ef_reply_free(r);
    return ok ? took * 1e6 : -1;
}

int main(int argc, char **argv)
{
    enum { MOST = 1 << 16 };
    static double us[MOST];
    char line[32];
    ef_error err;
    if (argc != 3) return fprintf(stderr, "usage: inprocess MODEL TEXT\n"), 2;
    ef_model *m = ef_open(argv[1], NULL, &err);
    if (!m) return fprintf(stderr, "%s\n", err.message), 1;
    ef_input in = ef_text(argv[2]);
    while (fgets(line, sizeof line, stdin)) {
        int n = atoi(line);
        if (n < 1 || n > MOST) return fprintf(stderr, "found %d calls, wanted 1 to %d\n", n, MOST), 2;
        for (int i = 0; i < n; i++)
            if ((us[i] = call(m, &in, &err)) < 0) return fprintf(stderr, "%s\n", err.message), 1;
        qsort(us, (size_t)n, sizeof *us, by_size);
        printf("%.2f\n", us[n / 2]);
        fflush(stdout);
    }
    ef_close(m);
    return 0;
}

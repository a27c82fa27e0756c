/* SPDX-License-Identifier: Apache-2.0
 * pictures.c - decodes or resizes as told, a line at a time, and answers with the CPU seconds of
 * one time; bench/pictures.py is on the other end, and times Pillow in turns.
 *   decode FILE TIMES
 *   resize FILE TIMES WIDTH HEIGHT FILTER */
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "image/image.h"

enum { FILE_MOST = 1 << 28 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool bench_decode(Arena *arena, Str bytes, int times, Err *err)
{
    for (int i = 0; i < times; i++) {
        Picture p;
        if (!picture_read(arena, bytes, NULL, &p, err)) return false;
        arena_reset(arena, 1 << 26);
    }
    return true;
}

static void bench_resize(Arena *arena, const Picture *p, int times, const Resizing *r)
{
    uint8_t *out = arena_raw(arena, (size_t)r->width * (size_t)r->height * 3);
    Arena scratch = { 0 };
    for (int i = 0; i < times; i++) {
        picture_resize(&scratch, p, r, out);
        arena_reset(&scratch, 1 << 26);
    }
    arena_free(&scratch);
}

static bool bench_line(char *line, Err *err)
{
    char what[8], path[1024];
    int times = 1, filter = 0;
    Resizing r = { 0 };
    if (sscanf(line, "%7s %1023s %d %d %d %d", what, path, &times, &r.width, &r.height, &filter) <
        3)
        exit(2);
    r.resample = (Resample)filter;
    r.window = (ResizeWindow){ 0, 0, r.width, r.height };
    Arena keep = { 0 }, arena = { 0 };
    Str bytes;
    Picture p;
    bool ok =
        file_read(&keep, path, FILE_MOST, &bytes, err) && picture_read(&keep, bytes, NULL, &p, err);
    double start = cpu_seconds();
    if (ok && what[0] == 'd') ok = bench_decode(&arena, bytes, times, err);
    else if (ok) bench_resize(&arena, &p, times, &r);
    if (ok) printf("%.9f\n", (cpu_seconds() - start) / times);
    arena_free(&arena);
    arena_free(&keep);
    return ok;
}

int main(void)
{
    char line[2048];
    Err err = { 0 };
    while (fgets(line, sizeof line, stdin)) {
        if (!bench_line(line, &err)) return fprintf(stderr, "%s\n", err.message), 1;
        fflush(stdout);
    }
    return 0;
}

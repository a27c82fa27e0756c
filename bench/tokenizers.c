/* SPDX-License-Identifier: Apache-2.0
 * tokenizers.c - the C half of bench/tokenizers.py: tokenizes lines of a file on one thread and
 * says how long it took, in CPU time. A line of stdin asks, a line of stdout answers:
 *
 *     bench/tokenizers TOKENIZER TEXT [tokens]    "tokens": names of the tokens too
 *     1000 2000      lines 1000 to 2000, each once        -> seconds, tokens, sum of ids and offsets
 *     each           every line, one clock reading each   -> median and 99 % in microseconds
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "text/text.h"

enum { KEEP = 1 << 20 }; /* bytes of working memory kept from line to line */

typedef struct Bench {
    Tokenizer *tokenizer;
    Str *lines;
    size_t n;
    EncodeOptions options;
    Arena work;
    uint64_t tokens, sum; /* of all that was encoded; the sum is the same for equal answers */
} Bench;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void split(Arena *arena, Str file, Bench *b)
{
    size_t count = 1;
    for (size_t i = 0; i < file.n; i++) count += file.p[i] == '\n';
    b->lines = arena_raw(arena, count * sizeof *b->lines);
    for (const char *p = file.p, *end = file.p + file.n; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        if (!eol) eol = end;
        b->lines[b->n++] = (Str){ p, (size_t)(eol - p) };
        p = eol + 1;
    }
}

static bool encode(Bench *b, Str line, Err *err)
{
    Encoding e;
    arena_reset(&b->work, KEEP);
    if (!tokenizer_encode(b->tokenizer, &b->work, line, NULL, &b->options, &e, err)) return false;
    encoding_to_chars(&e, line, NULL);
    b->tokens += e.n;
    for (size_t i = 0; i < e.n; i++)
        b->sum += (uint64_t)e.ids[i] * 31 + (uint64_t)e.start[i] * 7 + (uint64_t)e.end[i];
    return true;
}

static bool range(Bench *b, size_t from, size_t to, Err *err)
{
    b->tokens = b->sum = 0;
    double begin = now(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = from; i < to && i < b->n; i++)
        if (!encode(b, b->lines[i], err)) return false;
    printf("%.9f %llu %llu\n", now(CLOCK_PROCESS_CPUTIME_ID) - begin, (unsigned long long)b->tokens,
           (unsigned long long)b->sum);
    return true;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool each(Bench *b, Arena *arena, Err *err)
{
    double *took = arena_raw(arena, (b->n + 1) * sizeof *took);
    for (size_t i = 0; i < b->n; i++) {
        double begin = now(CLOCK_MONOTONIC);
        if (!encode(b, b->lines[i], err)) return false;
        took[i] = now(CLOCK_MONOTONIC) - begin;
    }
    qsort(took, b->n, sizeof *took, by_size);
    printf("%.3f %.3f\n", took[b->n / 2] * 1e6, took[b->n * 99 / 100] * 1e6);
    return true;
}

int main(int argc, char **argv)
{
    Arena arena = { 0 };
    Bench b = { .options = { .tokens = argc > 3 } };
    Err err = { 0 };
    Str file;
    size_t from, to;
    if (argc < 3) return fputs("usage: tokenizers TOKENIZER TEXT [tokens]\n", stderr), 2;
    bool ok = tokenizer_open(&arena, argv[1], &b.tokenizer, &err) &&
              file_read(&arena, argv[2], (size_t)1 << 32, &file, &err);
    if (ok) split(&arena, file, &b);
    for (char line[80]; ok && fgets(line, sizeof line, stdin); fflush(stdout))
        if (sscanf(line, "%zu %zu", &from, &to) == 2) ok = range(&b, from, to, &err);
        else ok = each(&b, &arena, &err);
    if (!ok) fprintf(stderr, "tokenizers: %s\n", err.message);
    arena_free(&b.work);
    arena_free(&arena);
    return !ok;
}

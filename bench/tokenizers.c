/* SPDX-License-Identifier: Apache-2.0
 * tokenizers.c - the C half of bench/tokenizer_speed.py: tokenizes lines of a file on one thread and
 * says how long it took, in CPU time. A line of stdin asks, a line of stdout answers:
 *
 *     bench/tokenizers TOKENIZER TEXT    TOKENIZER may be a compiled one, which is mapped
 *     1000 2000      lines 1000 to 2000, each once      -> seconds, tokens, sum of ids and offsets
 *     each           every line, one clock reading each -> median and 99 % in microseconds
 *     memory         what this process holds now        -> bytes of its own, bytes of mapped files
 *     compile FILE   writes the compiled form           -> its bytes */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "data/json.h"
#include "text/text.h"

enum { KEEP = 1 << 20 }; /* bytes of working memory kept from line to line */

typedef struct Bench {
    Tokenizer *tokenizer;
    Str *lines;
    size_t n;
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
    if (!tokenizer_encode(b->tokenizer, &b->work, line, NULL, NULL, &e, err)) return false;
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

/* ---- memory ---- */
static bool memory(Err *err)
{
    char line[256];
    size_t own = 0, resident = 0;
    malloc_trim(0); /* what is free does not count */
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    if (!f) return fail(err, EF_IO, "/proc/self/smaps_rollup cannot be opened");
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "Rss: %zu", &resident) != 1) sscanf(line, "Anonymous: %zu", &own);
    fclose(f);
    printf("%zu %zu\n", own * 1024, (resident - own) * 1024);
    return true;
}

static bool compile(const char *from, const char *to, Err *err)
{
    Arena arena = { 0 };
    Value root;
    Buf block = { 0 };
    TokenizerFiles files = { .vocab = from };
    FILE *f = NULL;
    bool ok = tokenizer_tree(&arena, &files, &root, err) && tokenizer_compile(&root, &block, err);
    if (ok) {
        f = fopen(to, "wb");
        ok = f && fwrite(block.p, 1, block.n, f) == block.n && fclose(f) == 0;
        if (!ok) fail(err, EF_IO, "%s cannot be written", to);
    }
    if (ok) printf("%zu\n", block.n);
    buf_free(&block);
    arena_free(&arena);
    return ok;
}

/* ---- questions ---- */
static bool open_any(Arena *arena, const char *path, Tokenizer **out, Err *err)
{
    Mapping map;
    if (!file_map(path, &map, err)) return false;
    if (map.n >= 4 && !memcmp(map.p, "EFTK", 4))
        return tokenizer_map(arena, (Str){ (const char *)map.p, map.n }, out, err);
    file_unmap(&map);
    return tokenizer_open(arena, path, out, err);
}

static bool answer(Bench *b, Arena *arena, const char *path, const char *line, Err *err)
{
    size_t from, to;
    char file[200];
    if (sscanf(line, "%zu %zu", &from, &to) == 2) return range(b, from, to, err);
    if (sscanf(line, "compile %199s", file) == 1) return compile(path, file, err);
    if (!strncmp(line, "memory", 6)) return memory(err);
    return each(b, arena, err);
}

int main(int argc, char **argv)
{
    Arena arena = { 0 };
    Bench b = { 0 };
    Err err = { 0 };
    Str file;
    if (argc < 3) return fputs("usage: tokenizers TOKENIZER TEXT\n", stderr), 2;
    bool ok = open_any(&arena, argv[1], &b.tokenizer, &err) &&
              file_read(&arena, argv[2], (size_t)1 << 32, &file, &err);
    if (ok) split(&arena, file, &b);
    for (char line[256]; ok && fgets(line, sizeof line, stdin); fflush(stdout))
        ok = answer(&b, &arena, argv[1], line, &err);
    if (!ok) fprintf(stderr, "tokenizers: %s\n", err.message);
    arena_free(&b.work);
    arena_free(&arena);
    return !ok;
}

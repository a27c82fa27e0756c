/* SPDX-License-Identifier: Apache-2.0
 * tokenizing_stream.c - stdin to stdout, see tokenizing.h. */
#include <errno.h>
#include <unistd.h>

#include "base/thread.h"
#include "cli/tokenizing.h"

enum {
    READ = 1 << 18,        /* bytes of a piece */
    SHARE = 1 << 12,       /* bytes of lines that a worker takes at a time */
    LINE_LIMIT = 1 << 28,
    MOST_SHARES = 256,
    KEPT = 1 << 20,        /* memory of a share that waits for the next piece */
};

typedef struct Share { /* some lines, and what came of them */
    const struct TextStream *stream;
    Str lines;
    size_t number; /* of its first line */
    Arena arena;
    Buf out;
    Err err;       /* code EF_OK: every line went well */
} Share;
typedef struct TextStream {
    const Tokenizing *how;
    Pool *pool;
    Buf in;
    size_t number; /* of the next line */
    Share share[MOST_SHARES];
    int n;
} TextStream;

/* Cuts the first line off; false: there is none. */
static bool take_line(Str *lines, Str *line)
{
    if (lines->n == 0) return false;
    const char *end = memchr(lines->p, '\n', lines->n);
    size_t n = end ? (size_t)(end - lines->p) : lines->n, used = end ? n + 1 : n;
    *line = (Str){ lines->p, n - (n && lines->p[n - 1] == '\r') };
    *lines = (Str){ lines->p + used, lines->n - used };
    return true;
}

static void tokenizing_stream_work(void *stream, int index, int worker)
{
    (void)worker;
    Share *s = &((TextStream *)stream)->share[index];
    const Tokenizing *how = s->stream->how;
    Str rest = s->lines, line;
    s->out.n = 0;
    s->err.code = EF_OK;
    for (size_t number = s->number; s->err.code == EF_OK && take_line(&rest, &line); number++) {
        size_t good = s->out.n;
        bool skipped = line.n == 0 && how->json;
        if (!skipped && !tokenize_line(how, &s->arena, line, &s->out, &s->err)) {
            within_line(&s->err, number);
            s->out.n = good;
        }
        arena_reset(&s->arena, KEPT);
    }
}

static size_t count_lines(Str lines)
{
    size_t n = 0;
    for (Str line; take_line(&lines, &line);) n++;
    return n;
}

/* Whole lines, about so many bytes; at the end of a piece whatever is left. */
static Str next_lines(Str *all, size_t bytes)
{
    const char *end = all->n > bytes ? memchr(all->p + bytes, '\n', all->n - bytes) : NULL;
    size_t n = end ? (size_t)(end - all->p) + 1 : all->n;
    Str out = { all->p, n };
    *all = (Str){ all->p + n, all->n - n };
    return out;
}

static bool write_out(TextStream *s, Err *err)
{
    for (int i = 0; i < s->n; i++) {
        Share *share = &s->share[i];
        if (!out_write(buf_view(&share->out), err)) return false;
        if (share->out.cap > KEPT) buf_free(&share->out);
        if (share->err.code != EF_OK) return *err = share->err, false;
    }
    return true;
}

static bool encode_lines(TextStream *s, Str lines, Err *err)
{
    size_t bytes = MAX(lines.n / MOST_SHARES + 1, SHARE);
    for (s->n = 0; lines.n; s->n++) {
        Share *share = &s->share[s->n];
        share->stream = s;
        share->number = s->number;
        share->lines = next_lines(&lines, bytes);
        s->number += count_lines(share->lines);
    }
    pool_for(s->pool, s->n, tokenizing_stream_work, s);
    return write_out(s, err);
}

/* Bytes up to and with the last newline; all of them at the end of the input. */
static size_t whole_lines(const Buf *in, bool last)
{
    const char *end = last || in->n == 0 ? NULL : memrchr(in->p, '\n', in->n);
    return last ? in->n : end ? (size_t)(end - in->p) + 1 : 0;
}

static bool pump(TextStream *s, Err *err)
{
    for (;;) {
        buf_reserve(&s->in, READ);
        ssize_t n = read(0, s->in.p + s->in.n, READ);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(err, EF_IO, "stdin: %s", strerror(errno));
        s->in.n += (size_t)n;
        size_t whole = whole_lines(&s->in, n == 0);
        if (!encode_lines(s, (Str){ s->in.p, whole }, err)) return false;
        buf_drop(&s->in, whole);
        if (s->in.n > LINE_LIMIT)
            return fail(err, EF_TOO_LARGE, "line %zu: over %d bytes", s->number, LINE_LIMIT);
        if (n == 0) return true;
    }
}

bool tokenize_stream(const Tokenizing *how, int threads, Err *err)
{
    Arena arena = { 0 };
    TextStream *s = NEW(&arena, TextStream);
    s->how = how;
    s->number = 1;
    s->pool = pool_new(threads);
    bool ok = pump(s, err);
    pool_free(s->pool);
    for (int i = 0; i < MOST_SHARES; i++) {
        arena_free(&s->share[i].arena);
        buf_free(&s->share[i].out);
    }
    buf_free(&s->in);
    arena_free(&arena);
    return ok;
}

/* SPDX-License-Identifier: Apache-2.0
 * stream.c - POST /predict with application/x-ndjson: every line of the body is a request of its
 * own (the JSON of /predict, or just a text or a pair), every line of the answer its reply or its
 * error. Lines are run as they come and answered in their order, as soon as they are ready; a body
 * may be endless. What is in flight is bounded: a client that does not read is not read either. */
#include "base/heap.h"
#include "loop.h"

enum { WINDOW = 64, CONSUME_FROM = 32 << 10, OUT_LIMIT = 1 << 20 };

typedef struct Stream {
    Job *line[WINDOW];           /* ring: submitted and not answered yet */
    bool back[WINDOW];           /* its reply is there */
    int first, n;
    size_t used;                 /* bytes of the body before the next line */
    size_t looked;               /* no line end before this one */
    bool broken;                 /* nothing more is read of the body */
} Stream;

static void start(Exchange *x)
{
    Stream *s = x->own = heap_resize(NULL, sizeof *s);
    Err err = { 0 };
    fail(&err, EF_OVERLOADED, "no memory for another stream: try again");
    if (!s) return exchange_fail(x, &err);
    *s = (Stream){ 0 };
    exchange_begin(x, (Reply){ .status = 200, .type = "application/x-ndjson", .pieces = true });
}

static void stream_end(Exchange *x)
{
    Stream *s = x->own;
    if (!s) return;
    for (int i = 0; i < s->n; i++) {
        int at = (s->first + i) % WINDOW;
        if (s->back[at]) job_free(s->line[at]);
        else work_abandon(&s->line[at]->work);
    }
    heap_resize(s, 0);
    x->own = NULL;
}

/* ---- out ---- */
static void write_job(Exchange *x, Job *job)
{
    const Err *err = &job->work.err;
    Arena arena = { .local = true };
    Buf text = { .arena = &arena }; /* not the job's: its budget may be what is used up */
    Buf *line = err->code == EF_OK ? &job->out.text : &text;
    if (err->code != EF_OK) error_write(&text, err, err_kind(err->code)->http, NULL);
    buf_char(line, '\n'); /* a reply has room for it: closing its frame took more (dialect/reply.c) */
    exchange_send(x, buf_view(line));
    arena_free(&arena);
    job_free(job);
}

/* Those in front whose replies are there. */
static void write_ready(Exchange *x)
{
    Stream *s = x->own;
    while (s->n && s->back[s->first]) {
        write_job(x, s->line[s->first]);
        s->first = (s->first + 1) % WINDOW;
        s->n--;
    }
}

static void stream_returned(Exchange *x, Job *job)
{
    Stream *s = x->own;
    for (int i = 0; i < s->n; i++) {
        int at = (s->first + i) % WINDOW;
        if (s->line[at] == job) s->back[at] = true;
    }
    write_ready(x);
}

/* ---- in ---- */
/* A new one, which the session does not have: freed by end(), or by write_job. */
static Job *stream_append(Stream *s)
{
    int at = (s->first + s->n) % WINDOW;
    s->line[at] = job_new();
    s->back[at] = true;
    s->n++;
    return s->line[at];
}

static void lend_last(Stream *s)
{
    s->back[(s->first + s->n - 1) % WINDOW] = false;
}

/* A bare text or pair is what `inputs` may be. */
static void stream_fill_job(Job *job, Str line)
{
    bool bare = line.p[0] == '"' || line.p[0] == '[';
    const char *form = line.p[0] == '[' ? "{\"inputs\":[%.*s]}" : "{\"inputs\":%.*s}";
    job->in.body = str_of(bare ? str_format(&job->work.arena, form, STR_ARG(line))
                            : str_dup(&job->work.arena, line));
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static Str trimmed(Str line)
{
    while (line.n && is_space(line.p[line.n - 1])) line.n--;
    while (line.n && is_space(line.p[0])) line.p++, line.n--;
    return line;
}

/* false: there is no room for it now; it will be tried again. */
static bool submit_line(Exchange *x, Str line)
{
    Stream *s = x->own;
    Err err = { 0 };
    line = trimmed(line);
    if (line.n == 0) return true;
    Job *job = stream_append(s);
    stream_fill_job(job, line);
    job->in.kind = x->route->line;
    if (exchange_submit(x, job, &err)) return lend_last(s), true;
    job->work.err = err;
    if (err.code != EF_OVERLOADED) return true;
    s->n--;
    return job_free(job), false;
}

/* The next whole line behind `used`; the last one of a body needs no end. */
static bool next_line(Exchange *x, Str *line)
{
    Stream *s = x->own;
    Str there = exchange_body(x);
    const char *lf = NULL;
    if (s->broken) return false;
    if (there.n > s->looked) lf = memchr(there.p + s->looked, '\n', there.n - s->looked);
    s->looked = lf ? (size_t)(lf - there.p) : there.n;
    if (!lf && !(x->complete && s->used < there.n)) return false;
    *line = (Str){ there.p + s->used, s->looked - s->used };
    return true;
}

static bool has_room(const Exchange *x)
{
    const Stream *s = x->own;
    return s->n < WINDOW - 1 && exchange_unsent(x) < OUT_LIMIT;
}

static void submit_lines(Exchange *x)
{
    Stream *s = x->own;
    for (Str line; has_room(x) && next_line(x, &line);) {
        if (!submit_line(x, line)) break;
        s->looked = s->used = MIN(s->looked + 1, exchange_body(x).n);
    }
    write_ready(x);
    if (s->used < CONSUME_FROM) return;
    exchange_consume(x, s->used);
    s->looked -= s->used;
    s->used = 0;
}

/* After the head of the reply an error is its last line; its place was kept. */
static void break_off(Exchange *x, const Err *err)
{
    Stream *s = x->own;
    if (s->broken) return;
    stream_append(s)->work.err = *err;
    s->broken = true;
    write_ready(x);
}

/* All that is there has been looked at, and is the beginning of one line. */
static void check_line(Exchange *x)
{
    const Stream *s = x->own;
    size_t there = exchange_body(x).n, limit = x->loop->options.max_body;
    Err err = { 0 };
    if (s->broken || x->complete || s->looked < there || there - s->used <= limit) return;
    fail(&err, EF_TOO_LARGE, "line: found more than the limit of %zu bytes", limit);
    break_off(x, &err);
}

static bool answered(const Exchange *x)
{
    const Stream *s = x->own;
    return s->n == 0 && (s->broken || (x->complete && s->used == exchange_body(x).n));
}

static void advance(Exchange *x)
{
    const Stream *s = x->own;
    submit_lines(x);
    check_line(x);
    x->hungry = !s->broken && has_room(x) && s->looked == exchange_body(x).n;
    if (answered(x)) exchange_end(x, NULL, 0);
}

const Handler line_handler = { .early = true, .serve = start, .advance = advance,
                               .returned = stream_returned, .broken = break_off, .end = stream_end };

/* SPDX-License-Identifier: Apache-2.0
 * stream.c - POST /predict with application/x-ndjson: every line of the body is a request of its
 * own (the JSON of /predict, or just a text or a pair), every line of the answer its reply or its
 * error. Lines are run as they come and answered in their order, as soon as they are ready; a body
 * may be endless. What is in flight is bounded: a client that does not read is not read either. */
#include "base/heap.h"
#include "loop.h"

enum { WINDOW = 64, CONSUME_FROM = 32 << 10, OUT_LIMIT = 1 << 20 };

struct Stream {
    Job *line[WINDOW];           /* ring: submitted and not answered yet */
    bool back[WINDOW];           /* its reply is there */
    int first, n;
    size_t used;                 /* bytes of the body before the next line */
    size_t looked;               /* no line end before this one */
    bool complete, broken;       /* the body has ended; nothing more is read of it */
};

bool stream_wanted(const Route *route, Str content_type)
{
    return route && route->stream && media_is(content_type, "application/x-ndjson");
}

void stream_start(Conn *c)
{
    c->stream = heap_resize(NULL, sizeof *c->stream);
    if (!c->stream) return conn_close(c);
    *c->stream = (Stream){ 0 };
    c->state = CONN_STREAMING;
    c->http.limits.body = SIZE_MAX;
    conn_begin_reply(c, (Http1Reply){ .status = 200, .type = "application/x-ndjson",
                                      .chunked = true });
    conn_deadline(c, c->loop->options.idle_timeout_s);
}

void stream_free(Conn *c)
{
    Stream *s = c->stream;
    if (!s) return;
    for (int i = 0; i < s->n; i++) {
        int at = (s->first + i) % WINDOW;
        if (s->back[at]) job_free(s->line[at]);
        else job_abandon(s->line[at]);
    }
    heap_resize(s, 0);
    c->stream = NULL;
}

/* ---- out ---- */
static void write_line(Conn *c, Str text)
{
    buf_printf(&c->out, "%zx\r\n", text.n + 1);
    buf_str(&c->out, text);
    buf_puts(&c->out, "\n\r\n");
}

static void write_job(Conn *c, Job *job)
{
    if (job->err.code == EF_OK) {
        write_line(c, buf_view(&job->json));
    } else {
        Buf body = { 0 };
        error_write(&body, &job->err, err_kind(job->err.code)->http);
        write_line(c, buf_view(&body));
        buf_free(&body);
    }
    job_free(job);
}

/* Those in front whose replies are there. */
static void write_ready(Conn *c)
{
    Stream *s = c->stream;
    while (s->n && s->back[s->first]) {
        write_job(c, s->line[s->first]);
        s->first = (s->first + 1) % WINDOW;
        s->n--;
    }
}

void stream_returned(Conn *c, Job *job)
{
    Stream *s = c->stream;
    for (int i = 0; i < s->n; i++) {
        int at = (s->first + i) % WINDOW;
        if (s->line[at] == job) s->back[at] = true;
    }
    write_ready(c);
}

/* ---- in ---- */
static void append(Stream *s, Job *job, bool back)
{
    int at = (s->first + s->n++) % WINDOW;
    s->line[at] = job;
    s->back[at] = back;
}

/* A bare text or pair is what `inputs` may be. */
static Job *job_of(Str line)
{
    Job *job = job_new();
    bool bare = line.p[0] == '"' || line.p[0] == '[';
    const char *form = line.p[0] == '[' ? "{\"inputs\":[%.*s]}" : "{\"inputs\":%.*s}";
    job->body = str_of(bare ? str_format(&job->arena, form, STR_ARG(line))
                            : str_dup(&job->arena, line));
    return job;
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
static bool submit_line(Conn *c, Str line)
{
    Err err = { 0 };
    line = trimmed(line);
    if (line.n == 0) return true;
    Job *job = job_of(line);
    if (conn_submit(c, job, &err)) return append(c->stream, job, false), true;
    if (err.code == EF_OVERLOADED) return job_free(job), false;
    job->err = err;
    append(c->stream, job, true);
    return true;
}

/* The next whole line behind `used`; the last one of a body needs no end. */
static bool next_line(Conn *c, Str *line)
{
    Stream *s = c->stream;
    Str there = http1_arrived(&c->http, &c->in);
    const char *end = NULL;
    if (s->broken) return false;
    if (there.n > s->looked) end = memchr(there.p + s->looked, '\n', there.n - s->looked);
    s->looked = end ? (size_t)(end - there.p) : there.n;
    if (!end && !(s->complete && s->used < there.n)) return false;
    *line = (Str){ there.p + s->used, s->looked - s->used };
    return true;
}

static void submit_lines(Conn *c)
{
    Stream *s = c->stream;
    for (Str line; s->n < WINDOW - 1 && c->out.n - c->written < OUT_LIMIT && next_line(c, &line);) {
        if (!submit_line(c, line)) break;
        s->looked = s->used = MIN(s->looked + 1, http1_arrived(&c->http, &c->in).n);
    }
    write_ready(c);
    if (s->used < CONSUME_FROM) return;
    http1_consume(&c->http, &c->in, s->used);
    s->looked -= s->used;
    s->used = 0;
}

/* After the head of the reply an error is its last line; its place was kept. */
static void break_off(Conn *c, const Err *err)
{
    Job *job = job_new();
    job->err = *err;
    append(c->stream, job, true);
    c->stream->broken = c->stream->complete = true;
    c->close = c->linger = true;
    write_ready(c);
}

static void feed(Conn *c)
{
    Stream *s = c->stream;
    Err err = { 0 };
    if (s->complete) return;
    Http1Event event = http1_feed(&c->http, &c->in, &err);
    if (event == HTTP1_DONE) s->complete = true;
    if (event == HTTP1_BAD) break_off(c, &err);
}

/* All that is there has been looked at, and is the beginning of one line. */
static void check_line(Conn *c)
{
    const Stream *s = c->stream;
    size_t there = http1_arrived(&c->http, &c->in).n, limit = c->loop->options.max_body;
    Err err = { 0 };
    if (s->complete || s->looked < there || there - s->used <= limit) return;
    fail(&err, EF_TOO_LARGE, "line: found more than the limit of %zu bytes", limit);
    break_off(c, &err);
}

static bool reads(const Conn *c)
{
    const Stream *s = c->stream;
    return !s->complete && s->n < WINDOW - 1 && c->out.n - c->written < OUT_LIMIT &&
           s->looked == http1_arrived(&c->http, &c->in).n;
}

static bool answered(const Conn *c)
{
    const Stream *s = c->stream;
    bool rest = !s->broken && s->used < http1_arrived(&c->http, &c->in).n;
    return s->complete && s->n == 0 && !rest;
}

static void end_stream(Conn *c)
{
    buf_puts(&c->out, "0\r\n\r\n");
    stream_free(c);
    if (!c->linger) buf_drop(&c->in, c->http.at);
    c->state = CONN_WRITING;
    conn_deadline(c, c->loop->options.body_timeout_s);
}

/* Sends what is there, and forgets it. */
static void flush(Conn *c)
{
    size_t before = c->written;
    bool all = conn_send(c);
    if (c->state == CONN_CLOSED) return;
    if (all) c->out.n = c->written = 0;
    if (all || c->written > before) conn_deadline(c, c->loop->options.idle_timeout_s);
    conn_count(c, c->in.n + c->out.n);
}

void stream_advance(Conn *c)
{
    feed(c);
    for (bool more = true; more;) {
        submit_lines(c);
        check_line(c);
        more = reads(c) && conn_receive(c);
        if (more) feed(c);
    }
    if (answered(c)) return end_stream(c);
    bool starved = c->ended && !c->stream->complete && c->stream->n == 0;
    if (starved) return conn_close(c);
    if (c->stream->n) conn_deadline(c, c->loop->options.request_timeout_s);
    flush(c);
}

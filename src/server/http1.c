/* SPDX-License-Identifier: Apache-2.0
 * http1.c - a request is a sequence of lines and counted bytes; each state of the table reads one
 * of them. Whole lines only: a line is looked at when its end has come, and never twice. */
#include "http1.h"

#include <strings.h>

enum { MOST_FIELDS = 100, CHUNK_LINE = 256, GAP = 1 << 16 };

typedef enum { /* in the order of a request */
    S_REQUEST, S_FIELD, S_BODY, S_CHUNK_SIZE, S_CHUNK, S_CHUNK_END, S_TRAILER, S_DONE, S_BAD
} State;

static bool bad(Http1 *h, int status, ef_code code, const char *what)
{
    h->state = S_BAD;
    h->status = status;
    return fail(h->err, code, "%s", what);
}

static bool bad_body(Http1 *h)
{
    h->state = S_BAD;
    h->status = 413;
    return fail(h->err, EF_TOO_LARGE, "body: found more than the limit of %zu bytes",
                h->limits.body);
}

static bool bad_syntax(Http1 *h, const char *what)
{
    return bad(h, 400, EF_BAD_REQUEST, what);
}

/* One digit more; a number that is larger than any limit stays so. */
static size_t with_digit(size_t n, size_t base, int digit)
{
    return n > SIZE_MAX / 32 ? n : n * base + (size_t)digit;
}

/* ---- characters ---- */
static bool is_token(unsigned char c)
{
    bool alphanumeric = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    return alphanumeric || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool all_tokens(Str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_token((unsigned char)s.p[i])) return false;
    return s.n > 0;
}

static bool is_visible(unsigned char c) /* of a request target */
{
    return c > ' ' && c < 0x7F;
}

static bool is_field_value(Str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < ' ' && c != '\t') || c == 0x7F) return false;
    }
    return true;
}

static bool same(Str s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

static Str trim(Str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) s.p++, s.n--;
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t')) s.n--;
    return s;
}

/* Cuts the part before `by` off the front; false: there is none left. */
static bool next_part(Str *rest, char by, Str *part)
{
    if (!rest->p) return false;
    const char *end = memchr(rest->p, by, rest->n);
    *part = (Str){ rest->p, end ? (size_t)(end - rest->p) : rest->n };
    *rest = end ? (Str){ end + 1, rest->n - part->n - 1 } : (Str){ 0 };
    return true;
}

static HttpSpan span_of(Str s, const Buf *in)
{
    return (HttpSpan){ s.n ? (size_t)(s.p - in->p) : 0, s.n };
}

/* ---- the request line ---- */
static bool read_version(Http1 *h, Str version)
{
    if (!str_starts(version, "HTTP/") || version.n != 8 || version.p[6] != '.')
        return bad_syntax(h, "request line: wanted METHOD TARGET HTTP/1.1");
    char minor = version.p[7];
    if (version.p[5] != '1' || minor < '0' || minor > '9')
        return bad(h, 505, EF_BAD_REQUEST, "HTTP version: wanted 1.0 or 1.1");
    h->minor = minor == '0' ? 0 : 1;
    h->keep_alive = h->minor == 1;
    return true;
}

/* "/path?query", "http://host/path", or "*". */
static bool read_target(Http1 *h, Str target, const Buf *in)
{
    for (size_t i = 0; i < target.n; i++)
        if (!is_visible((unsigned char)target.p[i]))
            return bad_syntax(h, "request target: stray character");
    Str path = target;
    if (target.n > 7 && strncasecmp(target.p, "http://", 7) == 0) {
        Str rest = { target.p + 7, target.n - 7 };
        size_t n = 0;
        while (n < rest.n && !strchr("/?#", rest.p[n])) n++;
        h->field[HEADER_AUTHORITY] = (HttpSpan){ (size_t)(rest.p - in->p), n };
        path = (Str){ target.p + 5, 1 }; /* no path: the slash of "http:/" does as well */
        if (n < rest.n && rest.p[n] == '/') path = (Str){ rest.p + n, rest.n - n };
    } else if (!str_starts(target, "/") && !str_is(target, "*")) {
        return bad_syntax(h, "request target: wanted a path");
    }
    Str rest = path;
    next_part(&rest, '?', &path);
    h->target = span_of(target, in);
    h->path = span_of(path, in);
    return true;
}

static bool read_request_line(Http1 *h, Str line, Buf *in)
{
    if (line.n == 0) return true; /* an empty line in front is skipped (RFC 9112 2.2) */
    Str method, target, rest = line;
    if (!next_part(&rest, ' ', &method) || !next_part(&rest, ' ', &target) || !rest.p)
        return bad_syntax(h, "request line: wanted METHOD TARGET HTTP/1.1");
    if (!all_tokens(method)) return bad_syntax(h, "method: stray character");
    h->method = span_of(method, in);
    h->state = S_FIELD;
    return read_version(h, rest) && read_target(h, target, in);
}

/* ---- header fields ---- */
static bool field_length(Http1 *h, Str value)
{
    if (value.n == 0) return bad_syntax(h, "Content-Length: wanted a number");
    size_t n = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return bad_syntax(h, "Content-Length: wanted a number");
        n = with_digit(n, 10, value.p[i] - '0');
    }
    h->left = n;
    return true;
}

static bool field_coding(Http1 *h, Str value)
{
    if (h->minor == 0) return bad_syntax(h, "Transfer-Encoding: not in HTTP/1.0");
    if (!same(value, "chunked"))
        return bad(h, 501, EF_BAD_REQUEST, "Transfer-Encoding: only chunked is known");
    h->chunked = true;
    return true;
}

static bool field_connection(Http1 *h, Str value)
{
    for (Str word; next_part(&value, ',', &word);) {
        if (same(trim(word), "close")) h->keep_alive = false, h->seen |= 1u << 31;
        if (same(trim(word), "keep-alive") && !(h->seen & 1u << 31)) h->keep_alive = true;
    }
    return true;
}

static bool field_expect(Http1 *h, Str value)
{
    if (!same(value, "100-continue"))
        return bad(h, 417, EF_BAD_REQUEST, "Expect: wanted 100-continue");
    h->expects_continue = h->minor == 1;
    return true;
}

static bool field_host(Http1 *h, Str value)
{
    if (memchr(value.p, ' ', value.n) || memchr(value.p, ',', value.n))
        return bad_syntax(h, "Host: wanted one name");
    return true;
}

enum { F_HOST, F_LENGTH, F_CODING };
static const struct OwnRow { /* fields that are about the message itself */
    const char *name;
    bool once;
    bool (*read)(Http1 *, Str value);
} own_rows[] = {
    [F_HOST] = { "Host", true, field_host },
    [F_LENGTH] = { "Content-Length", true, field_length },
    [F_CODING] = { "Transfer-Encoding", true, field_coding },
    { "Connection", false, field_connection },
    { "Expect", true, field_expect },
};

static bool seen(const Http1 *h, int row)
{
    return h->seen >> row & 1;
}

static bool end_head(Http1 *h)
{
    if (h->minor == 1 && !seen(h, F_HOST)) return bad_syntax(h, "Host: missing");
    if (seen(h, F_LENGTH) && h->chunked)
        return bad_syntax(h, "found both Content-Length and Transfer-Encoding, wanted one");
    if (h->left > h->limits.body) return bad_body(h);
    h->head_end = h->at;
    h->body = (HttpSpan){ h->at, h->chunked ? 0 : h->left };
    h->state = h->chunked ? S_CHUNK_SIZE : h->left ? S_BODY : S_DONE;
    return true;
}

static bool split_field(Http1 *h, Str line, Str *name, Str *value)
{
    const char *colon = memchr(line.p, ':', line.n);
    if (!colon) return bad_syntax(h, "header field: wanted a colon");
    *name = (Str){ line.p, (size_t)(colon - line.p) };
    *value = trim((Str){ colon + 1, line.n - name->n - 1 });
    if (!all_tokens(*name)) return bad_syntax(h, "header field: stray character in its name");
    if (!is_field_value(*value)) return bad_syntax(h, "header field: stray character in its value");
    return true;
}

static bool twice(Http1 *h, const char *name)
{
    bad_syntax(h, "found it twice in the header, wanted it once");
    return within(h->err, "%s", name);
}

static bool keep_field(Http1 *h, Header field, Str value, const Buf *in)
{
    if (field == HEADERS) return true;
    if (h->field[field].at && header_once(field)) return twice(h, header_name(field));
    h->field[field] = (HttpSpan){ (size_t)(value.p - in->p), value.n };
    return true;
}

static bool read_field(Http1 *h, Str line, Buf *in)
{
    if (line.n == 0) return end_head(h);
    Str name, value;
    if (!split_field(h, line, &name, &value)) return false;
    if (++h->fields > MOST_FIELDS) return bad(h, 431, EF_TOO_LARGE, "header: too many fields");
    for (size_t i = 0; i < COUNT(own_rows); i++) {
        const struct OwnRow *row = &own_rows[i];
        if (!same(name, row->name)) continue;
        if (row->once && seen(h, (int)i)) return twice(h, row->name);
        h->seen |= 1u << i;
        if (!row->read(h, value)) return false;
    }
    return keep_field(h, header_find(name), value, in);
}

/* ---- chunks ---- */
static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_chunk_size(Http1 *h, Str line, Buf *in)
{
    (void)in;
    size_t size = 0, i = 0;
    for (; i < line.n && hex_digit(line.p[i]) >= 0; i++)
        size = with_digit(size, 16, hex_digit(line.p[i]));
    bool extension = i < line.n && line.p[i] == ';';
    if (i == 0 || (i < line.n && !extension) || !is_field_value(line))
        return bad_syntax(h, "chunk: wanted its size");
    if (size > h->limits.body - h->body.n) return bad_body(h);
    h->left = size;
    h->state = size ? S_CHUNK : S_TRAILER;
    h->head_end = size ? h->head_end : h->at; /* from here trailers are counted */
    return true;
}

static bool read_chunk_end(Http1 *h, Str line, Buf *in)
{
    (void)in;
    if (line.n) return bad_syntax(h, "chunk: longer than its size");
    h->state = S_CHUNK_SIZE;
    return true;
}

/* Trailers are checked and forgotten: nobody here may act on them. */
static bool read_trailer(Http1 *h, Str line, Buf *in)
{
    (void)in;
    Str name, value;
    if (line.n == 0) h->state = S_DONE;
    return line.n == 0 || split_field(h, line, &name, &value);
}

/* ---- counted bytes ---- */
static void skip_body(Http1 *h, Buf *in)
{
    size_t n = MIN(h->left, in->n - h->at);
    h->at += n;
    h->left -= n;
    if (!h->left) h->state = S_DONE;
}

/* Moves what has come of a chunk down to the end of the body so far. */
static void join_chunk(Http1 *h, Buf *in)
{
    size_t n = MIN(h->left, in->n - h->at), end = h->body.at + h->body.n;
    memmove(in->p + end, in->p + h->at, n);
    h->body.n += n;
    h->at += n;
    h->left -= n;
    if (!h->left) h->state = S_CHUNK_END;
}

/* Chunk sizes and extensions lie between the body so far and the next byte: tiny chunks must not
 * make the buffer many times larger than the body's limit. */
static void close_gap(Http1 *h, Buf *in)
{
    size_t end = h->body.at + h->body.n, gap = h->at - end;
    bool in_chunks = h->state >= S_CHUNK_SIZE && h->state <= S_CHUNK_END;
    if (!in_chunks || gap < GAP) return;
    memmove(in->p + end, in->p + h->at, in->n - h->at);
    in->n -= gap;
    h->at -= gap;
    h->scanned -= gap;
}

/* ---- the table ---- */
static const struct StateRow {
    bool (*line)(Http1 *, Str line, Buf *in); /* reads a line, or */
    void (*bytes)(Http1 *, Buf *in);          /* counted bytes */
} states[] = {
    [S_REQUEST] = { read_request_line, NULL },
    [S_FIELD] = { read_field, NULL },
    [S_BODY] = { NULL, skip_body },
    [S_CHUNK_SIZE] = { read_chunk_size, NULL },
    [S_CHUNK] = { NULL, join_chunk },
    [S_CHUNK_END] = { read_chunk_end, NULL },
    [S_TRAILER] = { read_trailer, NULL },
};

/* How long a line may be, given where it begins. */
static size_t line_room(const Http1 *h)
{
    bool chunk = h->state == S_CHUNK_SIZE || h->state == S_CHUNK_END;
    size_t used = h->at - h->head_end; /* head_end is 0 inside the head */
    return chunk ? CHUNK_LINE : used < h->limits.head ? h->limits.head - used : 0;
}

static bool too_long(Http1 *h)
{
    if (h->state == S_REQUEST) return bad(h, 414, EF_TOO_LARGE, "request line: too long");
    return bad(h, 431, EF_TOO_LARGE, "header: too long");
}

/* One line, when it is complete; false: not yet, or bad. */
static bool step_line(Http1 *h, Buf *in)
{
    size_t from = MAX(h->scanned, h->at);
    const char *lf = in->n > from ? memchr(in->p + from, '\n', in->n - from) : NULL;
    h->scanned = in->n;
    size_t end = lf ? (size_t)(lf - in->p) : in->n, room = line_room(h);
    if (end - h->at >= room) return too_long(h);
    if (!lf) return false;
    Str line = { in->p + h->at, end - h->at };
    if (line.n == 0 || line.p[line.n - 1] != '\r') return bad_syntax(h, "line end: LF without CR");
    line.n--;
    h->scanned = h->at = end + 1;
    return states[h->state].line(h, line, in);
}

static bool step_bytes(Http1 *h, Buf *in)
{
    if (h->at >= in->n) return false;
    states[h->state].bytes(h, in);
    h->scanned = h->at;
    return true;
}

void http1_start(Http1 *h, Http1Limits limits)
{
    *h = (Http1){ .limits = limits };
}

Http1Event http1_feed(Http1 *h, Buf *in, Err *err)
{
    h->err = err;
    for (bool moved = true; moved && h->state < S_DONE;) {
        bool in_head = h->state <= S_FIELD;
        moved = states[h->state].line ? step_line(h, in) : step_bytes(h, in);
        if (in_head && h->state > S_FIELD && h->state < S_DONE) return HTTP1_HEAD;
    }
    close_gap(h, in);
    return h->state == S_DONE ? HTTP1_DONE : h->state == S_BAD ? HTTP1_BAD : HTTP1_MORE;
}

bool http1_begun(const Http1 *h, const Buf *in)
{
    return h->state != S_REQUEST || in->n > h->at;
}

bool http1_has_body(const Http1 *h)
{
    return h->state > S_FIELD && h->state < S_DONE;
}

Str http1_arrived(const Http1 *h, const Buf *in)
{
    size_t n = h->chunked ? h->body.n : MIN(h->at, h->body.at + h->body.n) - h->body.at;
    return (Str){ in->p + h->body.at, n };
}

void http1_consume(Http1 *h, Buf *in, size_t bytes)
{
    size_t from = h->body.at + bytes;
    memmove(in->p + h->body.at, in->p + from, in->n - from);
    in->n -= bytes;
    h->at -= bytes;
    h->scanned -= MIN(h->scanned, bytes);
    h->body.n -= bytes;
    if (h->head_end > h->body.at) h->head_end -= bytes; /* where trailers begin */
}

/* ---- replies ---- */
static const struct { int status; const char *reason; } reasons[] = {
    { 200, "OK" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 304, "Not Modified" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 408, "Request Timeout" },
    { 413, "Content Too Large" },
    { 414, "URI Too Long" },
    { 415, "Unsupported Media Type" },
    { 417, "Expectation Failed" },
    { 421, "Misdirected Request" },
    { 422, "Unprocessable Content" },
    { 424, "Failed Dependency" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 505, "HTTP Version Not Supported" },
};

const char *http1_reason(int status)
{
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (reasons[i].status == status) return reasons[i].reason;
    return "Unknown";
}

static void put_field(void *to, const char *name, const char *value)
{
    buf_puts(to, name);
    buf_puts(to, ": ");
    buf_puts(to, value);
    buf_puts(to, "\r\n");
}

void http1_write_head(Buf *out, const Reply *reply, const char *date)
{
    enum { USUAL = 512 };
    buf_reserve(out, USUAL);
    buf_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", reply->status, http1_reason(reply->status),
               date);
    reply_fields(reply, put_field, out);
    if (reply->pieces) buf_puts(out, "Transfer-Encoding: chunked\r\n");
    if (reply->close) buf_puts(out, "Connection: close\r\n");
    else if (reply->keep) buf_puts(out, "Connection: keep-alive\r\n");
    buf_puts(out, "\r\n");
}

/* SPDX-License-Identifier: Apache-2.0
 * reply.c - the head and the body of HTTP/1.1 replies. */
#include "net/reply.h"

#include <ctype.h>
#include <strings.h>

enum { SIZE_DIGITS = 15, LINE_MOST = 8 << 10 };

size_t reply_head_length(Str bytes)
{
    const char *end = memmem(bytes.p, bytes.n, "\r\n\r\n", 4);
    return end ? (size_t)(end - bytes.p) + 4 : 0;
}

/* The next line of the head, without its end; false: there is none. */
static bool reply_line(Str *rest, Str *line)
{
    const char *end = rest->n ? memmem(rest->p, rest->n, "\r\n", 2) : NULL;
    if (!end || end == rest->p) return false;
    *line = (Str){ rest->p, (size_t)(end - rest->p) };
    *rest = (Str){ end + 2, rest->n - line->n - 2 };
    return true;
}

static Str reply_trim(Str s)
{
    while (s.n && strchr(" \t", *s.p)) s.p++, s.n--;
    while (s.n && strchr(" \t", s.p[s.n - 1])) s.n--;
    return s;
}

/* The n-th field of that name, from 0. */
static bool reply_find(const ReplyHead *h, const char *name, int nth, Str *value)
{
    Str rest = h->fields, line;
    size_t n = strlen(name);
    while (reply_line(&rest, &line)) {
        if (line.n <= n || line.p[n] != ':' || strncasecmp(line.p, name, n) != 0) continue;
        if (nth-- > 0) continue;
        *value = reply_trim((Str){ line.p + n + 1, line.n - n - 1 });
        return true;
    }
    return false;
}

Str reply_field(const ReplyHead *h, const char *name)
{
    Str value = { 0 };
    reply_find(h, name, 0, &value);
    return value;
}

static bool has_word(Str value, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= value.n; i++)
        if (strncasecmp(value.p + i, word, n) == 0) return true;
    return false;
}

/* A line that a careless reader would take for two, or a name with a gap before its colon. */
static bool fields_are_clean(Str fields)
{
    Str line;
    while (reply_line(&fields, &line)) {
        const char *colon = memchr(line.p, ':', line.n);
        if (!colon || colon == line.p || memchr(line.p, '\n', line.n) ||
            memchr(line.p, '\r', line.n) || memchr(line.p, 0, line.n))
            return false;
        for (const char *p = line.p; p < colon; p++)
            if (isspace((unsigned char)*p)) return false;
    }
    return true;
}

/* Equal lengths may be said twice. */
static bool read_length(ReplyHead *h, Err *err)
{
    Str value;
    h->length = -1;
    for (int i = 0; reply_find(h, "Content-Length", i, &value); i++) {
        int64_t n;
        if (!str_int(value, &n) || n < 0 || !isdigit((unsigned char)value.p[0]) ||
            (h->length >= 0 && n != h->length))
            return fail(err, EF_IO, "found a Content-Length of \"%.*s\", wanted one number",
                        (int)MIN(value.n, 40), value.p);
        h->length = n;
    }
    return true;
}

static bool read_transfer(ReplyHead *h, Err *err)
{
    Str value;
    if (!reply_find(h, "Transfer-Encoding", 0, &value)) return true;
    h->chunked = value.n == 7 && strncasecmp(value.p, "chunked", 7) == 0;
    h->length = -1; /* chunks win over a length */
    return h->chunked || fail(err, EF_IO, "found a Transfer-Encoding of \"%.*s\", wanted chunked",
                              (int)MIN(value.n, 40), value.p);
}

bool reply_head_read(Str head, ReplyHead *h, Err *err)
{
    Str rest = head, line;
    *h = (ReplyHead){ .length = -1 };
    if (!reply_line(&rest, &line) || line.n < 12 || !str_starts(line, "HTTP/1.") ||
        (line.p[7] != '0' && line.p[7] != '1') || line.p[8] != ' ' ||
        (line.n > 12 && line.p[12] != ' '))
        return fail(err, EF_IO, "found no HTTP/1.1 reply");
    for (int i = 9; i < 12; i++) {
        if (!isdigit((unsigned char)line.p[i])) return fail(err, EF_IO, "found no HTTP/1.1 reply");
        h->status = 10 * h->status + (line.p[i] - '0');
    }
    if (h->status < 100) return fail(err, EF_IO, "found no HTTP/1.1 reply");
    h->fields = rest;
    if (!fields_are_clean(rest))
        return fail(err, EF_IO, "found a malformed header line in a reply");
    Str connection = reply_field(h, "Connection");
    h->keep =
        line.p[7] == '1' ? !has_word(connection, "close") : has_word(connection, "keep-alive");
    return read_length(h, err) && read_transfer(h, err);
}

/* ---- body ---- */
void reply_body_start(ReplyBody *b, const ReplyHead *h, bool without)
{
    *b = (ReplyBody){ .state = BODY_TO_CLOSE };
    if (h->chunked) b->state = BODY_SIZE;
    if (h->length >= 0) b->state = BODY_LENGTH, b->left = (uint64_t)h->length;
    without = without || h->status == 204 || h->status == 304 || h->status < 200;
    b->done = without || (b->state == BODY_LENGTH && b->left == 0);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One byte of "1a2b;extension\r\n". */
static bool take_size_byte(ReplyBody *b, char c)
{
    int digit = b->extension ? -1 : hex_digit(c);
    if (digit >= 0) {
        b->left = b->left << 4 | (unsigned)digit;
        return ++b->digits <= SIZE_DIGITS;
    }
    if (c != '\n') {
        b->extension = true;
        return b->digits > 0 && (c == '\r' || c == ';' || c == ' ' || b->line > 0) &&
               ++b->line < LINE_MOST;
    }
    if (b->digits == 0) return false;
    b->state = b->left ? BODY_DATA : BODY_TRAILER;
    b->digits = b->line = 0, b->extension = false;
    return true;
}

/* One byte of the trailer, which ends with an empty line. */
static bool take_trailer_byte(ReplyBody *b, char c)
{
    if (c == '\n') {
        b->done = b->line == 0;
        b->line = 0;
    } else if (c != '\r') {
        b->line++;
    }
    return b->line < LINE_MOST;
}

static bool take_end_byte(ReplyBody *b, char c)
{
    if (c == '\n') b->state = BODY_SIZE;
    return c == '\n' || c == '\r';
}

static size_t take_data(ReplyBody *b, Str bytes, Str *data)
{
    size_t n = bytes.n;
    if (b->state != BODY_TO_CLOSE) {
        n = (size_t)MIN((uint64_t)n, b->left);
        b->left -= n;
        if (b->left == 0 && b->state == BODY_LENGTH) b->done = true;
        if (b->left == 0 && b->state == BODY_DATA) b->state = BODY_DATA_END;
    }
    *data = (Str){ bytes.p, n };
    return n;
}

size_t reply_body_take(ReplyBody *b, Str bytes, Str *data, bool *ok)
{
    size_t taken = 0;
    *data = (Str){ bytes.p, 0 };
    *ok = true;
    while (*ok && taken < bytes.n && !b->done) {
        Str rest = { bytes.p + taken, bytes.n - taken };
        switch (b->state) {
        case BODY_SIZE: *ok = take_size_byte(b, rest.p[0]), taken++; break;
        case BODY_DATA_END: *ok = take_end_byte(b, rest.p[0]), taken++; break;
        case BODY_TRAILER: *ok = take_trailer_byte(b, rest.p[0]), taken++; break;
        default: return taken + take_data(b, rest, data);
        }
    }
    return taken;
}

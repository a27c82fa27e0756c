/* SPDX-License-Identifier: Apache-2.0
 * multipart.c - parts are found by their boundary; of a part's head only Content-Disposition counts. */
#include "multipart.h"

#include <strings.h>

enum { LONGEST_BOUNDARY = 70, LONGEST_HEAD = 8 << 10 };

static bool multipart_bad(const char *what, Err *err)
{
    return fail(err, EF_BAD_REQUEST, "multipart parse error: %s", what);
}

/* Where `what` stands; NULL: nowhere. */
static const char *multipart_find(Str in, const char *what, size_t n)
{
    return in.n >= n ? memmem(in.p, in.n, what, n) : NULL;
}

/* The value of key=value or key="value" behind a semicolon; p NULL: not there. In quotes a backslash
 * stands before a quote only. */
static Str multipart_parameter(Str line, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i + n < line.n; i++) {
        bool begins = i && strchr("; \t", line.p[i - 1]);
        if (!begins || strncasecmp(line.p + i, key, n) != 0 || line.p[i + n] != '=') continue;
        size_t from = i + n + 1, end = from;
        bool quoted = from < line.n && line.p[from] == '"';
        for (from += quoted, end = from; end < line.n; end++) {
            bool escaped = quoted && end > from && line.p[end - 1] == '\\';
            if (quoted ? line.p[end] == '"' && !escaped : strchr("; \t", line.p[end]) != NULL) break;
        }
        return (Str){ line.p + from, end - from };
    }
    return (Str){ 0 };
}

bool multipart_boundary(Str type, Str *boundary, Err *err)
{
    *boundary = multipart_parameter(type, "boundary");
    return (boundary->n && boundary->n <= LONGEST_BOUNDARY) ||
           multipart_bad("Content-Type names no boundary", err);
}

/* The next line of a head, without its end; false: it has none. */
static bool multipart_line(Str *rest, Str *line)
{
    const char *end = multipart_find(*rest, "\r\n", 2);
    if (!end) return false;
    *line = (Str){ rest->p, (size_t)(end - rest->p) };
    rest->n -= line->n + 2;
    rest->p = end + 2;
    return true;
}

/* The part's head; *rest begins behind it. */
static bool multipart_head(Str *rest, FormPart *part, Err *err)
{
    static const char field[] = "content-disposition:";
    const char *begin = rest->p;
    for (Str line;;) {
        if (rest->p - begin > LONGEST_HEAD || !multipart_line(rest, &line))
            return multipart_bad("the head of a part does not end", err);
        if (line.n == 0) break;
        if (line.n < sizeof field - 1 || strncasecmp(line.p, field, sizeof field - 1) != 0) continue;
        part->name = multipart_parameter(line, "name");
        part->file = multipart_parameter(line, "filename");
    }
    return part->name.p || multipart_bad("a part has no name", err);
}

/* Its bytes end before "\r\n--boundary". */
static bool multipart_bytes(Str *rest, Str mark, FormPart *part, Err *err)
{
    const char *end = multipart_find(*rest, mark.p, mark.n);
    if (!end) return multipart_bad("a part does not end with the boundary", err);
    part->bytes = (Str){ rest->p, (size_t)(end - rest->p) };
    rest->n -= part->bytes.n + mark.n;
    rest->p = end + mark.n;
    return true;
}

/* Behind a boundary: "--" for the last one, or the end of its line. */
static bool multipart_goes_on(Str *rest, bool *more, Err *err)
{
    Str line;
    *more = !str_starts(*rest, "--");
    if (!*more) return true;
    if (!multipart_line(rest, &line) || strspn(line.p, " \t") < line.n)
        return multipart_bad("found bytes behind a boundary", err);
    return true;
}

/* What stands before the first boundary is nobody's. */
static bool multipart_begin(Str *rest, Str mark, Err *err)
{
    FormPart before;
    if (!str_starts(*rest, mark.p + 2)) return multipart_bytes(rest, mark, &before, err);
    rest->p += mark.n - 2; /* no line before it */
    rest->n -= mark.n - 2;
    return true;
}

bool multipart_read(Arena *arena, Str body, Str boundary, size_t most, FormPart **out, size_t *n, Err *err)
{
    Str mark = str_of(str_format(arena, "\r\n--%.*s", STR_ARG(boundary)));
    size_t room = 0;
    bool more = false;
    *n = 0;
    *out = NULL;
    bool ok = multipart_begin(&body, mark, err);
    while (ok && (ok = multipart_goes_on(&body, &more, err)) && more) {
        if (*n == most) return fail(err, EF_TOO_LARGE, "multipart: found more than %zu parts", most);
        if (*n == room) {
            FormPart *larger = ARRAY(arena, FormPart, 2 * room + 8);
            if (room) memcpy(larger, *out, room * sizeof *larger);
            *out = larger;
            room = 2 * room + 8;
        }
        FormPart *part = &(*out)[(*n)++];
        ok = multipart_head(&body, part, err) && multipart_bytes(&body, mark, part, err);
    }
    return ok;
}

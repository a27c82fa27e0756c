/* SPDX-License-Identifier: Apache-2.0
 * csv.c - one record at a time. */
#include "csv.h"

bool csv_open_ended(Str begin)
{
    size_t quotes = 0;
    for (size_t i = 0; i < begin.n; i++) quotes += begin.p[i] == '"';
    return quotes % 2;
}

/* A quoted field; *at stands on its opening quote, and behind its closing one afterwards. */
static bool csv_read_quoted(Arena *arena, Str record, size_t *at, Str *field, Err *err)
{
    char *out = arena_raw(arena, record.n - *at);
    size_t n = 0, i = *at + 1;
    for (;; i++) {
        if (i >= record.n) return fail(err, EF_INVALID_INPUT, "found a quote that is never closed");
        if (record.p[i] != '"') out[n++] = record.p[i];
        else if (i + 1 < record.n && record.p[i + 1] == '"') out[n++] = record.p[i++];
        else break;
    }
    *at = i + 1;
    *field = (Str){ out, n };
    if (*at == record.n || record.p[*at] == ',') return true;
    return fail(err, EF_INVALID_INPUT, "column %zu: found text behind a closing quote, wanted a comma",
                *at + 1);
}

static bool csv_read_plain(Str record, size_t *at, Str *field, Err *err)
{
    const size_t begin = *at;
    while (*at < record.n && record.p[*at] != ',' && record.p[*at] != '"') ++*at;
    *field = (Str){ record.p + begin, *at - begin };
    if (*at == record.n || record.p[*at] == ',') return true;
    return fail(err, EF_INVALID_INPUT, "column %zu: found a quote inside a field that has none in front",
                *at + 1);
}

bool csv_read(Arena *arena, Str record, Str **fields, size_t *n, Err *err)
{
    size_t commas = 0, at = 0;
    for (size_t i = 0; i < record.n; i++) commas += record.p[i] == ',';
    *fields = ARRAY(arena, Str, commas + 1);
    for (*n = 0;; at++) {
        Str *field = *fields + (*n)++;
        const bool quote = at < record.n && record.p[at] == '"';
        if (quote ? !csv_read_quoted(arena, record, &at, field, err)
                  : !csv_read_plain(record, &at, field, err))
            return false;
        if (at == record.n) return true;
    }
}

void csv_write(Buf *out, Str field)
{
    bool plain_enough = true;
    for (size_t i = 0; i < field.n && plain_enough; i++) plain_enough = !strchr(",\"\r\n", field.p[i]);
    if (plain_enough) return buf_str(out, field);
    buf_char(out, '"');
    for (size_t i = 0; i < field.n; i++) {
        if (field.p[i] == '"') buf_char(out, '"');
        buf_char(out, field.p[i]);
    }
    buf_char(out, '"');
}

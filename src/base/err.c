/* SPDX-License-Identifier: Apache-2.0
 * err.c - the one table from our codes to the codes of every transport, and the two ways to fail. */
#include "base.h"

static const ErrKind kinds[] = {
    /* http, grpc, exit */
    [EF_OK] = { "ok", 200, 0, 0 },
    [EF_USAGE] = { "usage", 400, 3, 2 },
    [EF_BAD_REQUEST] = { "bad_request", 400, 3, 1 },
    [EF_INVALID_INPUT] = { "invalid_input", 422, 3, 1 },
    [EF_NOT_FOUND] = { "not_found", 404, 5, 1 },
    [EF_METHOD] = { "method_not_allowed", 405, 12, 1 },
    [EF_TOO_LARGE] = { "too_large", 413, 8, 1 },
    [EF_MEDIA_TYPE] = { "unsupported_media_type", 415, 3, 1 },
    [EF_TIMEOUT] = { "timeout", 408, 4, 1 },
    [EF_DEADLINE] = { "deadline", 504, 4, 1 },
    [EF_UNAUTHORIZED] = { "unauthorized", 401, 16, 1 },
    [EF_OVERLOADED] = { "overloaded", 429, 8, 1 },
    [EF_UNAVAILABLE] = { "unavailable", 503, 14, 1 },
    [EF_BAD_MODEL] = { "bad_model", 500, 13, 1 },
    [EF_UNSUPPORTED] = { "unsupported", 424, 12, 1 },
    [EF_IO] = { "io", 500, 13, 1 },
    [EF_INTERNAL] = { "internal", 500, 13, 1 },
    [EF_EMPTY] = { "invalid_input", 422, 3, 1 },
    [EF_CANCELLED] = { "cancelled", 499, 1, 1 },
};
_Static_assert(COUNT(kinds) == EF_CANCELLED + 1, "one row per code");

const ErrKind *err_kind(ef_code code)
{
    return &kinds[(unsigned)code < COUNT(kinds) ? code : EF_INTERNAL];
}

/* A message is one line of UTF-8, whatever was put into it or cut off at its end. */
static void err_make_one_line(char *s)
{
    const char *end = s + strlen(s);
    for (int n; s < end; s += MAX(n, 1)) {
        uint32_t code = 0;
        n = utf8_decode(s, end, &code);
        if (n == 0) *s = '?';
        else if (code < ' ' || code == 0x7f) *s = ' ';
    }
}

bool fail(Err *err, ef_code code, const char *format, ...)
{
    if (!err) return false;
    err->code = code;
    va_list args;
    va_start(args, format);
    text_print(err->message, sizeof err->message, format, args);
    va_end(args);
    err_make_one_line(err->message);
    return false;
}

bool within(Err *err, const char *format, ...)
{
    if (!err) return false;
    char inner[sizeof err->message], prefix[256];
    memcpy(inner, err->message, sizeof inner);
    va_list args;
    va_start(args, format);
    text_print(prefix, sizeof prefix, format, args);
    va_end(args);
    snprintf(err->message, sizeof err->message, "%s: %.*s", prefix,
             (int)(sizeof inner - sizeof prefix - 4), inner);
    err_make_one_line(err->message);
    return false;
}

bool fail_of_model(Err *err)
{
    if (err && err->code == EF_BAD_REQUEST) err->code = EF_BAD_MODEL;
    return false;
}

bool within_line(Err *err, uint64_t number)
{
    static const char first[] = "line 1, ", column[] = "column ";
    if (!err) return false;
    const char *rest = err->message;
    if (strncmp(rest, first, strlen(first)) == 0) rest += strlen(first);
    if (strncmp(rest, column, strlen(column)) != 0)
        return within(err, "line %llu", (unsigned long long)number);
    char inner[sizeof err->message];
    snprintf(inner, sizeof inner, "%s", rest);
    snprintf(err->message, sizeof err->message, "line %llu, %.*s", (unsigned long long)number,
             (int)sizeof inner - 32, inner);
    err_make_one_line(err->message);
    return false;
}

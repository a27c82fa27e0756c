/* SPDX-License-Identifier: Apache-2.0
 * uri.c - the forms in which a file stands in text. */
#include "uri.h"

#include "base64.h"

/* Base64 may be broken into lines. */
static Str uri_without_spaces(Arena *arena, Str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) n += (unsigned char)text.p[i] <= ' ';
    if (n == 0) return text;
    char *to = arena_raw(arena, text.n - n + 1);
    n = 0;
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] > ' ') to[n++] = text.p[i];
    return (Str){ to, n };
}

/* "data:image/png;base64,...": what stands behind the comma. */
static bool uri_strip(const char *noun, Str *text, Err *err)
{
    static const char base64[] = ";base64";
    const char *comma = memchr(text->p, ',', text->n);
    if (!comma) return fail(err, EF_INVALID_INPUT, "%s: found a data URI without a comma", noun);
    Str head = { text->p, (size_t)(comma - text->p) };
    if (!str_ends(head, base64))
        return fail(err, EF_INVALID_INPUT, "%s: found a data URI of \"%.*s\", wanted base64", noun,
                    (int)MIN(head.n, (size_t)60), head.p);
    text->n -= head.n + 1;
    text->p = comma + 1;
    return true;
}

bool uri_read(Arena *arena, const char *noun, Str text, Str *bytes, Err *err)
{
    enum { LEAST = 32 }; /* no picture's file is so short, but many words are base64 */
    const Str given = text;
    if (str_starts(text, "http://") || str_starts(text, "https://") || str_starts(text, "file:"))
        return fail(err, EF_INVALID_INPUT,
                    "%s: found the URL \"%.*s\", wanted base64 or a data "
                    "URI: URLs are not fetched",
                    noun, (int)MIN(text.n, (size_t)60), text.p);
    bool uri = str_starts(text, "data:");
    if (uri && !uri_strip(noun, &text, err)) return false;
    text = uri_without_spaces(arena, text);
    if ((uri ? text.n > 0 : text.n >= LEAST) && base64_read(arena, text, bytes)) return true;
    return fail(err, EF_INVALID_INPUT, "%s: found text that is not base64 (\"%.*s\"), wanted "
                "base64 or a data URI", noun, (int)MIN(given.n, (size_t)24), given.p);
}

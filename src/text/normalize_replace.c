/* SPDX-License-Identifier: Apache-2.0
 * normalize_replace.c - Replace: what matches a string or a regular expression, by another string.
 * The new characters have the span of the last one that was replaced. */
#include "normalize.h"
#include "regex.h"

typedef struct Replace {
    Pattern pattern;
    Str content;
} Replace;

bool replace_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
{
    Str content;
    Replace *replace = NEW(arena, Replace);
    if (!pattern_load(arena, value_get(v, "pattern"), "Replace", &replace->pattern, err) ||
        !member_str(v, "Replace", "content", &content, err))
        return false;
    replace->content = (Str){ str_dup(arena, content), content.n };
    out->data = replace;
    return true;
}

/* The span of the character that ends before byte `end`. */
static Span span_before(const Source *in, size_t end)
{
    if (end == 0) return (Span){ in->base, in->base };
    size_t i = end - 1;
    while ((in->text.p[i] & 0xc0) == 0x80) i--;
    return source_span(in, i, (int)(end - i));
}

void replace_run(const Normalizer *self, Source in, Text *out)
{
    const Replace *replace = self->data;
    RegexSearch search = { .text = in.text, .arena = out->arena };
    Range hit;
    size_t done = 0, from = out->n;
    while (text_may_grow(out, from, in.text.n) && pattern_next(&replace->pattern, &search, &hit)) {
        text_add(out, source_part(in, done, hit.from));
        Span span = span_before(&in, hit.to);
        uint32_t code;
        for (size_t i = 0; i < replace->content.n;) {
            i += (size_t)utf8_take(replace->content.p + i, &code);
            text_add_code(out, code, span);
        }
        done = hit.to;
    }
    if (search.trouble) out->trouble = search.trouble;
    text_add(out, source_part(in, done, in.text.n));
}

/* What is looked for has no letter, digit or space in it, or two spaces at least. */
bool replace_apart(const Normalizer *self)
{
    const Pattern *pattern = &((const Replace *)self->data)->pattern;
    if (!pattern->string.n) return pattern->blanks;
    for (size_t i = 0; i < pattern->string.n; i++) {
        char c = pattern->string.p[i], low = (char)(c | 0x20);
        if (c == ' ' || (c >= '0' && c <= '9') || (low >= 'a' && low <= 'z')) return false;
    }
    return true;
}

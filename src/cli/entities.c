/* SPDX-License-Identifier: Apache-2.0
 * entities.c - words are what stands between spaces, without the punctuation at their ends; a
 * word's label is that of its first token, as BIO tagging is trained. */
#include "cli/entities.h"

static bool space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool punctuation(char c)
{
    return strchr(".,;:!?\"'()[]{}", c) != NULL && c != 0;
}

/* The next word from *at on; empty at the end. */
static Str next_word(Str text, size_t *at)
{
    while (*at < text.n && space(text.p[*at])) (*at)++;
    size_t from = *at, to;
    while (*at < text.n && !space(text.p[*at])) (*at)++;
    to = *at;
    while (from < to && punctuation(text.p[from])) from++;
    while (to > from && punctuation(text.p[to - 1])) to--;
    return (Str){ text.p + from, to - from };
}

/* The label of the first token that begins inside the word; empty: none does. */
static Str label_of(const Value *tokens, int64_t from, int64_t to)
{
    for (size_t i = 0; tokens && i < tokens->list.n; i++) {
        const Value *info = value_get(&tokens->list.items[i], "token_info");
        int64_t start = value_int(value_get(info, "start"), -1);
        if (start >= from && start < to)
            return value_str(value_get(&tokens->list.items[i], "label"), STR(""));
    }
    return (Str){ 0 };
}

static void write_one(Buf *b, Str text, const Value *result)
{
    const Value *tokens = value_get(result, "tokens");
    size_t at = 0, found = 0;
    buf_printf(b, "%.*s\n", STR_ARG(text));
    while (at < text.n) {
        Str word = next_word(text, &at);
        int64_t from = word.p - text.p;
        Str label = label_of(tokens, from, from + (int64_t)word.n);
        if (label.n == 0 || str_is(label, "O")) continue;
        buf_printf(b, "  - %.*s: \"%.*s\"\n", STR_ARG(label), STR_ARG(word));
        found++;
    }
    if (!found) buf_puts(b, "  (no entities)\n");
}

void entities_write(Buf *b, const Value *reply, const Str *texts, size_t n)
{
    const Value *results = value_get(reply, "results");
    for (size_t i = 0; i < n && results && i < results->list.n; i++)
        write_one(b, texts[i], &results->list.items[i]);
}

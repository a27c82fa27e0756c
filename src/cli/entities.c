/* SPDX-License-Identifier: Apache-2.0
 * entities.c - the words of task/bio.h that have a label, for people. */
#include "cli/entities.h"

#include "task/bio.h"

void entities_of(Buf *b, Str text, const Value *result)
{
    Arena arena = { 0 };
    BioSpans words = bio_words(&arena, text, bio_tokens(&arena, result));
    size_t found = 0;
    for (size_t i = 0; i < words.n; i++) {
        const BioSpan *w = &words.item[i];
        if (w->label.n == 0 || str_is(w->label, "O")) continue;
        buf_printf(b, "  - %.*s: \"%.*s\"\n", STR_ARG(w->label), STR_ARG(w->text));
        found++;
    }
    if (!found) buf_puts(b, "  (no entities)\n");
    arena_free(&arena);
}

void entities_write(Buf *b, const Value *reply, const Item *texts, size_t n)
{
    const Value *results = value_get(reply, "results");
    for (size_t i = 0; i < n && results && i < results->list.n; i++) {
        buf_printf(b, "%.*s\n", STR_ARG(texts[i].first));
        entities_of(b, texts[i].first, &results->list.items[i]);
    }
}

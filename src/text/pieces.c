/* SPDX-License-Identifier: Apache-2.0
 * pieces.c - the growing arrays between the steps. They live in the caller's arena: what outgrows
 * its place leaves a hole there, at most as large as the array in the end. */
#include "pieces.h"

enum { FIRST_TEXT = 256, FIRST_ITEMS = 64 };
/* All steps together may lengthen a text by at most this factor plus this many bytes: forty
 * steps that each double it would exhaust memory. The longest decomposition of Unicode is
 * elevenfold. */
enum { GROWS = 64, SPARE = 1 << 20 };

static void *pieces_moved(Arena *arena, const void *old, size_t used, size_t size)
{
    void *bigger = arena_raw(arena, size);
    if (used) memcpy(bigger, old, used);
    return bigger;
}

void text_reserve(Text *text, size_t more)
{
    if (text->p && text->cap - text->n >= more) return;
    size_t cap = MAX(MAX(text->cap * 2, text->n + more), (size_t)FIRST_TEXT);
    text->p = pieces_moved(text->arena, text->p, text->n, cap);
    text->at =
        pieces_moved(text->arena, text->at, text->n * sizeof *text->at, cap * sizeof *text->at);
    text->cap = cap;
}

void text_add(Text *text, Source in)
{
    text_reserve(text, in.text.n);
    if (in.text.n) memcpy(text->p + text->n, in.text.p, in.text.n);
    Span *at = text->at + text->n;
    text->n += in.text.n;
    if (in.at && in.text.n) {
        memcpy(at, in.at, in.text.n * sizeof *at);
        return;
    }
    for (size_t i = 0; i < in.text.n;) {
        uint64_t word;
        int32_t start = in.base + (int32_t)i;
        if (in.text.n - i >= 8 &&
            (memcpy(&word, in.text.p + i, 8), !(word & 0x8080808080808080u))) {
            for (int k = 0; k < 8; k++) at[i++] = (Span){ start + k, start + k + 1 };
            continue;
        }
        uint32_t code;
        int length = in.text.p[i] & 0x80 ? utf8_take(in.text.p + i, &code) : 1;
        for (int k = 0; k < length; k++) at[i++] = (Span){ start, start + length };
    }
}

static size_t pieces_growth(const Text *text, size_t from, size_t had)
{
    size_t has = text->n - from;
    return has > had ? has - had : 0;
}

bool text_may_grow(Text *text, size_t from, size_t had)
{
    if (text->grown + pieces_growth(text, from, had) <= GROWS * text->given + SPARE) return true;
    text->trouble = "normalizer or pre-tokenizer: it grows to more than 64 times its length";
    return false;
}

void text_grew(Text *text, size_t from, size_t had)
{
    if (text_may_grow(text, from, had)) text->grown += pieces_growth(text, from, had);
}

void text_add_code(Text *text, uint32_t code, Span span)
{
    text_reserve(text, 4);
    int length = utf8_encode(code, text->p + text->n);
    for (int k = 0; k < length; k++) text->at[text->n++] = span;
}

void pieces_grow(Pieces *pieces)
{
    size_t cap = MAX(pieces->cap * 2, (size_t)FIRST_ITEMS), item = sizeof *pieces->items;
    pieces->items = pieces_moved(pieces->arena, pieces->items, pieces->n * item, cap * item);
    pieces->cap = cap;
}

void tokens_grow(Tokens *tokens)
{
    tokens_grow_to(tokens, MAX(tokens->cap * 2, (size_t)FIRST_ITEMS));
}

void tokens_grow_to(Tokens *tokens, size_t cap)
{
    size_t item = sizeof *tokens->items;
    tokens->items = pieces_moved(tokens->arena, tokens->items, tokens->n * item, cap * item);
    tokens->cap = cap;
}

uint64_t *tokens_scratch(Tokens *tokens, size_t items)
{
    if (items <= tokens->room) return tokens->scratch;
    tokens->room = MAX(items, 2 * tokens->room);
    return tokens->scratch = arena_raw(tokens->arena, tokens->room * sizeof *tokens->scratch);
}

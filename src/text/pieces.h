/* SPDX-License-Identifier: Apache-2.0
 * pieces.h - text on its way through a tokenizer: bytes that know where they come from, pieces of
 * them that become words, tokens of those words. */
#ifndef TEXT_PIECES_H
#define TEXT_PIECES_H
#include "base/base.h"

typedef struct Span { /* bytes of the original text */
    int32_t start, end;
} Span;

typedef struct Source { /* what a normalizer reads */
    Str text;           /* valid UTF-8 */
    const Span *at;     /* of each byte; NULL: it is the original from byte `base` on */
    int32_t base;
} Source;

typedef struct Text { /* what it writes: n bytes with their spans, growing in the arena */
    Arena *arena;
    char *p;
    Span *at;
    size_t n, cap;
    size_t given;        /* bytes of the original, which it may not outgrow: text_grew */
    size_t grown;        /* bytes that the steps so far wrote more than they read */
    const char *trouble; /* why a step failed (a pattern over its step budget); NULL: none did */
    bool drifted;        /* spans have shifted against the text: what follows depends on it */
} Text;
/* A step that read `had` bytes has written those from `from` on: whether it may go on; and the same
 * at its end. No: text->trouble. */
bool text_may_grow(Text *, size_t from, size_t had);
void text_grew(Text *, size_t from, size_t had);
void text_reserve(Text *, size_t more);
void text_add(Text *, Source);                   /* as it is */
void text_add_code(Text *, uint32_t code, Span); /* one character */
/* The span of the character of `length` bytes at byte i. */
static inline Span source_span(const Source *s, size_t i, int length)
{
    if (s->at) return s->at[i];
    return (Span){ s->base + (int32_t)i, s->base + (int32_t)i + length };
}
/* The printable character that ByteLevel writes for a byte, below U+0144. */
static inline uint32_t byte_char(unsigned char b)
{
    if (b <= ' ') return 0x100u + b;
    if (b >= 0x7f && b <= 0xa0) return 0xa2u + b;
    return b == 0xad ? 0x143 : b;
}
/* Decodes without checks: the text is known to be valid. Returns the bytes used. */
static inline int utf8_take(const char *text, uint32_t *code)
{
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x80) return *code = p[0], 1;
    if (p[0] < 0xe0) return *code = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu), 2;
    uint32_t three = (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    if (p[0] < 0xf0) return *code = three, 3;
    return *code = (three << 6 | (p[3] & 0x3fu)) & 0x1fffff, 4;
}

typedef struct Piece { /* a part of a Text, on its way to be a word */
    uint32_t from, to; /* bytes; never empty */
    int32_t id;        /* of the added token it is, or -1: still text */
} Piece;
typedef struct Pieces {
    Arena *arena;
    Piece *items;
    size_t n, cap;
} Pieces;
void pieces_grow(Pieces *);
static inline void pieces_add(Pieces *out, size_t from, size_t to, int32_t id)
{
    if (from == to) return;
    if (out->n == out->cap) pieces_grow(out);
    out->items[out->n++] = (Piece){ (uint32_t)from, (uint32_t)to, id };
}

typedef struct Token { /* of a model; encode.c makes the range in the word one of the original */
    int32_t id, start, end, word;
    int32_t from, to; /* of the Text: what it is called, where the id does not tell; -1: it does */
} Token;
typedef struct Tokens {
    Arena *arena;
    Token *items;
    size_t n, cap;
    uint64_t *scratch; /* of the model: at least Model.scratch items */
    size_t room;       /* of scratch */
} Tokens;
void tokens_grow(Tokens *);
void tokens_grow_to(Tokens *, size_t items);
uint64_t *tokens_scratch(Tokens *, size_t items); /* what was in there is lost */
static inline void tokens_add(Tokens *out, int32_t id, size_t start, size_t end)
{
    if (out->n == out->cap) tokens_grow(out);
    out->items[out->n++] = (Token){ id, (int32_t)start, (int32_t)end, 0, -1, -1 };
}
/* One that is called like the part of the word it stands for. */
static inline void tokens_add_text(Tokens *out, int32_t id, size_t start, size_t end)
{
    tokens_add(out, id, start, end);
    out->items[out->n - 1].from = (int32_t)start, out->items[out->n - 1].to = (int32_t)end;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * pretokenize_write.c - the pre-tokenizers that change the text on the way: ByteLevel writes a
 * printable character for each byte, Metaspace a mark for each space. The new text is appended to
 * the Text; a space or mark put before a piece has the span of its first character. */
#include "pretokenize.h"
#include "regex.h"

/* Appends one string of a span. There is room. */
static inline void write_mark(Text *text, Str mark, Span at)
{
    for (size_t i = 0; i < mark.n; i++) {
        text->p[text->n] = mark.p[i];
        text->at[text->n++] = at;
    }
}

/* ---- ByteLevel ---- */
typedef struct ByteLevel {
    bool prefix, regex;
    uint8_t length[256]; /* of the character for a byte, 1 or 2 */
    char character[256][2];
} ByteLevel;

bool byte_level_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    ByteLevel *level = NEW(arena, ByteLevel);
    bool trims; /* of interest to the post-processor only */
    level->regex = true;
    if (!member_bool(v, "ByteLevel", "add_prefix_space", &level->prefix, err) ||
        !member_bool(v, "ByteLevel", "trim_offsets", &trims, err) ||
        (value_get(v, "use_regex") &&
         !member_bool(v, "ByteLevel", "use_regex", &level->regex, err)))
        return false;
    for (int b = 0; b < 256; b++) {
        char bytes[4];
        level->length[b] = (uint8_t)utf8_encode(byte_char((unsigned char)b), bytes);
        memcpy(level->character[b], bytes, 2);
    }
    out->data = level;
    return true;
}

/* The piece again, behind a space. */
static Piece with_prefix(Text *text, Piece piece)
{
    size_t n = piece.to - piece.from, from = text->n;
    text_reserve(text, n + 1);
    write_mark(text, STR(" "), text->at[piece.from]);
    memcpy(text->p + text->n, text->p + piece.from, n);
    memcpy(text->at + text->n, text->at + piece.from, n * sizeof *text->at);
    text->n += n;
    return (Piece){ (uint32_t)from, (uint32_t)text->n, -1 };
}

/* One word in the other alphabet. There is room. */
static void write_bytes(const ByteLevel *level, Text *text, size_t from, size_t to, Pieces *out)
{
    size_t start = text->n, n = start;
    char *p = text->p;
    Span *at = text->at;
    for (size_t i = from; i < to; i++) {
        unsigned char b = (unsigned char)p[i];
        memcpy(p + n, level->character[b], 2);
        at[n] = at[n + 1] = at[i];
        n += level->length[b];
    }
    text->n = n;
    pieces_add(out, start, n, -1);
}

void byte_level_run(const PreTokenizer *self, Text *text, Piece piece, Pieces *out)
{
    const ByteLevel *level = self->data;
    if (level->prefix && text->p[piece.from] != ' ') piece = with_prefix(text, piece);
    text_reserve(text, 2 * (size_t)(piece.to - piece.from) + 1);
    if (!level->regex) {
        write_bytes(level, text, piece.from, piece.to, out);
        return;
    }
    Str all = { text->p + piece.from, piece.to - piece.from };
    for (size_t i = 0, end; i < all.n; i = end) {
        end = gpt2_match(all, i);
        write_bytes(level, text, piece.from + i, piece.from + end, out);
    }
}

/* Without the expression the space becomes a letter. */
AtSpace byte_level_at_space(const PreTokenizer *self)
{
    return ((const ByteLevel *)self->data)->regex ? SPACE_CUTS : SPACE_JOINS;
}

/* ---- Metaspace ---- */
typedef enum { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER } Scheme;
typedef struct Metaspace {
    Str mark;
    Scheme scheme;
    bool split;
} Metaspace;

static bool scheme_load(const Value *v, Scheme *out, Err *err)
{
    static const char *const names[] = { "always", "first", "never" };
    Str name = STR("always");
    bool prefix = true;
    const Value *old = value_get(v, "add_prefix_space");
    if (value_get(v, "prepend_scheme") && !member_str(v, "Metaspace", "prepend_scheme", &name, err))
        return false;
    if (old && old->kind != V_NULL &&
        !member_bool(v, "Metaspace", "add_prefix_space", &prefix, err))
        return false;
    for (size_t i = 0; i < COUNT(names); i++) {
        if (!str_is(name, names[i])) continue;
        *out = (Scheme)i;
        return prefix || i == PREPEND_NEVER ||
               fail(err, EF_BAD_MODEL,
                    "Metaspace: \"add_prefix_space\" does not match \"prepend_scheme\"");
    }
    return fail(err, EF_BAD_MODEL, "Metaspace: found \"%.*s\" as \"prepend_scheme\"",
                STR_ARG(name));
}

bool metaspace_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    Metaspace *meta = NEW(arena, Metaspace);
    Str mark;
    uint32_t code;
    const Value *split = value_get(v, "split");
    meta->split = true;
    if (!member_str(v, "Metaspace", "replacement", &mark, err) ||
        !scheme_load(v, &meta->scheme, err) ||
        (split && split->kind != V_NULL &&
         !member_bool(v, "Metaspace", "split", &meta->split, err)))
        return false;
    if (mark.n == 0 || (size_t)utf8_take(mark.p, &code) != mark.n)
        return fail(err, EF_BAD_MODEL,
                    "Metaspace: found \"%.*s\" as \"replacement\", wanted one character",
                    STR_ARG(mark));
    meta->mark = (Str){ str_dup(arena, mark), mark.n };
    out->data = meta;
    return true;
}

static bool wants_prefix(const Metaspace *meta, const Text *text, Piece piece)
{
    Str rest = { text->p + piece.from, piece.to - piece.from };
    if (meta->scheme == PREPEND_NEVER) return false;
    if (meta->scheme == PREPEND_FIRST && text->at[piece.from].start != 0) return false;
    return rest.p[0] != ' ' &&
           !(rest.n >= meta->mark.n && !memcmp(rest.p, meta->mark.p, meta->mark.n));
}

void metaspace_run(const PreTokenizer *self, Text *text, Piece piece, Pieces *out)
{
    const Metaspace *meta = self->data;
    Str mark = meta->mark;
    size_t spaces = 1;
    for (size_t i = piece.from; i < piece.to; i++) spaces += text->p[i] == ' ';
    text_reserve(text, piece.to - piece.from + spaces * mark.n);
    size_t word = text->n;
    if (wants_prefix(meta, text, piece)) write_mark(text, mark, text->at[piece.from]);
    for (size_t i = piece.from; i < piece.to;) {
        bool space = text->p[i] == ' ';
        bool found = space || (text->p[i] == mark.p[0] && piece.to - i >= mark.n &&
                               !memcmp(text->p + i, mark.p, mark.n));
        if (found) {
            if (meta->split) pieces_add(out, word, text->n, -1), word = text->n;
            write_mark(text, mark, text->at[i]);
            i += space ? 1 : mark.n;
        } else {
            text->p[text->n] = text->p[i];
            text->at[text->n++] = text->at[i++];
        }
    }
    pieces_add(out, word, text->n, -1);
}

AtSpace metaspace_at_space(const PreTokenizer *self)
{
    return ((const Metaspace *)self->data)->split ? SPACE_CUTS : SPACE_JOINS;
}

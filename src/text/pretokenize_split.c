/* SPDX-License-Identifier: Apache-2.0
 * pretokenize_split.c - pre-tokenizers that look for something (a pattern, a kind of character) and
 * then treat what they found by a `behavior`; and the two that cut by counting and by script. */
#include "pretokenize.h"
#include "regex.h"
#include "unicode.h"
#include "unicode_classes.h"

/* ---- behaviors ---- */
typedef enum { REMOVED, ISOLATED, WITH_PREVIOUS, WITH_NEXT, CONTIGUOUS } Behavior;
static const char *const behavior_names[] = { "Removed", "Isolated", "MergedWithPrevious",
                                              "MergedWithNext", "Contiguous" };

static bool behavior_load(const Value *v, const char *where, Behavior *out, Err *err)
{
    Str name;
    if (!member_str(v, where, "behavior", &name, err)) return false;
    for (size_t i = 0; i < COUNT(behavior_names); i++)
        if (str_is(name, behavior_names[i])) return *out = (Behavior)i, true;
    return fail(err, EF_BAD_MODEL, "%s: found \"%.*s\" as \"behavior\"", where, STR_ARG(name));
}

typedef struct Merger { /* parts of a piece, matches and the rest in turn, to words */
    Behavior behavior;
    Pieces *out;
    bool open;    /* there is a word not yet written */
    bool matched; /* the last part was a match */
    size_t from, to;
} Merger;

static void merger_part(Merger *m, size_t from, size_t to, bool match)
{
    bool joins = (m->behavior == CONTIGUOUS && match == m->matched) ||
                 (m->behavior == WITH_PREVIOUS && match && !m->matched) ||
                 (m->behavior == WITH_NEXT && !match && m->matched);
    m->matched = match;
    if (m->behavior == REMOVED && match) return;
    if (m->open && joins) {
        m->to = to;
        return;
    }
    if (m->open) pieces_add(m->out, m->from, m->to, -1);
    m->from = from, m->to = to, m->open = true;
}

static void merger_end(Merger *m)
{
    if (m->open) pieces_add(m->out, m->from, m->to, -1);
}

/* ---- Split ---- */
typedef struct Split {
    Pattern pattern;
    Behavior behavior;
    bool invert;
} Split;

bool split_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    Split *split = NEW(arena, Split);
    out->data = split;
    return pattern_load(arena, value_get(v, "pattern"), "Split", &split->pattern, err) &&
           behavior_load(v, "Split", &split->behavior, err) &&
           member_bool(v, "Split", "invert", &split->invert, err);
}

void split_run(const PreTokenizer *self, Text *text, Piece piece, Pieces *out)
{
    const Split *split = self->data;
    RegexSearch search = { { text->p + piece.from, piece.to - piece.from }, text->arena };
    Merger merger = { split->behavior, out };
    Range hit;
    size_t done = 0;
    while (pattern_next(&split->pattern, &search, &hit)) {
        if (done < hit.from)
            merger_part(&merger, piece.from + done, piece.from + hit.from, split->invert);
        merger_part(&merger, piece.from + hit.from, piece.from + hit.to, !split->invert);
        done = hit.to;
    }
    if (piece.from + done < piece.to)
        merger_part(&merger, piece.from + done, piece.to, split->invert);
    merger_end(&merger);
    if (search.trouble) text->trouble = search.trouble;
}

/* The known expressions end a word before a space; what they leave out is white space. */
AtSpace split_at_space(const PreTokenizer *self)
{
    const Split *split = self->data;
    Behavior kept = split->invert ? REMOVED : ISOLATED;
    if (split->pattern.known) return split->behavior == kept ? SPACE_CUTS : SPACE_JOINS;
    bool ends = split->behavior == REMOVED || split->behavior == ISOLATED ||
                split->behavior == WITH_NEXT;
    bool space = str_is(split->pattern.string, " ") && !split->invert && ends;
    return space ? SPACE_CUTS : SPACE_JOINS;
}

/* ---- kinds of characters: Punctuation, Digits, CharDelimiterSplit ---- */
typedef struct Chars {
    uint16_t flags;     /* UNICODE_* that are looked for, */
    uint32_t delimiter; /* or this one, without flags */
    Behavior behavior;
    bool ascii[128]; /* answers */
} Chars;

static bool chars_has(const Chars *chars, uint32_t code)
{
    if (!chars->flags) return code == chars->delimiter;
    return unicode_record(code)->flags & chars->flags;
}

static Chars *chars_new(Arena *arena, PreTokenizer *out, Chars chars)
{
    Chars *kept = NEW(arena, Chars);
    *kept = chars;
    for (uint32_t c = 0; c < 128; c++) kept->ascii[c] = chars_has(kept, c);
    out->data = kept;
    return kept;
}

bool punctuation_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    Chars *chars = chars_new(arena, out, (Chars){ UNICODE_PUNCT, .behavior = ISOLATED });
    return !value_get(v, "behavior") || behavior_load(v, "Punctuation", &chars->behavior, err);
}

bool digits_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    bool alone;
    if (!member_bool(v, "Digits", "individual_digits", &alone, err)) return false;
    chars_new(arena, out, (Chars){ UNICODE_NUMERIC, .behavior = alone ? ISOLATED : CONTIGUOUS });
    return true;
}

bool delimiter_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    Str found;
    uint32_t code;
    if (!member_str(v, "CharDelimiterSplit", "delimiter", &found, err)) return false;
    if (found.n == 0 || (size_t)utf8_take(found.p, &code) != found.n)
        return fail(err, EF_BAD_MODEL,
                    "CharDelimiterSplit: found \"%.*s\" as \"delimiter\", wanted one character",
                    STR_ARG(found));
    chars_new(arena, out, (Chars){ .delimiter = code, .behavior = REMOVED });
    return true;
}

void chars_run(const PreTokenizer *self, Text *text, Piece piece, Pieces *out)
{
    const Chars *chars = self->data;
    Merger merger = { chars->behavior, out };
    size_t done = piece.from;
    for (size_t i = piece.from; i < piece.to;) {
        uint32_t code = (unsigned char)text->p[i];
        size_t next = i + (code < 0x80 ? 1 : (size_t)utf8_take(text->p + i, &code));
        if (code < 0x80 ? chars->ascii[code] : chars_has(chars, code)) {
            if (done < i) merger_part(&merger, done, i, false);
            merger_part(&merger, i, next, true);
            done = next;
        }
        i = next;
    }
    if (done < piece.to) merger_part(&merger, done, piece.to, false);
    merger_end(&merger);
}

/* What is found may go with a neighbour, also over the space. */
AtSpace chars_at_space(const PreTokenizer *self)
{
    const Chars *chars = self->data;
    bool merges = chars->behavior == WITH_PREVIOUS || chars->behavior == WITH_NEXT;
    return merges ? SPACE_JOINS : chars->ascii[' '] ? SPACE_CUTS : SPACE_PASSES;
}

/* ---- FixedLength ---- */
bool fixed_length_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    int64_t *length = NEW(arena, int64_t);
    *length = 5;
    out->data = length;
    if (value_get(v, "length") && !member_int(v, "FixedLength", "length", length, err))
        return false;
    return *length > 0 || fail(err, EF_BAD_MODEL, "FixedLength: found 0 as \"length\"");
}

void fixed_length_run(const PreTokenizer *self, Text *text, Piece piece, Pieces *out)
{
    int64_t length = *(const int64_t *)self->data, count = 0;
    size_t from = piece.from;
    for (size_t i = piece.from; i < piece.to; i++) {
        if ((text->p[i] & 0xc0) == 0x80) continue;
        if (count == length) {
            pieces_add(out, from, i, -1);
            from = i, count = 0;
        }
        count++;
    }
    pieces_add(out, from, piece.to, -1);
}

/* ---- UnicodeScripts: what comes before the first script is lost, as in the reference ---- */
void scripts_run(const PreTokenizer *self, Text *text, Piece piece, Pieces *out)
{
    (void)self;
    uint8_t last = 0;
    size_t from = piece.to;
    uint32_t code;
    for (size_t i = piece.from; i < piece.to;) {
        size_t next = i + (size_t)utf8_take(text->p + i, &code);
        uint8_t script = script_of(code)->old;
        if (script && script != last) {
            if (last) pieces_add(out, from, i, -1);
            from = i;
            last = script;
        }
        i = next;
    }
    pieces_add(out, from, piece.to, -1);
}

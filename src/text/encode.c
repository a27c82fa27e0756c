/* SPDX-License-Identifier: Apache-2.0
 * encode.c - runs the steps of pipeline.h for one text or a pair, cuts to length, adds special
 * tokens.
 *
 * Truncation is the reference's, with its odd corner: a limit below the number of special tokens
 * underflows there and so limits nothing. */
#include "pipeline.h"

enum { LONGEST_TEXT = 1 << 27 }; /* bytes; spans are 32 bits and a character may grow elevenfold */

/* ---- one text to tokens ---- */

/* Original text to pieces of normalized text, with the added tokens already known. */
static void cut_and_normalize(const Tokenizer *t, Str original, Text *text, Pieces *out)
{
    Pieces raw = { .arena = text->arena };
    added_cut(&t->added.raw, original, 0, &raw);
    for (size_t i = 0; i < raw.n; i++) {
        Piece piece = raw.items[i];
        size_t from = text->n;
        Source in = { { original.p + piece.from, piece.to - piece.from },
                      NULL,
                      (int32_t)piece.from };
        if (piece.id >= 0) {
            text_add(text, in);
            pieces_add(out, from, text->n, piece.id);
            continue;
        }
        normalizer_run(&t->normalizer, in, text);
        added_cut(&t->added.normalized, (Str){ text->p + from, text->n - from }, from, out);
    }
}

/* Ranges within word `index` become ranges of the original text. */
static void place(Token *tokens, size_t n, const Span *at, size_t index)
{
    for (size_t i = 0; i < n; i++) {
        tokens[i].end = at[tokens[i].end - 1].end;
        tokens[i].start = at[tokens[i].start].start;
        tokens[i].word = (int32_t)index;
    }
}

static bool tokenize(const Tokenizer *t, Arena *arena, Str original, Tokens *out, Err *err)
{
    if (original.n > LONGEST_TEXT)
        return fail(err, EF_TOO_LARGE, "text: found %zu bytes, at most %d can be tokenized",
                    original.n, (int)LONGEST_TEXT);
    if (!utf8_valid(original)) return fail(err, EF_INVALID_INPUT, "text: not valid UTF-8");
    Text text = { .arena = arena };
    Pieces pieces = { .arena = arena }, words = { .arena = arena };
    text_reserve(&text, original.n);
    cut_and_normalize(t, original, &text, &pieces);
    pretokenizer_run(&t->pretokenizer, &text, &pieces, &words);
    *out = (Tokens){ .arena = arena };
    tokens_grow(out);
    out->scratch = arena_raw(arena, t->model.scratch * sizeof *out->scratch);
    for (size_t i = 0; i < words.n; i++) {
        Piece word = words.items[i];
        size_t before = out->n;
        if (word.id >= 0)
            tokens_add(out, word.id, 0, word.to - word.from);
        else if (!t->model.kind->word(&t->model, (Str){ text.p + word.from, word.to - word.from },
                                      out, err))
            return false;
        place(out->items + before, out->n - before, text.at + word.from, i);
    }
    return true;
}

/* ---- truncation ---- */
typedef struct Lengths { /* tokens to keep of each text */
    size_t n[2];
} Lengths;

/* Both are cut down to half the room, or only the longer one where that is enough. */
static Lengths longest_first(Lengths have, size_t room, bool pair)
{
    if (!pair) return (Lengths){ { room, 0 } };
    int shorter = have.n[0] > have.n[1];
    size_t small = have.n[shorter], large = small > room ? small : MAX(small, room - small);
    if (small + large > room) {
        small = room / 2;
        large = small + room % 2;
    }
    Lengths keep;
    keep.n[shorter] = MIN(small, have.n[shorter]);
    keep.n[!shorter] = MIN(large, have.n[!shorter]);
    return keep;
}

static bool only_one(Lengths *keep, size_t excess, int which, bool pair, Err *err)
{
    if (which == 1 && !pair)
        return fail(err, EF_INVALID_INPUT,
                    "truncation: only the second text may be cut, found one text");
    if (keep->n[which] <= excess)
        return fail(err, EF_INVALID_INPUT,
                    "truncation: the %s text has %zu tokens, %zu would have to be cut from it",
                    which ? "second" : "first", keep->n[which], excess);
    keep->n[which] -= excess;
    return true;
}

static bool truncate_to(Lengths *keep, bool pair, size_t added, const EncodeOptions *options,
                        Err *err)
{
    size_t total = keep->n[0] + keep->n[1], limit = (size_t)MAX(options->max_length, 0);
    if (limit == 0 || limit < added) return true;
    size_t room = limit - added;
    if (total <= room) return true;
    if (room == 0) return *keep = (Lengths){ { 0 } }, true;
    if (options->strategy != TRUNCATE_LONGEST_FIRST)
        return only_one(keep, total - room, options->strategy == TRUNCATE_ONLY_SECOND, pair, err);
    *keep = longest_first(*keep, room, pair);
    return true;
}

/* ---- putting it together ---- */
static void encoding_reserve(Encoding *out, Arena *arena, size_t n)
{
    int32_t *p = arena_raw(arena, n * (5 * sizeof *p + 2));
    out->ids = p, out->type_ids = p + n, out->start = p + 2 * n, out->end = p + 3 * n;
    out->word = p + 4 * n;
    out->special = (uint8_t *)(p + 5 * n), out->sequence = out->special + n;
}

static void add_special(Encoding *out, const Part *part)
{
    for (size_t i = 0; i < part->n; i++, out->n++) {
        out->ids[out->n] = part->ids[i];
        out->type_ids[out->n] = part->type_id;
        out->start[out->n] = out->end[out->n] = 0;
        out->word[out->n] = -1;
        out->special[out->n] = 1;
        out->sequence[out->n] = 0;
    }
}

/* n of the tokens from `from` on. */
static void add_text(Encoding *out, const Part *part, const Token *tokens, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++, out->n++) {
        out->ids[out->n] = tokens[i].id;
        out->type_ids[out->n] = part->type_id;
        out->start[out->n] = tokens[i].start;
        out->end[out->n] = tokens[i].end;
        out->word[out->n] = tokens[i].word;
        out->special[out->n] = 0;
        out->sequence[out->n] = (uint8_t)part->sequence;
    }
}

bool tokenizer_encode(const Tokenizer *t, Arena *arena, Str first, const Str *second,
                      const EncodeOptions *options, Encoding *out, Err *err)
{
    Tokens tokens[2] = { 0 };
    if (!tokenize(t, arena, first, &tokens[0], err)) return false;
    if (second && !tokenize(t, arena, *second, &tokens[1], err)) return false;
    const Template *template = second ? &t->post.pair : &t->post.single;
    Lengths have = { { tokens[0].n, tokens[1].n } }, keep = have;
    EncodeOptions none = { 0 };
    if (!options) options = &none;
    if (!truncate_to(&keep, second, options->no_special ? 0 : template->added, options, err))
        return false;

    size_t n = 0;
    for (size_t i = 0; i < template->n; i++) {
        const Part *part = &template->parts[i];
        n += part->sequence < 0 ? part->n : keep.n[part->sequence];
    }
    *out = (Encoding){ .truncated = keep.n[0] < have.n[0] || keep.n[1] < have.n[1] };
    encoding_reserve(out, arena, n);
    for (size_t i = 0; i < template->n; i++) {
        const Part *part = &template->parts[i];
        int s = part->sequence;
        if (s >= 0)
            add_text(out, part, tokens[s].items, options->truncate_left ? have.n[s] - keep.n[s] : 0,
                     keep.n[s]);
        else if (!options->no_special)
            add_special(out, part);
    }
    return true;
}

/* ---- bytes to codepoints ---- */
typedef struct Walker { /* a place in a text, counted both ways */
    Str text;
    size_t byte, chars;
} Walker;

static int32_t walk_to(Walker *w, int32_t byte)
{
    size_t target = MIN((size_t)byte, w->text.n);
    for (; w->byte < target; w->byte++) w->chars += (w->text.p[w->byte] & 0xc0) != 0x80;
    for (; w->byte > target; w->byte--) w->chars -= (w->text.p[w->byte - 1] & 0xc0) != 0x80;
    return (int32_t)w->chars;
}

void encoding_to_chars(Encoding *e, Str first, const Str *second)
{
    Walker walkers[2] = { { .text = first }, { .text = second ? *second : (Str){ 0 } } };
    for (size_t i = 0; i < e->n; i++) {
        if (e->special[i]) continue;
        Walker *w = &walkers[e->sequence[i]];
        e->start[i] = walk_to(w, e->start[i]);
        e->end[i] = walk_to(w, e->end[i]);
    }
}

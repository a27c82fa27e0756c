/* SPDX-License-Identifier: Apache-2.0
 * encode.c - runs the steps of pipeline.h for one text or a pair, cuts to length, adds special
 * tokens. A long text goes through the steps in parts (slice.c), and no further than truncation
 * leaves anything of it.
 *
 * Truncation is the reference's, with its odd corner: a limit below the number of special tokens
 * underflows there and so limits nothing. */
#include "base/budget.h"
#include "pipeline.h"
#include "unicode.h"

enum {
    BYTE_SPACE = 0x120, /* what a space is called in byte-level vocabularies */
    SCRATCH = 512,      /* items to begin with */
    MOST_CHOICES = 1 << 28,
    MOST_NAMES = 1 << 28 /* bytes */
};
enum { LONGEST_TEXT = 1 << 27 }; /* bytes; spans are 32 bits and a character may grow elevenfold */

/* ---- one text to tokens ---- */

/* A part of the original, from byte `base` on, to pieces of normalized text, with the added tokens
 * already known. */
static void cut_and_normalize(const Tokenizer *t, Str part, size_t base, Text *text, Pieces *out)
{
    Pieces raw = { .arena = text->arena };
    Piece whole = { 0 }; /* the last added token that was copied, and where to */
    size_t copy = 0;
    added_cut(&t->added.raw, part, 0, &raw);
    for (size_t i = 0; i < raw.n; i++) {
        Piece piece = raw.items[i];
        size_t from = text->n;
        if (piece.id >= 0 && piece.from >= whole.from && piece.to <= whole.to) {
            from = copy + (piece.from - whole.from); /* in white space that it took: added.c */
            pieces_add(out, from, from + (piece.to - piece.from), piece.id);
            continue;
        }
        Source in = { { part.p + piece.from, piece.to - piece.from },
                      NULL,
                      (int32_t)(base + piece.from) };
        if (piece.id >= 0) {
            whole = piece, copy = from;
            text_add(text, in);
            pieces_add(out, from, text->n, piece.id);
            continue;
        }
        normalizer_run(&t->normalizer, in, text);
        added_cut(&t->added.normalized, (Str){ text->p + from, text->n - from }, from, out);
    }
}

/* Ranges within word `index`, at byte `from` of the text, become ranges of the original. */
static void encode_place_tokens(Token *tokens, size_t n, const Text *text, int32_t from,
                                size_t index)
{
    const Span *at = text->at + from;
    for (size_t i = 0; i < n; i++) {
        tokens[i].end = at[tokens[i].end - 1].end;
        tokens[i].start = at[tokens[i].start].start;
        tokens[i].word = (int32_t)index;
        if (tokens[i].from >= 0) tokens[i].from += from, tokens[i].to += from;
    }
}

typedef struct Side { /* one of the texts, on its way */
    Words words;
    bool split; /* words came as such; else there is one, the text */
    Text text;  /* of a text in parts: what names of tokens are in */
    Tokens tokens;
    size_t named;  /* bytes of the names of added tokens */
    size_t grown;  /* Text.grown of its parts */
    bool names;    /* what tokens are called matters */
    size_t count;  /* words so far */
    size_t enough; /* tokens beyond this number do not matter; 0: all do */
    bool stopped;  /* so it did not */
    struct Window *windows; /* that go into encodings; the first is the main one */
    size_t n;
} Side;

static bool encode_check_text(Str text, Err *err)
{
    if (text.n > LONGEST_TEXT)
        return fail(err, EF_TOO_LARGE, "text: found %zu bytes, at most %d can be tokenized", text.n,
                    (int)LONGEST_TEXT);
    return utf8_valid(text) || fail(err, EF_INVALID_INPUT, "text: not valid UTF-8");
}

/* The part from byte `from` to `to` of the original. */
static bool tokenize_part(const Tokenizer *t, Side *side, size_t index, Span part, Text *text,
                          Err *err)
{
    Tokens *out = &side->tokens;
    Pieces pieces = { .arena = text->arena }, words = { .arena = text->arena };
    Str bytes = { side->words.items[index].p + part.start, (size_t)(part.end - part.start) };
    text_reserve(text, bytes.n);
    cut_and_normalize(t, bytes, (size_t)part.start, text, &pieces);
    pretokenizer_run(&t->pretokenizer, text, &pieces, &words);
    if (text->trouble) return fail(err, EF_INVALID_INPUT, "text: %s", text->trouble);
    for (size_t i = 0; i < words.n; i++) {
        Piece word = words.items[i];
        size_t before = out->n, n = word.to - word.from;
        if (word.id >= 0) tokens_add_text(out, word.id, 0, n), side->named += n;
        else if (!t->model.kind->word(&t->model, (Str){ text->p + word.from, n }, out, err))
            return false;
        encode_place_tokens(out->items + before, out->n - before, text, (int32_t)word.from,
                            side->split ? index : side->count);
        side->count++;
    }
    return true;
}

/* Limits the names of tokens: overlapping tokens may be as many as the text has bytes, and then
 * their names together take the square of that. */
static bool encode_check_names(const Side *side, Err *err)
{
    if (!side->names || side->named <= MOST_NAMES) return true;
    return fail(err, EF_TOO_LARGE,
                "text: found added tokens inside one another with names of %zu bytes, wanted at "
                "most %d", side->named, MOST_NAMES);
}

/* Names that lie in a part's text move to where they stay. */
static void keep_names(Side *side, const Text *text, size_t from)
{
    for (Token *token = side->tokens.items + from, *end = side->tokens.items + side->tokens.n;
         side->names && token < end; token++) {
        if (token->from < 0) continue;
        size_t n = (size_t)(token->to - token->from);
        text_reserve(&side->text, n);
        memcpy(side->text.p + side->text.n, text->p + token->from, n);
        token->from = (int32_t)side->text.n, token->to = (int32_t)(side->text.n += n);
    }
}

/* One part of several; their memory is used again. *to: where it ended. */
static bool tokenize_slice(const Tokenizer *t, Side *side, size_t from, size_t *to, Arena *work,
                           Err *err)
{
    Str original = side->words.items[0];
    size_t tokens = side->tokens.n, words = side->count, named = side->named;
    *to = slice_end(original, from, t->slice);
    for (;;) {
        Text text = { .arena = work, .given = original.n, .grown = side->grown };
        Span part = { (int32_t)from, (int32_t)*to };
        if (!tokenize_part(t, side, 0, part, &text, err) || !encode_check_names(side, err))
            return false;
        if (!text.drifted || *to == original.n) {
            side->grown = text.grown;
            return keep_names(side, &text, tokens), true;
        }
        side->tokens.n = tokens, side->count = words; /* all of the rest at once, then */
        side->named = named;
        *to = original.n;
    }
}

/* Reserves room for the expected number of tokens, by the rate so far; without enough memory it
 * goes on, since the rest may have fewer. */
static void expect_tokens(Side *side, size_t done, size_t all)
{
    double each = (double)side->tokens.n / (double)done;
    size_t more = (size_t)(each * (double)all * 1.1), cap = side->tokens.cap;
    bool room = budget_has(side->tokens.arena->budget, more * sizeof *side->tokens.items);
    if (!side->enough && more > cap && room) tokens_grow_to(&side->tokens, more);
}

static bool tokenize_slices(const Tokenizer *t, Side *side, Err *err)
{
    enum { KEPT = 4 << 20 };
    Arena work = { .budget = side->text.arena->budget, .local = true };
    size_t all = side->words.items[0].n;
    bool ok = true;
    for (size_t from = 0, to; ok && from < all && !side->stopped; from = to) {
        ok = tokenize_slice(t, side, from, &to, &work, err);
        arena_reset(&work, KEPT);
        if (ok && from == 0) expect_tokens(side, to, all);
        side->stopped = side->enough && side->tokens.n > side->enough && to < all;
    }
    arena_free(&work);
    return ok;
}

static bool encode_tokenize_word(const Tokenizer *t, Side *side, size_t index, Err *err)
{
    Str original = side->words.items[index];
    if (!encode_check_text(original, err)) return false;
    if (!side->split && t->slice && original.n > 2 * t->slice)
        return tokenize_slices(t, side, err);
    Span all = { 0, (int32_t)original.n };
    side->text.given += original.n;
    return tokenize_part(t, side, index, all, &side->text, err) && encode_check_names(side, err);
}

static bool tokenize_all(const Tokenizer *t, Arena *arena, Side *side, size_t enough, Err *err)
{
    side->text = (Text){ .arena = arena };
    side->tokens = (Tokens){ .arena = arena };
    side->count = side->named = side->grown = 0;
    side->stopped = false, side->enough = enough;
    tokens_grow(&side->tokens);
    tokens_scratch(&side->tokens, MAX(t->model.scratch, (size_t)SCRATCH));
    for (size_t i = 0; i < side->words.n; i++)
        if (!encode_tokenize_word(t, side, i, err)) return false;
    return true;
}

/* ---- truncation ---- */
typedef struct Window { /* a range of tokens */
    size_t from, to;
} Window;

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

/* Windows of `keep` tokens over all `n`, each sharing `stride` with the one before. */
static size_t encode_slide_windows(size_t n, size_t keep, const EncodeOptions *options, Window *out)
{
    size_t step = keep - (size_t)options->stride, count = 0;
    for (size_t done = 0; done < n; done += step) {
        size_t from = done, to = MIN(done + keep, n);
        bool last = to == n;
        if (options->truncate_left) from = n - to, to = n - done;
        if (out) out[count] = (Window){ from, to };
        count++;
        if (last || !options->overflow) break;
    }
    return count;
}

static bool encode_cut_windows(Arena *arena, Side *side, size_t keep, const EncodeOptions *options,
                               Err *err)
{
    size_t n = side->tokens.n;
    if (keep >= n || keep == 0) {
        side->n = keep < n && options->overflow ? 2 : 1;
        side->windows = ARRAY(arena, Window, 2);
        side->windows[keep < n] = (Window){ 0, n };
        return true;
    }
    if (options->stride < 0 || (size_t)options->stride >= keep)
        return fail(err, EF_INVALID_INPUT, "truncation: found stride %d, wanted one below %zu",
                    options->stride, keep);
    side->n = encode_slide_windows(n, keep, options, NULL);
    if (options->most_windows && side->n > options->most_windows)
        return fail(err, EF_TOO_LARGE, "truncation: found %zu windows, wanted at most %zu", side->n,
                    options->most_windows);
    side->windows = arena_raw(arena, side->n * sizeof *side->windows);
    encode_slide_windows(n, keep, options, side->windows);
    return true;
}

static bool truncate_sides(Arena *arena, Side sides[2], bool pair, const PostProcessor *post,
                           const EncodeOptions *options, Err *err)
{
    size_t added = options->no_special ? 0 : pair ? post->pair.added : post->single.added;
    size_t limit = (size_t)MAX(options->max_length, 0), least = post->single.added;
    if (limit && limit >= least && (int64_t)(limit - least) < options->stride)
        return fail(err, EF_INVALID_INPUT,
                    "truncation: found stride %d, wanted at most %zu: %d tokens less %zu special",
                    options->stride, limit - least, options->max_length, least);
    Lengths keep = { { sides[0].tokens.n, sides[1].tokens.n } };
    return truncate_to(&keep, pair, added, options, err) &&
           encode_cut_windows(arena, &sides[0], keep.n[0], options, err) &&
           encode_cut_windows(arena, &sides[1], keep.n[1], options, err);
}

/* ---- white space off the offsets ---- */
static bool encode_is_blank(Str text, size_t at, size_t *next)
{
    uint32_t code = (unsigned char)text.p[at];
    *next = at + (code < 0x80 ? 1 : (size_t)utf8_take(text.p + at, &code));
    return code == BYTE_SPACE || unicode_record(code)->flags & UNICODE_SPACE;
}

static size_t encode_char_before(Str text, size_t at)
{
    do at--;
    while (at > 0 && (text.p[at] & 0xc0) == 0x80);
    return at;
}

static size_t leading_blanks(Str name)
{
    size_t count = 0;
    for (size_t at = 0; at < name.n && encode_is_blank(name, at, &at);) count++;
    return count;
}

static size_t trailing_blanks(Str name)
{
    size_t count = 0, next;
    for (size_t at = name.n; at > 0; count++) {
        at = encode_char_before(name, at);
        if (!encode_is_blank(name, at, &next)) break;
    }
    return count;
}

/* Characters of the name that are blank leave the range, whatever the text has there. */
static Span encode_trim_span(Span at, Str name, Str text, bool first, bool prefixed)
{
    size_t leading = leading_blanks(name), trailing = trailing_blanks(name);
    if (leading == 1 && (first || at.start == 0) && prefixed) leading = 0;
    for (; leading && at.start < at.end; leading--) do
            at.start++;
        while (at.start < at.end && (text.p[at.start] & 0xc0) == 0x80);
    size_t end = (size_t)at.end;
    for (; trailing && end > 0; trailing--) end = encode_char_before(text, end);
    if (trailing == 0) at.end = MAX((int32_t)end, at.start);
    return at;
}

/* ---- putting it together ---- */
typedef struct EncodeJob {
    const Tokenizer *t;
    Arena *arena;
    const Side *sides;
    const Template *template;
    const EncodeOptions *options;
} EncodeJob;

static void encoding_reserve(Encoding *out, Arena *arena, size_t n, bool tokens)
{
    int32_t *p = arena_raw(arena, n * (5 * sizeof *p + 2));
    out->ids = p, out->type_ids = p + n, out->start = p + 2 * n, out->end = p + 3 * n;
    out->word = p + 4 * n;
    out->special = (uint8_t *)(p + 5 * n), out->sequence = out->special + n;
    if (tokens) out->tokens = arena_raw(arena, n * sizeof *out->tokens);
}

static void add_special(Encoding *out, const TemplatePart *part)
{
    for (size_t i = 0; i < part->n; i++, out->n++) {
        out->ids[out->n] = part->ids[i];
        out->type_ids[out->n] = part->type_id;
        out->start[out->n] = out->end[out->n] = 0;
        out->word[out->n] = -1;
        out->special[out->n] = 1;
        out->sequence[out->n] = 0;
        if (out->tokens) out->tokens[out->n] = part->tokens[i];
    }
}

static Str name_of(const Tokenizer *t, const Side *side, const Token *token)
{
    if (token->from < 0) return model_name(&t->model, token->id);
    return (Str){ side->text.p + token->from, (size_t)(token->to - token->from) };
}

/* Names and trimmed offsets of the tokens just added, which were those of the window. */
static void finish_text(const EncodeJob *job, const Side *side, Window w, Encoding *out)
{
    const PostProcessor *post = &job->t->post;
    for (size_t i = w.from, at = out->n - (w.to - w.from); i < w.to; i++, at++) {
        const Token *token = &side->tokens.items[i];
        Str name = name_of(job->t, side, token);
        Str text = side->words.items[side->split ? token->word : 0];
        Span span = { out->start[at], out->end[at] };
        for (size_t k = 0; k < post->trims; k++)
            span = encode_trim_span(span, name, text, i == w.from, post->prefixed[k]);
        out->start[at] = span.start, out->end[at] = span.end;
        if (out->tokens) out->tokens[at] = name;
    }
}

static void encode_add_text(const EncodeJob *job, Encoding *out, const TemplatePart *part,
                            size_t window)
{
    const Side *side = &job->sides[part->sequence];
    Window w = side->windows[window];
    bool zero = job->t->post.flat && !job->options->no_special;
    int32_t type_id = window == 0 ? part->type_id : zero ? 0 : part->sequence;
    for (size_t i = w.from; i < w.to; i++, out->n++) {
        const Token *token = &side->tokens.items[i];
        out->ids[out->n] = token->id;
        out->type_ids[out->n] = type_id;
        out->start[out->n] = token->start;
        out->end[out->n] = token->end;
        out->word[out->n] = token->word;
        out->special[out->n] = 0;
        out->sequence[out->n] = (uint8_t)part->sequence;
    }
    if (job->t->post.trims || out->tokens) finish_text(job, side, w, out);
}

/* One encoding: of each part of the template that window. */
static void encode_assemble(const EncodeJob *job, const uint32_t *windows, Encoding *out)
{
    const Template *template = job->template;
    size_t n = 0;
    for (size_t i = 0; i < template->n; i++) {
        const TemplatePart *part = &template->parts[i];
        const Window *w = part->sequence < 0 ? NULL : job->sides[part->sequence].windows;
        n += w ? w[windows[i]].to - w[windows[i]].from : part->n;
    }
    *out = (Encoding){ 0 };
    encoding_reserve(out, job->arena, n, job->options->tokens);
    for (size_t i = 0; i < template->n; i++) {
        const TemplatePart *part = &template->parts[i];
        if (part->sequence >= 0) encode_add_text(job, out, part, windows[i]);
        else if (!job->options->no_special) add_special(out, part);
    }
}

/* ---- overflow: every choice of windows but the main one, in the order of the reference ---- */

/* The choices for the first k parts become those for k + 1; a row of `parts` windows each. */
static size_t encode_widen_choices(const uint32_t *rows, size_t n, size_t parts, size_t k,
                                   size_t more, uint32_t *out)
{
    size_t count = 0;
    for (size_t row = 0; row <= n; row++) /* the last one is the main choice: all zero */
        for (size_t w = row == n; w <= more; w++, count++) {
            uint32_t *to = out + count * parts;
            if (row < n) memcpy(to, rows + row * parts, k * sizeof *to);
            else memset(to, 0, k * sizeof *to);
            memset(to + k, 0, (parts - k) * sizeof *to);
            to[k] = (uint32_t)w;
        }
    return count;
}

static bool add_overflow(const EncodeJob *job, Encoding *out, Err *err)
{
    size_t parts = job->template->n, n = 0;
    uint32_t *rows = NULL;
    for (size_t k = 0; k < parts; k++) {
        int s = job->template->parts[k].sequence;
        size_t more = s < 0 ? 0 : job->sides[s].n - 1, next = n * (more + 1) + more;
        uint32_t *wider = arena_try(job->arena, next, parts * sizeof *wider, MOST_CHOICES, err);
        if (!wider) return within(err, "overflow");
        n = encode_widen_choices(rows, n, parts, k, more, wider);
        rows = wider;
    }
    out->overflow = ARRAY(job->arena, Encoding, n);
    out->n_overflow = n;
    for (size_t i = 0; i < n; i++) encode_assemble(job, rows + i * parts, &out->overflow[i]);
    return true;
}

/* How many tokens of a text can matter; 0: all. Which of two texts is the longer matters, too. */
static size_t tokens_enough(const PostProcessor *post, bool pair, const EncodeOptions *options)
{
    size_t added = options->no_special ? 0 : pair ? post->pair.added : post->single.added;
    size_t limit = (size_t)MAX(options->max_length, 0);
    bool front = options->strategy == TRUNCATE_LONGEST_FIRST && !options->truncate_left &&
                 !options->overflow;
    return front && limit > added ? limit - added : 0;
}

static bool tokenize_sides(const Tokenizer *t, Arena *arena, Side sides[2], bool pair,
                           const EncodeOptions *options, Err *err)
{
    size_t enough = tokens_enough(&t->post, pair, options);
    sides[0].names = sides[1].names = options->tokens || t->post.trims;
    if (!tokenize_all(t, arena, &sides[0], enough, err) ||
        (pair && !tokenize_all(t, arena, &sides[1], enough, err)))
        return false;
    bool both = pair && sides[0].tokens.n > enough && sides[1].tokens.n > enough;
    if (!both || !(sides[0].stopped || sides[1].stopped)) return true;
    return tokenize_all(t, arena, &sides[0], 0, err) && tokenize_all(t, arena, &sides[1], 0, err);
}

static bool encode_sides(const Tokenizer *t, Arena *arena, Side sides[2], bool pair,
                         const EncodeOptions *options, Encoding *out, Err *err)
{
    EncodeOptions none = { 0 };
    if (!options) options = &none;
    Arena *work = options->work ? options->work : arena;
    if (!tokenize_sides(t, work, sides, pair, options, err)) return false;
    if (!truncate_sides(work, sides, pair, &t->post, options, err)) return false;
    EncodeJob job = { t, arena, sides, pair ? &t->post.pair : &t->post.single, options };
    encode_assemble(&job, ARRAY(arena, uint32_t, job.template->n), out);
    for (int s = 0; s < 2; s++)
        out->truncated |= sides[s].windows[0].to - sides[s].windows[0].from < sides[s].tokens.n;
    return !options->overflow || add_overflow(&job, out, err);
}

bool tokenizer_encode(const Tokenizer *t, Arena *arena, Str first, const Str *second,
                      const EncodeOptions *options, Encoding *out, Err *err)
{
    Side sides[2] = { { .words = { &first, 1 } }, { .words = { second, second ? 1 : 0 } } };
    return encode_sides(t, arena, sides, second, options, out, err);
}

bool tokenizer_encode_words(const Tokenizer *t, Arena *arena, Words first, const Words *second,
                            const EncodeOptions *options, Encoding *out, Err *err)
{
    Side sides[2] = { { .words = first, .split = true }, { .split = true } };
    if (second) sides[1].words = *second;
    return encode_sides(t, arena, sides, second, options, out, err);
}

/* ---- bytes to codepoints ---- */
typedef struct WindowPlace { /* in a text, counted both ways */
    size_t byte, chars;
} WindowPlace;
typedef struct Walker { /* starts and ends grow each for themselves: tokens may overlap */
    Str text;
    bool plain; /* ASCII: there is nothing to count */
    WindowPlace start, end;
} Walker;

static bool is_ascii(Str text)
{
    uint64_t word, high = 0;
    size_t i = 0;
    for (; i + sizeof word <= text.n; i += sizeof word)
        memcpy(&word, text.p + i, sizeof word), high |= word;
    for (; i < text.n; i++) high |= (unsigned char)text.p[i];
    return !(high & 0x8080808080808080u);
}

static int32_t walk_to(Str text, WindowPlace *at, int32_t byte)
{
    size_t target = MIN((size_t)byte, text.n);
    for (; at->byte < target; at->byte++) at->chars += (text.p[at->byte] & 0xc0) != 0x80;
    for (; at->byte > target; at->byte--) at->chars -= (text.p[at->byte - 1] & 0xc0) != 0x80;
    return (int32_t)at->chars;
}

static void to_chars(Encoding *e, Words texts[2], bool split, Walker walkers[2])
{
    for (size_t i = 0; i < e->n; i++) {
        if (e->special[i]) continue;
        Walker *w = &walkers[e->sequence[i]];
        Str text = texts[e->sequence[i]].items[split ? e->word[i] : 0];
        if (w->text.p != text.p) *w = (Walker){ .text = text, .plain = is_ascii(text) };
        if (w->plain) continue;
        e->start[i] = walk_to(text, &w->start, e->start[i]);
        e->end[i] = walk_to(text, &w->end, e->end[i]);
    }
    for (size_t i = 0; i < e->n_overflow; i++) to_chars(&e->overflow[i], texts, split, walkers);
}

void encoding_to_chars(Encoding *e, Str first, const Str *second)
{
    to_chars(e, (Words[2]){ { &first, 1 }, { second, second ? 1 : 0 } }, false, (Walker[2]){ 0 });
}

void encoding_to_chars_words(Encoding *e, Words first, const Words *second)
{
    to_chars(e, (Words[2]){ first, second ? *second : (Words){ 0 } }, true, (Walker[2]){ 0 });
}

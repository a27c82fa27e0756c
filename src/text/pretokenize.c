/* SPDX-License-Identifier: Apache-2.0
 * pretokenize.c - the kinds of `pre_tokenizer`: a piece of text in, words out.
 *
 * Most of them put each character into one of a few classes and cut where the class changes. */
#include "pretokenize.h"

#include "unicode.h"

typedef enum { CUT_REMOVE, CUT_ALONE, CUT_RUN, CUT_OTHER_RUN } CutKind;
typedef CutKind CutOf(uint16_t flags);

static CutKind bert_cut(uint16_t flags)
{
    return flags & UNICODE_SPACE ? CUT_REMOVE : flags & UNICODE_PUNCT ? CUT_ALONE : CUT_RUN;
}

static CutKind whitespace_cut(uint16_t flags) /* \w+|[^\w\s]+ */
{
    return flags & UNICODE_WORD ? CUT_RUN : flags & UNICODE_SPACE ? CUT_REMOVE : CUT_OTHER_RUN;
}

static CutKind whitespace_split_cut(uint16_t flags)
{
    return flags & UNICODE_SPACE ? CUT_REMOVE : CUT_RUN;
}

typedef struct Cutter {
    CutOf *cut;
    uint8_t ascii[128]; /* its answers */
} Cutter;

static bool cutter_load(Arena *arena, CutOf *cut, PreTokenizer *out)
{
    Cutter *cutter = NEW(arena, Cutter);
    cutter->cut = cut;
    for (uint32_t c = 0; c < 128; c++) cutter->ascii[c] = (uint8_t)cut(unicode_record(c)->flags);
    out->data = cutter;
    return true;
}

static bool bert_cutter_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    (void)v, (void)err;
    return cutter_load(arena, bert_cut, out);
}

static bool whitespace_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    (void)v, (void)err;
    return cutter_load(arena, whitespace_cut, out);
}

static bool whitespace_split_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    (void)v, (void)err;
    return cutter_load(arena, whitespace_split_cut, out);
}

static void cutter_run(const PreTokenizer *self, Text *text, Piece piece, Pieces *out)
{
    const Cutter *cutter = self->data;
    const char *p = text->p;
    CutKind before = CUT_REMOVE; /* class of the characters from `word` to `i` */
    size_t word = piece.from;
    for (size_t i = piece.from; i < piece.to;) {
        uint32_t code = (unsigned char)p[i];
        size_t length = code < 0x80 ? 1 : (size_t)utf8_take(p + i, &code);
        CutKind cut = code < 0x80 ? cutter->ascii[code] : cutter->cut(unicode_record(code)->flags);
        if (cut != before || cut == CUT_ALONE) {
            if (before != CUT_REMOVE) pieces_add(out, word, i, -1);
            word = i;
            before = cut;
        }
        i += length;
    }
    if (before != CUT_REMOVE) pieces_add(out, word, piece.to, -1);
}

/* ---- Sequence ---- */
typedef struct CutterSequence {
    PreTokenizer *items;
    size_t n;
} CutterSequence;

static bool sequence_cutter_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    const Value *list;
    if (!member_list(v, "pre_tokenizer Sequence", "pretokenizers", &list, err)) return false;
    CutterSequence *sequence = NEW(arena, CutterSequence);
    sequence->n = list->list.n;
    sequence->items = ARRAY(arena, PreTokenizer, sequence->n);
    for (size_t i = 0; i < sequence->n; i++)
        if (!pretokenizer_load(arena, &list->list.items[i], &sequence->items[i], err)) return false;
    out->data = sequence;
    return true;
}

static void sequence_cutter_run(const PreTokenizer *self, Text *text, Piece piece, Pieces *out)
{
    const CutterSequence *sequence = self->data;
    Pieces now = { .arena = out->arena };
    pieces_add(&now, piece.from, piece.to, -1);
    for (size_t i = 0; i < sequence->n; i++) {
        Pieces next = { .arena = out->arena };
        pretokenizer_run(&sequence->items[i], text, &now, &next);
        now = next;
    }
    for (size_t i = 0; i < now.n; i++) pieces_add(out, now.items[i].from, now.items[i].to, -1);
}

/* Behind a cut each part is a piece of its own, and the rest does not matter. */
static AtSpace sequence_at_space(const PreTokenizer *self)
{
    const CutterSequence *sequence = self->data;
    for (size_t i = 0; i < sequence->n; i++) {
        AtSpace at = pretokenizer_at_space(&sequence->items[i]);
        if (at != SPACE_PASSES) return at;
    }
    return SPACE_PASSES;
}

static AtSpace cutter_at_space(const PreTokenizer *self)
{
    (void)self;
    return SPACE_CUTS;
}

AtSpace pretokenizer_at_space(const PreTokenizer *self)
{
    return self->kind && self->kind->at_space ? self->kind->at_space(self) : SPACE_JOINS;
}

static const PreTokenizerKind kinds[] = {
    { "BertPreTokenizer", bert_cutter_load, cutter_run, cutter_at_space },
    { "ByteLevel", byte_level_load, byte_level_run, byte_level_at_space },
    { "CharDelimiterSplit", delimiter_load, chars_run, chars_at_space },
    { "Digits", digits_load, chars_run, chars_at_space },
    { "FixedLength", fixed_length_load, fixed_length_run },
    { "Metaspace", metaspace_load, metaspace_run, metaspace_at_space },
    { "Punctuation", punctuation_load, chars_run, chars_at_space },
    { "Sequence", sequence_cutter_load, sequence_cutter_run, sequence_at_space },
    { "Split", split_load, split_run, split_at_space },
    { "UnicodeScripts", NULL, scripts_run },
    { "Whitespace", whitespace_load, cutter_run, cutter_at_space },
    { "WhitespaceSplit", whitespace_split_load, cutter_run, cutter_at_space },
};

bool pretokenizer_load(Arena *arena, const Value *v, PreTokenizer *out, Err *err)
{
    if (!v || v->kind == V_NULL) return true;
    Str type;
    if (!component_type(v, "pre_tokenizer", &type, err)) return false;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!str_is(type, kinds[i].type)) continue;
        out->kind = &kinds[i];
        return !kinds[i].load || kinds[i].load(arena, v, out, err);
    }
    return component_unknown("pre_tokenizer", type, err);
}

void pretokenizer_run(const PreTokenizer *self, Text *text, const Pieces *in, Pieces *out)
{
    for (size_t i = 0; i < in->n; i++) {
        Piece piece = in->items[i];
        size_t from = text->n;
        if (piece.id >= 0 || !self->kind) pieces_add(out, piece.from, piece.to, piece.id);
        else if (!text->trouble) self->kind->run(self, text, piece, out);
        text_grew(text, from, piece.to - piece.from);
    }
}

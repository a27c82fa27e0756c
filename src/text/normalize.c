/* SPDX-License-Identifier: Apache-2.0
 * normalize.c - the kinds of `normalizer`: each reads characters with spans and appends others. */
#include "normalize.h"
#include "rewrite.h"
#include "unicode.h"

/* ---- BertNormalizer: clean, space out ideographs, strip accents, lower; one pass for all four
 * ---- */
typedef struct Bert {
    bool clean, cjk, strip, lower;
    uint8_t ascii[128]; /* what a character becomes; ASCII_DROP: nothing */
} Bert;
enum { ASCII_DROP = 0x80 };

static uint8_t bert_ascii(const Bert *bert, uint32_t code)
{
    const UnicodeRecord *record = unicode_record(code);
    if (bert->clean && record->flags & UNICODE_DROP) return ASCII_DROP;
    if (bert->clean && record->flags & UNICODE_SPACE) return ' ';
    return (uint8_t)(bert->lower ? code + (uint32_t)record->lower : code);
}

static bool bert_normalizer_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
{
    Bert *bert = NEW(arena, Bert);
    if (!member_bool(v, "BertNormalizer", "clean_text", &bert->clean, err) ||
        !member_bool(v, "BertNormalizer", "handle_chinese_chars", &bert->cjk, err) ||
        !member_bool(v, "BertNormalizer", "lowercase", &bert->lower, err))
        return false;
    const Value *strip = value_get(v, "strip_accents");
    bert->strip = bert->lower; /* null: as lowercase says */
    if (strip && strip->kind != V_NULL &&
        !member_bool(v, "BertNormalizer", "strip_accents", &bert->strip, err))
        return false;
    for (uint32_t c = 0; c < 128; c++) bert->ascii[c] = bert_ascii(bert, c);
    out->data = bert;
    return true;
}

static void bert_code(const Bert *bert, TextRewrite *rewrite, uint32_t code, Span at)
{
    uint16_t flags = unicode_record(code)->flags;
    if (bert->clean && flags & UNICODE_DROP) return;
    if (bert->clean && flags & UNICODE_SPACE) code = ' ';
    bool apart = bert->cjk && flags & UNICODE_CJK;
    if (apart) rewrite_code(rewrite, ' ', at);
    rewrite_code(rewrite, code, at);
    if (apart) rewrite_code(rewrite, ' ', at);
}

/* A run of ASCII from byte i on; returns where it ends. Such text has no marks and keeps its
 * length. */
static size_t bert_run_ascii(const Bert *bert, const Source *in, size_t i, Text *out)
{
    text_reserve(out, in->text.n - i);
    char *p = out->p + out->n;
    Span *at = out->at + out->n;
    for (; i < in->text.n && !(in->text.p[i] & 0x80); i++) {
        uint8_t to = bert->ascii[(unsigned char)in->text.p[i]];
        *p = (char)to;
        *at = source_span(in, i, 1);
        p += to != ASCII_DROP;
        at += to != ASCII_DROP;
    }
    out->n = (size_t)(p - out->p);
    return i;
}

static void bert_run(const Normalizer *self, Source in, Text *out)
{
    const Bert *bert = self->data;
    TextRewrite rewrite = { out, bert->strip, bert->strip ? UNICODE_MN : 0, bert->lower };
    for (size_t i = 0; i < in.text.n;) {
        unsigned char byte = (unsigned char)in.text.p[i];
        if (byte < 0x80 && bert->ascii[byte] != ASCII_DROP) { /* a dropped one does not end marks */
            rewrite_end(&rewrite);
            i = bert_run_ascii(bert, &in, i, out);
            continue;
        }
        uint32_t code;
        int length = utf8_take(in.text.p + i, &code);
        bert_code(bert, &rewrite, code, source_span(&in, i, length));
        i += (size_t)length;
    }
    rewrite_end(&rewrite);
}

/* ---- one rewrite each ---- */
static void lowercase_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    rewrite_source(&(TextRewrite){ .out = out, .lower = true }, in);
}

static void strip_accents_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    rewrite_source(&(TextRewrite){ .out = out, .remove = UNICODE_MARK }, in);
}

Source source_part(Source in, size_t from, size_t to)
{
    return (Source){ { in.text.p + from, to - from },
                     in.at ? in.at + from : NULL,
                     in.base + (int32_t)from };
}

/* ---- Strip: white space at the ends ---- */
typedef struct NormalizerStrip {
    bool left, right;
} NormalizerStrip;

static bool strip_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
{
    NormalizerStrip *strip = NEW(arena, NormalizerStrip);
    out->data = strip;
    return member_bool(v, "Strip", "strip_left", &strip->left, err) &&
           member_bool(v, "Strip", "strip_right", &strip->right, err);
}

static void strip_run(const Normalizer *self, Source in, Text *out)
{
    const NormalizerStrip *strip = self->data;
    size_t from = in.text.n, to = 0; /* of what is not white space */
    uint32_t code;
    for (size_t i = 0; i < in.text.n;) {
        size_t next = i + (size_t)utf8_take(in.text.p + i, &code);
        if (!(unicode_record(code)->flags & UNICODE_SPACE)) {
            from = MIN(from, i);
            to = next;
        }
        i = next;
    }
    if (!strip->left) from = 0;
    if (!strip->right) to = in.text.n;
    if (from < to) text_add(out, source_part(in, from, to));
}

/* ---- Prepend: every character of it has the span of the one it stands before ---- */
static void add_string(Text *out, Str string, Span at)
{
    uint32_t code;
    for (size_t i = 0; i < string.n;) {
        i += (size_t)utf8_take(string.p + i, &code);
        text_add_code(out, code, at);
    }
}

static bool prepend_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
{
    Str found, *prefix = NEW(arena, Str);
    if (!member_str(v, "Prepend", "prepend", &found, err)) return false;
    *prefix = (Str){ str_dup(arena, found), found.n };
    out->data = prefix;
    return true;
}

static void prepend_run(const Normalizer *self, Source in, Text *out)
{
    Str prefix = *(const Str *)self->data;
    uint32_t code;
    size_t length = (size_t)utf8_take(in.text.p, &code);
    Span first = source_span(&in, 0, (int)length);
    add_string(out, prefix, first);
    text_add_code(out, code, prefix.n ? first : (Span){ in.base, in.base }); /* as the reference */
    text_add(out, source_part(in, length, in.text.n));
}

/* ---- ByteLevel: a printable character for each byte ---- */
static void byte_level_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    uint32_t code;
    text_reserve(out, 2 * in.text.n);
    for (size_t i = 0; i < in.text.n;) {
        int length = utf8_take(in.text.p + i, &code);
        Span at = source_span(&in, i, length);
        for (int k = 0; k < length; k++, i++)
            text_add_code(out, byte_char((unsigned char)in.text.p[i]), at);
    }
}

/* ---- Nmt: controls go, other kinds of space become one ---- */
static bool nmt_drops(uint32_t c)
{
    return (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
           c == 0x9f;
}

static bool nmt_space(uint32_t c)
{
    return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 ||
           (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
           c == 0xfeff || c == 0xfffd;
}

static void nmt_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    uint32_t code;
    for (size_t i = 0; i < in.text.n;) {
        int length = utf8_take(in.text.p + i, &code);
        if (!nmt_drops(code))
            text_add_code(out, nmt_space(code) ? ' ' : code, source_span(&in, i, length));
        i += (size_t)length;
    }
}

/* ---- spans by counting ---- */
static void align_use(Aligner *a)
{
    uint32_t code;
    if (a->next >= a->in.text.n) return; /* the reference ends the program here */
    int length = utf8_take(a->in.text.p + a->next, &code);
    a->last = source_span(&a->in, a->next, length);
    a->next += (size_t)length;
    a->used = true;
}

void align_add(Aligner *a, uint32_t code, int change)
{
    if (change <= 0) align_use(a);
    if (!a->used) a->last = (Span){ a->in.base, a->in.base };
    text_add_code(a->out, code, a->last);
    for (; change < 0; change++) align_use(a);
}

/* ---- Sequence ---- */
typedef struct NormalizerSequence {
    Normalizer *items;
    size_t n;
} NormalizerSequence;

static bool sequence_normalizer_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
{
    const Value *list;
    if (!member_list(v, "normalizer Sequence", "normalizers", &list, err)) return false;
    NormalizerSequence *sequence = NEW(arena, NormalizerSequence);
    sequence->n = list->list.n;
    sequence->items = ARRAY(arena, Normalizer, sequence->n);
    for (size_t i = 0; i < sequence->n; i++)
        if (!normalizer_load(arena, &list->list.items[i], &sequence->items[i], err)) return false;
    out->data = sequence;
    return true;
}

static void sequence_normalizer_run(const Normalizer *self, Source in, Text *out)
{
    const NormalizerSequence *sequence = self->data;
    for (size_t i = 0; i < sequence->n; i++) {
        Text next = { .arena = out->arena, .given = out->given, .grown = out->grown };
        normalizer_run(&sequence->items[i], in, &next);
        in = (Source){ { next.p, next.n }, next.at, in.base };
        out->grown = next.grown;
        out->drifted |= next.drifted;
        out->trouble = next.trouble;
        if (next.trouble) return;
    }
    text_add(out, in);
}

static bool sequence_apart(const Normalizer *self)
{
    const NormalizerSequence *sequence = self->data;
    for (size_t i = 0; i < sequence->n; i++) {
        const Normalizer *one = &sequence->items[i];
        if (one->kind && !(one->kind->apart && one->kind->apart(one))) return false;
    }
    return true;
}

/* Character by character, whatever stands around it. */
static bool always_apart(const Normalizer *self)
{
    (void)self;
    return true;
}

static bool strip_apart(const Normalizer *self)
{
    return !((const NormalizerStrip *)self->data)->left; /* it would take the space */
}

static const NormalizerKind kinds[] = {
    { "BertNormalizer", bert_normalizer_load, bert_run, always_apart },
    { "ByteLevel", NULL, byte_level_run },
    { "Lowercase", NULL, lowercase_run, always_apart },
    { "NFC", NULL, nfc_run, always_apart },
    { "NFD", NULL, nfd_run, always_apart },
    { "NFKC", NULL, nfkc_run, always_apart },
    { "NFKD", NULL, nfkd_run, always_apart },
    { "Nmt", NULL, nmt_run, always_apart },
    { "Precompiled", precompiled_load, precompiled_run, precompiled_apart },
    { "Prepend", prepend_load, prepend_run },
    { "Replace", replace_load, replace_run, replace_apart },
    { "Sequence", sequence_normalizer_load, sequence_normalizer_run, sequence_apart },
    { "Strip", strip_load, strip_run, strip_apart },
    { "StripAccents", NULL, strip_accents_run, always_apart },
};

bool normalizer_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
{
    if (!v || v->kind == V_NULL) return true;
    Str type;
    if (!component_type(v, "normalizer", &type, err)) return false;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!str_is(type, kinds[i].type)) continue;
        out->kind = &kinds[i];
        return !kinds[i].load || kinds[i].load(arena, v, out, err);
    }
    return component_unknown("normalizer", type, err);
}

void normalizer_run(const Normalizer *normalizer, Source in, Text *out)
{
    size_t from = out->n;
    if (in.text.n == 0 || out->trouble) return; /* nothing comes from nothing */
    if (normalizer->kind) normalizer->kind->run(normalizer, in, out);
    else text_add(out, in);
    text_grew(out, from, in.text.n);
}

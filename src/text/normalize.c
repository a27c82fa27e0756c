/* SPDX-License-Identifier: Apache-2.0
 * normalize.c - the kinds of `normalizer`: each reads characters with spans and appends others. */
#include "pipeline.h"
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

static bool bert_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
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

static void bert_code(const Bert *bert, Rewrite *rewrite, uint32_t code, Span at)
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
    Rewrite rewrite = { out, bert->strip, bert->strip ? UNICODE_MN : 0, bert->lower };
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
static void nfd_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    rewrite_source(&(Rewrite){ .out = out, .decompose = true }, in);
}

static void lowercase_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    rewrite_source(&(Rewrite){ .out = out, .lower = true }, in);
}

static void strip_accents_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    rewrite_source(&(Rewrite){ .out = out, .remove = UNICODE_MARK }, in);
}

static Source source_part(Source in, size_t from, size_t to)
{
    return (Source){ { in.text.p + from, to - from },
                     in.at ? in.at + from : NULL,
                     in.base + (int32_t)from };
}

/* ---- Strip: white space at the ends ---- */
typedef struct Strip {
    bool left, right;
} Strip;

static bool strip_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
{
    Strip *strip = NEW(arena, Strip);
    out->data = strip;
    return member_bool(v, "Strip", "strip_left", &strip->left, err) &&
           member_bool(v, "Strip", "strip_right", &strip->right, err);
}

static void strip_run(const Normalizer *self, Source in, Text *out)
{
    const Strip *strip = self->data;
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

/* ---- Replace: one string by another (patterns that are regular expressions are refused) ---- */
typedef struct Replace {
    Str pattern, content;
} Replace;

static bool replace_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
{
    Str pattern, content;
    const Value *kinds = value_get(v, "pattern");
    if (value_get(kinds, "Regex"))
        return fail(err, EF_UNSUPPORTED,
                    "normalizer Replace: a regular expression is not supported");
    if (!member_str(kinds, "Replace.pattern", "String", &pattern, err) ||
        !member_str(v, "Replace", "content", &content, err))
        return false;
    if (pattern.n == 0)
        return fail(err, EF_UNSUPPORTED, "normalizer Replace: the pattern is empty");
    Replace *replace = NEW(arena, Replace);
    replace->pattern = (Str){ str_dup(arena, pattern), pattern.n };
    replace->content = (Str){ str_dup(arena, content), content.n };
    out->data = replace;
    return true;
}

/* The span of the character that ends before byte `end`. */
static Span span_before(const Source *in, size_t end)
{
    size_t i = end - 1;
    while ((in->text.p[i] & 0xc0) == 0x80) i--;
    return source_span(in, i, (int)(end - i));
}

static void replace_run(const Normalizer *self, Source in, Text *out)
{
    const Replace *replace = self->data;
    Str pattern = replace->pattern, content = replace->content;
    size_t done = 0;
    for (;;) {
        char *hit = done < in.text.n
                        ? memmem(in.text.p + done, in.text.n - done, pattern.p, pattern.n)
                        : NULL;
        size_t from = hit ? (size_t)(hit - in.text.p) : in.text.n;
        text_add(out, source_part(in, done, from));
        if (!hit) return;
        done = from + pattern.n;
        Span span = span_before(&in, done);
        uint32_t code;
        for (size_t i = 0; i < content.n;) {
            i += (size_t)utf8_take(content.p + i, &code);
            text_add_code(out, code, span);
        }
    }
}

/* ---- Sequence ---- */
typedef struct Sequence {
    Normalizer *items;
    size_t n;
} Sequence;

static bool sequence_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
{
    const Value *list;
    if (!member_list(v, "normalizer Sequence", "normalizers", &list, err)) return false;
    Sequence *sequence = NEW(arena, Sequence);
    sequence->n = list->list.n;
    sequence->items = ARRAY(arena, Normalizer, sequence->n);
    for (size_t i = 0; i < sequence->n; i++)
        if (!normalizer_load(arena, &list->list.items[i], &sequence->items[i], err)) return false;
    out->data = sequence;
    return true;
}

static void sequence_run(const Normalizer *self, Source in, Text *out)
{
    const Sequence *sequence = self->data;
    for (size_t i = 0; i < sequence->n; i++) {
        Text next = { .arena = out->arena };
        normalizer_run(&sequence->items[i], in, &next);
        in = (Source){ .text = { next.p, next.n }, .at = next.at };
    }
    text_add(out, in);
}

static const NormalizerKind kinds[] = {
    { "BertNormalizer", bert_load, bert_run },
    { "Lowercase", NULL, lowercase_run },
    { "NFD", NULL, nfd_run },
    { "Replace", replace_load, replace_run },
    { "Sequence", sequence_load, sequence_run },
    { "Strip", strip_load, strip_run },
    { "StripAccents", NULL, strip_accents_run },
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
    if (in.text.n == 0) return; /* nothing comes from nothing */
    if (normalizer->kind)
        normalizer->kind->run(normalizer, in, out);
    else
        text_add(out, in);
}

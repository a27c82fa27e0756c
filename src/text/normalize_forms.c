/* SPDX-License-Identifier: Apache-2.0
 * normalize_forms.c - NFC, NFKC, NFD, NFKD. Composition takes what decomposition gives, one stretch
 * at a time: from a character to the next one that nothing before it can change. Text between such
 * stretches is copied. */
#include "normalize.h"
#include "rewrite.h"
#include "unicode.h"

typedef struct Glyph { /* one character of a decomposition */
    uint32_t code;
    int change; /* see Aligner */
    uint8_t order;
} Glyph;

typedef struct Glyphs {
    Glyph *items;
    size_t n, cap;
} Glyphs;

typedef struct Composer {
    Aligner align;
    bool compatible;
    Glyphs marks;    /* since the last starter, to be sorted */
    uint64_t orders; /* bit set of those in marks */
    bool open;       /* there is a starter */
    Glyph starter;   /* and what was composed with it so far */
    Glyphs behind;   /* marks that stay behind it */
} Composer;

static void glyphs_add(Arena *arena, Glyphs *list, Glyph glyph)
{
    if (list->n == list->cap) {
        size_t cap = MAX(2 * list->cap, (size_t)16);
        Glyph *bigger = arena_raw(arena, cap * sizeof *bigger);
        if (list->n) memcpy(bigger, list->items, list->n * sizeof *bigger);
        list->items = bigger, list->cap = cap;
    }
    list->items[list->n++] = glyph;
}

static void close_starter(Composer *c)
{
    if (c->open) align_add(&c->align, c->starter.code, c->starter.change);
    for (size_t i = 0; i < c->behind.n; i++)
        align_add(&c->align, c->behind.items[i].code, c->behind.items[i].change);
    c->open = false, c->behind.n = 0;
}

/* Characters come in canonical order. */
static void forms_compose_glyph(Composer *c, Glyph glyph)
{
    if (!c->open && glyph.order) { /* a mark with nothing before it */
        align_add(&c->align, glyph.code, glyph.change);
        return;
    }
    uint8_t last = c->behind.n ? c->behind.items[c->behind.n - 1].order : 0;
    bool blocked = c->behind.n && last >= glyph.order;
    uint32_t code = c->open && !blocked ? unicode_compose(c->starter.code, glyph.code) : 0;
    if (code) {
        c->starter.code = code;
        c->starter.change += glyph.change - 1;
    } else if (glyph.order) {
        glyphs_add(c->align.out->arena, &c->behind, glyph);
    } else {
        close_starter(c);
        c->starter = glyph, c->open = true;
    }
}

/* A pass per order present instead of a sort: stable, and linear however long a run of marks. */
static void flush_marks(Composer *c)
{
    for (uint64_t left = c->orders; left; left &= left - 1)
        for (size_t i = 0; i < c->marks.n; i++)
            if (c->marks.items[i].order == __builtin_ctzll(left))
                forms_compose_glyph(c, c->marks.items[i]);
    c->marks.n = 0, c->orders = 0;
}

static void forms_decompose_code(Composer *c, uint32_t code)
{
    uint32_t parts[UNICODE_LONGEST];
    int n = unicode_decompose(code, c->compatible, parts);
    for (int i = 0; i < n; i++) {
        Glyph glyph = { parts[i], i > 0, unicode_record(parts[i])->order };
        if (glyph.order) {
            glyphs_add(c->align.out->arena, &c->marks, glyph);
            c->orders |= (uint64_t)1 << glyph.order;
            continue;
        }
        flush_marks(c);
        forms_compose_glyph(c, glyph);
    }
}

static size_t forms_char_at(Str text, size_t i, uint32_t *code)
{
    if (!(text.p[i] & 0x80)) return *code = (unsigned char)text.p[i], 1;
    return (size_t)utf8_take(text.p + i, code);
}

/* Where the run of characters from byte i on that stay as they are ends: before the last of them
 * where another follows that could join it. */
static size_t stable_end(Str text, size_t i, uint16_t unstable)
{
    size_t last = i;
    while (i < text.n) {
        uint32_t code;
        size_t length = forms_char_at(text, i, &code);
        if (code >= 0x80 && unicode_record(code)->flags & unstable) return last;
        last = i;
        i += length;
    }
    return i;
}

static void forms_compose_text(Source in, Text *out, bool compatible)
{
    Composer c = { .align = { .in = in, .out = out }, .compatible = compatible };
    uint16_t unstable = compatible ? UNICODE_NOT_NFKC : UNICODE_NOT_NFC;
    for (size_t i = 0; i < in.text.n;) {
        size_t end = stable_end(in.text, i, unstable);
        text_add(out, source_part(in, i, end));
        if ((i = end) == in.text.n) return;
        c.align.next = i;
        uint32_t code;
        do {
            i += forms_char_at(in.text, i, &code);
            forms_decompose_code(&c, code);
            if (i < in.text.n) forms_char_at(in.text, i, &code);
        } while (i < in.text.n && unicode_record(code)->flags & unstable);
        flush_marks(&c);
        close_starter(&c);
    }
}

void nfc_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    forms_compose_text(in, out, false);
}

void nfkc_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    forms_compose_text(in, out, true);
}

void nfd_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    rewrite_source(&(TextRewrite){ .out = out, .decompose = true }, in);
}

void nfkd_run(const Normalizer *self, Source in, Text *out)
{
    (void)self;
    rewrite_source(&(TextRewrite){ .out = out, .decompose = true, .compatible = true }, in);
}

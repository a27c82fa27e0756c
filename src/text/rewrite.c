/* SPDX-License-Identifier: Apache-2.0
 * rewrite.c - see rewrite.h.
 *
 * Spans follow the reference even where that is odd: after marks were sorted, the n-th one that
 * opens a source character gets the span of the n-th source character, whichever it came from; the
 * others get the span of the one before them. */
#include "rewrite.h"

#include "unicode.h"

static void rewrite_write_code(TextRewrite *r, uint32_t code, Span at)
{
    uint16_t flags = unicode_record(code)->flags;
    if (flags & r->remove) return;
    if (!r->lower || !(flags & UNICODE_LOWERS)) {
        text_add_code(r->out, code, at);
        return;
    }
    uint32_t low[2];
    int n = unicode_lower(code, low);
    for (int i = 0; i < n; i++) text_add_code(r->out, low[i], at);
}

static void rewrite_wait(TextRewrite *r, RewriteMark mark)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 16;
        RewriteMark *bigger = arena_raw(r->out->arena, cap * sizeof *bigger);
        if (r->n) memcpy(bigger, r->marks, r->n * sizeof *bigger);
        r->marks = bigger, r->cap = cap;
    }
    r->marks[r->n++] = mark;
    r->orders |= (uint64_t)1 << mark.order;
}

/* A pass per order present instead of a sort: stable, and linear however long a run of marks. */
void rewrite_end(TextRewrite *r)
{
    size_t source = 0;
    for (uint64_t left = r->orders; left; left &= left - 1) {
        int order = __builtin_ctzll(left);
        for (size_t i = 0; i < r->n; i++) {
            if (r->marks[i].order != order) continue;
            if (r->marks[i].first) {
                while (!r->marks[source].first) source++;
                r->last = r->marks[source++].at;
            }
            rewrite_write_code(r, r->marks[i].code, r->last);
        }
    }
    r->n = 0, r->orders = 0;
}

void rewrite_code(TextRewrite *r, uint32_t code, Span at)
{
    if (!r->decompose) {
        rewrite_write_code(r, code, at);
        return;
    }
    uint32_t parts[UNICODE_LONGEST];
    int n = unicode_decompose(code, r->compatible, parts);
    for (int i = 0; i < n; i++) {
        uint8_t order = unicode_record(parts[i])->order;
        if (order) {
            rewrite_wait(r, (RewriteMark){ parts[i], order, i == 0, at });
            continue;
        }
        if (r->n) rewrite_end(r);
        r->last = at;
        rewrite_write_code(r, parts[i], at);
    }
}

/* A run of ASCII from byte i on; returns where it ends. Nothing of it decomposes or is removed. */
static size_t rewrite_ascii(TextRewrite *r, const Source *in, size_t i)
{
    rewrite_end(r);
    text_reserve(r->out, in->text.n - i);
    size_t n = r->out->n;
    for (; i < in->text.n && !(in->text.p[i] & 0x80); i++, n++) {
        char c = in->text.p[i];
        r->out->p[n] = r->lower && c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        r->out->at[n] = source_span(in, i, 1);
    }
    r->last = r->out->at[n - 1];
    r->out->n = n;
    return i;
}

void rewrite_source(TextRewrite *r, Source in)
{
    uint32_t code;
    for (size_t i = 0; i < in.text.n;) {
        if (!(in.text.p[i] & 0x80)) {
            i = rewrite_ascii(r, &in, i);
            continue;
        }
        int length = utf8_take(in.text.p + i, &code);
        rewrite_code(r, code, source_span(&in, i, length));
        i += (size_t)length;
    }
    rewrite_end(r);
}

/* SPDX-License-Identifier: Apache-2.0
 * lower.c - lower case of whole texts. One character depends on its neighbours: a capital sigma
 * behind a letter becomes a final one, unless a letter follows. Characters that case ignores, such
 * as marks and apostrophes, are skipped on both sides (Unicode, Final_Sigma). */
#include "unicode.h"
#include "unicode_classes.h"

enum { CAPITAL_SIGMA = 0x3a3, FINAL_SIGMA = 0x3c2 };

static bool is_cased(uint32_t code)
{
    const ClassRecord *c = class_of(code);
    return c->posix & (POSIX_LOWER | POSIX_UPPER) || c->category == CATEGORY_LT;
}

static bool case_ignores(uint32_t code)
{
    static const uint32_t inside_words[] = { '\'', '.', ':', 0xb7, 0x387, 0x55f, 0x5f4, 0x2018, 0x2019,
                                             0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e,
                                             0xff1a };
    Category c = class_of(code)->category;
    if (c == CATEGORY_MN || c == CATEGORY_ME || c == CATEGORY_CF || c == CATEGORY_LM ||
        c == CATEGORY_SK)
        return true;
    for (size_t i = 0; i < COUNT(inside_words); i++)
        if (code == inside_words[i]) return true;
    return false;
}

static bool letter_follows(Str text, size_t at)
{
    uint32_t code;
    for (int n; at < text.n; at += (size_t)n) {
        n = utf8_decode(text.p + at, text.p + text.n, &code);
        if (!case_ignores(code)) return is_cased(code);
    }
    return false;
}

Str unicode_lower_text(Arena *arena, Str text)
{
    Buf out = { .arena = arena };
    bool letter = false; /* the last character that case does not ignore is one */
    char bytes[4];
    uint32_t code, low[2];
    for (size_t at = 0; at < text.n;) {
        at += (size_t)utf8_decode(text.p + at, text.p + text.n, &code);
        int n = unicode_lower(code, low);
        if (code == CAPITAL_SIGMA && letter && !letter_follows(text, at)) low[0] = FINAL_SIGMA;
        for (int i = 0; i < n; i++) buf_add(&out, bytes, (size_t)utf8_encode(low[i], bytes));
        if (!case_ignores(code)) letter = is_cased(code);
    }
    return buf_view(&out);
}

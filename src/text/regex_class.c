/* SPDX-License-Identifier: Apache-2.0
 * regex_class.c - sets of code points, and the names that properties have in patterns. */
#include "regex.h"

void class_add(Arena *arena, CharClass *c, ClassItem item)
{
    if (c->n == c->cap) {
        size_t cap = MAX(2 * c->cap, (size_t)4);
        ClassItem *bigger = ARRAY(arena, ClassItem, cap);
        if (c->n) memcpy(bigger, c->items, c->n * sizeof *bigger);
        c->items = bigger, c->cap = cap;
    }
    c->items[c->n++] = item;
}

static bool class_item_has(const ClassItem *item, uint32_t code)
{
    bool has = false;
    switch (item->kind) {
    case ITEM_RANGE: has = code >= item->low && code <= item->high; break;
    case ITEM_CATEGORIES: has = item->low >> class_of(code)->category & 1; break;
    case ITEM_POSIX: has = item->low & class_of(code)->posix; break;
    case ITEM_SCRIPT: has = item->low == script_of(code)->script; break;
    case ITEM_CLASS: has = class_slow(item->nested, code); break;
    }
    return has != item->negate;
}

static bool has_exactly(const CharClass *c, uint32_t code)
{
    for (size_t i = 0; i < c->n; i++)
        if (class_item_has(&c->items[i], code)) return !c->both || class_slow(c->both, code);
    return false;
}

bool class_slow(const CharClass *c, uint32_t code)
{
    bool has = has_exactly(c, code);
    if (c->fold)
        for (uint32_t k = unicode_fold_next(code); !has && k != code; k = unicode_fold_next(k))
            has = has_exactly(c, k);
    return has != c->negate;
}

void class_finish(CharClass *c)
{
    memset(c->ascii, 0, sizeof c->ascii);
    for (uint32_t code = 0; code < 128; code++)
        if (class_slow(c, code)) c->ascii[code / 32] |= 1u << code % 32;
}

uint32_t unicode_fold_next(uint32_t code)
{
    size_t low = 0, high = unicode_fold_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (unicode_folds[middle].code <= code) low = middle;
        else high = middle;
    }
    return unicode_folds[low].code == code ? unicode_folds[low].next : code;
}

/* ---- names ---- */
#define C(x) (1u << CATEGORY_##x)
enum {
    LETTERS = C(LL) | C(LM) | C(LO) | C(LT) | C(LU),
    MARKS = C(MC) | C(ME) | C(MN),
    NUMBERS = C(ND) | C(NL) | C(NO),
    PUNCTUATION = C(PC) | C(PD) | C(PE) | C(PF) | C(PI) | C(PO) | C(PS),
    SYMBOLS = C(SC) | C(SK) | C(SM) | C(SO),
    SEPARATORS = C(ZL) | C(ZP) | C(ZS),
    OTHERS = C(CN) | C(CC) | C(CF) | C(CO) | C(CS)
};

static const struct {
    const char *name, *longer;
    ItemKind kind;
    uint32_t set;
} properties[] = {
    { "L", "Letter", ITEM_CATEGORIES, LETTERS },
    { "LC", "CasedLetter", ITEM_CATEGORIES, C(LL) | C(LT) | C(LU) },
    { "Lu", "UppercaseLetter", ITEM_CATEGORIES, C(LU) },
    { "Ll", "LowercaseLetter", ITEM_CATEGORIES, C(LL) },
    { "Lt", "TitlecaseLetter", ITEM_CATEGORIES, C(LT) },
    { "Lm", "ModifierLetter", ITEM_CATEGORIES, C(LM) },
    { "Lo", "OtherLetter", ITEM_CATEGORIES, C(LO) },
    { "M", "Mark", ITEM_CATEGORIES, MARKS },
    { "Mn", "NonspacingMark", ITEM_CATEGORIES, C(MN) },
    { "Mc", "SpacingMark", ITEM_CATEGORIES, C(MC) },
    { "Me", "EnclosingMark", ITEM_CATEGORIES, C(ME) },
    { "N", "Number", ITEM_CATEGORIES, NUMBERS },
    { "Nd", "DecimalNumber", ITEM_CATEGORIES, C(ND) },
    { "Digit", NULL, ITEM_CATEGORIES, C(ND) },
    { "Nl", "LetterNumber", ITEM_CATEGORIES, C(NL) },
    { "No", "OtherNumber", ITEM_CATEGORIES, C(NO) },
    { "P", "Punctuation", ITEM_CATEGORIES, PUNCTUATION },
    { "Pc", "ConnectorPunctuation", ITEM_CATEGORIES, C(PC) },
    { "Pd", "DashPunctuation", ITEM_CATEGORIES, C(PD) },
    { "Ps", "OpenPunctuation", ITEM_CATEGORIES, C(PS) },
    { "Pe", "ClosePunctuation", ITEM_CATEGORIES, C(PE) },
    { "Pi", "InitialPunctuation", ITEM_CATEGORIES, C(PI) },
    { "Pf", "FinalPunctuation", ITEM_CATEGORIES, C(PF) },
    { "Po", "OtherPunctuation", ITEM_CATEGORIES, C(PO) },
    { "S", "Symbol", ITEM_CATEGORIES, SYMBOLS },
    { "Sc", "CurrencySymbol", ITEM_CATEGORIES, C(SC) },
    { "Sk", "ModifierSymbol", ITEM_CATEGORIES, C(SK) },
    { "Sm", "MathSymbol", ITEM_CATEGORIES, C(SM) },
    { "So", "OtherSymbol", ITEM_CATEGORIES, C(SO) },
    { "Z", "Separator", ITEM_CATEGORIES, SEPARATORS },
    { "Zs", "SpaceSeparator", ITEM_CATEGORIES, C(ZS) },
    { "Zl", "LineSeparator", ITEM_CATEGORIES, C(ZL) },
    { "Zp", "ParagraphSeparator", ITEM_CATEGORIES, C(ZP) },
    { "C", "Other", ITEM_CATEGORIES, OTHERS },
    { "Cc", "Control", ITEM_CATEGORIES, C(CC) },
    { "Cntrl", NULL, ITEM_CATEGORIES, C(CC) },
    { "Cf", "Format", ITEM_CATEGORIES, C(CF) },
    { "Cn", "Unassigned", ITEM_CATEGORIES, C(CN) },
    { "Co", "PrivateUse", ITEM_CATEGORIES, C(CO) },
    { "Cs", "Surrogate", ITEM_CATEGORIES, C(CS) },
    { "Any", NULL, ITEM_CATEGORIES, UINT32_MAX },
    { "Assigned", NULL, ITEM_CATEGORIES, ~C(CN) },
    { "Alpha", "Alphabetic", ITEM_POSIX, POSIX_ALPHA },
    { "Alnum", NULL, ITEM_CLASS, 0 },
    { "Lower", "Lowercase", ITEM_POSIX, POSIX_LOWER },
    { "Upper", "Uppercase", ITEM_POSIX, POSIX_UPPER },
    { "Punct", NULL, ITEM_POSIX, POSIX_PUNCT },
    { "Space", "WhiteSpace", ITEM_POSIX, POSIX_SPACE },
    { "Word", NULL, ITEM_POSIX, POSIX_WORD },
    { "Graph", NULL, ITEM_POSIX, POSIX_GRAPH },
    { "Print", NULL, ITEM_POSIX, POSIX_PRINT },
    { "Blank", NULL, ITEM_POSIX, POSIX_BLANK },
    { "XDigit", NULL, ITEM_POSIX, POSIX_XDIGIT },
    { "ASCII", NULL, ITEM_RANGE, 127 },
};

/* Letters of names count without case; spaces, - and _ do not count. */
static bool same_name(Str a, const char *b)
{
    size_t i = 0;
    for (;; i++, b++) {
        while (i < a.n && (a.p[i] == ' ' || a.p[i] == '-' || a.p[i] == '_')) i++;
        while (*b == '_') b++;
        if (i == a.n || !*b) return i == a.n && !*b;
        char x = a.p[i], y = *b;
        if (x >= 'A' && x <= 'Z') x = (char)(x + 32);
        if (y >= 'A' && y <= 'Z') y = (char)(y + 32);
        if (x != y) return false;
    }
}

static const CharClass alnum = {
    .items = (ClassItem[]){ { ITEM_POSIX, .low = POSIX_ALPHA }, { ITEM_CATEGORIES, .low = C(ND) } },
    .n = 2,
};

bool class_property(Str name, ClassItem *out)
{
    for (size_t i = 0; i < COUNT(properties); i++) {
        const char *longer = properties[i].longer;
        if (!same_name(name, properties[i].name) && !(longer && same_name(name, longer))) continue;
        uint32_t set = properties[i].set;
        bool range = properties[i].kind == ITEM_RANGE;
        *out = (ClassItem){ properties[i].kind, false, range ? 0 : set, range ? set : 0, &alnum };
        return true;
    }
    for (size_t i = 0; i < script_count; i++)
        if (same_name(name, script_names[i]))
            return *out = (ClassItem){ ITEM_SCRIPT, .low = (uint32_t)i }, true;
    return false;
}

/* SPDX-License-Identifier: Apache-2.0
 * unicode.c - reading the generated tables, and the two things that are not in them: Hangul
 * syllables, which decompose by arithmetic, and the one lower case of two characters. */
#include "unicode.h"

enum { HANGUL = 0xac00, HANGUL_COUNT = 11172, VOWELS_TAILS = 588, TAILS = 28 };
enum { HANGUL_LEAD = 0x1100, HANGUL_VOWEL = 0x1161, HANGUL_TAIL = 0x11a7, LEADS = 19, VOWELS = 21 };

static int hangul_decompose(uint32_t syllable, uint32_t out[UNICODE_LONGEST])
{
    out[0] = HANGUL_LEAD + syllable / VOWELS_TAILS;
    out[1] = HANGUL_VOWEL + syllable % VOWELS_TAILS / TAILS;
    out[2] = HANGUL_TAIL + syllable % TAILS;
    return syllable % TAILS ? 3 : 2;
}

static int unicode_map_code(const UnicodeDecomposition *table, size_t count, uint32_t code,
                            uint32_t *out)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (table[middle].code <= code) low = middle;
        else high = middle;
    }
    assert(table[low].code == code && table[low].n <= UNICODE_LONGEST);
    memcpy(out, unicode_pool + table[low].at, table[low].n * sizeof *out);
    return table[low].n;
}

int unicode_decompose(uint32_t code, bool compatible, uint32_t out[UNICODE_LONGEST])
{
    out[0] = code;
    if (code - HANGUL < HANGUL_COUNT) return hangul_decompose(code - HANGUL, out);
    uint16_t flags = unicode_record(code)->flags;
    if (compatible && flags & UNICODE_EXPANDS)
        return unicode_map_code(unicode_expansions, unicode_expansion_count, code, out);
    if (flags & UNICODE_DECOMPOSES)
        return unicode_map_code(unicode_decompositions, unicode_decomposition_count, code, out);
    return 1;
}

static uint32_t hangul_compose(uint32_t first, uint32_t second)
{
    uint32_t lead = first - HANGUL_LEAD, vowel = second - HANGUL_VOWEL, tail = second - HANGUL_TAIL;
    if (lead < LEADS && vowel < VOWELS) return HANGUL + lead * VOWELS_TAILS + vowel * TAILS;
    bool open = first - HANGUL < HANGUL_COUNT && (first - HANGUL) % TAILS == 0;
    return open && tail - 1 < TAILS - 1 ? first + tail : 0;
}

uint32_t unicode_compose(uint32_t first, uint32_t second)
{
    uint32_t syllable = hangul_compose(first, second);
    if (syllable) return syllable;
    size_t low = 0, high = unicode_composition_count;
    uint64_t wanted = (uint64_t)first << 32 | second;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        const UnicodeComposition *at = &unicode_compositions[middle];
        if (((uint64_t)at->first << 32 | at->second) <= wanted) low = middle;
        else high = middle;
    }
    const UnicodeComposition *found = &unicode_compositions[low];
    return found->first == first && found->second == second ? found->code : 0;
}

int unicode_lower(uint32_t code, uint32_t out[2])
{
    out[0] = code + (uint32_t)unicode_record(code)->lower;
    if (code != 0x130) return 1;
    out[1] = 0x307; /* the dot of a capital I with dot above */
    return 2;
}

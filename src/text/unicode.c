/* SPDX-License-Identifier: Apache-2.0
 * unicode.c - reading the generated tables, and the two things that are not in them: Hangul
 * syllables, which decompose by arithmetic, and the one lower case of two characters. */
#include "unicode.h"

enum { HANGUL = 0xac00, HANGUL_COUNT = 11172, VOWELS_TAILS = 588, TAILS = 28 };

static int hangul(uint32_t syllable, uint32_t out[UNICODE_LONGEST])
{
    out[0] = 0x1100 + syllable / VOWELS_TAILS;
    out[1] = 0x1161 + syllable % VOWELS_TAILS / TAILS;
    out[2] = 0x11a7 + syllable % TAILS;
    return syllable % TAILS ? 3 : 2;
}

int unicode_decompose(uint32_t code, uint32_t out[UNICODE_LONGEST])
{
    out[0] = code;
    if (code - HANGUL < HANGUL_COUNT) return hangul(code - HANGUL, out);
    if (!(unicode_record(code)->flags & UNICODE_DECOMPOSES)) return 1;
    size_t low = 0, high = unicode_decomposition_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (unicode_decompositions[middle].code <= code)
            low = middle;
        else
            high = middle;
    }
    const UnicodeDecomposition *found = &unicode_decompositions[low];
    assert(found->code == code && found->n <= UNICODE_LONGEST);
    memcpy(out, unicode_pool + found->at, found->n * sizeof *out);
    return found->n;
}

int unicode_lower(uint32_t code, uint32_t out[2])
{
    out[0] = code + (uint32_t)unicode_record(code)->lower;
    if (code != 0x130) return 1;
    out[1] = 0x307; /* the dot of a capital I with dot above */
    return 2;
}

/* SPDX-License-Identifier: Apache-2.0
 * unicode.h - the properties of each code point in the reference tokenizer. Not those of
 * Unicode: the reference mixes several versions of it, so the tables are its answers
 * (tools/oracle/unicode.py).
 *
 * Easy to get wrong: the two notions of an accent differ (MN: BertNormalizer, MARK: StripAccents),
 * and a code point can be both DROP and SPACE (U+000B), then it is dropped. */
#ifndef TEXT_UNICODE_H
#define TEXT_UNICODE_H
#include "base/base.h"

enum {
    UNICODE_DROP = 1,         /* clean_text removes it */
    UNICODE_SPACE = 2,        /* white space, for every kind */
    UNICODE_CJK = 4,          /* handle_chinese_chars puts spaces around it */
    UNICODE_PUNCT = 8,        /* BertPreTokenizer makes it a word of its own */
    UNICODE_MN = 16,          /* strip_accents of BertNormalizer removes it (after NFD) */
    UNICODE_MARK = 32,        /* StripAccents removes it */
    UNICODE_WORD = 64,        /* \w */
    UNICODE_DECOMPOSES = 128, /* NFD changes it; not set for Hangul syllables */
    UNICODE_LOWERS = 256,     /* has a lower case */
    UNICODE_NUMERIC = 512,    /* Digits makes it a word */
    UNICODE_EXPANDS = 1024,   /* NFKD changes it, and otherwise than NFD */
    UNICODE_NOT_NFC = 2048,   /* NFC may change it, or what is before it; NFKC likewise: */
    UNICODE_NOT_NFKC = 4096   /* a run of characters without the flag stays as it is */
};

typedef struct UnicodeRecord { /* shared by all code points that answer alike */
    uint16_t flags;            /* UNICODE_* */
    uint8_t order;             /* rank of the combining class, below 64; 0: a starter */
    int32_t lower;             /* what to add for the lower case */
} UnicodeRecord;
typedef struct UnicodeDecomposition { /* sorted by code */
    uint32_t code;
    uint16_t at; /* in unicode_pool */
    uint8_t n;
} UnicodeDecomposition;

typedef struct UnicodeComposition { /* sorted by first, then second */
    uint32_t first, second, code;
} UnicodeComposition;

enum { UNICODE_BLOCK = 128, UNICODE_LONGEST = 18 }; /* leaves of a block; most parts of one NFKD */
extern const uint8_t unicode_index[0x110000 / UNICODE_BLOCK];
extern const uint8_t unicode_leaves[];
extern const UnicodeRecord unicode_records[];
extern const UnicodeDecomposition unicode_decompositions[];
extern const size_t unicode_decomposition_count;
extern const UnicodeDecomposition unicode_expansions[];
extern const size_t unicode_expansion_count;
extern const UnicodeComposition unicode_compositions[];
extern const size_t unicode_composition_count;
extern const uint32_t unicode_pool[];

static inline const UnicodeRecord *unicode_record(uint32_t code) /* code below 0x110000 */
{
    size_t block = unicode_index[code / UNICODE_BLOCK];
    return &unicode_records[unicode_leaves[block * UNICODE_BLOCK + code % UNICODE_BLOCK]];
}
/* Full decomposition, canonical or compatible, in canonical order, or itself. Returns the count. */
int unicode_decompose(uint32_t code, bool compatible, uint32_t out[UNICODE_LONGEST]);
uint32_t unicode_compose(uint32_t first, uint32_t second); /* 0: they do not compose */
/* Lower case of one code point, without context (no final sigma). Returns the count. */
int unicode_lower(uint32_t code, uint32_t out[2]);
/* Lower case of a text, as Python's str.lower gives it: with the final sigma. */
Str unicode_lower_text(Arena *, Str text);

#endif

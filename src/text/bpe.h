/* SPDX-License-Identifier: Apache-2.0
 * bpe.h - what bpe.c (a word to symbols to tokens), bpe_load.c (the file), bpe_tables.c (tables
 * made from the vocabulary) and bpe_merge.c (symbols merged) share. */
#ifndef TEXT_BPE_H
#define TEXT_BPE_H
#include "pieces.h"
#include "vocab.h"

enum { CHAR_PAGE = 256, CHAR_PAGES = 0x110000 / CHAR_PAGE };
enum { INSIDE = 1, LAST = 2, PLACES = 4 }; /* where a character stands in its word */
typedef struct CharIds {                   /* tokens of one character */
    const uint16_t *pages;                 /* [PLACES][CHAR_PAGES]; page 0 is empty */
    const int32_t *ids;                    /* of CHAR_PAGE characters a page; -1: none */
    size_t n;                              /* ids */
} CharIds;

typedef struct Merge { /* a pair and what it becomes; only while it is loaded */
    int32_t left, right, id;
} Merge;
typedef struct MergeSlot { /* of the table of pairs; see MergeHash */
    uint32_t tag;
    uint32_t rank; /* + 1; 0: free */
} MergeSlot;
/* Two ids are one number of 2 * id_bits, which is multiplied by an odd one, without loss. The
 * upper bits of the product are the slot where the pair belongs; its other bits (at most
 * TAG_BITS), and above them the distance from there to the slot where it is, are the tag: a slot
 * identifies its pair exactly, and the pair itself need not be read. */
typedef struct MergeHash {
    uint64_t left, right; /* factors, which also move the number to the top of a word */
    int slot_bits;        /* log2 of the number of slots */
    int id_bits;
} MergeHash;
enum { MERGE_ID_BITS = 24, TAG_BITS = 25, SEEN_LOG = 2 };
#define TAG_STEP ((uint32_t)1 << TAG_BITS)
bool merge_hash_make(int id_bits, int slot_bits, MergeHash *out); /* false: these do not go */
typedef struct Merges {
    const MergeSlot *slots; /* open addressing by the pair; NULL: no BPE */
    const uint64_t *seen;   /* 2^SEEN_LOG bits a slot: a pair whose bit is not set is not there */
    MergeHash hash;
    const int32_t *ids;    /* by rank: what the pair becomes */
    size_t n;              /* ranks */
    bool grow;             /* a merged token is always longer: no pair of its past can come back */
    const uint64_t *joins; /* a bit for each hash of two characters: some token has them so */
    int joins_shift;       /* 64 - log2 of the number of bits */
    const uint32_t *quick; /* [QUICK_CODES][QUICK_CODES]: ranks of two characters; NULL: none */
    CharIds chars;
} Merges;
enum { QUICK_CODES = 0x144 }; /* characters below: all those of byte-level vocabularies */
#define RANK_NONE UINT32_MAX

typedef struct BpeSymbol { /* a part of a word, in a list */
    int32_t id;
    union {
        int32_t prev;
        uint32_t code; /* before it is merged: its character; QUICK_CODES: another thing */
    };
    int32_t next;
    int32_t length; /* bytes of the word; 0: merged into another */
} BpeSymbol;
enum { BPE_SCRATCH = 5 }; /* uint64s that a symbol needs in all */

/* A pair, shuffled; and what it is called in the slot where it belongs. */
static inline uint64_t merge_shuffled(const MergeHash *h, int32_t left, int32_t right)
{
    return (uint32_t)left * h->left + (uint32_t)right * h->right;
}
static inline uint32_t merge_tag(const MergeHash *h, uint64_t shuffled)
{
    return (uint32_t)(shuffled << h->slot_bits >> (64 - TAG_BITS));
}
static inline size_t merge_seen_words(const MergeHash *h)
{
    return ((size_t)1 << (h->slot_bits + SEEN_LOG)) / 64; /* there are sixteen slots and more */
}
static inline bool bit_is_set(const uint64_t *bits, uint64_t at)
{
    return bits[at / 64] >> at % 64 & 1;
}
static inline void bit_set(uint64_t *bits, uint64_t at)
{
    bits[at / 64] |= (uint64_t)1 << at % 64;
}
/* Symbols 0 .. n with their codes, as neighbours, in scratch of BPE_SCRATCH * n: merged as far as
 * they go; the list from symbol 0 on is the outcome. */
void bpe_merge(const Merges *, BpeSymbol *symbols, size_t n);

/* ---- bpe_tables.c ---- */
/* The table of these pairs, by rank. Ids are at most `greatest`. */
bool bpe_pairs_build(Arena *, const Merge *list, int32_t greatest, Merges *, Err *);
typedef struct BpeAffixes { /* of a character inside a word; of the last one */
    Str prefix, suffix;
} BpeAffixes;
void bpe_chars_build(Arena *, const Vocab *, BpeAffixes, CharIds *out);
void bpe_quick_build(Arena *, const Merge *list, Merges *); /* of characters without affixes */
/* The id of a character; -1: it is no token. A mapped table may say anything. */
static inline int32_t bpe_char(const CharIds *c, uint32_t code, int where)
{
    size_t page = c->pages[(size_t)where * CHAR_PAGES + code / CHAR_PAGE];
    size_t at = page * CHAR_PAGE + code % CHAR_PAGE;
    return at < c->n ? c->ids[at] : -1;
}
/* Characters that stand side by side in no token can be taken apart beforehand. */
void bpe_joins_build(Arena *, const Merge *list, const Vocab *, Merges *);
static inline uint64_t join_hash(uint32_t left, uint32_t right)
{
    return ((uint64_t)left << 21 | right) * 0x9e3779b97f4a7c15u;
}
static inline bool bpe_joins(const Merges *m, uint32_t left, uint32_t right)
{
    return bit_is_set(m->joins, join_hash(left, right) >> m->joins_shift);
}

#endif

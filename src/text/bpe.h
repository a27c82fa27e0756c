/* SPDX-License-Identifier: Apache-2.0
 * bpe.h - what bpe.c (loading, characters to symbols) and bpe_merge.c (symbols to tokens) share. */
#ifndef TEXT_BPE_H
#define TEXT_BPE_H
#include "pieces.h"

typedef struct Merge { /* a slot of the table of pairs */
    int32_t left, right;
    uint32_t rank;
    int32_t id; /* of what they become; -1: free slot */
} Merge;
typedef struct Merges { /* open addressing by the pair */
    Merge *slots;
    int shift;
    const int32_t *ids; /* by rank: what the pair becomes */
    size_t n;           /* ranks */
    bool grow;          /* a merged token is always longer: no pair of its past can come back */
} Merges;
#define RANK_NONE UINT32_MAX

typedef struct Symbol { /* a part of a word, in a list */
    int32_t id, prev, next;
    int32_t length; /* bytes of the word; 0: merged into another */
} Symbol;
enum { BPE_SCRATCH = 5 }; /* uint64s that a symbol needs in all */

static inline size_t merge_slot(const Merges *m, int32_t left, int32_t right)
{
    uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    return (size_t)((pair * 0x9e3779b97f4a7c15u ^ pair >> 29) * 0xbf58476d1ce4e5b9u >> m->shift);
}
/* Symbols 0 .. n as neighbours, in scratch of BPE_SCRATCH * n: merged as far as they go; the list
 * from symbol 0 on is the outcome. */
void bpe_merge(const Merges *, Symbol *symbols, size_t n);

/* bpe_cache.c: tokens of words that this thread has merged before. */
uint32_t bpe_cache_model(void); /* a name for a model, never given again */
bool bpe_cache_find(uint32_t model, uint64_t hash, Str word, Tokens *out); /* true: added */
void bpe_cache_keep(uint32_t model, uint64_t hash, Str word, const Token *tokens, size_t n);

#endif

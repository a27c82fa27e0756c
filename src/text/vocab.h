/* SPDX-License-Identifier: Apache-2.0
 * vocab.h - token to id, for any model. A hash that can be continued byte by byte lets a model ask
 * for all prefixes of a word after one walk over it. */
#ifndef TEXT_VOCAB_H
#define TEXT_VOCAB_H
#include "data/value.h"

typedef struct VocabEntry {
    const char *p;
    uint32_t n;
    int32_t id;
} VocabEntry;
typedef struct Vocab { /* open addressing by a hash that grows byte by byte */
    VocabEntry *entries;
    size_t n;
    struct VocabSlot *slots;
    int shift;        /* a slot is hash >> shift */
    size_t longest;   /* bytes of the longest token */
    int32_t greatest; /* id; -1: empty */
    size_t size;      /* tokens as the reference counts them: added ones begin here */
    const Str *names; /* of each id, where one piece may have several; else NULL */
} Vocab;
enum { VOCAB_SCATTER = 65536 }; /* ids may be this far above eight times their number */
bool vocab_load(Arena *, const Value *map, Vocab *, Err *);
/* The same from [["piece", score], ...]: the id is the place. The scores, one each, go to *scores. */
bool vocab_load_list(Arena *, const Value *list, Vocab *, double **scores, Err *);
int32_t vocab_find(const Vocab *, Str token); /* -1: absent */
/* The hash of a token, one byte at a time; and the id of head + tail, whose hash is known. */
#define VOCAB_SEED 0xcbf29ce484222325u
static inline uint64_t vocab_step(uint64_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * 0x9e3779b97f4a7c15u;
}
int32_t vocab_find_hashed(const Vocab *, uint64_t hash, Str head, Str tail);
/* The same, but its place in `entries`. */
int64_t vocab_entry_hashed(const Vocab *, uint64_t hash, Str head, Str tail);

#endif

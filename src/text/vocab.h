/* SPDX-License-Identifier: Apache-2.0
 * vocab.h - token to id, for any model. A hash that can be continued byte by byte lets a model ask
 * for all prefixes of a word after one walk over it. */
#ifndef TEXT_VOCAB_H
#define TEXT_VOCAB_H
#include "data/value.h"

typedef struct VocabEntry {
    uint32_t at;      /* its first byte in `texts`; the next entry's is its end */
    int32_t id;
} VocabEntry;
/* One of 2^b slots: in the low b bits the index of an entry + 1 (0: free), above it low bits of the
 * hash, which tell most others apart without touching bytes. */
typedef uint32_t VocabSlot;
typedef struct Vocab { /* open addressing by a hash that grows byte by byte; no pointers inside */
    const char *texts; /* of all tokens, one after the other */
    size_t texts_n;
    VocabEntry *entries; /* n, and one that ends the last */
    size_t n;
    VocabSlot *slots;
    int shift;        /* 64 - b: a slot is hash >> shift */
    int32_t *by_id;   /* greatest + 1 of them: the entry of an id; -1: a hole; NULL: the id itself */
    size_t longest;   /* bytes of the longest token */
    int32_t greatest; /* id; -1: empty */
    size_t size;      /* tokens as the reference counts them: added ones begin here */
} Vocab;
enum { VOCAB_SCATTER = 65536 }; /* ids may be this far above eight times their number */
bool vocab_load(Arena *, const Value *map, Vocab *, Err *);
/* The same from [["piece", score], ...]: the id is the place. One score each goes to *scores. */
bool vocab_load_list(Arena *, const Value *list, Vocab *, double **scores, Err *);
int32_t vocab_find(const Vocab *, Str token); /* -1: absent */
/* Tables may be mapped from an untrusted file: every index is checked where it is used, and one
 * out of range counts as absent. */
static inline Str vocab_text(const Vocab *vocab, size_t entry) /* p NULL: no such entry */
{
    if (entry >= vocab->n) return (Str){ 0 };
    uint32_t at = vocab->entries[entry].at, end = vocab->entries[entry + 1].at;
    if (at > end || end > vocab->texts_n) return (Str){ 0 };
    return (Str){ vocab->texts + at, end - at };
}
static inline Str vocab_name(const Vocab *vocab, int32_t id) /* p NULL: no such id */
{
    if (id < 0 || id > vocab->greatest) return (Str){ 0 };
    return vocab_text(vocab, (size_t)(vocab->by_id ? (int64_t)vocab->by_id[id] : id));
}
static inline int32_t vocab_id(const Vocab *vocab, int64_t entry) /* -1: of no entry */
{
    if (entry < 0 || (size_t)entry >= vocab->n) return -1;
    int32_t id = vocab->entries[entry].id;
    return id > vocab->greatest ? -1 : id;
}
/* The hash of a token, one byte at a time; and the id of head + tail, whose hash is known. */
#define VOCAB_SEED 0xcbf29ce484222325u
static inline uint64_t vocab_step(uint64_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * 0x9e3779b97f4a7c15u;
}
static inline uint64_t vocab_hash(uint64_t hash, Str s)
{
    for (size_t i = 0; i < s.n; i++) hash = vocab_step(hash, s.p[i]);
    return hash;
}
int32_t vocab_find_hashed(const Vocab *, uint64_t hash, Str head, Str tail);
/* The same, but its place in `entries`. */
int64_t vocab_entry_hashed(const Vocab *, uint64_t hash, Str head, Str tail);

#endif

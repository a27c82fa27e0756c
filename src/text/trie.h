/* SPDX-License-Identifier: Apache-2.0
 * trie.h - all pieces that a text starts with, one after the other: a double array. A child by byte
 * b of node n is unit base(n) + b, if that unit's check says n. Node 0 is the root. */
#ifndef TEXT_TRIE_H
#define TEXT_TRIE_H
#include "base/base.h"

typedef struct TrieUnit {
    uint32_t base;  /* twice the place of its children; odd: a piece ends here */
    uint32_t check; /* its parent */
    double score;   /* of that piece */
} TrieUnit;
typedef struct Trie {
    TrieUnit *units;
    int32_t *ids; /* of the piece that ends in a node */
    size_t size;  /* of both */
} Trie;
typedef struct TriePiece {
    Str text;
    int32_t id;
    double score;
} TriePiece;

enum { TRIE_ENDS = 1 };
#define TRIE_FREE UINT32_MAX
/* Sorts the pieces; of equal ones the greatest id counts. False: more nodes than it can hold. */
bool trie_build(Arena *, TriePiece *pieces, size_t n, Trie *out, Err *);
static inline uint32_t trie_child(const Trie *t, uint32_t node, char byte) /* TRIE_FREE: none */
{
    size_t at = (t->units[node].base >> 1) + (unsigned char)byte;
    return at < t->size && t->units[at].check == node ? (uint32_t)at : TRIE_FREE;
}

#endif

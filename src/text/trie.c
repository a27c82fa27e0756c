/* SPDX-License-Identifier: Apache-2.0
 * trie.c - see trie.h. Nodes are placed level by level; their children go to the first free units
 * that fit, of which only some are tried: what is left over there is filled by only children. */
#include "trie.h"

#include <stdlib.h>

enum { TRIES = 48, FIRST_UNITS = 1024 };
#define MOST_UNITS ((size_t)1 << 30)

typedef struct
    TrieRange { /* of sorted pieces that share `depth` bytes: a node whose children wait */
    uint32_t node;
    uint32_t from, to, depth;
} TrieRange;

typedef struct TrieBuilder {
    Arena *arena; /* of the outcome */
    TrieUnit *units;
    int32_t *ids;
    uint32_t *next, *prev; /* free units, a ring through unit 0 */
    size_t size;           /* units in use or in the ring */
    size_t used;           /* all units from here on are free */
    TrieRange *queue;
    size_t head, tail, room;
} TrieBuilder;

static void *trie_grow_array(Arena *arena, void *old, size_t used, size_t bytes)
{
    void *p = arena_raw(arena, bytes);
    return used ? memcpy(p, old, used) : p;
}

static void trie_extend(TrieBuilder *b)
{
    size_t size = b->size ? 2 * b->size : FIRST_UNITS, old = b->size;
    b->units = trie_grow_array(b->arena, b->units, old * sizeof *b->units, size * sizeof *b->units);
    b->ids = trie_grow_array(b->arena, b->ids, old * sizeof *b->ids, size * sizeof *b->ids);
    b->next = trie_grow_array(b->arena, b->next, old * sizeof *b->next, size * sizeof *b->next);
    b->prev = trie_grow_array(b->arena, b->prev, old * sizeof *b->prev, size * sizeof *b->prev);
    if (!old) b->next[0] = b->prev[0] = 0;
    for (size_t i = old; i < size; i++) {
        b->units[i] = (TrieUnit){ 0, TRIE_FREE, 0 };
        b->ids[i] = -1;
        if (!i) continue;
        uint32_t last = b->prev[0];
        b->next[last] = (uint32_t)i, b->prev[i] = last;
        b->next[i] = 0, b->prev[0] = (uint32_t)i;
    }
    b->size = size;
}

static void trie_take_unit(TrieBuilder *b, uint32_t unit, uint32_t parent)
{
    b->next[b->prev[unit]] = b->next[unit];
    b->prev[b->next[unit]] = b->prev[unit];
    b->units[unit].check = parent;
    b->used = MAX(b->used, (size_t)unit + 1);
}

static bool trie_fits(const TrieBuilder *b, size_t base, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (base + bytes[i] >= b->size || b->units[base + bytes[i]].check != TRIE_FREE ||
            base + bytes[i] == 0)
            return false;
    return true;
}

/* A place for children by these (ascending) bytes. */
static uint32_t place_for(TrieBuilder *b, const uint8_t *bytes, size_t n)
{
    uint32_t unit = b->next[0];
    for (int i = 0; unit && i < TRIES; i++, unit = b->next[unit])
        if (unit >= bytes[0] && trie_fits(b, unit - bytes[0], bytes, n)) return unit - bytes[0];
    size_t base = b->used > bytes[0] ? b->used - bytes[0] : 0; /* behind everything */
    while (base + 256 > b->size) trie_extend(b);
    return (uint32_t)base;
}

static void trie_wait(TrieBuilder *b, TrieRange range)
{
    if (b->tail == b->room) {
        size_t room = b->room ? 2 * b->room : 256, item = sizeof *b->queue;
        b->queue = trie_grow_array(b->arena, b->queue, b->tail * item, room * item);
        b->room = room;
    }
    b->queue[b->tail++] = range;
}

/* Gives a node its piece and its children. */
static bool trie_expand(TrieBuilder *b, const TriePiece *pieces, TrieRange range)
{
    uint8_t bytes[256];
    uint32_t starts[257];
    size_t n = 0;
    for (; range.from < range.to && pieces[range.from].text.n == range.depth; range.from++) {
        b->units[range.node].base |= TRIE_ENDS;
        b->units[range.node].score = pieces[range.from].score;
        b->ids[range.node] = pieces[range.from].id;
    }
    for (uint32_t i = range.from; i < range.to; i++) {
        uint8_t byte = (uint8_t)pieces[i].text.p[range.depth];
        if (n == 0 || bytes[n - 1] != byte) bytes[n] = byte, starts[n++] = i;
    }
    starts[n] = range.to;
    if (n == 0) return true;
    uint32_t base = place_for(b, bytes, n);
    if (b->size > MOST_UNITS) return false;
    b->units[range.node].base |= base << 1;
    for (size_t i = 0; i < n; i++) trie_take_unit(b, base + bytes[i], range.node);
    for (size_t i = 0; i < n; i++)
        trie_wait(b, (TrieRange){ base + bytes[i], starts[i], starts[i + 1], range.depth + 1 });
    return true;
}

static int trie_by_text(const void *a, const void *b)
{
    const TriePiece *x = a, *y = b;
    int order = str_cmp(&x->text, &y->text);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

bool trie_build(Arena *arena, TriePiece *pieces, size_t n, Trie *out, Err *err)
{
    Arena work = { .local = true };
    TrieBuilder b = { .arena = &work, .used = 1 };
    bool ok = true;
    if (n) qsort(pieces, n, sizeof *pieces, trie_by_text);
    trie_extend(&b);
    trie_wait(&b, (TrieRange){ 0, 0, (uint32_t)n, 0 });
    while (ok && b.head < b.tail) ok = trie_expand(&b, pieces, b.queue[b.head++]);
    b.units[0].check = TRIE_FREE;
    if (ok) {
        size_t used = out->size = b.used;
        out->units = arena_raw(arena, used * sizeof *out->units);
        out->ids = trie_grow_array(arena, b.ids, used * sizeof *b.ids, used * sizeof *b.ids);
        memcpy(out->units, b.units, used * sizeof *b.units);
    }
    arena_free(&work);
    return ok || fail(err, EF_TOO_LARGE, "vocab: over %zu nodes", MOST_UNITS);
}

/* SPDX-License-Identifier: Apache-2.0
 * bpe_merge.c - the pair with the lowest rank becomes one symbol, the leftmost of equals first,
 * until none is left.
 *
 * Short words look for that pair by a walk over all; long ones keep a heap of candidates, as the
 * reference does, with its way to tell stale ones: a candidate still counts when the pair now at
 * its place becomes the same token. */
#include "bpe.h"

static inline uint32_t rank_of(const Merges *m, int32_t left, int32_t right)
{
    uint64_t x = merge_shuffled(&m->hash, left, right);
    int shift = 64 - m->hash.slot_bits;
    if (!bit_is_set(m->seen, x >> (shift - SEEN_LOG))) return RANK_NONE; /* a smaller table */
    size_t mask = ((size_t)1 << m->hash.slot_bits) - 1, at = x >> shift;
    uint32_t tag = merge_tag(&m->hash, x);
    do {
        MergeSlot slot = m->slots[at];
        if (!slot.rank) return RANK_NONE;
        if (slot.tag == tag) return slot.rank <= m->n ? slot.rank - 1 : RANK_NONE;
        at = (at + 1) & mask;
        tag += TAG_STEP;
    } while (tag >= TAG_STEP); /* no pair is further away */
    return RANK_NONE;
}

/* The same for two characters. */
static inline uint32_t first_rank(const Merges *m, const BpeSymbol *left, const BpeSymbol *right)
{
    if (left->code >= QUICK_CODES || right->code >= QUICK_CODES || !m->quick)
        return rank_of(m, left->id, right->id);
    uint32_t rank = m->quick[left->code * QUICK_CODES + right->code];
    return rank < m->n ? rank : RANK_NONE;
}

/* ---- short words: symbols keep their places, a bit says who is still there ---- */
enum { SHORT_WORD = 64, LANES = 4, KEY_NONE = INT32_MAX, PLACE_BITS = 6 };
#define MOST_RANKS ((size_t)1 << (31 - PLACE_BITS))
typedef int32_t MergeKeys __attribute__((vector_size(4 * LANES)));

typedef struct MergeRow {
    union {
        int32_t
            key[SHORT_WORD]; /* rank of a symbol and its next, then the place: the least counts */
        MergeKeys keys[SHORT_WORD / LANES];
    };
    int32_t id[SHORT_WORD], length[SHORT_WORD];
    uint64_t alive;
} MergeRow;

/* The entry of the merged token is prefetched: it will be read soon. */
static inline int32_t key_of(const Merges *m, uint32_t rank, int at)
{
    if (rank == RANK_NONE) return KEY_NONE;
    __builtin_prefetch(&m->ids[rank]);
    return (int32_t)(rank << PLACE_BITS) | at;
}

static inline void set_key(const Merges *m, MergeRow *row, int left, int right)
{
    row->key[left] = key_of(m, rank_of(m, row->id[left], row->id[right]), left);
}

static inline int32_t least_key(const MergeRow *row, size_t groups)
{
    MergeKeys least = row->keys[0];
    for (size_t i = 1; i < groups; i++) {
        MergeKeys less = row->keys[i] < least;
        least = (row->keys[i] & less) | (least & ~less);
    }
    int32_t a = MIN(least[0], least[1]), b = MIN(least[2], least[3]);
    return MIN(a, b);
}

static inline void bpe_join(const Merges *m, MergeRow *row, int32_t key)
{
    int at = key & (SHORT_WORD - 1);
    uint64_t after = row->alive & ~(((uint64_t)2 << at) - 1);
    uint64_t before = row->alive & (((uint64_t)1 << at) - 1);
    int gone = __builtin_ctzll(after); /* there is one: a key names a pair */
    row->id[at] = m->ids[key >> PLACE_BITS];
    row->length[at] += row->length[gone];
    row->alive &= ~((uint64_t)1 << gone);
    row->key[at] = row->key[gone] = KEY_NONE;
    after &= after - 1;
    if (after) set_key(m, row, at, __builtin_ctzll(after));
    if (before) set_key(m, row, 63 - __builtin_clzll(before), at);
}

static void merge_short(const Merges *m, BpeSymbol *symbols, size_t n)
{
    MergeRow row;
    size_t groups = (n + LANES - 1) / LANES;
    for (size_t i = 0; i < n; i++) row.id[i] = symbols[i].id, row.length[i] = symbols[i].length;
    for (size_t i = n - 1; i < groups * LANES; i++) row.key[i] = KEY_NONE;
    for (size_t i = 0; i + 1 < n; i++)
        row.key[i] = key_of(m, first_rank(m, &symbols[i], &symbols[i + 1]), (int)i);
    row.alive = ~(uint64_t)0 >> (64 - n);
    for (int32_t key; (key = least_key(&row, groups)) != KEY_NONE;) bpe_join(m, &row, key);
    int32_t count = 0;
    for (uint64_t left = row.alive; left; left &= left - 1, count++) {
        int at = __builtin_ctzll(left);
        symbols[count] = (BpeSymbol){ row.id[at], { count - 1 }, count + 1, row.length[at] };
    }
    symbols[count - 1].next = -1;
}

/* ---- long words ---- */
typedef struct Heap { /* of rank << 32 | place; the least on top */
    uint64_t *items;
    size_t n;
} Heap;

static void heap_push(Heap *h, uint64_t item)
{
    size_t at = h->n++;
    for (; at && h->items[(at - 1) / 2] > item; at = (at - 1) / 2)
        h->items[at] = h->items[(at - 1) / 2];
    h->items[at] = item;
}

static uint64_t heap_pop(Heap *h)
{
    uint64_t top = h->items[0], last = h->items[--h->n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
        if (child + 1 < h->n && h->items[child + 1] < h->items[child]) child++;
        if (h->items[child] >= last) break;
        h->items[at] = h->items[child];
    }
    h->items[at] = last;
    return top;
}

static void push_pair(const Merges *m, Heap *h, const BpeSymbol *symbols, int32_t left,
                      int32_t right)
{
    if (left < 0 || right < 0) return;
    uint32_t rank = rank_of(m, symbols[left].id, symbols[right].id);
    if (rank != RANK_NONE) heap_push(h, (uint64_t)rank << 32 | (uint32_t)left);
}

static void merge_long(const Merges *m, BpeSymbol *symbols, size_t n)
{
    Heap heap = { .items = (uint64_t *)(symbols + n) };
    for (size_t i = 0; i < n; i++) {
        symbols[i].prev = (int32_t)i - 1;
        symbols[i].next = i + 1 < n ? (int32_t)i + 1 : -1;
    }
    for (size_t i = 0; i + 1 < n; i++) push_pair(m, &heap, symbols, (int32_t)i, (int32_t)i + 1);
    while (heap.n) {
        uint64_t top = heap_pop(&heap);
        int32_t at = (int32_t)(uint32_t)top, id = m->ids[top >> 32];
        BpeSymbol *left = &symbols[at];
        if (left->length == 0 || left->next < 0) continue;
        BpeSymbol *right = &symbols[left->next];
        uint32_t now = rank_of(m, left->id, right->id);
        if (now == RANK_NONE || m->ids[now] != id) continue;
        left->id = id;
        left->length += right->length;
        left->next = right->next;
        right->length = 0;
        if (right->next >= 0) symbols[right->next].prev = at;
        push_pair(m, &heap, symbols, left->prev, at);
        push_pair(m, &heap, symbols, at, left->next);
    }
}

void bpe_merge(const Merges *m, BpeSymbol *symbols, size_t n)
{
    if (n == 1) symbols[0].prev = symbols[0].next = -1;
    else if (n <= SHORT_WORD && m->grow && m->n < MOST_RANKS) merge_short(m, symbols, n);
    else merge_long(m, symbols, n);
}

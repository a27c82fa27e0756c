/* SPDX-License-Identifier: Apache-2.0
 * bpe_merge.c - the pair with the lowest rank becomes one symbol, the leftmost of equals first,
 * until none is left.
 *
 * Short words look for that pair by a walk over all; long ones keep a heap of candidates, as the
 * reference does, with its way to tell stale ones: a candidate still counts when the pair now at
 * its place becomes the same token. */
#include "bpe.h"

enum { SHORT_WORD = 40 };

static inline const Merge *find(const Merges *m, int32_t left, int32_t right)
{
    size_t mask = ((size_t)1 << (64 - m->shift)) - 1, at = merge_slot(m, left, right);
    for (size_t tries = 0; tries <= mask; tries++, at = (at + 1) & mask) {
        const Merge *slot = &m->slots[at];
        if (slot->id < 0) return NULL;
        if (slot->left == left && slot->right == right)
            return slot->rank < m->n ? slot : NULL; /* a mapped table may be broken */
    }
    return NULL;
}

/* ---- short words ---- */
typedef struct Row { /* of neighbours: rank[i] is that of i and i + 1 */
    int32_t id[SHORT_WORD], length[SHORT_WORD];
    uint32_t rank[SHORT_WORD];
    size_t n;
} Row;

static inline void rank_pair(const Merges *m, Row *row, size_t i)
{
    const Merge *found = i + 1 < row->n ? find(m, row->id[i], row->id[i + 1]) : NULL;
    row->rank[i] = found ? found->rank : RANK_NONE;
}

static void join(const Merges *m, Row *row, size_t i)
{
    size_t after = row->n - i - 2;
    row->id[i] = m->ids[row->rank[i]];
    row->length[i] += row->length[i + 1];
    memmove(row->id + i + 1, row->id + i + 2, after * sizeof *row->id);
    memmove(row->length + i + 1, row->length + i + 2, after * sizeof *row->length);
    memmove(row->rank + i + 1, row->rank + i + 2, after * sizeof *row->rank);
    row->n--;
    rank_pair(m, row, i);
    if (i) rank_pair(m, row, i - 1);
}

static void merge_short(const Merges *m, Symbol *symbols, size_t n)
{
    Row row = { .n = n };
    for (size_t i = 0; i < n; i++) row.id[i] = symbols[i].id, row.length[i] = symbols[i].length;
    for (size_t i = 0; i < n; i++) rank_pair(m, &row, i);
    for (;;) {
        uint32_t least = RANK_NONE;
        size_t best = 0;
        for (size_t i = 0; i < row.n; i++)
            if (row.rank[i] < least) least = row.rank[i], best = i;
        if (least == RANK_NONE) break;
        join(m, &row, best);
    }
    for (size_t i = 0; i < row.n; i++) {
        symbols[i].id = row.id[i], symbols[i].length = row.length[i];
        symbols[i].next = i + 1 < row.n ? (int32_t)i + 1 : -1;
    }
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

static void push_pair(const Merges *m, Heap *h, const Symbol *symbols, int32_t left, int32_t right)
{
    if (left < 0 || right < 0) return;
    const Merge *found = find(m, symbols[left].id, symbols[right].id);
    if (found) heap_push(h, (uint64_t)found->rank << 32 | (uint32_t)left);
}

static void merge_long(const Merges *m, Symbol *symbols, size_t n)
{
    Heap heap = { .items = (uint64_t *)(symbols + n) };
    for (size_t i = 0; i + 1 < n; i++) push_pair(m, &heap, symbols, (int32_t)i, (int32_t)i + 1);
    while (heap.n) {
        uint64_t top = heap_pop(&heap);
        int32_t at = (int32_t)(uint32_t)top, id = m->ids[top >> 32];
        Symbol *left = &symbols[at];
        if (left->length == 0 || left->next < 0) continue;
        Symbol *right = &symbols[left->next];
        const Merge *now = find(m, left->id, right->id);
        if (!now || now->id != id) continue;
        left->id = id;
        left->length += right->length;
        left->next = right->next;
        right->length = 0;
        if (right->next >= 0) symbols[right->next].prev = at;
        push_pair(m, &heap, symbols, left->prev, at);
        push_pair(m, &heap, symbols, at, left->next);
    }
}

void bpe_merge(const Merges *m, Symbol *symbols, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        symbols[i].prev = (int32_t)i - 1;
        symbols[i].next = i + 1 < n ? (int32_t)i + 1 : -1;
    }
    if (n < 2) return;
    if (n <= SHORT_WORD && m->grow) merge_short(m, symbols, n);
    else merge_long(m, symbols, n);
}

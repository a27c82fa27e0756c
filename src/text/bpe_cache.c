/* SPDX-License-Identifier: Apache-2.0
 * bpe_cache.c - words that were merged lately, per thread: a table with one place for each hash. An
 * entry names the model it belongs to by a number that no other model ever gets, so that loading
 * and dropping tokenizers needs no word with this table. Nothing is shared, nothing is locked. */
#include "bpe.h"

enum { PLACES = 2048, MOST_BYTES = 40, MOST_PARTS = 12 };

typedef struct Entry {
    uint32_t model; /* 0: free */
    uint32_t tag;
    uint8_t bytes, parts;
    uint8_t ends[MOST_PARTS];
    char text[MOST_BYTES];
    int32_t ids[MOST_PARTS];
} Entry;

static _Thread_local Entry entries[PLACES];

uint32_t bpe_cache_model(void)
{
    static uint32_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

bool bpe_cache_find(uint32_t model, uint64_t hash, Str word, Tokens *out)
{
    const Entry *e = &entries[hash >> 53];
    if (e->model != model || e->tag != (uint32_t)hash || e->bytes != word.n ||
        memcmp(e->text, word.p, word.n))
        return false;
    for (size_t i = 0, start = 0; i < e->parts; start = e->ends[i++])
        tokens_add(out, e->ids[i], start, e->ends[i]);
    return true;
}

void bpe_cache_keep(uint32_t model, uint64_t hash, Str word, const Token *tokens, size_t n)
{
    if (word.n > MOST_BYTES || n > MOST_PARTS) return;
    Entry *e = &entries[hash >> 53];
    size_t start = 0;
    for (size_t i = 0; i < n; start = (size_t)tokens[i++].end)
        if ((size_t)tokens[i].start != start) return; /* not one after the other */
    e->model = model, e->tag = (uint32_t)hash;
    e->bytes = (uint8_t)word.n, e->parts = (uint8_t)n;
    memcpy(e->text, word.p, word.n);
    for (size_t i = 0; i < n; i++) e->ids[i] = tokens[i].id, e->ends[i] = (uint8_t)tokens[i].end;
}

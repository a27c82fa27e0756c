/* SPDX-License-Identifier: Apache-2.0
 * word_cache.c - a table with one slot per hash; a new word replaces the old one. An entry names
 * the model it belongs to by a number that no other model ever gets, so that loading and freeing
 * tokenizers need not touch this table. */
#include "word_cache.h"

#include "base/thread.h"

enum { PLACES_LOG = 13 };

enum { NEAR_IDS = 4 };

typedef struct Entry { /* two cache lines, of which most words need one */
    uint64_t hash;
    uint32_t model; /* 0: free */
    uint8_t bytes, parts;
    uint8_t ends[CACHED_PARTS];
    int32_t ids[NEAR_IDS];
    char text[CACHED_BYTES];
    int32_t more[CACHED_PARTS - NEAR_IDS]; /* ids */
} Entry;
_Static_assert(sizeof(Entry) == 128, "two cache lines");

static _Thread_local Entry *entries; /* [1 << PLACES_LOG]; made by the first word of a thread */

uint32_t word_cache_model(void)
{
    static uint32_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static inline uint64_t word_load(const char *p, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, p, bytes);
    return word;
}

static inline uint64_t word_mix(uint64_t hash, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word) * 0x9e3779b97f4a7c15u;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes at a time; the last eight may overlap others, and the length tells such words apart.
 */
static inline uint64_t word_hash(uint32_t model, Str word)
{
    uint64_t hash = (uint64_t)model << 32 | word.n;
    const char *p = word.p, *end = word.p + word.n;
    if (word.n < 4) {
        uint64_t few = (unsigned char)p[0] | (uint64_t)(unsigned char)p[word.n / 2] << 8 |
                       (uint64_t)(unsigned char)end[-1] << 16;
        return word_mix(word_mix(0xcbf29ce484222325u, hash), few);
    }
    hash = word_mix(0xcbf29ce484222325u, hash);
    if (word.n < 8) return word_mix(hash, word_load(p, 4) | word_load(end - 4, 4) << 32);
    for (; end - p > 8; p += 8) hash = word_mix(hash, word_load(p, 8));
    return word_mix(hash, word_load(end - 8, 8));
}

/* Without a call: words are short. */
static inline bool word_is_same(const char *a, const char *b, size_t n)
{
    if (n < 8) {
        while (n && a[n - 1] == b[n - 1]) n--;
        return n == 0;
    }
    uint64_t differ = word_load(a + n - 8, 8) ^ word_load(b + n - 8, 8);
    for (size_t i = 0; i + 8 < n; i += 8) differ |= word_load(a + i, 8) ^ word_load(b + i, 8);
    return differ == 0;
}

bool word_cache_find(uint32_t model, Str word, uint64_t *place, Tokens *out)
{
    uint64_t hash = *place = word_hash(model, word);
    if (!entries) entries = thread_memory(sizeof *entries << PLACES_LOG);
    const Entry *e = &entries[hash >> (64 - PLACES_LOG)];
    if (e->hash != hash || e->model != model || e->bytes != word.n ||
        !word_is_same(e->text, word.p, word.n))
        return false;
    for (size_t i = 0, start = 0; i < e->parts; start = e->ends[i++])
        tokens_add(out, i < NEAR_IDS ? e->ids[i] : e->more[i - NEAR_IDS], start, e->ends[i]);
    return true;
}

void word_cache_keep(uint32_t model, Str word, uint64_t place, const Tokens *out, size_t first)
{
    size_t n = out->n - first, start = 0;
    const Token *tokens = out->items + first;
    if (word.n > CACHED_BYTES || n > CACHED_PARTS) return;
    for (size_t i = 0; i < n; start = (size_t)tokens[i++].end)
        if ((size_t)tokens[i].start != start || tokens[i].from >= 0) return;
    Entry *e = &entries[place >> (64 - PLACES_LOG)];
    e->hash = place, e->model = model;
    e->bytes = (uint8_t)word.n, e->parts = (uint8_t)n;
    memcpy(e->text, word.p, word.n);
    for (size_t i = 0; i < n; i++) {
        *(i < NEAR_IDS ? &e->ids[i] : &e->more[i - NEAR_IDS]) = tokens[i].id;
        e->ends[i] = (uint8_t)tokens[i].end;
    }
}

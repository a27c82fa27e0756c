/* SPDX-License-Identifier: Apache-2.0
 * bpe_tables.c - tables of a BPE vocabulary that make words cheap: the rank of a pair, what a
 * character is called, and which characters ever stand side by side in a token. */
#include "bpe.h"

/* ---- pairs ---- */

bool merge_hash_make(int id_bits, int slot_bits, MergeHash *out)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    int rest = 2 * id_bits - slot_bits;
    if (id_bits < 1 || id_bits > MERGE_ID_BITS || slot_bits < 4 || rest < 0 || rest > TAG_BITS)
        return false;
    *out = (MergeHash){ odd << (64 - id_bits), odd << (64 - 2 * id_bits), slot_bits, id_bits };
    return true;
}

/* Of equal pairs the last counts. False: it would be too far from its place. */
static bool put_pair(const MergeHash *h, MergeSlot *slots, uint64_t *seen, Merge pair, size_t rank)
{
    uint64_t x = merge_shuffled(h, pair.left, pair.right);
    size_t mask = ((size_t)1 << h->slot_bits) - 1, at = x >> (64 - h->slot_bits);
    uint32_t tag = merge_tag(h, x);
    while (slots[at].rank && slots[at].tag != tag) {
        at = (at + 1) & mask;
        if ((tag += TAG_STEP) < TAG_STEP) return false;
    }
    slots[at] = (MergeSlot){ tag, (uint32_t)rank + 1 };
    bit_set(seen, x >> (64 - h->slot_bits - SEEN_LOG));
    return true;
}

static bool bpe_put_pairs(Arena *arena, const Merge *list, Merges *m)
{
    MergeSlot *slots = ARRAY(arena, MergeSlot, (size_t)1 << m->hash.slot_bits);
    uint64_t *seen = ARRAY(arena, uint64_t, merge_seen_words(&m->hash));
    for (size_t i = 0; i < m->n; i++)
        if (!put_pair(&m->hash, slots, seen, list[i], i)) return false;
    m->slots = slots, m->seen = seen;
    return true;
}

bool bpe_pairs_build(Arena *arena, const Merge *list, int32_t greatest, Merges *m, Err *err)
{
    enum { TRIES = 4 }; /* each with a table twice as large; only crafted files need more */
    int ids = 4, slots = 4;
    int32_t *made = arena_raw(arena, (m->n + 1) * sizeof *made);
    for (size_t i = 0; i < m->n; i++) made[i] = list[i].id;
    m->ids = made;
    while (ids < MERGE_ID_BITS && greatest >> ids) ids++;
    if (greatest >> ids)
        return fail(err, EF_UNSUPPORTED, "BPE: found token id %d, wanted one below %d",
                    (int)greatest, 1 << MERGE_ID_BITS);
    while ((size_t)1 << slots < m->n + m->n / 2) slots++;
    slots = MAX(slots, 2 * ids - TAG_BITS);
    for (int i = 0; i < TRIES; i++, slots++) {
        if (!merge_hash_make(MAX(ids, slots / 2 + 1), slots, &m->hash)) break;
        if (bpe_put_pairs(arena, list, m)) return true;
    }
    return fail(err, EF_UNSUPPORTED, "merges: found %zu pairs that no table holds", m->n);
}

/* ---- characters ---- */

/* The only character of a token between its affixes; false: it has more, or none. */
static bool only_char(Str name, Str prefix, Str suffix, uint32_t *code)
{
    if (name.n <= prefix.n + suffix.n || name.n > prefix.n + suffix.n + 4) return false;
    if (prefix.n && memcmp(name.p, prefix.p, prefix.n)) return false;
    if (suffix.n && memcmp(name.p + name.n - suffix.n, suffix.p, suffix.n)) return false;
    size_t n = name.n - prefix.n - suffix.n;
    return (size_t)utf8_take(name.p + prefix.n, code) == n && *code < 0x110000;
}

/* Counts the pages that are needed, or fills those that are there. */
static size_t walk_chars(const Vocab *vocab, Str prefix, Str suffix, uint16_t *pages, size_t used,
                         int32_t *ids)
{
    for (size_t i = 0; i < vocab->n; i++) {
        uint32_t code;
        if (!only_char(vocab_text(vocab, i), prefix, suffix, &code)) continue;
        uint16_t *page = &pages[code / CHAR_PAGE];
        if (!*page) *page = (uint16_t)used++;
        if (ids) ids[*page * CHAR_PAGE + code % CHAR_PAGE] = vocab->entries[i].id;
    }
    return used;
}

void bpe_chars_build(Arena *arena, const Vocab *vocab, BpeAffixes a, CharIds *out)
{
    uint16_t *pages = ARRAY(arena, uint16_t, PLACES * CHAR_PAGES);
    Str none = { 0 };
    size_t used = 1;
    int32_t *ids = NULL;
    for (int pass = 0; pass < 2; pass++) {
        for (int w = 0; w < PLACES; w++)
            used = walk_chars(vocab, w & INSIDE ? a.prefix : none, w & LAST ? a.suffix : none,
                              pages + w * CHAR_PAGES, used, ids);
        if (pass) break;
        out->n = used * CHAR_PAGE;
        ids = arena_raw(arena, out->n * sizeof *ids);
        memset(ids, 0xff, out->n * sizeof *ids);
    }
    out->pages = pages, out->ids = ids;
}

/* ---- joins ---- */
static uint32_t last_char(Str name)
{
    uint32_t code;
    size_t at = name.n - 1;
    while (at && (name.p[at] & 0xc0) == 0x80) at--;
    utf8_take(name.p + at, &code);
    return code;
}

/* Sixteen bits a merge: most pairs that no merge has are seen as such. Only the place where two
 * tokens meet is new; pairs inside them come from merges of their own. */
void bpe_joins_build(Arena *arena, const Merge *list, const Vocab *vocab, Merges *m)
{
    enum { LEAST = 12, MOST = 21 };
    int bits = LEAST;
    while (bits < MOST && (size_t)1 << bits < 16 * m->n) bits++;
    uint64_t *joins = ARRAY(arena, uint64_t, (size_t)1 << (bits - 6));
    m->joins_shift = 64 - bits;
    for (size_t i = 0; i < m->n; i++) {
        Str left = vocab_name(vocab, list[i].left), right = vocab_name(vocab, list[i].right);
        uint32_t first;
        if (!left.n || !right.n) continue; /* no character is called that */
        utf8_take(right.p, &first);
        bit_set(joins, join_hash(last_char(left), first) >> m->joins_shift);
    }
    m->joins = joins;
}

/* ---- the first pairs of a word ---- */
void bpe_quick_build(Arena *arena, const Merge *list, Merges *m)
{
    Arena work = { .local = true };
    size_t bytes = sizeof *m->quick * QUICK_CODES * QUICK_CODES;
    uint32_t *quick = memset(arena_raw(arena, bytes), 0xff, bytes);
    Map codes = { 0 };
    uint32_t *code = ARRAY(&work, uint32_t, QUICK_CODES);
    int32_t *ids = ARRAY(&work, int32_t, QUICK_CODES);
    for (uint32_t c = 0; c < QUICK_CODES; c++) {
        code[c] = c, ids[c] = bpe_char(&m->chars, c, 0);
        Str key = { (const char *)&ids[c], sizeof ids[c] };
        if (ids[c] >= 0) map_put(&codes, &work, key, &code[c]);
    }
    for (size_t i = 0; i < m->n; i++) {
        const Merge *merge = &list[i];
        const uint32_t *left = map_get(&codes, (Str){ (const char *)&merge->left, 4 });
        const uint32_t *right = map_get(&codes, (Str){ (const char *)&merge->right, 4 });
        if (left && right) quick[*left * QUICK_CODES + *right] = (uint32_t)i;
    }
    m->quick = quick;
    arena_free(&work);
}

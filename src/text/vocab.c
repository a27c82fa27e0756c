/* SPDX-License-Identifier: Apache-2.0
 * vocab.c - see vocab.h. Of two equal keys the last wins, as in the reference. */
#include "vocab.h"

static bool vocab_equals(Str token, Str head, Str tail)
{
    return token.p && token.n == head.n + tail.n && (!head.n || !memcmp(token.p, head.p, head.n)) &&
           (!tail.n || !memcmp(token.p + head.n, tail.p, tail.n));
}

static VocabSlot vocab_tag_of(const Vocab *vocab, uint64_t hash)
{
    return (VocabSlot)hash << (64 - vocab->shift);
}

/* The slot of a token, or the free one where it would go; NULL: neither (a broken table). */
static VocabSlot *vocab_slot_of(const Vocab *vocab, uint64_t hash, Str head, Str tail)
{
    size_t mask = ((size_t)1 << (64 - vocab->shift)) - 1, at = hash >> vocab->shift;
    VocabSlot tag = vocab_tag_of(vocab, hash);
    for (size_t tries = 0; tries <= mask; tries++, at = (at + 1) & mask) {
        VocabSlot *slot = &vocab->slots[at], entry = *slot ^ tag;
        if (!*slot) return slot;
        if (entry <= mask && vocab_equals(vocab_text(vocab, (size_t)entry - 1), head, tail))
            return slot;
    }
    return NULL;
}

int64_t vocab_entry_hashed(const Vocab *vocab, uint64_t hash, Str head, Str tail)
{
    const VocabSlot *slot = vocab_slot_of(vocab, hash, head, tail);
    return slot && *slot ? (int64_t)(*slot ^ vocab_tag_of(vocab, hash)) - 1 : -1;
}

int32_t vocab_find_hashed(const Vocab *vocab, uint64_t hash, Str head, Str tail)
{
    return vocab_id(vocab, vocab_entry_hashed(vocab, hash, head, tail));
}

static uint64_t vocab_hash_of(Str token)
{
    return vocab_hash(VOCAB_SEED, token);
}

int32_t vocab_find(const Vocab *vocab, Str token)
{
    return vocab_find_hashed(vocab, vocab_hash_of(token), token, (Str){ 0 });
}

/* Copies, since the JSON tree may be freed before the first text is encoded. Returns the place
 * of the entry. */
static int32_t vocab_put(Vocab *vocab, char *texts, Str token, int32_t id)
{
    uint64_t hash = vocab_hash_of(token);
    VocabSlot *slot = vocab_slot_of(vocab, hash, token, (Str){ 0 });
    if (!*slot) {
        if (token.n) memcpy(texts + vocab->texts_n, token.p, token.n);
        vocab->entries[vocab->n++].at = (uint32_t)vocab->texts_n;
        vocab->texts_n += token.n;
        vocab->entries[vocab->n].at = (uint32_t)vocab->texts_n;
        *slot = vocab_tag_of(vocab, hash) | (VocabSlot)vocab->n;
    }
    int32_t entry = (int32_t)(*slot ^ vocab_tag_of(vocab, hash)) - 1;
    vocab->entries[entry].id = id;
    vocab->longest = MAX(vocab->longest, token.n);
    vocab->greatest = MAX(vocab->greatest, id);
    return entry;
}

static bool vocab_check_id(const Member *member, size_t count, Err *err)
{
    int64_t limit = (int64_t)MIN(8 * count + VOCAB_SCATTER, (size_t)INT32_MAX);
    if (member->value.kind != V_INT)
        return fail(err, EF_BAD_MODEL, "vocab: found %s as the id of \"%.*s\", wanted a number",
                    value_kind_name(member->value.kind), STR_ARG(member->key));
    if (member->value.i < 0 || member->value.i >= limit)
        return fail(err, EF_BAD_MODEL, "vocab: found id %lld for \"%.*s\", wanted 0 to %lld",
                    (long long)member->value.i, STR_ARG(member->key), (long long)limit - 1);
    return true;
}

/* Room for `count` tokens of so many bytes together; returns where those go. */
static char *vocab_start(Arena *arena, Vocab *out, size_t count, size_t bytes)
{
    int bits = 4;
    while ((size_t)1 << bits < 2 * count) bits++;
    *out = (Vocab){ .shift = 64 - bits, .greatest = -1 };
    out->slots = ARRAY(arena, VocabSlot, (size_t)1 << bits);
    out->entries = ARRAY(arena, VocabEntry, count + 1);
    char *texts = arena_raw(arena, bytes + 1);
    out->texts = texts;
    return texts;
}

static void start_ids(Arena *arena, Vocab *out)
{
    size_t n = (size_t)(out->greatest + 1);
    out->by_id = arena_raw(arena, (n + 1) * sizeof *out->by_id);
    memset(out->by_id, 0xff, n * sizeof *out->by_id);
}

/* Entries in the order of their ids need no table. */
static void end_ids(Vocab *out)
{
    for (int32_t id = 0; id <= out->greatest; id++)
        if (out->by_id[id] != id) return;
    if ((size_t)(out->greatest + 1) == out->n) out->by_id = NULL;
}

bool vocab_load(Arena *arena, const Value *map, Vocab *out, Err *err)
{
    if (!map || map->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "model: found no \"vocab\", wanted an object");
    size_t count = map->map.n, bytes = 0;
    if (count >= INT32_MAX / 2) return fail(err, EF_BAD_MODEL, "vocab: found %zu tokens", count);
    for (size_t i = 0; i < count; i++) bytes += map->map.items[i].key.n;
    if (bytes > INT32_MAX) return fail(err, EF_BAD_MODEL, "vocab: found %zu bytes", bytes);
    char *texts = vocab_start(arena, out, count, bytes);
    for (size_t i = 0; i < count; i++) {
        const Member *member = &map->map.items[i];
        if (!vocab_check_id(member, count, err)) return false;
        vocab_put(out, texts, member->key, (int32_t)member->value.i);
    }
    start_ids(arena, out);
    for (size_t i = 0; i < out->n; i++) out->by_id[out->entries[i].id] = (int32_t)i;
    out->size = out->n;
    end_ids(out);
    return true;
}

/* ["piece", -3.5] */
static bool vocab_read_piece(const Value *pair, size_t id, Str *piece, double *score, Err *err)
{
    bool ok = pair->kind == V_LIST && pair->list.n == 2 && pair->list.items[0].kind == V_STR &&
              (pair->list.items[1].kind == V_FLOAT || pair->list.items[1].kind == V_INT);
    if (!ok) return fail(err, EF_BAD_MODEL, "vocab: item %zu is not a piece with a score", id);
    *piece = pair->list.items[0].s;
    *score = value_float(&pair->list.items[1], 0);
    return true;
}

bool vocab_load_list(Arena *arena, const Value *list, Vocab *out, double **scores, Err *err)
{
    if (!list || list->kind != V_LIST)
        return fail(err, EF_BAD_MODEL, "model: found no \"vocab\", wanted a list");
    size_t count = list->list.n, bytes = 0;
    if (count >= INT32_MAX / 2) return fail(err, EF_BAD_MODEL, "vocab: found %zu pieces", count);
    *scores = arena_raw(arena, (count + 1) * sizeof **scores);
    Str piece = { 0 };
    for (size_t i = 0; i < count; i++) {
        if (!vocab_read_piece(&list->list.items[i], i, &piece, &(*scores)[i], err)) return false;
        bytes += piece.n;
    }
    if (bytes > INT32_MAX) return fail(err, EF_BAD_MODEL, "vocab: found %zu bytes", bytes);
    char *texts = vocab_start(arena, out, count, bytes);
    out->greatest = (int32_t)count - 1;
    start_ids(arena, out);
    for (size_t i = 0; i < count; i++)
        out->by_id[i] = vocab_put(out, texts, list->list.items[i].list.items[0].s, (int32_t)i);
    out->size = count;
    end_ids(out);
    return true;
}

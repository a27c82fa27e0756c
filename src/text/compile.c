/* SPDX-License-Identifier: Apache-2.0
 * compile.c - a tokenizer as one block of bytes that is used where it lies: the tables of the model
 * as they are in memory, without pointers, and a tokenizer.json without its vocabulary, merges,
 * pieces and character maps. Opening one parses a few kilobytes and builds nothing.
 *
 *     Header | json | texts | entries | slots | by_id |                  the vocabulary
 *     merge slots | seen | merge ids | joins | quick | pages | char ids | of BPE
 *     units | unit ids | maps                                            of Unigram
 *
 * Every section begins at a multiple of 64. The bytes are untrusted: that sections lie inside
 * the block is checked when it is opened, their content where it is read (vocab.h), so that
 * unused pages are never touched. */
#include "data/json.h"
#include "normalize.h"

enum {
    JSON,
    TEXTS,
    ENTRIES,
    SLOTS,
    BY_ID,
    MERGE_SLOTS,
    SEEN,
    MERGE_IDS,
    JOINS,
    QUICK,
    PAGES,
    CHAR_IDS,
    UNITS,
    UNIT_IDS,
    MAPS,
    SECTIONS
};
#define MAGIC 0x34304b544645ull /* "EFTK04" in the order of the machine */

typedef struct CompiledSection {
    uint64_t at, bytes;
} CompiledSection;
typedef struct CompiledHeader {
    uint64_t magic, total;
    CompiledSection sections[SECTIONS];
    uint64_t size, longest; /* of the Vocab */
    double least_score;
    uint64_t id_bits; /* of the Merges */
} CompiledHeader;

/* What an item of each section is, to count them. */
static const size_t item_size[SECTIONS] = {
    1,
    1,
    sizeof(VocabEntry),
    sizeof(VocabSlot),
    sizeof(int32_t),
    sizeof(MergeSlot),
    sizeof(uint64_t),
    sizeof(int32_t),
    sizeof(uint64_t),
    sizeof(uint32_t),
    sizeof(uint16_t),
    sizeof(int32_t),
    sizeof(TrieUnit),
    sizeof(int32_t),
    sizeof(float), /* the carrier of a map in a tree; see precompiled_blob */
};

/* ---- writing ---- */
static void section_put(Buf *out, CompiledHeader *h, int section, const void *bytes, size_t n)
{
    static const char zeros[64];
    if (out->n % 64) buf_add(out, zeros, 64 - out->n % 64);
    h->sections[section] = (CompiledSection){ out->n, n * item_size[section] };
    buf_add(out, bytes, n * item_size[section]);
}

/* ---- character maps: out of the tree when it is written, back into it when it is read ---- */
#define CHARSMAP "precompiled_charsmap"

/* Its place among the maps: [first, count]. */
static Value compile_take_map(Arena *arena, const Value *normalizer, Buf *maps)
{
    Err ignored;
    Str blob;
    Value place = value_list(arena, 2);
    if (!precompiled_blob(arena, normalizer, &blob, &ignored))
        return *value_get(normalizer, CHARSMAP);
    place.list.items[0] = value_of_int((int64_t)(maps->n / sizeof(float)));
    buf_str(maps, blob);
    while (maps->n % sizeof(float)) buf_char(maps, 0);
    place.list.items[1] =
        value_of_int((int64_t)(maps->n / sizeof(float)) - place.list.items[0].i);
    return place;
}

static Value without_maps(Arena *arena, const Value *v, Buf *maps)
{
    Value copy = *v;
    if (v->kind == V_LIST) {
        copy = value_list(arena, v->list.n);
        for (size_t i = 0; i < v->list.n; i++)
            copy.list.items[i] = without_maps(arena, &v->list.items[i], maps);
    } else if (v->kind == V_MAP) {
        copy = value_map(arena, v->map.n);
        for (size_t i = 0; i < v->map.n; i++) {
            Member m = v->map.items[i];
            m.value = str_is(m.key, CHARSMAP) ? compile_take_map(arena, v, maps)
                                              : without_maps(arena, &m.value, maps);
            copy.map.items[copy.map.n++] = m;
        }
    }
    return copy;
}

static void put_map_back(Value *v, const float *maps, size_t n)
{
    bool place = v->kind == V_LIST && v->list.n == 2;
    int64_t at = place ? value_int(&v->list.items[0], -1) : -1;
    int64_t count = place ? value_int(&v->list.items[1], -1) : -1;
    if (at < 0 || count < 0 || (size_t)at > n || (size_t)count > n - (size_t)at) return;
    *v = value_of_f32(maps + at, (size_t)count);
}

static void put_maps_back(Value *v, const float *maps, size_t n)
{
    for (size_t i = 0; v->kind == V_LIST && i < v->list.n; i++)
        put_maps_back(&v->list.items[i], maps, n);
    for (size_t i = 0; v->kind == V_MAP && i < v->map.n; i++)
        if (str_is(v->map.items[i].key, CHARSMAP)) put_map_back(&v->map.items[i].value, maps, n);
        else put_maps_back(&v->map.items[i].value, maps, n);
}

/* The tree without what the tables hold. */
static Value without_tables(Arena *arena, const Value *root, Buf *maps)
{
    Value copy = value_map(arena, root->map.n), model;
    for (size_t i = 0; i < root->map.n; i++) {
        Member member = root->map.items[i];
        if (str_is(member.key, "model")) {
            model = value_map(arena, member.value.map.n);
            for (size_t k = 0; k < member.value.map.n; k++) {
                Member part = member.value.map.items[k];
                bool table = str_is(part.key, "vocab") || str_is(part.key, "merges");
                if (table) part.value = value_null();
                model.map.items[model.map.n++] = part;
            }
            member.value = model;
        }
        if (str_is(member.key, "normalizer")) member.value = without_maps(arena, &member.value, maps);
        copy.map.items[copy.map.n++] = member;
    }
    return copy;
}

static void put_merges(Buf *out, CompiledHeader *h, const Merges *m)
{
    if (!m->slots) return;
    section_put(out, h, MERGE_SLOTS, m->slots, (size_t)1 << m->hash.slot_bits);
    section_put(out, h, SEEN, m->seen, merge_seen_words(&m->hash));
    section_put(out, h, MERGE_IDS, m->ids, m->n);
    section_put(out, h, JOINS, m->joins, m->joins ? (size_t)1 << (58 - m->joins_shift) : 0);
    section_put(out, h, QUICK, m->quick, m->quick ? QUICK_CODES * QUICK_CODES : 0);
    section_put(out, h, PAGES, m->chars.pages, PLACES * CHAR_PAGES);
    section_put(out, h, CHAR_IDS, m->chars.ids, m->chars.n);
}

bool tokenizer_compile(const Value *root, Buf *out, Err *err)
{
    Arena arena = { .local = true };
    Tokenizer *t;
    Buf json = { 0 }, maps = { 0 };
    bool ok = tokenizer_from_value(&arena, root, &t, err);
    if (ok) {
        const Vocab *v = &t->model.vocab;
        const Merges *m = &t->model.merges;
        const Trie *trie = &t->model.trie;
        Value rest = without_tables(&arena, root, &maps);
        CompiledHeader h = { .magic = MAGIC,
                     .size = v->size,
                     .longest = v->longest,
                     .least_score = t->model.least_score,
                     .id_bits = (uint64_t)m->hash.id_bits };
        json_write(&json, &rest);
        out->n = 0;
        buf_add(out, &h, sizeof h);
        section_put(out, &h, JSON, json.p, json.n);
        section_put(out, &h, TEXTS, v->texts, v->texts_n);
        section_put(out, &h, ENTRIES, v->entries, v->n + 1);
        section_put(out, &h, SLOTS, v->slots, (size_t)1 << (64 - v->shift));
        section_put(out, &h, BY_ID, v->by_id, v->by_id ? (size_t)(v->greatest + 1) : 0);
        put_merges(out, &h, m);
        section_put(out, &h, UNITS, trie->units, trie->size);
        section_put(out, &h, UNIT_IDS, trie->ids, trie->size);
        section_put(out, &h, MAPS, maps.p, maps.n / sizeof(float));
        h.total = out->n;
        memcpy(out->p, &h, sizeof h);
    }
    buf_free(&json);
    buf_free(&maps);
    arena_free(&arena);
    return ok;
}

/* ---- reading ---- */
typedef struct CompiledBlock {
    const char *p;
    CompiledHeader h;
} CompiledBlock;

static bool compiled_fail(Err *err, const char *what)
{
    return fail(err, EF_BAD_MODEL, "compiled tokenizer: broken %s", what);
}

static void *section_table(const CompiledBlock *b, int section, size_t *n)
{
    *n = b->h.sections[section].bytes / item_size[section];
    return *n ? (void *)(b->p + b->h.sections[section].at) : NULL; /* nobody writes there */
}

static bool compiled_read_header(Str bytes, CompiledBlock *b, Err *err)
{
    b->p = bytes.p;
    if (bytes.n < sizeof b->h || (uintptr_t)bytes.p % 8) return compiled_fail(err, "header");
    memcpy(&b->h, bytes.p, sizeof b->h);
    if (b->h.magic != MAGIC && (uint32_t)b->h.magic == (uint32_t)MAGIC) /* "EFTK" */
        return fail(err, EF_UNSUPPORTED,
                    "compiled tokenizer of another version: the package must be built again");
    if (b->h.magic != MAGIC || b->h.total > bytes.n) return compiled_fail(err, "header");
    for (int i = 0; i < SECTIONS; i++) {
        CompiledSection s = b->h.sections[i];
        if (s.at % 64 || s.at > b->h.total || s.bytes > b->h.total - s.at ||
            s.bytes % item_size[i] || s.bytes / item_size[i] > INT32_MAX)
            return compiled_fail(err, "section");
    }
    return true;
}

/* log2 of a table of slots; -1: it is no power of two from 16 on. */
static int table_bits(size_t n)
{
    return n < 16 || n & (n - 1) ? -1 : __builtin_ctzll(n);
}

static bool map_vocab(const CompiledBlock *b, Vocab *v, Err *err)
{
    size_t entries, slots, ids;
    v->texts = section_table(b, TEXTS, &v->texts_n);
    if (!v->texts) v->texts = "";
    v->entries = section_table(b, ENTRIES, &entries);
    v->slots = section_table(b, SLOTS, &slots);
    v->by_id = section_table(b, BY_ID, &ids);
    if (!entries) return compiled_fail(err, "vocabulary");
    v->n = entries - 1; /* the last one is an end */
    if (!v->by_id) ids = v->n;
    v->greatest = (int32_t)ids - 1;
    v->size = b->h.size;
    v->longest = b->h.longest;
    v->shift = 64 - table_bits(slots);
    return (v->shift <= 64 && v->size <= ids && v->longest <= v->texts_n) ||
           compiled_fail(err, "vocabulary");
}

static bool map_merges(const CompiledBlock *b, Merges *m, Err *err)
{
    size_t slots, seen, joins, quick, pages;
    m->slots = section_table(b, MERGE_SLOTS, &slots);
    m->seen = section_table(b, SEEN, &seen);
    m->ids = section_table(b, MERGE_IDS, &m->n);
    m->joins = section_table(b, JOINS, &joins);
    m->quick = section_table(b, QUICK, &quick);
    m->chars.pages = section_table(b, PAGES, &pages);
    m->chars.ids = section_table(b, CHAR_IDS, &m->chars.n);
    m->joins_shift = 58 - table_bits(joins);
    if (!slots) return true;
    bool ok = merge_hash_make((int)MIN(b->h.id_bits, 64u), table_bits(slots), &m->hash) &&
              seen == merge_seen_words(&m->hash) && pages == PLACES * CHAR_PAGES &&
              (!joins || m->joins_shift <= 58) && (!quick || quick == QUICK_CODES * QUICK_CODES);
    return ok || compiled_fail(err, "merges");
}

static bool map_trie(const CompiledBlock *b, const Vocab *v, Trie *t, Err *err)
{
    size_t units;
    t->units = section_table(b, UNITS, &units);
    t->ids = section_table(b, UNIT_IDS, &t->size);
    return (units == t->size && (!units || v->greatest >= 0)) || compiled_fail(err, "trie");
}

/* Tables that the kind of the model uses must be there. */
static bool check_kind(const TokenModel *m, Err *err)
{
    bool bpe = !strcmp(m->kind->type, "BPE"), unigram = !strcmp(m->kind->type, "Unigram");
    return ((!bpe || m->merges.slots) && (!unigram || m->trie.units)) ||
           compiled_fail(err, "model");
}

bool tokenizer_map(Arena *arena, Str bytes, Tokenizer **out, Err *err)
{
    CompiledBlock block;
    Tokenizer *t = NEW(arena, Tokenizer);
    TokenModel *m = &t->model;
    Value root;
    Str json;
    if (!compiled_read_header(bytes, &block, err) || !map_vocab(&block, &m->vocab, err) ||
        !map_merges(&block, &m->merges, err) || !map_trie(&block, &m->vocab, &m->trie, err))
        return false;
    m->least_score = block.h.least_score;
    m->ready = true;
    json.p = section_table(&block, JSON, &json.n);
    Arena tree = { .local = true };
    size_t n;
    const float *maps = section_table(&block, MAPS, &n);
    bool ok = json_parse(&tree, json, &root, err);
    if (ok) put_maps_back(&root, maps, n);
    ok = ok && tokenizer_fill(arena, &root, t, err) && check_kind(m, err);
    arena_free(&tree);
    return ok ? *out = t, true : within(err, "compiled tokenizer");
}

/* SPDX-License-Identifier: Apache-2.0
 * bpe.c - the model of GPT-2, RoBERTa, CLIP and Llama: a word is its characters, merged by rank.
 *
 * Kept from the reference: a character that is neither in the vocabulary nor unknown (no unk_token)
 * leaves without a trace, and the offsets of those behind it move forward; an unknown that waits to
 * be fused stays behind byte tokens that come after it.
 *
 * Most words are tokens as they are. Whether merging ends in that very token is found out once per
 * token and kept in `whole`; that byte is the only thing that ever changes in a loaded tokenizer,
 * and all threads would write the same. */
#include "bpe.h"

#include "pipeline.h"

enum { QUICK_CODES = 0x180, LONGEST_AFFIX = 100 }; /* byte-level characters are all below */
enum { INSIDE = 1, LAST = 2 };                     /* where a character stands in its word */
enum { WHOLE_YES = 1, WHOLE_NO };
enum { WORTH_KEEPING = 40 }; /* bytes of a word */

typedef struct Bpe {
    Str unk, prefix, suffix;
    bool has_unk, fuse_unk, byte_fallback, ignore_merges;
    int32_t unk_id;                /* -1: not in the vocabulary; an error once it is needed */
    int32_t bytes[256];            /* for byte_fallback */
    int32_t quick[4][QUICK_CODES]; /* id of a character by INSIDE | LAST */
    uint8_t *whole;                /* of each vocabulary entry; 0: not known yet */
    uint32_t name;                 /* in the cache of words */
} Bpe;

/* ---- characters ---- */

/* What a character is called in the vocabulary. Returns the bytes; at most LONGEST_NAME. */
enum { LONGEST_NAME = 2 * LONGEST_AFFIX + 4 };
static Str char_name(const Bpe *model, Str c, int where, char name[LONGEST_NAME])
{
    size_t n = where & INSIDE ? model->prefix.n : 0, tail = where & LAST ? model->suffix.n : 0;
    if (n + tail == 0) return c;
    if (n) memcpy(name, model->prefix.p, n);
    memcpy(name + n, c.p, c.n);
    if (tail) memcpy(name + n + c.n, model->suffix.p, tail);
    return (Str){ name, n + c.n + tail };
}

static int32_t char_id(const Model *self, Str c, int where)
{
    char name[LONGEST_NAME];
    return vocab_find(&self->vocab, char_name(self->data, c, where, name));
}

static void fill_quick(const Model *self, Bpe *model)
{
    char c[4];
    for (int where = 0; where < 4; where++)
        for (uint32_t code = 0; code < QUICK_CODES; code++)
            model->quick[where][code] =
                char_id(self, (Str){ c, (size_t)utf8_encode(code, c) }, where);
}

/* ---- merges ---- */
static void put_merge(Merges *m, Merge merge)
{
    size_t mask = ((size_t)1 << (64 - m->shift)) - 1, at = merge_slot(m, merge.left, merge.right);
    while (m->slots[at].id >= 0 &&
           (m->slots[at].left != merge.left || m->slots[at].right != merge.right))
        at = (at + 1) & mask;
    m->slots[at] = merge; /* of equal pairs the last counts */
}

/* "a b" or ["a", "b"] */
static bool read_pair(const Value *v, Str pair[2])
{
    if (v->kind == V_LIST && v->list.n == 2 && v->list.items[0].kind == V_STR &&
        v->list.items[1].kind == V_STR)
        return pair[0] = v->list.items[0].s, pair[1] = v->list.items[1].s, true;
    const char *space = v->kind == V_STR && v->s.n ? memchr(v->s.p, ' ', v->s.n) : NULL;
    if (!space) return false;
    size_t n = (size_t)(space - v->s.p);
    pair[0] = (Str){ v->s.p, n }, pair[1] = (Str){ space + 1, v->s.n - n - 1 };
    return pair[1].n == 0 || !memchr(pair[1].p, ' ', pair[1].n);
}

static uint64_t hash_on(uint64_t hash, Str s)
{
    for (size_t i = 0; i < s.n; i++) hash = vocab_step(hash, s.p[i]);
    return hash;
}

static bool merge_of(const Model *self, Str pair[2], uint32_t rank, Merge *out, Err *err)
{
    const Bpe *model = self->data;
    Str tail = pair[1];
    *out = (Merge){ vocab_find(&self->vocab, pair[0]), vocab_find(&self->vocab, tail), rank, -1 };
    if (tail.n >= model->prefix.n) {
        tail = (Str){ tail.p + model->prefix.n, tail.n - model->prefix.n };
        uint64_t hash = hash_on(hash_on(VOCAB_SEED, pair[0]), tail);
        out->id = vocab_find_hashed(&self->vocab, hash, pair[0], tail);
    }
    if (out->left >= 0 && out->right >= 0 && out->id >= 0) return true;
    return fail(err, EF_BAD_MODEL, "merges: \"%.*s\" and \"%.*s\" or what they make is no token",
                STR_ARG(pair[0]), STR_ARG(pair[1]));
}

static bool read_merges(Arena *arena, const Value *list, const Model *self, Merges *m, Err *err)
{
    if (!list || list->kind != V_LIST)
        return fail(err, EF_BAD_MODEL, "model: found no \"merges\", wanted a list");
    size_t count = list->list.n;
    if (count >= INT32_MAX) return fail(err, EF_BAD_MODEL, "merges: found %zu", count);
    int bits = 4;
    while ((size_t)1 << bits < 2 * count) bits++;
    m->shift = 64 - bits;
    m->slots = arena_raw(arena, sizeof *m->slots << bits);
    memset(m->slots, 0xff, sizeof *m->slots << bits);
    int32_t *ids = arena_raw(arena, (count + 1) * sizeof *ids);
    uint32_t rank = 0;
    for (size_t i = 0; i < count; i++) {
        const Value *v = &list->list.items[i];
        Str pair[2];
        Merge merge;
        if (v->kind == V_STR && str_starts(v->s, "#version")) continue;
        if (!read_pair(v, pair))
            return fail(err, EF_BAD_MODEL, "merges: item %zu is no pair of tokens", i);
        if (!merge_of(self, pair, rank, &merge, err)) return false;
        put_merge(m, merge);
        ids[rank++] = merge.id;
    }
    m->ids = ids;
    m->n = rank;
    return true;
}

/* ---- loading ---- */
static bool optional_str(Arena *arena, const Value *v, const char *key, Str *out, bool *has,
                         Err *err)
{
    const Value *found = value_get(v, key);
    Str s = { 0 };
    if (found && found->kind != V_NULL && !member_str(v, "model", key, &s, err)) return false;
    *has = s.p != NULL;
    *out = *has ? (Str){ str_dup(arena, s), s.n } : s;
    return true;
}

static bool optional_bool(const Value *v, const char *key, bool *out, Err *err)
{
    const Value *found = value_get(v, key);
    return !found || found->kind == V_NULL || member_bool(v, "model", key, out, err);
}

static bool read_settings(Arena *arena, const Value *v, Bpe *model, Err *err)
{
    bool has;
    if (value_float(value_get(v, "dropout"), 0) != 0)
        return fail(err, EF_UNSUPPORTED, "BPE: \"dropout\" makes tokens random, wanted none");
    if (!optional_str(arena, v, "unk_token", &model->unk, &model->has_unk, err) ||
        !optional_str(arena, v, "continuing_subword_prefix", &model->prefix, &has, err) ||
        !optional_str(arena, v, "end_of_word_suffix", &model->suffix, &has, err) ||
        !optional_bool(v, "fuse_unk", &model->fuse_unk, err) ||
        !optional_bool(v, "byte_fallback", &model->byte_fallback, err) ||
        !optional_bool(v, "ignore_merges", &model->ignore_merges, err))
        return false;
    if (model->prefix.n <= LONGEST_AFFIX && model->suffix.n <= LONGEST_AFFIX) return true;
    return fail(err, EF_UNSUPPORTED, "BPE: prefix or suffix of over %d bytes", LONGEST_AFFIX);
}

bool bpe_load(Arena *arena, const Value *v, Model *out, Err *err)
{
    Bpe *model = NEW(arena, Bpe);
    out->data = model;
    if (!read_settings(arena, v, model, err) || !model_vocab(arena, v, out, err) ||
        (!out->ready && !read_merges(arena, value_get(v, "merges"), out, &out->merges, err)))
        return false;
    model->unk_id = model->has_unk ? vocab_find(&out->vocab, model->unk) : -1;
    model->name = bpe_cache_model();
    model->whole = ARRAY(arena, uint8_t, out->vocab.n + 1);
    out->merges.grow = !(model->has_unk && model->unk.n <= model->prefix.n) &&
                       !(model->byte_fallback && model->prefix.n >= 6);
    model_bytes(&out->vocab, model->bytes);
    fill_quick(out, model);
    return true;
}

/* ---- a word ---- */
typedef struct Line { /* symbols of a word in the making */
    Symbol *symbols;
    size_t n;
    int32_t unknown; /* bytes of the unknown that waits; 0: none does */
} Line;

static inline void add_symbol(Line *line, int32_t id, int32_t length)
{
    line->symbols[line->n++] = (Symbol){ .id = id, .length = length };
}

static void add_unknown(const Bpe *model, Line *line)
{
    if (line->unknown) add_symbol(line, model->unk_id, line->unknown);
    line->unknown = 0;
}

/* The bytes of a character that is no token, with prefix and suffix; false: not all are tokens. */
static bool add_bytes(const Bpe *model, Str c, int where, Line *line)
{
    char name[LONGEST_NAME];
    Str bytes = char_name(model, c, where, name);
    for (size_t i = 0; i < bytes.n; i++)
        if (model->bytes[(unsigned char)bytes.p[i]] < 0) return false;
    for (size_t i = 0; i < bytes.n; i++)
        add_symbol(line, model->bytes[(unsigned char)bytes.p[i]], 1);
    return true;
}

static bool add_stranger(const Bpe *model, Str c, int where, Line *line, Err *err)
{
    if (model->byte_fallback && add_bytes(model, c, where, line)) return true;
    if (!model->has_unk) return true;
    if (model->unk_id < 0)
        return fail(err, EF_BAD_MODEL, "BPE: unknown token \"%.*s\" is not in the vocabulary",
                    STR_ARG(model->unk));
    if (!model->fuse_unk) add_unknown(model, line);
    line->unknown += (int32_t)c.n;
    return true;
}

static bool add_chars(const Model *self, Str word, Line *line, Err *err)
{
    const Bpe *model = self->data;
    for (size_t i = 0; i < word.n;) {
        uint32_t code;
        size_t n = (size_t)utf8_take(word.p + i, &code);
        int where = (i > 0 ? INSIDE : 0) | (i + n == word.n ? LAST : 0);
        Str c = { word.p + i, n };
        int32_t id = code < QUICK_CODES ? model->quick[where][code] : char_id(self, c, where);
        i += n;
        if (id < 0 && !add_stranger(model, c, where, line, err)) return false;
        if (id < 0) continue;
        add_unknown(model, line);
        add_symbol(line, id, (int32_t)n);
    }
    add_unknown(model, line);
    return true;
}

static bool merge_word(const Model *self, Str word, Tokens *out, Err *err)
{
    const Bpe *model = self->data;
    size_t most = word.n; /* symbols: a byte each, and affixes that fall back to bytes */
    if (model->byte_fallback) most += word.n * model->prefix.n + model->suffix.n;
    Line line = { .symbols = (Symbol *)tokens_scratch(out, BPE_SCRATCH * most) };
    if (!add_chars(self, word, &line, err)) return false;
    if (line.n == 0) return true;
    bpe_merge(&self->merges, line.symbols, line.n);
    size_t start = 0;
    for (int32_t i = 0; i >= 0; i = line.symbols[i].next) {
        size_t end = start + (size_t)line.symbols[i].length;
        if (line.symbols[i].id < 0 || line.symbols[i].id > self->vocab.greatest)
            return fail(err, EF_BAD_MODEL, "BPE: a merge makes token %d, which is none",
                        (int)line.symbols[i].id);
        tokens_add(out, line.symbols[i].id, MIN(start, word.n - 1), MIN(end, word.n));
        start = end;
    }
    return true;
}

/* From the cache, or merged and kept there. */
static bool split_word(const Model *self, uint64_t hash, Str word, Tokens *out, Err *err)
{
    const Bpe *model = self->data;
    size_t before = out->n;
    if (bpe_cache_find(model->name, hash, word, out)) return true;
    if (!merge_word(self, word, out, err)) return false;
    bpe_cache_keep(model->name, hash, word, out->items + before, out->n - before);
    return true;
}

bool bpe_word(const Model *self, Str word, Tokens *out, Err *err)
{
    const Bpe *model = self->data;
    Str suffix = model->ignore_merges ? (Str){ 0 } : model->suffix;
    if (word.n + suffix.n > self->vocab.longest && word.n > WORTH_KEEPING)
        return merge_word(self, word, out, err);
    uint64_t hash = hash_on(hash_on(VOCAB_SEED, word), suffix);
    int64_t entry = vocab_entry_hashed(&self->vocab, hash, word, suffix);
    if (entry < 0) return split_word(self, hash, word, out, err);
    int32_t id = vocab_id(&self->vocab, entry);
    if (id < 0) return merge_word(self, word, out, err);
    uint8_t known = __atomic_load_n(&model->whole[entry], __ATOMIC_RELAXED);
    if (model->ignore_merges || known == WHOLE_YES) return tokens_add(out, id, 0, word.n), true;
    size_t before = out->n;
    if (!split_word(self, hash, word, out, err)) return false;
    if (known) return true;
    const Token *t = &out->items[before];
    bool whole = out->n == before + 1 && t->id == id && (size_t)t->end == word.n;
    __atomic_store_n(&model->whole[entry], whole ? WHOLE_YES : WHOLE_NO, __ATOMIC_RELAXED);
    return true;
}

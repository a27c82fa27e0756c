/* SPDX-License-Identifier: Apache-2.0
 * bpe.c - the model of GPT-2, RoBERTa, CLIP and Llama: a word is its characters, merged by rank.
 *
 * Kept from the reference: a character that is neither in the vocabulary nor unknown (no
 * unk_token) is dropped, and the offsets of the characters after it shift; an unknown that waits
 * to be fused stays behind byte tokens that come after it.
 *
 * Most words were met before (word_cache.h), or are tokens as they are. Whether merging ends in
 * that very token is determined once per token and kept in `whole`; that byte is the only thing
 * that ever changes in a loaded tokenizer, and all threads would write the same. */
#include "bpe.h"

#include "bpe_model.h"
#include "pipeline.h"
#include "word_cache.h"

enum { WHOLE_YES = 1, WHOLE_NO };
enum { WORTH_CUTTING = 24 }; /* bytes of a word */

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

typedef struct BpeLine { /* symbols of a word in the making */
    BpeSymbol *symbols;
    size_t n;
    int32_t unknown; /* bytes of the unknown that waits; 0: none does */
} BpeLine;

static inline void add_symbol(BpeLine *line, int32_t id, uint32_t code, int32_t length)
{
    line->symbols[line->n++] = (BpeSymbol){ .id = id, .code = code, .length = length };
}

static void bpe_add_unknown(const Bpe *model, BpeLine *line)
{
    if (line->unknown) add_symbol(line, model->unk_id, QUICK_CODES, line->unknown);
    line->unknown = 0;
}

/* The bytes of a character that is no token, with prefix and suffix; false: not all are tokens. */
static bool bpe_add_bytes(const Bpe *model, Str c, int where, BpeLine *line)
{
    char name[LONGEST_NAME];
    Str bytes = char_name(model, c, where, name);
    for (size_t i = 0; i < bytes.n; i++)
        if (model->bytes[(unsigned char)bytes.p[i]] < 0) return false;
    for (size_t i = 0; i < bytes.n; i++)
        add_symbol(line, model->bytes[(unsigned char)bytes.p[i]], QUICK_CODES, 1);
    return true;
}

static bool add_stranger(const Bpe *model, Str c, int where, BpeLine *line, Err *err)
{
    if (model->byte_fallback && bpe_add_bytes(model, c, where, line)) return true;
    if (!model->has_unk) return true;
    if (model->unk_id < 0)
        return fail(err, EF_BAD_MODEL, "BPE: unknown token \"%.*s\" is not in the vocabulary",
                    STR_ARG(model->unk));
    if (!model->fuse_unk) bpe_add_unknown(model, line);
    line->unknown += (int32_t)c.n;
    return true;
}

static bool add_chars(const TokenModel *self, Str word, BpeLine *line, Err *err)
{
    const Bpe *model = self->data;
    for (size_t i = 0; i < word.n;) {
        uint32_t code;
        size_t n = (size_t)utf8_take(word.p + i, &code);
        int where = (i > 0 ? INSIDE : 0) | (i + n == word.n ? LAST : 0);
        Str c = { word.p + i, n };
        int32_t id = bpe_char(&self->merges.chars, code, where);
        i += n;
        if (id < 0 && !add_stranger(model, c, where, line, err)) return false;
        if (id < 0) continue;
        bpe_add_unknown(model, line);
        add_symbol(line, id, code, (int32_t)n);
    }
    bpe_add_unknown(model, line);
    return true;
}

static bool merge_word(const TokenModel *self, Str word, Tokens *out, Err *err)
{
    const Bpe *model = self->data;
    size_t most = word.n; /* symbols: a byte each, and affixes that fall back to bytes */
    if (model->byte_fallback) most += word.n * model->prefix.n + model->suffix.n;
    BpeLine line = { .symbols = (BpeSymbol *)tokens_scratch(out, BPE_SCRATCH * most) };
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

/* A word of the vocabulary whose outcome is known already. *entry: its place; -1: it is none. */
static bool is_whole(const TokenModel *self, Str word, int64_t *entry, Tokens *out)
{
    const Bpe *model = self->data;
    Str suffix = model->ignore_merges ? (Str){ 0 } : model->suffix;
    *entry = -1;
    if (word.n + suffix.n > self->vocab.longest) return false;
    uint64_t hash = vocab_hash(vocab_hash(VOCAB_SEED, word), suffix);
    *entry = vocab_entry_hashed(&self->vocab, hash, word, suffix);
    int32_t id = vocab_id(&self->vocab, *entry);
    if (id < 0) return *entry = -1, false;
    if (!model->ignore_merges &&
        __atomic_load_n(&model->whole[*entry], __ATOMIC_RELAXED) != WHOLE_YES)
        return false;
    tokens_add(out, id, 0, word.n);
    return true;
}

static void note_whole(const TokenModel *self, int64_t entry, Str word, const Tokens *out,
                       size_t first)
{
    const Bpe *model = self->data;
    const Token *t = &out->items[first];
    bool whole =
        out->n == first + 1 && t->id == vocab_id(&self->vocab, entry) && (size_t)t->end == word.n;
    __atomic_store_n(&model->whole[entry], whole ? WHOLE_YES : WHOLE_NO, __ATOMIC_RELAXED);
}

/* From the cache, from the vocabulary, or merged. */
static bool find_word(const TokenModel *self, Str word, Tokens *out, Err *err)
{
    const Bpe *model = self->data;
    size_t first = out->n;
    uint64_t place;
    int64_t entry;
    bool small = word.n <= CACHED_BYTES;
    if (small && word_cache_find(model->name, word, &place, out)) return true;
    if (!is_whole(self, word, &entry, out)) {
        if (!merge_word(self, word, out, err)) return false;
        if (entry >= 0) note_whole(self, entry, word, out, first);
    }
    if (small) word_cache_keep(model->name, word, place, out, first);
    return true;
}

/* The same for a part of a word, whose tokens are places in the word. */
static bool bpe_find_part(const TokenModel *self, Str word, size_t from, size_t to, Tokens *out,
                          Err *err)
{
    size_t first = out->n;
    if (!find_word(self, (Str){ word.p + from, to - from }, out, err)) return false;
    for (size_t i = first; i < out->n; i++)
        out->items[i].start += (int32_t)from, out->items[i].end += (int32_t)from;
    return true;
}

/* Two characters that no token has side by side will never be merged, nor will anything across
 * them: what is before and what is behind are words of their own. Not between two unknown ones,
 * which may be fused. */
static bool cut_word(const TokenModel *self, Str word, Tokens *out, Err *err)
{
    uint32_t before, code;
    size_t from = 0, i = (size_t)utf8_take(word.p, &before);
    for (size_t n; i < word.n; i += n, before = code) {
        n = (size_t)utf8_take(word.p + i, &code);
        if (bpe_joins(&self->merges, before, code)) continue;
        if (bpe_char(&self->merges.chars, code, 0) < 0) continue;
        if (!bpe_find_part(self, word, from, i, out, err)) return false;
        from = i;
    }
    return bpe_find_part(self, word, from, word.n, out, err);
}

bool bpe_word(const TokenModel *self, Str word, Tokens *out, Err *err)
{
    return self->merges.joins && word.n > WORTH_CUTTING ? cut_word(self, word, out, err)
                                                        : find_word(self, word, out, err);
}

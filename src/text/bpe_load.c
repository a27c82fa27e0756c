/* SPDX-License-Identifier: Apache-2.0
 * bpe_load.c - a BPE model from its file. */
#include "bpe.h"
#include "bpe_model.h"
#include "pipeline.h"
#include "word_cache.h"

enum { WORTH_A_TABLE = 64 }; /* merges */

/* "a b" or ["a", "b"] */
static bool bpe_read_pair(const Value *v, Str pair[2])
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

static bool merge_of(const TokenModel *self, Str pair[2], Merge *out, Err *err)
{
    const Bpe *model = self->data;
    Str tail = pair[1];
    *out = (Merge){ vocab_find(&self->vocab, pair[0]), vocab_find(&self->vocab, tail), -1 };
    if (tail.n >= model->prefix.n) {
        tail = (Str){ tail.p + model->prefix.n, tail.n - model->prefix.n };
        uint64_t hash = vocab_hash(vocab_hash(VOCAB_SEED, pair[0]), tail);
        out->id = vocab_find_hashed(&self->vocab, hash, pair[0], tail);
    }
    if (out->left >= 0 && out->right >= 0 && out->id >= 0) return true;
    return fail(err, EF_BAD_MODEL, "merges: \"%.*s\" and \"%.*s\" or what they make is no token",
                STR_ARG(pair[0]), STR_ARG(pair[1]));
}

static bool read_merges(Arena *arena, const Value *list, const TokenModel *self, Merge **out,
                        size_t *n, Err *err)
{
    if (!list || list->kind != V_LIST)
        return fail(err, EF_BAD_MODEL, "model: found no \"merges\", wanted a list");
    size_t count = list->list.n;
    if (count >= INT32_MAX) return fail(err, EF_BAD_MODEL, "merges: found %zu", count);
    *out = arena_raw(arena, (count + 1) * sizeof **out);
    *n = 0;
    for (size_t i = 0; i < count; i++) {
        const Value *v = &list->list.items[i];
        Str pair[2];
        if (v->kind == V_STR && str_starts(v->s, "#version")) continue;
        if (!bpe_read_pair(v, pair))
            return fail(err, EF_BAD_MODEL, "merges: item %zu is no pair of tokens", i);
        if (!merge_of(self, pair, &(*out)[(*n)++], err)) return false;
    }
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

static bool bpe_read_settings(Arena *arena, const Value *v, Bpe *model, Err *err)
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

/* Whether words can be cut where no token has two characters side by side (bpe.c): not if
 * unknown characters are dropped, affixes depend on the position, or unknown tokens are fused. */
static bool may_cut(const TokenModel *self, const Merge *list)
{
    const Bpe *model = self->data;
    const Merges *m = &self->merges;
    bool bytes = model->byte_fallback;
    for (int b = 0; b < 256; b++) bytes = bytes && model->bytes[b] >= 0;
    if (model->prefix.n || model->suffix.n || model->ignore_merges || !m->grow ||
        !(model->has_unk || bytes))
        return false;
    Arena work = { .local = true };
    bool ok = true, *stands_in = ARRAY(&work, bool, self->vocab.greatest + 2);
    for (int b = 0; model->byte_fallback && b < 256; b++) stands_in[model->bytes[b] + 1] = true;
    stands_in[model->unk_id + 1] = true;
    stands_in[0] = false; /* of -1 */
    for (size_t i = 0; ok && i < m->n; i++)
        ok = !stands_in[list[i].left + 1] && !stands_in[list[i].right + 1];
    arena_free(&work);
    return ok;
}

static bool build_tables(Arena *arena, const Value *v, TokenModel *out, Err *err)
{
    const Bpe *model = out->data;
    Merges *m = &out->merges;
    Arena work = { .local = true };
    Merge *list = NULL;
    bool ok = read_merges(&work, value_get(v, "merges"), out, &list, &m->n, err) &&
              bpe_pairs_build(arena, list, out->vocab.greatest, m, err);
    BpeAffixes affixes = { model->prefix, model->suffix };
    if (ok) bpe_chars_build(arena, &out->vocab, affixes, &m->chars);
    bool plain = !model->prefix.n && !model->suffix.n;
    if (ok && plain && m->n >= WORTH_A_TABLE) bpe_quick_build(arena, list, m);
    if (ok && may_cut(out, list)) bpe_joins_build(arena, list, &out->vocab, m);
    arena_free(&work);
    return ok;
}

bool bpe_load(Arena *arena, const Value *v, TokenModel *out, Err *err)
{
    Bpe *model = NEW(arena, Bpe);
    out->data = model;
    if (!bpe_read_settings(arena, v, model, err) || !model_vocab(arena, v, out, err)) return false;
    model->unk_id = model->has_unk ? vocab_find(&out->vocab, model->unk) : -1;
    model->name = word_cache_model();
    model->whole = ARRAY(arena, uint8_t, out->vocab.n + 1);
    out->merges.grow = !(model->has_unk && model->unk.n <= model->prefix.n) &&
                       !(model->byte_fallback && model->prefix.n >= 6);
    model_bytes(&out->vocab, model->bytes);
    return out->ready || build_tables(arena, v, out, err);
}

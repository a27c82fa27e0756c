/* SPDX-License-Identifier: Apache-2.0
 * tokenizer.c - from tokenizer.json to a Tokenizer, and what can be asked of one besides encoding.
 * `decoder` and `padding` are not read: ids are never turned back here, and batches are ragged. */
#include "data/json.h"
#include "pipeline.h"

/* ---- truncation, as the file has it ---- */
static bool word_of(const Value *v, const char *key, const char *const *words, int count, int *out,
                    Err *err)
{
    Str found;
    if (!member_str(v, "truncation", key, &found, err)) return false;
    for (int i = 0; i < count; i++)
        if (str_is(found, words[i])) return *out = i, true;
    return fail(err, EF_BAD_MODEL, "truncation: found \"%.*s\" as \"%s\"", STR_ARG(found), key);
}

static bool read_truncation(const Value *v, Tokenizer *out, Err *err)
{
    static const char *const strategies[] = { "LongestFirst", "OnlyFirst", "OnlySecond" };
    static const char *const directions[] = { "Right", "Left" };
    if (!v || v->kind == V_NULL) return true;
    int64_t length;
    int strategy = 0, direction = 0;
    if (!member_int(v, "truncation", "max_length", &length, err) ||
        !word_of(v, "strategy", strategies, COUNT(strategies), &strategy, err) ||
        (value_get(v, "direction") &&
         !word_of(v, "direction", directions, COUNT(directions), &direction, err)))
        return false;
    out->truncates = true;
    out->truncation.max_length = length > INT32_MAX ? 0 : (int)length;
    out->truncation.strategy = (TruncateStrategy)strategy;
    out->truncation.truncate_left = direction;
    return true;
}

/* ---- the whole ---- */
static void name_ids(Arena *arena, Tokenizer *t)
{
    int32_t greatest = t->model.vocab.greatest;
    for (size_t i = 0; i < t->added.n; i++) greatest = MAX(greatest, t->added.items[i].id);
    t->size = (size_t)(greatest + 1);
    t->names = ARRAY(arena, Str, t->size);
    for (size_t i = 0; i < t->model.vocab.n; i++) {
        const VocabEntry *entry = &t->model.vocab.entries[i];
        t->names[entry->id] = (Str){ entry->p, entry->n };
    }
    for (size_t i = 0; i < t->added.n; i++)
        t->names[t->added.items[i].id] = t->added.items[i].pattern;
}

/* Ids of special tokens go straight to the model's embedding: they must exist. */
static bool check_template(const Tokenizer *t, const Template *template, Err *err)
{
    for (size_t i = 0; i < template->n; i++)
        for (size_t k = 0; k < template->parts[i].n; k++)
            if ((size_t) template->parts[i].ids[k] >= t->size)
                return fail(err, EF_BAD_MODEL,
                            "post_processor: found token id %d, wanted one below %zu",
                            (int)template->parts[i].ids[k], t->size);
    return true;
}

static bool load(Arena *arena, const Value *root, Tokenizer *t, Err *err)
{
    if (root->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "found %s, wanted an object", value_kind_name(root->kind));
    Str version = value_str(value_get(root, "version"), STR("1.0"));
    if (!str_is(version, "1.0"))
        return fail(err, EF_UNSUPPORTED, "found version \"%.*s\", wanted 1.0", STR_ARG(version));
    if (!normalizer_load(arena, value_get(root, "normalizer"), &t->normalizer, err) ||
        !pretokenizer_load(arena, value_get(root, "pre_tokenizer"), &t->pretokenizer, err) ||
        !postprocessor_load(arena, value_get(root, "post_processor"), &t->post, err) ||
        !read_truncation(value_get(root, "truncation"), t, err) ||
        !model_load(arena, value_get(root, "model"), &t->model, err) ||
        !added_load(arena, value_get(root, "added_tokens"), &t->model, &t->normalizer, &t->added,
                    err))
        return false;
    name_ids(arena, t);
    return check_template(t, &t->post.single, err) && check_template(t, &t->post.pair, err);
}

bool tokenizer_from_value(Arena *arena, const Value *root, Tokenizer **out, Err *err)
{
    Tokenizer *t = NEW(arena, Tokenizer);
    if (!load(arena, root, t, err)) return within(err, "tokenizer.json");
    *out = t;
    return true;
}

bool tokenizer_load(Arena *arena, Str json, Tokenizer **out, Err *err)
{
    Arena tree = { 0 };
    Value root;
    bool ok = json_parse(&tree, json, &root, err) || within(err, "tokenizer.json");
    ok = ok && tokenizer_from_value(arena, &root, out, err);
    arena_free(&tree);
    return ok;
}

Str tokenizer_token(const Tokenizer *t, int32_t id)
{
    return id >= 0 && (size_t)id < t->size ? t->names[id] : (Str){ 0 };
}

int32_t tokenizer_id(const Tokenizer *t, Str token)
{
    for (size_t i = 0; i < t->added.n; i++)
        if (str_eq(t->added.items[i].content, token)) return t->added.items[i].id;
    return vocab_find(&t->model.vocab, token);
}

size_t tokenizer_size(const Tokenizer *t)
{
    return t->size;
}

const char *tokenizer_kind(const Tokenizer *t)
{
    return t->model.kind->type;
}

bool tokenizer_truncation(const Tokenizer *t, EncodeOptions *out)
{
    if (t->truncates) *out = t->truncation;
    return t->truncates;
}

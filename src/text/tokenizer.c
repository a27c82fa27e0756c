/* SPDX-License-Identifier: Apache-2.0
 * tokenizer.c - from tokenizer.json to a Tokenizer, and its properties. `truncation` and
 * `padding` of the file are reported, not applied. */
#include "data/json.h"
#include "pipeline.h"

/* ---- truncation and padding, as the file has them ---- */
static bool tokenizer_word_of(const Value *v, const char *where, const char *key,
                              const char *const *words, int count, int *out, Err *err)
{
    Str found;
    if (!member_str(v, where, key, &found, err)) return false;
    for (int i = 0; i < count; i++)
        if (str_is(found, words[i])) return *out = i, true;
    return fail(err, EF_BAD_MODEL, "%s: found \"%.*s\" as \"%s\"", where, STR_ARG(found), key);
}

static bool check_i32(const char *where, const char *key, int64_t number, Err *err)
{
    if (number >= 0 && number <= INT32_MAX) return true;
    return fail(err, EF_BAD_MODEL, "%s: found %lld as \"%s\", wanted 0 to %d", where,
                (long long)number, key, INT32_MAX);
}

static bool read_truncation(const Value *v, Tokenizer *out, Err *err)
{
    static const char *const strategies[] = { "LongestFirst", "OnlyFirst", "OnlySecond" };
    static const char *const directions[] = { "Right", "Left" };
    if (!v || v->kind == V_NULL) return true;
    int64_t length, stride = value_int(value_get(v, "stride"), 0);
    int strategy = 0, direction = 0;
    if (!member_int(v, "truncation", "max_length", &length, err) ||
        !check_i32("truncation", "stride", stride, err) ||
        !tokenizer_word_of(v, "truncation", "strategy", strategies, COUNT(strategies), &strategy,
                           err) ||
        (value_get(v, "direction") && !tokenizer_word_of(v, "truncation", "direction", directions,
                                                         COUNT(directions), &direction, err)))
        return false;
    out->truncates = true;
    out->truncation.max_length = length > INT32_MAX ? 0 : (int)length;
    out->truncation.strategy = (TruncateStrategy)strategy;
    out->truncation.truncate_left = direction;
    out->truncation.stride = (int)stride;
    return true;
}

/* {"strategy": "BatchLongest" or {"Fixed": 64}, "direction": "Right", ...} */
static bool read_padding(Arena *arena, const Value *v, Tokenizer *out, Err *err)
{
    static const char *const directions[] = { "Right", "Left" };
    if (!v || v->kind == V_NULL) return true;
    const Value *strategy = value_get(v, "strategy"), *fixed = value_get(strategy, "Fixed");
    int64_t length = value_int(fixed, 0), id, type_id;
    int left = 0;
    Str token;
    if (!fixed && !str_is(value_str(strategy, STR("")), "BatchLongest"))
        return fail(err, EF_BAD_MODEL, "padding: found no \"strategy\" that is known");
    if (!tokenizer_word_of(v, "padding", "direction", directions, COUNT(directions), &left, err) ||
        !member_int(v, "padding", "pad_id", &id, err) ||
        !member_int(v, "padding", "pad_type_id", &type_id, err) ||
        !check_i32("padding", "pad_id", id, err) ||
        !check_i32("padding", "pad_type_id", type_id, err) ||
        !member_str(v, "padding", "pad_token", &token, err))
        return false;
    out->pads = true;
    out->padding = (PadOptions){ .length = (size_t)MAX(length, 0),
                                 .left = left,
                                 .id = (int32_t)id,
                                 .type_id = (int32_t)type_id,
                                 .token = { str_dup(arena, token), token.n } };
    out->padding.multiple = (size_t)MAX(value_int(value_get(v, "pad_to_multiple_of"), 0), 0);
    return true;
}

/* ---- the whole ---- */
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

bool tokenizer_fill(Arena *arena, const Value *root, Tokenizer *t, Err *err)
{
    if (root->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "found %s, wanted an object", value_kind_name(root->kind));
    Str version = value_str(value_get(root, "version"), STR("1.0"));
    if (!str_is(version, "1.0"))
        return fail(err, EF_UNSUPPORTED, "found version \"%.*s\", wanted 1.0", STR_ARG(version));
    if (!normalizer_load(arena, value_get(root, "normalizer"), &t->normalizer, err) ||
        !pretokenizer_load(arena, value_get(root, "pre_tokenizer"), &t->pretokenizer, err) ||
        !postprocessor_load(arena, value_get(root, "post_processor"), &t->post, err) ||
        !decoder_load(arena, value_get(root, "decoder"), &t->decoder, err) ||
        !read_truncation(value_get(root, "truncation"), t, err) ||
        !read_padding(arena, value_get(root, "padding"), t, err) ||
        !model_load(arena, value_get(root, "model"), &t->model, err) ||
        !added_load(arena, value_get(root, "added_tokens"), &t->model, &t->normalizer, &t->added,
                    err))
        return false;
    t->added.raw.split = value_bool(value_get(root, "split_special_tokens"), false);
    t->added.normalized.split = t->added.raw.split;
    int32_t greatest = t->model.vocab.greatest;
    for (size_t i = 0; i < t->added.n; i++) greatest = MAX(greatest, t->added.items[i].id);
    t->size = (size_t)(greatest + 1);
    t->slice = slice_bytes(t);
    return check_template(t, &t->post.single, err) && check_template(t, &t->post.pair, err);
}

bool tokenizer_from_value(Arena *arena, const Value *root, Tokenizer **out, Err *err)
{
    Tokenizer *t = NEW(arena, Tokenizer);
    if (!tokenizer_fill(arena, root, t, err)) return within(err, "tokenizer.json");
    *out = t;
    return true;
}

bool tokenizer_load(Arena *arena, Str json, Tokenizer **out, Err *err)
{
    Arena tree = { .local = true };
    Value root;
    bool ok = json_parse(&tree, json, &root, err) || within(err, "tokenizer.json");
    ok = ok && tokenizer_from_value(arena, &root, out, err);
    arena_free(&tree);
    return ok;
}

Str tokenizer_token(const Tokenizer *t, int32_t id)
{
    const Added *added = added_with_id(&t->added, id);
    return added ? added->pattern : model_name(&t->model, id);
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

bool tokenizer_padding(const Tokenizer *t, PadOptions *out)
{
    if (t->pads) *out = t->padding;
    return t->pads;
}

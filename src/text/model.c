/* SPDX-License-Identifier: Apache-2.0
 * model.c - the kinds of `model`, and reading members of the components. Old files have no `type`: they
 * are known by their members, tried from top to bottom as the reference does. */
#include "pipeline.h"

static const ModelKind kinds[] = {
    { "BPE", { "vocab", "merges" }, NULL, NULL },
    { "WordPiece",
      { "vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word" },
      wordpiece_load, wordpiece_word },
    { "WordLevel", { "vocab", "unk_token" }, NULL, NULL },
    { "Unigram", { "vocab", "unk_id" }, NULL, NULL },
};

static bool has_members(const Value *v, const char *const *members)
{
    while (*members && value_get(v, *members)) members++;
    return !*members;
}

bool model_load(Arena *arena, const Value *v, Model *out, Err *err)
{
    if (!v || v->kind != V_MAP) return fail(err, EF_BAD_MODEL, "found no \"model\", wanted an object");
    Str type = { 0 };
    if (value_get(v, "type") && !component_type(v, "model", &type, err)) return false;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const ModelKind *kind = &kinds[i];
        if (type.p ? !str_is(type, kind->type) : !has_members(v, kind->members)) continue;
        out->kind = kind;
        return kind->load ? kind->load(arena, v, out, err)
                          : component_unknown("model", str_of(kind->type), err);
    }
    if (type.p) return component_unknown("model", type, err);
    return fail(err, EF_BAD_MODEL, "model: found no \"type\", and members of none that is known");
}

/* ---- members ---- */
static bool member(const Value *v, const char *where, const char *key, ValueKind kind,
                   const Value **out, Err *err)
{
    *out = value_get(v, key);
    if (!*out) return fail(err, EF_BAD_MODEL, "%s: found no \"%s\"", where, key);
    if ((*out)->kind == kind) return true;
    return fail(err, EF_BAD_MODEL, "%s: found %s as \"%s\", wanted %s", where,
                value_kind_name((*out)->kind), key, value_kind_name(kind));
}

bool member_str(const Value *v, const char *where, const char *key, Str *out, Err *err)
{
    const Value *found;
    if (!member(v, where, key, V_STR, &found, err)) return false;
    return *out = found->s, true;
}

bool member_bool(const Value *v, const char *where, const char *key, bool *out, Err *err)
{
    const Value *found;
    if (!member(v, where, key, V_BOOL, &found, err)) return false;
    return *out = found->b, true;
}

bool member_int(const Value *v, const char *where, const char *key, int64_t *out, Err *err)
{
    const Value *found;
    if (!member(v, where, key, V_INT, &found, err)) return false;
    if (found->i < 0)
        return fail(err, EF_BAD_MODEL, "%s: found %lld as \"%s\", wanted 0 or more", where,
                    (long long)found->i, key);
    return *out = found->i, true;
}

bool member_list(const Value *v, const char *where, const char *key, const Value **out, Err *err)
{
    return member(v, where, key, V_LIST, out, err);
}

bool component_type(const Value *v, const char *where, Str *out, Err *err)
{
    if (v->kind == V_MAP) return member_str(v, where, "type", out, err);
    return fail(err, EF_BAD_MODEL, "%s: found %s, wanted an object", where, value_kind_name(v->kind));
}

bool component_unknown(const char *where, Str type, Err *err)
{
    return fail(err, EF_UNSUPPORTED, "%s type \"%.*s\" is not supported", where, STR_ARG(type));
}

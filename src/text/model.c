/* SPDX-License-Identifier: Apache-2.0
 * model.c - the kinds of `model`. Old files have no `type`: they are known by their members, tried
 * from top to bottom as the reference does. */
#include "pipeline.h"

static const TokenModelKind kinds[] = {
    { "BPE", { "vocab", "merges" }, bpe_load, bpe_word },
    { "WordPiece",
      { "vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word" },
      wordpiece_load,
      wordpiece_word },
    { "WordLevel", { "vocab", "unk_token" }, wordlevel_load, wordlevel_word },
    { "Unigram", { "vocab", "unk_id" }, unigram_load, unigram_word },
};

Str model_name(const TokenModel *model, int32_t id)
{
    Str name = vocab_name(&model->vocab, id);
    return model->ready && name.p && !utf8_valid(name) ? STR("") : name;
}

bool model_vocab(Arena *arena, const Value *v, TokenModel *out, Err *err)
{
    return out->ready || vocab_load(arena, value_get(v, "vocab"), &out->vocab, err);
}

void model_bytes(const Vocab *vocab, int32_t bytes[256])
{
    for (unsigned b = 0; b < 256; b++) {
        char name[] = "<0x00>";
        name[3] = "0123456789ABCDEF"[b >> 4], name[4] = "0123456789ABCDEF"[b & 15];
        bytes[b] = vocab_find(vocab, (Str){ name, 6 });
    }
}

static bool has_members(const Value *v, const char *const *members)
{
    while (*members && value_get(v, *members)) members++;
    return !*members;
}

bool model_load(Arena *arena, const Value *v, TokenModel *out, Err *err)
{
    if (!v || v->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "found no \"model\", wanted an object");
    Str type = { 0 };
    if (value_get(v, "type") && !component_type(v, "model", &type, err)) return false;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const TokenModelKind *kind = &kinds[i];
        if (type.p ? !str_is(type, kind->type) : !has_members(v, kind->members)) continue;
        out->kind = kind;
        return kind->load(arena, v, out, err);
    }
    if (type.p) return component_unknown("model", type, err);
    return fail(err, EF_BAD_MODEL, "model: found no \"type\", and members of none that is known");
}

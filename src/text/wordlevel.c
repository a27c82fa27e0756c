/* SPDX-License-Identifier: Apache-2.0
 * wordlevel.c - the plainest model: a word is a token, or unknown. */
#include "pipeline.h"

typedef struct WordLevel {
    Str unk;
    int32_t unk_id; /* -1: not in the vocabulary; an error once it is needed */
} WordLevel;

bool wordlevel_load(Arena *arena, const Value *v, TokenModel *out, Err *err)
{
    WordLevel *model = NEW(arena, WordLevel);
    Str unk;
    if (!member_str(v, "model", "unk_token", &unk, err) ||
        !model_vocab(arena, v, out, err))
        return false;
    model->unk = (Str){ str_dup(arena, unk), unk.n };
    model->unk_id = vocab_find(&out->vocab, unk);
    out->data = model;
    return true;
}

bool wordlevel_word(const TokenModel *self, Str word, Tokens *out, Err *err)
{
    const WordLevel *model = self->data;
    int32_t id = vocab_find(&self->vocab, word);
    if (id < 0) id = model->unk_id;
    if (id < 0)
        return fail(err, EF_BAD_MODEL, "WordLevel: unknown token \"%.*s\" is not in the vocabulary",
                    STR_ARG(model->unk));
    tokens_add(out, id, 0, word.n);
    return true;
}

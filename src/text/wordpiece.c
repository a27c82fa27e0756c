/* SPDX-License-Identifier: Apache-2.0
 * wordpiece.c - the model of the BERT family: from the left, the longest token that fits; tokens
 * inside a word carry a prefix ("##"). A word that cannot be covered, or is too long, is one
 * unknown token. */
#include "pipeline.h"

typedef struct WordPiece {
    Str unk, prefix;
    int32_t unk_id;       /* -1: not in the vocabulary; an error once it is needed */
    int64_t max_chars;    /* of a word */
    uint64_t prefix_hash; /* state of the hash after the prefix */
} WordPiece;

bool wordpiece_load(Arena *arena, const Value *v, TokenModel *out, Err *err)
{
    Str unk, prefix;
    WordPiece *model = NEW(arena, WordPiece);
    if (!member_str(v, "model", "unk_token", &unk, err) ||
        !member_str(v, "model", "continuing_subword_prefix", &prefix, err) ||
        !member_int(v, "model", "max_input_chars_per_word", &model->max_chars, err) ||
        !model_vocab(arena, v, out, err))
        return false;
    model->unk = (Str){ str_dup(arena, unk), unk.n };
    model->prefix = (Str){ str_dup(arena, prefix), prefix.n };
    model->unk_id = vocab_find(&out->vocab, unk);
    model->prefix_hash = vocab_hash(VOCAB_SEED, prefix);
    out->scratch = out->vocab.longest;
    out->data = model;
    return true;
}

static bool longer_than(Str word, int64_t chars)
{
    if ((int64_t)word.n <= chars) return false;
    int64_t count = 0;
    for (size_t i = 0; i < word.n; i++) count += (word.p[i] & 0xc0) != 0x80;
    return count > chars;
}

/* The longest token at the start of `rest`; returns its bytes without the prefix, 0: none. */
static size_t wordpiece_longest(const Vocab *vocab, uint64_t hash, Str prefix, Str rest,
                                uint64_t *hashes, int32_t *id)
{
    if (vocab->longest < prefix.n) return 0;
    size_t n = MIN(rest.n, vocab->longest - prefix.n);
    for (size_t i = 0; i < n; i++) hashes[i] = hash = vocab_step(hash, rest.p[i]);
    for (; n > 0; n--) {
        if (n < rest.n && (rest.p[n] & 0xc0) == 0x80) continue; /* inside a character */
        *id = vocab_find_hashed(vocab, hashes[n - 1], prefix, (Str){ rest.p, n });
        if (*id >= 0) return n;
    }
    return 0;
}

bool wordpiece_word(const TokenModel *self, Str word, Tokens *out, Err *err)
{
    const WordPiece *model = self->data;
    size_t before = out->n, at = longer_than(word, model->max_chars) ? SIZE_MAX : 0;
    while (at < word.n) {
        int32_t id;
        Str rest = { word.p + at, word.n - at };
        size_t n =
            at ? wordpiece_longest(&self->vocab, model->prefix_hash, model->prefix, rest,
                                   out->scratch, &id)
               : wordpiece_longest(&self->vocab, VOCAB_SEED, (Str){ 0 }, rest, out->scratch, &id);
        if (n) tokens_add(out, id, at, at + n);
        at = n ? at + n : SIZE_MAX;
    }
    if (at != SIZE_MAX) return true;
    if (model->unk_id < 0)
        return fail(err, EF_BAD_MODEL, "WordPiece: unknown token \"%.*s\" is not in the vocabulary",
                    STR_ARG(model->unk));
    out->n = before;
    tokens_add(out, model->unk_id, 0, word.n);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * slice.c - where a long text may be cut so that its parts give the same tokens as the whole.
 *
 * Before a lone space between two ASCII letters or digits ("one| two"): there every normalizer that
 * goes by characters has nothing pending, and pre-tokenizers that split at spaces or by the known
 * expressions split. Each kind of component has a row that says whether it is one of these; added
 * tokens must not reach over such a place. Tokenizers for which this is not sure are never cut. */
#include "pipeline.h"

enum { SLICE_BYTES = 16 << 10 }; /* about a millisecond of work */

static bool is_alnum(char c)
{
    char low = (char)(c | 0x20);
    return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9');
}

/* A token that could lie on both sides, or take the space, or that looks beyond it. */
static bool reaches_over(const Added *token)
{
    Str texts[] = { token->content, token->pattern };
    for (size_t k = 0; k < COUNT(texts); k++) {
        Str text = texts[k];
        if (memchr(text.p + 1, ' ', text.n - 1)) return true;
        if (text.p[0] == ' ' && token->single_word) return true;
        if (token->rstrip && is_alnum(text.p[text.n - 1])) return true;
    }
    return false;
}

/* An unknown word must not be an error: the end of a text that is cut to length is not looked at. */
static bool knows_all(Arena *arena, const TokenModel *model)
{
    Err err;
    Tokens tokens = { .arena = arena };
    tokens_scratch(&tokens, MAX(model->scratch, (size_t)64));
    return model->kind->word(model, STR("\xf4\x8f\xbf\xbf"), &tokens, &err);
}

size_t slice_bytes(const Tokenizer *t)
{
    const Normalizer *n = &t->normalizer;
    Arena scratch = { .local = true };
    bool ok = (!n->kind || (n->kind->apart && n->kind->apart(n))) &&
              pretokenizer_at_space(&t->pretokenizer) == SPACE_CUTS;
    for (size_t i = 0; ok && i < t->added.n; i++) ok = !reaches_over(&t->added.items[i]);
    ok = ok && knows_all(&scratch, &t->model);
    arena_free(&scratch);
    return ok ? SLICE_BYTES : 0;
}

size_t slice_end(Str text, size_t from, size_t least)
{
    if (!least || text.n - from <= least) return text.n;
    for (const char *p = text.p + from + least, *end = text.p + text.n; p < end; p++) {
        p = memchr(p, ' ', (size_t)(end - p));
        if (!p) break;
        if (p + 1 < end && is_alnum(p[-1]) && is_alnum(p[1])) return (size_t)(p - text.p);
    }
    return text.n;
}

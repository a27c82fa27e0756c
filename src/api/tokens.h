/* SPDX-License-Identifier: Apache-2.0
 * tokens.h - the tokenizer half of encoderfile.h, as a model's handle sees it. */
#ifndef API_TOKENS_H
#define API_TOKENS_H
#include "text/text.h"

struct ef_tokenizer {
    Arena arena;                 /* empty: a model's own */
    const Tokenizer *tokenizer;
    struct Model *model;         /* the package it lies in; NULL: none, or not ours to close */
    const Value *settings;       /* of the files beside it (tokenizer_settings); NULL: not known */
    struct TokenTexts *texts;    /* of ef_token_text; NULL: not asked for yet */
};
void token_texts_free(struct TokenTexts *); /* NULL is fine */

/* A copy that ends with 0 and that ef_string_free releases; NULL: no memory. */
char *string_new(Str, Err *);

#endif

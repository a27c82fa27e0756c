/* SPDX-License-Identifier: Apache-2.0
 * bio.h - from a label for every token to words and entities. A word is what stands between spaces,
 * without the punctuation at its ends; its label is that of its first token, as BIO tagging is
 * trained. B- opens an entity, I- of the same type continues it, anything else closes it; an I- without
 * an entity of its type before it is ignored. A label without a letter is a type of its own.
 *
 * Offsets count in the text as it was given, with all of its spaces. */
#ifndef TASK_BIO_H
#define TASK_BIO_H
#include "task/task.h"

typedef struct BioSpan {
    Str text;               /* of a word: a view; of an entity: its words, one space between */
    Str label;              /* of a word: "B-SRC", empty where it was cut off; of an entity: its type */
    int64_t start, end;     /* bytes of the text */
    float score;            /* of a word: its label's; of an entity: the mean of its words' */
} BioSpan;
typedef struct BioSpans {
    BioSpan *item;
    size_t n;
} BioSpans;

typedef struct BioToken {
    int64_t start, end;     /* bytes of the text */
    Str label;              /* "B-SRC" */
    float score;            /* of the label; need not be there where the label is "O" */
    const void *own;        /* for `tell` */
} BioToken;
typedef struct BioTokens {  /* in the order of their places */
    BioToken *item;
    size_t n;
    /* (optional) sets label and score of a token. Called once for each that is the first of a word: others need
     * neither. */
    void (*tell)(void *context, BioToken *);
    void *context;
} BioTokens;

/* The tokens of an entry of `results` of token_classification, its offsets in bytes; NULL: none. */
BioTokens bio_tokens(Arena *, const Value *result);
BioSpans bio_words(Arena *, Str text, BioTokens);
BioSpans bio_entities(Arena *, Str text, BioTokens);
bool bio_outside(Str label); /* "O": a word of no entity */
int64_t bio_chars(Str text, int64_t bytes); /* characters of its first so many bytes */
/* How entities are reported. */
typedef struct BioOptions {
    bool all;               /* every text of a type, as a list without repeats; else the first */
    bool chars;             /* offsets count characters */
} BioOptions;
/* {TYPE: text or null}: the types of the model's labels in their order. */
Value bio_extract(Arena *, const ModelConfig *, const BioSpans *, const BioOptions *);
/* {query, entities: the same, raw_entities: [{text, label, start, end}]} */
Value bio_detail(Arena *, const ModelConfig *, Str text, const BioSpans *, const BioOptions *);

#endif

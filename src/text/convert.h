/* SPDX-License-Identifier: Apache-2.0
 * convert.h - a vocabulary without a tokenizer.json becomes the tree of one, as transformers 5 does
 * when it loads such a folder: the class of the tokenizer says what stands around the model. */
#ifndef TEXT_CONVERT_H
#define TEXT_CONVERT_H
#include "data/value.h"

typedef enum { FROM_WORDS, FROM_MERGES, FROM_SENTENCEPIECE } ConvertKind;

typedef struct Sidecar { /* files beside the vocabulary, NULL where there is none */
    const Value *config;   /* tokenizer_config.json */
    const Value *specials; /* special_tokens_map.json */
    const Value *added;    /* added_tokens.json */
} Sidecar;

typedef struct Style { /* of a tokenizer class */
    const char *classes;    /* names without "Fast", each with spaces around; NULL: by file only */
    const char *file;       /* the name that is enough where no class is known */
    ConvertKind kind;
    const char *tokens[7];  /* bos, eos, unk, sep, pad, cls, mask; NULL: none */
    const char *parts;      /* normalizer, pre_tokenizer, decoder; $words are settings */
    const char *processor;  /* post_processor; $cls and so on are JSON strings, #cls their ids */
    bool eager_mask;        /* the mask takes the white space before it */
} Style;
const Style *convert_style(Str tokenizer_class, Str file, ConvertKind);
const Style *convert_class(Str tokenizer_class); /* by that alone; NULL: not known */

/* ---- classes.c ---- */
/* said: by tokenizer_config.json; model_type: by config.json; each may be empty, and so may the result. */
Str class_of_folder(Str said, Str model_type);
bool class_is_general(Str name);           /* that of any tokenizer.json */
const char *const *class_inputs(Str name); /* model_input_names, a NULL behind the last */

/* A SentencePiece model, read. */
typedef struct Spm {
    Value vocab; /* [["piece", score], ...] */
    const uint8_t *types;
    bool bpe, byte_fallback;
    int64_t unk_id;
    Str unk, charsmap;
} Spm;
bool spm_read(Arena *, Str bytes, Spm *out, Err *);
Value spm_merges(Arena *, const Spm *);

/* The tree of a tokenizer.json. `bytes`: the vocabulary file; `merges`: merges.txt, or empty. */
void convert_publish(Value *tree); /* takes out what only this program understands */
bool convert_tokenizer(Arena *, const Style *, Str bytes, Str merges, const Sidecar *, Value *out,
                       Err *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * pipeline.h - what the steps of a tokenizer hand to each other; only for src/text and its tests.
 *
 *     added.c         normalize.c     added.c      pretokenize.c   wordpiece.c   encode.c
 *     "Ab ",[X],"c"   "ab ",[X],"c"   (the same)   ab,[X],c        tokens        + special ones
 *
 * Everything between the first cut and the tokens lives in one growing Text: bytes, and for each
 * byte the range of the original it stands for. Pieces are ranges of it, so no strings are
 * copied.
 *
 * To add a kind of component (the `type` of an object in tokenizer.json):
 *   1. a `run` (or `word`) function in normalize*.c or pretokenize*.c; a model has its own file;
 *      and a `load` that reads the object's members into arena memory behind `data`, if it has any;
 *   2. a row in the table at the foot of normalize.c or pretokenize.c (models: model.c), which says
 *      whether long texts may be cut before a space (slice.c; saying nothing is safe).
 * Nothing else names kinds. A normalizer reads a Source and appends to a Text, keeping spans: a
 * changed or inserted character has the span of the one it came from. A pre-tokenizer gets one
 * piece at a time and appends pieces; one that changes text appends the new text to the Text and
 * points there. A post-processor is reduced to two templates by its `load`. */
#ifndef TEXT_PIPELINE_H
#define TEXT_PIPELINE_H
#include "bpe.h"
#include "members.h"
#include "pieces.h"
#include "text.h"
#include "trie.h"
#include "vocab.h"

/* ---- normalizers (normalize.c) ---- */
typedef struct Normalizer Normalizer;
typedef struct NormalizerKind {
    const char *type;
    bool (*load)(Arena *, const Value *, Normalizer *, Err *); /* (optional) absent: no members */
    void (*run)(const Normalizer *, Source, Text *out);        /* appends */
    bool (*apart)(const Normalizer *); /* (optional) two parts give what the whole gives, cut as
                                        * slice.c does, and the space stays; absent: no */
} NormalizerKind;
struct Normalizer {
    const NormalizerKind *kind; /* NULL: text stays as it is */
    const void *data;           /* of the kind */
};
bool normalizer_load(Arena *, const Value *, Normalizer *, Err *);
void normalizer_run(const Normalizer *, Source, Text *out);

/* ---- pre-tokenizers (pretokenize.c) ---- */
/* What becomes of a space between two ASCII letters or digits: it may join what is around it; it
 * does not matter; a word ends before it, always. */
typedef enum { SPACE_JOINS, SPACE_PASSES, SPACE_CUTS } AtSpace;
typedef struct PreTokenizer PreTokenizer;
typedef struct PreTokenizerKind {
    const char *type;
    bool (*load)(Arena *, const Value *, PreTokenizer *, Err *);
    void (*run)(const PreTokenizer *, Text *, Piece, Pieces *out);
    AtSpace (*at_space)(const PreTokenizer *); /* (optional) absent: SPACE_JOINS */
} PreTokenizerKind;
struct PreTokenizer {
    const PreTokenizerKind *kind; /* NULL: a piece is a word */
    const void *data;
};
bool pretokenizer_load(Arena *, const Value *, PreTokenizer *, Err *);
void pretokenizer_run(const PreTokenizer *, Text *, const Pieces *in, Pieces *out);
AtSpace pretokenizer_at_space(const PreTokenizer *);

/* ---- models (model.c; wordpiece.c, bpe.c, unigram.c, wordlevel.c) ---- */
typedef struct TokenModel TokenModel;
typedef struct TokenModelKind {
    const char *type;
    const char *members[5]; /* that a file without `type` is known by, NULL-terminated */
    bool (*load)(Arena *, const Value *, TokenModel *, Err *);
    bool (*word)(const TokenModel *, Str word, Tokens *out, Err *); /* tokens of one word */
} TokenModelKind;
struct TokenModel {
    const TokenModelKind *kind;
    Vocab vocab;
    Merges merges;      /* of BPE */
    Trie trie;          /* of Unigram */
    double least_score; /* of its pieces */
    bool ready;         /* the four above are already there (compile.c): `load` reads the rest */
    size_t scratch; /* items that `word` wants in Tokens.scratch */
    const void *data;
};
bool model_load(Arena *, const Value *, TokenModel *, Err *);
bool wordpiece_load(Arena *, const Value *, TokenModel *, Err *);
bool wordpiece_word(const TokenModel *, Str word, Tokens *out, Err *);
bool bpe_load(Arena *, const Value *, TokenModel *, Err *);
bool bpe_word(const TokenModel *, Str word, Tokens *out, Err *);
bool unigram_load(Arena *, const Value *, TokenModel *, Err *);
bool unigram_word(const TokenModel *, Str word, Tokens *out, Err *);
bool wordlevel_load(Arena *, const Value *, TokenModel *, Err *);
bool wordlevel_word(const TokenModel *, Str word, Tokens *out, Err *);
/* What the model calls an id; empty where a mapped table is broken. p NULL: no such id. */
Str model_name(const TokenModel *, int32_t id);
bool model_vocab(Arena *, const Value *, TokenModel *,
                 Err *); /* of the member "vocab", unless ready */
/* Ids of "<0x00>" to "<0xFF>"; -1: not in the vocabulary. */
void model_bytes(const Vocab *, int32_t bytes[256]);

/* ---- added tokens (added.c) ---- */
typedef struct Added {
    Str content;
    Str pattern; /* what is looked for: the content, normalized if `normalized` */
    int32_t id;
    bool single_word, lstrip, rstrip, normalized, special;
} Added;
typedef struct Matcher { /* leftmost, longest */
    const Added **items; /* sorted by pattern */
    size_t n;
    uint32_t first[257]; /* patterns that start with byte b: first[b] .. first[b + 1] */
    bool split;          /* special ones are text like any other (split_special_tokens) */
    bool starts[256];    /* whether there are such */
    int only;            /* the byte that all start with; -1: they differ */
} Matcher;
typedef struct AddedTokens {
    Added *items;
    size_t n;
    const Added **by_id;     /* sorted */
    Matcher raw, normalized; /* looked for before and after the normalizer */
    Map specials;            /* contents of those with `special` */
} AddedTokens;
bool added_load(Arena *, const Value *list, const TokenModel *, const Normalizer *, AddedTokens *,
                Err *);
const Added *added_with_id(const AddedTokens *, int32_t id); /* NULL: none */
/* Cuts a text into pieces at the tokens found; `base` is added to the ranges. */
void added_cut(const Matcher *, Str text, size_t base, Pieces *out);

/* ---- post-processors (postprocess.c) ---- */
typedef struct TemplatePart { /* one of the texts, or special tokens */
    int sequence;     /* 0, 1; -1: the ids below */
    int32_t type_id;
    const int32_t *ids;
    const Str *tokens; /* what the ids are called here */
    size_t n;
} TemplatePart;
typedef struct Template {
    TemplatePart *parts;
    size_t n;
    size_t added; /* special tokens in all */
} Template;
enum { MOST_TRIMS = 8 };
typedef struct PostProcessor {
    Template single, pair;
    bool flat;  /* type ids are 0 in overflow windows too; else a text keeps its own there */
    bool whole; /* a template was given */
    size_t trims;
    bool prefixed[MOST_TRIMS]; /* trim white space off offsets, so often; add_prefix_space */
} PostProcessor;
typedef struct PostProcessorKind {
    const char *type;
    bool (*load)(Arena *, const Value *, PostProcessor *, Err *);
} PostProcessorKind;
bool postprocessor_load(Arena *, const Value *, PostProcessor *, Err *); /* null: just the texts */

/* ---- decoders (decode.c) ---- */
typedef struct Strings {
    Str *items;
    size_t n;
} Strings;
typedef struct Decoder Decoder;
typedef struct DecoderKind {
    const char *type;
    bool (*load)(Arena *, const Value *, Decoder *, Err *); /* (optional) absent: no members */
    void (*run)(const Decoder *, Arena *, Strings *);       /* changes the tokens */
} DecoderKind;
struct Decoder {
    const DecoderKind *kind; /* NULL: tokens are joined by spaces */
    const void *data;
};
bool decoder_load(Arena *, const Value *, Decoder *, Err *);

/* From a parsed tree into `t`, whose model may be ready. */
bool tokenizer_fill(Arena *, const Value *root, Tokenizer *t, Err *);

/* ---- parts of a text (slice.c) ---- */
size_t slice_bytes(const Tokenizer *);                    /* for Tokenizer.slice */
/* Where the part from `from` on ends: at the first safe place behind `least` bytes. 0: at the end. */
size_t slice_end(Str text, size_t from, size_t least);

struct Tokenizer {
    Normalizer normalizer;
    PreTokenizer pretokenizer;
    TokenModel model;
    AddedTokens added;
    PostProcessor post;
    size_t size; /* ids are below */
    bool truncates; /* the file has a `truncation` */
    EncodeOptions truncation;
    bool pads; /* the file has a `padding` */
    PadOptions padding;
    Decoder decoder;
    size_t slice; /* bytes of text that are tokenized at once, about; 0: all */
};

#endif

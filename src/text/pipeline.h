/* SPDX-License-Identifier: Apache-2.0
 * pipeline.h - what the steps of a tokenizer hand to each other; only for src/text and its tests.
 *
 *     the text     added.c        normalize.c   added.c       pretokenize.c  wordpiece.c  encode.c
 *     "Ab [X] c"   "Ab ",[X]," c" "ab ",[X]," c" (the same)   ab [X] c       tokens       + specials
 *
 * Everything between the first cut and the tokens lives in one growing Text: bytes, and for each byte
 * the range of the original it stands for. Pieces are ranges of it, so nobody copies strings.
 *
 * To add a kind of component (the `type` of an object in tokenizer.json):
 *   1. a `run` (or `word`) function in normalize.c, pretokenize.c, or a file of its own for a model;
 *      a `load` that reads the object's members into arena memory behind `data`, if it has any;
 *   2. a row in the table at the foot of that file (models: model.c).
 * Nothing else names kinds. A normalizer reads a Source and appends to a Text, keeping spans: a changed
 * or inserted character has the span of the one it came from. A pre-tokenizer gets one piece at a time
 * and appends pieces; one that changes text appends the new text to the Text and points there.
 * A post-processor is reduced to two templates by its `load`. */
#ifndef TEXT_PIPELINE_H
#define TEXT_PIPELINE_H
#include "text.h"

typedef struct Span { /* bytes of the original text */
    int32_t start, end;
} Span;

typedef struct Source { /* what a normalizer reads */
    Str text;           /* valid UTF-8 */
    const Span *at;     /* of each byte; NULL: it is the original from byte `base` on */
    int32_t base;
} Source;

typedef struct Text { /* what it writes: n bytes with their spans, growing in the arena */
    Arena *arena;
    char *p;
    Span *at;
    size_t n, cap;
} Text;
void text_reserve(Text *, size_t more);
void text_add(Text *, Source);                    /* as it is */
void text_add_code(Text *, uint32_t code, Span);  /* one character */
/* One character of a source: its length in bytes at `i`, its code and span. */
static inline Span source_span(const Source *s, size_t i, int length)
{
    if (s->at) return s->at[i];
    return (Span){ s->base + (int32_t)i, s->base + (int32_t)i + length };
}
/* Decodes without checks: the text is known to be valid. Returns the bytes used. */
int utf8_take(const char *p, uint32_t *code);

typedef struct Piece { /* a part of a Text, on its way to be a word */
    uint32_t from, to; /* bytes; never empty */
    int32_t id;        /* of the added token it is, or -1: still text */
} Piece;
typedef struct Pieces {
    Arena *arena;
    Piece *items;
    size_t n, cap;
} Pieces;
void pieces_grow(Pieces *);
static inline void pieces_add(Pieces *out, size_t from, size_t to, int32_t id)
{
    if (from == to) return;
    if (out->n == out->cap) pieces_grow(out);
    out->items[out->n++] = (Piece){ (uint32_t)from, (uint32_t)to, id };
}

typedef struct Token { /* of a model: range within the word; encode.c makes it one of the original */
    int32_t id, start, end, word;
} Token;
typedef struct Tokens {
    Arena *arena;
    Token *items;
    size_t n, cap;
    uint64_t *scratch; /* of the model: Model.scratch items */
} Tokens;
void tokens_grow(Tokens *);
static inline void tokens_add(Tokens *out, int32_t id, size_t start, size_t end)
{
    if (out->n == out->cap) tokens_grow(out);
    out->items[out->n++] = (Token){ id, (int32_t)start, (int32_t)end, 0 };
}

/* ---- normalizers (normalize.c) ---- */
typedef struct Normalizer Normalizer;
typedef struct NormalizerKind {
    const char *type;
    bool (*load)(Arena *, const Value *, Normalizer *, Err *); /* (optional) absent: no members */
    void (*run)(const Normalizer *, Source, Text *out);        /* appends */
} NormalizerKind;
struct Normalizer {
    const NormalizerKind *kind; /* NULL: text stays as it is */
    const void *data;           /* of the kind */
};
bool normalizer_load(Arena *, const Value *, Normalizer *, Err *);
void normalizer_run(const Normalizer *, Source, Text *out);

/* ---- pre-tokenizers (pretokenize.c) ---- */
typedef struct PreTokenizer PreTokenizer;
typedef struct PreTokenizerKind {
    const char *type;
    bool (*load)(Arena *, const Value *, PreTokenizer *, Err *);
    void (*run)(const PreTokenizer *, Text *, Piece, Pieces *out);
} PreTokenizerKind;
struct PreTokenizer {
    const PreTokenizerKind *kind; /* NULL: a piece is a word */
    const void *data;
};
bool pretokenizer_load(Arena *, const Value *, PreTokenizer *, Err *);
void pretokenizer_run(const PreTokenizer *, Text *, const Pieces *in, Pieces *out);

/* ---- tokens to ids (vocab.c) ---- */
typedef struct VocabEntry {
    const char *p;
    uint32_t n;
    int32_t id;
} VocabEntry;
typedef struct Vocab { /* open addressing by a hash that grows byte by byte */
    VocabEntry *entries;
    size_t n;
    struct VocabSlot *slots;
    int shift;         /* a slot is hash >> shift */
    size_t longest;    /* bytes of the longest token */
    int32_t greatest;  /* id; -1: empty */
} Vocab;
enum { VOCAB_SCATTER = 65536 }; /* ids may be this far above eight times their number */
bool vocab_load(Arena *, const Value *map, Vocab *, Err *);
int32_t vocab_find(const Vocab *, Str token); /* -1: absent */
/* The hash of a token, one byte at a time; and the id of head + tail, whose hash is known. */
#define VOCAB_SEED 0xcbf29ce484222325u
static inline uint64_t vocab_step(uint64_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * 0x9e3779b97f4a7c15u;
}
int32_t vocab_find_hashed(const Vocab *, uint64_t hash, Str head, Str tail);

/* ---- models (model.c, wordpiece.c) ---- */
typedef struct Model Model;
typedef struct ModelKind {
    const char *type;
    const char *members[5]; /* that a file without `type` is known by, NULL-terminated */
    bool (*load)(Arena *, const Value *, Model *, Err *); /* NULL: not supported */
    bool (*word)(const Model *, Str word, Tokens *out, Err *); /* tokens of one word */
} ModelKind;
struct Model {
    const ModelKind *kind;
    Vocab vocab;
    size_t scratch; /* items that `word` wants in Tokens.scratch */
    const void *data;
};
bool model_load(Arena *, const Value *, Model *, Err *);
bool wordpiece_load(Arena *, const Value *, Model *, Err *);
bool wordpiece_word(const Model *, Str word, Tokens *out, Err *);

/* ---- added tokens (added.c) ---- */
typedef struct Added {
    Str content;
    Str pattern; /* what is looked for: the content, normalized if `normalized` */
    int32_t id;
    bool single_word, lstrip, rstrip, normalized;
} Added;
typedef struct Matcher { /* leftmost, longest */
    const Added **items; /* sorted by pattern */
    size_t n;
    uint32_t first[257]; /* patterns that start with byte b: first[b] .. first[b + 1] */
} Matcher;
typedef struct AddedTokens {
    Added *items;
    size_t n;
    Matcher raw, normalized; /* looked for before and after the normalizer */
} AddedTokens;
bool added_load(Arena *, const Value *list, const Model *, const Normalizer *, AddedTokens *, Err *);
/* Cuts a text into pieces at the tokens found; `base` is added to the ranges. */
void added_cut(const Matcher *, Str text, size_t base, Pieces *out);

/* ---- post-processors (postprocess.c) ---- */
typedef struct Part {  /* one of the texts, or special tokens */
    int sequence;      /* 0, 1; -1: the ids below */
    int32_t type_id;
    const int32_t *ids;
    size_t n;
} Part;
typedef struct Template {
    Part *parts;
    size_t n;
    size_t added; /* special tokens in all */
} Template;
typedef struct PostProcessor {
    Template single, pair;
} PostProcessor;
typedef struct PostProcessorKind {
    const char *type;
    bool (*load)(Arena *, const Value *, PostProcessor *, Err *);
} PostProcessorKind;
bool postprocessor_load(Arena *, const Value *, PostProcessor *, Err *); /* null: just the texts */

struct Tokenizer {
    Normalizer normalizer;
    PreTokenizer pretokenizer;
    Model model;
    AddedTokens added;
    PostProcessor post;
    Str *names;    /* of each id; empty: a hole */
    size_t size;
    bool truncates; /* the file has a `truncation` */
    EncodeOptions truncation;
};

/* ---- reading members (model.c): absence and a wrong type are errors that name `where` ---- */
bool member_str(const Value *, const char *where, const char *key, Str *out, Err *);
bool member_bool(const Value *, const char *where, const char *key, bool *out, Err *);
bool member_int(const Value *, const char *where, const char *key, int64_t *out, Err *);
bool member_list(const Value *, const char *where, const char *key, const Value **out, Err *);
/* The `type` of a component; `where` is the member that holds it. */
bool component_type(const Value *, const char *where, Str *out, Err *);
bool component_unknown(const char *where, Str type, Err *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * text.h - tokenizer.json: text in, ids and offsets out, equal to the reference to the last one.
 *
 * The pipeline of the format: added tokens are cut out first, then normalizer, pre-tokenizer,
 * model and post-processor run on what lies between; truncation before the post-processor,
 * padding only on request (batches are ragged; the engine pads where an operator needs it). Each
 * kind of component is a row by its JSON `type`; an unknown type is an error that names it (how
 * to add one: pipeline.h).
 *
 * Easy to get wrong: offsets count bytes of the original text (not of the normalized one); a
 * lowered or stripped character keeps its source's range; special tokens have offsets (0, 0); the
 * type ids of a pair come from the template, not from the position. */
#ifndef TEXT_TEXT_H
#define TEXT_TEXT_H
#include "data/value.h"

typedef struct Tokenizer Tokenizer; /* immutable after loading: any number of threads may encode */

typedef struct Encoding { /* arrays of n; offsets are bytes into the text they come from */
    size_t n;
    int32_t *ids;
    int32_t *type_ids;
    int32_t *start, *end;    /* [n] */
    int32_t *word;           /* index of the pre-token it comes from; -1: special */
    uint8_t *special;        /* 1: from the post-processor (the reference's special_tokens_mask) */
    uint8_t *sequence;       /* 0 first text, 1 second text; 0 for special tokens too */
    bool truncated;          /* tokens were left out to fit the limit */
    Str *tokens;             /* what they are called; NULL unless asked for */
    uint8_t *attention;      /* 0: padding; NULL: there is none */
    struct Encoding *overflow; /* what was left out, in windows; empty unless asked for */
    size_t n_overflow;
} Encoding;

typedef enum { TRUNCATE_LONGEST_FIRST, TRUNCATE_ONLY_FIRST, TRUNCATE_ONLY_SECOND } TruncateStrategy;
typedef struct EncodeOptions {
    int max_length;          /* with specials; 0, or less than the specials alone: no limit */
    TruncateStrategy strategy;
    bool truncate_left;      /* drop from the front */
    bool no_special;         /* leave the post-processor's tokens out */
    bool tokens;             /* fill Encoding.tokens */
    bool overflow;           /* fill Encoding.overflow */
    int stride;              /* tokens that neighbouring windows share; below max_length */
    size_t most_windows;     /* of one text: more are an error; 0: no limit */
    Arena *work;             /* (optional) working memory; `tokens` may lie there, too */
} EncodeOptions;
typedef struct Words {       /* a text that comes cut: `word` counts these, offsets lie in one */
    const Str *items;
    size_t n;
} Words;
typedef struct PadOptions {
    size_t length;           /* 0: that of the longest */
    size_t multiple;         /* 0, or what the length is rounded up to a multiple of */
    bool left;
    int32_t id, type_id;
    Str token;
} PadOptions;

/* From the text of a tokenizer.json, which may be freed afterwards. Unknown component types and
 * broken ids are errors; a missing unknown token only once a text needs it. */
bool tokenizer_load(Arena *, Str json, Tokenizer **out, Err *);
typedef struct TokenizerFiles { /* NULL: not there */
    const char *vocab;   /* tokenizer.json; vocab.txt; vocab.json, merges.txt beside it; a .model */
    const char *config;  /* tokenizer_config.json */
    const char *specials; /* special_tokens_map.json */
    const char *added;   /* added_tokens.json */
    const char *sentence; /* sentence_bert_config.json; tokenizer_files leaves it out */
} TokenizerFiles;
/* Those of a folder; `vocab` stays NULL where there is none. */
TokenizerFiles tokenizer_files(Arena *, const char *folder);
/* Those of a folder, or one of the files that `vocab` may be: a tokenizer.json is then taken as it
 * is, the others with what stands beside them. */
TokenizerFiles tokenizer_files_at(Arena *, const char *path);
bool tokenizer_find(Arena *, const char *path, TokenizerFiles *, Err *); /* the same; false: none */
bool tokenizer_is_json(const char *vocab); /* a tokenizer.json, by whatever name */
/* The tree of a tokenizer.json, with the settings of the other files (settings.c); what is no
 * tokenizer.json is converted as transformers does. Tree and texts live in the arena. */
bool tokenizer_tree(Arena *, const TokenizerFiles *, Value *out, Err *);
/* Of a vocabulary that is no tokenizer.json: the one that transformers would save beside the same
 * files, so without what they change when it is read. */
bool tokenizer_converted(Arena *, const TokenizerFiles *, Value *out, Err *);
/* From the files of tokenizer_files_at. */
bool tokenizer_open(Arena *, const char *path, Tokenizer **out, Err *);
/* The same from a parsed tree (the member of a package holds it inside another object). */
bool tokenizer_from_value(Arena *, const Value *root, Tokenizer **out, Err *);

/* The compiled form: one block of bytes for the tree of a tokenizer.json (or what was converted),
 * that tokenizer_map uses in place, without parsing or building tables. The bytes must stay,
 * aligned to 64; bytes that are no such block are an error. */
bool tokenizer_compile(const Value *root, Buf *out, Err *);
bool tokenizer_map(Arena *, Str bytes, Tokenizer **out, Err *);

/* second: NULL, or the other half of a pair. options: NULL for none. Result and working memory
 * (some 20 bytes per byte of text, less where it goes in parts, and 24 per token) live in the arena,
 * unless there is `work`. Text that is not valid UTF-8 is an error. */
bool tokenizer_encode(const Tokenizer *, Arena *, Str first, const Str *second,
                      const EncodeOptions *options, Encoding *out, Err *);
/* The same for texts that come as words. */
bool tokenizer_encode_words(const Tokenizer *, Arena *, Words first, const Words *second,
                            const EncodeOptions *options, Encoding *out, Err *);
/* Ids back to text, as the file's decoder says. skip_special: leave special tokens out. */
bool tokenizer_decode(const Tokenizer *, const int32_t *ids, size_t n, bool skip_special, Arena *,
                      Str *out, Err *);
/* The same for tokens by name; the items are overwritten. */
Str tokenizer_join(const Tokenizer *, Str *tokens, size_t n, Arena *);
Str tokenizer_token(const Tokenizer *, int32_t id);       /* empty: no such id; added: normalized */
Str tokenizer_content(const Tokenizer *, int32_t id);     /* the same; added: as it is written */
int32_t tokenizer_id(const Tokenizer *, Str token);       /* -1: no such token */
size_t tokenizer_size(const Tokenizer *);                 /* ids are below this */
const char *tokenizer_kind(const Tokenizer *);            /* "WordPiece" */
/* What the file itself says about truncation: false when it says nothing. */
bool tokenizer_truncation(const Tokenizer *, EncodeOptions *out);
bool tokenizer_padding(const Tokenizer *, PadOptions *out); /* the same for padding */
/* describe.c: what tokenizer_config.json and special_tokens_map.json (NULL: not there) say beside the pipeline, as
 * one object of texts, numbers and lists; a package keeps it. model_type: of config.json; empty: not known. */
Value tokenizer_settings(Arena *, const Value *config, const Value *specials, Str model_type);
/* All that is to know: settings, roles and ids of special tokens, added tokens. settings: NULL for none. */
Value tokenizer_describe(Arena *, const Tokenizer *, const Value *settings);
/* Byte offsets of an encoding (and its overflow) to codepoint offsets, in place. */
void encoding_to_chars(Encoding *, Str first, const Str *second);
void encoding_to_chars_words(Encoding *, Words first, const Words *second);
/* All of a batch, and their overflow, to one length; longer ones stay. Padding is `special`. */
bool encodings_pad(Arena *, Encoding *list, size_t n, const PadOptions *, Err *);

#endif

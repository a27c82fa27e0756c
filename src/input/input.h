/* SPDX-License-Identifier: Apache-2.0
 * input.h - what a user gives becomes rows that a graph takes.
 *
 * A request is a list of items (a text, a pair, words with boxes, a prompt with its choices, a
 * picture, a sound) and options. A preparer, one file a kind, makes any number of rows of an item: one for a text, one
 * for each window of a long text, one for each choice. The task joins the rows of an item again.
 * Preparers run on several threads at once: they change nothing but what they return. */
#ifndef INPUT_INPUT_H
#define INPUT_INPUT_H
#include "text/text.h"

typedef struct Feature Feature; /* engine/engine.h */
typedef struct ImageProcessor ImageProcessor; /* image/image.h */
typedef struct AudioProcessor AudioProcessor; /* audio/audio.h */
typedef struct SoundNumbers SoundNumbers;

enum { BOX_SIDES = 4, BOX_MOST = 1000 }; /* left, top, right, bottom; in thousandths of the page */
enum { PAGE_WORDS_MOST = 1 << 14 };

typedef struct Item {
    Str first, second;           /* second.p NULL: not a pair */
    const Str *list;             /* [n]: words of a page, or choices; NULL: none */
    size_t n;
    const int32_t *boxes;        /* [n][4] of the words; NULL: none. With boxes, `first` is the words
                                  * joined by spaces (item_join_words), and offsets count there */
    bool cut;                    /* a text that came as words: `list`, and `first` as with boxes */
    bool plain;                  /* without special tokens: it came as ids */
    bool blank;                  /* its texts may be empty: then their tokens are the special ones */
    Str picture;                 /* bytes of an image file; p NULL: none */
    Str sound;                   /* bytes of a sound file; p NULL: none */
    SoundNumbers *numbers;       /* a sound as samples with their rate; NULL: none */
} Item;
const Str *item_second(const Item *);          /* NULL: not a pair */
size_t item_sound_bytes(const Item *);         /* of its file or its samples */
size_t item_bytes(const Item *);               /* of all its texts, its picture and its sound */
size_t item_characters(const Item *);
void item_join_words(Arena *, Item *);         /* sets `first`; the words of `list` become views of it */
void item_join_words_by(Arena *, Str between, Item *);
/* Offsets inside a word become those in the joined words. */
void item_place_tokens(const Item *, Encoding *);
void item_place_words(Arena *, Str text, Item *); /* the words of a text, in one line across the page */
/* From JSON, a box for each word of `list`: [left, top, right, bottom]. */
bool item_read_boxes(Arena *, const Value *, Item *, Err *);
/* The words and their boxes together, as transformers' pipeline takes them: [[word, box], ...], or one after
 * the other: [word, box, word, box, ...]. */
bool item_read_word_boxes(Arena *, const Value *, Item *, Err *);
/* One for each word, with left <= right and top <= bottom, within 0..1000. */
bool item_check_boxes(const Item *, Err *);

typedef enum { TIMES_NONE, TIMES_CHAR, TIMES_WORD } SoundTimes;
typedef struct InputOptions {    /* of one request; zero is the default */
    bool whole;                  /* a text that does not fit is an error: "truncate": false */
    bool uncut;                  /* texts are tokenized whole: they are not run */
    bool left;                   /* long texts are cut at the beginning */
    bool no_special;             /* special tokens are left out */
    int most;                    /* tokens of a text, with special ones; 0: as many as fit the model */
    TruncateStrategy cut;        /* which text of a pair is cut */
    bool windows;                /* a long text becomes windows; neighbours share so many tokens: */
    int stride;
    int window;                  /* tokens of a window, with special ones; 0: as many as fit */
    double chunk_s;              /* a sound is cut into chunks of so many seconds; 0: not said */
    double stride_s[2];          /* that a chunk shares with the one before and the one behind; */
    bool stride_said;            /*   not said: a sixth of a chunk */
    SoundTimes times;            /* when characters or words were spoken is asked for */
    int rate;                    /* of a sound's windows; 0: the model's */
} InputOptions;

typedef struct SpecialBoxes {    /* of special tokens, which belong to no word */
    int32_t front[BOX_SIDES];  /* cls_token_box of tokenizer_config.json; default: zeros */
    int32_t behind[BOX_SIDES]; /* sep_token_box; default: 1000, as in LayoutLM's code */
} SpecialBoxes;

typedef struct InputModel {      /* what preparers need to know of the model */
    const Tokenizer *tokenizer;
    EncodeOptions encode;        /* its limits */
    bool flat_types;             /* token_type_ids are zeros, also for pairs */
    bool pad_left;               /* the tokenizer's padding_side is "left" */
    SpecialBoxes special;        /* of models that read boxes */
    const ImageProcessor *image; /* of models that read pictures, or NULL */
    int64_t max_pixels;          /* of their files; 0: PICTURE_PIXELS */
    int pad_to, pad_id;          /* texts are filled up to so many tokens; 0: they are not */
    const AudioProcessor *audio; /* of models that hear, or NULL */
    double max_seconds;          /* of their sounds; 0: SOUND_SECONDS */
    bool chunks;                 /* long sounds may come in chunks: the task joins them */
} InputModel;

typedef struct SoundPart {       /* of a sound, what a row is about; in samples of the model's rate */
    int64_t at, samples;         /* its first, and how many; 0: the row is no sound */
    int64_t left, right;         /* that neighbours have, too */
    int ratio, rate;             /* samples of a frame of the output; samples of a second */
} SoundPart;

typedef struct Prepared {        /* a row: what one run of one graph takes */
    Encoding encoding;           /* n = 0: a row without tokens */
    const int32_t *boxes;        /* [encoding.n][4]; NULL: none */
    const Feature *feature;      /* [features]: graph inputs that are the row's own: pixels, samples */
    int features;
    int width, height;           /* of its picture as it was given; 0: none */
    SoundPart sound;
    bool swapped;                /* the item's second text is the encoding's first */
    int graph;                   /* which of the model's graphs runs it */
    size_t item;                 /* whose row it is */
    int64_t cost;                /* of running it, in tokens' worth of work; 0: by its sizes */
    /* the session's own, of a graph that carries state from row to row of an item */
    int step;                    /* rows of that item and graph before it */
    float *state;                /* what they hand on; NULL: nothing */
} Prepared;
typedef struct PreparedRows {
    Prepared *row;
    size_t n;
} PreparedRows;

typedef struct PrepareCall {
    const InputModel *model;
    const InputOptions *options;
    Arena *arena;                /* rows live there */
    Arena *work;                 /* for scratch: reset by prepare_encode and after every item */
} PrepareCall;
typedef struct Preparer {
    const char *name;
    /* out->row has room for one row; who makes more sets out->row to its own array. Messages do not
     * name the item. */
    bool (*prepare)(const PrepareCall *, const Item *, PreparedRows *out, Err *);
} Preparer;

extern const Preparer prepare_text;            /* texts and pairs; with a stride: windows */
extern const Preparer prepare_questions;       /* `first` beside each window of `second` */
extern const Preparer prepare_choices;         /* `first` beside each of `list`, a row each */
extern const Preparer prepare_boxes;           /* words of a page, each token with its word's box; with its
                                                * picture for models that see it */
extern const Preparer prepare_page_questions;  /* a question beside each window of them */
/* pictures.c: pixel_values of a row, and pixel_mask where the model wants one. */
bool prepare_pixels(const PrepareCall *, Str picture, Prepared *, Err *);
extern const Preparer prepare_pictures;        /* a picture, a row each: pixel_values */
/* For models with two towers: a picture's row (graph 0), then one for `first` and each of `list` (graph 1). */
extern const Preparer prepare_pictures_and_texts;
extern const Preparer prepare_speech;          /* each window of a sound, for a model that carries state */
extern const Preparer prepare_sounds;          /* a sound, or each chunk of it: input_values, input_features */

/* For preparers: encode a text or a pair within the model's limits, by the request's options. */
EncodeOptions prepare_how(const PrepareCall *);
bool prepare_encode(const PrepareCall *, Str first, const Str *second, const EncodeOptions *,
                    Encoding *out, Err *);
bool prepare_words(const PrepareCall *, Words, const EncodeOptions *, Encoding *out, Err *);

#endif

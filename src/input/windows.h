/* SPDX-License-Identifier: Apache-2.0
 * windows.h - texts that are too long for a model, cut into windows that fit. Neighbouring windows
 * share `stride` tokens. The cuts, special tokens and type ids are those of transformers 4.57's
 * question-answering and token-classification pipelines with a fast tokenizer.
 *
 * Easy to get wrong: offsets count bytes of the whole text, word indices count its words, in every
 * window; an overflow window may have other type ids than the first (the reference's do). */
#ifndef INPUT_WINDOWS_H
#define INPUT_WINDOWS_H
#include "input/input.h"

typedef struct Windows {
    Encoding *items; /* in the order of the text; from the end, with truncate_left */
    size_t n;        /* at least 1 */
} Windows;

typedef struct WindowOptions {
    int max_length;     /* tokens of a window, with special ones; more than 0 */
    int stride;         /* tokens that neighbours share */
    size_t most;        /* windows of one text: more are an error; 0: no limit */
    bool truncate_left; /* the tokenizer's truncation_side is "left" */
    Arena *work;        /* (optional) as in EncodeOptions */
} WindowOptions;
/* Windows of one text, for token classification. A stride that is too long is taken as the longest
 * that lets windows move on. */
bool windows_of_text(const Tokenizer *, Arena *, Str text, const WindowOptions *, Windows *out,
                     Err *);
bool windows_of_words(const Tokenizer *, Arena *, Words, const WindowOptions *, Windows *out, Err *);

enum { QUESTION_MAX_SEQ_LEN = 384, QUESTION_DOC_STRIDE = 128, PAGE_DOC_STRIDE = 256 }; /* the pipelines' defaults */
typedef struct QuestionOptions {
    int max_seq_len;    /* tokens of a window, with the question; 0: 384, or `limit` if it is less */
    int doc_stride;     /* tokens of the context that neighbours share; -1: 128, or half of max_seq_len */
    int limit;          /* most tokens that the model takes; 0: it has no limit */
    size_t most;        /* as above */
    bool truncate_left; /* as above */
    bool context_first; /* the tokenizer's padding_side is "left": the context is the first text */
    bool page;          /* the context is a page: by default windows of `limit` tokens that share 256 */
    Arena *work;        /* as above */
} QuestionOptions;
/* A question with each window of its context. The question is never cut (the pipeline's
 * max_question_len has no effect on fast tokenizers): one that leaves no room is an error. */
bool windows_of_question(const Tokenizer *, Arena *, Str question, Str context,
                         const QuestionOptions *, Windows *out, Err *);
bool windows_of_page(const Tokenizer *, Arena *, Words question, Words page, const QuestionOptions *,
                     Windows *out, Err *);

enum { WINDOWS_MOST = 4096 }; /* of an item */
bool windows_wanted(const PrepareCall *); /* the request has a stride, and the model a limit to cut at */
WindowOptions windows_options(const PrepareCall *);
/* Each window is a row, and none of them counts as truncated. */
void windows_to_rows(const PrepareCall *, const Windows *, bool swapped, PreparedRows *out);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * answers.h - from the start and end logits of the windows of a context to answers, as transformers
 * 4.57's question-answering pipeline does it.
 *
 * In each window start and end get a softmax over the context and the class token, every other token
 * counting as -10000; the class token in front then has probability 0. The best
 * spans (2 top_k + 10 of them; top_k without align_to_words) become texts; spans of equal text, in
 * lower case, add their scores over all windows and keep the place of the first.
 *
 * Two kinds of spans are left out, because what the pipeline does with them is accidental: those of
 * score 0 (numpy's partition chooses among them), and those that touch a token outside of the context
 * (it looks up the question's offsets in the context). */
#ifndef TASK_ANSWERS_H
#define TASK_ANSWERS_H
#include "text/text.h"

typedef struct AnswerWindow {
    const Encoding *tokens;   /* offsets in bytes of the whole context */
    const float *start, *end; /* [tokens->n] logits */
} AnswerWindow;

typedef struct AnswerOptions {
    int top_k;          /* at least 1; a window takes memory for 4 times as many spans */
    int max_answer_len; /* tokens; at least 1 */
    bool impossible;    /* the empty answer takes part, with the least score that a window gives it */
    bool align_to_words;
    bool context_first; /* the context is the first of the two texts; then the softmax masks nothing */
    bool page;          /* the context is a page: answers count its words, equal ones stay apart, and there
                         * may be none; as the document-question-answering pipeline has it */
    int32_t cls;        /* id of the class token; -1: the tokenizer has none */
} AnswerOptions;

typedef struct Answer {
    double score;       /* of several spans together: may exceed 1 */
    int64_t start, end; /* bytes of the context; of a page the first word and the last */
    Str text;           /* view of the context; empty: there is no answer. Of a page: not set */
} Answer;

enum { ANSWER_MAX_LEN = 15, ANSWER_TOP_K = 1 << 10 }; /* the pipeline's default; our limit */
/* The pipeline's options, of a request and of its `parameters` on the Hub's route. */
#define ANSWER_OPTIONS                                                                            \
    { "top_k", 3, F_U32, .nullable = true, .least = 1, .most = ANSWER_TOP_K,                      \
      .help = "how many of the best answers; default: 1" },                                       \
    { "doc_stride", 4, F_U32, .nullable = true, .least = 0, .most = INT32_MAX,                    \
      .help = "tokens that neighbouring windows of a long context share; default: 128, or half a " \
              "window if that is less" },                                                         \
    { "max_seq_len", 5, F_U32, .nullable = true, .least = 1, .most = INT32_MAX,                   \
      .help = "tokens of a window, with the question; default: 384, or the model's limit if that " \
              "is less" },                                                                        \
    { "max_answer_len", 6, F_U32, .nullable = true, .least = 1, .most = INT32_MAX,                \
      .help = "most tokens of an answer; default: 15" },                                          \
    { "max_question_len", 7, F_U32, .nullable = true, .least = 1, .most = INT32_MAX,              \
      .help = "has no effect, as in transformers: a question is never cut" },                     \
    { "handle_impossible_answer", 8, F_BOOL, .nullable = true,                                    \
      .help = "\"no answer\", an empty text, is an answer with a score of its own" },             \
    { "align_to_words", 9, F_BOOL, .nullable = true,                                              \
      .help = "answers begin and end with whole words; default: true" }
/* Of pages, whose pipeline has other defaults and always gives a list. */
#define PAGE_ANSWER_OPTIONS                                                                       \
    { "top_k", 3, F_U32, .nullable = true, .least = 1, .most = ANSWER_TOP_K,                      \
      .help = "how many of the best answers; default: 1" },                                       \
    { "doc_stride", 4, F_U32, .nullable = true, .least = 0, .most = INT32_MAX,                    \
      .help = "tokens that neighbouring windows of a long page share; default: 256, or half a "   \
              "window if that is less" },                                                         \
    { "max_seq_len", 5, F_U32, .nullable = true, .least = 1, .most = INT32_MAX,                   \
      .help = "tokens of a window, with the question; default: as many as the model takes" },     \
    { "max_answer_len", 6, F_U32, .nullable = true, .least = 1, .most = INT32_MAX,                \
      .help = "most tokens of an answer; default: 15" },                                          \
    { "max_question_len", 7, F_U32, .nullable = true, .least = 1, .most = INT32_MAX,              \
      .help = "has no effect, as in transformers: a question is never cut" },                     \
    { "handle_impossible_answer", 8, F_BOOL, .nullable = true,                                    \
      .help = "\"no answer\", an empty text, is an answer with a score of its own" }
/* Id of the class token, found by its usual names: tokenizer.json does not mark it. -1: none. */
int32_t answers_class_token(const Tokenizer *);
/* Writes at most top_k answers, best first, and returns how many: of a text at least one (of score 0,
 * empty, when nothing in the context is likely at all). */
size_t answers_find(Arena *, Str context, const AnswerWindow *, size_t n, const AnswerOptions *,
                    Answer *out);

#endif

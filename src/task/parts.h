/* SPDX-License-Identifier: Apache-2.0
 * parts.h - what the tasks share: rows of their schemas and pieces of their results. Included by
 * the files of this folder only. */
#ifndef TASK_PARTS_H
#define TASK_PARTS_H
#include "task/head.h"
#include "task.h"

extern const Field part_token_info[];             /* {token, token_id, start, end} */
/* The words of options, in the order of their enums. */
extern const char *const part_offset_words[], *const part_encoding_words[], *const part_grouping_words[],
    *const part_score_words[], *const part_mask_words[], *const part_subtask_words[], *const part_time_words[];
extern const TaskSample part_samples[];           /* sentences for any task */
extern const TaskSample part_picture_samples[], part_sound_samples[]; /* a file's name */
extern const Field part_entity[];                 /* of an entity */

#define PART_INPUTS                                                                               \
    { "inputs", 1, F_STR, .repeated = true, .required = true,                                     \
      .help = "a text, or a list of texts and [first, second] pairs" }
#define PART_PICTURES(message)                                                                    \
    { "inputs", 1, F_MSG, .repeated = true, .required = true, .msg = item_picture_keys,           \
      .msg_name = message, .help = "a picture (base64, a data URI or {image}), or a list of pictures" }
#define PART_NO_LUA_PICTURE "scripts see texts and their numbers, not pictures"
#define PART_SOUNDS                                                                               \
    { "inputs", 1, F_MSG, .repeated = true, .required = true, .msg = item_sound_keys,             \
      .msg_name = "Sound",                                                                        \
      .help = "a sound (base64, a data URI, {audio} or {array, sampling_rate}), or a list of sounds" }
#define PART_NO_LUA_SOUND "scripts see texts and their numbers, not sounds"
/* Of tasks whose models may read words with boxes. In JSON these are `inputs`, too. */
#define PART_PAGES(number)                                                                        \
    { "pages", number, F_MSG, .repeated = true, .msg = item_word_keys, .msg_name = "Page",        \
      .help = "words with boxes, for models that read places on a page, instead of inputs" }
#define PART_METADATA(number)                                                                     \
    { "metadata", number, F_STR_MAP, .nullable = true, .help = "echoed in the reply" }
#define PART_OFFSETS                                                                              \
    { "offsets", 0, F_STR, .words = part_offset_words,                                            \
      .help = "what start and end of a token count in its text; default: bytes" }
#define PART_TRUNCATE                                                                             \
    { "truncate", 0, F_BOOL, .nullable = true,                                                    \
      .help = "false: a text that does not fit the model is an error; default: true" }
#define PART_RETURN_TOKENS                                                                        \
    { "return_tokens", 0, F_BOOL, .help = "the reply also lists each text's tokens" }
#define PART_VECTORS                                                                              \
    { "normalize", 0, F_BOOL, .help = "scale vectors to length 1; default: as the model says" },                \
    { "dimensions", 0, F_U32, .least = 1, .most = 1 << 20,                                        \
      .help = "keep the first N components of a vector; default: all" },                   \
    { "encoding", 0, F_STR, .words = part_encoding_words,                                         \
      .help = "how vectors are written: numbers, or little-endian float32 in base64" }
#define PART_PROMPT /* of the tasks that pool */                                                   \
    { "prompt_name", 0, F_STR, .nullable = true,                                                  \
      .help = "which of the model's prompts to put before every text; default: the model's" }
#define PART_TOKENS                                                                               \
    { "tokens", 0, F_MSG, .repeated = true, .msg = part_token_info, .msg_name = "TokenInfo",      \
      .help = "of the text, without special ones; only if asked for" }
#define PART_TRUNCATED                                                                            \
    { "truncated", 0, F_BOOL, .help = "true when the text did not fit the model and was cut" }
#define PART_REPLY(result_rows, result_name)                                                      \
    {                                                                                             \
        { "results", 1, F_MSG, .repeated = true, .required = true, .msg = result_rows,            \
          .msg_name = result_name, .help = "one for each input, in their order" },                \
        { "model_id", 2, F_STR, .required = true, .help = "name of the model" },                  \
        { "metadata", 3, F_STR_MAP, .help = "what the request sent" }, { 0 }                      \
    }

/* The Rust encoderfile's messages about pictures have no model_id, and their metadata as field 11. */
#define PART_PICTURE_REPLY(result_rows, result_name)                                              \
    {                                                                                             \
        { "results", 1, F_MSG, .repeated = true, .required = true, .msg = result_rows,            \
          .msg_name = result_name, .help = "one for each picture, in their order" },              \
        { "model_id", 2, F_STR, .required = true, .help = "name of the model" },                  \
        { "metadata", 11, F_STR_MAP, .help = "what the request sent" }, { 0 }                     \
    }

/* One vector of a row: by the model's head, whose pooling a request may replace; or by SPLADE's rule
 * over the vocabulary. */
TaskPool part_pool, part_sparse;

/* Scripts to begin with. */
#define PART_LUA_HEAD "---Generated by Encoderfile\n---Remember: Lua is 1-indexed!\n\n"
#define PART_LUA_SAME                                                                             \
    "---@return Tensor\n"                                                                         \
    "function Postprocess(arr)\n"                                                                 \
    "    ---Replace with your logic here\n"                                                       \
    "    return arr\n"                                                                            \
    "end\n"

Value part_token(Arena *, const TaskRow *, const Encoding *spans, size_t token);
Value part_token_list(Arena *, const TaskOptions *, const TaskRow *); /* of token_info */
/* The row's tokens in groups; scores: [tokens, labels]. */
Value part_entities(Arena *, const ModelConfig *, const TaskOptions *, const TaskRow *,
                    const float *scores);
/* What a list says about one token. */
typedef Value PartItem(Arena *, const ModelConfig *, const TaskOptions *, const TaskRow *,
                       const Encoding *spans, size_t token);
/* {name: [item of each token]}, with "truncated" where it applies. */
Value part_tokens(Arena *, const ModelConfig *, const TaskOptions *, const TaskRow *,
                  const char *name, PartItem *item);
/* For tables: the lists of numbers of all objects, one after the other. */
Value part_flat(Arena *, const Value *objects, const char *key);
Value part_result(Arena *, const TaskRow *, size_t room); /* a map; part_close ends it */
void part_close(Value *result, const TaskRow *);
/* The k best: {label, index, score}; of equal ones the lower index first, as transformers sorts. labels:
 * [n] names of the request's own; NULL: the model's. */
Value part_top(Arena *, const ModelConfig *, const Value *labels, const float *scores, int64_t n, int k);
/* Of a row's frames, those that count: without what neighbouring chunks have too, rounded as transformers' pipeline
 * does. */
void part_frames(const TaskRow *, int64_t *from, int64_t *to);
float part_largest(const float *, int64_t n);     /* never a NaN; of nothing else: -infinity */
int64_t part_best(const float *, int64_t n);      /* index of the largest */

#endif

/* SPDX-License-Identifier: Apache-2.0
 * parts.h - what the tasks share: rows of their schemas and pieces of their results. Included by
 * the files of this folder only. */
#ifndef TASK_PARTS_H
#define TASK_PARTS_H
#include "task.h"

extern const Task task_embedding, task_sentence_embedding, task_sequence_classification,
    task_token_classification, task_fill_mask, task_sparse_embedding;

extern const Field part_token_info[];             /* {token, token_id, start, end} */
/* The words of options, in the order of their enums. */
extern const char *const part_offset_words[], *const part_encoding_words[], *const part_grouping_words[];
extern const Field part_entity[];                 /* what tokens make together */

#define PART_INPUTS                                                                               \
    { "inputs", 1, F_STR, .repeated = true, .required = true,                                     \
      .help = "a text, or a list of texts and [first, second] pairs" }
#define PART_METADATA(number)                                                                     \
    { "metadata", number, F_STR_MAP, .nullable = true, .help = "echoed in the reply" }
#define PART_OFFSETS                                                                              \
    { "offsets", 0, F_STR, .words = part_offset_words,                                            \
      .help = "what start and end of a token count in its text; bytes unless said" }
#define PART_TRUNCATE                                                                             \
    { "truncate", 0, F_BOOL, .nullable = true,                                                    \
      .help = "false: a text that does not fit the model is an error; true unless said" }
#define PART_RETURN_TOKENS                                                                        \
    { "return_tokens", 0, F_BOOL, .help = "the reply also lists each text's tokens" }
#define PART_VECTORS                                                                              \
    { "normalize", 0, F_BOOL, .help = "vectors to length 1; the model's own way unless said" },                \
    { "dimensions", 0, F_U32, .least = 1, .most = 1 << 20,                                        \
      .help = "so many numbers of a vector, from its front; all unless said" },                   \
    { "encoding", 0, F_STR, .words = part_encoding_words,                                         \
      .help = "how vectors are written: numbers, or little-endian float32 in base64" }
#define PART_PROMPT /* of the tasks that pool */                                                   \
    { "prompt_name", 0, F_STR, .nullable = true,                                                  \
      .help = "of the model's prompts, the one to put before every text; its default unless said" }
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
Value part_result(Arena *, const TaskRow *, size_t room); /* a map; part_close ends it */
void part_close(Value *result, const TaskRow *);
int64_t part_best(const float *, int64_t n);      /* index of the largest; never a NaN */

#endif

/* SPDX-License-Identifier: Apache-2.0
 * open_options.h - the options that say how a model is opened (ModelOpen), as rows for commands and
 * for tools of the library. A row's field is OPTION_FIELD_OF(Struct, open.task) or OPTION_NO_FIELD. */
#ifndef MODEL_OPEN_OPTIONS_H
#define MODEL_OPEN_OPTIONS_H
#include "base/option.h"

#define OPTIONS_TASK(...)                                                                     \
    { "task", 0, "TASK", "what it is for: token-classification, ner, ...; default: as its files" \
                         " say", TAKES_TEXT, __VA_ARGS__ },                                   \
    { "model-type", 0, "TYPE", NULL, TAKES_TEXT, __VA_ARGS__, .against = "task" },            \
    { "force-task-detection", 0, NULL, "guess the task where nothing tells it", TAKES_TEXT,   \
      __VA_ARGS__, .stands = "auto", .against = "task model-type" }
#define OPTION_TOKENIZER(...)                                                                 \
    { "tokenizer", 0, "PATH", "a folder or a tokenizer.json, instead of the model's own",     \
      TAKES_PATH, __VA_ARGS__ }
#define OPTION_POOLING(...)                                                                   \
    { "pooling", 0, "WAY", "of a text's vector: mean, cls, max, last, weightedmean; default: the" \
                           " model's own", TAKES_TEXT, __VA_ARGS__ }
#define OPTION_NORMALIZE(...)                                                                 \
    { "normalize", 0, "BOOL", "vectors to length 1 (=false: not); default: the model's own way", \
      TAKES_TEXT, __VA_ARGS__, .may = option_bools }

#endif

/* SPDX-License-Identifier: Apache-2.0
 * question_case.h - the pairs, tokenizers and option sets of tests/golden/question_answering
 * (tools/oracle/question_answering.py). */
#ifndef QUESTION_CASE_H
#define QUESTION_CASE_H
#define GOLDEN "tests/golden/question_answering/"
#include "input/windows.h"
#include "text_replay.h"

enum { MOST_PAIRS = 64 };
static struct { Str question, context; } pairs[MOST_PAIRS];
static size_t pair_count;

static void pair_add(Arena *arena, const Value *row)
{
    (void)arena;
    Str question = value_str(value_get(row, "question"), STR("")),
        context = value_str(value_get(row, "context"), STR(""));
    pairs[pair_count].question = (Str){ str_dup(&keep, question), question.n };
    pairs[pair_count++].context = (Str){ str_dup(&keep, context), context.n };
}

static void pairs_load(void)
{
    TEST("pairs");
    replay_lines(GOLDEN "pairs.jsonl", pair_add);
    CHECK(pair_count == 40);
}

static inline Tokenizer *model_tokenizer(const Value *row)
{
    Str name = value_str(value_get(row, "model"), STR(""));
    return tokenizer_named(str_of(str_format(&keep, GOLDEN "%.*s", STR_ARG(name))));
}

/* model_max_length of the tokenizers; rows that ask for more ran without a model. */
static inline int model_limit(const Value *row)
{
    Str name = value_str(value_get(row, "model"), STR(""));
    return str_is(name, "distilbert") ? 128 : str_is(name, "mpnet") ? 200 : 388;
}

/* The windows of a row of windows.jsonl or spans.jsonl. */
static inline bool row_windows(Arena *arena, const Value *row, Windows *out, Err *err)
{
    size_t n = (size_t)value_int(value_get(row, "pair"), 0);
    QuestionOptions options = { .max_seq_len = (int)value_int(value_get(row, "max_seq_len"), 0),
                                .doc_stride = (int)value_int(value_get(row, "doc_stride"), -1),
                                .context_first = value_bool(value_get(row, "left"), false) };
    if (!options.max_seq_len) options.limit = model_limit(row);
    return windows_of_question(model_tokenizer(row), arena, pairs[n].question, pairs[n].context,
                               &options, out, err);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * question_answering.c - where in a context the answer to a question stands. Answers, scores and
 * offsets are those of transformers' question-answering pipeline. */
#include "answers.h"
#include "data/number.h"
#include "parts.h"

static const Field request[] = {
    { "inputs", 1, F_MSG, .repeated = true, .required = true, .msg = item_question_keys,
      .msg_name = "Question",
      .help = "a question with its context, or a list of these and [question, context] pairs" },
    PART_METADATA(2),
    ANSWER_OPTIONS,
    PART_OFFSETS,
    { 0 },
};

#define ANSWER_ROWS                                                                               \
    { "answer", 1, F_STR, .required = true, .help = "as it stands in the context; may be empty" }, \
    { "score", 2, F_F32, .required = true, .help = "probability; of several places of one text, "  \
                                                   "their sum" },                                 \
    { "start", 3, F_U32, .required = true, .help = "where it begins in the context" },            \
    { "end", 4, F_U32, .required = true, .help = "first position after it" }
static const Field answer[] = { ANSWER_ROWS, { 0 } };
static const Field result[] = {
    ANSWER_ROWS,
    { "answers", 5, F_MSG, .repeated = true, .msg = answer, .msg_name = "Answer",
      .help = "the best ones, this first; where top_k is more than 1" },
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "QuestionAnsweringResult");

static void answer_tell(const TaskOptions *options, Str context, const Answer *a, Value *out)
{
    int64_t start = a->start, end = a->end;
    if (options->chars) {
        start = (int64_t)utf8_length((Str){ context.p, (size_t)start });
        end = (int64_t)utf8_length((Str){ context.p, (size_t)end });
    }
    value_add(out, "answer", value_of_str(a->text));
    value_add(out, "score", value_of_float(number_widen((float)a->score)));
    value_add(out, "start", value_of_int(start));
    value_add(out, "end", value_of_int(end));
}

static size_t answers_of_rows(Arena *arena, const TaskOptions *options, const TaskRow *row, size_t n,
                              Answer **out)
{
    AnswerOptions how = { .top_k = options->top_k ? options->top_k : 1,
                          .max_answer_len =
                              options->answer_tokens ? options->answer_tokens : ANSWER_MAX_LEN,
                          .impossible = options->impossible,
                          .align_to_words = !options->unaligned,
                          .context_first = row->swapped,
                          .cls = answers_class_token(row->tokenizer) };
    AnswerWindow *window = ARRAY(arena, AnswerWindow, n);
    for (size_t i = 0; i < n; i++)
        window[i] = (AnswerWindow){ row[i].encoding, row[i].out[0].data, row[i].out[1].data };
    *out = ARRAY(arena, Answer, how.top_k);
    return answers_find(arena, *row->second, window, n, &how, *out);
}

static void question_answering_finish(Arena *arena, const ModelConfig *config,
                                      const TaskOptions *options, const TaskRow *row, size_t n_rows,
                                      Value *out)
{
    (void)config;
    Answer *found;
    size_t n = answers_of_rows(arena, options, row, n_rows, &found);
    *out = value_map(arena, 5);
    answer_tell(options, *row->second, &found[0], out);
    if (options->top_k <= 1) return;
    Value list = value_list(arena, n);
    for (size_t i = 0; i < n; i++) {
        list.list.items[i] = value_map(arena, 4);
        answer_tell(options, *row->second, &found[i], &list.list.items[i]);
    }
    value_add(out, "answers", list);
}

static const TaskSample samples[] = {
    { NULL, { "Where does Sarah live?", "My name is Sarah and I live in London." } },
};

const Task task_question_answering = {
    .name = "question_answering",
    .many = "answers",
    .names = { { "question-answering", { "qa", "extractive-qa" } } },
    .number = 1003,
    .can = CAN_ANSWER,
    .outputs = { { "start_logits" }, { "end_logits" } },
    .shape = &shape_token_numbers,
    .architectures = { "ForQuestionAnswering" },
    .mcp_instructions = "This tool will find the answers to questions in the contexts beside them.",
    .mcp_description = "Finds the answers to questions in the contexts beside them.",
    .no_lua = "an answer is made of two outputs of all windows of its context",
    .samples = samples,
    .request = request,
    .result = result,
    .reply = reply,
    .items = &item_questions,
    .preparer = &prepare_questions,
    .finish = question_answering_finish,
};

/* SPDX-License-Identifier: Apache-2.0
 * document_question_answering.c - which words of a page answer a question. Answers, scores and word
 * numbers are those of transformers' document-question-answering pipeline.
 *
 * A model that sees the page gives numbers for its patches, too, behind those of the tokens: they are no
 * answers and left out. */
#include "answers.h"
#include "data/number.h"
#include "parts.h"

static const Field request[] = {
    { "inputs", 1, F_MSG, .repeated = true, .required = true, .msg = item_page_question_keys,
      .msg_name = "PageQuestion",
      .help = "a question with the words and boxes of a page, or with its image; or a list of these" },
    PART_METADATA(2),
    PAGE_ANSWER_OPTIONS,
    { 0 },
};

static const Field answer[] = {
    { "score", 1, F_F32, .required = true, .help = "probability" },
    { "answer", 2, F_STR, .required = true, .help = "its words, joined by spaces; may be empty" },
    { "start", 3, F_U32, .required = true, .help = "the index of its first word" },
    { "end", 4, F_U32, .required = true, .help = "and of its last" },
    { 0 },
};
static const Field result[] = {
    { "answers", 1, F_MSG, .repeated = true, .msg = answer, .msg_name = "PageAnswer",
      .help = "the best first; a page without words has none" },
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "DocumentQuestionAnsweringResult");

static size_t answers_of_page(Arena *arena, const TaskOptions *options, const TaskRow *row, size_t n, Answer **out)
{
    AnswerOptions how = { .top_k = options->top_k ? options->top_k : 1,
                          .max_answer_len = options->answer_tokens ? options->answer_tokens : ANSWER_MAX_LEN,
                          .impossible = options->impossible,
                          .page = true,
                          .cls = answers_class_token(row->tokenizer) };
    AnswerWindow *window = ARRAY(arena, AnswerWindow, n);
    for (size_t i = 0; i < n; i++)
        window[i] = (AnswerWindow){ row[i].encoding, row[i].out[0].data, row[i].out[1].data };
    *out = ARRAY(arena, Answer, how.top_k);
    return answers_find(arena, row->first, window, n, &how, *out);
}

static Value answer_value(Arena *arena, const TaskRow *row, const Answer *a)
{
    Value one = value_map(arena, 4);
    Str text = { "", 0 };
    bool empty = a->end == 0 && a->start == 0 && a->text.p; /* of "no answer" alone the text is set */
    if (!empty) {
        const Str *first = &row->words[a->start], *last = &row->words[a->end];
        text = (Str){ first->p, (size_t)(last->p + last->n - first->p) };
    }
    value_add(&one, "score", value_of_float(number_widen((float)a->score)));
    value_add(&one, "answer", value_of_str(text));
    value_add(&one, "start", value_of_int(a->start));
    value_add(&one, "end", value_of_int(a->end));
    return one;
}

static void document_question_answering_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                               const TaskRow *row, size_t n_rows, Value *out)
{
    (void)config;
    Answer *found;
    size_t n = answers_of_page(arena, options, row, n_rows, &found);
    Value list = value_list(arena, n);
    for (size_t i = 0; i < n; i++) list.list.items[i] = answer_value(arena, row, &found[i]);
    *out = value_map(arena, 1);
    value_add(out, "answers", list);
}

static const TaskSample samples[] = {
    { NULL, { "Invoice No. 1815 London Total: 768.80", "What is the total?" } },
};

const Task task_document_question_answering = {
    .name = "document_question_answering",
    .many = "answers",
    .names = { { "document-question-answering", { "document-qa", "docvqa" } } },
    .number = 1005,
    .can = CAN_ANSWER_PAGE,
    .outputs = { { "start_logits" }, { "end_logits" } },
    .shape = &shape_page_numbers,
    .architectures = { "ForQuestionAnswering" },
    .mcp_instructions = "This tool will find the answers to questions in the words of pages.",
    .mcp_description = "Finds the answers to questions in the words of pages, given with their boxes.",
    .no_lua = "an answer is made of two outputs of all windows of its page",
    .samples = samples,
    .request = request,
    .result = result,
    .reply = reply,
    .items = &item_page_questions,
    .preparer = &prepare_page_questions,
    .finish = document_question_answering_finish,
};

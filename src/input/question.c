/* SPDX-License-Identifier: Apache-2.0
 * question.c - questions, each with the text that its answer is in: how they are written, and the
 * windows that they become. */
#include "items.h"
#include "windows.h"

const Field item_question_keys[] = {
    { "question", 1, F_STR, .required = true },
    { "context", 2, F_STR, .required = true },
    { 0 },
};
const ItemForm item_questions = {
    .keys = item_question_keys,
    .part = { ITEM_FIRST, ITEM_SECOND },
    .listed = true,
    .object = true,
    .one = "{\"question\": ..., \"context\": ...} or a [question, context] pair",
    .all = "{\"question\": ..., \"context\": ...}, or a list of these and [question, context] pairs",
};

static bool prepare_question_rows(const PrepareCall *call, const Item *item, PreparedRows *out,
                                  Err *err)
{
    const InputOptions *o = call->options;
    const InputModel *m = call->model;
    Windows windows;
    QuestionOptions how = { .max_seq_len = o->window, .doc_stride = o->windows ? o->stride : -1,
                            .limit = m->encode.max_length, .most = WINDOWS_MOST,
                            .truncate_left = m->encode.truncate_left,
                            .context_first = m->pad_left, .work = call->work };
    if (!windows_of_question(m->tokenizer, call->arena, item->first, item->second, &how, &windows, err))
        return false;
    windows_to_rows(call, &windows, m->pad_left, out);
    return true;
}

const Preparer prepare_questions = { "questions", prepare_question_rows };

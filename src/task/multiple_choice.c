/* SPDX-License-Identifier: Apache-2.0
 * multiple_choice.c - which of some choices goes best with a prompt. Each choice is a row of its own, the
 * second text of a pair with the prompt, and has one number; the choices of an item compete. */
#include "data/number.h"
#include "parts.h"

static const Field request[] = {
    { "inputs", 1, F_MSG, .repeated = true, .required = true, .msg = item_choice_keys,
      .msg_name = "MultipleChoiceInput", .help = "{prompt, choices}, or a list of such objects" },
    PART_METADATA(2), PART_TRUNCATE, { 0 },
};

static const Field result[] = {
    { "logits", 1, F_F32, .repeated = true, .required = true, .help = "of each choice, as the model gives them" },
    { "scores", 2, F_F32, .repeated = true, .required = true,
      .help = "of each choice: its probability among them (softmax)" },
    { "predicted_index", 3, F_U32, .required = true, .help = "of the choice with the largest score, from 0" },
    { "predicted_choice", 4, F_STR, .required = true, .help = "its text" },
    { "truncated", 0, F_BOOL, .help = "true when a choice with the prompt did not fit the model and was cut" },
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "MultipleChoiceResult");

static const Field table[] = {
    { "choice", 1, F_STR }, { "index", 2, F_I32 }, { "score", 3, F_F32 },
    { "scores", 4, F_F32, .repeated = true }, { 0 },
};

static Value choice_told(Arena *arena, const Value *answer)
{
    const Value *scores = value_get(answer, "scores"), *best = value_get(answer, "predicted_index");
    Value out = value_map(arena, 4);
    value_add(&out, "choice", *value_get(answer, "predicted_choice"));
    value_add(&out, "index", *best);
    value_add(&out, "score", value_of_float((double)scores->f32.p[value_int(best, 0)]));
    value_add(&out, "scores", *scores);
    return out;
}
static const TaskTable tables[] = { { .rows = table, .shape = choice_told }, { 0 } };

static void multiple_choice_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                                   const TaskRow *row, size_t n, Value *out)
{
    (void)config, (void)options;
    float *logits = ARRAY(arena, float, n), *scores = ARRAY(arena, float, n);
    bool truncated = false;
    for (size_t i = 0; i < n; i++) {
        logits[i] = row[i].data[0];
        truncated |= row[i].encoding->truncated;
    }
    task_softmax(logits, (int64_t)n, scores);
    int64_t best = part_best(logits, (int64_t)n);
    *out = value_map(arena, 5);
    value_add(out, "logits", value_of_f32(logits, n));
    value_add(out, "scores", value_of_f32(scores, n));
    value_add(out, "predicted_index", value_of_int(best));
    value_add(out, "predicted_choice", value_of_str(*row[best].choice));
    if (truncated) value_add(out, "truncated", value_of_bool(true));
}

static const TaskSample samples[] = {
    { NULL, { "The bus to Mumbai is late.", "The passengers wait.", "The soup is cold." } },
};

const Task task_multiple_choice = {
    .name = "multiple_choice",
    .many = "multiple choices",
    .names = { { "multiple-choice" } },
    .number = 1004,
    .can = CAN_CHOOSE,
    .outputs = { { "logits" } },
    .shape = &shape_choices,
    .architectures = { "ForMultipleChoice" },
    .mcp_instructions = "This tool will choose which of several choices goes best with a prompt.",
    .mcp_description = "Chooses which of several choices goes best with a prompt.",
    .no_lua = "the number of a choice counts beside those of the others, which a script does not see",
    .samples = samples,
    .request = request,
    .result = result,
    .reply = reply,
    .tables = tables,
    .items = &item_choices,
    .preparer = &prepare_choices,
    .finish = multiple_choice_finish,
};

/* SPDX-License-Identifier: Apache-2.0
 * sequence_classification.c - labels for a text or a pair. What the scores are follows
 * config.json's problem_type: probabilities of one label out of many, of each label by itself, or
 * plain numbers. */
#include <math.h>

#include "parts.h"

static const Field request[] = {
    PART_INPUTS, PART_METADATA(2), PART_PAGES(20), PART_TRUNCATE,
    { "top_k", 0, F_U32, .least = 1, .most = 1 << 18,
      .help = "the reply also lists the so many best labels" },
    PART_OFFSETS, PART_RETURN_TOKENS, { 0 },
};

static const Field label_score[] = {
    { "label", 0, F_STR, .required = true },
    { "index", 0, F_U32, .required = true },
    { "score", 0, F_F32, .required = true, .nullable = true },
    { 0 },
};

static const Field result[] = {
    { "logits", 1, F_F32, .repeated = true, .required = true, .help = "as the model gives them" },
    { "scores", 2, F_F32, .repeated = true, .required = true,
      .help = "probabilities: softmax, or sigmoid where several labels may hold or there is one; "
              "logits of a regression" },
    { "predicted_index", 3, F_U32, .required = true, .help = "of the largest score" },
    { "predicted_label", 4, F_STR, .required = true, .nullable = true },
    { "top", 0, F_MSG, .repeated = true, .msg = label_score, .msg_name = "LabelScore",
      .help = "labels by score, the best first; only if asked for" },
    PART_TOKENS,
    PART_TRUNCATED,
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "SequenceClassificationResult");

static const Field table[] = {
    { "label", 1, F_STR }, { "score", 2, F_F32 }, { "scores", 3, F_F32, .repeated = true }, { 0 },
};
static const Field table_with_top[] = {
    { "label", 1, F_STR }, { "score", 2, F_F32 }, { "scores", 3, F_F32, .repeated = true },
    { "top", 4, F_MSG, .repeated = true, .msg = label_score }, { 0 },
};
static const Field table_of_rank[] = { { "score", 1, F_F32 }, { 0 } };

static Value classification_told(Arena *arena, const Value *answer)
{
    const Value *scores = value_get(answer, "scores"), *label = value_get(answer, "predicted_label");
    const Value *top = value_get(answer, "top");
    const size_t best = (size_t)value_int(value_get(answer, "predicted_index"), 0);
    Value out = value_map(arena, 4);
    if (label) value_add(&out, "label", *label);
    if (best < scores->f32.n) value_add(&out, "score", value_of_float((double)scores->f32.p[best]));
    value_add(&out, "scores", *scores);
    if (top) value_add(&out, "top", *top);
    return out;
}

static bool wants_top(const TaskOptions *options)
{
    return options->top_k > 0;
}
static const TaskTable tables[] = {
    { .when = wants_top, .rows = table_with_top, .shape = classification_told },
    { .of = CAN_RANK, .rows = table_of_rank, .shape = classification_told },
    { .rows = table, .shape = classification_told },
    { 0 },
};

static void sigmoid(const float *x, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++) out[i] = 1.0f / (1.0f + expf(-x[i]));
}

static void identity(const float *x, int64_t n, float *out)
{
    memcpy(out, x, (size_t)n * sizeof *out);
}

/* As transformers' pipeline: a single label (a reranker's) is a probability of its own. */
static TaskScore own_score(const ModelConfig *config, int64_t labels)
{
    if (str_is(config->problem_type, "regression")) return SCORE_NONE;
    bool several = str_is(config->problem_type, "multi_label_classification");
    return several || labels == 1 ? SCORE_SIGMOID : SCORE_SOFTMAX;
}

void task_score(const ModelConfig *config, TaskScore how, const float *logits, int64_t n,
                float *out)
{
    static void (*const ways[])(const float *, int64_t, float *) = {
        [SCORE_NONE] = identity, [SCORE_SOFTMAX] = task_softmax, [SCORE_SIGMOID] = sigmoid,
    };
    ways[how == SCORE_OWN ? own_score(config, n) : how](logits, n, out);
}

static void sequence_classification_finish(Arena *arena, const ModelConfig *config,
                                           const TaskOptions *options, const TaskRow *row, size_t n_rows,
                                           Value *out)
{
    (void)n_rows; /* one an item */
    int64_t labels = row->width;
    const float *scores = row->scores;
    if (!scores) {
        float *own = ARRAY(arena, float, labels);
        task_score(config, SCORE_OWN, row->data, labels, own);
        scores = own;
    }
    int64_t best = part_best(row->scores ? row->scores : row->data, labels);
    *out = part_result(arena, row, 6);
    value_add(out, "logits", value_of_f32(row->data, (size_t)labels));
    value_add(out, "scores", value_of_f32(scores, (size_t)labels));
    value_add(out, "predicted_index", value_of_int(best));
    bool named = config->labels || (labels > 1 && !str_is(config->problem_type, "regression"));
    value_add(out, "predicted_label", named ? task_label(arena, config, best) : value_null());
    if (options->top_k)
        value_add(out, "top", part_top(arena, config, NULL, scores, labels, options->top_k));
    if (options->return_tokens) value_add(out, "tokens", part_token_list(arena, options, row));
    part_close(out, row);
}

static const TaskSample samples[] = {
    { NULL, { "I love this!", "This was the worst film I have seen in years." } },
};

const Task task_sequence_classification = {
    .name = "sequence_classification",
    .many = "sequence classifications",
    .names = { { "text-classification", { "sequence-classification", "sentiment-analysis" } },
               { "zero-shot-classification" },
               { "text-ranking", { "reranking", "rerank" } } },
    .number = 2,
    .can = CAN_CLASSIFY,
    .can_of_one = CAN_RANK,
    .outputs = { { "logits" } },
    .shape = &shape_text_labels,
    .architectures = { "ForSequenceClassification" },
    .mcp_instructions = "This tool will classify an input text sequence.",
    .mcp_description = "Performs sequence classification of input text sequences.",
    .lua = PART_LUA_HEAD
           "---Postprocess sequence classification logits\n"
           "---Must return 2D tensor of shape [batch_size, n_labels]\n"
           "---@input Tensor 2D tensor of shape [batch_size, n_labels]\n" PART_LUA_SAME,
    .samples = samples,
    .request = request,
    .result = result,
    .reply = reply,
    .tables = tables,
    .items = &item_texts,
    .preparer = &prepare_text,
    .finish = sequence_classification_finish,
};

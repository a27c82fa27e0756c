/* SPDX-License-Identifier: Apache-2.0
 * token_classification.c - a label for every token: names, places, parts of speech. */
#include "data/number.h"
#include "parts.h"

static const Field request[] = { PART_INPUTS, PART_METADATA(2), PART_OFFSETS, { 0 } };

static const Field token[] = {
    { "token_info", 1, F_MSG, .required = true, .msg = part_token_info, .msg_name = "TokenInfo" },
    { "scores", 2, F_F32, .repeated = true, .required = true, .help = "probability of each label" },
    { "label", 3, F_STR, .required = true, .help = "the most probable one" },
    { "score", 4, F_F32, .required = true, .help = "its probability" },
    { 0 },
};
static const Field result[] = {
    { "tokens", 1, F_MSG, .repeated = true, .required = true, .msg = token,
      .msg_name = "TokenClassification", .help = "tokens of the text, without special ones" },
    PART_TRUNCATED,
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "TokenClassificationResult");

static Value classify_token(Arena *arena, const ModelConfig *config, const TaskRow *row,
                            const Encoding *spans, size_t index)
{
    size_t labels = (size_t)row->width;
    const float *scores = row->scores ? row->scores + index * labels : NULL;
    if (!scores) {
        float *own = ARRAY(arena, float, labels);
        task_softmax(row->data + index * labels, row->width, own);
        scores = own;
    }
    int64_t best = part_best(scores, row->width);
    Value one = value_map(arena, 4);
    value_add(&one, "token_info", part_token(arena, row, spans, index));
    value_add(&one, "scores", value_of_f32(scores, labels));
    value_add(&one, "label", part_label(arena, config, best));
    value_add(&one, "score", value_of_float(number_widen(scores[best])));
    return one;
}

static void token_classification_finish(Arena *arena, const ModelConfig *config,
                                        const TaskOptions *options, const TaskRow *row, Value *out)
{
    *out = part_tokens(arena, config, options, row, "tokens", classify_token);
}

const Task task_token_classification = {
    .name = "token_classification",
    .number = 3,
    .outputs = { "logits" },
    .per_token = true,
    .labelled = true,
    .shape = "[batch_size, seq_len, n_labels]",
    .architectures = { "ForTokenClassification" },
    .pipelines = { "token-classification", "ner" },
    .request = request,
    .result = result,
    .reply = reply,
    .finish = token_classification_finish,
};

/* SPDX-License-Identifier: Apache-2.0
 * token_classification.c - a label for every token: names, places, parts of speech. */
#include "data/number.h"
#include "parts.h"
#include "task/bio.h"

static const Field request[] = {
    PART_INPUTS, PART_METADATA(2), PART_OFFSETS, PART_TRUNCATE,
    { "aggregation", 0, F_STR, .words = part_grouping_words,
      .help = "the reply lists entities: tokens as they are (none), neighbours of one type "
              "(simple), or whole words by their first token, the mean or the best of their tokens" },
    { "extract", 0, F_BOOL,
      .help = "the reply has the text of each entity type, by whole words and the B- and I- of "
              "their first tokens; of a pair, those of its first text" },
    { "return_tokens", 0, F_BOOL,
      .help = "the reply lists tokens; true unless entities were asked for" },
    { 0 },
};

static const Field token[] = {
    { "token_info", 1, F_MSG, .required = true, .msg = part_token_info, .msg_name = "TokenInfo" },
    { "scores", 2, F_F32, .repeated = true, .required = true, .help = "probability of each label" },
    { "label", 3, F_STR, .required = true, .help = "the most probable one" },
    { "score", 4, F_F32, .required = true, .help = "its probability" },
    { 0 },
};
static const Field result[] = {
    { "tokens", 1, F_MSG, .repeated = true, .msg = token, .msg_name = "TokenClassification",
      .help = "tokens of the text, without special ones; not where entities were asked for" },
    { "entities", 0, F_MSG, .repeated = true, .msg = part_entity, .msg_name = "Entity",
      .help = "by the aggregation that was asked for" },
    { "extracted", 0, F_NULL_STR_MAP,
      .help = "entity type to its first text, null where there is none; only if asked for" },
    PART_TRUNCATED,
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "TokenClassificationResult");

static Value classify_token(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                            const TaskRow *row, const Encoding *spans, size_t index)
{
    (void)options;
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
    value_add(&one, "label", task_label(arena, config, best));
    value_add(&one, "score", value_of_float(number_widen(scores[best])));
    return one;
}

static const float *all_scores(Arena *arena, const TaskRow *row) /* but those of special tokens */
{
    if (row->scores) return row->scores;
    float *own = ARRAY(arena, float, row->tokens * row->width);
    for (int64_t t = 0; t < row->tokens; t++)
        if (!row->encoding->special[t])
            task_softmax(row->data + t * row->width, row->width, own + t * row->width);
    return own;
}

/* Words are found by bytes, and in one text: tokens of a second one are not among them. */
static Value extract(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                     const TaskRow *row)
{
    TaskOptions bytes = *options;
    bytes.chars = false;
    Value plain = part_tokens(arena, config, &bytes, row, "tokens", classify_token);
    Value *list = &plain.map.items[0].value;
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < row->encoding->n; i++) {
        if (row->encoding->special[i]) continue;
        list->list.items[kept] = list->list.items[n++];
        kept += row->encoding->sequence[i] == 0;
    }
    list->list.n = kept;
    BioSpans found = bio_entities(arena, row->first, &plain);
    return bio_extract(arena, config, &found, &(BioOptions){ 0 });
}

static void token_classification_finish(Arena *arena, const ModelConfig *config,
                                        const TaskOptions *options, const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one an item */
    bool entities = options->grouping != GROUP_UNSAID;
    if (!entities && !options->extract) {
        *out = part_tokens(arena, config, options, row, "tokens", classify_token);
        return;
    }
    *out = part_result(arena, row, 3);
    if (options->return_tokens) {
        Value plain = part_tokens(arena, config, options, row, "tokens", classify_token);
        value_add(out, "tokens", *value_get(&plain, "tokens"));
    }
    if (entities)
        value_add(out, "entities",
                  part_entities(arena, config, options, row, all_scores(arena, row)));
    if (options->extract) value_add(out, "extracted", extract(arena, config, options, row));
    part_close(out, row);
}

static const TaskSample samples[] = {
    { "B-SRC", { "AC sleeper bus from Bangalore to Mumbai tomorrow",
                 "VRL Non-AC from Chennai to Hyderabad next Friday" } },
    { NULL, { "My name is Sarah and I live in London.",
              "Angela Merkel met Emmanuel Macron in Paris." } },
};

const Task task_token_classification = {
    .name = "token_classification",
    .many = "token classifications",
    .names = { { "token-classification", { "ner", "named-entity-recognition" } } },
    .number = 3,
    .can = CAN_TAG,
    .outputs = { { "logits" } },
    .shape = &shape_token_labels,
    .architectures = { "ForTokenClassification" },
    .mcp_instructions = "This tool will classify each token of an input text sequence.",
    .mcp_description = "Performs token classification of input text sequences.",
    .lua = PART_LUA_HEAD
           "---Postprocess token classification logits\n"
           "---Must return 3D tensor of shape [batch_size, seq_len, n_labels]\n"
           "---@input Tensor 3D tensor of shape [batch_size, seq_len, n_labels]\n" PART_LUA_SAME,
    .samples = samples,
    .request = request,
    .result = result,
    .reply = reply,
    .items = &item_texts,
    .preparer = &prepare_text,
    .finish = token_classification_finish,
};

/* SPDX-License-Identifier: Apache-2.0
 * arch_bert.c - BERT: word, type and position tables, norm, layers with the norm behind. */
#include "arch_rows.h"

const Module bert_modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "encoder", "*Encoder" },
    { "encoder.layer.#", "*Layer" },
    { "encoder.layer.#.attention", "*Attention" },
    { "encoder.layer.#.attention.self", "*SelfAttention" },
    { "encoder.layer.#.attention.output", "*SelfOutput" },
    { "encoder.layer.#.intermediate", "*Intermediate" },
    { "encoder.layer.#.intermediate.intermediate_act_fn", "!" },
    { "encoder.layer.#.output", "*Output" },
    { "pooler", "*Pooler" },
    { 0 },
};

const Module bert_masked_modules[] = {
    { "cls", "*OnlyMLMHead" },
    { "cls.predictions", "*LMPredictionHead" },
    { "cls.predictions.transform", "*PredictionHeadTransform" },
    { "cls.predictions.transform.transform_act_fn", "!" },
    { 0 },
};

const ArchStep steps_classify_tokens[] = { { ARCH_STEP_LINEAR, "classifier" }, { 0 } };
const ArchStep steps_answer[] = { { ARCH_STEP_LINEAR, "qa_outputs" }, { 0 } };

const ArchStep bert_masked[] = {
    { ARCH_STEP_LINEAR, "cls.predictions.transform.dense" },
    { ARCH_STEP_ACT, "cls.predictions.transform.transform_act_fn" },
    { ARCH_STEP_NORM, "cls.predictions.transform.LayerNorm" },
    { ARCH_STEP_DECODE, "cls.predictions.decoder", "cls.predictions" },
    { 0 },
};

const ArchStep bert_sequence[] = {
    { ARCH_STEP_FIRST, "@pooler" },
    { ARCH_STEP_LINEAR, "@pooler.dense" },
    { ARCH_STEP_ACT, "@pooler.activation", "tanh" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

#define BERT_ROWS                                                                                  \
    .modules = bert_modules, .head_modules = { [HEAD_MASKED] = bert_masked_modules },              \
    .eps = 1e-12,                                                                                  \
    .embeddings = BERT_EMBEDDINGS, .layer = BERT_LAYER, .paths = BERT_PATHS,                       \
    .steps = { [HEAD_MASKED] = bert_masked, [HEAD_SEQUENCE] = bert_sequence,                       \
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer,                 \
               [HEAD_CHOICE] = bert_sequence }

const Arch arch_bert = {
    .model_type = "bert", .family = "Bert", .base = "bert.",
    .models = "all-MiniLM-L6-v2, bge-base-en-v1.5, e5-base-v2, mxbai-embed-large-v1, "
              "ms-marco-MiniLM-L6-v2, bert-base-NER, splade-v3",
    BERT_ROWS,
};

/* ERNIE is BERT, but for task types, which only version 3 has. */
static bool ernie_configure(Encoder *m, const Value *config, Err *err)
{
    (void)m;
    return !value_bool(value_get(config, "use_task_id"), false) ||
           fail(err, EF_UNSUPPORTED, "config.json: use_task_id is not supported");
}

const Arch arch_ernie = {
    .model_type = "ernie", .family = "Ernie", .base = "ernie.",
    .models = "ernie-2.0-base-en",
    BERT_ROWS,
    .configure = ernie_configure,
};

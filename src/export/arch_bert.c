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

static const Module head_modules[] = {
    { "cls", "*OnlyMLMHead" },
    { "cls.predictions", "*LMPredictionHead" },
    { "cls.predictions.transform", "*PredictionHeadTransform" },
    { "cls.predictions.transform.transform_act_fn", "!" },
    { 0 },
};

const Step steps_classify_tokens[] = { { STEP_LINEAR, "classifier" }, { 0 } };
const Step steps_answer[] = { { STEP_LINEAR, "qa_outputs" }, { 0 } };

static const Step masked[] = {
    { STEP_LINEAR, "cls.predictions.transform.dense" },
    { STEP_ACT, "cls.predictions.transform.transform_act_fn" },
    { STEP_NORM, "cls.predictions.transform.LayerNorm" },
    { STEP_DECODE, "cls.predictions.decoder", "cls.predictions" },
    { 0 },
};

static const Step sequence[] = {
    { STEP_FIRST, "@pooler" },
    { STEP_LINEAR, "@pooler.dense" },
    { STEP_ACT, "@pooler.activation", "tanh" },
    { STEP_LINEAR, "classifier" },
    { 0 },
};

const Arch arch_bert = {
    .model_type = "bert", .family = "Bert", .base = "bert.",
    .modules = bert_modules, .head_modules = { [HEAD_MASKED] = head_modules },
    .eps = 1e-12,
    .embeddings = BERT_EMBEDDINGS, .layer = BERT_LAYER, .paths = BERT_PATHS,
    .steps = { [HEAD_MASKED] = masked, [HEAD_SEQUENCE] = sequence,
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer },
};

/* SPDX-License-Identifier: Apache-2.0
 * arch_electra.c - ELECTRA: BERT's layers behind a narrower embedding; heads without a pooler. */
#include "arch_rows.h"

static const Module generator[] = {
    { "generator_predictions", "*GeneratorPredictions" },
    { "generator_predictions.activation", "GELUActivation" },
    { 0 },
};

static const Module classifier[] = {
    { "classifier", "*ClassificationHead" }, { "classifier.activation", "GELUActivation" }, { 0 }
};

static const ArchStep masked[] = {
    { ARCH_STEP_LINEAR, "generator_predictions.dense" },
    { ARCH_STEP_ACT, "generator_predictions.activation", "gelu" },
    { ARCH_STEP_NORM, "generator_predictions.LayerNorm" },
    { ARCH_STEP_DECODE, "generator_lm_head" },
    { 0 },
};

static const ArchStep sequence[] = {
    { ARCH_STEP_FIRST, "classifier" },
    { ARCH_STEP_LINEAR, "classifier.dense" },
    { ARCH_STEP_ACT, "classifier.activation", "gelu" },
    { ARCH_STEP_LINEAR, "classifier.out_proj" },
    { 0 },
};

static const Module summary[] = {
    { "sequence_summary", "*SequenceSummary" },
    { "sequence_summary.activation", "GELUActivation" },
    { 0 },
};

static const ArchStep choice[] = {
    { ARCH_STEP_FIRST, "sequence_summary" },
    { ARCH_STEP_LINEAR, "sequence_summary.summary" },
    { ARCH_STEP_ACT, "sequence_summary.activation", "gelu" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

const Arch arch_electra = {
    .model_type = "electra", .family = "Electra", .base = "electra.",
    .models = "electra-base-discriminator, ms-marco-electra-base",
    .modules = bert_modules,
    .head_modules = { [HEAD_MASKED] = generator, [HEAD_SEQUENCE] = classifier,
                      [HEAD_CHOICE] = summary },
    .otherwise = { [K_EMBEDDING] = 128, [K_HIDDEN] = 256, [K_HEADS] = 4, [K_INNER] = 1024 },
    .eps = 1e-12,
    .embeddings = { .words = "embeddings.word_embeddings",
                    .positions = "embeddings.position_embeddings",
                    .types = "embeddings.token_type_embeddings",
                    .norm = "embeddings.LayerNorm", .project = "embeddings_project" },
    .layer = BERT_LAYER, .paths = BERT_PATHS,
    .steps = { [HEAD_MASKED] = masked, [HEAD_SEQUENCE] = sequence,
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer,
               [HEAD_CHOICE] = choice },
};

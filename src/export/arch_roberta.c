/* SPDX-License-Identifier: Apache-2.0
 * arch_roberta.c - RoBERTa, XLM-RoBERTa, CamemBERT: BERT's layers; positions count ids that are not
 * padding; no type input; the classifier has a layer of its own instead of a pooler. */
#include "arch_rows.h"

const Module roberta_lm_head[] = { { "lm_head", "*LMHead" }, { 0 } };
const Module roberta_classifier[] = { { "classifier", "*ClassificationHead" }, { 0 } };

const ArchStep roberta_masked[] = {
    { ARCH_STEP_LINEAR, "lm_head.dense" },
    { ARCH_STEP_ACT, "lm_head", "gelu" }, /* a function there, whatever hidden_act says */
    { ARCH_STEP_NORM, "lm_head.layer_norm" },
    { ARCH_STEP_DECODE, "lm_head.decoder", "lm_head" },
    { 0 },
};

const ArchStep roberta_sequence[] = {
    { ARCH_STEP_FIRST, "classifier" },
    { ARCH_STEP_LINEAR, "classifier.dense" },
    { ARCH_STEP_ACT, "classifier", "tanh" },
    { ARCH_STEP_LINEAR, "classifier.out_proj" },
    { 0 },
};

#define ROBERTA                                                                                 \
    .base = "roberta.", .modules = bert_modules, .head_modules = ROBERTA_HEADS,                 \
    .otherwise = { [K_VOCAB] = 50265, [K_PAD] = 1 }, .eps = 1e-12, .positions = POS_PADDED,     \
    .types = TYPES_ZERO, .embeddings = BERT_EMBEDDINGS, .layer = BERT_LAYER,                    \
    .paths = BERT_PATHS,                                                                        \
    .steps = { [HEAD_MASKED] = roberta_masked, [HEAD_SEQUENCE] = roberta_sequence,              \
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer,              \
               [HEAD_CHOICE] = bert_sequence }

const Arch arch_roberta = {
    .model_type = "roberta", .family = "Roberta", ROBERTA,
    .models = "roberta-base, all-distilroberta-v1, granite-embedding-125m-english, "
              "twitter-roberta-base-sentiment-latest",
};
const Arch arch_xlm_roberta = {
    .model_type = "xlm-roberta", .family = "XLMRoberta", ROBERTA,
    .models = "multilingual-e5-base, bge-m3 (its dense vectors), bge-reranker-v2-m3, "
              "snowflake-arctic-embed-l-v2.0",
};
const Arch arch_camembert = {
    .model_type = "camembert", .family = "Camembert", ROBERTA,
    .models = "camembert-base, camembert-ner",
};

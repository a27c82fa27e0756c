/* SPDX-License-Identifier: Apache-2.0
 * arch_distilbert.c - DistilBERT: BERT without types, with names of its own. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "Embeddings" },
    { "transformer", "Transformer" },
    { "transformer.layer.#", "TransformerBlock" },
    { "transformer.layer.#.attention", "*SelfAttention" },
    { "transformer.layer.#.ffn", "FFN" },
    { "transformer.layer.#.ffn.activation", "!" },
    { 0 },
};

static const Module head_modules[] = { { "activation", "!" }, { 0 } };

static const ArchStep masked[] = {
    { ARCH_STEP_LINEAR, "vocab_transform" },
    { ARCH_STEP_ACT, "activation" },
    { ARCH_STEP_NORM, "vocab_layer_norm" },
    { ARCH_STEP_DECODE, "vocab_projector" },
    { 0 },
};

static const ArchStep sequence[] = {
    { ARCH_STEP_FIRST, "" },
    { ARCH_STEP_LINEAR, "pre_classifier" },
    { ARCH_STEP_ACT, "", "relu" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

const Arch arch_distilbert = {
    .model_type = "distilbert", .family = "DistilBert", .base = "distilbert.",
    .models = "distilbert-base-uncased-finetuned-sst-2-english, multi-qa-distilbert-cos-v1",
    .modules = modules, .head_modules = { [HEAD_MASKED] = head_modules },
    .key = { [K_HIDDEN] = "dim", [K_LAYERS] = "n_layers", [K_HEADS] = "n_heads",
             [K_INNER] = "hidden_dim" },
    .otherwise = { [K_LAYERS] = 6 },
    .eps_key = "", .eps = 1e-12, .act_key = "activation",
    .types = TYPES_NONE,
    .embeddings = { .words = "embeddings.word_embeddings",
                    .positions = "embeddings.position_embeddings",
                    .norm = "embeddings.LayerNorm" },
    .layer = "transformer.layer.%d",
    .paths = { .q = "attention.q_lin", .k = "attention.k_lin", .v = "attention.v_lin",
               .attend = "attention", .out = "attention.out_lin",
               .sum1 = "", .norm1 = "sa_layer_norm",
               .up = "ffn.lin1", .act = "ffn.activation", .down = "ffn.lin2",
               .sum2 = "", .norm2 = "output_layer_norm" },
    .steps = { [HEAD_MASKED] = masked, [HEAD_SEQUENCE] = sequence,
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer,
               [HEAD_CHOICE] = sequence },
};

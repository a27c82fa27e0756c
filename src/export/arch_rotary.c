/* SPDX-License-Identifier: Apache-2.0
 * arch_rotary.c - encoders with rotary positions and the norm behind: nomic, GTE (once "new"), Jina
 * v3. On disk they keep the names their authors gave them. */
#include "arch_rows.h"

#define MODULES(act)                                                                            \
    { "", "*Model" }, { "embeddings", "*Embeddings" }, { "rotary_emb", "*RotaryEmbedding" },    \
    { "layers.#", "*Layer" }, { "layers.#.self_attn", "*Attention" },                           \
    { "layers.#.mlp", "*MLP" }, { "layers.#.mlp." act, "!" }, { "pooler", "*Pooler" }
static const Module gated_modules[] = { MODULES("act_fn"), { 0 } };
static const Module jina_modules[] = { MODULES("activation_fn"), { 0 } };

#define QKV { "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj" }
static const Rename nomic_names[] = {
    { "encoder.layers", { "layers" } }, { "emb_ln", { "embeddings.LayerNorm" } },
    { "attn.out_proj", { "self_attn.o_proj" } }, { "fc11", { "up_proj" } },
    { "fc12", { "gate_proj" } }, { "fc2", { "down_proj" } },
    { "norm1", { "post_attention_layernorm" } }, { "norm2", { "post_mlp_layernorm" } },
    { "attn.Wqkv", QKV }, { 0 },
};
static const Rename gte_names[] = {
    { "^new.", { "gte." } }, { "encoder.layer", { "layers" } },
    { "attention.o_proj", { "self_attn.o_proj" } }, { "attn_ln", { "post_attention_layernorm" } },
    { "mlp_ln", { "post_mlp_layernorm" } }, { "lm_head.norm", { "lm_head.layer_norm" } },
    { "attention.qkv_proj", QKV }, { "mlp.up_gate_proj", { "mlp.up_proj", "mlp.gate_proj" } },
    { 0 },
};
static const Rename jina_names[] = {
    { "emb_ln", { "embeddings.LayerNorm" } }, { "encoder.layers", { "layers" } },
    { "mixer.out_proj", { "self_attn.o_proj" } }, { "norm1", { "post_attention_layernorm" } },
    { "norm2", { "post_mlp_layernorm" } }, { "mixer.Wqkv", QKV }, { 0 },
};

#define EMBEDDINGS                                                                              \
    { .words = "embeddings.word_embeddings", .types = "embeddings.token_type_embeddings",       \
      .norm = "embeddings.LayerNorm" }
#define ATTENTION                                                                               \
    .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj",                  \
    .attend = "self_attn", .out = "self_attn.o_proj", .sum1 = "",                               \
    .norm1 = "post_attention_layernorm", .sum2 = "", .norm2 = "post_mlp_layernorm"
#define GATED                                                                                   \
    .decide = "mlp.gate_proj", .up = "mlp.up_proj", .gate = "mlp", .act = "mlp.act_fn",         \
    .down = "mlp.down_proj"

static const ArchStep nomic_masked[] = {
    { ARCH_STEP_LINEAR, "cls.predictions.transform.dense" },
    { ARCH_STEP_ACT, "cls.predictions.transform.transform_act_fn" },
    { ARCH_STEP_NORM, "cls.predictions.transform.layer_norm" },
    { ARCH_STEP_DECODE, "cls.predictions.decoder", "cls.predictions" },
    { 0 },
};
static const ArchStep gte_masked[] = {
    { ARCH_STEP_LINEAR, "lm_head.dense" },
    { ARCH_STEP_ACT, "lm_head", "gelu" },
    { ARCH_STEP_NORM, "lm_head.layer_norm" },
    { ARCH_STEP_DECODE, "lm_head.decoder" },
    { 0 },
};

const Arch arch_nomic_bert = {
    .model_type = "nomic_bert", .family = "NomicBert", .base = "nomic_bert.",
    .models = "nomic-embed-text-v1, nomic-embed-text-v1.5",
    .modules = gated_modules, .head_modules = { [HEAD_MASKED] = bert_masked_modules },
    .otherwise = { [K_VOCAB] = 30528, [K_POSITIONS] = 2048 },
    .eps = 1e-12, .act = "silu", .positions = POS_ROTARY, .theta = 1000, .renames = nomic_names,
    .embeddings = EMBEDDINGS, .layer = "layers.%d", .paths = { ATTENTION, GATED },
    .steps = { [HEAD_MASKED] = nomic_masked, [HEAD_SEQUENCE] = bert_sequence,
               [HEAD_TOKEN] = steps_classify_tokens },
};

#define GTE                                                                                     \
    .family = "Gte", .base = "gte.", .modules = gated_modules,                                  \
    .head_modules = { [HEAD_MASKED] = roberta_lm_head },                                        \
    .otherwise = { [K_VOCAB] = 250048, [K_POSITIONS] = 8192, [K_TYPES] = 1, [K_PAD] = 1 },      \
    .eps = 1e-12, .positions = POS_ROTARY, .theta = 160000, .types = TYPES_ZERO,                \
    .renames = gte_names,                                                                       \
    .embeddings = EMBEDDINGS, .layer = "layers.%d", .paths = { ATTENTION, GATED },              \
    .steps = { [HEAD_MASKED] = gte_masked, [HEAD_SEQUENCE] = bert_sequence,                     \
               [HEAD_TOKEN] = steps_classify_tokens }
const Arch arch_gte = {
    .model_type = "gte", GTE,
    .models = "GTE models as transformers 5 saves them",
};
const Arch arch_new = {
    .model_type = "new", GTE,
    .models = "gte-base-en-v1.5, gte-multilingual-base, snowflake-arctic-embed-m-v2.0",
};

const Arch arch_jina_v3 = {
    .model_type = "jina_embeddings_v3", .family = "JinaEmbeddingsV3", .base = "roberta.",
    .models = "jina-embeddings-v3-hf",
    .modules = jina_modules, .head_modules = ROBERTA_HEADS,
    .otherwise = { [K_VOCAB] = 250002, [K_HIDDEN] = 1024, [K_LAYERS] = 24, [K_HEADS] = 16,
                   [K_INNER] = 4096, [K_POSITIONS] = 8194, [K_TYPES] = 1, [K_PAD] = 1 },
    .eps = 1e-5, .positions = POS_ROTARY, .theta = 20000, .types = TYPES_ZERO,
    .renames = jina_names,
    .embeddings = EMBEDDINGS, .layer = "layers.%d",
    .paths = { ATTENTION, .up = "mlp.fc1", .act = "mlp.activation_fn", .down = "mlp.fc2" },
    .steps = { [HEAD_MASKED] = roberta_masked, [HEAD_SEQUENCE] = roberta_sequence,
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer },
};

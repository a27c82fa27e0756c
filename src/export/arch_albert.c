/* SPDX-License-Identifier: Apache-2.0
 * arch_albert.c - ALBERT: a few layers, each run many times; the embedding is projected first. */
#include "arch_rows.h"

#define AT "encoder.albert_layer_groups.#"
static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "encoder", "*Transformer" },
    { AT, "*LayerGroup" },
    { AT ".albert_layers.#", "*Layer" },
    { AT ".albert_layers.#.attention", "*Attention" },
    { AT ".albert_layers.#.activation", "!" },
    { 0 },
};

static const Module head_modules[] = {
    { "predictions", "*MLMHead" }, { "predictions.activation", "!" }, { 0 }
};

static const ArchStep masked[] = {
    { ARCH_STEP_LINEAR, "predictions.dense" },
    { ARCH_STEP_ACT, "predictions.activation" },
    { ARCH_STEP_NORM, "predictions.LayerNorm" },
    { ARCH_STEP_DECODE, "predictions.decoder", "predictions" },
    { 0 },
};

static const ArchStep sequence[] = {
    { ARCH_STEP_FIRST, "@" },
    { ARCH_STEP_LINEAR, "@pooler" },
    { ARCH_STEP_ACT, "@pooler_activation", "tanh" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

typedef struct AlbertGroups {
    int64_t layers, groups, inner; /* num_hidden_layers as config.json has it */
} AlbertGroups;

static bool albert_configure(Encoder *m, const Value *config, Err *err)
{
    AlbertGroups *g = NEW(m->b->arena, AlbertGroups);
    *g = (AlbertGroups){ m->n[K_LAYERS], value_int(value_get(config, "num_hidden_groups"), 1),
                   value_int(value_get(config, "inner_group_num"), 1) };
    if (g->groups < 1 || g->groups > MAX(g->layers, 1) || g->inner < 1 || g->inner > 1000)
        return fail(err, EF_BAD_MODEL, "config.json: found %lld groups of %lld layers",
                    (long long)g->groups, (long long)g->inner);
    m->own = g;
    m->n[K_LAYERS] = g->layers * g->inner;
    return true;
}

/* Run i is layer i mod inner of the group its place belongs to. */
static const char *layer_path(Encoder *m, int i)
{
    const AlbertGroups *g = m->own;
    int64_t group = i / g->inner * g->groups / g->layers;
    return build_path(m->b, "encoder.albert_layer_groups.%d.albert_layers.%d", (int)group,
                      (int)(i % g->inner));
}

const Arch arch_albert = {
    .model_type = "albert", .family = "Albert", .base = "albert.",
    .models = "albert-base-v2, paraphrase-albert-small-v2",
    .modules = modules, .head_modules = { [HEAD_MASKED] = head_modules },
    .otherwise = { [K_VOCAB] = 30000, [K_EMBEDDING] = 128, [K_HIDDEN] = 4096, [K_HEADS] = 64,
                   [K_INNER] = 16384 },
    .eps = 1e-12, .act = "gelu_new",
    .embeddings = { .words = "embeddings.word_embeddings",
                    .positions = "embeddings.position_embeddings",
                    .types = "embeddings.token_type_embeddings",
                    .norm = "embeddings.LayerNorm",
                    .project = "encoder.embedding_hidden_mapping_in" },
    .paths = { .q = "attention.query", .k = "attention.key", .v = "attention.value",
               .attend = "attention", .out = "attention.dense",
               .sum1 = "attention", .norm1 = "attention.LayerNorm",
               .up = "ffn", .act = "activation", .down = "ffn_output",
               .sum2 = "", .norm2 = "full_layer_layer_norm" },
    .steps = { [HEAD_MASKED] = masked, [HEAD_SEQUENCE] = sequence,
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer,
               [HEAD_CHOICE] = sequence },
    .configure = albert_configure, .layer_path = layer_path,
};

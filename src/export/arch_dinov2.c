/* SPDX-License-Identifier: Apache-2.0
 * arch_dinov2.c - DINOv2: ViT with scaled sublayers and positions that follow the picture's size;
 * the large ones gate their feed-forward, and some have registers: tokens that nobody reads. */
#include "arch_rows.h"

#define DINOV2_MODULES(mlp, act)                                                                \
    {                                                                                           \
        { "", "*Model" }, { "embeddings", "*Embeddings" },                                      \
        { "embeddings.patch_embeddings", "*PatchEmbeddings" },                                  \
        { "encoder", "*Encoder" }, { "encoder.layer.#", "*Layer" },                             \
        { "encoder.layer.#.attention", "*Attention" },                                          \
        { "encoder.layer.#.layer_scale1", "*LayerScale" },                                      \
        { "encoder.layer.#.layer_scale2", "*LayerScale" },                                      \
        { "encoder.layer.#.mlp", mlp }, { "encoder.layer.#.mlp." act, "!" }, { 0 },             \
    }
static const Module plain_modules[] = DINOV2_MODULES("*MLP", "activation_fn");
static const Module gated_modules[] = DINOV2_MODULES("*SwiGLUFFN", "act_fn");

static const Rename renames[] = {
    { "attention.attention.query", { "attention.q_proj" } },
    { "attention.attention.key", { "attention.k_proj" } },
    { "attention.attention.value", { "attention.v_proj" } },
    { "attention.output.dense", { "attention.o_proj" } },
    { "mlp.weights_out", { "mlp.down_proj" } },
    { "mlp.weights_in", { "mlp.gate_proj", "mlp.up_proj" } },
    { 0 },
};

#define DINOV2_AROUND                                                                           \
    VIT_ATTENTION, .norm1 = "norm1", .norm2 = "norm2", .scale1 = "layer_scale1.lambda1",        \
    .scale2 = "layer_scale2.lambda1"
static const LayerPaths gated_paths = {
    DINOV2_AROUND, .gate = "mlp", .decide = "mlp.gate_proj", .up = "mlp.up_proj",
    .act = "mlp.act_fn", .down = "mlp.down_proj",
};

static bool dinov2_configure(Encoder *m, const Value *config, Err *err)
{
    double ratio = value_float(value_get(config, "mlp_ratio"), 4);
    if (ratio <= 0 || ratio > 64)
        return fail(err, EF_BAD_MODEL, "config.json: mlp_ratio: found %g, wanted 1 to 64", ratio);
    m->n[K_INNER] = MAX((int64_t)((double)m->n[K_HIDDEN] * ratio), 1);
    if (value_bool(value_get(config, "use_swiglu_ffn"), false)) {
        m->n[K_INNER] = (m->n[K_INNER] * 2 / 3 + 7) / 8 * 8;
        m->act = activation_find(STR("silu"));
        m->paths = &gated_paths;
        m->b->modules = gated_modules;
    }
    return picture_configure(m, config, 224, 14, err);
}

/* The class's token beside the mean of the patches. */
static Str dinov2_pool(Encoder *m, const char *path, Str x, int64_t *width)
{
    const char *registers = m->arch->picture->registers;
    const SafeTensor *t =
        registers ? build_find(m->b, encoder_path(m, "embeddings"), registers) : NULL;
    Str first = picture_token(m, path, x, 0);
    Str rest = picture_rest(m, path, x, t && t->rank == 3 ? 1 + t->dim[1] : 1);
    Str both = NODE(m->b, path, "Concat", first, rest);
    build_attr_int(m->b, "axis", 1);
    *width *= 2;
    return both;
}

static const ArchStep dinov2_pooler[] = { { ARCH_STEP_FIRST, "@" }, { 0 } };
static const ArchStep dinov2_classify[] = {
    { ARCH_STEP_OWN, "" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

#define DINOV2                                                                                  \
    .modules = plain_modules, .renames = renames, .eps = 1e-6, .pre_norm = true,                \
    .layer = BERT_LAYER, .final_norm = "layernorm",                                             \
    .paths = { DINOV2_AROUND, .up = "mlp.fc1", .act = "mlp.activation_fn", .down = "mlp.fc2" }, \
    .steps = { [HEAD_NONE] = dinov2_pooler, [HEAD_IMAGE] = dinov2_classify },                   \
    .configure = dinov2_configure, .write = picture_write, .pool = dinov2_pool

const Arch arch_dinov2 = {
    .model_type = "dinov2", .family = "Dinov2", .base = "dinov2.",
    .models = "dinov2-small, dinov2-base, dinov2-giant, dinov2-base-imagenet1k-1-layer",
    .picture = &(const PictureTokens){ .first = { "cls_token" }, .resized = true },
    DINOV2,
};

const Arch arch_dinov2_registers = {
    .model_type = "dinov2_with_registers", .family = "Dinov2WithRegisters",
    .base = "dinov2_with_registers.",
    .models = "dinov2-with-registers-small, dinov2-with-registers-giant",
    .picture = &(const PictureTokens){ .first = { "cls_token" }, .registers = "register_tokens",
                                       .resized = true, .antialias = true },
    DINOV2,
};

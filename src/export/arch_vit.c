/* SPDX-License-Identifier: Apache-2.0
 * arch_vit.c - ViT: patches of a picture as tokens, layers with the norm before. DeiT is ViT with a
 * second token that learnt from a teacher. */
#include "arch_rows.h"

const Module vit_modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "embeddings.patch_embeddings", "*PatchEmbeddings" },
    { "layers.#", "*Layer" },
    { "layers.#.attention", "*Attention" },
    { "layers.#.mlp", "*MLP" },
    { "layers.#.mlp.activation_fn", "!" },
    { "pooler", "*Pooler" },
    { 0 },
};

const Rename vit_renames[] = { VIT_RENAMES, { 0 } };

const ArchStep picture_classify_first[] = {
    { ARCH_STEP_FIRST, "" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

const ArchStep vit_pooler[] = {
    { ARCH_STEP_FIRST, "@pooler" },
    { ARCH_STEP_LINEAR, "@pooler.dense" },
    { ARCH_STEP_ACT, "@pooler.activation", "tanh" },
    { 0 },
};

/* A pooler is written where the checkpoint has one. */
static bool vit_configure(Encoder *m, const Value *config, Err *err)
{
    Str act = value_str(value_get(config, "pooler_act"), STR("tanh"));
    if (!str_is(act, "tanh"))
        return fail(err, EF_UNSUPPORTED, "config.json: pooler_act: found \"%.*s\", wanted tanh",
                    (int)MIN(act.n, 60), act.p);
    return picture_configure(m, config, 224, 16, err);
}

void vit_write(Encoder *m)
{
    if (m->head == HEAD_NONE && !build_find(m->b, encoder_path(m, "pooler.dense"), "weight"))
        m->steps = NULL;
    picture_write(m);
}

const Arch arch_vit = {
    .model_type = "vit", .family = "ViT", .base = "vit.",
    .models = "vit-base-patch16-224, vit-large-patch16-224-in21k, nsfw_image_detection, dino-vits16",
    VIT_LAYERS,
    .picture = &(const PictureTokens){ .first = { "cls_token" } },
    .steps = { [HEAD_NONE] = vit_pooler, [HEAD_IMAGE] = picture_classify_first },
    .configure = vit_configure, .write = vit_write,
};

/* The mean of what two tokens say: the class's own, and the one that followed a teacher. */
static Str deit_both(Encoder *m, const char *path, Str x, int64_t *width)
{
    static const char *const heads[] = { "cls_classifier", "distillation_classifier" };
    Str logits[2];
    int64_t in = *width;
    for (int i = 0; i < 2; i++) {
        const SafeTensor *w = build_find(m->b, heads[i], "weight");
        *width = w && w->rank == 2 ? w->dim[0] : -1;
        logits[i] = layer_gemm(m->b, heads[i], picture_token(m, path, x, i), *width, in);
    }
    Str sum = NODE(m->b, path, "Add", logits[0], logits[1]);
    return NODE(m->b, path, "Div", sum, build_float(m->b, 2));
}

static const ArchStep deit_teacher[] = { { ARCH_STEP_OWN, "" }, { 0 } };

const Arch arch_deit = {
    .model_type = "deit", .family = "DeiT", .base = "deit.",
    .models = "deit-base-distilled-patch16-224, deit-tiny-patch16-224",
    VIT_LAYERS,
    .picture = &(const PictureTokens){ .first = { "cls_token", "distillation_token" } },
    .steps = { [HEAD_NONE] = vit_pooler, [HEAD_IMAGE] = picture_classify_first,
               [HEAD_TEACHER] = deit_teacher },
    .configure = vit_configure, .write = vit_write, .pool = deit_both,
};

/* SPDX-License-Identifier: Apache-2.0
 * arch_ast.c - AST: a spectrogram as a picture of one channel, patches that overlap, ViT's layers,
 * and two tokens whose mean says what is heard. */
#include "arch_rows.h"

static const Module head_modules[] = { { "classifier", "*MLPHead" }, { 0 } };

static const ArchStep ast_pooled[] = { { ARCH_STEP_OWN, "@" }, { 0 } };
static const ArchStep ast_classify[] = {
    { ARCH_STEP_OWN, "@" },
    { ARCH_STEP_NORM, "classifier.layernorm" },
    { ARCH_STEP_LINEAR, "classifier.dense" },
    { 0 },
};

static bool ast_configure(Encoder *m, const Value *config, Err *err)
{
    PictureInput *p = &m->picture;
    *p = (PictureInput){ .channels = 1, .height = 128, .width = 1024, .patch = { 16, 16 },
                         .step = { 10, 10 } };
    if (!sound_number(config, "num_mel_bins", &p->height, err) ||
        !sound_number(config, "max_length", &p->width, err) ||
        !sound_number(config, "patch_size", &p->patch[0], err) ||
        !sound_number(config, "frequency_stride", &p->step[0], err) ||
        !sound_number(config, "time_stride", &p->step[1], err))
        return false;
    p->patch[1] = p->patch[0];
    if (p->patch[0] <= p->height && p->patch[0] <= p->width) return true;
    return fail(err, EF_BAD_MODEL, "config.json: patch_size: found %lld, wanted at most num_mel_bins "
                "and max_length", (long long)p->patch[0]);
}

static Str ast_mean_of_two(Encoder *m, const char *path, Str x, int64_t *width)
{
    (void)width;
    Str sum = NODE(m->b, path, "Add", picture_token(m, path, x, 0), picture_token(m, path, x, 1));
    return NODE(m->b, path, "Div", sum, build_float(m->b, 2));
}

static void ast_write(Encoder *m)
{
    Builder *b = m->b;
    const PictureInput *p = &m->picture;
    const char *path = encoder_path(m, "embeddings.patch_embeddings");
    build_sound(b, "input_values", 3, (int64_t[]){ DIM_UNKNOWN, p->width, p->height });
    m->pixels = sound_turn(b, path, STR("input_values"));
    m->pixels = NODE(b, path, "Unsqueeze", m->pixels, INTS(b, 1));
    Str x = encoder_layers(m, picture_embed(m));
    int64_t tokens = 2 + picture_patch_count(p, 0) * picture_patch_count(p, 1);
    picture_ends(m, x, 3, (int64_t[]){ DIM_UNKNOWN, tokens, m->n[K_HIDDEN] });
}

const Arch arch_ast = {
    .model_type = "audio-spectrogram-transformer", .family = "AST",
    .base = "audio_spectrogram_transformer.", .models = "ast-finetuned-audioset-10-10-0.4593",
    VIT_LAYERS, .head_modules = { [HEAD_SOUND] = head_modules }, .hears = true,
    .picture = &(const PictureTokens){ .first = { "cls_token", "distillation_token" } },
    .steps = { [HEAD_NONE] = ast_pooled, [HEAD_SOUND] = ast_classify },
    .configure = ast_configure, .write = ast_write, .pool = ast_mean_of_two,
};

/* SPDX-License-Identifier: Apache-2.0
 * arch_convnext.c - ConvNeXt: stages of wide depthwise convolutions, each followed by a feed-forward
 * over the channels. Version 2 has a norm over the responses instead of a learnt scale. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "embeddings.layernorm", "*LayerNorm" },
    { "encoder", "*Encoder" },
    { "encoder.stages.#", "*Stage" },
    { "encoder.stages.#.downsampling_layer.0", "*LayerNorm" },
    { "encoder.stages.#.layers.#", "*Layer" },
    { "encoder.stages.#.layers.#.layernorm", "*LayerNorm" },
    { "encoder.stages.#.layers.#.act", "!" },
    { "encoder.stages.#.layers.#.grn", "*GRN" },
    { 0 },
};

typedef struct ConvnextOwn {
    Stages stages;
    bool scaled, responses; /* layer_scale_parameter; grn */
} ConvnextOwn;

static bool convnext_configure(Encoder *m, const Value *config, Err *err)
{
    ConvnextOwn *own = m->own = NEW(m->b->arena, ConvnextOwn);
    own->stages = (Stages){ 4, { 96, 192, 384, 768 }, { 3, 3, 9, 3 } };
    own->responses = strcmp(m->arch->model_type, "convnextv2") == 0;
    own->scaled = !own->responses &&
                  value_float(value_get(config, "layer_scale_init_value"), 1e-6) > 0;
    if (!picture_configure(m, config, 224, 4, err) ||
        !picture_stages(config, "hidden_sizes", &own->stages, err))
        return false;
    m->picture.height = m->picture.width = DIM_UNKNOWN;
    m->n[K_HIDDEN] = own->stages.width[own->stages.n - 1];
    return true;
}

/* Over the channels of a map. */
static Str convnext_norm(Builder *b, const char *path, Str x, int64_t C)
{
    return picture_first(b, path, layer_norm(b, path, picture_last(b, path, x), C, 1e-6));
}

/* Channels that answer more than the others do, all over the picture, count more. */
static Str convnext_responses(Builder *b, const char *path, Str x, int64_t C)
{
    Str all = layer_reduce(b, path, "ReduceL2", x, (int64_t[]){ 1, 2 }, 2, true);
    Str mean = layer_mean(b, path, all, (int64_t[]){ -1 }, 1, true);
    Str norm = NODE(b, path, "Div", all, NODE(b, path, "Add", mean, build_float(b, 1e-6)));
    int64_t dim[] = { 1, 1, 1, C };
    Str y = NODE(b, path, "Mul", build_weight(b, path, "weight", 4, dim),
                 NODE(b, path, "Mul", x, norm));
    y = NODE(b, path, "Add", y, build_weight(b, path, "bias", 4, dim));
    return NODE(b, path, "Add", y, x);
}

static Str convnext_layer(Encoder *m, const char *path, Str x, int64_t C)
{
    Builder *b = m->b;
    const ConvnextOwn *own = m->own;
    ConvShape wide = { .out = C, .in = C, .kernel = { 7, 7 }, .pad = 3, .groups = C };
    Str y = picture_conv(b, build_path(b, "%s.dwconv", path), x, wide);
    y = picture_last(b, path, y);
    y = layer_norm(b, build_path(b, "%s.layernorm", path), y, C, 1e-6);
    y = layer_linear(b, build_path(b, "%s.pwconv1", path), y, 4 * C, C);
    y = m->act->write(b, build_path(b, "%s.act", path), y);
    if (own->responses) y = convnext_responses(b, build_path(b, "%s.grn", path), y, 4 * C);
    y = layer_linear(b, build_path(b, "%s.pwconv2", path), y, C, 4 * C);
    if (own->scaled)
        y = NODE(b, path, "Mul", build_weight(b, path, "layer_scale_parameter", 1, &C), y);
    return NODE(b, path, "Add", x, picture_first(b, path, y));
}

static Str convnext_stage(Encoder *m, int i, Str x)
{
    Builder *b = m->b;
    const Stages *s = &((const ConvnextOwn *)m->own)->stages;
    const char *path = build_path(b, "%sencoder.stages.%d", b->base, i);
    int64_t C = s->width[i];
    if (i) {
        ConvShape half = { .out = C, .in = s->width[i - 1], .kernel = { 2, 2 }, .stride = { 2, 2 } };
        x = convnext_norm(b, build_path(b, "%s.downsampling_layer.0", path), x, half.in);
        x = picture_conv(b, build_path(b, "%s.downsampling_layer.1", path), x, half);
    }
    for (int k = 0; k < s->depth[i] && build_ok(b); k++)
        x = convnext_layer(m, build_path(b, "%s.layers.%d", path, k), x, C);
    return x;
}

static void convnext_write(Encoder *m)
{
    Builder *b = m->b;
    const Stages *s = &((const ConvnextOwn *)m->own)->stages;
    const PictureInput *p = &m->picture;
    ConvShape stem = { .out = s->width[0], .in = p->channels, .kernel = { p->patch[0], p->patch[1] },
                       .stride = { p->patch[0], p->patch[1] } };
    picture_input(m);
    Str x = picture_conv(b, encoder_path(m, "embeddings.patch_embeddings"), STR("pixel_values"), stem);
    x = convnext_norm(b, encoder_path(m, "embeddings.layernorm"), x, stem.out);
    for (int i = 0; i < s->n && build_ok(b); i++) x = convnext_stage(m, i, x);
    picture_ends(m, x, 4, (int64_t[]){ DIM_UNKNOWN, m->n[K_HIDDEN], DIM_UNKNOWN, DIM_UNKNOWN });
}

static Str convnext_pool(Encoder *m, const char *path, Str x, int64_t *width)
{
    x = layer_mean(m->b, path, x, (int64_t[]){ -2, -1 }, 2, false);
    return layer_norm(m->b, encoder_path(m, "layernorm"), x, *width, m->eps);
}

static const ArchStep convnext_pooler[] = { { ARCH_STEP_OWN, "@" }, { 0 } };
static const ArchStep convnext_classify[] = {
    { ARCH_STEP_OWN, "@" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

#define CONVNEXT                                                                                \
    .modules = modules, .eps = 1e-12,                                                           \
    .steps = { [HEAD_NONE] = convnext_pooler, [HEAD_IMAGE] = convnext_classify },               \
    .configure = convnext_configure, .write = convnext_write, .pool = convnext_pool

const Arch arch_convnext = {
    .model_type = "convnext", .family = "ConvNext", .base = "convnext.",
    .models = "convnext-tiny-224, convnext-base-384",
    CONVNEXT,
};

const Arch arch_convnextv2 = {
    .model_type = "convnextv2", .family = "ConvNextV2", .base = "convnextv2.",
    .models = "convnextv2-tiny-1k-224, convnextv2-base-22k-224",
    CONVNEXT,
};

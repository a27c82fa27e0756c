/* SPDX-License-Identifier: Apache-2.0
 * arch_resnet.c - ResNet: stages of convolutions with batch norms, and a way around every few. */
#include "arch_rows.h"

#define RESNET_MODULES(layer)                                                                   \
    {                                                                                           \
        { "", "*Model" }, { "embedder", "*Embeddings" }, { "embedder.embedder", "*ConvLayer" }, \
        { "embedder.embedder.activation", "!" }, { "encoder", "*Encoder" },                     \
        { "encoder.stages.#", "*Stage" }, { "encoder.stages.#.layers.#", layer },               \
        { "encoder.stages.#.layers.#.shortcut", "*ShortCut" },                                  \
        { "encoder.stages.#.layers.#.layer.#", "*ConvLayer" },                                  \
        { "encoder.stages.#.layers.#.activation", "!" }, { 0 },                                 \
    }
static const Module modules[] = RESNET_MODULES("*BottleNeckLayer");
static const Module basic_modules[] = RESNET_MODULES("*BasicLayer");

bool resnet_configure(Encoder *m, const Value *config, Err *err)
{
    ResNet *own = m->own = NEW(m->b->arena, ResNet);
    Str type = value_str(value_get(config, "layer_type"), STR("bottleneck"));
    int64_t stem[2] = { 64, 64 };
    own->stages = (Stages){ 4, { 256, 512, 1024, 2048 }, { 3, 4, 6, 3 } };
    own->basic = str_is(type, "basic");
    own->early = value_bool(value_get(config, "downsample_in_bottleneck"), false);
    own->first = value_bool(value_get(config, "downsample_in_first_stage"), false);
    if (!own->basic && !str_is(type, "bottleneck"))
        return fail(err, EF_BAD_MODEL, "config.json: layer_type: found \"%.*s\", wanted basic or "
                    "bottleneck", (int)MIN(type.n, 60), type.p);
    if (!picture_configure(m, config, 224, 0, err) ||
        !picture_size(config, "embedding_size", stem, err) ||
        !picture_stages(config, "hidden_sizes", &own->stages, err))
        return false;
    own->stem = stem[0];
    if (own->basic) m->b->modules = basic_modules;
    m->picture.height = m->picture.width = DIM_UNKNOWN;
    m->n[K_HIDDEN] = own->stages.width[own->stages.n - 1];
    return true;
}

/* A convolution and its norm. */
static Str resnet_conv(Builder *b, const char *path, Str x, ConvShape c)
{
    c.pad = c.kernel[0] / 2;
    x = picture_conv(b, build_path(b, "%s.convolution", path), x, c);
    return picture_batch_norm(b, build_path(b, "%s.normalization", path), x, c.out, 1e-5);
}

/* What the layer computes, before the way around is added. */
static Str resnet_inside(const ResNet *own, Builder *b, const char *path, Str x, const int64_t ends[2],
                         int64_t stride)
{
    int64_t in = ends[0], out = ends[1], narrow = own->basic ? out : out / 4;
    int64_t early = own->basic || own->early ? stride : 1, late = own->basic ? 1 : stride / early;
    const ConvShape shape[] = {
        { .out = narrow, .in = in, .kernel = { own->basic ? 3 : 1, own->basic ? 3 : 1 },
          .stride = { early, early } },
        { .out = narrow, .in = narrow, .kernel = { 3, 3 }, .stride = { late, late } },
        { .out = out, .in = narrow, .kernel = { 1, 1 } },
    };
    int n = own->basic ? 2 : 3;
    for (int i = 0; i < n; i++) {
        const char *inside = build_path(b, "%s.layer.%d", path, i);
        x = resnet_conv(b, inside, x, shape[i]);
        if (i + 1 < n) x = NODE(b, build_path(b, "%s.activation", inside), "Relu", x);
    }
    return x;
}

static Str resnet_layer(Encoder *m, const ResNet *own, const char *path, Str x,
                        const int64_t ends[2], int64_t stride)
{
    Builder *b = m->b;
    ConvShape around = { .out = ends[1], .in = ends[0], .kernel = { 1, 1 },
                         .stride = { stride, stride } };
    Str y = resnet_inside(own, b, path, x, ends, stride);
    if (ends[0] != ends[1] || stride != 1)
        x = resnet_conv(b, build_path(b, "%s.shortcut", path), x, around);
    return m->act->write(b, build_path(b, "%s.activation", path), NODE(b, path, "Add", y, x));
}

Str resnet_maps(Encoder *m, const ResNet *own, const char *base)
{
    Builder *b = m->b;
    const char *stem = build_path(b, "%sembedder", base);
    ConvShape first = { .out = own->stem, .in = m->picture.channels, .kernel = { 7, 7 },
                        .stride = { 2, 2 } };
    Str x = resnet_conv(b, build_path(b, "%s.embedder", stem), STR("pixel_values"), first);
    x = m->act->write(b, build_path(b, "%s.embedder.activation", stem), x);
    x = NODE(b, build_path(b, "%s.pooler", stem), "MaxPool", x);
    build_attr_ints(b, "kernel_shape", (int64_t[]){ 3, 3 }, 2);
    build_attr_ints(b, "strides", (int64_t[]){ 2, 2 }, 2);
    build_attr_ints(b, "pads", (int64_t[]){ 1, 1, 1, 1 }, 4);
    int64_t ends[2] = { own->stem };
    for (int i = 0; i < own->stages.n; i++)
        for (int k = 0; k < own->stages.depth[i] && build_ok(b); k++) {
            ends[1] = own->stages.width[i];
            x = resnet_layer(m, own, build_path(b, "%sencoder.stages.%d.layers.%d", base, i, k), x, ends,
                             k == 0 && (i || own->first) ? 2 : 1);
            ends[0] = ends[1];
        }
    return x;
}

/* Without a head the mean keeps the map's rank, as transformers has it. */
static void resnet_write(Encoder *m)
{
    Builder *b = m->b;
    int64_t C = m->n[K_HIDDEN], width = C;
    int rank = 2;
    picture_input(m);
    Str x = resnet_maps(m, m->own, b->base);
    Str pooled = NODE(b, encoder_path(m, "pooler"), "GlobalAveragePool", x);
    if (m->head == HEAD_NONE) {
        build_output(b, x, "last_hidden_state", 4,
                     (int64_t[]){ DIM_UNKNOWN, C, DIM_UNKNOWN, DIM_UNKNOWN });
        build_output(b, pooled, "pooler_output", 4, (int64_t[]){ DIM_UNKNOWN, C, 1, 1 });
        return;
    }
    x = NODE(b, "classifier.0", "Flatten", pooled);
    x = head_steps(m, m->steps, x, &rank, &width);
    build_output(b, x, "logits", 2, (int64_t[]){ DIM_UNKNOWN, width });
}

static const ArchStep resnet_classify[] = { { ARCH_STEP_LINEAR, "classifier.1" }, { 0 } };

const Arch arch_resnet = {
    .model_type = "resnet", .family = "ResNet", .base = "resnet.", .modules = modules,
    .models = "resnet-18, resnet-50, resnet-152", .act = "relu",
    .steps = { [HEAD_IMAGE] = resnet_classify },
    .configure = resnet_configure, .write = resnet_write,
};

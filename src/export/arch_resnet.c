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

static const ResNetNames resnet_names = {
    .stem = { "embedder.embedder.convolution", "embedder.embedder.normalization",
              "embedder.embedder.activation" },
    .pool = "embedder.pooler", .layer = "encoder.stages.%d.layers.%d",
    .inner = { "layer.%d.convolution", "layer.%d.normalization", "layer.%d.activation" },
    .around = { "shortcut.convolution", "shortcut.normalization" }, .act = "activation",
};

bool resnet_read(ResNet *own, const Value *config, Err *err)
{
    Str type = value_str(value_get(config, "layer_type"), STR("bottleneck"));
    int64_t stem[2] = { 64, 64 };
    own->names = &resnet_names;
    own->stages = (Stages){ 4, { 256, 512, 1024, 2048 }, { 3, 4, 6, 3 } };
    own->basic = str_is(type, "basic");
    own->early = value_bool(value_get(config, "downsample_in_bottleneck"), false);
    own->first = value_bool(value_get(config, "downsample_in_first_stage"), false);
    if (!own->basic && !str_is(type, "bottleneck"))
        return fail(err, EF_BAD_MODEL, "config.json: layer_type: found \"%.*s\", wanted basic or "
                    "bottleneck", (int)MIN(type.n, 60), type.p);
    if (!picture_size(config, "embedding_size", stem, err) ||
        !picture_stages(config, "hidden_sizes", &own->stages, err))
        return false;
    own->stem = stem[0];
    return true;
}

static bool resnet_configure(Encoder *m, const Value *config, Err *err)
{
    ResNet *own = m->own = NEW(m->b->arena, ResNet);
    if (!resnet_read(own, config, err) || !picture_configure(m, config, 224, 0, err)) return false;
    own->act = m->act;
    if (own->basic) m->b->modules = basic_modules;
    m->picture.height = m->picture.width = DIM_UNKNOWN;
    m->n[K_HIDDEN] = own->stages.width[own->stages.n - 1];
    return true;
}

/* A convolution and its norm. */
static Str resnet_conv(Builder *b, const char *conv, const char *norm, Str x, ConvShape c)
{
    c.pad = c.kernel[0] / 2 * MAX(c.dilation, 1);
    return picture_batch_norm(b, norm, picture_conv(b, conv, x, c), c.out, 1e-5);
}

static const char *resnet_inner(Builder *b, const char *layer, const char *name, int number)
{
    return build_path(b, "%s.%s", layer, build_path(b, name, number));
}

typedef struct ResNetStep {      /* of one layer */
    const char *path;
    int64_t in, out, stride;
    int64_t dilation[2];         /* of its first and its other convolutions that see neighbours */
} ResNetStep;

/* What the layer computes, before the way around is added. */
static Str resnet_inside(const ResNet *own, Builder *b, const ResNetStep *s, Str x)
{
    int64_t narrow = own->basic ? s->out : s->out / 4;
    int64_t early = own->basic || own->early ? s->stride : 1, late = own->basic ? 1 : s->stride / early;
    int64_t side = own->basic ? 3 : 1;
    const ConvShape shape[] = {
        { .out = narrow, .in = s->in, .kernel = { side, side }, .stride = { early, early },
          .dilation = own->basic ? s->dilation[0] : 1 },
        { .out = narrow, .in = narrow, .kernel = { 3, 3 }, .stride = { late, late },
          .dilation = s->dilation[own->basic] },
        { .out = s->out, .in = narrow, .kernel = { 1, 1 } },
    };
    const ResNetNames *name = own->names;
    int n = own->basic ? 2 : 3;
    for (int i = 0; i < n; i++) {
        int k = i + name->from;
        x = resnet_conv(b, resnet_inner(b, s->path, name->inner[0], k),
                        resnet_inner(b, s->path, name->inner[1], k), x, shape[i]);
        if (i + 1 < n) x = NODE(b, resnet_inner(b, s->path, name->inner[2], k), "Relu", x);
    }
    return x;
}

static Str resnet_layer(Encoder *m, const ResNet *own, const ResNetStep *s, Str x)
{
    Builder *b = m->b;
    const ResNetNames *name = own->names;
    ConvShape around = { .out = s->out, .in = s->in, .kernel = { 1, 1 },
                         .stride = { s->stride, s->stride } };
    Str y = resnet_inside(own, b, s, x);
    if (s->in != s->out || s->stride != 1)
        x = resnet_conv(b, build_path(b, "%s.%s", s->path, name->around[0]),
                        build_path(b, "%s.%s", s->path, name->around[1]), x, around);
    const char *act = name->act ? name->act : build_path(b, name->inner[2], own->basic ? 2 : 3);
    return own->act->write(b, build_path(b, "%s.%s", s->path, act), NODE(b, s->path, "Add", y, x));
}

static Str resnet_stem(Encoder *m, const ResNet *own, const char *base)
{
    Builder *b = m->b;
    const ResNetNames *name = own->names;
    ConvShape first = { .out = own->stem, .in = m->picture.channels, .kernel = { 7, 7 },
                        .stride = { 2, 2 } };
    Str x = resnet_conv(b, build_path(b, "%s%s", base, name->stem[0]),
                        build_path(b, "%s%s", base, name->stem[1]), STR("pixel_values"), first);
    x = own->act->write(b, build_path(b, "%s%s", base, name->stem[2]), x);
    x = NODE(b, build_path(b, "%s%s", base, name->pool), "MaxPool", x);
    build_attr_ints(b, "kernel_shape", (int64_t[]){ 3, 3 }, 2);
    build_attr_ints(b, "strides", (int64_t[]){ 2, 2 }, 2);
    build_attr_ints(b, "pads", (int64_t[]){ 1, 1, 1, 1 }, 4);
    return x;
}

/* Where the last stage keeps the size of the one before, its later layers look at every second
 * neighbour instead. */
Str resnet_maps(Encoder *m, const ResNet *own, const char *base, Str *stage)
{
    Builder *b = m->b;
    Str x = resnet_stem(m, own, base);
    ResNetStep s = { .in = own->stem, .dilation = { 1, 1 } };
    for (int i = 0; i < own->stages.n; i++) {
        bool wide = own->dilated && i + 1 == own->stages.n;
        if (wide) s.dilation[1] = 2;
        for (int k = 0; k < own->stages.depth[i] && build_ok(b); k++) {
            const char *layer = build_path(b, own->names->layer, i + own->names->from, k);
            s.path = build_path(b, "%s%s", base, layer);
            s.out = own->stages.width[i];
            s.stride = k == 0 && !wide && (i || own->first) ? 2 : 1;
            x = resnet_layer(m, own, &s, x);
            s.in = s.out, s.dilation[0] = s.dilation[1];
        }
        if (stage) stage[i] = x;
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
    Str x = resnet_maps(m, m->own, b->base, NULL);
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

/* SPDX-License-Identifier: Apache-2.0
 * arch_mobilenet_v2.c - MobileNet v2: narrow maps that every layer widens, filters channel by channel
 * and narrows again, with TensorFlow's padding. */
#include <math.h>

#include "arch_rows.h"

enum { MOBILENET_LAYERS = 16 };

static const Module modules[] = {
    { "", "*Model" },
    { "conv_stem", "*Stem" },
    { "conv_stem.first_conv", "*ConvLayer" },
    { "conv_stem.expand_1x1", "*ConvLayer" },
    { "conv_stem.conv_3x3", "*ConvLayer" },
    { "conv_stem.reduce_1x1", "*ConvLayer" },
    { "layer.#", "*InvertedResidual" },
    { "layer.#.expand_1x1", "*ConvLayer" },
    { "layer.#.conv_3x3", "*ConvLayer" },
    { "layer.#.reduce_1x1", "*ConvLayer" },
    { "conv_1x1", "*ConvLayer" },
    { 0 },
};

typedef struct MobilenetOwn {
    double wider, expand;   /* depth_multiplier, expand_ratio */
    int64_t multiple, least; /* depth_divisible_by, min_depth */
    bool same;              /* tf_padding */
    bool plain;             /* first_layer_is_expansion */
    bool whole;             /* finegrained_output */
} MobilenetOwn;

static bool mobilenet_configure(Encoder *m, const Value *config, Err *err)
{
    MobilenetOwn *own = m->own = NEW(m->b->arena, MobilenetOwn);
    int64_t multiple[2] = { 8, 8 }, least[2] = { 8, 8 }, reach[2] = { 32, 32 };
    own->wider = value_float(value_get(config, "depth_multiplier"), 1);
    own->expand = value_float(value_get(config, "expand_ratio"), 6);
    own->same = value_bool(value_get(config, "tf_padding"), true);
    own->plain = value_bool(value_get(config, "first_layer_is_expansion"), true);
    own->whole = value_bool(value_get(config, "finegrained_output"), true);
    if (!(own->wider > 0 && own->wider <= 64 && own->expand > 0 && own->expand <= 64))
        return fail(err, EF_BAD_MODEL, "config.json: depth_multiplier, expand_ratio: found %g and %g, "
                    "wanted up to 64", own->wider, own->expand);
    if (!picture_configure(m, config, 224, 0, err) ||
        !picture_size(config, "depth_divisible_by", multiple, err) ||
        !picture_size(config, "min_depth", least, err) ||
        !picture_size(config, "output_stride", reach, err))
        return false;
    if (reach[0] != 32)
        return fail(err, EF_UNSUPPORTED, "config.json: output_stride: found %lld, wanted 32",
                    (long long)reach[0]);
    own->multiple = multiple[0], own->least = least[0];
    m->picture.height = m->picture.width = DIM_UNKNOWN;
    return true;
}

/* Channels: a multiple, not much less than asked for. */
static int64_t mobilenet_width(const MobilenetOwn *own, double wanted)
{
    double value = nearbyint(wanted);
    int64_t n = (int64_t)(value + (double)own->multiple / 2) / own->multiple * own->multiple;
    n = MAX(n, own->least);
    return (double)n < 0.9 * value ? n + own->multiple : n;
}

/* TensorFlow's padding follows from the picture's size: more of it at the end. */
static Str mobilenet_conv(Encoder *m, const char *path, Str x, ConvShape c, bool acts)
{
    Builder *b = m->b;
    const MobilenetOwn *own = m->own;
    const char *inside = build_path(b, "%s.convolution", path);
    c.stride[1] = c.stride[0], c.pad = c.kernel[0] / 2, c.same = own->same;
    x = picture_conv(b, inside, x, c);
    x = picture_batch_norm(b, build_path(b, "%s.normalization", path), x, c.out, m->eps);
    return acts ? m->act->write(b, build_path(b, "%s.activation", path), x) : x;
}

/* Depthwise, then narrow: the end of the stem and of every layer. */
static Str mobilenet_narrow(Encoder *m, const char *path, Str x, int64_t wide, int64_t out,
                            int64_t stride)
{
    ConvShape each = { .out = wide, .in = wide, .kernel = { 3, 3 }, .stride = { stride },
                       .groups = wide };
    ConvShape narrow = { .out = out, .in = wide, .kernel = { 1, 1 } };
    x = mobilenet_conv(m, build_path(m->b, "%s.conv_3x3", path), x, each, true);
    return mobilenet_conv(m, build_path(m->b, "%s.reduce_1x1", path), x, narrow, false);
}

static Str mobilenet_stem(Encoder *m, int64_t out)
{
    const MobilenetOwn *own = m->own;
    int64_t wide = mobilenet_width(own, 32 * own->wider);
    const char *path = encoder_path(m, "conv_stem");
    ConvShape first = { .out = wide, .in = m->picture.channels, .kernel = { 3, 3 }, .stride = { 2 } };
    ConvShape more = { .out = wide, .in = wide, .kernel = { 1, 1 } };
    Str x = mobilenet_conv(m, build_path(m->b, "%s.first_conv", path), STR("pixel_values"), first, true);
    if (!own->plain) x = mobilenet_conv(m, build_path(m->b, "%s.expand_1x1", path), x, more, true);
    return mobilenet_narrow(m, path, x, wide, out, 1);
}

static Str mobilenet_layer(Encoder *m, int i, Str x, int64_t in, int64_t out, int64_t stride)
{
    const MobilenetOwn *own = m->own;
    const char *path = encoder_path(m, build_path(m->b, "layer.%d", i));
    int64_t wide = mobilenet_width(own, (double)in * own->expand);
    ConvShape c = { .out = wide, .in = in, .kernel = { 1, 1 } };
    Str y = mobilenet_conv(m, build_path(m->b, "%s.expand_1x1", path), x, c, true);
    y = mobilenet_narrow(m, path, y, wide, out, stride);
    return stride == 1 && in == out ? NODE(m->b, path, "Add", x, y) : y;
}

static void mobilenet_write(Encoder *m)
{
    static const int widths[MOBILENET_LAYERS + 1] = { 16, 24, 24, 32, 32, 32, 64, 64, 64,
                                                      64, 96, 96, 96, 160, 160, 160, 320 };
    static const int strides[MOBILENET_LAYERS] = { 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1 };
    const MobilenetOwn *own = m->own;
    int64_t in = mobilenet_width(own, widths[0] * own->wider), out;
    picture_input(m);
    Str x = mobilenet_stem(m, in);
    for (int i = 0; i < MOBILENET_LAYERS; i++, in = out) {
        out = mobilenet_width(own, widths[i + 1] * own->wider);
        x = mobilenet_layer(m, i, x, in, out, strides[i]);
    }
    bool full = own->whole && own->wider < 1;
    ConvShape last = { .out = full ? 1280 : mobilenet_width(own, 1280 * own->wider), .in = in,
                       .kernel = { 1, 1 } };
    x = mobilenet_conv(m, encoder_path(m, "conv_1x1"), x, last, true);
    m->n[K_HIDDEN] = last.out;
    picture_ends(m, x, 4, (int64_t[]){ DIM_UNKNOWN, last.out, DIM_UNKNOWN, DIM_UNKNOWN });
}

static Str mobilenet_pool(Encoder *m, const char *path, Str x, int64_t *width)
{
    (void)width;
    return layer_mean(m->b, path, x, (int64_t[]){ 2, 3 }, 2, false);
}

static const ArchStep mobilenet_pooler[] = { { ARCH_STEP_OWN, "@" }, { 0 } };
static const ArchStep mobilenet_classify[] = {
    { ARCH_STEP_OWN, "@" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

const Arch arch_mobilenet_v2 = {
    .model_type = "mobilenet_v2", .family = "MobileNetV2", .base = "mobilenet_v2.",
    .modules = modules, .models = "mobilenet_v2_1.0_224, mobilenet_v2_0.35_96",
    .eps = 1e-3, .act = "relu6",
    .steps = { [HEAD_NONE] = mobilenet_pooler, [HEAD_IMAGE] = mobilenet_classify },
    .configure = mobilenet_configure, .write = mobilenet_write, .pool = mobilenet_pool,
};

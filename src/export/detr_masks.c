/* SPDX-License-Identifier: Apache-2.0
 * detr_masks.c - DETR's masks: where each query looks, over the maps of the backbone from the smallest
 * to the largest. Easy to get wrong: the softmax of the attention runs over all heads at once.
 * transformers copies the maps for every query; here what does not depend on the query is computed once
 * for a picture and added to all of them. */
#include "detr.h"

#include <math.h>

enum { MASK_STAGES = 3, MOST_GROUPS = 8 };

const Module detr_mask_modules[] = {
    { "detr.bbox_predictor", "*MLPPredictionHead" },
    { "bbox_attention", "*MHAttentionMap" },
    { "mask_head", "*MaskHeadSmallConv" },
    { "mask_head.conv#", "*ConvBlock" },
    { "mask_head.conv#.activation", "!" },
    { "mask_head.fpn_stages.#", "*FPNFusionStage" },
    { "mask_head.fpn_stages.#.refine", "*ConvBlock" },
    { "mask_head.fpn_stages.#.refine.activation", "!" },
    { 0 },
};

/* [B * queries, heads, h, w]: where each query looks */
static Str masks_attention(Encoder *m, const DetrOwn *own, Str tokens)
{
    Builder *b = m->b;
    const char *path = "bbox_attention";
    int64_t C = m->n[K_HIDDEN], H = m->n[K_HEADS];
    Str q = layer_split(m, path, layer_linear(b, "bbox_attention.q_proj", tokens, C, C), perm_tokens);
    Str k = layer_split(m, path, layer_linear(b, "bbox_attention.k_proj", own->memory, C, C), perm_columns);
    q = NODE(b, path, "Mul", q, build_float(b, 1 / sqrt((double)C / (double)H)));
    Str scores = NODE(b, path, "Transpose", NODE(b, path, "MatMul", q, k));
    build_attr_ints(b, "perm", perm_tokens, 4);
    scores = NODE(b, path, "Reshape", NODE(b, path, "Add", scores, m->mask), INTS(b, 0, 0, -1));
    Str share = NODE(b, path, "Softmax", scores);
    build_attr_int(b, "axis", -1);
    Str shape = NODE(b, path, "Concat", INTS(b, -1, H), own->height, own->width);
    build_attr_int(b, "axis", 0);
    return NODE(b, path, "Reshape", share, shape);
}

static Str masks_size(Builder *b, const char *path, Str x)
{
    return NODE(b, path, "Gather", NODE(b, path, "Shape", x), INTS(b, 2, 3));
}

/* x [B * queries, C, h, w] and what all queries of a picture share, [B, C, h, w] */
static Str masks_add_shared(Builder *b, const char *path, const DetrOwn *own, Str x, Str shared, int64_t C)
{
    Str size = masks_size(b, path, shared);
    Str apart = NODE(b, path, "Concat", INTS(b, -1, own->queries, C), size);
    build_attr_int(b, "axis", 0);
    Str together = NODE(b, path, "Concat", INTS(b, -1, C), size);
    build_attr_int(b, "axis", 0);
    Str sum = NODE(b, path, "Add", NODE(b, path, "Unsqueeze", shared, INTS(b, 1)),
                   NODE(b, path, "Reshape", x, apart));
    return NODE(b, path, "Reshape", sum, together);
}

/* Groups of channels, each to mean 0 and deviation 1. */
static Str masks_norm(Builder *b, const char *path, Str x, int64_t C)
{
    int64_t groups = MIN(C, (int64_t)MOST_GROUPS);
    Str y = NODE(b, path, "Reshape", x, INTS(b, 0, groups, -1));
    y = NODE(b, path, "InstanceNormalization", y, build_repeated(b, 1, groups), build_repeated(b, 0, groups));
    build_attr_float(b, "epsilon", 1e-5f);
    y = NODE(b, path, "Reshape", y, NODE(b, path, "Shape", x));
    Str scale = build_weight(b, path, "weight", 1, &C), shift = build_weight(b, path, "bias", 1, &C);
    y = NODE(b, path, "Mul", y, NODE(b, path, "Unsqueeze", scale, INTS(b, 1, 2)));
    return NODE(b, path, "Add", y, NODE(b, path, "Unsqueeze", shift, INTS(b, 1, 2)));
}

static Str masks_norm_act(Encoder *m, const char *path, Str x, int64_t C)
{
    Builder *b = m->b;
    x = masks_norm(b, build_path(b, "%s.norm", path), x, C);
    return m->act->write(b, build_path(b, "%s.activation", path), x);
}

static Str masks_block(Encoder *m, const char *path, Str x, int64_t in, int64_t out)
{
    ConvShape c = { .out = out, .in = in, .kernel = { 3, 3 }, .pad = 1 };
    x = picture_conv(m->b, build_path(m->b, "%s.conv", path), x, c);
    return masks_norm_act(m, path, x, out);
}

/* A convolution with some of a weight's input channels. */
static Str masks_part(Builder *b, const char *path, Str x, Str weight, const int64_t ends[2], Str bias)
{
    Str part = NODE(b, path, "Slice", weight, INTS(b, ends[0]), INTS(b, ends[1]), INTS(b, 1));
    Str y = build_node(b, path, "Conv", (Str[]){ x, part, bias }, bias.n ? 3 : 2);
    build_attr_ints(b, "kernel_shape", (int64_t[]){ 3, 3 }, 2);
    build_attr_ints(b, "pads", (int64_t[]){ 1, 1, 1, 1 }, 4);
    return y;
}

/* The first block sees the map and the attention side by side: the map's part once for all queries. */
static Str masks_first(Encoder *m, const DetrOwn *own, Str attention)
{
    Builder *b = m->b;
    const char *path = "mask_head.conv1.conv";
    int64_t C = m->n[K_HIDDEN], in = C + m->n[K_HEADS];
    Str w = build_weight(b, path, "weight", 4, (int64_t[]){ in, in, 3, 3 });
    Str bias = build_weight(b, path, "bias", 1, &in);
    Str shared = masks_part(b, path, own->projected, w, (int64_t[]){ 0, C }, bias);
    Str each = masks_part(b, path, attention, w, (int64_t[]){ C, in }, STR(""));
    return masks_norm_act(m, "mask_head.conv1", masks_add_shared(b, path, own, each, shared, in), in);
}

/* Grown to the next larger map of the backbone, which is added. */
static Str masks_stage(Encoder *m, const DetrOwn *own, int stage, Str x, int64_t width)
{
    Builder *b = m->b;
    const char *path = build_path(b, "mask_head.fpn_stages.%d", stage);
    int map = MASK_STAGES - 1 - stage;
    ConvShape c = { .out = width, .in = own->resnet.stages.width[map], .kernel = { 1, 1 } };
    Str shared = picture_conv(b, build_path(b, "%s.fpn_adapter", path), own->stage[map], c);
    for (int axis = 2; axis < 4; axis++) {
        Str edge = NODE(b, path, "Gather", NODE(b, path, "Shape", shared), INTS(b, axis));
        x = detr_nearest(b, path, x, axis, edge);
    }
    x = masks_add_shared(b, path, own, x, shared, width);
    return masks_block(m, build_path(b, "%s.refine", path), x, width, width / 2);
}

void detr_masks(Encoder *m, const DetrOwn *own, Str tokens)
{
    Builder *b = m->b;
    int64_t width = m->n[K_HIDDEN] / 2, in = m->n[K_HIDDEN] + m->n[K_HEADS];
    if (own->resnet.stages.n != MASK_STAGES + 1 || m->n[K_HIDDEN] % 16)
        build_fail(b, EF_UNSUPPORTED, "masks: found a backbone of %d stages and a d_model of %lld, "
                   "wanted 4 stages and a multiple of 16", own->resnet.stages.n, (long long)m->n[K_HIDDEN]);
    Str x = masks_first(m, own, masks_attention(m, own, tokens));
    x = masks_block(m, "mask_head.conv2", x, in, width);
    for (int i = 0; i < MASK_STAGES && build_ok(b); i++, width /= 2) x = masks_stage(m, own, i, x, width);
    ConvShape last = { .out = 1, .in = width, .kernel = { 3, 3 }, .pad = 1 };
    x = picture_conv(b, "mask_head.output_conv", x, last);
    Str shape = NODE(b, "", "Concat", INTS(b, -1, own->queries), masks_size(b, "", x));
    build_attr_int(b, "axis", 0);
    build_output(b, NODE(b, "", "Reshape", x, shape), "pred_masks", 4,
                 (int64_t[]){ DIM_UNKNOWN, own->queries, DIM_UNKNOWN, DIM_UNKNOWN });
}

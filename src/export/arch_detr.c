/* SPDX-License-Identifier: Apache-2.0
 * arch_detr.c - DETR: the last map of a ResNet as tokens, an encoder whose queries and keys know where
 * in the picture they stand, and a decoder whose tokens, one for each object that may be there, look at
 * them. Easy to get wrong: positions are added to queries and keys, never to values; pixel_mask goes to
 * the map's size as torch's nearest does it. */
#include "detr.h"

#include <math.h>

#define DETR_NORM "*FrozenBatchNorm2d"
static const Module modules[] = {
    { "", "*Model" },
    { "backbone", "*ConvEncoder" },
    { "backbone.model", "ResNetBackbone" },
    { "backbone.model.embedder", "ResNetEmbeddings" },
    { "backbone.model.embedder.embedder", "ResNetConvLayer" },
    { "backbone.model.embedder.embedder.normalization", DETR_NORM },
    { "backbone.model.encoder", "ResNetEncoder" },
    { "backbone.model.encoder.stages.#", "ResNetStage" },
    { "backbone.model.encoder.stages.#.layers.#", "ResNetBottleNeckLayer" },
    { "backbone.model.encoder.stages.#.layers.#.shortcut", "ResNetShortCut" },
    { "backbone.model.encoder.stages.#.layers.#.shortcut.normalization", DETR_NORM },
    { "backbone.model.encoder.stages.#.layers.#.layer.#", "ResNetConvLayer" },
    { "backbone.model.encoder.stages.#.layers.#.layer.#.normalization", DETR_NORM },
    { "backbone.model.bn1", DETR_NORM },
    { "backbone.model.layer#.#", "Bottleneck" },
    { "backbone.model.layer#.#.bn#", DETR_NORM },
    { "backbone.model.layer#.#.downsample.1", DETR_NORM },
    { "position_embedding", "*SinePositionEmbedding" },
    { "encoder", "*Encoder" },
    { "encoder.layers.#", "*EncoderLayer" },
    { "encoder.layers.#.self_attn", "*SelfAttention" },
    { "encoder.layers.#.mlp", "*MLP" },
    { "encoder.layers.#.mlp.activation_fn", "!" },
    { "decoder", "*Decoder" },
    { "decoder.layers.#", "*DecoderLayer" },
    { "decoder.layers.#.self_attn", "*SelfAttention" },
    { "decoder.layers.#.encoder_attn", "*CrossAttention" },
    { "decoder.layers.#.mlp", "*MLP" },
    { "decoder.layers.#.mlp.activation_fn", "!" },
    { 0 },
};
/* What stands before them, where the model is of another kind. */
static const Module learned_module = { "position_embedding", "*LearnedPositionEmbedding" },
    basic_module = { "backbone.model.encoder.stages.#.layers.#", "ResNetBasicLayer" },
    timm_module = { "backbone.model", "FeatureListNet" },
    timm_basic_module = { "backbone.model.layer#.#", "BasicBlock" },
    inner_module = { "", NULL }; /* panoptic models call the parts, not the model */
static const Module detect_modules[] = { { "bbox_predictor", "*MLPPredictionHead" }, { 0 } };

/* The names of files that transformers 4 and 5 write, which their classes of today have no more. */
static const Rename renames[] = {
    { "backbone.conv_encoder.", { "backbone." } },
    { "backbone.position_embedding.", { "position_embedding." } },
    { ".out_proj.", { ".o_proj." } },
    { ".fc1.", { ".mlp.fc1." } },
    { ".fc2.", { ".mlp.fc2." } },
    DETR_MASK_RENAMES,
    { 0 },
};

static const ResNetNames timm_names = {
    .stem = { "conv1", "bn1", "act1" }, .pool = "maxpool", .layer = "layer%d.%d",
    .inner = { "conv%d", "bn%d", "act%d" }, .around = { "downsample.0", "downsample.1" }, .from = 1,
};

/* ---- config.json ---- */
static bool detr_wrong_backbone(Str found, Err *err)
{
    return fail(err, EF_UNSUPPORTED, "config.json: backbone: found \"%.*s\", wanted resnet, or a "
                "resnet of timm (resnet18, resnet34, resnet50, resnet101 or resnet152)",
                (int)MIN(found.n, 60), found.p);
}

/* "resnet50": others of timm (resnet50d, resnext50) have other layers. */
static bool detr_check_timm(Str name, Err *err)
{
    bool plain = str_starts(name, "resnet") && name.n > 6;
    for (size_t i = 6; plain && i < name.n; i++) plain = name.p[i] >= '0' && name.p[i] <= '9';
    return plain || detr_wrong_backbone(name, err);
}

/* A ResNet of transformers has its numbers in backbone_config; timm's have a name alone. */
static bool detr_backbone(DetrOwn *own, const Value *config, Err *err)
{
    const Value *inner = value_get(config, "backbone_config");
    const Value none = value_null();
    if (!inner || inner->kind != V_MAP) inner = &none;
    Str type = value_str(value_get(inner, "model_type"), STR("resnet"));
    Str act = value_str(value_get(inner, "hidden_act"), STR("relu"));
    Str name = value_str(value_get(inner, "backbone"), value_str(value_get(config, "backbone"), STR("resnet50")));
    own->resnet.act = activation_find(STR("relu"));
    own->dilated = value_bool(value_get(config, "dilation"), false) ||
                   value_int(value_get(inner, "output_stride"), 32) == 16;
    if (str_is(type, "timm_backbone")) return detr_check_timm(name, err);
    if (!str_is(type, "resnet")) return detr_wrong_backbone(type, err);
    if (!str_is(act, "relu"))
        return fail(err, EF_UNSUPPORTED, "config.json: backbone_config: hidden_act: found \"%.*s\", "
                    "wanted relu", (int)MIN(act.n, 60), act.p);
    return detr_check_timm(name, err) && resnet_read(&own->resnet, inner, err);
}

static bool detr_decoder(DetrOwn *own, const Value *config, int64_t C, Err *err)
{
    static const char *const keys[] = { "decoder_layers", "decoder_attention_heads",
                                        "decoder_ffn_dim", "num_queries" };
    int64_t *const to[] = { &own->layers, &own->heads, &own->inner, &own->queries };
    static const int64_t otherwise[] = { 6, 8, 2048, 100 };
    for (size_t i = 0; i < COUNT(keys); i++) {
        int64_t n[2] = { otherwise[i] };
        if (!picture_size(config, keys[i], n, err)) return false;
        *to[i] = n[0];
    }
    if (C % own->heads == 0 && C % 4 == 0) return true;
    return fail(err, EF_BAD_MODEL, "config.json: a d_model of %lld does not divide into 4 and %lld heads",
                (long long)C, (long long)own->heads);
}

static bool detr_configure(Encoder *m, const Value *config, Err *err)
{
    DetrOwn *own = m->own = NEW(m->b->arena, DetrOwn);
    Str places = value_str(value_get(config, "position_embedding_type"), STR("sine"));
    own->learned = str_is(places, "learned");
    own->normed = value_bool(value_get(config, "auxiliary_loss"), false);
    if (!own->learned && !str_is(places, "sine"))
        return fail(err, EF_UNSUPPORTED, "config.json: position_embedding_type: found \"%.*s\", "
                    "wanted sine or learned", (int)MIN(places.n, 60), places.p);
    if (m->head == HEAD_PANOPTIC) m->b->base = m->b->prefix = "detr.model.";
    m->picture.height = m->picture.width = DIM_UNKNOWN;
    int64_t channels[2] = { 3 };
    if (!picture_size(config, "num_channels", channels, err)) return false;
    m->picture.channels = channels[0];
    return detr_backbone(own, config, err) && detr_decoder(own, config, m->n[K_HIDDEN], err);
}

/* ---- the backbone ---- */
/* The sizes of timm's, which stand in the checkpoint alone. */
static void detr_measure_timm(Encoder *m, ResNet *r, const char *base)
{
    Builder *b = m->b;
    const SafeTensor *w = build_find(b, build_path(b, "%sconv1", base), "weight");
    r->names = &timm_names;
    r->basic = !build_find(b, build_path(b, "%slayer1.0.conv3", base), "weight");
    r->early = r->first = false;
    r->stem = w->rank ? w->dim[0] : 0;
    r->stages = (Stages){ .n = 4 };
    for (int i = 0; i < r->stages.n; i++) {
        const char *last = build_path(b, "%slayer%d.0.conv%d", base, i + 1, r->basic ? 2 : 3);
        w = build_find(b, last, "weight");
        r->stages.width[i] = w && w->rank ? w->dim[0] : 0;
        if (!w) build_fail(b, EF_BAD_MODEL, "%s.weight: not in the checkpoint", last);
        while (build_find(b, build_path(b, "%slayer%d.%lld.conv1", base, i + 1,
                                        (long long)r->stages.depth[i]), "weight"))
            r->stages.depth[i]++;
    }
}

/* The module rows of this model: those that differ first. */
static void detr_modules(Encoder *m, const DetrOwn *own, bool timm)
{
    Builder *b = m->b;
    enum { DIFFERENT = 4 };
    Module *rows = ARRAY(b->arena, Module, COUNT(modules) + DIFFERENT);
    size_t n = 0;
    if (own->learned) rows[n++] = learned_module;
    if (timm) rows[n++] = timm_module;
    if (own->resnet.basic) rows[n++] = timm ? timm_basic_module : basic_module;
    if (m->head == HEAD_PANOPTIC) rows[n++] = inner_module;
    memcpy(rows + n, modules, sizeof modules);
    b->modules = rows;
}

/* The last map; those of all stages go to own->stage. */
static Str detr_maps(Encoder *m, DetrOwn *own)
{
    const char *base = encoder_path(m, "backbone.model.");
    const char *stem = build_path(m->b, "%sconv1", base);
    bool timm = build_find(m->b, stem, "weight") != NULL;
    if (timm) {
        detr_measure_timm(m, &own->resnet, base);
        own->resnet.dilated = own->dilated;
    }
    detr_modules(m, own, timm);
    return resnet_maps(m, &own->resnet, base, own->stage);
}

/* ---- where the tokens stand ---- */
static Str detr_edge(Builder *b, const char *path, Str x, int64_t axis)
{
    return NODE(b, path, "Gather", NODE(b, path, "Shape", x), INTS(b, axis));
}

static Str detr_cast(Builder *b, const char *path, Str x, DType type)
{
    Str y = NODE(b, path, "Cast", x);
    build_attr_int(b, "to", type);
    return y;
}

/* 0, 1, ... below n, which is [1] */
static Str detr_range(Builder *b, const char *path, Str n)
{
    return NODE(b, path, "Range", build_int(b, 0), NODE(b, path, "Squeeze", n, INTS(b, 0)), build_int(b, 1));
}

/* Resize's own way rounds the ratio of the edges otherwise than torch's. */
Str detr_nearest(Builder *b, const char *path, Str x, int64_t axis, Str size)
{
    Str from = detr_cast(b, path, detr_edge(b, path, x, axis), T_F32);
    Str ratio = NODE(b, path, "Div", from, detr_cast(b, path, size, T_F32));
    Str at = NODE(b, path, "Mul", detr_cast(b, path, detr_range(b, path, size), T_F32), ratio);
    Str y = NODE(b, path, "Gather", x, detr_cast(b, path, at, T_I64));
    build_attr_int(b, "axis", axis);
    return y;
}

/* [B, h, w, C / 2] along one axis: sines and cosines in turns, of the place in the live part. */
static Str detr_waves(Encoder *m, const char *path, Str live, int64_t axis)
{
    Builder *b = m->b;
    int64_t half = m->n[K_HIDDEN] / 2, n = half / 2;
    float *speed = ARRAY(b->arena, float, n);
    for (int64_t i = 0; i < n; i++) speed[i] = powf(10000, (float)(2 * i) / (float)half);
    Str at = NODE(b, path, "CumSum", live, build_int(b, axis));
    Str last = NODE(b, path, "Slice", at, INTS(b, -1), INTS(b, INT64_MAX), INTS(b, axis));
    at = NODE(b, path, "Div", at, NODE(b, path, "Add", last, build_float(b, 1e-6)));
    at = NODE(b, path, "Mul", at, build_float(b, 6.283185307179586));
    at = NODE(b, path, "Div", NODE(b, path, "Unsqueeze", at, INTS(b, 3)),
              build_floats(b, "detr.speed", speed, 1, n));
    Str both = NODE(b, path, "Concat", NODE(b, path, "Unsqueeze", NODE(b, path, "Sin", at), INTS(b, 4)),
                    NODE(b, path, "Unsqueeze", NODE(b, path, "Cos", at), INTS(b, 4)));
    build_attr_int(b, "axis", 4);
    return NODE(b, path, "Reshape", both, INTS(b, 0, 0, 0, half));
}

/* [h, w, C / 2]: a row of a table for each column or row of the map. */
static Str detr_learned(Encoder *m, const char *path, const char *table, Str size, Str map, int64_t axis)
{
    Builder *b = m->b;
    Str rows = build_table(b, build_path(b, "%s.%s", path, table), 50, m->n[K_HIDDEN] / 2);
    Str y = NODE(b, path, "Gather", rows, detr_range(b, path, size));
    Str shape = NODE(b, path, "Concat", map, INTS(b, m->n[K_HIDDEN] / 2));
    build_attr_int(b, "axis", 0);
    return NODE(b, path, "Expand", NODE(b, path, "Unsqueeze", y, INTS(b, axis)), shape);
}

/* [B, h * w, C] */
static Str detr_places(Encoder *m, const DetrOwn *own, Str seen)
{
    Builder *b = m->b;
    const char *path = encoder_path(m, "position_embedding");
    Str part[2];
    if (own->learned) {
        Str map = NODE(b, path, "Concat", own->height, own->width);
        build_attr_int(b, "axis", 0);
        part[0] = detr_learned(m, path, "column_embeddings", own->width, map, 0);
        part[1] = detr_learned(m, path, "row_embeddings", own->height, map, 1);
    } else {
        Str live = detr_cast(b, path, seen, T_F32);
        part[0] = detr_waves(m, path, live, 1);
        part[1] = detr_waves(m, path, live, 2);
    }
    Str all = build_node(b, path, "Concat", part, 2);
    build_attr_int(b, "axis", -1);
    return NODE(b, path, "Reshape", all, INTS(b, own->learned ? 1 : 0, -1, m->n[K_HIDDEN]));
}

/* ---- layers ---- */
/* Before the projection behind it. */
static Str detr_attention(Encoder *m, const char *path, Str query, Str key, Str value, Str mask)
{
    Builder *b = m->b;
    int64_t C = m->n[K_HIDDEN];
    Str q = layer_linear(b, build_path(b, "%s.q_proj", path), query, C, C);
    Str k = layer_linear(b, build_path(b, "%s.k_proj", path), key, C, C);
    Str v = layer_linear(b, build_path(b, "%s.v_proj", path), value, C, C);
    return encoder_attend(m, path, layer_split(m, path, q, perm_tokens),
                          layer_split(m, path, k, perm_columns), layer_split(m, path, v, perm_tokens), mask);
}

static Str detr_attend(Encoder *m, int layer, const char *path, Str x)
{
    (void)layer;
    const DetrOwn *own = m->own;
    const char *at = build_path(m->b, "%s.self_attn", path);
    Str placed = NODE(m->b, at, "Add", x, own->places);
    return detr_attention(m, at, placed, placed, x, m->mask);
}

/* norm(x + projected), the end of every part of a layer */
static Str detr_join(Encoder *m, const char *layer, const char *norm, Str x, Str y)
{
    Str sum = NODE(m->b, layer, "Add", x, y);
    return encoder_norm(m, build_path(m->b, "%s.%s", layer, norm), sum, m->n[K_HIDDEN]);
}

static Str detr_decode_layer(Encoder *m, const char *path, Str x, Str queries, Str memory)
{
    Builder *b = m->b;
    const DetrOwn *own = m->own;
    int64_t C = m->n[K_HIDDEN];
    const char *self = build_path(b, "%s.self_attn", path), *cross = build_path(b, "%s.encoder_attn", path);
    Str placed = NODE(b, self, "Add", x, queries);
    Str y = detr_attention(m, self, placed, placed, x, STR(""));
    y = layer_linear(b, build_path(b, "%s.o_proj", self), y, C, C);
    x = detr_join(m, path, "self_attn_layer_norm", x, y);
    y = detr_attention(m, cross, NODE(b, cross, "Add", x, queries),
                       NODE(b, cross, "Add", memory, own->places), memory, m->mask);
    y = layer_linear(b, build_path(b, "%s.o_proj", cross), y, C, C);
    x = detr_join(m, path, "encoder_attn_layer_norm", x, y);
    return detr_join(m, path, "final_layer_norm", x, encoder_feed_forward(m, path, x));
}

/* The queries begin as zeros: what they ask is in their positions. */
static Str detr_decode(Encoder *m, const DetrOwn *own, Str memory)
{
    Builder *b = m->b;
    const char *top = encoder_path(m, ""), *norm = encoder_path(m, "decoder.layernorm");
    int64_t encoder_heads = m->n[K_HEADS];
    Str table = build_table(b, encoder_path(m, "query_position_embeddings"), own->queries, m->n[K_HIDDEN]);
    Str queries = picture_spread(m, top, NODE(b, top, "Unsqueeze", table, INTS(b, 0)), own->queries);
    Str x = NODE(b, top, "ConstantOfShape", NODE(b, top, "Shape", queries));
    m->n[K_HEADS] = own->heads, m->n[K_INNER] = own->inner;
    for (int i = 0; i < own->layers && build_ok(b); i++) {
        x = detr_decode_layer(m, encoder_path(m, build_path(b, "decoder.layers.%d", i)), x, queries, memory);
        if (own->normed) x = encoder_norm(m, norm, x, m->n[K_HIDDEN]);
    }
    m->n[K_HEADS] = encoder_heads;
    return encoder_norm(m, norm, x, m->n[K_HIDDEN]);
}

/* pixel_mask at the map's size, as bool, and as what the attentions add */
static Str detr_seen(Encoder *m, DetrOwn *own, Str map)
{
    Builder *b = m->b;
    const char *path = encoder_path(m, "backbone"), *inside = encoder_path(m, "encoder");
    own->height = detr_edge(b, path, map, 2), own->width = detr_edge(b, path, map, 3);
    Str mask = detr_nearest(b, path, STR("pixel_mask"), 1, own->height);
    Str seen = detr_cast(b, path, detr_nearest(b, path, mask, 2, own->width), T_BOOL);
    Str flat = NODE(b, inside, "Reshape", seen, INTS(b, 0, 1, 1, -1));
    m->mask = encoder_mask(m, inside, flat);
    return seen;
}

static void detr_write(Encoder *m)
{
    Builder *b = m->b;
    DetrOwn *own = m->own;
    int64_t C = m->n[K_HIDDEN], Q = own->queries, four, dim[] = { DIM_UNKNOWN, Q, C };
    picture_input(m);
    build_picture_mask(b, "pixel_mask");
    Str map = detr_maps(m, own);
    Str seen = detr_seen(m, own, map);
    own->places = detr_places(m, own, seen);
    ConvShape narrow = { .out = C, .in = own->resnet.stages.width[own->resnet.stages.n - 1], .kernel = { 1, 1 } };
    own->projected = picture_conv(b, encoder_path(m, "input_projection"), map, narrow);
    own->memory = encoder_layers(m, picture_to_tokens(b, encoder_path(m, ""), own->projected, C));
    Str x = detr_decode(m, own, own->memory);
    if (m->head == HEAD_NONE) return build_output(b, x, "last_hidden_state", 3, dim);
    const char *above = m->head == HEAD_PANOPTIC ? "detr." : "";
    const char *classes = build_path(b, "%sclass_labels_classifier", above);
    const SafeTensor *w = build_find(b, classes, "weight");
    dim[2] = w && w->rank == 2 ? w->dim[0] : -1;
    Str logits = layer_linear(b, classes, x, dim[2], C);
    build_output(b, logits, "logits", 3, dim);
    if (m->head == HEAD_PANOPTIC) return detr_masks(m, own, x);
    Str boxes = NODE(b, "", "Sigmoid", picture_predict(m, "bbox_predictor", x, &four));
    build_output(b, boxes, "pred_boxes", 3, (int64_t[]){ DIM_UNKNOWN, Q, four });
}

static const ArchStep detr_ends[] = { { 0 } }; /* detr_write */

const Arch arch_detr = {
    .model_type = "detr", .family = "Detr", .base = "model.", .modules = modules,
    .models = "detr-resnet-50, detr-resnet-101-dc5, detr-resnet-50-panoptic",
    .head_modules = { [HEAD_DETECT] = detect_modules, [HEAD_PANOPTIC] = detr_mask_modules },
    .renames = renames, .places_own = true,
    .key = { [K_HIDDEN] = "d_model", [K_LAYERS] = "encoder_layers",
             [K_HEADS] = "encoder_attention_heads", [K_INNER] = "encoder_ffn_dim" },
    .otherwise = { [K_HIDDEN] = 256, [K_LAYERS] = 6, [K_HEADS] = 8, [K_INNER] = 2048 },
    .eps_key = "", .eps = 1e-5, .act_key = "activation_function", .act = "relu",
    .layer = "encoder.layers.%d",
    .paths = { .attend = "self_attn", .out = "self_attn.o_proj", .sum1 = "", .sum2 = "",
               .norm1 = "self_attn_layer_norm", .norm2 = "final_layer_norm",
               .up = "mlp.fc1", .act = "mlp.activation_fn", .down = "mlp.fc2" },
    .steps = { [HEAD_DETECT] = detr_ends, [HEAD_PANOPTIC] = detr_ends },
    .configure = detr_configure, .write = detr_write, .attend = detr_attend,
};

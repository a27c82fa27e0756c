/* SPDX-License-Identifier: Apache-2.0
 * arch_yolos.c - YOLOS: ViT with tokens behind the patches, each of which becomes an object, and
 * positions that are added before every layer. All of them follow the picture's size. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "embeddings.patch_embeddings", "*PatchEmbeddings" },
    { "embeddings.interpolation", "InterpolateInitialPositionEmbeddings" },
    { "encoder", "*Encoder" },
    { "encoder.interpolation", "InterpolateMidPositionEmbeddings" },
    { "encoder.layer.#", "*Layer" },
    { "encoder.layer.#.attention", "*Attention" },
    { "encoder.layer.#.attention.attention", "*SelfAttention" },
    { "encoder.layer.#.attention.output", "*SelfOutput" },
    { "encoder.layer.#.intermediate", "*Intermediate" },
    { "encoder.layer.#.intermediate.intermediate_act_fn", "!" },
    { "encoder.layer.#.output", "*Output" },
    { "pooler", "*Pooler" },
    { 0 },
};
static const Module detect_modules[] = {
    { "class_labels_classifier", "*MLPPredictionHead" },
    { "bbox_predictor", "*MLPPredictionHead" },
    { 0 },
};

static const Rename renames[] = {
    { "encoder.mid_position_embeddings", { "encoder.interpolation.mid_position_embeddings" } },
    { 0 },
};

typedef struct YolosOwn {
    int64_t objects;        /* num_detection_tokens */
    bool between;           /* use_mid_position_embeddings */
    Str places;             /* [layers - 1, tokens, C] */
} YolosOwn;

static bool yolos_configure(Encoder *m, const Value *config, Err *err)
{
    YolosOwn *own = m->own = NEW(m->b->arena, YolosOwn);
    int64_t objects[2] = { 100, 100 };
    const Value *size = value_get(config, "image_size");
    if (!picture_configure(m, config, 512, 16, err) ||
        !picture_size(config, "num_detection_tokens", objects, err))
        return false;
    if (!size || size->kind == V_NULL) m->picture.width = 864;
    own->objects = objects[0];
    own->between = value_bool(value_get(config, "use_mid_position_embeddings"), true);
    return true;
}

/* The positions of all layers but the first, resized at once. */
static Str yolos_places(Encoder *m, const YolosOwn *own)
{
    Builder *b = m->b;
    const PictureInput *p = &m->picture;
    const char *path = encoder_path(m, "encoder.interpolation");
    int64_t N = 1 + p->height / p->patch[0] * (p->width / p->patch[1]) + own->objects;
    int64_t n = m->n[K_LAYERS] - 1, dim[] = { n, 1, N, m->n[K_HIDDEN] };
    Str x = build_weight(b, path, "mid_position_embeddings", 4, dim);
    x = NODE(b, path, "Reshape", x, INTS(b, n, N, dim[3]));
    return picture_resized(m, path, x, n, 1, own->objects);
}

static Str yolos_begin(Encoder *m, int layer, const char *path, Str x)
{
    (void)path;
    YolosOwn *own = m->own;
    if (!own->between || layer == 0) return x;
    const char *inside = encoder_path(m, "encoder");
    if (layer == 1) own->places = yolos_places(m, own);
    return NODE(m->b, inside, "Add", x,
                NODE(m->b, inside, "Gather", own->places, build_int(m->b, layer - 1)));
}

static void yolos_write(Encoder *m)
{
    Builder *b = m->b;
    const YolosOwn *own = m->own;
    PictureInput *p = &m->picture, known = *p;
    int64_t labels, four;
    if (m->head != HEAD_DETECT) return vit_write(m);
    p->height = p->width = DIM_UNKNOWN;
    picture_input(m);
    *p = known;
    Str x = encoder_layers(m, picture_embed(m));
    x = NODE(b, "", "Slice", x, INTS(b, -own->objects), INTS(b, INT64_MAX), INTS(b, 1));
    Str logits = picture_predict(m, "class_labels_classifier", x, &labels);
    Str boxes = NODE(b, "", "Sigmoid", picture_predict(m, "bbox_predictor", x, &four));
    build_output(b, logits, "logits", 3, (int64_t[]){ DIM_UNKNOWN, own->objects, labels });
    build_output(b, boxes, "pred_boxes", 3, (int64_t[]){ DIM_UNKNOWN, own->objects, four });
}

static const ArchStep yolos_detect[] = { { 0 } }; /* yolos_write */

const Arch arch_yolos = {
    .model_type = "yolos", .family = "Yolos", .base = "vit.", .modules = modules,
    .models = "yolos-tiny, yolos-small, yolos-fashionpedia",
    .head_modules = { [HEAD_DETECT] = detect_modules }, .renames = renames,
    .eps = 1e-12, .pre_norm = true, .layer = BERT_LAYER, .final_norm = "layernorm",
    .paths = { .q = "attention.attention.query", .k = "attention.attention.key",
               .v = "attention.attention.value", .attend = "attention.attention",
               .out = "attention.output.dense", .sum1 = "", .sum2 = "output",
               .norm1 = "layernorm_before", .norm2 = "layernorm_after", .up = "intermediate.dense",
               .act = "intermediate.intermediate_act_fn", .down = "output.dense" },
    .picture = &(const PictureTokens){ .first = { "cls_token" }, .last = "detection_tokens",
                                       .resized = true, .resizes = "interpolation" },
    .steps = { [HEAD_NONE] = vit_pooler, [HEAD_DETECT] = yolos_detect },
    .configure = yolos_configure, .write = yolos_write, .begin = yolos_begin,
};

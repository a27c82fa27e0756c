/* SPDX-License-Identifier: Apache-2.0
 * arch_layoutlmv3.c - LayoutLMv3: RoBERTa over the words of a page, where each stands, and the patches of
 * the page's picture behind them. Scores have a bias by how far two tokens are apart: in the row, from left
 * to right and from top to bottom of the page.
 *
 * Easy to get wrong: patches count their places from 0 again, in a page of 1000 x 1000; the way down is
 * between lower edges; logits of token labels end with the words, those of answers with the patches. */
#include <math.h>

#include "arch_rows.h"

enum { PAGE = 1000, FEW_LABELS = 10, MOST_BINS = 1 << 12, MOST_DISTANCE = 1 << 16 };

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*TextEmbeddings" },
    { "patch_embed", "*PatchEmbeddings" },
    { "encoder", "*Encoder" },
    { "encoder.layer.#", "*Layer" },
    { "encoder.layer.#.attention", "*Attention" },
    { "encoder.layer.#.attention.self", "*SelfAttention" },
    { "encoder.layer.#.attention.output", "*SelfOutput" },
    { "encoder.layer.#.intermediate", "*Intermediate" },
    { "encoder.layer.#.intermediate.intermediate_act_fn", "!" },
    { "encoder.layer.#.output", "*Output" },
    { 0 },
};
static const Module answer_modules[] = { { "qa_outputs", "*ClassificationHead" }, { 0 } };

typedef struct Distance {   /* buckets of a distance, half of them for each direction */
    int64_t bins, most;
} Distance;
typedef struct LayoutV3 {
    BoxTables boxes;
    int64_t grid;           /* patches of a side; 0: without the picture */
    bool by_row, by_page;   /* has_relative_attention_bias, has_spatial_attention_bias */
    Distance row, page;
} LayoutV3;

/* ---- heads ---- */
#define LAYOUTV3_HEAD(path)                                                                      \
    { ARCH_STEP_LINEAR, path ".dense" }, { ARCH_STEP_ACT, path, "tanh" }, { ARCH_STEP_LINEAR, path ".out_proj" }, { 0 }
static const ArchStep many_labels[] = { LAYOUTV3_HEAD("classifier") };
static const ArchStep layoutv3_sequence[] = { { ARCH_STEP_FIRST, "" }, LAYOUTV3_HEAD("classifier") };
static const ArchStep layoutv3_answer[] = { LAYOUTV3_HEAD("qa_outputs") };

/* Labels of words: of ten labels and more, by two linears. */
static void layoutv3_tokens(Encoder *m, Str hidden)
{
    Builder *b = m->b;
    if (build_find(b, "classifier.dense", "weight")) m->steps = many_labels, b->head_modules = roberta_classifier;
    head_write(m, NODE(b, "", "Slice", hidden, INTS(b, 0), encoder_length(m), INTS(b, 1)));
}

static void layoutv3_all(Encoder *m, Str hidden)
{
    const LayoutV3 *own = m->own;
    head_write(m, hidden);
    OnnxGraph *g = &m->b->graph;
    for (int i = 0; own->grid && m->head != HEAD_SEQUENCE && i < g->n_out; i++)
        g->out[i].dim[1] = DIM_UNKNOWN, g->out[i].symbol[1] = STR("words_and_patches");
}

/* ---- config.json ---- */
static bool layoutv3_number(const Value *config, const char *key, int64_t otherwise, int64_t most,
                            int64_t *out, Err *err)
{
    const Value *v = value_get(config, key);
    *out = value_int(v, otherwise);
    if (*out >= 1 && *out <= most) return true;
    return fail(err, EF_BAD_MODEL, "config.json: %s: found %lld, wanted 1 to %lld", key, (long long)*out,
                (long long)most);
}

static bool layoutv3_distance(const Value *config, const char *const keys[2], Distance otherwise, Distance *d,
                              Err *err)
{
    if (!layoutv3_number(config, keys[0], otherwise.bins, MOST_BINS, &d->bins, err) ||
        !layoutv3_number(config, keys[1], otherwise.most, MOST_DISTANCE, &d->most, err))
        return false;
    if (d->bins >= 4 && d->most > d->bins / 4) return true;
    return fail(err, EF_BAD_MODEL, "config.json: %s: found %lld for distances up to %lld, wanted 4 or more "
                "and fewer than four for each", keys[0], (long long)d->bins, (long long)d->most);
}

static bool layoutv3_picture(Encoder *m, LayoutV3 *own, const Value *config, Err *err)
{
    PictureInput *p = &m->picture;
    int64_t size[2] = { 224, 224 }, channels[2] = { 3, 3 };
    p->patch[0] = p->patch[1] = 16;
    if (!value_bool(value_get(config, "visual_embed"), true)) return true;
    if (!picture_size(config, "input_size", size, err) || !picture_size(config, "patch_size", p->patch, err) ||
        !picture_size(config, "num_channels", channels, err))
        return false;
    p->channels = channels[0], p->height = size[0], p->width = size[1];
    own->grid = size[0] / p->patch[0];
    if (own->grid && size[0] == size[1] && p->patch[0] == p->patch[1]) return true;
    return fail(err, EF_UNSUPPORTED, "config.json: input_size: found %lld x %lld, wanted a square of square "
                "patches", (long long)size[0], (long long)size[1]);
}

static bool layoutv3_configure(Encoder *m, const Value *config, Err *err)
{
    static const char *const row[] = { "rel_pos_bins", "max_rel_pos" },
                      *const page[] = { "rel_2d_pos_bins", "max_rel_2d_pos" };
    LayoutV3 *own = m->own = NEW(m->b->arena, LayoutV3);
    own->by_row = value_bool(value_get(config, "has_relative_attention_bias"), true);
    own->by_page = value_bool(value_get(config, "has_spatial_attention_bias"), true) && own->by_row;
    own->boxes.clipped = true;
    m->finish = m->head == HEAD_TOKEN ? layoutv3_tokens : layoutv3_all;
    if (!value_bool(value_get(config, "text_embed"), true))
        return fail(err, EF_UNSUPPORTED, "config.json: text_embed: found false, wanted true");
    if (!layoutv3_number(config, "max_2d_position_embeddings", 1024, 1 << 24, &own->boxes.places, err) ||
        !layoutv3_number(config, "coordinate_size", 128, 1 << 16, &own->boxes.sides, err) ||
        !layoutv3_number(config, "shape_size", 128, 1 << 16, &own->boxes.sizes, err) ||
        !layoutv3_distance(config, row, (Distance){ 32, 128 }, &own->row, err) ||
        !layoutv3_distance(config, page, (Distance){ 64, 256 }, &own->page, err))
        return false;
    if (4 * own->boxes.sides + 2 * own->boxes.sizes == m->n[K_HIDDEN]) return layoutv3_picture(m, own, config, err);
    return fail(err, EF_BAD_MODEL, "config.json: coordinate_size: four of %lld and two of %lld are not "
                "hidden_size, %lld", (long long)own->boxes.sides, (long long)own->boxes.sizes,
                (long long)m->n[K_HIDDEN]);
}

/* ---- words and patches ---- */
static Str layoutv3_embed(Encoder *m, const char *inside, Str x, int64_t width)
{
    (void)width;
    const LayoutV3 *own = m->own;
    return NODE(m->b, inside, "Add", x, layout_boxes(m, inside, &own->boxes));
}

static Str layoutv3_join(Builder *b, const char *path, Str words, Str patches)
{
    Str y = NODE(b, path, "Concat", words, patches);
    build_attr_int(b, "axis", 1);
    return y;
}

/* n of a picture, for all of them */
static Str layoutv3_spread(Builder *b, const char *path, Str row, int64_t n)
{
    Str rows = NODE(b, path, "Gather", NODE(b, path, "Shape", STR("input_ids")), INTS(b, 0));
    Str shape = NODE(b, path, "Concat", rows, INTS(b, n));
    build_attr_int(b, "axis", 0);
    return NODE(b, path, "Expand", row, shape);
}

static int64_t layoutv3_patches(const LayoutV3 *own)
{
    return own->grid ? own->grid * own->grid + 1 : 0;
}

/* The patches behind the words; all of them are seen. */
static Str layoutv3_see(Encoder *m, const char *inside, Str words)
{
    (void)inside;
    Builder *b = m->b;
    const LayoutV3 *own = m->own;
    int64_t n = layoutv3_patches(own), C = m->n[K_HIDDEN];
    const char *top = encoder_path(m, "");
    if (!own->grid) return words;
    picture_input(m);
    Str first = picture_parameter(m, top, "cls_token");
    Str x = layoutv3_join(b, top, first, picture_patches(m, encoder_path(m, "patch_embed.proj")));
    x = NODE(b, top, "Add", x, build_weight(b, top, "pos_embed", 3, (int64_t[]){ 1, n, C }));
    x = layer_norm(b, encoder_path(m, "norm"), x, C, 1e-6);
    m->attended = layoutv3_join(b, top, m->attended, layoutv3_spread(b, top, INTS(b, 1), n));
    return layer_norm(b, encoder_path(m, "LayerNorm"), layoutv3_join(b, top, words, x), C, m->eps);
}

/* ---- how far tokens are apart ---- */
/* As transformers, in floats: exact up to a quarter of the buckets, then by logarithms. */
static int64_t layoutv3_bucket(const Distance *d, int64_t distance)
{
    int64_t half = d->bins / 2, exact = half / 2, n = distance < 0 ? -distance : distance;
    int64_t side = distance > 0 ? half : 0;
    if (n < exact) return side + n;
    float share = logf((float)n / (float)exact) / (float)log((double)d->most / (double)exact);
    return side + MIN(exact + (int64_t)(share * (float)(half - exact)), half - 1);
}

/* [H, B, S, S] of places [B, S]; from `most` on all distances are one. */
static Str layoutv3_bias(Encoder *m, const char *name, const Distance *d, Str places)
{
    Builder *b = m->b;
    const char *path = encoder_path(m, "encoder"), *table = build_path(b, "%s.%s", path, name);
    int64_t *bucket = ARRAY(b->arena, int64_t, 2 * d->most + 1);
    for (int64_t i = -d->most; i <= d->most; i++) bucket[i + d->most] = layoutv3_bucket(d, i);
    Str w = build_weight(b, table, "weight", 2, (int64_t[]){ m->n[K_HEADS], d->bins });
    Str by_distance = NODE(b, path, "Gather", w,
                           build_indices(b, build_path(b, "%s.buckets", name), bucket, (size_t)(2 * d->most + 1)));
    build_attr_int(b, "axis", 1);
    Str apart = NODE(b, path, "Sub", NODE(b, path, "Unsqueeze", places, INTS(b, -2)),
                     NODE(b, path, "Unsqueeze", places, INTS(b, -1)));
    apart = NODE(b, path, "Clip", apart, build_int(b, -d->most), build_int(b, d->most));
    Str y = NODE(b, path, "Gather", by_distance, NODE(b, path, "Add", apart, build_int(b, d->most)));
    build_attr_int(b, "axis", 1);
    return y;
}

/* [1, S]: words and then patches, each from 0 on */
static Str layoutv3_row_places(Encoder *m, const LayoutV3 *own)
{
    Builder *b = m->b;
    const char *top = encoder_path(m, "");
    int64_t n = layoutv3_patches(own), *place = ARRAY(b->arena, int64_t, n + 1);
    Str words = NODE(b, top, "Unsqueeze", rotary_places(m, top), INTS(b, 0));
    for (int64_t i = 0; i < n; i++) place[i] = i;
    if (!n) return words;
    Str patches = build_indices(b, "patch.places", place, (size_t)n);
    return layoutv3_join(b, top, words, NODE(b, top, "Unsqueeze", patches, INTS(b, 0)));
}

/* [B, S]: left (side 0) or lower (3) edges; the first patch stands for the whole page. */
static Str layoutv3_page_places(Encoder *m, const LayoutV3 *own, int side)
{
    Builder *b = m->b;
    const char *top = encoder_path(m, "");
    int64_t g = own->grid, n = layoutv3_patches(own), *place = ARRAY(b->arena, int64_t, n + 1);
    Str words = NODE(b, top, "Gather", STR("bbox"), build_int(b, side));
    build_attr_int(b, "axis", 2);
    if (!n) return words;
    place[0] = side ? PAGE - 1 : 1;
    for (int64_t i = 0; i < g * g; i++) place[i + 1] = (side ? i / g + 1 : i % g) * PAGE / g;
    Str patches = build_indices(b, side ? "patch.lower" : "patch.left", place, (size_t)n);
    return layoutv3_join(b, top, words, layoutv3_spread(b, top, patches, n));
}

/* What all layers add to their scores: the mask, and the biases by the size of a head. */
static void layoutv3_prepare(Encoder *m, Str hidden)
{
    (void)hidden;
    Builder *b = m->b;
    const LayoutV3 *own = m->own;
    const char *path = encoder_path(m, "encoder");
    if (!own->by_row) return;
    Str bias = layoutv3_bias(m, "rel_pos_bias", &own->row, layoutv3_row_places(m, own));
    if (own->by_page) {
        Str x = layoutv3_bias(m, "rel_pos_x_bias", &own->page, layoutv3_page_places(m, own, 0));
        Str y = layoutv3_bias(m, "rel_pos_y_bias", &own->page, layoutv3_page_places(m, own, 3));
        bias = NODE(b, path, "Add", bias, NODE(b, path, "Add", x, y));
    }
    bias = NODE(b, path, "Transpose", bias);
    build_attr_ints(b, "perm", (int64_t[]){ 1, 0, 2, 3 }, 4);
    double D = (double)(m->n[K_HIDDEN] / m->n[K_HEADS]);
    m->mask = NODE(b, path, "Add", NODE(b, path, "Mul", bias, build_float(b, 1 / sqrt(D))), m->mask);
}

const Arch arch_layoutlmv3 = {
    .model_type = "layoutlmv3", .family = "LayoutLMv3", .base = "layoutlmv3.", .modules = modules,
    .models = "layoutlmv3-base, layoutlmv3-large (with the page's picture)",
    .head_modules = { [HEAD_SEQUENCE] = roberta_classifier, [HEAD_ANSWER] = answer_modules },
    .otherwise = { [K_VOCAB] = 50265, [K_PAD] = 1 },
    .eps = 1e-5, .positions = POS_PADDED, .types = TYPES_ZERO, .boxes = true,
    .embeddings = BERT_EMBEDDINGS, .layer = BERT_LAYER, .paths = BERT_PATHS,
    .steps = { [HEAD_SEQUENCE] = layoutv3_sequence, [HEAD_TOKEN] = steps_classify_tokens,
               [HEAD_ANSWER] = layoutv3_answer },
    .configure = layoutv3_configure, .embed = layoutv3_embed, .embedded = layoutv3_see,
    .prepare = layoutv3_prepare,
};

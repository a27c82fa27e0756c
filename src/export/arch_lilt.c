/* SPDX-License-Identifier: Apache-2.0
 * arch_lilt.c - LiLT: RoBERTa beside a narrower stream that sees where on the page the words
 * stand. Each stream has its own layers; both use the sum of their attention scores. */
#include <math.h>

#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*TextEmbeddings" },
    { "layout_embeddings", "*LayoutEmbeddings" },
    { "encoder", "*Encoder" },
    { "encoder.layer.#", "*Layer" },
    { "encoder.layer.#.attention", "*Attention" },
    { "encoder.layer.#.attention.self", "*SelfAttention" },
    { "encoder.layer.#.attention.output", "*SelfOutput" },
    { "encoder.layer.#.attention.layout_output", "*SelfOutput" },
    { "encoder.layer.#.intermediate", "*Intermediate" },
    { "encoder.layer.#.intermediate.intermediate_act_fn", "!" },
    { "encoder.layer.#.output", "*Output" },
    { "encoder.layer.#.layout_intermediate", "*Intermediate" },
    { "encoder.layer.#.layout_intermediate.intermediate_act_fn", "!" },
    { "encoder.layer.#.layout_output", "*Output" },
    { 0 },
};

typedef struct LiltOwn {
    int64_t places;         /* rows of the tables of coordinates */
    int64_t shrink;         /* the layout stream is this much narrower */
    Str layout;             /* its hidden states, [B, S, C / shrink] */
} LiltOwn;

static bool lilt_configure(Encoder *m, const Value *config, Err *err)
{
    LiltOwn *own = m->own = NEW(m->b->arena, LiltOwn);
    int64_t C = m->n[K_HIDDEN];
    own->places = value_int(value_get(config, "max_2d_position_embeddings"), 1024);
    own->shrink = value_int(value_get(config, "channel_shrink_ratio"), 4);
    if (own->places < 1 || own->places > 1 << 24)
        return fail(err, EF_BAD_MODEL, "config.json: max_2d_position_embeddings: found %lld",
                    (long long)own->places);
    bool fits = own->shrink > 0 && C % 6 == 0 && C / m->n[K_HEADS] % own->shrink == 0 &&
                m->n[K_INNER] % own->shrink == 0;
    return fits || fail(err, EF_BAD_MODEL, "config.json: channel_shrink_ratio: %lld does not "
                        "divide the sizes, or hidden_size is no multiple of 6",
                        (long long)own->shrink);
}

static Str layout_rows(Encoder *m, const char *inside, const char *table, const BoxTables *t, Str at)
{
    const char *path = build_path(m->b, "%s.%s_position_embeddings", inside, table);
    bool side = *table == 'x' || *table == 'y';
    return NODE(m->b, path, "Gather", build_table(m->b, path, t->places, side ? t->sides : t->sizes), at);
}

static Str layout_size(Builder *b, const char *inside, const BoxTables *t, Str from, Str to)
{
    enum { MOST = 1023 };
    Str size = NODE(b, inside, "Sub", to, from);
    return t->clipped ? NODE(b, inside, "Clip", size, build_int(b, 0), build_int(b, MOST)) : size;
}

Str layout_boxes(Encoder *m, const char *inside, const BoxTables *t)
{
    Builder *b = m->b;
    Str at[4], part[6];
    for (int i = 0; i < 4; i++) {
        at[i] = NODE(b, inside, "Gather", STR("bbox"), build_int(b, i));
        build_attr_int(b, "axis", 2);
        part[i] = layout_rows(m, inside, i % 2 ? "y" : "x", t, at[i]);
    }
    part[4] = layout_rows(m, inside, "h", t, layout_size(b, inside, t, at[1], at[3]));
    part[5] = layout_rows(m, inside, "w", t, layout_size(b, inside, t, at[0], at[2]));
    Str all = build_node(b, inside, "Concat", part, 6);
    build_attr_int(b, "axis", -1);
    return all;
}

static void lilt_prepare(Encoder *m, Str hidden)
{
    (void)hidden;
    Builder *b = m->b;
    LiltOwn *own = m->own;
    int64_t C = m->n[K_HIDDEN], narrow = C / own->shrink;
    const char *inside = encoder_path(m, "layout_embeddings");
    const char *table = build_path(b, "%s.box_position_embeddings", inside);
    const BoxTables boxes = { own->places, C / 6, C / 6, false };
    Str x = layer_linear(b, build_path(b, "%s.box_linear_embeddings", inside),
                         layout_boxes(m, inside, &boxes), narrow, C);
    Str w = build_table(b, table, m->n[K_POSITIONS], narrow);
    x = NODE(b, inside, "Add", x, NODE(b, table, "Gather", w, encoder_counted(m, inside)));
    own->layout = layer_norm(b, build_path(b, "%s.LayerNorm", inside), x, narrow, m->eps);
}

/* One of a stream's projections, in heads. width: of the stream. */
static Str lilt_project_heads(Encoder *m, const char *inside, const char *name, Str x,
                              int64_t width, const int64_t perm[4])
{
    int64_t C = m->n[K_HIDDEN];
    Str y = layer_linear(m->b, build_path(m->b, "%s.%s", inside, name), x, width, width);
    m->n[K_HIDDEN] = width; /* the pieces know one width */
    y = layer_split(m, inside, y, perm);
    m->n[K_HIDDEN] = C;
    return y;
}

static Str lilt_scores(Encoder *m, const char *inside, Str q, Str k, int64_t width)
{
    double D = (double)(width / m->n[K_HEADS]);
    return NODE(m->b, inside, "Mul", NODE(m->b, inside, "MatMul", q, k),
                build_float(m->b, 1 / sqrt(D)));
}

static Str lilt_mix_values(Encoder *m, const char *inside, Str p, Str v, int64_t width)
{
    Str y = NODE(m->b, inside, "Transpose", NODE(m->b, inside, "MatMul", p, v));
    build_attr_ints(m->b, "perm", perm_tokens, 4);
    return NODE(m->b, inside, "Reshape", y, INTS(m->b, 0, 0, width));
}

/* norm(linear(y) + x) under a module that has both */
static Str lilt_output(Encoder *m, const char *path, Str y, Str x, int64_t out, int64_t in)
{
    Builder *b = m->b;
    y = layer_linear(b, build_path(b, "%s.dense", path), y, out, in);
    return layer_norm(b, build_path(b, "%s.LayerNorm", path), NODE(b, path, "Add", y, x), out,
                      m->eps);
}

/* The rest of the layout stream's layer. */
static Str layout_layer(Encoder *m, const char *path, Str context, Str x, int64_t narrow)
{
    Builder *b = m->b;
    int64_t F = m->n[K_INNER] / ((const LiltOwn *)m->own)->shrink;
    x = lilt_output(m, build_path(b, "%s.attention.layout_output", path), context, x, narrow,
                    narrow);
    const char *up = build_path(b, "%s.layout_intermediate", path);
    Str y = layer_linear(b, build_path(b, "%s.dense", up), x, F, narrow);
    y = m->act->write(b, build_path(b, "%s.intermediate_act_fn", up), y);
    return lilt_output(m, build_path(b, "%s.layout_output", path), y, x, narrow, F);
}

static Str lilt_attend(Encoder *m, int layer, const char *path, Str x)
{
    Builder *b = m->b;
    LiltOwn *own = m->own;
    int64_t C = m->n[K_HIDDEN], narrow = C / own->shrink;
    const char *inside = build_path(b, "%s.attention.self", path);
    Str lq = lilt_project_heads(m, inside, "layout_query", own->layout, narrow, perm_tokens);
    Str lk = lilt_project_heads(m, inside, "layout_key", own->layout, narrow, perm_columns);
    Str q = lilt_project_heads(m, inside, "query", x, C, perm_tokens);
    Str k = lilt_project_heads(m, inside, "key", x, C, perm_columns);
    Str v = lilt_project_heads(m, inside, "value", x, C, perm_tokens);
    Str both = NODE(b, inside, "Add", lilt_scores(m, inside, q, k, C),
                    lilt_scores(m, inside, lq, lk, narrow));
    Str p = NODE(b, inside, "Softmax", NODE(b, inside, "Add", both, m->mask));
    build_attr_int(b, "axis", -1);
    if (layer + 1 < m->n[K_LAYERS]) { /* nobody reads the last layer's layout */
        Str lv = lilt_project_heads(m, inside, "layout_value", own->layout, narrow, perm_tokens);
        own->layout =
            layout_layer(m, path, lilt_mix_values(m, inside, p, lv, narrow), own->layout, narrow);
    }
    return lilt_mix_values(m, inside, p, v, C);
}

const Arch arch_lilt = {
    .model_type = "lilt", .family = "Lilt", .base = "lilt.", .modules = modules,
    .models = "lilt-roberta-en-base",
    .head_modules = { [HEAD_SEQUENCE] = roberta_classifier },
    .otherwise = { [K_PAD] = 0 },
    .eps = 1e-12, .positions = POS_PADDED, .types = TYPES_ZERO, .boxes = true,
    .embeddings = BERT_EMBEDDINGS, .layer = BERT_LAYER,
    .paths = { .attend = "attention.self", BERT_BEHIND_ATTENTION },
    .steps = { [HEAD_SEQUENCE] = roberta_sequence, [HEAD_TOKEN] = steps_classify_tokens,
               [HEAD_ANSWER] = steps_answer },
    .configure = lilt_configure, .prepare = lilt_prepare, .attend = lilt_attend,
};

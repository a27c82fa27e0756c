/* SPDX-License-Identifier: Apache-2.0
 * arch_clip.c - CLIP and SigLIP: a tower for texts and one for pictures, each ViT-like, and how well
 * every text goes with every picture. A tower is a row of its own, with a config of its own. */
#include "arch_rows.h"

#define TOWER(name)                                                                             \
    { name "_model.encoder", "*Encoder" },                                                      \
    { name "_model.encoder.layers.#", "*EncoderLayer" },                                        \
    { name "_model.encoder.layers.#.self_attn", "*Attention" },                                 \
    { name "_model.encoder.layers.#.mlp", "*MLP" },                                             \
    { name "_model.encoder.layers.#.mlp.activation_fn", "!" }
static const Module modules[] = {
    { "", "*Model" },
    { "text_model", "*TextModel" },
    { "text_model.embeddings", "*TextEmbeddings" },
    TOWER("text"),
    { "vision_model", "*VisionModel" },
    { "vision_model.embeddings", "*VisionEmbeddings" },
    TOWER("vision"),
    { "vision_model.head", "*MultiheadAttentionPoolingHead" },
    { "vision_model.head.mlp", "*MLP" },
    { "vision_model.head.mlp.activation_fn", "!" },
    { 0 },
};

typedef struct Towers {
    Encoder text, vision;
    int64_t end;            /* CLIP: id of the token whose vector stands for the text; 2: the highest */
} Towers;

#define TOWER_PATHS                                                                             \
    { .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj",                \
      .attend = "self_attn", .out = "self_attn.out_proj", .sum1 = "", .sum2 = "",               \
      .norm1 = "layer_norm1", .norm2 = "layer_norm2", .up = "mlp.fc1",                          \
      .act = "mlp.activation_fn", .down = "mlp.fc2" }
#define TOWER_TEXT                                                                              \
    .pre_norm = true, .types = TYPES_NONE, .layer = "text_model.encoder.layers.%d",             \
    .paths = TOWER_PATHS, .final_norm = "text_model.final_layer_norm",                          \
    .embeddings = { .words = "text_model.embeddings.token_embedding",                           \
                    .positions = "text_model.embeddings.position_embedding" }
#define TOWER_VISION                                                                            \
    .pre_norm = true, .layer = "vision_model.encoder.layers.%d", .paths = TOWER_PATHS

static const Arch clip_text = {
    .model_type = "clip", TOWER_TEXT, .eps = 1e-5, .act = "quick_gelu",
    .otherwise = { [K_VOCAB] = 49408, [K_HIDDEN] = 512, [K_INNER] = 2048, [K_HEADS] = 8,
                   [K_POSITIONS] = 77 },
};
static const Arch clip_vision = {
    .model_type = "clip", TOWER_VISION, .eps = 1e-5, .act = "quick_gelu",
};
static const Arch siglip_text = {
    .model_type = "siglip", TOWER_TEXT, .eps = 1e-6, .act = "gelu_pytorch_tanh",
    .otherwise = { [K_VOCAB] = 32000, [K_POSITIONS] = 64 },
};
static const Arch siglip_vision = {
    .model_type = "siglip", TOWER_VISION, .eps = 1e-6, .act = "gelu_pytorch_tanh",
    .final_norm = "vision_model.post_layernorm",
};

static bool tower_configure(Encoder *m, Encoder *tower, const Arch *row, const Value *config,
                            const char *key, Err *err)
{
    static const Value none = { .kind = V_MAP };
    const Value *own = value_get(config, key);
    if (own && own->kind != V_MAP && own->kind != V_NULL)
        return fail(err, EF_BAD_MODEL, "config.json: %s: found %s, wanted an object", key,
                    value_kind_name(own->kind));
    *tower = (Encoder){ .b = m->b, .arch = row };
    return encoder_configure(tower, own && own->kind == V_MAP ? own : &none, err) ||
           within(err, "%s", key);
}

static bool towers_configure(Encoder *m, const Value *config, const Arch *text, const Arch *vision,
                             int64_t patch, Err *err)
{
    Towers *t = m->own = NEW(m->b->arena, Towers);
    const Value *words = value_get(config, "text_config"), *sight = value_get(config, "vision_config");
    static const Value none = { .kind = V_MAP };
    if (!tower_configure(m, &t->text, text, config, "text_config", err) ||
        !tower_configure(m, &t->vision, vision, config, "vision_config", err) ||
        !picture_configure(&t->vision, sight && sight->kind == V_MAP ? sight : &none, 224, patch, err))
        return false;
    t->end = value_int(value_get(words, "eos_token_id"), 49407);
    m->act = t->text.act;
    m->n[K_LAYERS] = t->text.n[K_LAYERS] + t->vision.n[K_LAYERS];
    if (t->vision.act == m->act) return true;
    return fail(err, EF_UNSUPPORTED, "config.json: hidden_act: found another in vision_config than "
                "in text_config, wanted one");
}

static bool clip_configure(Encoder *m, const Value *config, Err *err)
{
    return towers_configure(m, config, &clip_text, &clip_vision, 32, err);
}

static bool siglip_configure(Encoder *m, const Value *config, Err *err)
{
    const Value *head = value_get(value_get(config, "vision_config"), "vision_use_head");
    if (!value_bool(head, true))
        return fail(err, EF_UNSUPPORTED, "config.json: vision_use_head: found false, wanted true");
    return towers_configure(m, config, &siglip_text, &siglip_vision, 16, err);
}

/* ---- texts ---- */
/* A token sees itself and those before it, none of them padding. */
static void clip_causal(Encoder *m)
{
    Builder *b = m->b;
    const char *path = "text_model";
    Str keys = NODE(b, path, "Cast", NODE(b, path, "Unsqueeze", m->attended, INTS(b, 1, 2)));
    build_attr_int(b, "to", T_BOOL);
    Str places = rotary_places(m, path);
    Str before = NODE(b, path, "LessOrEqual", NODE(b, path, "Unsqueeze", places, INTS(b, 0)),
                      NODE(b, path, "Unsqueeze", places, INTS(b, 1)));
    m->mask = encoder_mask(m, path, NODE(b, path, "And", keys, before));
}

/* The vector at the text's end: the first token of that id, or the highest id there is. */
static Str clip_at_end(Encoder *m, Str x, int64_t end)
{
    Builder *b = m->b;
    const char *path = "text_model";
    Str found = end == 2 ? m->ids : NODE(b, path, "Equal", m->ids, build_int(b, end));
    found = NODE(b, path, "Cast", found);
    build_attr_int(b, "to", T_I32);
    Str at = NODE(b, path, "ArgMax", found);
    build_attr_int(b, "axis", -1);
    Str y = NODE(b, path, "GatherND", x, at);
    build_attr_int(b, "batch_dims", 1);
    return y;
}

static Str tower_linear(Encoder *m, const char *path, Str x)
{
    const ArchStep steps[] = { { ARCH_STEP_LINEAR, path }, { 0 } };
    int rank = 2;
    int64_t width = m->n[K_HIDDEN];
    return head_steps(m, steps, x, &rank, &width);
}

static Str clip_texts(Towers *t)
{
    Encoder *m = &t->text;
    Str x = encoder_embed(m);
    clip_causal(m);
    return tower_linear(m, "text_projection", clip_at_end(m, encoder_layers(m, x), t->end));
}

/* SigLIP was trained on texts of full length, padding and all: nothing is masked. */
static Str siglip_texts(Towers *t)
{
    Encoder *m = &t->text;
    Str x = encoder_layers(m, encoder_embed(m));
    return tower_linear(m, "text_model.head", picture_token(m, "text_model", x, -1));
}

/* ---- pictures ---- */
static Str tower_embed(Encoder *m, int64_t first)
{
    Builder *b = m->b;
    const char *path = "vision_model.embeddings";
    const PictureInput *p = &m->picture;
    int64_t C = m->n[K_HIDDEN], N = first + p->height / p->patch[0] * (p->width / p->patch[1]);
    Str x = picture_patches(m, build_path(b, "%s.patch_embedding", path));
    if (first) {
        Str token = picture_spread(m, path, build_weight(b, path, "class_embedding", 1, &C), 1);
        x = NODE(b, path, "Concat", token, x);
        build_attr_int(b, "axis", 1);
    }
    return NODE(b, path, "Add", x, build_table(b, build_path(b, "%s.position_embedding", path), N, C));
}

static Str clip_pictures(Towers *t)
{
    Encoder *m = &t->vision;
    int64_t C = m->n[K_HIDDEN];
    Str x = layer_norm(m->b, "vision_model.pre_layrnorm", tower_embed(m, 1), C, m->eps);
    x = picture_token(m, "vision_model", encoder_layers(m, x), 0);
    x = layer_norm(m->b, "vision_model.post_layernorm", x, C, m->eps);
    return tower_linear(m, "visual_projection", x);
}

/* A learnt query looks at all patches; a feed-forward follows. */
static Str siglip_pictures(Towers *t)
{
    Encoder *m = &t->vision;
    Builder *b = m->b;
    int64_t C = m->n[K_HIDDEN], F = m->n[K_INNER];
    const char *path = "vision_model.head", *inside = "vision_model.head.attention";
    Str x = encoder_layers(m, tower_embed(m, 0)), probe = picture_parameter(m, path, "probe");
    Str q = layer_linear(b, "vision_model.head.attention.q_proj", probe, C, C);
    Str k = layer_linear(b, "vision_model.head.attention.k_proj", x, C, C);
    Str v = layer_linear(b, "vision_model.head.attention.v_proj", x, C, C);
    x = encoder_attend(m, inside, layer_split(m, inside, q, perm_tokens),
                       layer_split(m, inside, k, perm_columns),
                       layer_split(m, inside, v, perm_tokens), (Str){ 0 });
    x = layer_linear(b, "vision_model.head.attention.out_proj", x, C, C);
    Str y = layer_norm(b, "vision_model.head.layernorm", x, C, m->eps);
    y = layer_linear(b, "vision_model.head.mlp.fc1", y, F, C);
    y = m->act->write(b, "vision_model.head.mlp.activation_fn", y);
    y = layer_linear(b, "vision_model.head.mlp.fc2", y, C, F);
    return picture_token(m, path, NODE(b, path, "Add", x, y), 0);
}

/* ---- both ---- */
static Str tower_normal(Builder *b, Str x)
{
    return NODE(b, "", "Div", x, layer_reduce(b, "", "ReduceL2", x, (int64_t[]){ -1 }, 1, true));
}

/* One number, with or without a dim. */
static Str tower_number(Builder *b, const char *name)
{
    const SafeTensor *t = build_find(b, "", name);
    return build_weight(b, "", name, t && t->rank == 1, (int64_t[]){ 1 });
}

/* Texts and pictures may be of different number. */
static void tower_rows(const Builder *b, OnnxValue *v, int axis, const char *symbol)
{
    v->dim[axis] = b->batch ? b->batch : DIM_UNKNOWN;
    v->symbol[axis] = b->batch ? STR("") : str_of(symbol);
}

static void towers_output(Builder *b, Str x, const char *name, const char *rows, const char *columns)
{
    const SafeTensor *t = build_find(b, "text_projection", "weight");
    if (!t) t = build_find(b, "text_model.head", "weight");
    build_output(b, x, name, 2, (int64_t[]){ DIM_UNKNOWN, columns || !t ? DIM_UNKNOWN : t->dim[0] });
    if (!build_ok(b)) return;
    OnnxValue *v = &b->graph.out[b->graph.n_out - 1];
    tower_rows(b, v, 0, rows);
    if (columns) tower_rows(b, v, 1, columns);
}

static void towers_inputs(Encoder *m, Towers *t, bool masked)
{
    Builder *b = m->b;
    const int64_t dim[] = { DIM_UNKNOWN, DIM_UNKNOWN };
    static const char *const rows[] = { "text_batch_size", "image_batch_size", "text_batch_size" };
    build_input(b, "input_ids", 2, dim);
    picture_input(&t->vision);
    if (masked) build_input(b, "attention_mask", 2, dim);
    for (int i = 0; i < b->graph.n_in; i++) tower_rows(b, &b->graph.in[i], 0, rows[i]);
    t->text.ids = STR("input_ids"), t->text.attended = STR("attention_mask");
}

static void towers_write(Encoder *m, Str texts, Str pictures, bool biased)
{
    static const char *const text = "text_batch_size", *const image = "image_batch_size";
    Builder *b = m->b;
    texts = tower_normal(b, texts), pictures = tower_normal(b, pictures);
    Str turned = NODE(b, "", "Transpose", pictures);
    build_attr_ints(b, "perm", (int64_t[]){ 1, 0 }, 2);
    Str by_text = NODE(b, "", "Mul", NODE(b, "", "MatMul", texts, turned),
                       NODE(b, "", "Exp", tower_number(b, "logit_scale")));
    if (biased) by_text = NODE(b, "", "Add", by_text, tower_number(b, "logit_bias"));
    Str by_image = NODE(b, "", "Transpose", by_text);
    build_attr_ints(b, "perm", (int64_t[]){ 1, 0 }, 2);
    towers_output(b, by_image, "logits_per_image", image, text);
    towers_output(b, by_text, "logits_per_text", text, image);
    towers_output(b, texts, "text_embeds", text, NULL);
    towers_output(b, pictures, "image_embeds", image, NULL);
}

static void clip_write(Encoder *m)
{
    Towers *t = m->own;
    towers_inputs(m, t, true);
    Str pictures = clip_pictures(t);
    towers_write(m, clip_texts(t), pictures, false);
}

static void siglip_write(Encoder *m)
{
    Towers *t = m->own;
    towers_inputs(m, t, false);
    Str pictures = siglip_pictures(t);
    towers_write(m, siglip_texts(t), pictures, true);
}

static const ArchStep towers[] = { { 0 } }; /* written above */

const Arch arch_clip = {
    .model_type = "clip", .family = "CLIP", .base = "", .modules = modules,
    .models = "clip-vit-base-patch32, clip-vit-large-patch14, CLIP-ViT-B-32-laion2B-s34B-b79K",
    .eps = 1e-5, .act = "quick_gelu", .steps = { [HEAD_TOWERS] = towers },
    .configure = clip_configure, .write = clip_write,
};

static const Rename siglip_renames[] = {
    { "head.attention.in_proj_weight",
      { "head.attention.q_proj.weight", "head.attention.k_proj.weight",
        "head.attention.v_proj.weight" } },
    { "head.attention.in_proj_bias",
      { "head.attention.q_proj.bias", "head.attention.k_proj.bias", "head.attention.v_proj.bias" } },
    { 0 },
};

const Arch arch_siglip = {
    .model_type = "siglip", .family = "Siglip", .base = "", .modules = modules,
    .models = "siglip-base-patch16-224, siglip-so400m-patch14-384, siglip2-base-patch16-224",
    .renames = siglip_renames, .eps = 1e-6, .act = "gelu_pytorch_tanh",
    .steps = { [HEAD_TOWERS] = towers },
    .configure = siglip_configure, .write = siglip_write,
};

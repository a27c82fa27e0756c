/* SPDX-License-Identifier: Apache-2.0
 * arch_wav2vec2.c - wav2vec 2.0: samples through convolutions to 50 frames a second, places by one
 * wide convolution over the frames, layers with the norm behind or ("stable") before. HuBERT is the
 * same trained otherwise; WavLM adds a bias by distance, which each frame opens or closes for itself;
 * data2vec has several narrow convolutions for its places. */
#include "arch_rows.h"

#define MODULES(place_path, place_class)                                                        \
    { "", "*Model" },                                                                           \
    { "feature_extractor", "*FeatureEncoder" },                                                 \
    { "feature_extractor.conv_layers.0", "*GroupNormConvLayer" },                               \
    { "feature_extractor.conv_layers.#", "*NoLayerNormConvLayer" },                             \
    { "feature_extractor.conv_layers.#.activation", "!" },                                      \
    { "feature_projection", "*FeatureProjection" },                                             \
    { "encoder", "*Encoder" },                                                                  \
    { "encoder.pos_conv_embed", "*PositionalConvEmbedding" },                                   \
    { place_path, place_class },                                                                \
    { place_path ".activation", "!" },                                                          \
    { "encoder.layers.#", "*EncoderLayer" },                                                    \
    { "encoder.layers.#.attention", "*Attention" },                                             \
    { "encoder.layers.#.feed_forward", "*FeedForward" },                                        \
    { "encoder.layers.#.feed_forward.intermediate_act_fn", "!" },                               \
    { 0 }

static const Module modules[] = { MODULES("encoder.pos_conv_embed", "*PositionalConvEmbedding") };
static const Module data2vec_modules[] = {
    MODULES("encoder.pos_conv_embed.layers.#", "*PositionalConvLayer")
};
static const Module voice_modules[] = { { "tdnn.#", "TDNNLayer" }, { 0 } };

typedef struct Wav2Vec2 {
    Listener listener;
    int layers;             /* convolutions that make frames of samples */
    int64_t width[MOST_STAGES], kernel[MOST_STAGES], stride[MOST_STAGES];
    bool grouped;           /* the first one alone has a norm, over time */
    bool projection_norm, batch_norm;
    int64_t place_layers;   /* 0: one with weight norm */
    int64_t place_kernel, place_groups;
    const Activation *act;  /* of the convolutions */
    int64_t buckets, farthest;
    Str bias;               /* of WavLM: [H, T, T], made by the first layer */
    int tdnn;
    int64_t tdnn_width[MOST_STAGES], tdnn_kernel[MOST_STAGES], tdnn_spread[MOST_STAGES];
} Wav2Vec2;
static const double CONV_EPS = 1e-5; /* torch's default, whatever config.json says of the layers */

static void set_class(Module *rows, const char *path, const char *class_name)
{
    for (; rows->path; rows++)
        if (strcmp(rows->path, path) == 0) rows->class_name = class_name;
}

/* The classes of this form of the family. */
static void wav2vec2_classes(Encoder *m, const Wav2Vec2 *own)
{
    enum { MOST_ROWS = 24 };
    Module *rows = ARRAY(m->b->arena, Module, MOST_ROWS);
    const char *conv = own->place_layers ? "*ConvLayer" : "*LayerNormConvLayer";
    const char *act = own->act->class_name ? own->act->class_name : "";
    for (size_t i = 0; m->arch->modules[i].path; i++) rows[i] = m->arch->modules[i];
    set_class(rows, "feature_extractor.conv_layers.#.activation", act);
    set_class(rows, "encoder.pos_conv_embed.activation", act);
    set_class(rows, "encoder.pos_conv_embed.layers.#.activation", act);
    if (!own->grouped) {
        set_class(rows, "feature_extractor.conv_layers.0", conv);
        set_class(rows, "feature_extractor.conv_layers.#", conv);
    }
    if (m->pre_norm) {
        set_class(rows, "encoder", "*EncoderStableLayerNorm");
        set_class(rows, "encoder.layers.#", "*EncoderLayerStableLayerNorm");
    }
    m->b->modules = rows;
}

/* Forms that change what the layers compute. */
static bool wav2vec2_refuse(const Value *config, Err *err)
{
    const Value *attn = value_get(config, "adapter_attn_dim");
    if (value_bool(value_get(config, "add_adapter"), false))
        return fail(err, EF_UNSUPPORTED, "config.json: add_adapter: found true, wanted false: "
                    "convolutions behind the layers are not exported yet");
    if (attn && attn->kind != V_NULL)
        return fail(err, EF_UNSUPPORTED, "config.json: adapter_attn_dim: found a number, wanted none: "
                    "adapters of a language are not exported yet");
    return true;
}

static bool wav2vec2_list(const Value *config, const char *key, int64_t *out, int want, Err *err)
{
    int n = want;
    if (!picture_list(config, key, out, &n, err)) return false;
    return n == want || fail(err, EF_BAD_MODEL, "config.json: %s: found %d numbers, wanted %d", key, n,
                             want);
}

static bool read_convolutions(Wav2Vec2 *own, const Value *config, Err *err)
{
    static const int64_t kernel[] = { 10, 3, 3, 3, 3, 2, 2 }, stride[] = { 5, 2, 2, 2, 2, 2, 2 };
    own->layers = COUNT(kernel);
    for (size_t i = 0; i < COUNT(kernel); i++)
        own->width[i] = 512, own->kernel[i] = kernel[i], own->stride[i] = stride[i];
    return picture_list(config, "conv_dim", own->width, &own->layers, err) &&
           wav2vec2_list(config, "conv_kernel", own->kernel, own->layers, err) &&
           wav2vec2_list(config, "conv_stride", own->stride, own->layers, err);
}

static bool read_tdnn(Encoder *m, Wav2Vec2 *own, const Value *config, Err *err)
{
    static const int64_t width[] = { 512, 512, 512, 512, 1500 }, kernel[] = { 5, 3, 3, 1, 1 },
                         spread[] = { 1, 2, 3, 1, 1 };
    if (m->head != HEAD_VOICE) return true;
    own->tdnn = COUNT(width);
    for (size_t i = 0; i < COUNT(width); i++)
        own->tdnn_width[i] = width[i], own->tdnn_kernel[i] = kernel[i], own->tdnn_spread[i] = spread[i];
    return picture_list(config, "tdnn_dim", own->tdnn_width, &own->tdnn, err) &&
           wav2vec2_list(config, "tdnn_kernel", own->tdnn_kernel, own->tdnn, err) &&
           wav2vec2_list(config, "tdnn_dilation", own->tdnn_spread, own->tdnn, err);
}

static bool read_activation(Wav2Vec2 *own, const Value *config, Err *err)
{
    Str name = value_str(value_get(config, "feat_extract_activation"), STR("gelu"));
    own->act = activation_find(name);
    return own->act || fail(err, EF_UNSUPPORTED, "config.json: feat_extract_activation: found "
                            "\"%.*s\", wanted %s", (int)MIN(name.n, 60), name.p, activation_names);
}

static bool read_norm(Encoder *m, Wav2Vec2 *own, const Value *config, Err *err)
{
    Str norm = value_str(value_get(config, "feat_extract_norm"), STR("group"));
    own->grouped = str_is(norm, "group") && !own->place_layers;
    own->projection_norm = value_bool(value_get(config, "feat_proj_layer_norm"), true);
    own->batch_norm = value_bool(value_get(config, "conv_pos_batch_norm"), false);
    m->pre_norm = value_bool(value_get(config, "do_stable_layer_norm"), false) && !own->place_layers;
    m->final_norm = m->pre_norm ? "encoder.layer_norm" : NULL;
    return str_is(norm, "group") || str_is(norm, "layer") ||
           fail(err, EF_BAD_MODEL, "config.json: feat_extract_norm: found \"%.*s\", wanted group or "
                "layer", (int)MIN(norm.n, 60), norm.p);
}

static bool read_places(Encoder *m, Wav2Vec2 *own, const Value *config, Err *err)
{
    const char *kernel = own->place_layers ? "conv_pos_kernel_size" : "num_conv_pos_embeddings";
    int64_t C = m->n[K_HIDDEN];
    own->place_kernel = own->place_layers ? 19 : 128;
    own->place_groups = 16;
    if (!sound_number(config, kernel, &own->place_kernel, err) ||
        !sound_number(config, "num_conv_pos_embedding_groups", &own->place_groups, err) ||
        (own->place_layers && !sound_number(config, "num_conv_pos_embeddings", &own->place_layers, err)))
        return false;
    return C % own->place_groups == 0 ||
           fail(err, EF_BAD_MODEL, "config.json: num_conv_pos_embedding_groups: found %lld, which does "
                "not divide a hidden size of %lld", (long long)own->place_groups, (long long)C);
}

static bool read_buckets(Encoder *m, Wav2Vec2 *own, const Value *config, Err *err)
{
    own->buckets = 320, own->farthest = 800;
    if (!m->arch->attend) return true;
    if (!sound_number(config, "num_buckets", &own->buckets, err) ||
        !sound_number(config, "max_bucket_distance", &own->farthest, err))
        return false;
    return own->buckets >= 4 || fail(err, EF_BAD_MODEL, "config.json: num_buckets: found %lld, wanted "
                                     "4 or more", (long long)own->buckets);
}

static bool configure(Encoder *m, const Value *config, int64_t place_layers, Err *err)
{
    Wav2Vec2 *own = m->own = NEW(m->b->arena, Wav2Vec2);
    own->place_layers = place_layers;
    if (!wav2vec2_refuse(config, err) || !read_convolutions(own, config, err) ||
        !read_tdnn(m, own, config, err) || !read_activation(own, config, err) ||
        !read_norm(m, own, config, err) || !read_places(m, own, config, err) ||
        !read_buckets(m, own, config, err))
        return false;
    sound_weighted(m, config, &own->listener);
    wav2vec2_classes(m, own);
    return true;
}

static bool wav2vec2_configure(Encoder *m, const Value *config, Err *err)
{
    return configure(m, config, 0, err);
}

static bool data2vec_configure(Encoder *m, const Value *config, Err *err)
{
    return configure(m, config, 5, err);
}

/* ---- samples to frames ---- */

/* One channel a group: every channel by its own mean and spread over time. */
static Str norm_over_time(Builder *b, const char *path, Str x, int64_t width)
{
    build_torch_module(b, path, "GroupNorm");
    Str y = NODE(b, path, "InstanceNormalization", x, build_weight(b, path, "weight", 1, &width),
                 build_weight(b, path, "bias", 1, &width));
    build_attr_float(b, "epsilon", (float)CONV_EPS);
    return y;
}

static Str wav2vec2_conv_layer(Encoder *m, const char *path, Str x, int i)
{
    Builder *b = m->b;
    const Wav2Vec2 *own = m->own;
    const char *norm = build_path(b, "%s.layer_norm", path);
    LineShape c = { .out = own->width[i], .in = i ? own->width[i - 1] : 1, .kernel = own->kernel[i],
                    .stride = own->stride[i] };
    x = sound_conv(b, build_path(b, "%s.conv", path), x, c);
    if (own->grouped && i == 0) x = norm_over_time(b, norm, x, c.out);
    if (!own->grouped)
        x = sound_turn(b, path, layer_norm(b, norm, sound_turn(b, path, x), c.out, CONV_EPS));
    return own->act->write(b, build_path(b, "%s.activation", path), x);
}

/* [B, samples] to [B, T, C] */
static Str wav2vec2_embed(Encoder *m)
{
    Builder *b = m->b;
    const Wav2Vec2 *own = m->own;
    const char *path = encoder_path(m, "feature_extractor");
    const char *project = encoder_path(m, "feature_projection");
    int64_t width = own->width[own->layers - 1];
    build_sound(b, "input_values", 2, (int64_t[]){ DIM_UNKNOWN, DIM_UNKNOWN });
    Str x = NODE(b, path, "Unsqueeze", STR("input_values"), INTS(b, 1));
    for (int i = 0; i < own->layers; i++)
        x = wav2vec2_conv_layer(m, build_path(b, "%s.conv_layers.%d", path, i), x, i);
    x = sound_turn(b, encoder_path(m, ""), x);
    if (own->projection_norm)
        x = layer_norm(b, build_path(b, "%s.layer_norm", project), x, width, m->eps);
    return layer_linear(b, build_path(b, "%s.projection", project), x, m->n[K_HIDDEN], width);
}

/* ---- places ---- */

/* An even kernel would give one frame more than went in: the last one is left out. */
static Str place_conv(Encoder *m, const char *path, Str x)
{
    const Wav2Vec2 *own = m->own;
    int64_t C = m->n[K_HIDDEN], K = own->place_kernel;
    LineShape c = { .out = C, .in = C, .kernel = K, .pad = { K / 2, (K - 1) / 2 },
                    .groups = own->place_groups };
    return sound_conv(m->b, build_path(m->b, "%s.conv", path), x, c);
}

/* data2vec's: each with a norm that has no weights. */
static Str place_layers(Encoder *m, const char *path, Str x)
{
    Builder *b = m->b;
    const Wav2Vec2 *own = m->own;
    int64_t C = m->n[K_HIDDEN];
    for (int64_t i = 0; i < own->place_layers; i++) {
        const char *inner = build_path(b, "%s.layers.%d", path, (int)i);
        Str y = sound_turn(b, inner, place_conv(m, inner, x));
        y = layer_plain_norm(b, build_path(b, "%s.layer_norm", inner), y, C, CONV_EPS);
        x = own->act->write(b, build_path(b, "%s.activation", inner), sound_turn(b, inner, y));
    }
    return x;
}

static Str with_places(Encoder *m, Str x)
{
    Builder *b = m->b;
    const Wav2Vec2 *own = m->own;
    const char *inside = encoder_path(m, "encoder"), *path = encoder_path(m, "encoder.pos_conv_embed");
    Str y = sound_turn(b, path, x);
    if (own->batch_norm)
        y = picture_batch_norm(b, build_path(b, "%s.batch_norm", path), y, m->n[K_HIDDEN], CONV_EPS);
    if (own->place_layers)
        y = place_layers(m, path, y);
    else
        y = own->act->write(b, build_path(b, "%s.activation", path), place_conv(m, path, y));
    return NODE(b, inside, "Add", x, sound_turn(b, path, y));
}

/* ---- WavLM's attention ---- */

/* [1, H, T, T], the same for every layer before it is gated. */
static Str wavlm_bias(Encoder *m, const char *path, Str x)
{
    Builder *b = m->b;
    const Wav2Vec2 *own = m->own;
    const char *table = build_path(b, "%s.rel_attn_embed", path);
    Str length = NODE(b, path, "Gather", NODE(b, path, "Shape", x), INTS(b, 1));
    Str bucket = relative_buckets(b, path, length, own->buckets, own->farthest);
    Str rows = NODE(b, table, "Gather", build_table(b, table, own->buckets, m->n[K_HEADS]), bucket);
    Str bias = NODE(b, path, "Transpose", rows);
    build_attr_ints(b, "perm", (int64_t[]){ 2, 0, 1 }, 3);
    return NODE(b, path, "Unsqueeze", bias, INTS(b, 0));
}

/* [B, H, T, 1]: how much of the bias each frame takes; x: [B, H, T, D] */
static Str wavlm_gate(Encoder *m, const char *path, Str x)
{
    enum { GATES = 2, PARTS = 4 };
    Builder *b = m->b;
    int64_t H = m->n[K_HEADS], D = m->n[K_HIDDEN] / H;
    Str one = build_float(b, 1), y = layer_linear(b, build_path(b, "%s.gru_rel_pos_linear", path), x,
                                                  GATES * PARTS, D);
    y = NODE(b, path, "Reshape", y, INTS(b, 0, 0, 0, GATES, PARTS));
    y = NODE(b, path, "ReduceSum", y, INTS(b, -1));
    build_attr_int(b, "keepdims", 0);
    Str a = NODE(b, path, "Split", NODE(b, path, "Sigmoid", y), INTS(b, 1, 1));
    build_attr_int(b, "axis", -1);
    Str by = NODE(b, path, "Mul", build_more(b), build_weight(b, path, "gru_rel_pos_const", 4,
                                                              (int64_t[]){ 1, H, 1, 1 }));
    y = NODE(b, path, "Mul", a, NODE(b, path, "Sub", by, one));
    return NODE(b, path, "Add", y, build_float(b, 2));
}

static Str wavlm_attend(Encoder *m, int layer, const char *path, Str x)
{
    (void)layer;
    Builder *b = m->b;
    Wav2Vec2 *own = m->own;
    int64_t C = m->n[K_HIDDEN];
    const char *inside = build_path(b, "%s.attention", path);
    if (!own->bias.n) own->bias = wavlm_bias(m, inside, x);
    Str gate = wavlm_gate(m, inside, layer_split(m, inside, x, perm_tokens));
    Str bias = NODE(b, inside, "Mul", gate, own->bias);
    Str q = layer_linear(b, build_path(b, "%s.q_proj", inside), x, C, C);
    Str k = layer_linear(b, build_path(b, "%s.k_proj", inside), x, C, C);
    Str v = layer_linear(b, build_path(b, "%s.v_proj", inside), x, C, C);
    return encoder_attend(m, inside, layer_split(m, inside, q, perm_tokens),
                          layer_split(m, inside, k, perm_columns),
                          layer_split(m, inside, v, perm_tokens), bias);
}

/* ---- heads ---- */

/* A linear over a few frames, some apart: written as the convolution that it is. */
static Str tdnn_layer(Encoder *m, int i, Str x)
{
    Builder *b = m->b;
    const Wav2Vec2 *own = m->own;
    int64_t out = own->tdnn_width[i], in = own->tdnn_width[i ? i - 1 : 0], K = own->tdnn_kernel[i];
    const char *path = build_path(b, "tdnn.%d", i), *kernel = build_path(b, "tdnn.%d.kernel", i);
    Str w = build_weight(b, kernel, "weight", 2, (int64_t[]){ out, in * K });
    w = sound_turn(b, path, NODE(b, path, "Reshape", w, INTS(b, out, K, in)));
    x = NODE(b, path, "Conv", sound_turn(b, path, x), w, build_weight(b, kernel, "bias", 1, &out));
    build_attr_ints(b, "kernel_shape", &K, 1);
    build_attr_ints(b, "dilations", &own->tdnn_spread[i], 1);
    return NODE(b, path, "Relu", sound_turn(b, path, x));
}

/* Of n frames, over n - 1, as torch counts: [B, C] */
static Str spread_over_time(Builder *b, Str x, Str mean)
{
    static const int64_t time[] = { 1 };
    Str apart = NODE(b, "", "Sub", x, NODE(b, "", "Unsqueeze", mean, INTS(b, 1)));
    Str sum = NODE(b, "", "ReduceSum", NODE(b, "", "Mul", apart, apart), build_ints(b, time, 1));
    build_attr_int(b, "keepdims", 0);
    Str n = NODE(b, "", "Gather", NODE(b, "", "Shape", x), INTS(b, 1));
    n = NODE(b, "", "Cast", NODE(b, "", "Sub", n, INTS(b, 1)));
    build_attr_int(b, "to", T_F32);
    return NODE(b, "", "Sqrt", NODE(b, "", "Div", sum, n));
}

/* One vector of a speaker, and the logits made of it. */
static void voice_ends(Encoder *m, Str hidden)
{
    Builder *b = m->b;
    const Wav2Vec2 *own = m->own;
    const SafeTensor *w = build_find(b, "feature_extractor", "weight");
    int64_t last = own->tdnn_width[own->tdnn - 1], out = w && w->rank == 2 ? w->dim[0] : -1;
    Str x = layer_linear(b, "projector", hidden, own->tdnn_width[0], m->n[K_HIDDEN]);
    for (int i = 0; i < own->tdnn; i++) x = tdnn_layer(m, i, x);
    Str mean = sound_mean(m, "", x, NULL);
    Str both = NODE(b, "", "Concat", mean, spread_over_time(b, x, mean));
    build_attr_int(b, "axis", -1);
    Str vector = layer_gemm(b, "feature_extractor", both, out, 2 * last);
    Str logits = layer_gemm(b, "classifier", vector, out, out);
    int64_t dim[] = { DIM_UNKNOWN, out };
    build_output(b, logits, "logits", 2, dim);
    build_output(b, vector, "embeddings", 2, dim);
}

/* Frames of so many samples, by number or as Optimum writes the formula. */
static int64_t frames_of(Encoder *m, const char **symbol)
{
    const Wav2Vec2 *own = m->own;
    int64_t n = m->b->length;
    *symbol = "sequence_length";
    for (int i = 0; i < own->layers; i++) {
        n = (n - own->kernel[i]) / own->stride[i] + 1;
        *symbol = str_format(m->b->arena, "( %s - %lld ) // %lld + 1", *symbol,
                             (long long)own->kernel[i], (long long)own->stride[i]);
    }
    return m->b->length ? n : DIM_UNKNOWN;
}

static void wav2vec2_write(Encoder *m)
{
    const char *symbol, *norm = encoder_path(m, "encoder.layer_norm");
    int64_t frames = frames_of(m, &symbol);
    if (m->b->length && frames < 1)
        build_fail(m->b, EF_USAGE, "a sequence length of %lld samples: found no frame in it, wanted "
                   "more", (long long)m->b->length);
    Str x = with_places(m, wav2vec2_embed(m));
    if (!m->pre_norm) x = layer_norm(m->b, norm, x, m->n[K_HIDDEN], m->eps);
    x = sound_listen(m, x);
    if (m->head == HEAD_VOICE) voice_ends(m, x);
    else sound_ends(m, x, frames, symbol);
}

static const ArchStep voice_steps[] = { { 0 } }; /* written by voice_ends */
#define LAYERS                                                                                  \
    .hears = true, .eps = 1e-5, .layer = "encoder.layers.%d",                                   \
    .paths = { .q = "attention.q_proj", .k = "attention.k_proj", .v = "attention.v_proj",       \
               .attend = "attention", .out = "attention.out_proj", .sum1 = "",                  \
               .norm1 = "layer_norm", .up = "feed_forward.intermediate_dense",                  \
               .act = "feed_forward.intermediate_act_fn", .down = "feed_forward.output_dense",  \
               .sum2 = "", .norm2 = "final_layer_norm" },                                       \
    .begin = sound_keep, .write = wav2vec2_write, .pool = sound_mean
#define HEADS                                                                                   \
    .head_modules = { [HEAD_VOICE] = voice_modules },                                           \
    .steps = { [HEAD_SPEECH] = sound_classify, [HEAD_LETTERS] = sound_letters,                  \
               [HEAD_FRAMES] = sound_frames, [HEAD_VOICE] = voice_steps }

const Arch arch_wav2vec2 = {
    .model_type = "wav2vec2", .family = "Wav2Vec2", .base = "wav2vec2.",
    .models = "wav2vec2-base-960h, wav2vec2-large-xlsr-53-*, wav2vec2-base-superb-er",
    .modules = modules, LAYERS, HEADS, .configure = wav2vec2_configure,
};

const Arch arch_hubert = {
    .model_type = "hubert", .family = "Hubert", .base = "hubert.",
    .models = "hubert-base-ls960, hubert-large-ls960-ft, hubert-base-superb-ks",
    .modules = modules, LAYERS, .configure = wav2vec2_configure,
    .steps = { [HEAD_SPEECH] = sound_classify, [HEAD_LETTERS] = sound_letters },
};

const Arch arch_wavlm = {
    .model_type = "wavlm", .family = "WavLM", .base = "wavlm.",
    .models = "wavlm-base-plus, wavlm-large, wavlm-base-plus-sv",
    .modules = modules, LAYERS, HEADS, .attend = wavlm_attend, .configure = wav2vec2_configure,
};

const Arch arch_data2vec_audio = {
    .model_type = "data2vec-audio", .family = "Data2VecAudio", .base = "data2vec_audio.",
    .models = "data2vec-audio-base-960h, data2vec-audio-large",
    .modules = data2vec_modules, LAYERS, HEADS, .configure = data2vec_configure,
};

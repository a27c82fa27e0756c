/* SPDX-License-Identifier: Apache-2.0
 * arch_whisper.c - the encoder of Whisper: two convolutions over 30 seconds of log-mel features, a
 * table of places, layers with the norm before. What writes the words (its decoder) is not exported. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Encoder" },
    { "layers.#", "*EncoderLayer" },
    { "layers.#.self_attn", "*Attention" },
    { "layers.#.activation_fn", "!" },
    { 0 },
};

/* Whole models have the encoder one level deeper. */
static const Rename renames[] = { { "^model.encoder.", { "encoder." } }, { 0 } };

typedef struct Whisper {
    Listener listener;
    int64_t bands, places;
} Whisper;

static bool whisper_configure(Encoder *m, const Value *config, Err *err)
{
    Whisper *own = m->own = NEW(m->b->arena, Whisper);
    own->bands = 80, own->places = 1500;
    sound_weighted(m, config, &own->listener);
    return sound_number(config, "num_mel_bins", &own->bands, err) &&
           sound_number(config, "max_source_positions", &own->places, err);
}

static void whisper_write(Encoder *m)
{
    enum { KERNEL = 3, FEATURES_A_PLACE = 2 };
    Builder *b = m->b;
    const Whisper *own = m->own;
    int64_t C = m->n[K_HIDDEN];
    const char *root = encoder_path(m, ""), *table = encoder_path(m, "embed_positions");
    LineShape first = { .out = C, .in = own->bands, .kernel = KERNEL, .pad = { 1, 1 } };
    LineShape second = { .out = C, .in = C, .kernel = KERNEL, .stride = 2, .pad = { 1, 1 } };
    const Activation *gelu = activation_find(STR("gelu"));
    build_sound(b, "input_features", 3,
                (int64_t[]){ DIM_UNKNOWN, own->bands, FEATURES_A_PLACE * own->places });
    Str x = sound_conv(b, encoder_path(m, "conv1"), STR("input_features"), first);
    x = sound_conv(b, encoder_path(m, "conv2"), gelu->write(b, root, x), second);
    x = sound_turn(b, root, gelu->write(b, root, x));
    x = NODE(b, root, "Add", x, build_table(b, table, own->places, C));
    sound_ends(m, sound_listen(m, x), own->places, NULL);
}

const Arch arch_whisper = {
    .model_type = "whisper", .family = "Whisper", .base = "encoder.",
    .models = "whisper-tiny to large-v3 (the encoder), whisper-medium-fleurs-lang-id",
    .modules = modules, .renames = renames, .hears = true,
    .key = { [K_HIDDEN] = "d_model", [K_LAYERS] = "encoder_layers",
             [K_HEADS] = "encoder_attention_heads", [K_INNER] = "encoder_ffn_dim" },
    .otherwise = { [K_HIDDEN] = 384, [K_LAYERS] = 4, [K_HEADS] = 6, [K_INNER] = 1536 },
    .eps_key = "", .eps = 1e-5, .act_key = "activation_function", .pre_norm = true,
    .layer = "layers.%d",
    .paths = { .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj",
               .attend = "self_attn", .out = "self_attn.out_proj", .sum1 = "",
               .norm1 = "self_attn_layer_norm", .up = "fc1", .act = "activation_fn", .down = "fc2",
               .sum2 = "", .norm2 = "final_layer_norm" },
    .final_norm = "layer_norm",
    .steps = { [HEAD_SOUND] = sound_classify },
    .configure = whisper_configure, .begin = sound_keep, .write = whisper_write, .pool = sound_mean,
};

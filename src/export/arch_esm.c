/* SPDX-License-Identifier: Apache-2.0
 * arch_esm.c - ESM, BERT for proteins with norms before the layers. Masked words are zeroed and the
 * rest made larger for it, as in training (token_dropout); padding is zeroed behind the norm. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "rotary_embeddings", "*RotaryEmbedding" },
    { "encoder", "*Encoder" },
    { "encoder.layer.#", "*Layer" },
    { "encoder.layer.#.attention", "*Attention" },
    { "encoder.layer.#.attention.self", "*SelfAttention" },
    { "encoder.layer.#.attention.output", "*SelfOutput" },
    { "encoder.layer.#.intermediate", "*Intermediate" },
    { "encoder.layer.#.output", "*Output" },
    { 0 },
};

typedef struct EsmOwn {
    bool drop, norm;        /* token_dropout, emb_layer_norm_before */
    int64_t mask;           /* id of the word that stands for a masked one */
} EsmOwn;

static bool esm_configure(Encoder *m, const Value *config, Err *err)
{
    EsmOwn *own = m->own = NEW(m->b->arena, EsmOwn);
    own->drop = value_bool(value_get(config, "token_dropout"), false);
    own->norm = value_bool(value_get(config, "emb_layer_norm_before"), false);
    own->mask = value_int(value_get(config, "mask_token_id"), -1);
    return !own->drop || own->mask >= 0 ||
           fail(err, EF_BAD_MODEL, "config.json: token_dropout needs mask_token_id, wanted a "
                "number");
}

static Str as_float(Builder *b, const char *path, Str x)
{
    Str y = NODE(b, path, "Cast", x);
    build_attr_int(b, "to", T_F32);
    return y;
}

/* x * 0.88 / (1 - masked / length), masked words 0 */
static Str esm_drop_masked(Encoder *m, const char *path, Str x)
{
    Builder *b = m->b;
    const EsmOwn *own = m->own;
    Str masked = NODE(b, path, "Equal", m->ids, build_int(b, own->mask));
    Str wide = NODE(b, path, "Unsqueeze", masked, INTS(b, -1));
    x = NODE(b, path, "Where", wide, build_float(b, 0), x);
    Str count = NODE(b, path, "ReduceSum", as_float(b, path, masked), INTS(b, -1));
    Str length = NODE(b, path, "ReduceSum", as_float(b, path, m->attended), INTS(b, -1));
    Str left = NODE(b, path, "Sub", build_float(b, 1), NODE(b, path, "Div", count, length));
    Str scaled = NODE(b, path, "Mul", x, build_float(b, 1 - 0.15 * 0.8));
    return NODE(b, path, "Div", scaled, NODE(b, path, "Unsqueeze", left, INTS(b, -1)));
}

static Str esm_word_rows(Encoder *m, const char *inside, Str x)
{
    return ((const EsmOwn *)m->own)->drop ? esm_drop_masked(m, inside, x) : x;
}

static Str esm_embed(Encoder *m, const char *inside, Str x)
{
    Builder *b = m->b;
    if (((const EsmOwn *)m->own)->norm)
        x = layer_norm(b, build_path(b, "%s.layer_norm", inside), x, m->n[K_HIDDEN], m->eps);
    Str real = NODE(b, inside, "Unsqueeze", as_float(b, inside, m->attended), INTS(b, -1));
    return NODE(b, inside, "Mul", x, real);
}

const Arch arch_esm = {
    .model_type = "esm", .family = "Esm", .base = "esm.", .modules = modules,
    .models = "esm2_t6_8M_UR50D",
    .head_modules = ROBERTA_HEADS,
    .otherwise = { [K_VOCAB] = 33, [K_POSITIONS] = 1026, [K_PAD] = 1 },
    .eps = 1e-12, .act_key = "", .positions = POS_PADDED, .theta = 10000,
    .rotary = "rotary_embeddings", .types = TYPES_NONE, .pre_norm = true,
    .embeddings = { .words = "embeddings.word_embeddings",
                    .positions = "embeddings.position_embeddings" },
    .layer = BERT_LAYER,
    .paths = { .q = "attention.self.query", .k = "attention.self.key", .v = "attention.self.value",
               .attend = "attention.self", .out = "attention.output.dense",
               .sum1 = "attention.output", .norm1 = "attention.LayerNorm",
               .up = "intermediate.dense", .act = "intermediate", .down = "output.dense",
               .sum2 = "output", .norm2 = "LayerNorm" },
    .final_norm = "encoder.emb_layer_norm_after",
    .steps = { [HEAD_MASKED] = roberta_masked, [HEAD_SEQUENCE] = roberta_sequence,
               [HEAD_TOKEN] = steps_classify_tokens },
    .configure = esm_configure, .words = esm_word_rows, .embedded = esm_embed,
};

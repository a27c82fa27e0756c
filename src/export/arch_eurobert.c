/* SPDX-License-Identifier: Apache-2.0
 * arch_eurobert.c - EuroBERT: a decoder's layers with bidirectional attention: RMS norms before,
 * rotary positions, gated feed-forward, and keys and values that several heads share. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "rotary_emb", "*RotaryEmbedding" },
    { "layers.#", "*DecoderLayer" },
    { "layers.#.input_layernorm", "*RMSNorm" },
    { "layers.#.self_attn", "*Attention" },
    { "layers.#.post_attention_layernorm", "*RMSNorm" },
    { "layers.#.mlp", "*MLP" },
    { "layers.#.mlp.act_fn", "!" },
    { "norm", "*RMSNorm" },
    { 0 },
};

#define DECIDE                                                              \
    { ARCH_STEP_LINEAR, "dense" }, { ARCH_STEP_ACT, "activation", "gelu" }, \
    { ARCH_STEP_LINEAR, "classifier" }
static const ArchStep pooled[] = { { ARCH_STEP_POOLING, "" }, DECIDE, { 0 } };
/* The mean of the tokens' scores. */
static const ArchStep late[] = { DECIDE, { ARCH_STEP_POOLING, "" }, { 0 } };
static const ArchStep masked[] = { { ARCH_STEP_DECODE, "lm_head" }, { 0 } };

static bool eurobert_configure(Encoder *m, const Value *config, Err *err)
{
    int64_t H = m->n[K_HEADS], *groups = m->own = NEW(m->b->arena, int64_t);
    Str pooling = value_str(value_get(config, "classifier_pooling"), STR("late"));
    *groups = value_int(value_get(config, "num_key_value_heads"), H);
    if (*groups < 1 || H % *groups)
        return fail(err, EF_BAD_MODEL, "config.json: num_key_value_heads: found %lld, wanted a "
                    "divisor of %lld", (long long)*groups, (long long)H);
    if (value_int(value_get(config, "head_dim"), m->n[K_HIDDEN] / H) != m->n[K_HIDDEN] / H)
        return fail(err, EF_UNSUPPORTED, "config.json: head_dim: wanted hidden_size divided by "
                    "num_attention_heads");
    m->mean = !str_is(pooling, "bos");
    if (m->head == HEAD_SEQUENCE && str_is(pooling, "late")) m->steps = late;
    return str_is(pooling, "bos") || str_is(pooling, "mean") || str_is(pooling, "late") ||
           fail(err, EF_UNSUPPORTED, "config.json: classifier_pooling: found \"%.*s\", wanted bos, "
                "mean or late", (int)MIN(pooling.n, 60), pooling.p);
}

/* [B, G, S, D] to [B, H, S, D]: each stands as often as heads share it. */
static Str eurobert_repeat_heads(Encoder *m, const char *path, Str x)
{
    Builder *b = m->b;
    int64_t H = m->n[K_HEADS], G = *(int64_t *)m->own;
    if (G == H) return x;
    int64_t *which = ARRAY(b->arena, int64_t, H);
    for (int64_t h = 0; h < H; h++) which[h] = h * G / H;
    Str y = NODE(b, path, "Gather", x, build_ints(b, which, (size_t)H));
    build_attr_int(b, "axis", 1);
    return y;
}

static Str eurobert_split_heads(Encoder *m, const char *path, const char *name, Str x,
                                int64_t heads)
{
    Builder *b = m->b;
    int64_t C = m->n[K_HIDDEN], D = C / m->n[K_HEADS];
    x = layer_linear(b, build_path(b, "%s.%s", path, name), x, heads * D, C);
    Str y = NODE(b, path, "Transpose", NODE(b, path, "Reshape", x, INTS(b, 0, 0, heads, D)));
    build_attr_ints(b, "perm", perm_tokens, 4);
    return y;
}

static Str eurobert_attend(Encoder *m, int layer, const char *path, Str x)
{
    (void)layer;
    Builder *b = m->b;
    const char *inside = build_path(b, "%s.self_attn", path);
    int64_t G = *(int64_t *)m->own;
    Str q = rotary_turn(m, inside, eurobert_split_heads(m, inside, "q_proj", x, m->n[K_HEADS]),
                        &m->rotation);
    Str k = rotary_turn(m, inside, eurobert_split_heads(m, inside, "k_proj", x, G), &m->rotation);
    Str v = eurobert_repeat_heads(m, inside, eurobert_split_heads(m, inside, "v_proj", x, G));
    k = NODE(b, inside, "Transpose", eurobert_repeat_heads(m, inside, k));
    build_attr_ints(b, "perm", (int64_t[]){ 0, 1, 3, 2 }, 4);
    return encoder_attend(m, inside, q, k, v, m->mask);
}

const Arch arch_eurobert = {
    .model_type = "eurobert", .family = "EuroBert", .base = "model.", .modules = modules,
    .models = "EuroBERT-210m",
    .otherwise = { [K_VOCAB] = 128256, [K_POSITIONS] = 8192 },
    .eps_key = "rms_norm_eps", .eps = 1e-5, .act = "silu",
    .positions = POS_ROTARY, .theta = 10000, .types = TYPES_NONE, .pre_norm = true,
    .rms_norm = true,
    .embeddings = { .words = "embed_tokens" }, .layer = "layers.%d",
    .paths = { .attend = "self_attn", .out = "self_attn.o_proj", .sum1 = "",
               .norm1 = "input_layernorm", .decide = "mlp.gate_proj", .up = "mlp.up_proj",
               .gate = "mlp", .act = "mlp.act_fn", .down = "mlp.down_proj", .sum2 = "",
               .norm2 = "post_attention_layernorm" },
    .final_norm = "norm",
    .steps = { [HEAD_MASKED] = masked, [HEAD_SEQUENCE] = pooled,
               [HEAD_TOKEN] = steps_classify_tokens },
    .configure = eurobert_configure, .attend = eurobert_attend,
};

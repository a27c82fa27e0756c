/* SPDX-License-Identifier: Apache-2.0
 * arch_modernbert.c - ModernBERT: norms before, rotary positions, gated feed-forward, and two kinds
 * of layer: every token sees every token, or only those within half a window to either side. */
#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "rotary_emb", "*RotaryEmbedding" },
    { "layers.#", "*EncoderLayer" },
    { "layers.#.attn", "*Attention" },
    { "layers.#.mlp", "*MLP" },
    { "layers.#.mlp.act", "!" },
    { 0 },
};
static const Module head[] = {
    { "head", "*PredictionHead" }, { "head.act", "GELUActivation" }, { 0 }
};

#define HEAD_STEPS                                                             \
    { ARCH_STEP_LINEAR, "head.dense" }, { ARCH_STEP_ACT, "head.act", "gelu" }, \
    { ARCH_STEP_NORM, "head.norm" }
static const ArchStep masked[] = { HEAD_STEPS, { ARCH_STEP_DECODE, "decoder" }, { 0 } };
static const ArchStep tokens[] = { HEAD_STEPS, { ARCH_STEP_LINEAR, "classifier" }, { 0 } };
static const ArchStep sequence[] = {
    { ARCH_STEP_POOLING, "" }, HEAD_STEPS, { ARCH_STEP_LINEAR, "classifier" }, { 0 }
};

typedef enum { FULL, SLIDING, KINDS } LayerKind;
static const char *const kind_names[KINDS] = { "full_attention", "sliding_attention" };
typedef struct ModernbertOwn {
    LayerKind *kind;        /* of each layer */
    double theta[KINDS];
    int64_t window;         /* tokens to either side */
    bool used[KINDS];
    Str mask[KINDS];
    Rotation rotation[KINDS];
} ModernbertOwn;

static bool read_rope(const Value *config, LayerKind kind, ModernbertOwn *own, Err *err)
{
    static const char *const old_keys[KINDS] = { "global_rope_theta", "local_rope_theta" };
    static const double otherwise[KINDS] = { 160000, 10000 };
    const Value *rope = value_get(value_get(config, "rope_parameters"), kind_names[kind]);
    return rotary_theta(config, rope, old_keys[kind], otherwise[kind], &own->theta[kind], err);
}

static bool read_kinds(Encoder *m, const Value *config, ModernbertOwn *own, Err *err)
{
    const Value *list = value_get(config, "layer_types");
    int64_t every = value_int(value_get(config, "global_attn_every_n_layers"), 3);
    bool listed = list && list->kind == V_LIST;
    if (every < 1 || (listed && (int64_t)list->list.n != m->n[K_LAYERS]))
        return fail(err, EF_BAD_MODEL, "config.json: layer_types: wanted one for each layer");
    own->kind = ARRAY(m->b->arena, LayerKind, m->n[K_LAYERS] + 1);
    for (int i = 0; i < m->n[K_LAYERS]; i++) {
        own->kind[i] = i % every ? SLIDING : FULL;
        if (listed)
            own->kind[i] = str_is(value_str(&list->list.items[i], STR("")), kind_names[SLIDING]);
        own->used[own->kind[i]] = true;
    }
    return true;
}

static bool modernbert_configure(Encoder *m, const Value *config, Err *err)
{
    ModernbertOwn *own = m->own = NEW(m->b->arena, ModernbertOwn);
    Str act = value_str(value_get(config, "classifier_activation"), STR("gelu"));
    own->window = value_int(value_get(config, "local_attention"), 128) / 2;
    m->mean = str_is(value_str(value_get(config, "classifier_pooling"), STR("cls")), "mean");
    if (m->head && !str_is(act, "gelu"))
        return fail(err, EF_UNSUPPORTED, "config.json: classifier_activation: found \"%.*s\", "
                    "wanted gelu", (int)MIN(act.n, 60), act.p);
    if (m->n[K_HIDDEN] / m->n[K_HEADS] % 2)
        return fail(err, EF_BAD_MODEL, "config.json: rotary positions need heads of even size");
    return read_rope(config, FULL, own, err) && read_rope(config, SLIDING, own, err) &&
           read_kinds(m, config, own, err);
}

static Str modernbert_window_mask(Encoder *m, const char *path, Str at)
{
    Builder *b = m->b;
    const ModernbertOwn *own = m->own;
    Str row = NODE(b, path, "Unsqueeze", at, INTS(b, 0));
    Str far = NODE(b, path, "Abs",
                   NODE(b, path, "Sub", NODE(b, path, "Unsqueeze", at, INTS(b, 1)), row));
    Str near = NODE(b, path, "LessOrEqual", far, build_int(b, own->window));
    return encoder_mask(m, path, NODE(b, path, "And", m->keys, near));
}

static void modernbert_prepare(Encoder *m, Str hidden)
{
    (void)hidden;
    ModernbertOwn *own = m->own;
    const char *path = encoder_path(m, "");
    static const char *const names[KINDS] = { "full_attention_inv_freq",
                                              "sliding_attention_inv_freq" };
    const char *turning = encoder_path(m, "rotary_emb");
    Str at = rotary_places(m, path);
    for (LayerKind kind = 0; kind < KINDS; kind++)
        if (own->used[kind])
            own->rotation[kind] = rotary_tables(m, turning, names[kind], at, own->theta[kind]);
    own->mask[FULL] = m->mask;
    if (own->used[SLIDING]) own->mask[SLIDING] = modernbert_window_mask(m, path, at);
}

static Str modernbert_attend(Encoder *m, int layer, const char *path, Str x)
{
    Builder *b = m->b;
    const ModernbertOwn *own = m->own;
    int64_t C = m->n[K_HIDDEN];
    LayerKind kind = own->kind[layer];
    const char *inside = build_path(b, "%s.attn", path);
    Str qkv = layer_linear(b, build_path(b, "%s.attn.Wqkv", path), x, 3 * C, C);
    Str part[3] = { NODE(b, inside, "Split", qkv, INTS(b, C, C, C)) };
    build_attr_int(b, "axis", -1);
    part[1] = build_more(b), part[2] = build_more(b);
    for (int i = 0; i < 3; i++) part[i] = layer_split(m, inside, part[i], perm_tokens);
    Str q = rotary_turn(m, inside, part[0], &own->rotation[kind]);
    Str k = NODE(b, inside, "Transpose", rotary_turn(m, inside, part[1], &own->rotation[kind]));
    build_attr_ints(b, "perm", (int64_t[]){ 0, 1, 3, 2 }, 4);
    return encoder_attend(m, inside, q, k, part[2], own->mask[kind]);
}

const Arch arch_modernbert = {
    .model_type = "modernbert", .family = "ModernBert", .base = "model.",
    .models = "ModernBERT-base, gte-modernbert-base, modernbert-embed-base, "
              "granite-embedding-english-r2",
    .modules = modules,
    .head_modules = { [HEAD_MASKED] = head, [HEAD_SEQUENCE] = head, [HEAD_TOKEN] = head,
                      [HEAD_ANSWER] = head, [HEAD_CHOICE] = head },
    .otherwise = { [K_VOCAB] = 50368, [K_LAYERS] = 22, [K_INNER] = 1152, [K_POSITIONS] = 8192 },
    .eps_key = "norm_eps", .eps = 1e-5, .act_key = "hidden_activation",
    .positions = POS_ROTARY, .types = TYPES_NONE, .pre_norm = true,
    .embeddings = { .words = "embeddings.tok_embeddings", .norm = "embeddings.norm" },
    .layer = "layers.%d",
    .paths = { .attend = "attn", .out = "attn.Wo", .sum1 = "", .norm1 = "attn_norm",
               .up = "mlp.Wi", .gate = "mlp", .act = "mlp.act", .down = "mlp.Wo",
               .sum2 = "", .norm2 = "mlp_norm" },
    .final_norm = "final_norm",
    .steps = { [HEAD_MASKED] = masked, [HEAD_SEQUENCE] = sequence, [HEAD_TOKEN] = tokens,
               [HEAD_ANSWER] = tokens, [HEAD_CHOICE] = sequence },
    .configure = modernbert_configure, .prepare = modernbert_prepare, .attend = modernbert_attend,
};

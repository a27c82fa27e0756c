/* SPDX-License-Identifier: Apache-2.0
 * arch_deberta_v2.c - DeBERTa, all three versions: scores also look at how far apart two tokens
 * are, through the same projections (or ones of their own):
 *
 *   (q_i k_j + q_i Kr[d] + k_j Qr[d]) / sqrt(D * terms),  d = bucket(i - j) + span, clamped
 *
 * The first version has q, k and v in one matrix, head by head, and counts distances one by one. Padded
 * queries, which transformers also masks, are not masked here: their results are not used. */
#include <math.h>

#include "arch_rows.h"

static const Module modules[] = {
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "encoder", "*Encoder" },
    { "encoder.layer.#", "*Layer" },
    { "encoder.layer.#.attention", "*Attention" },
    { "encoder.layer.#.attention.self", "DisentangledSelfAttention" },
    { "encoder.layer.#.attention.output", "*SelfOutput" },
    { "encoder.layer.#.intermediate", "*Intermediate" },
    { "encoder.layer.#.intermediate.intermediate_act_fn", "!" },
    { "encoder.layer.#.output", "*Output" },
    { 0 },
};
static const Module joint_modules[] = { /* the first version has a LayerNorm class of its own */
    { "", "*Model" },
    { "embeddings", "*Embeddings" },
    { "embeddings.LayerNorm", "*LayerNorm" },
    { "encoder", "*Encoder" },
    { "encoder.LayerNorm", "*LayerNorm" },
    { "encoder.layer.#", "*Layer" },
    { "encoder.layer.#.attention", "*Attention" },
    { "encoder.layer.#.attention.self", "DisentangledSelfAttention" },
    { "encoder.layer.#.attention.output", "*SelfOutput" },
    { "encoder.layer.#.attention.output.LayerNorm", "*LayerNorm" },
    { "encoder.layer.#.intermediate", "*Intermediate" },
    { "encoder.layer.#.intermediate.intermediate_act_fn", "!" },
    { "encoder.layer.#.output", "*Output" },
    { "encoder.layer.#.output.LayerNorm", "*LayerNorm" },
    { 0 },
};
static const Module masked_modules[] = {
    { "cls", "Legacy*OnlyMLMHead" },
    { "cls.predictions", "Legacy*LMPredictionHead" },
    { "cls.predictions.transform", "Legacy*PredictionHeadTransform" },
    { "cls.predictions.transform.transform_act_fn", "!" },
    { "lm_predictions", "*OnlyMLMHead" },
    { "lm_predictions.lm_head", "*LMPredictionHead" },
    { "lm_predictions.lm_head.transform_act_fn", "!" },
    { 0 },
};
static const Module pooler[] = { { "pooler", "ContextPooler" }, { 0 } };

static const ArchStep masked[] = {
    { ARCH_STEP_LINEAR, "cls.predictions.transform.dense" },
    { ARCH_STEP_ACT, "cls.predictions.transform.transform_act_fn" },
    { ARCH_STEP_NORM, "cls.predictions.transform.LayerNorm" },
    { ARCH_STEP_DECODE, "cls.predictions.decoder", "cls.predictions" },
    { 0 },
};
static const ArchStep masked_now[] = { /* legacy: false */
    { ARCH_STEP_LINEAR, "lm_predictions.lm_head.dense" },
    { ARCH_STEP_ACT, "lm_predictions.lm_head.transform_act_fn" },
    { ARCH_STEP_NORM, "lm_predictions.lm_head.LayerNorm" },
    { ARCH_STEP_DECODE, "lm_predictions.lm_head", "lm_predictions.lm_head" },
    { 0 },
};
static const ArchStep sequence[] = {
    { ARCH_STEP_FIRST, "pooler" },
    { ARCH_STEP_LINEAR, "pooler.dense" },
    { ARCH_STEP_ACT, "pooler", "gelu" },
    { ARCH_STEP_LINEAR, "classifier" },
    { 0 },
};

typedef struct DebertaOwn {
    bool joint;             /* the first version */
    bool relative, shared;  /* shared: the content's own projections */
    bool c2p, p2c, norm;    /* norm: of the table of distances */
    int64_t buckets, most, span;
    Str table;              /* [1, 2 span, C] */
    Str at, turned;         /* [1, 1, S, S]: d of (i, j), and of (j, i) */
} DebertaOwn;

/* "p2c|c2p" or a list of words */
static bool deberta_lists(const Value *v, const char *word)
{
    for (size_t i = 0; v && v->kind == V_LIST && i < v->list.n; i++)
        if (deberta_lists(&v->list.items[i], word)) return true;
    Str s = value_str(v, STR(""));
    return s.n && memmem(s.p, s.n, word, strlen(word)) != NULL;
}

static bool deberta_check_config(const Encoder *m, const Value *config, Err *err)
{
    Str act = value_str(value_get(config, "pooler_hidden_act"), STR("gelu"));
    const char *what = NULL;
    if (value_int(value_get(config, "conv_kernel_size"), 0) > 0) what = "conv_kernel_size above 0";
    else if (value_bool(value_get(config, "talking_head"), false)) what = "talking_head";
    else if (m->n[K_EMBEDDING] != m->n[K_HIDDEN]) what = "embedding_size other than hidden_size";
    else if (value_get(config, "attention_head_size") &&
             value_int(value_get(config, "attention_head_size"), 0) * m->n[K_HEADS] !=
                 m->n[K_HIDDEN])
        what = "attention_head_size of its own";
    else if (m->head && !str_is(act, "gelu")) what = "pooler_hidden_act other than gelu";
    return !what || fail(err, EF_UNSUPPORTED, "config.json: %s is not supported", what);
}

static bool deberta_configure(Encoder *m, const Value *config, Err *err)
{
    DebertaOwn *own = m->own = NEW(m->b->arena, DebertaOwn);
    if (!value_get(config, "type_vocab_size")) m->n[K_TYPES] = 0;
    const Value *terms = value_get(config, "pos_att_type");
    own->joint = strcmp(m->arch->model_type, "deberta") == 0;
    own->relative = value_bool(value_get(config, "relative_attention"), false);
    own->shared = value_bool(value_get(config, "share_att_key"), false);
    own->c2p = deberta_lists(terms, "c2p"), own->p2c = deberta_lists(terms, "p2c");
    own->norm = deberta_lists(value_get(config, "norm_rel_ebd"), "layer_norm");
    own->buckets = own->joint ? -1 : value_int(value_get(config, "position_buckets"), -1);
    own->most = value_int(value_get(config, "max_relative_positions"), -1);
    if (own->most < 1) own->most = m->n[K_POSITIONS];
    own->span = own->buckets > 0 ? own->buckets : own->most;
    if (own->span > 1 << 20 || own->most > 1 << 24 || (own->buckets > 0 && own->buckets < 4))
        return fail(err, EF_BAD_MODEL, "config.json: position_buckets: found %lld",
                    (long long)own->buckets);
    if (!value_bool(value_get(config, "position_biased_input"), true)) m->positions = POS_NONE;
    if (m->head == HEAD_MASKED && !value_bool(value_get(config, "legacy"), true))
        m->steps = masked_now;
    return deberta_check_config(m, config, err);
}

static Str deberta_cast(Builder *b, const char *path, Str x, DType to)
{
    Str y = NODE(b, path, "Cast", x);
    build_attr_int(b, "to", to);
    return y;
}

/* Exact up to half the buckets, then by the logarithm up to the longest distance. */
static Str deberta_bucket_of(Encoder *m, const char *path, Str distance)
{
    Builder *b = m->b;
    const DebertaOwn *own = m->own;
    int64_t mid = own->buckets / 2;
    if (own->buckets <= 0) return distance;
    Str far = NODE(b, path, "Abs", distance);
    Str real = deberta_cast(b, path, NODE(b, path, "Max", far, build_int(b, 1)), T_F32);
    Str log = NODE(b, path, "Log", NODE(b, path, "Div", real, build_float(b, (double)mid)));
    float whole = logf((float)((double)(own->most - 1) / (double)mid));
    log = NODE(b, path, "Div", log, build_float(b, whole));
    log = NODE(b, path, "Ceil", NODE(b, path, "Mul", log, build_float(b, (double)(mid - 1))));
    Str large = NODE(b, path, "Add", deberta_cast(b, path, log, T_I64), build_int(b, mid));
    large = NODE(b, path, "Mul", large, NODE(b, path, "Sign", distance));
    Str near = NODE(b, path, "LessOrEqual", far, build_int(b, mid));
    return NODE(b, path, "Where", near, distance, large);
}

/* Rows of the table for every pair, [1, 1, S, S]; a Clip in two, for int64 before opset 12. */
static void write_places(Encoder *m, const char *path)
{
    Builder *b = m->b;
    DebertaOwn *own = m->own;
    Str end = NODE(b, path, "Squeeze", encoder_length(m), INTS(b, 0));
    Str at = NODE(b, path, "Range", build_int(b, 0), end, build_int(b, 1));
    Str row = NODE(b, path, "Unsqueeze", at, INTS(b, 0, 1, 2));
    Str far = NODE(b, path, "Sub", NODE(b, path, "Unsqueeze", at, INTS(b, 0, 1, 3)), row);
    Str place = NODE(b, path, "Add", deberta_bucket_of(m, path, far), build_int(b, own->span));
    place = NODE(b, path, "Max", place, build_int(b, 0));
    own->at = NODE(b, path, "Min", place, build_int(b, 2 * own->span - 1));
    if (!own->p2c) return;
    own->turned = NODE(b, path, "Transpose", own->at);
    build_attr_ints(b, "perm", (int64_t[]){ 0, 1, 3, 2 }, 4);
}

static void deberta_prepare(Encoder *m, Str hidden)
{
    (void)hidden;
    Builder *b = m->b;
    DebertaOwn *own = m->own;
    if (!own->relative || (!own->c2p && !own->p2c)) return;
    const char *path = encoder_path(m, "encoder");
    write_places(m, path);
    int64_t C = m->n[K_HIDDEN];
    Str table = build_weight(b, encoder_path(m, "encoder.rel_embeddings"), "weight", 2,
                             (int64_t[]){ 2 * own->span, C });
    if (own->norm) table = layer_norm(b, encoder_path(m, "encoder.LayerNorm"), table, C, m->eps);
    own->table = NODE(b, path, "Unsqueeze", table, INTS(b, 0));
}

/* x times the projected table, and of that, for each pair, the column of its distance: [B, H, S,
 * S]. */
static Str deberta_by_distance(Encoder *m, const char *inside, const char *project, Str x,
                               Str place, Str shape)
{
    Builder *b = m->b;
    const DebertaOwn *own = m->own;
    int64_t C = m->n[K_HIDDEN];
    Str p = layer_linear(b, build_path(b, "%s.%s", inside, project), own->table, C, C);
    p = layer_split(m, inside, p, perm_columns);
    Str all = NODE(b, inside, "MatMul", x, p);
    Str y = NODE(b, inside, "GatherElements", all, NODE(b, inside, "Expand", place, shape));
    build_attr_int(b, "axis", -1);
    return y;
}

static Str relative_scores(Encoder *m, const char *inside, Str scores, Str q, Str k)
{
    Builder *b = m->b;
    const DebertaOwn *own = m->own;
    Str shape = NODE(b, inside, "Shape", scores);
    if (own->c2p) {
        const char *project = own->joint ? "pos_proj" : own->shared ? "key_proj" : "pos_key_proj";
        Str bias = deberta_by_distance(m, inside, project, q, own->at, shape);
        scores = NODE(b, inside, "Add", scores, bias);
    }
    if (own->p2c) {
        const char *project =
            own->joint ? "pos_q_proj" : own->shared ? "query_proj" : "pos_query_proj";
        Str bias = deberta_by_distance(m, inside, project, k, own->turned, shape);
        bias = NODE(b, inside, "Transpose", bias);
        build_attr_ints(b, "perm", (int64_t[]){ 0, 1, 3, 2 }, 4);
        scores = NODE(b, inside, "Add", scores, bias);
    }
    return scores;
}

/* q, k and v as heads, [B, H, S, D] */
static void project_each(Encoder *m, const char *inside, Str x, Str part[3])
{
    static const char *const project[] = { "query_proj", "key_proj", "value_proj" };
    int64_t C = m->n[K_HIDDEN];
    for (int i = 0; i < 3; i++) {
        const char *path = build_path(m->b, "%s.%s", inside, project[i]);
        part[i] = layer_split(m, inside, layer_linear(m->b, path, x, C, C), perm_tokens);
    }
}

/* The same of one matrix: q, k, v of head 0, then of head 1; q and v have a bias of their own. */
static void project_joint(Encoder *m, const char *inside, Str x, Str part[3])
{
    static const char *const bias[] = { "q_bias", NULL, "v_bias" };
    Builder *b = m->b;
    int64_t C = m->n[K_HIDDEN], H = m->n[K_HEADS], D = C / H;
    Str all = layer_linear(b, build_path(b, "%s.in_proj", inside), x, 3 * C, C);
    part[0] = NODE(b, inside, "Split", NODE(b, inside, "Reshape", all, INTS(b, 0, 0, H, 3 * D)), INTS(b, D, D, D));
    build_attr_int(b, "axis", -1);
    part[1] = build_more(b), part[2] = build_more(b);
    for (int i = 0; i < 3; i++) {
        if (bias[i]) {
            Str w = build_weight(b, inside, bias[i], 1, &C);
            part[i] = NODE(b, inside, "Add", part[i], NODE(b, inside, "Reshape", w, INTS(b, H, D)));
        }
        part[i] = NODE(b, inside, "Transpose", part[i]);
        build_attr_ints(b, "perm", perm_tokens, 4);
    }
}

static Str deberta_attend(Encoder *m, int layer, const char *path, Str x)
{
    (void)layer;
    Builder *b = m->b;
    const DebertaOwn *own = m->own;
    const char *inside = build_path(b, "%s.attention.self", path);
    Str part[3];
    (own->joint ? project_joint : project_each)(m, inside, x, part);
    Str k = NODE(b, inside, "Transpose", part[1]);
    build_attr_ints(b, "perm", (int64_t[]){ 0, 1, 3, 2 }, 4);
    Str scores = NODE(b, inside, "MatMul", part[0], k);
    if (own->table.n) scores = relative_scores(m, inside, scores, part[0], part[1]);
    double terms = 1 + own->c2p + own->p2c, D = (double)(m->n[K_HIDDEN] / m->n[K_HEADS]);
    scores = NODE(b, inside, "Mul", scores, build_float(b, 1 / sqrt(D * terms)));
    return layer_mix(m, inside, NODE(b, inside, "Add", scores, m->mask), part[2]);
}

const Arch arch_deberta_v2 = {
    .model_type = "deberta-v2", .family = "DebertaV2", .base = "deberta.",
    .models = "deberta-v3-base, mxbai-rerank-base-v1, DeBERTa-v3-base-mnli-fever-anli",
    .modules = modules,
    .head_modules = { [HEAD_MASKED] = masked_modules, [HEAD_SEQUENCE] = pooler,
                      [HEAD_CHOICE] = pooler },
    .otherwise = { [K_VOCAB] = 128100, [K_HIDDEN] = 1536, [K_LAYERS] = 24, [K_HEADS] = 24,
                   [K_INNER] = 6144 },
    .eps = 1e-7, .mask_at = "encoder",
    .embeddings = BERT_EMBEDDINGS, .layer = BERT_LAYER,
    .paths = { .attend = "attention.self", BERT_BEHIND_ATTENTION },
    .steps = { [HEAD_MASKED] = masked, [HEAD_SEQUENCE] = sequence,
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer,
               [HEAD_CHOICE] = sequence },
    .configure = deberta_configure, .prepare = deberta_prepare, .attend = deberta_attend,
};

const Arch arch_deberta = {
    .model_type = "deberta", .family = "Deberta", .base = "deberta.",
    .models = "deberta-base, deberta-base-mnli",
    .modules = joint_modules,
    .head_modules = { [HEAD_MASKED] = masked_modules, [HEAD_SEQUENCE] = pooler },
    .otherwise = { [K_VOCAB] = 50265 },
    .eps = 1e-7, .mask_at = "encoder",
    .embeddings = BERT_EMBEDDINGS, .layer = BERT_LAYER,
    .paths = { .attend = "attention.self", BERT_BEHIND_ATTENTION },
    .steps = { [HEAD_MASKED] = masked, [HEAD_SEQUENCE] = sequence,
               [HEAD_TOKEN] = steps_classify_tokens, [HEAD_ANSWER] = steps_answer },
    .configure = deberta_configure, .prepare = deberta_prepare, .attend = deberta_attend,
};

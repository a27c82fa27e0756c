/* SPDX-License-Identifier: Apache-2.0
 * encoder.c - the shared encoder: embeddings, layers before or behind their norms, and the mask and
 * positions as transformers computes them. */
#include "arch.h"

const char *encoder_path(Encoder *m, const char *inner)
{
    if (*inner) return build_path(m->b, "%s%s", m->b->base, inner);
    size_t n = strlen(m->b->base);
    return str_dup(m->b->arena, (Str){ m->b->base, n ? n - 1 : 0 });
}

static const char *path_below(Encoder *m, const char *layer, const char *inner)
{
    return *inner ? build_path(m->b, "%s.%s", layer, inner) : layer;
}

/* The module a path lies in: "embeddings.norm" is in "embeddings". */
const char *encoder_parent(Encoder *m, const char *path)
{
    const char *dot = strrchr(path, '.');
    return str_dup(m->b->arena, (Str){ path, dot ? (size_t)(dot - path) : 0 });
}

/* Ids of padding keep pad's own position; the others count from pad + 1. */
Str encoder_counted(Encoder *m, const char *path)
{
    Builder *b = m->b;
    if (m->counted.n) return m->counted;
    Str pad = build_int(b, m->n[K_PAD]);
    Str real = NODE(b, path, "Not", NODE(b, path, "Equal", m->ids, pad));
    real = NODE(b, path, "Cast", real);
    build_attr_int(b, "to", T_I32);
    Str count = NODE(b, path, "CumSum", real, build_int(b, 1));
    Str at = NODE(b, path, "Cast", NODE(b, path, "Mul", count, real));
    build_attr_int(b, "to", T_I64);
    return m->counted = NODE(b, path, "Add", at, pad);
}

Str encoder_length(Encoder *m)
{
    if (m->length.n) return m->length;
    const char *path = encoder_parent(m, encoder_path(m, m->arch->embeddings.words));
    Str shape = NODE(m->b, path, "Shape", m->ids);
    return m->length = NODE(m->b, path, "Gather", shape, INTS(m->b, 1));
}

static Str with_positions(Encoder *m, const char *inside, Str x, int64_t width)
{
    Builder *b = m->b;
    const EmbeddingPaths *e = &m->arch->embeddings;
    if (m->positions > POS_PADDED || !e->positions) return x;
    const char *path = encoder_path(m, e->positions);
    Str table = build_table(b, path, m->n[K_POSITIONS], width), rows;
    if (m->positions == POS_PADDED)
        rows = NODE(b, path, "Gather", table, encoder_counted(m, inside));
    else
        rows = NODE(b, path, "Slice", table, INTS(b, 0), encoder_length(m), INTS(b, 0));
    return NODE(b, inside, "Add", x, rows);
}

static Str with_types(Encoder *m, const char *inside, Str x, int64_t width)
{
    Builder *b = m->b;
    if (m->types == TYPES_NONE || m->n[K_TYPES] == 0) return x;
    const char *path = encoder_path(m, m->arch->embeddings.types);
    Str table = build_table(b, path, m->n[K_TYPES], width);
    Str ids = m->types == TYPES_INPUT ? m->kinds : build_int(b, 0);
    return NODE(b, inside, "Add", x, NODE(b, path, "Gather", table, ids));
}

Str encoder_norm(Encoder *m, const char *path, Str x, int64_t width)
{
    return (m->arch->rms_norm ? layer_rms_norm : layer_norm)(m->b, path, x, width, m->eps);
}

Str encoder_embed(Encoder *m)
{
    Builder *b = m->b;
    const EmbeddingPaths *e = &m->arch->embeddings;
    int64_t width = m->n[K_EMBEDDING];
    const char *words = encoder_path(m, e->words), *inside = encoder_parent(m, words);
    Str table = build_table(b, words, m->n[K_VOCAB], width);
    Str x = NODE(b, words, "Gather", table, m->ids);
    if (m->arch->words) x = m->arch->words(m, inside, x);
    x = with_positions(m, inside, with_types(m, inside, x, width), width);
    if (m->arch->embed) x = m->arch->embed(m, inside, x, width);
    if (e->norm) x = encoder_norm(m, encoder_path(m, e->norm), x, width);
    if (m->arch->embedded) x = m->arch->embedded(m, inside, x);
    const char *project = e->project ? encoder_path(m, e->project) : NULL;
    if (!project || (width == m->n[K_HIDDEN] && !build_find(b, project, "weight"))) return x;
    return layer_linear(b, project, x, m->n[K_HIDDEN], width);
}

/* Keys that are padding get a very negative score; the same for every query. */
static void write_mask(Encoder *m)
{
    const char *path = encoder_path(m, m->arch->mask_at ? m->arch->mask_at : "");
    Str wide = NODE(m->b, path, "Unsqueeze", m->attended, INTS(m->b, 1, 2));
    m->keys = NODE(m->b, path, "Cast", wide);
    build_attr_int(m->b, "to", T_BOOL);
    m->mask = encoder_mask(m, path, m->keys);
}

static void write_rotation(Encoder *m)
{
    const char *path = encoder_path(m, m->arch->rotary ? m->arch->rotary : "rotary_emb");
    m->rotation = rotary_tables(m, path, "inv_freq", rotary_places(m, path), m->theta);
}

Str encoder_attention(Encoder *m, int layer, const char *path, Str x)
{
    const LayerPaths *p = m->paths;
    if (m->arch->attend) return m->arch->attend(m, layer, path, x);
    int64_t C = m->n[K_HIDDEN];
    const char *inside = path_below(m, path, p->attend);
    Str q = layer_linear(m->b, path_below(m, path, p->q), x, C, C);
    q = layer_split(m, inside, q, perm_tokens);
    Str k = layer_linear(m->b, path_below(m, path, p->k), x, C, C);
    k = layer_split(m, inside, k, m->theta ? perm_tokens : perm_columns);
    if (m->theta) {
        q = rotary_turn(m, inside, q, &m->rotation);
        k = NODE(m->b, inside, "Transpose", rotary_turn(m, inside, k, &m->rotation));
        build_attr_ints(m->b, "perm", (int64_t[]){ 0, 1, 3, 2 }, 4);
    }
    Str v = layer_linear(m->b, path_below(m, path, p->v), x, C, C);
    v = layer_split(m, inside, v, perm_tokens);
    return encoder_attend(m, inside, q, k, v, m->mask);
}

/* The gate half goes through the activation and is multiplied with the other half. */
static Str encoder_gated(Encoder *m, const char *path, Str x)
{
    const LayerPaths *p = m->paths;
    Builder *b = m->b;
    int64_t C = m->n[K_HIDDEN], F = m->n[K_INNER];
    const char *inside = path_below(m, path, p->gate);
    Str decide, through;
    if (p->decide) {
        decide = layer_linear(b, path_below(m, path, p->decide), x, F, C);
        through = layer_linear(b, path_below(m, path, p->up), x, F, C);
    } else {
        Str both = layer_linear(b, path_below(m, path, p->up), x, 2 * F, C);
        decide = NODE(b, inside, "Split", both, INTS(b, F, F));
        build_attr_int(b, "axis", -1);
        through = build_more(b);
    }
    return NODE(b, inside, "Mul", m->act->write(b, path_below(m, path, p->act), decide), through);
}

Str encoder_feed_forward(Encoder *m, const char *path, Str x)
{
    const LayerPaths *p = m->paths;
    int64_t C = m->n[K_HIDDEN], F = m->n[K_INNER];
    Str y;
    if (p->gate) {
        y = encoder_gated(m, path, x);
    } else {
        y = layer_linear(m->b, path_below(m, path, p->up), x, F, C);
        y = m->act->write(m->b, path_below(m, path, p->act), y);
    }
    return layer_linear(m->b, path_below(m, path, p->down), y, C, F);
}

static Str encoder_norm_at(Encoder *m, const char *path, Str x)
{
    return encoder_norm(m, path, x, m->n[K_HIDDEN]);
}

/* The residual sum of a sublayer's output and its input, and the norm if the family has it after
 * the sum. */
static Str encoder_join_residual(Encoder *m, const char *sum, const char *norm, Str y, Str x)
{
    if (!m->pre_norm && m->b->contrib)
        return layer_skip_norm(m->b, norm, y, x, m->n[K_HIDDEN], m->eps);
    x = NODE(m->b, sum, "Add", y, x);
    return m->pre_norm ? x : encoder_norm_at(m, norm, x);
}

/* "layer_scale1.lambda1" is a parameter of the module layer_scale1, "lambda_1" one of the layer. */
static Str encoder_scaled(Encoder *m, const char *layer, const char *scale, Str y)
{
    if (!scale) return y;
    const char *path = path_below(m, layer, scale), *inside = encoder_parent(m, path);
    Str by = build_weight(m->b, inside, path + strlen(inside) + 1, 1, &m->n[K_HIDDEN]);
    return NODE(m->b, inside, "Mul", y, by);
}

static Str encoder_one_layer(Encoder *m, int i, Str x)
{
    const LayerPaths *p = m->paths;
    Builder *b = m->b;
    const char *path = encoder_path(m, m->arch->layer_path ? m->arch->layer_path(m, i)
                                                         : build_path(b, m->arch->layer, i));
    if (m->arch->begin) x = m->arch->begin(m, i, path, x);
    const char *norm1 = path_below(m, path, p->norm1), *norm2 = path_below(m, path, p->norm2);
    bool first = m->pre_norm && i == 0 && !build_find(b, norm1, "weight");
    Str in = m->pre_norm && !first ? encoder_norm_at(m, norm1, x) : x;
    Str y = layer_linear(b, path_below(m, path, p->out), encoder_attention(m, i, path, in),
                         m->n[K_HIDDEN], m->n[K_HIDDEN]);
    y = encoder_scaled(m, path, p->scale1, y);
    x = encoder_join_residual(m, path_below(m, path, p->sum1), norm1, y, x);
    in = m->pre_norm ? encoder_norm_at(m, norm2, x) : x;
    y = encoder_scaled(m, path, p->scale2, encoder_feed_forward(m, path, in));
    return encoder_join_residual(m, path_below(m, path, p->sum2), norm2, y, x);
}

Str encoder_layers(Encoder *m, Str x)
{
    for (int i = 0; i < m->n[K_LAYERS] && build_ok(m->b); i++) x = encoder_one_layer(m, i, x);
    if (!m->final_norm) return x;
    return encoder_norm_at(m, encoder_path(m, m->final_norm), x);
}

/* [B, N, S] of several choices becomes [B * N, S] */
static Str take_input(Encoder *m, const char *name)
{
    Builder *b = m->b;
    bool choices = m->head == HEAD_CHOICE;
    build_input(b, name, choices ? 3 : 2, (int64_t[]){ DIM_UNKNOWN, DIM_UNKNOWN, DIM_UNKNOWN });
    if (!choices) return str_of(name);
    Str last = NODE(b, "", "Gather", NODE(b, "", "Shape", str_of(name)), INTS(b, 2));
    Str shape = NODE(b, "", "Concat", INTS(b, -1), last);
    build_attr_int(b, "axis", 0);
    return NODE(b, "", "Reshape", str_of(name), shape);
}

static bool encoder_write_texts(Encoder *m)
{
    Builder *b = m->b;
    m->ids = take_input(m, "input_ids");
    if (m->arch->boxes) build_input(b, "bbox", 3, (int64_t[]){ DIM_UNKNOWN, DIM_UNKNOWN, 4 });
    m->attended = take_input(m, "attention_mask");
    if (m->types == TYPES_INPUT && m->n[K_TYPES] > 0) m->kinds = take_input(m, "token_type_ids");
    Str x = encoder_embed(m);
    write_mask(m);
    if (m->arch->prepare) m->arch->prepare(m, x);
    if (m->theta) write_rotation(m);
    x = encoder_layers(m, x);
    if (m->finish) m->finish(m, x);
    else head_write(m, x);
    return build_ok(b);
}

bool encoder_write(Encoder *m, Err *err)
{
    m->b->err = err;
    if (!m->arch->write) return encoder_write_texts(m);
    m->arch->write(m);
    return build_ok(m->b);
}

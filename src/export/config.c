/* SPDX-License-Identifier: Apache-2.0
 * config.c - config.json to the numbers of an Encoder. What is missing takes the family's default;
 * what is there must be sane, since sizes are multiplied later. */
#include "arch.h"

enum { WIDE = 1 << 20, MANY = 1 << 24, DEEP = 1 << 12 }; /* bounds what a config can ask for */

typedef struct KeyRow {
    const char *name;
    int64_t otherwise, least, most;
} KeyRow;
static const KeyRow keys[K_COUNT] = {
    [K_VOCAB] = { "vocab_size", 30522, 1, MANY },
    [K_HIDDEN] = { "hidden_size", 768, 1, WIDE },
    [K_LAYERS] = { "num_hidden_layers", 12, 0, DEEP },
    [K_HEADS] = { "num_attention_heads", 12, 1, WIDE },
    [K_INNER] = { "intermediate_size", 3072, 1, WIDE },
    [K_POSITIONS] = { "max_position_embeddings", 512, 1, MANY },
    [K_TYPES] = { "type_vocab_size", 2, 0, MANY },
    [K_PAD] = { "pad_token_id", 0, 0, MANY },
    [K_EMBEDDING] = { "embedding_size", 0, 1, WIDE },
};

static bool config_wrong_value(const char *key, const Value *v, const char *wanted, Err *err)
{
    return fail(err, EF_BAD_MODEL, "config.json: %s: found %s, wanted %s", key,
                value_kind_name(v->kind), wanted);
}

static bool read_number(Encoder *m, const Value *config, ConfigKey k, Err *err)
{
    const char *name = m->arch->key[k] ? m->arch->key[k] : keys[k].name;
    const Value *v = value_get(config, name);
    m->n[k] = m->arch->otherwise[k] ? m->arch->otherwise[k] : keys[k].otherwise;
    if (k == K_EMBEDDING) m->n[k] = m->arch->otherwise[k] ? m->n[k] : m->n[K_HIDDEN];
    if (!v || v->kind == V_NULL) return true;
    if (v->kind != V_INT) return config_wrong_value(name, v, "a whole number", err);
    if (v->i < keys[k].least || v->i > keys[k].most)
        return fail(err, EF_BAD_MODEL, "config.json: %s: found %lld, wanted %lld to %lld", name,
                    (long long)v->i, (long long)keys[k].least, (long long)keys[k].most);
    m->n[k] = v->i;
    return true;
}

static bool read_eps(Encoder *m, const Value *config, Err *err)
{
    const char *name = m->arch->eps_key ? m->arch->eps_key : "layer_norm_eps";
    const Value *v = value_get(config, name);
    m->eps = m->arch->eps;
    if (!*name || !v || v->kind == V_NULL) return true;
    m->eps = value_float(v, -1);
    return m->eps >= 0 || config_wrong_value(name, v, "a number from 0", err);
}

static bool config_read_activation(Encoder *m, const Value *config, Err *err)
{
    const char *name = m->arch->act_key ? m->arch->act_key : "hidden_act";
    const Value *v = value_get(config, name);
    Str act = str_of(m->arch->act ? m->arch->act : "gelu");
    if (v && v->kind != V_NULL && v->kind != V_STR)
        return config_wrong_value(name, v, "a string", err);
    act = value_str(v, act);
    m->act = activation_find(act);
    return m->act || fail(err, EF_UNSUPPORTED, "config.json: %s: found \"%.*s\", wanted %s", name,
                          (int)MIN(act.n, 60), act.p, activation_names);
}

static bool read_rotary(Encoder *m, const Value *config, Err *err)
{
    if (!m->arch->theta || m->positions != POS_ROTARY) return true;
    if (m->n[K_HIDDEN] / m->n[K_HEADS] % 2)
        return fail(err, EF_BAD_MODEL, "config.json: rotary positions need heads of even size");
    return rotary_theta(config, value_get(config, "rope_parameters"), "rope_theta", m->arch->theta,
                        &m->theta, err);
}

/* Forms that change what the layers compute. */
static bool config_refuse_forms(Encoder *m, const Value *config, Err *err)
{
    Str kind = value_str(value_get(config, "position_embedding_type"), STR("absolute"));
    bool rotary = m->arch->theta && str_is(kind, "rotary"); /* families that have both */
    if (rotary) m->positions = POS_ROTARY;
    if (!str_is(kind, "absolute") && kind.n && !rotary && !m->arch->places_own)
        return fail(err, EF_UNSUPPORTED, "config.json: position_embedding_type: found \"%.*s\", "
                    "wanted absolute", (int)MIN(kind.n, 60), kind.p);
    if (value_bool(value_get(config, "is_decoder"), false))
        return fail(err, EF_UNSUPPORTED, "config.json: is_decoder: found true, wanted an encoder");
    return true;
}

bool encoder_configure(Encoder *m, const Value *config, Err *err)
{
    m->positions = m->arch->positions;
    m->types = m->arch->types;
    m->steps = m->arch->steps[m->head];
    m->paths = &m->arch->paths;
    m->pre_norm = m->arch->pre_norm;
    m->final_norm = m->arch->final_norm;
    for (ConfigKey k = 0; k < K_COUNT; k++)
        if (!read_number(m, config, k, err)) return false;
    if (m->n[K_HIDDEN] % m->n[K_HEADS])
        return fail(err, EF_BAD_MODEL, "config.json: a hidden size of %lld does not divide into "
                    "%lld heads", (long long)m->n[K_HIDDEN], (long long)m->n[K_HEADS]);
    return config_refuse_forms(m, config, err) && read_eps(m, config, err) &&
           config_read_activation(m, config, err) && read_rotary(m, config, err) &&
           (!m->arch->configure || m->arch->configure(m, config, err));
}

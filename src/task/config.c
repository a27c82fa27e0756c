/* SPDX-License-Identifier: Apache-2.0
 * config.c - what we need of config.json. A key that is null counts as missing; one of a wrong type is
 * an error, since a model that is read wrongly answers wrongly. */
#include "task.h"

enum { MOST_LABELS = 1 << 18 }; /* bounds what a file can ask for */

typedef struct NumberKey {
    const char *key;
    size_t at; /* offset of the int in ModelConfig; the first key that is there counts */
} NumberKey;

static const NumberKey number_keys[] = {
    { "num_labels", offsetof(ModelConfig, num_labels) },
    { "hidden_size", offsetof(ModelConfig, hidden_size) },
    { "dim", offsetof(ModelConfig, hidden_size) },     /* DistilBERT */
    { "d_model", offsetof(ModelConfig, hidden_size) },
    { "vocab_size", offsetof(ModelConfig, vocab_size) },
    { "max_position_embeddings", offsetof(ModelConfig, max_positions) },
    { "n_positions", offsetof(ModelConfig, max_positions) },
    { "type_vocab_size", offsetof(ModelConfig, type_vocab_size) },
    { "pad_token_id", offsetof(ModelConfig, pad_token_id) },
};

static const Value *said(const Value *root, const char *key)
{
    const Value *v = value_get(root, key);
    return v && v->kind != V_NULL ? v : NULL;
}

static bool wrong(const char *key, const Value *v, const char *wanted, Err *err)
{
    return fail(err, EF_BAD_MODEL, "%s: found %s, wanted %s", key, value_kind_name(v->kind),
                wanted);
}

static bool read_numbers(const Value *root, ModelConfig *config, Err *err)
{
    for (size_t i = 0; i < COUNT(number_keys); i++) {
        const NumberKey *row = &number_keys[i];
        const Value *v = said(root, row->key);
        int *out = (int *)((char *)config + row->at);
        if (!v || *out) continue;
        if (v->kind != V_INT) return wrong(row->key, v, "a whole number", err);
        if (v->i < -1 || v->i > INT32_MAX)
            return fail(err, EF_BAD_MODEL, "%s: found %lld, wanted 0 to %d", row->key,
                        (long long)v->i, INT32_MAX);
        *out = v->i < 0 ? 0 : (int)v->i; /* -1 is how some files say "none" */
    }
    return true;
}

static bool read_string(const Value *root, const char *key, Str *out, Err *err)
{
    const Value *v = said(root, key);
    if (v && v->kind != V_STR) return wrong(key, v, "a string", err);
    *out = value_str(v, (Str){ 0 });
    return true;
}

static bool read_architecture(const Value *root, Str *out, Err *err)
{
    const Value *v = said(root, "architectures");
    *out = (Str){ 0 };
    if (!v) return true;
    if (v->kind != V_LIST) return wrong("architectures", v, "a list of strings", err);
    if (v->list.n == 0) return true;
    if (v->list.items[0].kind != V_STR)
        return wrong("architectures[0]", &v->list.items[0], "a string", err);
    *out = v->list.items[0].s;
    return true;
}

static bool check_problem_type(Str type, Err *err)
{
    static const char *const known[] = { "", "regression", "single_label_classification",
                                         "multi_label_classification" };
    for (size_t i = 0; i < COUNT(known); i++)
        if (str_is(type, known[i])) return true;
    return fail(err, EF_BAD_MODEL,
                "problem_type: found \"%.*s\", wanted regression, single_label_classification or "
                "multi_label_classification", STR_ARG(type));
}

/* ---- labels: all of them get a name, those without one the name that transformers gives ---- */
typedef struct Label {
    int64_t id;
    Str name;
} Label;

static bool label_id(const char *key, Str text, int64_t *id, Err *err)
{
    if (str_int(text, id) && *id >= 0 && *id < MOST_LABELS) return true;
    return fail(err, EF_BAD_MODEL, "%s: found id \"%.*s\", wanted a whole number from 0 to %d", key,
                STR_ARG(text), MOST_LABELS - 1);
}

/* {"0": "PER"}; a number as a name is taken as its digits. */
static bool read_id2label(Arena *arena, const Member *m, Label *out, Err *err)
{
    if (!label_id("id2label", m->key, &out->id, err)) return false;
    if (m->value.kind == V_INT)
        out->name = str_of(str_format(arena, "%lld", (long long)m->value.i));
    else if (m->value.kind == V_STR)
        out->name = m->value.s;
    else
        return wrong("id2label", &m->value, "strings", err);
    return true;
}

/* {"PER": 0} or {"PER": "0"}. */
static bool read_label2id(Arena *arena, const Member *m, Label *out, Err *err)
{
    out->name = m->key;
    if (m->value.kind == V_STR) return label_id("label2id", m->value.s, &out->id, err);
    if (m->value.kind != V_INT) return wrong("label2id", &m->value, "whole numbers", err);
    return label_id("label2id", str_of(str_format(arena, "%lld", (long long)m->value.i)), &out->id,
                    err);
}

static const struct LabelMap {
    const char *key;
    bool (*read)(Arena *, const Member *, Label *, Err *);
} label_maps[] = {
    { "id2label", read_id2label },
    { "label2id", read_label2id },
};

static void place_labels(Arena *arena, const Label *label, size_t n, ModelConfig *config)
{
    for (size_t i = 0; i < n; i++)
        if (label[i].id >= config->num_labels) config->num_labels = (int)label[i].id + 1;
    config->labels = ARRAY(arena, Str, config->num_labels);
    for (size_t i = 0; i < n; i++) config->labels[label[i].id] = label[i].name;
    for (int i = 0; i < config->num_labels; i++)
        if (!config->labels[i].p) config->labels[i] = str_of(str_format(arena, "LABEL_%d", i));
}

static bool read_labels(Arena *arena, const Value *root, ModelConfig *config, Err *err)
{
    for (size_t k = 0; k < COUNT(label_maps); k++) {
        const Value *map = said(root, label_maps[k].key);
        if (map && map->kind != V_MAP) return wrong(label_maps[k].key, map, "an object", err);
        if (!map || map->map.n == 0) continue;
        Label *label = ARRAY(arena, Label, map->map.n);
        for (size_t i = 0; i < map->map.n; i++)
            if (!label_maps[k].read(arena, &map->map.items[i], &label[i], err)) return false;
        place_labels(arena, label, map->map.n, config);
        return true;
    }
    config_name_labels(arena, config, config->num_labels);
    return true;
}

void config_name_labels(Arena *arena, ModelConfig *config, int64_t width)
{
    if (!config->num_labels && width > 0 && width <= MOST_LABELS) config->num_labels = (int)width;
    if (config->labels || config->num_labels < 2 || str_is(config->problem_type, "regression"))
        return;
    place_labels(arena, NULL, 0, config);
}

int config_vector_size(const ModelConfig *config)
{
    return config->vector_size ? config->vector_size : config->hidden_size;
}

bool config_read(Arena *arena, const Value *root, ModelConfig *config, Err *err)
{
    *config = (ModelConfig){ .root = root };
    if (root->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "found %s, wanted an object", value_kind_name(root->kind));
    if (!read_numbers(root, config, err)) return false;
    if (config->num_labels > MOST_LABELS)
        return fail(err, EF_BAD_MODEL, "num_labels: found %d, wanted at most %d",
                    config->num_labels, MOST_LABELS);
    return read_string(root, "model_type", &config->model_type, err)
           && read_string(root, "problem_type", &config->problem_type, err)
           && check_problem_type(config->problem_type, err)
           && read_architecture(root, &config->architecture, err)
           && read_labels(arena, root, config, err);
}

/* SPDX-License-Identifier: Apache-2.0
 * build_config.c - the YAML of `build`. A key is a row: where it goes, or why it is refused.
 * Unknown keys are errors, because a typo that is ignored costs an afternoon. */
#include "api/build.h"

#include <stdlib.h>

#include "base/log.h"
#include "data/yaml.h"

enum { YAML_LIMIT = 1 << 20 };

typedef enum { KEY_TEXT, KEY_PATH, KEY_UNLESS, KEY_POOLING, KEY_EITHER, KEY_ANY, KEY_REFUSED } KeyKind;
typedef struct Key {
    const char *name;
    KeyKind kind;
    size_t at;       /* in BuildConfig: Str, const char *, bool (its negation), HeadWish, its part */
    const char *why; /* KEY_REFUSED */
} Key;

#define AT(field) offsetof(BuildConfig, field)
#define LATER_IMAGE "image models are not supported yet"
static const Key top_keys[] = {
    { "name", KEY_TEXT, AT(source.name) },
    { "version", KEY_TEXT, AT(source.version) },
    { "path", KEY_ANY }, /* read_path */
    { "model_type", KEY_TEXT, AT(source.task) },
    { "precision", KEY_TEXT, AT(source.precision) },
    { "pooling", KEY_POOLING, AT(source.wish) },
    { "normalize", KEY_EITHER, AT(source.wish.normalize) },
    { "output_path", KEY_PATH, AT(output_path) },
    { "output_dir", KEY_PATH, AT(output_dir) },
    { "cache_dir", KEY_PATH, AT(cache_dir) },
    { "base_binary_path", KEY_PATH, AT(base_binary) },
    { "target", KEY_PATH, AT(target) },
    { "build", KEY_UNLESS, AT(validate_only) },
    { "tokenizer", KEY_ANY }, /* read_tokenizer */
    { "transform", KEY_ANY }, /* read_script */
    { "lua_libs", KEY_ANY },
    { "validate_transform", KEY_UNLESS, AT(trust_script) },
    { 0 },
};
static const Key path_keys[] = {
    { "model_weights_path", KEY_PATH, AT(source.weights) },
    { "model_config_path", KEY_PATH, AT(source.config) },
    { "tokenizer_path", KEY_PATH, AT(source.tokenizer.vocab) },
    { "tokenizer_config_path", KEY_PATH, AT(source.tokenizer.config) },
    { "preprocessor_config_path", KEY_REFUSED, 0, LATER_IMAGE },
    { 0 },
};
static const Key tokenizer_keys[] = { /* values are checked by limit_from_source */
    { "pad_strategy", KEY_ANY },
    { "truncation_side", KEY_ANY },
    { "truncation_strategy", KEY_ANY },
    { "max_length", KEY_ANY },
    { "stride", KEY_ANY },
    { 0 },
};

static bool unknown_key(Str key, const Key *rows, Err *err)
{
    const char *names[32];
    size_t n = 0;
    for (; rows[n].name; n++) names[n] = rows[n].name;
    const char *near = str_nearest(key, names, n);
    if (near)
        return fail(err, EF_INVALID_INPUT, "unknown key `%.*s`: did you mean `%s`?", STR_ARG(key),
                    near);
    return fail(err, EF_INVALID_INPUT, "unknown key `%.*s`", STR_ARG(key));
}

static bool wrong_kind(const Key *key, const Value *v, const char *wanted, Err *err)
{
    bool number = v->kind == V_INT || v->kind == V_FLOAT;
    return fail(err, EF_INVALID_INPUT, "%s: found %s, wanted %s%s", key->name,
                value_kind_name(v->kind), wanted,
                number && key->kind != KEY_UNLESS ? " (put it in quotes)" : "");
}

/* "~/x" is the shell's way to write a path, and YAML never sees a shell. */
static const char *expand_home(Arena *arena, Str path)
{
    const char *home = getenv("HOME");
    if (!home || !str_starts(path, "~/")) return str_dup(arena, path);
    return path_join(arena, home, (Str){ path.p + 2, path.n - 2 });
}

static bool take(Arena *arena, const Key *key, const Value *v, BuildConfig *c, Err *err)
{
    char *field = (char *)c + key->at;
    switch (key->kind) {
    case KEY_REFUSED:
        return fail(err, EF_UNSUPPORTED, "%s: %s", key->name, key->why);
    case KEY_UNLESS:
        if (v->kind != V_BOOL) return wrong_kind(key, v, "true or false", err);
        *(bool *)field = !v->b;
        return true;
    case KEY_EITHER:
        if (v->kind != V_BOOL) return wrong_kind(key, v, "true or false", err);
        *(TaskNormalize *)field = v->b ? NORMALIZE_YES : NORMALIZE_NO;
        return true;
    case KEY_POOLING:
        if (v->kind != V_STR) return wrong_kind(key, v, "a word", err);
        return head_wish(v->s, (Str){ 0 }, (HeadWish *)field, err);
    case KEY_TEXT:
        if (v->kind != V_STR) return wrong_kind(key, v, "a string", err);
        *(Str *)field = v->s;
        return true;
    case KEY_PATH:
        if (v->kind != V_STR || v->s.n == 0) return wrong_kind(key, v, "a path", err);
        *(const char **)field = expand_home(arena, v->s);
        return true;
    default:
        return true;
    }
}

static bool read_keys(Arena *arena, const Value *map, const Key *rows, BuildConfig *c, Err *err)
{
    for (size_t i = 0; i < map->map.n; i++) {
        const Member *m = &map->map.items[i];
        const Key *key = rows;
        while (key->name && !str_is(m->key, key->name)) key++;
        if (!key->name) return unknown_key(m->key, rows, err);
        if (m->value.kind != V_NULL && !take(arena, key, &m->value, c, err)) return false;
    }
    return true;
}

static bool read_path(Arena *arena, const Value *path, BuildConfig *c, Err *err)
{
    if (path && path->kind == V_STR && path->s.n)
        return c->folder = expand_home(arena, path->s), true;
    if (!path || path->kind == V_NULL) return fail(err, EF_INVALID_INPUT, "missing field `path`");
    if (path->kind != V_MAP)
        return fail(err, EF_INVALID_INPUT, "path: found %s, wanted a folder or a map of files",
                    value_kind_name(path->kind));
    if (!read_keys(arena, path, path_keys, c, err)) return within(err, "path");
    const struct {
        const char *file, *key;
    } needed[] = { { c->source.weights, "model_weights_path" },
                   { c->source.tokenizer.vocab, "tokenizer_path" } };
    for (size_t i = 0; i < COUNT(needed); i++)
        if (!needed[i].file)
            return fail(err, EF_INVALID_INPUT, "path: missing field `%s`", needed[i].key);
    return true;
}

/* Batches are never padded here, so pad_strategy is checked and has no effect. */
static bool check_padding(const Value *v, Err *err)
{
    const Value *fixed = value_get(v, "fixed");
    if (!v || v->kind == V_NULL || value_int(fixed, 0) > 0) return true;
    if (str_is(value_str(v, STR("")), "batch_longest")) return true;
    return fail(err, EF_INVALID_INPUT,
                "pad_strategy: found %s, wanted `batch_longest` or `{fixed: N}`",
                value_kind_name(v->kind));
}

static bool read_tokenizer(Arena *arena, const Value *map, BuildConfig *c, Err *err)
{
    if (!map || map->kind == V_NULL) return true;
    if (map->kind != V_MAP)
        return fail(err, EF_INVALID_INPUT, "tokenizer: found %s, wanted a map",
                    value_kind_name(map->kind));
    if (!read_keys(arena, map, tokenizer_keys, c, err) ||
        !check_padding(value_get(map, "pad_strategy"), err))
        return within(err, "tokenizer");
    const Value *stride = value_get(map, "stride");
    if (stride && stride->kind != V_NULL && (stride->kind != V_INT || stride->i < 0))
        return fail(err, EF_INVALID_INPUT, "tokenizer: stride: found %s, wanted a number from 0 on",
                    value_kind_name(stride->kind));
    if (value_int(stride, 0) > 0)
        log_warn("tokenizer.stride %lld has no effect: what is cut off is not returned",
                 (long long)stride->i);
    c->source.yaml_tokenizer = map;
    return true;
}

/* The script itself, or where it is; lua_libs. */
static bool read_libs(Arena *arena, const Value *list, ModelSource *s, Err *err)
{
    if (!list || list->kind == V_NULL) return true;
    bool ok = list->kind == V_LIST;
    Str *lib = ARRAY(arena, Str, ok ? list->list.n + 1 : 0);
    for (size_t i = 0; ok && i < list->list.n; i++) {
        ok = list->list.items[i].kind == V_STR;
        if (ok) lib[i] = list->list.items[i].s;
    }
    if (!ok) return fail(err, EF_INVALID_INPUT, "lua_libs: wanted a list of names");
    s->lib = lib;
    s->n_lib = list->list.n;
    return true;
}

static bool read_script(Arena *arena, const Value *map, BuildConfig *c, Err *err)
{
    static const Key keys[] = { { "path", KEY_PATH, AT(script_path) }, { 0 } };
    const Value *v = value_get(map, "transform");
    if (!read_libs(arena, value_get(map, "lua_libs"), &c->source, err)) return false;
    if (!v || v->kind == V_NULL) return true;
    if (v->kind == V_STR) return c->source.script = v->s.p ? v->s : STR(""), true;
    if (v->kind != V_MAP)
        return fail(err, EF_INVALID_INPUT, "transform: found %s, wanted a script or {path: FILE}",
                    value_kind_name(v->kind));
    if (!read_keys(arena, v, keys, c, err)) return within(err, "transform");
    return c->script_path || fail(err, EF_INVALID_INPUT, "transform: missing field `path`");
}

static bool read_document(Arena *arena, const Value *root, BuildConfig *c, Err *err)
{
    static const Key document_keys[] = { { "encoderfile", KEY_ANY }, { 0 } };
    if (root->kind != V_MAP)
        return fail(err, EF_INVALID_INPUT, "found %s, wanted the key `encoderfile`",
                    value_kind_name(root->kind));
    const Value *map = value_get(root, "encoderfile");
    if (!map && value_get(root, "name"))
        return fail(err, EF_INVALID_INPUT,
                    "missing field `encoderfile`: put everything below that key");
    if (!read_keys(arena, root, document_keys, c, err)) return false;
    if (!map) return fail(err, EF_INVALID_INPUT, "missing field `encoderfile`");
    if (map->kind != V_MAP)
        return fail(err, EF_INVALID_INPUT, "encoderfile: found %s, wanted a map",
                    value_kind_name(map->kind));
    if (!read_keys(arena, map, top_keys, c, err)) return within(err, "encoderfile");
    if (c->source.name.n == 0)
        return fail(err, EF_INVALID_INPUT, "encoderfile: missing field `name`");
    if (!read_path(arena, value_get(map, "path"), c, err) ||
        !read_tokenizer(arena, value_get(map, "tokenizer"), c, err) ||
        !read_script(arena, map, c, err))
        return within(err, "encoderfile");
    return true;
}

bool build_read(Arena *arena, const char *yaml_path, BuildConfig *c, Err *err)
{
    Str text;
    Value *root = NEW(arena, Value);
    *c = (BuildConfig){ 0 };
    if (!file_is(yaml_path) && !dir_is(yaml_path))
        return fail(err, EF_NOT_FOUND, "%s: Encoderfile config not found", yaml_path);
    if (!file_read(arena, yaml_path, YAML_LIMIT, &text, err)) return false;
    if (!yaml_parse(arena, text, root, err) || !read_document(arena, root, c, err))
        return within(err, "%s", yaml_path);
    return true;
}

bool build_from_environment(Arena *arena, BuildConfig *c, Err *err)
{
    static const Key variables[] = {
        { "MODEL_WEIGHTS_PATH", KEY_PATH, AT(source.weights) },
        { "TOKENIZER_PATH", KEY_PATH, AT(source.tokenizer.vocab) },
        { "MODEL_CONFIG_PATH", KEY_PATH, AT(source.config) },
        { "MODEL_TYPE", KEY_TEXT, AT(source.task) },
        { "MODEL_NAME", KEY_TEXT, AT(source.name) },
    };
    *c = (BuildConfig){ 0 };
    for (size_t i = 0; i < COUNT(variables); i++) {
        Value v = value_of_str(str_of(getenv(variables[i].name)));
        if (v.s.n == 0)
            return fail(err, EF_USAGE,
                        "nothing to build: give -f config.yml, or set %s and its like",
                        variables[i].name);
        if (!take(arena, &variables[i], &v, c, err)) return false;
    }
    return true;
}

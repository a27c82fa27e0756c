/* SPDX-License-Identifier: Apache-2.0
 * build_config.c - the settings of `build` as rows: its flags, and by their `key` the YAML. Unknown
 * keys are errors, because a typo that is ignored costs an afternoon. */
#include <stdlib.h>

#include "api/build.h"
#include "base/log.h"
#include "data/yaml.h"
#include "hub/hub.h"
#include "model/open_options.h"

enum { YAML_LIMIT = 1 << 20, MOST_KEYS = 40 };

#define FIELD(field) OPTION_FIELD_OF(BuildConfig, field)
static const char *const side_words[] = { "right", "left", NULL };
static const char *const strategy_words[] = { "longest_first", "only_first", "only_second", NULL };

const Option build_options[] = {
    { "model", 'm', "PATH", "the model, also the word behind `build`: a folder, an .onnx, weights, or "
                            "a name on the Hub", TAKES_PATH, FIELD(folder), .key = "path" },
    { "name", 0, "NAME", "of the model, in replies and as NAME.encoderfile; default: its folder's",
      TAKES_TEXT, FIELD(source.name), .key = "name" },
    { "model-version", 0, "V", "of the model; default: 0.1.0", TAKES_TEXT, FIELD(source.version),
      .key = "version" },
    OPTIONS_TASK(FIELD(open.task), .key = "model_type"),
    { "precision", 0, "P", "of products: fp32, bf16 or int8; default: as the file is", TAKES_TEXT,
      FIELD(source.precision), .key = "precision" },
    OPTION_POOLING(FIELD(open.pooling), .key = "pooling"),
    OPTION_NORMALIZE(FIELD(open.normalize), .key = "normalize"),
    { "output-path", 'o', "FILE", "the package to write", TAKES_TEXT, FIELD(output_path),
      .key = "output_path" },
    { "output-dir", 0, "DIR", "its folder; its name is then NAME.encoderfile", TAKES_TEXT,
      FIELD(output_dir), .against = "output-path", .key = "output_dir" },
    { "model-weights-path", 0, "FILE", "a single file instead of a folder: an .onnx or weights",
      TAKES_PATH, FIELD(source.weights), .against = "model", .key = "path.model_weights_path" },
    { "model-config-path", 0, "FILE", "its config.json", TAKES_PATH, FIELD(source.config),
      .against = "model", .key = "path.model_config_path" },
    { "tokenizer-path", 0, "FILE", "its tokenizer.json, or what can be made into one", TAKES_PATH,
      FIELD(source.tokenizer.vocab), .against = "model", .key = "path.tokenizer_path" },
    { "tokenizer-config-path", 0, "FILE", "its tokenizer_config.json", TAKES_PATH,
      FIELD(source.tokenizer.config), .against = "model", .key = "path.tokenizer_config_path" },
    { "preprocessor-config-path", 0, "FILE", "its preprocessor_config.json: of models that read pictures",
      TAKES_PATH, FIELD(source.preprocessor), .against = "model", .key = "path.preprocessor_config_path" },
    OPTION_TOKENIZER(FIELD(open.tokenizer)),
    { "max-length", 0, "N", "most tokens of a text; default: what the model's files say",
      TAKES_COUNT, FIELD(max_length), NULL, 1, 1 << 30, .key = "tokenizer.max_length" },
    { "truncation-side", 0, "SIDE", "where a text that is too long is cut", TAKES_WORD,
      FIELD(truncation_side), .words = side_words, .key = "tokenizer.truncation_side" },
    { "truncation-strategy", 0, "WAY", "which text of a pair is cut", TAKES_WORD,
      FIELD(truncation_strategy), .words = strategy_words, .key = "tokenizer.truncation_strategy" },
    { "stride", 0, "N", "has no effect, and says so: what is cut off is not returned", TAKES_COUNT,
      FIELD(stride), NULL, 0, 1 << 30, .key = "tokenizer.stride" },
    { "pad-strategy", 0, "WAY", "batch_longest or fixed=N (YAML: {fixed: N}); has no effect: batches"
      " are not padded", TAKES_TEXT, FIELD(pad_strategy), .key = "tokenizer.pad_strategy" },
    { "transform", 0, "FILE", "a Lua script for the model's numbers", TAKES_PATH, FIELD(script_path),
      .key = "transform.path" },
    { "transform-script", 0, "LUA", "the script itself", TAKES_TEXT, FIELD(source.script),
      .against = "transform", .key = "transform" },
    { "lua-libs", 0, "NAME", "a library that the script may use; default: table, string and math",
      TAKES_LIST, FIELD(libs), .key = "lua_libs" },
    { "no-validate-transform", 0, NULL, "do not try the script", TAKES_NOTHING, FIELD(trust_script),
      .key = "!validate_transform" },
    { "no-build", 0, NULL, "validate everything, write nothing", TAKES_NOTHING, FIELD(validate_only),
      .key = "!build" },
    { "base-binary-path", 0, "FILE", "another program to put in front of the model", TAKES_PATH,
      FIELD(base_binary), .key = "base_binary_path" },
    { "target", 0, "T", "x86_64-linux or aarch64-linux: by encoderfile-T beside this program",
      TAKES_TEXT, FIELD(target), .key = "target" },
    { "cache-dir", 0, "DIR", "has no effect, and says so: there is nothing to cache", TAKES_TEXT,
      FIELD(cache_dir), .key = "cache_dir" },
    OPTIONS_ACCURACY(BuildConfig),
    { 0 },
};

/* ---- rows by their keys ---- */

static const char *key_of(const Option *o)
{
    return o->key && o->key[0] == '!' ? o->key + 1 : o->key;
}

static const Option *row_of_key(Str key)
{
    for (const Option *o = build_options; o->name; o++)
        if (o->key && str_is(key, key_of(o))) return o;
    return NULL;
}

/* The names that may stand below a key ("" is the top), each once. */
static size_t names_below(Arena *arena, const char *above, const char **names)
{
    size_t n = 0, deep = strlen(above);
    for (const Option *o = build_options; o->name; o++) {
        const char *key = key_of(o);
        if (!key || strncmp(key, above, deep) != 0 || (deep && key[deep] != '.')) continue;
        key += deep + (deep > 0);
        const char *end = strchr(key, '.');
        Str name = end ? (Str){ key, (size_t)(end - key) } : str_of(key);
        size_t i = 0;
        while (i < n && !str_is(name, names[i])) i++;
        if (i == n && n < MOST_KEYS) names[n++] = str_dup(arena, name);
    }
    return n;
}

static bool unknown_key(Arena *arena, const char *above, Str key, Err *err)
{
    const char *names[MOST_KEYS];
    size_t n = names_below(arena, above, names);
    const char *near = str_nearest(key, names, n);
    Buf list = { .arena = arena };
    for (size_t i = 0; i < n; i++) buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
    return fail(err, EF_INVALID_INPUT, "unknown key `%.*s`%s%s%s (known are %.*s)", STR_ARG(key),
                near ? ": did you mean `" : "", near ? near : "", near ? "`?" : "",
                STR_ARG(buf_view(&list)));
}

/* ---- values ---- */

static bool is_named_path(const Option *o)
{
    static const char *const names[] = { "FILE", "DIR", "PATH" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (o->argument && strcmp(o->argument, names[i]) == 0) return true;
    return false;
}

/* "~/x" is the shell's way to write a path, and YAML never sees a shell. */
static const char *expand_home(Arena *arena, Str path)
{
    const char *home = getenv("HOME");
    if (!home || !str_starts(path, "~/")) return str_dup(arena, path);
    return path_join(arena, home, (Str){ path.p + 2, path.n - 2 });
}

static bool is_there(const char *path)
{
    return file_is(path) || dir_is(path);
}

/* A file that is read stands beside the YAML, or else in the current folder, from which the Rust
 * encoderfile counts; where the two differ, the log says which was taken. */
static const char *find_beside(Arena *arena, const char *yaml, const char *key, const char *path)
{
    const char *folder = path_dir(arena, yaml), *beside = path_join(arena, folder, str_of(path));
    if (path[0] == '/' || file_same(folder, ".") || strcmp(folder, ".") == 0) return path;
    if (!is_there(beside)) {
        if (is_there(path)) log_info("%s: taken from the current folder: %s", key, path);
        return path;
    }
    log_info("%s: taken from beside the YAML: %s%s", key, beside,
             is_there(path) && !file_same(path, beside) ? " (and not from the current folder)" : "");
    return path_real(arena, beside); /* --directory may still change the current one */
}

static bool wrong_kind(const Option *o, const Value *v, Err *err)
{
    bool number = v->kind == V_INT || v->kind == V_FLOAT;
    bool text = o->argument && !option_number(o) && !o->may && o->kind != TAKES_LIST;
    const char *wanted = o->kind == TAKES_LIST      ? "a list of names"
                         : !o->argument || o->may   ? "true or false"
                         : option_number(o)         ? "a number"
                         : is_named_path(o)         ? "a path" : "a string";
    return fail(err, EF_INVALID_INPUT, "%s: found %s, wanted %s%s", key_of(o),
                value_kind_name(v->kind), wanted, number && text ? " (put it in quotes)" : "");
}

/* {fixed: 16} is "fixed=16" on the command line. */
static const Value *single_number(const Value *v)
{
    return v->kind == V_MAP && v->map.n == 1 && v->map.items[0].value.kind == V_INT
               ? &v->map.items[0].value : NULL;
}

/* A value of the YAML as the flag takes it. */
static bool value_text(Arena *arena, const Option *o, const Value *v, Str *text, Err *err)
{
    const bool either = !o->argument || o->may;
    const Value *number = single_number(v);
    if (v->kind == V_BOOL && either)
        *text = v->b != (o->key[0] == '!') ? STR("true") : STR("false");
    else if (v->kind == V_INT && option_number(o))
        *text = str_of(str_format(arena, "%lld", (long long)v->i));
    else if (number && o->kind == TAKES_TEXT)
        *text = str_of(str_format(arena, "%.*s=%lld", STR_ARG(v->map.items[0].key),
                                  (long long)number->i));
    else if (v->kind == V_STR && !either && !option_number(o))
        *text = v->s.p ? v->s : STR("");
    else return wrong_kind(o, v, err);
    return true;
}

static bool set_value(Arena *arena, const Option *o, const Value *v, BuildConfig *c, Err *err)
{
    Str text;
    if (!value_text(arena, o, v, &text, err)) return false;
    if (is_named_path(o)) {
        if (text.n == 0) return wrong_kind(o, v, err);
        const char *path = expand_home(arena, text);
        if (o->kind == TAKES_PATH) path = find_beside(arena, c->yaml, key_of(o), path);
        text = str_of(path);
    }
    return option_set(o, c, arena, key_of(o), text, err);
}

/* None at all is a list, too: no library. */
static bool set_list(Arena *arena, const Option *o, const Value *v, BuildConfig *c, Err *err)
{
    if (v->kind != V_LIST) return wrong_kind(o, v, err);
    if (v->list.n == 0) *(const char **)((char *)c + o->offset) = "";
    for (size_t i = 0; i < v->list.n; i++) {
        const Value *one = &v->list.items[i];
        if (one->kind != V_STR) return wrong_kind(o, one, err);
        if (!option_set(o, c, arena, key_of(o), one->s, err)) return false;
    }
    return true;
}

/* ---- the document ---- */

static bool set_key(Arena *arena, const Option *o, const Value *v, BuildConfig *c, Err *err)
{
    if (o->refused) return fail(err, EF_UNSUPPORTED, "%s: %s", key_of(o), o->refused);
    return o->kind == TAKES_LIST ? set_list(arena, o, v, c, err) : set_value(arena, o, v, c, err);
}

static bool read_map(Arena *arena, const char *above, const Value *map, BuildConfig *c, Err *err)
{
    for (size_t i = 0; i < map->map.n; i++) {
        const Str key = map->map.items[i].key;
        const Value *v = &map->map.items[i].value;
        const char *names[MOST_KEYS], *full = str_format(arena, "%s%s%.*s", above, *above ? "." : "",
                                                         STR_ARG(key));
        const Option *o = row_of_key(str_of(full));
        size_t below = names_below(arena, full, names);
        bool map_meant = below && (v->kind == V_MAP || !o);
        if (!o && !below) return unknown_key(arena, above, key, err);
        if (v->kind == V_NULL) continue;
        if (map_meant && v->kind != V_MAP)
            return fail(err, EF_INVALID_INPUT, "%s: found %s, wanted a map", full,
                        value_kind_name(v->kind));
        if (!(map_meant ? read_map(arena, full, v, c, err) : set_key(arena, o, v, c, err)))
            return false;
    }
    return true;
}

static bool check_required(const BuildConfig *c, Err *err)
{
    const struct { bool there; const char *what; } needed[] = {
        { c->source.name.n, "missing field `name`" },
        { c->folder || c->source.weights || c->source.config || c->source.tokenizer.vocab,
          "missing field `path`" },
        { c->folder || c->source.weights, "path: missing field `model_weights_path`" },
        { c->folder || c->source.tokenizer.vocab || c->source.preprocessor,
          "path: missing field `tokenizer_path`" },
    };
    for (size_t i = 0; i < COUNT(needed); i++)
        if (!needed[i].there) return fail(err, EF_INVALID_INPUT, "%s", needed[i].what);
    return true;
}

static bool read_document(Arena *arena, const Value *root, BuildConfig *c, Err *err)
{
    if (root->kind != V_MAP)
        return fail(err, EF_INVALID_INPUT, "found %s, wanted the key `encoderfile`",
                    value_kind_name(root->kind));
    const Value *map = value_get(root, "encoderfile");
    if (!map && value_get(root, "name"))
        return fail(err, EF_INVALID_INPUT,
                    "missing field `encoderfile`: put everything below that key");
    if (!map) return fail(err, EF_INVALID_INPUT, "missing field `encoderfile`");
    for (size_t i = 0; i < root->map.n; i++)
        if (!str_is(root->map.items[i].key, "encoderfile"))
            return fail(err, EF_INVALID_INPUT, "unknown key `%.*s` beside `encoderfile`",
                        STR_ARG(root->map.items[i].key));
    if (map->kind != V_MAP)
        return fail(err, EF_INVALID_INPUT, "encoderfile: found %s, wanted a map",
                    value_kind_name(map->kind));
    return (read_map(arena, "", map, c, err) && check_required(c, err)) || within(err, "encoderfile");
}

bool build_is_yaml(const char *path)
{
    return str_ends(str_of(path), ".yml") || str_ends(str_of(path), ".yaml");
}

bool build_read(Arena *arena, const char *yaml_path, BuildConfig *c, Err *err)
{
    Str text;
    if (!is_there(yaml_path))
        return fail(err, EF_NOT_FOUND, "%s: Encoderfile config not found", yaml_path);
    return file_read(arena, yaml_path, YAML_LIMIT, &text, err) &&
           (build_read_text(arena, yaml_path, text, c, err) || within(err, "%s", yaml_path));
}

bool build_read_text(Arena *arena, const char *yaml_path, Str text, BuildConfig *c, Err *err)
{
    Value *root = NEW(arena, Value);
    *c = (BuildConfig){ .yaml = yaml_path };
    if (!yaml_parse(arena, text, root, err) || !read_document(arena, root, c, err)) return false;
    c->source.task = c->open.task; /* a task by flag does without config.json, one by YAML does not */
    c->open.task = (Str){ 0 };
    return !c->folder || hub_path(arena, c->folder, HUB_MODEL, &c->folder, err);
}

bool build_from_environment(Arena *arena, BuildConfig *c, Err *err)
{
    static const struct { const char *variable, *key; } variables[] = {
        { "MODEL_WEIGHTS_PATH", "path.model_weights_path" },
        { "TOKENIZER_PATH", "path.tokenizer_path" },
        { "MODEL_CONFIG_PATH", "path.model_config_path" },
        { "MODEL_TYPE", "model_type" },
        { "MODEL_NAME", "name" },
    };
    *c = (BuildConfig){ 0 };
    for (size_t i = 0; i < COUNT(variables); i++) {
        Str text = str_of(getenv(variables[i].variable));
        const Option *o = row_of_key(str_of(variables[i].key));
        if (text.n == 0)
            return fail(err, EF_USAGE, "nothing to build: give a model folder or -f config.yml, or "
                        "set %s and its like", variables[i].variable);
        if (!option_set(o, c, arena, variables[i].variable, text, err)) return false;
    }
    return true;
}

/* ---- what the rows' fields stand for ---- */

static bool check_padding(const BuildConfig *c, Err *err)
{
    Str way = str_of(c->pad_strategy);
    int64_t n;
    static const char fixed[] = "fixed=";
    if (!way.n || str_is(way, "batch_longest")) return true;
    if (str_starts(way, fixed) && str_int((Str){ way.p + 6, way.n - 6 }, &n) && n > 0) return true;
    return fail(err, EF_INVALID_INPUT,
                "tokenizer.pad_strategy: found \"%s\", wanted `batch_longest` or `{fixed: N}`",
                c->pad_strategy);
}

static void read_limits(Arena *arena, const BuildConfig *c, ModelSource *s)
{
    Value *map = NEW(arena, Value);
    *map = value_map(arena, 3);
    if (c->max_length) value_add(map, "max_length", value_of_int(c->max_length));
    if (c->truncation_side) value_add(map, "truncation_side", value_of_text(c->truncation_side));
    if (c->truncation_strategy)
        value_add(map, "truncation_strategy", value_of_text(c->truncation_strategy));
    s->yaml_tokenizer = map;
}

static void read_libs(Arena *arena, const char *lines, ModelSource *s)
{
    Str rest = str_of(lines);
    if (!lines) return;
    Str *lib = ARRAY(arena, Str, rest.n + 1);
    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        Str line = { rest.p, end ? (size_t)(end - rest.p) : rest.n };
        lib[s->n_lib++] = line;
        rest.p += line.n + (end != NULL), rest.n -= line.n + (end != NULL);
    }
    s->lib = lib;
}

bool build_settings(Arena *arena, const BuildConfig *c, ModelSource *s, Err *err)
{
    *s = c->source;
    s->compile = true;
    if (!check_padding(c, err)) return false;
    if (c->stride > 0)
        log_warn("tokenizer.stride %d has no effect: what is cut off is not returned", c->stride);
    read_limits(arena, c, s);
    read_libs(arena, c->libs, s);
    return true;
}

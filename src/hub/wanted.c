/* SPDX-License-Identifier: Apache-2.0
 * wanted.c - the rule of which files a model needs. Small files come first, since two of them say
 * what else is needed; the weights come last, so that a snapshot with them is whole. */
#include "hub/wanted.h"

#include "base/file.h"
#include "data/json.h"

enum { JSON_MOST = 64 << 20, MODULES_FOLDERS = 32, DATA_FILES = 256 };

static const char *const wanted_settings[] = {
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "spm.model",
    "tokenizer.model",
    "preprocessor_config.json",
    "processor_config.json",
    "generation_config.json",
    "adapter_config.json",
    "modules.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
};
/* In this order. */
static const char *const wanted_weights[] = {
    "model.safetensors", "model.safetensors.index.json", "model.onnx", "onnx/model.onnx",
    "pytorch_model.bin", "pytorch_model.bin.index.json",
};
static const char *const wanted_module[] = { "model.safetensors", "pytorch_model.bin" };

typedef struct WantedList {
    Arena *arena;
    const WantedFrom *from;
    WantedFile *file; /* [n] to be got next */
    size_t n, room;
    bool weights; /* some were found */
} WantedList;

static void want_as(WantedList *w, WantedFile file)
{
    if (w->n == w->room) {
        size_t room = MAX(2 * w->room, 64);
        WantedFile *more = ARRAY(w->arena, WantedFile, room);
        if (w->n) memcpy(more, w->file, w->n * sizeof *more);
        w->file = more, w->room = room;
    }
    w->file[w->n++] = file;
}

static void want(WantedList *w, const char *name)
{
    want_as(w, (WantedFile){ .name = name });
}

static bool wanted_get(WantedList *w, Err *err)
{
    size_t n = w->n;
    w->n = 0;
    return w->from->get(w->from->context, w->file, n, err);
}

static HubHas wanted_has(const WantedList *w, const char *name)
{
    return w->from->has(w->from->context, name);
}

/* A name below a folder of the repository; "" is its root. */
static const char *below(WantedList *w, const char *folder, const char *name)
{
    return *folder ? str_format(w->arena, "%s/%s", folder, name) : name;
}

/* ---- weights ---- */
/* Tensors beside an .onnx, as Optimum, transformers.js and PyTorch name them. */
static void want_data(WantedList *w, const char *onnx)
{
    want(w, str_format(w->arena, "%s_data", onnx));
    want(w, str_format(w->arena, "%s.data", onnx));
    if (wanted_has(w, str_format(w->arena, "%s_data", onnx)) != HAS) return;
    bool more = true;
    for (int i = 1; i < DATA_FILES && more; i++) {
        const char *name = str_format(w->arena, "%s_data_%d", onnx, i);
        more = wanted_has(w, name) == HAS;
        want(w, name);
    }
}

static bool read_wanted_json(WantedList *w, const char *name, Value *out, Err *err)
{
    Str text;
    const char *path = path_join(w->arena, w->from->snapshot, str_of(name));
    return file_read(w->arena, path, JSON_MOST, &text, err) &&
           (json_parse(w->arena, text, out, err) || within(err, "%s", name));
}

/* The files that an index names, which stand beside it; each once. */
static bool want_shards(WantedList *w, const char *index, Err *err)
{
    Value tree;
    Map seen = { 0 };
    if (!wanted_get(w, err) || !read_wanted_json(w, index, &tree, err)) return false;
    const Value *map = value_get(&tree, "weight_map");
    if (!map || map->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "%s: found no \"weight_map\"", index);
    for (size_t i = 0; i < map->map.n; i++) {
        Str file = value_str(&map->map.items[i].value, (Str){ 0 });
        if (map_get(&seen, file)) continue;
        if (!path_stays_inside(file))
            return fail(err, EF_BAD_MODEL, "%s: found \"%.*s\", wanted the name of a file", index,
                        STR_ARG(file));
        map_put(&seen, w->arena, file, (void *)index);
        const char *slash = strrchr(index, '/');
        int folder = slash ? (int)(slash - index) + 1 : 0;
        const char *name = str_format(w->arena, "%.*s%.*s", folder, index, STR_ARG(file));
        want_as(w, (WantedFile){ .name = name, .must = true });
    }
    return true;
}

static bool want_weights_file(WantedList *w, const char *name, Err *err)
{
    Str s = str_of(name);
    w->weights = true;
    if (str_ends(s, ".onnx")) want_data(w, name);
    want_as(w, (WantedFile){ .name = name, .must = true });
    return !str_ends(s, ".index.json") || want_shards(w, name, err);
}

/* The first that is there; those before it are noted as not there. */
static bool want_first(WantedList *w, const char *folder, const char *const *names, size_t n,
                       Err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = below(w, folder, names[i]);
        if (wanted_has(w, name) == HAS) return want_weights_file(w, name, err);
        want(w, name);
    }
    return true;
}

static bool want_weights(WantedList *w, const char *folder, Err *err)
{
    return want_first(w, folder, wanted_weights, COUNT(wanted_weights), err);
}

static bool no_weights(const WantedList *w, Err *err)
{
    if (wanted_has(w, "adapter_config.json") == HAS)
        return fail(err, EF_UNSUPPORTED,
                    "found an adapter alone (adapter_config.json), wanted a whole "
                    "model: merge it into its base model");
    return fail(err, EF_BAD_MODEL,
                "found no weights, wanted model.safetensors, model.onnx, "
                "onnx/model.onnx or pytorch_model.bin (another file: ORG/NAME:FILE)");
}

/* ---- settings and modules ---- */
static void want_settings(WantedList *w, const char *folder)
{
    for (size_t i = 0; i < COUNT(wanted_settings); i++)
        want(w, below(w, folder, wanted_settings[i]));
}

/* The encoder's folder, in an old layout, has all that a root has; those of other modules have a
 * config.json and perhaps weights. */
static bool want_module(WantedList *w, const char *folder, bool encoder, Err *err)
{
    bool model = w->from->use == HUB_MODEL, before = w->weights;
    if (encoder) {
        want_settings(w, folder);
        return !model || w->from->file.n || want_weights(w, folder, err);
    }
    want(w, below(w, folder, "config.json"));
    bool ok = !model || want_first(w, folder, wanted_module, COUNT(wanted_module), err);
    w->weights = before; /* these are not the encoder's */
    return ok;
}

static bool want_modules(WantedList *w, Err *err)
{
    Value list;
    if (wanted_has(w, "modules.json") != HAS) return true;
    if (!read_wanted_json(w, "modules.json", &list, err)) return false;
    for (size_t i = 0; list.kind == V_LIST && i < MIN(list.list.n, MODULES_FOLDERS); i++) {
        Str path = value_str(value_get(&list.list.items[i], "path"), (Str){ 0 });
        while (path.n && path.p[path.n - 1] == '/') path.n--;
        if (!path_stays_inside(path)) continue; /* empty: the root */
        if (!want_module(w, str_dup(w->arena, path), i == 0, err)) return false;
    }
    return true;
}

static bool is_weights_name(Str name)
{
    static const char *const ends[] = { ".onnx", ".safetensors", ".bin", ".index.json" };
    for (size_t i = 0; i < COUNT(ends); i++)
        if (str_ends(name, ends[i])) return true;
    return false;
}

/* The file behind ":". */
static bool want_file(WantedList *w, Err *err)
{
    const char *name = str_dup(w->arena, w->from->file);
    return wanted_has(w, name) == HAS ? want_weights_file(w, name, err)
                                      : fail(err, EF_NOT_FOUND, "found no file %s", name);
}

bool wanted_gather(Arena *arena, const WantedFrom *from, Err *err)
{
    WantedList w = { .arena = arena, .from = from };
    bool alone = from->file.n && !is_weights_name(from->file);
    bool weights = from->use == HUB_MODEL && !from->file.n;
    if (!alone) {
        want_settings(&w, "");
        if (!wanted_get(&w, err) || !want_modules(&w, err)) return false;
    }
    if (from->file.n && !want_file(&w, err)) return false;
    if (weights && !w.weights && !want_weights(&w, "", err)) return false;
    if (weights && !w.weights) return no_weights(&w, err);
    return wanted_get(&w, err);
}

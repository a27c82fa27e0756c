/* SPDX-License-Identifier: Apache-2.0
 * source.c - the files of a model folder: which there are, and which are missing. */
#include "model/source.h"

#include <dirent.h>

#include "data/checkpoint.h"
#include "export/modules.h"
#include "hub/hub.h"

/* The .onnx files of a folder: how many, one of them, and all of their names (NULL: not wanted). */
static int list_onnx(Arena *arena, const char *folder, const char **one, Buf *names)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *path = path_join(arena, folder, str_of(entry->d_name));
        if (!str_ends(str_of(entry->d_name), ".onnx") || !file_is(path)) continue;
        *one = path;
        if (names) buf_printf(names, "%s%s", n ? ", " : "", entry->d_name);
        n++;
    }
    if (dir) closedir(dir);
    return n;
}

const char *source_lone_onnx(Arena *arena, const char *folder)
{
    const char *one, *onnx = path_join(arena, folder, STR("onnx"));
    if (list_onnx(arena, folder, &one, NULL) == 1) return one;
    return list_onnx(arena, onnx, &one, NULL) == 1 ? one : NULL;
}

enum { PLACES = 7 };
/* Where weights may be, the preferred first; NULL: not there. The folder onnx is where Optimum and the
 * Hub put their exports; an export comes before a checkpoint, which would have to be exported here. */
static void weights_places(Arena *arena, const char *folder, const char *encoder,
                           const char *place[PLACES])
{
    const char *const files[PLACES] = { /* in this order */
        path_join(arena, folder, STR("model.onnx")),
        path_join(arena, encoder, STR("model.onnx")),
        path_join(arena, folder, STR("onnx/model.onnx")),
        path_join(arena, folder, STR("model_quantized.onnx")),
        checkpoint_find(arena, encoder),
        path_join(arena, folder, STR("onnx/model_quantized.onnx")),
        source_lone_onnx(arena, folder), /* as Optimum does */
    };
    for (size_t i = 0; i < PLACES; i++)
        place[i] = files[i] && (file_is(files[i]) || (i == 0 && dir_is(files[i]))) ? files[i] : NULL;
}

static const char *find_weights(Arena *arena, const char *folder, const char *encoder)
{
    const char *place[PLACES];
    weights_places(arena, folder, encoder, place);
    for (size_t i = 0; i < PLACES; i++)
        if (place[i]) return place[i];
    return path_join(arena, folder, STR("model.onnx"));
}

void source_other_weights(Arena *arena, const char *folder, const char *taken, Buf *list)
{
    const char *place[PLACES], *encoder;
    modules_pool(arena, folder, &encoder);
    weights_places(arena, folder, encoder, place);
    for (size_t i = 0; i < PLACES; i++) {
        bool known = !place[i] || file_same(place[i], taken);
        for (size_t k = 0; k < i && !known; k++) known = place[k] && file_same(place[i], place[k]);
        if (!known) buf_printf(list, "%s%s", list->n ? ", " : "", place[i]);
    }
}

static const char *source_optional(Arena *arena, const char *folder, const char *name)
{
    const char *path = path_join(arena, folder, str_of(name));
    return file_is(path) ? path : NULL;
}

void source_folder(Arena *arena, const char *folder, ModelSource *s)
{
    const char *encoder; /* of an old sentence-transformers folder: 0_Transformer */
    s->modules = modules_pool(arena, folder, &encoder) ? folder : NULL;
    s->weights = find_weights(arena, folder, encoder);
    s->config = path_join(arena, encoder, STR("config.json"));
    s->prompts = source_optional(arena, folder, "config_sentence_transformers.json");
    s->tokenizer = tokenizer_files(arena, encoder);
    if (!s->tokenizer.vocab) s->tokenizer.vocab = path_join(arena, encoder, STR("tokenizer.json"));
    s->tokenizer.sentence = modules_settings(arena, encoder);
    s->preprocessor = source_optional(arena, encoder, "preprocessor_config.json");
    s->processor = source_optional(arena, encoder, "processor_config.json");
}

/* "a/b/" is called b, and "." what it is called from outside; a folder of the Hub's cache, whose own
 * name is a commit, as the model is there: NAME of ORG/NAME. */
static Str folder_name(Arena *arena, const char *folder)
{
    Str repo = hub_repo_at(arena, folder);
    if (repo.n) return path_name(repo.p);
    Str trimmed = str_of(folder);
    while (trimmed.n > 1 && trimmed.p[trimmed.n - 1] == '/') trimmed.n--;
    Str name = path_name(str_dup(arena, trimmed));
    bool relative = str_is(name, ".") || str_is(name, "..");
    return relative ? path_name(path_real(arena, folder)) : name;
}

Str source_name(Arena *arena, const char *path)
{
    Str name = path_name(path);
    if (dir_is(path)) return folder_name(arena, path);
    if (!str_ends(name, ".onnx")) return folder_name(arena, path_dir(arena, path));
    name.n -= sizeof ".onnx" - 1;
    return name;
}

/* Both wordings: ours and the Rust encoderfile's. */
static bool need(const char *path, const char *name, const char *what, const char *remedy, Err *err)
{
    if (path && file_is(path)) return true;
    if (path && dir_is(path))
        return fail(err, EF_INVALID_INPUT, "%s: found a folder, wanted a file for the %s", path,
                    what);
    return fail(err, EF_NOT_FOUND, "%s not found: Could not locate %s at path: \"%s\"%s", name, what,
                path ? path : "", remedy);
}

void source_said(Arena *arena, Str task, const char *path, ModelSource *s)
{
    const char *sentence = s->tokenizer.sentence; /* of the model, not of its tokenizer */
    if (task.n) s->task = task, s->config_optional = !str_is(task, "auto");
    if (!path) return;
    s->tokenizer = tokenizer_files_at(arena, path);
    s->tokenizer.sentence = sentence;
    if (!s->tokenizer.vocab) s->tokenizer.vocab = path_join(arena, path, STR("tokenizer.json"));
    s->inside.tokenizer = (Str){ 0 };
}

bool source_processor(Arena *arena, const char *path, ModelSource *s, Err *err)
{
    ModelSource there = { 0 };
    Err ignored = { 0 };
    if (!path) return true;
    const Str name = path_name(path);
    bool folder = dir_is(path), json = str_ends(name, ".json") && !str_is(name, "tokenizer.json");
    if (folder) source_folder(arena, path, &there);
    else if (str_is(name, "processor_config.json")) there.processor = path;
    else if (json) there.preprocessor = path;
    bool tokenizer = (folder || !json) && tokenizer_find(arena, path, &there.tokenizer, &ignored);
    bool settings = there.preprocessor || there.processor;
    if (tokenizer) source_said(arena, (Str){ 0 }, path, s);
    if (settings) s->preprocessor = there.preprocessor, s->processor = there.processor;
    return settings || tokenizer ||
           fail(err, EF_NOT_FOUND, "processor: %s: found no preprocessor_config.json, processor_config.json or "
                "tokenizer", path);
}

bool source_path(Arena *arena, const char *path, ModelSource *s)
{
    if (dir_is(path)) return source_folder(arena, path, s), true;
    if (str_ends(path_name(path), ".onnx")) return source_onnx(arena, path, s), true;
    if (!checkpoint_is(path)) return false;
    source_folder(arena, path_dir(arena, path), s);
    s->weights = path;
    return true;
}

/* An .onnx whose task the user names can do without config.json; a checkpoint cannot. */
static bool needs_config(const ModelSource *s)
{
    return !s->inside.config.p && (!s->config_optional || checkpoint_is(s->weights));
}

/* Checked first: a folder with nothing but a LoRA adapter lacks several files, and this is why. */
static bool no_adapter(const ModelSource *s, Err *err)
{
    Arena scratch = { .local = true };
    const char *path = s->weights;
    if (path && !file_is(path)) path = path_dir(&scratch, path);
    bool ok = !path || checkpoint_no_adapter(path, err);
    arena_free(&scratch);
    return ok;
}

/* Likewise: a StaticEmbedding or a Router has neither config.json nor an encoder's weights in the root. */
static bool no_foreign_modules(const ModelSource *s, Err *err)
{
    Arena scratch = { .local = true };
    bool whole = !s->weights || (file_is(s->weights) && (s->inside.config.p || (s->config && file_is(s->config))) &&
                                 (s->inside.tokenizer.p || (s->tokenizer.vocab && file_is(s->tokenizer.vocab))));
    bool ok = whole || modules_known(&scratch, path_dir(&scratch, s->weights), err);
    arena_free(&scratch);
    return ok;
}

/* What a folder has instead of weights that can be read, by its files' names; NULL: nothing known. */
static const char *foreign_files(Arena *arena, const char *folder)
{
    static const struct { const char *begin, *end, *what; } rows[] = {
        { "checkpoint-", "", "a folder that a training left: give that one" },
        { "", ".h5", "weights of TensorFlow: save them as safetensors (from_tf=True, save_pretrained)" },
        { "", ".msgpack", "weights of Flax: save them as safetensors (from_flax=True, save_pretrained)" },
        { "", ".gguf", "a model of llama.cpp: wanted safetensors or ONNX" },
        { "", ".ot", "weights of Rust's tch: wanted safetensors or ONNX" },
        { "openvino_model", ".xml", "a model of OpenVINO: wanted safetensors or ONNX" },
        { "", ".tflite", "a model of TensorFlow Lite: wanted safetensors or ONNX" },
        { "", ".mlmodel", "a model of Core ML: wanted safetensors or ONNX" },
    };
    const char *found = NULL;
    DIR *dir = opendir(folder);
    bool empty = dir != NULL;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        Str name = str_of(entry->d_name);
        if (name.p[0] == '.') continue;
        empty = false;
        for (size_t i = 0; i < COUNT(rows) && !found; i++)
            if (str_starts(name, rows[i].begin) && str_ends(name, rows[i].end))
                found = str_format(arena, "; found %s, %s", entry->d_name, rows[i].what);
    }
    if (dir) closedir(dir);
    return found ? found : empty ? "; the folder is empty" : NULL;
}

/* What a folder without model.onnx has instead, and what to do. */
static const char *weights_remedy(Arena *arena, const ModelSource *s)
{
    static const char *const places[] = { ".", "onnx" };
    const char *folder = s->weights ? path_dir(arena, s->weights) : ".", *one;
    Buf names = { 0 };
    const char *remedy = foreign_files(arena, folder);
    if (!remedy) remedy = "; nor is there model.safetensors, pytorch_model.bin or another .onnx";
    for (size_t i = 0; i < COUNT(places) && !names.n; i++)
        if (list_onnx(arena, path_join(arena, folder, str_of(places[i])), &one, &names))
            remedy = str_format(arena, "; %s has %.*s: give the one that is meant by its path",
                                i ? "its folder onnx" : "the folder", (int)MIN(names.n, 200),
                                names.p);
    buf_free(&names);
    return remedy;
}

static bool need_weights(const ModelSource *s, Err *err)
{
    Arena scratch = { .local = true };
    bool ok = need(s->weights, "model.onnx", "model weights", weights_remedy(&scratch, s), err);
    arena_free(&scratch);
    return ok;
}

static bool need_config(const ModelSource *s, Err *err)
{
    Arena scratch = { .local = true };
    const char *remedy = NULL;
    if (!needs_config(s)) return true;
    if (s->weights && !file_is(s->weights)) remedy = foreign_files(&scratch, path_dir(&scratch, s->weights));
    if (!remedy) remedy = s->config_optional ? "" : "; an .onnx needs none if --task says what it is for";
    bool ok = need(s->config, "config.json", "model config", remedy, err);
    arena_free(&scratch);
    return ok;
}

bool source_has_tokenizer(const ModelSource *s, Err *err)
{
    return s->inside.tokenizer.p ||
           need(s->tokenizer.vocab, "tokenizer.json", "tokenizer",
                "; was it saved beside the model? --tokenizer names another folder; a model of pictures or "
                "sounds needs preprocessor_config.json instead", err);
}

/* A model that finds speech is one file. */
static bool finds_speech(const ModelSource *s)
{
    const Task *task = s->task.n ? task_find(s->task) : NULL;
    return task && task_can(task, NULL, CAN_FIND_SPEECH);
}

bool source_files(const ModelSource *s, Err *err)
{
    if (!no_adapter(s, err) || !no_foreign_modules(s, err) || !need_config(s, err)) return false;
    bool pictures = s->preprocessor || s->processor; /* then the task tells whether texts are read, too */
    if (finds_speech(s)) return need_weights(s, err);
    if (!pictures && !source_has_tokenizer(s, err)) return false;
    if (!need_weights(s, err)) return false;
    const char *config = s->tokenizer.config;
    return !config || s->inside.tokenizer.p || need(config, "tokenizer_config.json", "tokenizer config", "", err);
}

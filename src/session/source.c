/* SPDX-License-Identifier: Apache-2.0
 * source.c - the files of a model folder: which there are, and which are missing. */
#include "session/source.h"

#include "data/checkpoint.h"

/* What sentence-transformers calls its settings, by the kind of model. */
static const char *sentence_config(Arena *arena, const char *folder)
{
    static const char *const kinds[] = { "bert",   "roberta",     "distilbert", "camembert",
                                         "albert", "xlm-roberta", "xlnet" };
    for (size_t i = 0; i < COUNT(kinds); i++) {
        Str name = str_of(str_format(arena, "sentence_%s_config.json", kinds[i]));
        const char *path = path_join(arena, folder, name);
        if (file_is(path)) return path;
    }
    return NULL;
}

/* The first that is there; model.onnx where none is. */
static const char *find_weights(Arena *arena, const char *folder)
{
    const char *usual = path_join(arena, folder, STR("model.onnx"));
    const char *small = path_join(arena, folder, STR("model_quantized.onnx"));
    if (file_is(usual) || dir_is(usual)) return usual;
    if (file_is(small)) return small;
    const char *checkpoint = checkpoint_find(arena, folder);
    return checkpoint ? checkpoint : usual;
}

void source_folder(Arena *arena, const char *folder, ModelSource *s)
{
    s->weights = find_weights(arena, folder);
    s->config = path_join(arena, folder, STR("config.json"));
    s->prompts = path_join(arena, folder, STR("config_sentence_transformers.json"));
    if (!file_is(s->prompts)) s->prompts = NULL;
    s->tokenizer = tokenizer_files(arena, folder);
    if (!s->tokenizer.vocab) s->tokenizer.vocab = path_join(arena, folder, STR("tokenizer.json"));
    s->tokenizer.sentence = sentence_config(arena, folder);
}

/* Both wordings: ours and the peer's. */
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

bool source_path(Arena *arena, const char *path, ModelSource *s)
{
    if (dir_is(path)) return source_folder(arena, path, s), true;
    if (str_ends(path_name(path), ".onnx")) return source_onnx(arena, path, s), true;
    if (!checkpoint_is(path)) return false;
    source_folder(arena, path_dir(arena, path), s);
    s->weights = path;
    return true;
}

/* A graph tells the rest; a checkpoint is nothing without its config.json. */
static bool needs_config(const ModelSource *s)
{
    return !s->inside.config.p && (!s->config_optional || checkpoint_is(s->weights));
}

/* A folder with an adapter alone lacks more than one file: this is why. */
static bool no_adapter(const ModelSource *s, Err *err)
{
    Arena scratch = { 0 };
    const char *path = s->weights;
    if (path && !file_is(path)) path = path_dir(&scratch, path);
    bool ok = !path || checkpoint_no_adapter(path, err);
    arena_free(&scratch);
    return ok;
}

bool source_files(const ModelSource *s, Err *err)
{
    if (!no_adapter(s, err)) return false;
    const char *remedy = s->config_optional ? "" : "; an .onnx needs none if --task says what it is for";
    if (needs_config(s) && !need(s->config, "config.json", "model config", remedy, err))
        return false;
    if (!s->inside.tokenizer.p && !need(s->tokenizer.vocab, "tokenizer.json", "tokenizer", "", err))
        return false;
    if (!need(s->weights, "model.onnx", "model weights", "", err)) return false;
    const char *config = s->tokenizer.config;
    return !config || s->inside.tokenizer.p || need(config, "tokenizer_config.json", "tokenizer config", "", err);
}

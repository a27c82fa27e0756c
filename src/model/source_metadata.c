/* SPDX-License-Identifier: Apache-2.0
 * source_metadata.c - a model file that brings what a folder would have: config, tokenizer, task
 * (export/hf_metadata.h). Metadata that is damaged or of an unknown version counts as absent. */
#include "base/log.h"
#include "export/hf_metadata.h"
#include "model/source.h"

/* Metadata that can be used, or none. */
static bool usable(Arena *arena, const char *onnx, HfMetadata *m)
{
    Err ignored; /* a file that is no ONNX is named by whoever opens it next */
    if (!file_is(onnx) || !hf_metadata_open(arena, onnx, m, &ignored)) return false;
    if (m->why) log_warn("%s: metadata not used: %s", onnx, m->why);
    return m->state == HF_GOOD;
}

void source_task_inside(Arena *arena, ModelSource *s)
{
    HfMetadata m;
    if ((s->task.n && s->modules) || !usable(arena, s->weights, &m)) return;
    if (s->task.n == 0) s->inside.task = hf_metadata_get(&m, "hf_pipeline_task");
    if (!s->modules) s->inside.sentence = hf_metadata_get(&m, "hf_sentence_transformers");
}

/* The model's folder: the file's, or, of FOLDER/onnx/model.onnx, the one that has the rest. */
static const char *folder_of(Arena *arena, const char *onnx)
{
    const char *folder = path_dir(arena, onnx), *above = path_dir(arena, folder);
    bool own = file_is(path_join(arena, folder, STR("config.json")));
    bool below = str_is(path_name(folder), "onnx");
    return below && !own && file_is(path_join(arena, above, STR("config.json"))) ? above : folder;
}

void source_onnx(Arena *arena, const char *path, ModelSource *s)
{
    HfMetadata m;
    source_folder(arena, folder_of(arena, path), s);
    s->weights = path;
    if (!usable(arena, path, &m)) return;
    Str config = hf_metadata_get(&m, "hf_model_config");
    Str tokens = hf_metadata_get(&m, "hf_tokenizer");
    s->inside.task = hf_metadata_get(&m, "hf_pipeline_task");
    bool whole = config.p && tokens.p; /* config and tokenizer belong together */
    Str sentence = hf_metadata_get(&m, "hf_sentence_transformers");
    if (sentence.p && (whole || !s->modules)) {
        s->inside.sentence = sentence;
        s->modules = s->prompts = NULL;
    }
    if (whole || !file_is(s->config)) s->inside.config = config;
    if (!whole && !(tokens.p && !file_is(s->tokenizer.vocab))) return;
    s->inside.tokenizer = tokens;
    s->inside.tokenizer_config = hf_metadata_get(&m, "hf_tokenizer_config");
}

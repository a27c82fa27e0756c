/* SPDX-License-Identifier: Apache-2.0
 * embedding_metadata.c - see embedding_metadata.h. */
#include "api/embedding_metadata.h"

#include "base/log.h"
#include "export/files.h"
#include "export/hf_task.h"
#include "hub/hub.h"
#include "model/open_options.h"

#define FIELD(field) OPTION_FIELD_OF(EmbeddingMetadata, field)
const Option embed_metadata_options[] = {
    { "output", 'o', "FILE", "write there instead of into the file itself", TAKES_TEXT, FIELD(output) },
    { "task", 0, "TASK", "what the model is for (by config.json)", TAKES_TEXT, FIELD(task) },
    { "force-task-detection", 0, NULL, "guess the task where config.json names no known class", TAKES_NOTHING,
      FIELD(guess) },
    OPTION_TOKENIZER(FIELD(tokenizer)),
    { "include-tokenizer", 0, NULL, "tokenizer.json too: the file runs alone then (by default where "
                                    "it is at most 4 MiB)", TAKES_NOTHING, FIELD(include) },
    { "include-vocab", 0, NULL, NULL, TAKES_NOTHING, FIELD(include) },
    { "no-include-tokenizer", 0, NULL, "leave it out", TAKES_NOTHING, FIELD(leave_out), .against = "tokenizer" },
    { "no-compress", 0, NULL, "leave large values as they are", TAKES_NOTHING, FIELD(no_compress) },
    { "compress-threshold", 0, "KB", "compress values above that", TAKES_COUNT, FIELD(compress_kb),
      .standard = "10", .least = 1, .most = 1 << 20, .against = "no-compress" },
    { 0 },
};

/* By name, by the class, or (when asked) by whatever config.json has. */
static bool choose_task(Arena *arena, const EmbeddingMetadata *x, HfSource *s, Err *err)
{
    HfTaskFrom from;
    Value config;
    if (x->task && strcmp(x->task, "auto") != 0) {
        if (x->guess)
            return fail(err, EF_USAGE, "--force-task-detection: found --task %s beside it, wanted "
                        "one of them", x->task);
        return hf_task_check(x->task, &s->task, err);
    }
    if (!hf_read_config(arena, s, &config, err)) return false;
    const char *guess = hf_task_detect(&config, &from);
    bool sure = from <= HF_TASK_CLASS || x->guess;
    s->task = sure ? guess : "feature-extraction";
    if (!sure)
        log_warn("config.json names no known class: taken for feature-extraction; say --task, or "
                 "--force-task-detection (that gives %s, by %s)", guess, hf_task_from_name(from));
    return true;
}

/* A folder; one of the Hub's cache has the model's name. */
static bool embed_folder(Arena *arena, const char *model, HfSource *s, Err *err)
{
    Export e = { .model = model };
    bool ok = files_source(&e, err);
    Str name = ok ? hub_repo_at(arena, e.folder) : (Str){ 0 };
    if (name.n) s->name = name.p;
    s->folder = ok ? str_dup(arena, str_of(e.folder)) : NULL;
    arena_free(&e.arena);
    return ok;
}

bool embedding_metadata_run(Arena *arena, EmbeddingMetadata *x, Err *err)
{
    HfEmbed *e = &x->embed;
    const char *model = x->model ? x->model : path_dir(arena, x->onnx);
    *e = (HfEmbed){ .onnx = x->onnx, .to = x->output };
    if (!file_apart(e->to, e->onnx, err))
        return within(err, "without -o the file itself gets its metadata");
    e->source = (HfSource){ .tokenizer_from = x->tokenizer,
                            .compress_above = x->no_compress ? SIZE_MAX : (size_t)x->compress_kb * 1024 };
    return hf_tokenizer_asked(x->include, x->leave_out, &e->source.tokenizer, err) &&
           embed_folder(arena, model, &e->source, err) && choose_task(arena, x, &e->source, err) &&
           hf_metadata_embed(arena, e, err);
}

size_t embedding_metadata_bytes(const EmbeddingMetadata *x)
{
    size_t bytes = 0;
    for (int i = 0; i < x->embed.n; i++) bytes += x->embed.item[i].key.n + x->embed.item[i].value.n;
    return bytes;
}

Value embedding_metadata_json(Arena *arena, const EmbeddingMetadata *x)
{
    const HfEmbed *e = &x->embed;
    Value v = value_map(arena, 6);
    value_add(&v, "path", value_of_str(str_of(e->to)));
    value_add(&v, "size", value_of_int((int64_t)e->size));
    value_add(&v, "keys", value_of_int(e->n));
    value_add(&v, "metadata_bytes", value_of_int((int64_t)embedding_metadata_bytes(x)));
    value_add(&v, "pipeline_task", value_of_str(str_of(e->source.task)));
    value_add(&v, "tokenizer", value_of_bool(e->tokenizer));
    return v;
}

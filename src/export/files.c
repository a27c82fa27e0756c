/* SPDX-License-Identifier: Apache-2.0
 * files.c - the files around the weights. */
#include "files.h"

#include "base/log.h"
#include "data/checkpoint.h"
#include "data/json.h"
#include "export/modules.h"
#include "text/text.h"

static const size_t MOST_COPIED = (size_t)1 << 30;

/* config.json is needed, the others are copied if there. */
static const char *const settings[] = {
    "config.json", "preprocessor_config.json", "processor_config.json", "generation_config.json",
    "modules.json", "config_sentence_transformers.json", "sentence_bert_config.json",
    "sentence_roberta_config.json", "sentence_distilbert_config.json",
    "sentence_camembert_config.json", "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json",
};
/* The first ones hold the vocabulary, in the order they are looked for. */
enum { VOCABULARIES = 7 };
static const char *const tokenizers[] = {
    "tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model",
    "spm.model", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "merges.txt",
};

/* Weights given by their path lie in the folder of the other files. */
static bool source_file(Export *e, Err *err)
{
    if (str_ends(path_name(e->model), ".onnx"))
        return fail(err, EF_INVALID_INPUT, "%s: found an ONNX model, which is what an export "
                    "writes, wanted a folder with config.json and model.safetensors; `infer`, "
                    "`serve` and `build` take the model as it is", e->model);
    if (!checkpoint_is(e->model))
        return fail(err, EF_INVALID_INPUT, "%s: found a file, wanted a folder with config.json and "
                    "model.safetensors or pytorch_model.bin", e->model);
    e->folder = path_dir(&e->arena, e->model);
    e->weights = e->model;
    return true;
}

bool files_source(Export *e, Err *err)
{
    e->folder = e->model;
    if (dir_is(e->model)) return true;
    if (file_is(e->model)) return source_file(e, err);
    return fail(err, EF_NOT_FOUND, "%s: no such folder or file; a model on the Hugging Face Hub is "
                "called ORG/NAME or hf:NAME", e->model);
}

/* The .onnx alone may replace an earlier one, and whatever is no file of the source. */
static bool check_lone_target(Export *e, Err *err)
{
    if (!file_is(e->onnx) || str_ends(path_name(e->onnx), ".onnx")) return true;
    if (!file_same(e->target, e->folder) && !file_same(e->onnx, e->model)) return true;
    return fail(err, EF_USAGE, "%s: found a file of the source as output, wanted another name: an "
                "input is never replaced; nothing was written", e->onnx);
}

/* Another tokenizer is there, and would not take the place of the source's own. */
static bool check_tokenizer(Export *e, Err *err)
{
    const char *from = e->tokenizer_from;
    TokenizerFiles f;
    if (!from) return true;
    if (!tokenizer_find(&e->arena, from, &f, err)) return within(err, "--tokenizer");
    return e->no_config || !file_same(e->target, e->folder) ||
           fail(err, EF_USAGE, "--tokenizer: %s: found the source as output, wanted another folder: "
                "its own tokenizer would be replaced", e->target);
}

bool files_target(Export *e, Err *err)
{
    Arena *arena = &e->arena;
    Str out = str_of(e->output);
    if (!out.n) return true; /* into memory */
    while (out.n > 1 && out.p[out.n - 1] == '/') out.n--;
    e->target = str_dup(arena, out);
    if (e->no_config) {
        e->onnx = e->target;
        e->target = path_dir(arena, e->onnx);
        return check_lone_target(e, err) && check_tokenizer(e, err);
    }
    e->moved = out.n > 5 && str_ends(out, ".onnx");
    if (e->moved) e->target = str_dup(arena, (Str){ out.p, out.n - 5 });
    e->onnx = path_join(arena, e->target, STR("model.onnx"));
    e->sidecar = "model_htp_metadata.json";
    if (file_is(e->target))
        return fail(err, EF_USAGE, "%s: found a file, wanted a folder to write into (--no-config: "
                    "the .onnx alone)", e->target);
    return check_tokenizer(e, err);
}

const char *files_tokenizer(Export *e)
{
    if (e->tokenizer_from) return path_name(tokenizer_files_at(&e->arena, e->tokenizer_from).vocab).p;
    for (size_t i = 0; i < VOCABULARIES; i++)
        if (file_is(path_join(&e->arena, e->folder, str_of(tokenizers[i]))) ||
            file_is(path_join(&e->arena, e->encoder, str_of(tokenizers[i]))))
            return tokenizers[i];
    return NULL;
}

static void note_file(Export *e, ExportFile file)
{
    int at = e->n_file;
    assert(e->n_file < (int)COUNT(e->file));
    for (; at && strcmp(e->file[at - 1].name, file.name) > 0; at--) e->file[at] = e->file[at - 1];
    e->file[at] = file;
    e->n_file++;
}

void files_note(Export *e, const char *name, uint64_t size)
{
    note_file(e, (ExportFile){ name, size, FILE_WRITTEN });
}

/* Copies a file, if it is there, to that name of the target. */
static bool copy_file(Export *e, const char *from, const char *name, Err *err)
{
    Arena scratch = { 0 };
    Mapping file;
    const char *to = path_join(&scratch, e->target, str_of(name));
    bool ok = true;
    if (file_is(from) && file_map(from, &file, err)) {
        Str bytes = { (const char *)file.p, file.n };
        if (file.n > MOST_COPIED) ok = fail(err, EF_TOO_LARGE, "%s: %zu bytes", from, file.n);
        else if (!file_same(from, to))
            ok = dir_make_parents(to, err) && file_write_copy(&scratch, to, bytes, err);
        if (ok) note_file(e, (ExportFile){ name, file.n, FILE_COPIED });
        file_unmap(&file);
    } else if (file_is(from)) {
        ok = false;
    }
    arena_free(&scratch);
    return ok;
}

bool files_copy(Export *e, const char *name, Err *err)
{
    const char *from = path_join(&e->arena, e->folder, str_of(name));
    if (!file_is(from)) from = path_join(&e->arena, e->encoder, str_of(name));
    return copy_file(e, from, name, err);
}

/* A tokenizer.json, by whatever name, is taken as it is, any other vocabulary with its folder. */
static bool copy_tokenizer(Export *e, Err *err)
{
    const char *from = e->tokenizer_from;
    if (from && file_is(from) && tokenizer_is_json(from))
        return copy_file(e, from, "tokenizer.json", err);
    if (from && file_is(from)) from = path_dir(&e->arena, from);
    for (size_t i = 0; i < COUNT(tokenizers); i++) {
        const char *own = from ? path_join(&e->arena, from, str_of(tokenizers[i])) : NULL;
        if (!(own ? copy_file(e, own, tokenizers[i], err) : files_copy(e, tokenizers[i], err)))
            return false;
    }
    return true;
}

static TokenizerFiles source_tokenizer(Arena *arena, const Export *e)
{
    if (e->tokenizer_from) return tokenizer_files_at(arena, e->tokenizer_from);
    TokenizerFiles f = tokenizer_files(arena, e->folder);
    return f.vocab || !e->encoder ? f : tokenizer_files(arena, e->encoder);
}

/* A vocabulary that cannot be converted is still copied, and the export succeeds. */
static bool convert_tokenizer(Export *e, Err *err)
{
    Arena scratch = { 0 };
    Buf text = { 0 };
    Value tree;
    Err trouble = { 0 };
    bool ok = true;
    TokenizerFiles f = source_tokenizer(&scratch, e);
    const char *to = path_join(&scratch, e->target, STR("tokenizer.json"));
    if (!f.vocab || tokenizer_is_json(f.vocab)) return arena_free(&scratch), true;
    if (tokenizer_converted(&scratch, &f, &tree, &trouble)) {
        json_write(&text, &tree);
        buf_char(&text, '\n');
        ok = file_write(&scratch, to, buf_view(&text), err);
        if (ok) files_note(e, "tokenizer.json", text.n);
    } else {
        log_warn("no tokenizer.json was made of %s: %s", f.vocab, trouble.message);
    }
    buf_free(&text);
    arena_free(&scratch);
    return ok;
}

/* What modules.json names beside the encoder: an .onnx folder needs settings and weights of it. */
static bool copy_modules(Export *e, Err *err)
{
    static const char *const names[] = { "config.json", "model.safetensors", "pytorch_model.bin" };
    Modules m;
    Err ignored;
    const char *list = path_join(&e->arena, e->folder, STR("modules.json"));
    ModulesAt at = { .folder = e->folder };
    if (!file_is(list) || !modules_read(&e->arena, &at, &m, &ignored)) return true;
    for (int i = 1; i < m.n; i++)
        for (size_t k = 0; m.row[i].path.n && k < COUNT(names); k++) {
            Str path = m.row[i].path;
            if (!files_copy(e, str_format(&e->arena, "%.*s/%s", STR_ARG(path), names[k]), err))
                return false;
        }
    return true;
}

bool files_copy_settings(Export *e, Err *err)
{
    for (size_t i = 0; i < COUNT(settings); i++)
        if (!files_copy(e, settings[i], err)) return false;
    if (!copy_modules(e, err)) return false;
    return e->no_tokenizer || (copy_tokenizer(e, err) && convert_tokenizer(e, err));
}

/* ---- the report ---- */

Value files_missing(Arena *arena, const Export *e)
{
    static const char *const usual[] = { "config.json", "tokenizer.json", "tokenizer_config.json",
                                         "special_tokens_map.json" };
    Value list = value_list(arena, COUNT(usual));
    list.list.n = 0;
    for (size_t i = 0; i < COUNT(usual); i++) {
        int k = 0;
        while (k < e->n_file && strcmp(e->file[k].name, usual[i]) != 0) k++;
        if (k == e->n_file) list.list.items[list.list.n++] = value_of_str(str_of(usual[i]));
    }
    return list;
}

static Value names_of(Arena *arena, const ExportFile *file, size_t n, int how)
{
    Value list = value_list(arena, n);
    list.list.n = 0;
    for (size_t i = 0; i < n; i++)
        if ((int)file[i].how == how)
            list.list.items[list.list.n++] = value_of_str(str_of(file[i].name));
    return list;
}

void files_report(Arena *arena, const ExportFile *file, size_t n, Value *report)
{
    Value files = value_list(arena, n);
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        Value *f = &files.list.items[i];
        *f = value_map(arena, 2);
        value_add(f, "name", value_of_str(str_of(file[i].name)));
        value_add(f, "size", value_of_int((int64_t)file[i].size));
        bytes += file[i].size;
    }
    value_add(report, "files", files);
    value_add(report, "written", names_of(arena, file, n, FILE_WRITTEN));
    value_add(report, "copied", names_of(arena, file, n, FILE_COPIED));
    value_add(report, "bytes", value_of_int((int64_t)bytes));
}

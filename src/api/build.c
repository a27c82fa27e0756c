/* SPDX-License-Identifier: Apache-2.0
 * build.c - the order of a build: settings, files, model, dry run, and only then the output. */
#include "api/build.h"

#include "base/log.h"
#include "base/thread.h"
#include "export/files.h"

/* Beside the running program, where a release puts those of other CPUs. */
static const char *program_beside(Arena *arena, const char *self, const Target *t, Err *err)
{
    const char *path = path_join(arena, path_dir(arena, self), str_of(t->program));
    if (file_is(path)) return path;
    fail(err, EF_NOT_FOUND,
         "target %s: found no %s beside this program, wanted it there or by --base-binary-path",
         t->triple, t->program);
    return NULL;
}

/* The program that goes in front: our own unless another is named, or another CPU. */
static bool find_program(Arena *arena, const BuildConfig *c, BuildReport *r, Err *err)
{
    const Target *wanted = NULL;
    const char *self = path_self(arena, err);
    if (!self || (c->target && !(wanted = target_named(c->target, err)))) return false;
    if (!c->base_binary && !c->own_program)
        return fail(err, EF_INVALID_INPUT, "base_binary_path: found none, wanted the path of an encoderfile program: "
                    "the one that calls this (%s) is another", self);
    r->program = c->base_binary ? c->base_binary : self;
    if (!program_check(r->program, &r->target, err)) return false;
    if (wanted && r->target != wanted && !c->base_binary) {
        r->program = program_beside(arena, self, wanted, err);
        if (!r->program || !program_check(r->program, &r->target, err)) return false;
    }
    return !wanted || r->target == wanted ||
           fail(err, EF_INVALID_INPUT, "%s: program for %s, wanted %s", r->program,
                r->target->triple, wanted->triple);
}

static bool find_script(Arena *arena, const BuildConfig *c, ModelSource *s, Err *err)
{
    enum { MOST = 4 << 20 };
    if (!c->script_path) return true;
    if (!file_is(c->script_path))
        return fail(err, EF_NOT_FOUND, "No such file: \"%s\"", c->script_path);
    return file_read(arena, c->script_path, MOST, &s->script, err);
}

/* Runs the script on random numbers, unless the YAML says that it need not be tried. */
static bool try_script(const BuildConfig *c, const Model *m, Err *err)
{
    return c->trust_script || !m->transform ||
           transform_check(m->transform, m->task, &m->config, err);
}

/* What a flag may stand for, and so can be missing in the YAML. Without a YAML the files tell it. */
static bool check_said(const BuildConfig *c, const ModelSource *s, Err *err)
{
    if (!c->yaml || c->open.task.n || s->modules) return true;
    if (!c->source.task.n)
        return fail(err, EF_INVALID_INPUT, "encoderfile: missing field `model_type` (or --task)");
    return c->folder || c->source.config ||
           fail(err, EF_INVALID_INPUT, "encoderfile: path: missing field `model_config_path`");
}

static bool find_folder(Arena *arena, const BuildConfig *c, ModelSource *s, Err *err)
{
    if (!file_is(c->folder) && !dir_is(c->folder))
        return fail(err, EF_NOT_FOUND, "No such directory: \"%s\"", c->folder);
    if (!source_path(arena, c->folder, s))
        return fail(err, EF_INVALID_INPUT, "%s: found %s, wanted a model folder, an .onnx or weights",
                    c->folder, package_is(c->folder) ? "a package" : "another kind of file");
    if (dir_is(c->folder) || !c->yaml) source_task_inside(arena, s);
    return true;
}

static bool find_files(Arena *arena, const BuildConfig *c, ModelSource *s, Err *err)
{
    if (!build_settings(arena, c, s, err) || (c->folder && !find_folder(arena, c, s, err)))
        return false;
    source_said(arena, c->open.task, c->open.tokenizer, s);
    if (!s->name.n) s->name = source_name(arena, c->folder ? c->folder : s->weights);
    return check_said(c, s, err) && head_wish(c->open.pooling, c->open.normalize, &s->wish, err);
}

/* <output_dir>/<name>.encoderfile; a name like "org/model" stays one file. */
static const char *output_path(Arena *arena, const BuildConfig *c, Str model)
{
    if (c->output_path) return c->output_path;
    char *name = str_format(arena, "%.*s.encoderfile", STR_ARG(model));
    for (char *p = name; *p; p++)
        if (*p == '/') *p = '-';
    return path_join(arena, c->output_dir ? c->output_dir : ".", str_of(name));
}

/* A build replaces an earlier package and nothing else: what it reads is never a package, whatever
 * links lead to it, but for the program in front. */
static bool check_output(const BuildConfig *c, const char *path, Err *err)
{
    if (dir_is(path)) return fail(err, EF_IO, "%s: cannot be written: it is a folder", path);
    if (!path_name(path).n)
        return fail(err, EF_USAGE, "%s: found a folder's name, wanted a file's (--output-dir takes "
                    "a folder)", path);
    if (c->base_binary && file_same(path, c->base_binary))
        return fail(err, EF_USAGE, "%s: found the program that the package begins with, wanted "
                    "another output", path);
    if (!file_is(path) || file_empty(path) || package_is(path)) return true;
    return fail(err, EF_USAGE, "%s: found a file that is no package, wanted none or an earlier "
                "package: an input of a build is never replaced; remove the file if it is none",
                path);
}

static bool write_package(Arena *arena, const BuildConfig *c, BuildReport *r, Err *err)
{
    const char *path = output_path(arena, c, r->model->name);
    Package content;
    build_pack(arena, r->model, &content);
    const size_t there = dir_there(path);
    if (!dir_make_parents(path, err) || !package_write(r->program, path, &content, err))
        return dir_remove_empty(path, there), false;
    r->path = path;
    r->size = file_size(path);
    return true;
}

/* Where config.json and the like were looked for, they are worth a word. */
static void note_files(Arena *arena, const ModelSource *s, BuildReport *r)
{
    bool texts = r->model->tokenizer, files = r->model->image || r->model->audio;
    const struct { const char *path, *name; } rows[] = {
        { s->weights, "model.onnx" }, { s->config, "config.json" },
        { s->tokenizer.vocab, texts ? "tokenizer.json" : NULL },
        { s->tokenizer.config, texts ? "tokenizer_config.json" : NULL },
        { s->prompts, NULL }, { files ? s->preprocessor : NULL, NULL },
        { files ? s->processor : NULL, NULL },
    };
    r->missing = value_list(arena, COUNT(rows));
    r->missing.list.n = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *path = rows[i].path;
        if (path && file_is(path))
            r->file[r->n_file++] = (ExportFile){ str_dup(arena, str_of(path)), file_size(path),
                                                 FILE_COPIED };
        else if (rows[i].name)
            r->missing.list.items[r->missing.list.n++] = value_of_str(str_of(rows[i].name));
    }
}

static void note_others(Arena *arena, const BuildConfig *c, const ModelSource *s, BuildReport *r)
{
    Buf list = { .arena = arena };
    if (!c->folder || !dir_is(c->folder)) return;
    source_other_weights(arena, c->folder, s->weights, &list);
    if (list.n) r->others = str_dup(arena, buf_view(&list));
}

static bool build(Arena *arena, const BuildConfig *c, BuildReport *r, Err *err)
{
    ModelSource source;
    if (!find_program(arena, c, r, err)) return false;
    if (!find_files(arena, c, &source, err) || !find_script(arena, c, &source, err)) return false;
    if (!check_output(c, output_path(arena, c, source.name), err)) return false;
    if (!model_open_source(&source, &r->model, err) || !model_dry_run(r->model, err)) return false;
    if (!try_script(c, r->model, err)) return false;
    note_files(arena, &source, r);
    note_others(arena, c, &source, r);
    return c->validate_only || write_package(arena, c, r, err);
}

/* The same model as its files have it. */
static bool open_full(Arena *arena, const BuildConfig *c, Model **out, Err *err)
{
    ModelSource source;
    if (!find_files(arena, c, &source, err) || !find_script(arena, c, &source, err)) return false;
    source.precision = STR("fp32");
    source.compile = false;
    return model_open_source(&source, out, err);
}

/* Of a package in fewer bits than its files have. */
static void measure(Arena *arena, const BuildConfig *c, const TextList *texts, BuildReport *r)
{
    Model *full;
    Str asked = c->source.precision;
    if (c->no_report || !asked.n || str_is(asked, "fp32")) return;
    if (!open_full(arena, c, &full, &r->unmeasured)) return;
    r->measured = accuracy_models(arena, full, r->model, texts->text, texts->n, &r->accuracy,
                                  &r->unmeasured);
    model_close(full);
}

bool build_run(Arena *arena, const BuildConfig *c, BuildReport *r, Err *err)
{
    double begin = now_seconds();
    Str *text = NULL;
    size_t n = 0;
    *r = (BuildReport){ 0 };
    if (c->cache_dir) log_warn("cache_dir has no effect: nothing is downloaded, nothing is cached");
    if (c->calibrate && !accuracy_texts(arena, c->calibrate, &text, &n, err)) return false;
    if (build(arena, c, r, err)) {
        r->seconds = now_seconds() - begin;
        measure(arena, c, &(TextList){ text, n }, r);
        return true;
    }
    model_close(r->model);
    *r = (BuildReport){ 0 };
    return false;
}

static void report_files(Arena *arena, const BuildReport *r, Value *v)
{
    ExportFile file[COUNT(r->file) + 1];
    size_t n = 0;
    if (r->path) file[n++] = (ExportFile){ r->path, r->size, FILE_WRITTEN };
    for (size_t i = 0; i < r->n_file; i++) file[n++] = r->file[i];
    files_report(arena, file, n, v);
    value_add(v, "missing", r->missing);
}

Value build_json(Arena *arena, const BuildReport *r)
{
    const Model *m = r->model;
    const char *why = NULL;
    Value v = value_map(arena, 19);
    value_add(&v, "name", value_of_str(m->name));
    value_add(&v, "version", value_of_str(m->version));
    value_add(&v, "model_type", value_of_str(str_of(m->task->name)));
    value_add(&v, "precision", value_of_str(str_of(m->precision)));
    if (m->tokenizer) {
        value_add(&v, "tokenizer", value_of_str(str_of(tokenizer_kind(m->tokenizer))));
        value_add(&v, "max_length", value_of_int(m->encode.max_length));
    }
    if (m->image) value_add(&v, "image_processor", value_of_text(m->image->name));
    value_add(&v, "ragged", value_of_bool(engine_ragged(m->engine, &why)));
    value_add(&v, "output", r->path ? value_of_str(str_of(r->path)) : value_null());
    value_add(&v, "target", value_of_str(str_of(r->target->triple)));
    value_add(&v, "size", value_of_int((int64_t)r->size));
    value_add(&v, "seconds", value_of_float(r->seconds));
    report_files(arena, r, &v);
    if (r->measured) value_add(&v, "accuracy", accuracy_json(arena, &r->accuracy));
    return v;
}

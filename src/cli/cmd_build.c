/* SPDX-License-Identifier: Apache-2.0
 * cmd_build.c - a model, or config.yml, to NAME.encoderfile: flags over YAML, then the library's build. */
#include <errno.h>
#include <unistd.h>

#include "api/build.h"
#include "base/thread.h"
#include "cli/reports.h"

#define DOWNLOADS "this program is its own base: nothing is ever downloaded"
static const Option options[] = {
    { "config", 'f', "FILE", "settings as YAML; flags win over it", TAKES_PATH },
    { "write-config", 0, "FILE", "write the settings as YAML: what was given, and what was found" },
    { "json", 0, NULL, "what was built, as JSON" },
    { "directory", 0, "DIR", "go there after reading the YAML" },
    { "no-download", 0, NULL, "accepted: nothing is downloaded" },
    { "runtime-version", 0, "V", .refused = "runtime downloads do not exist here: " DOWNLOADS },
    { "platform", 0, "TRIPLE", .refused = "the option is called --target" },
    { 0 },
};

/* -f FILE, or a YAML where the model would stand. */
static const char *build_yaml(const Args *a)
{
    const char *yaml = args_value(a, "config"), *model = args_value(a, "model");
    if (yaml || !model) return yaml;
    return build_is_yaml(model) ? model : NULL;
}

static bool build_read_source(Args *a, BuildConfig *c, Err *err)
{
    const char *yaml = build_yaml(a);
    *c = (BuildConfig){ 0 };
    if (yaml) return build_read(&a->arena, yaml, c, err);
    if (args_has(a, "model") || args_has(a, "model-weights-path")) return true;
    return build_from_environment(&a->arena, c, err);
}

/* Flags win over the YAML; one kind of output replaces the other. */
static bool build_configure(Args *a, BuildConfig *c, Err *err)
{
    const char *directory = args_value(a, "directory"), *write = args_value(a, "write-config");
    if (a->n_text)
        return fail(err, EF_USAGE, "build: found \"%s\", wanted one model and options", a->text[0]);
    if (write && (file_is(write) || dir_is(write)))
        return fail(err, EF_USAGE, "--write-config: %s: found a file, wanted none there", write);
    if (!build_read_source(a, c, err)) return false;
    const char *folder = c->folder;
    if (args_has(a, "output-dir")) c->output_path = NULL;
    if (!args_fill(a, c, err)) return false;
    if (c->folder && c->folder != folder && build_yaml(a) == args_value(a, "model")) c->folder = folder;
    if (directory && chdir(directory) != 0)
        return fail(err, EF_NOT_FOUND, "--directory %s: %s", directory, strerror(errno));
    return true;
}

/* ---- what is said ---- */
/* How much of all paths is the same folder, with its last "/". */
static size_t common_folder(const BuildReport *r)
{
    size_t n = r->n_file ? (size_t)(path_name(r->file[0].name).p - r->file[0].name) : 0;
    for (size_t i = 0; i < r->n_file && n; i++)
        while (n && strncmp(r->file[i].name, r->file[0].name, n) != 0)
            for (n--; n && r->file[0].name[n - 1] != '/';) n--;
    return n;
}

/* Which files were taken, and which others could have been. */
static void build_put_files(Buf *b, const BuildReport *r)
{
    const size_t folder = common_folder(r);
    if (folder) buf_printf(b, "  made of %.*s: ", (int)folder, r->file[0].name);
    else buf_puts(b, "  made of ");
    for (size_t i = 0; i < r->n_file; i++)
        buf_printf(b, "%s%s", i ? ", " : "", r->file[i].name + folder);
    buf_char(b, '\n');
    if (r->others) buf_printf(b, "  not taken: %s\n", r->others);
}

/* What it reads, and how rows share a run. */
static void build_put_input(Buf *b, const Model *m)
{
    const char *why = NULL;
    bool ragged = engine_ragged(m->engine, &why);
    if (m->text_graph || !m->tokenizer) return model_describe_input(m, b), buf_char(b, '\n');
    buf_printf(b, "%s tokenizer, up to %d tokens, ", tokenizer_kind(m->tokenizer), m->encode.max_length);
    if (ragged) buf_puts(b, "batches without padding\n");
    else buf_printf(b, "rows of one length at a time: %s\n", why ? why : "not proved ragged");
}

static void build_put_text(Buf *b, const BuildReport *r)
{
    const Model *m = r->model;
    buf_printf(b, "%.*s %.*s: %s, %s, ", STR_ARG(m->name), STR_ARG(m->version), m->task->name, m->precision);
    build_put_input(b, m);
    size_t before = b->n;
    model_describe_head(m, b);
    if (b->n > before) buf_char(b, '\n');
    build_put_files(b, r);
    if (r->measured) report_accuracy(b, &r->accuracy);
    if (r->path)
        buf_printf(b, "Encoderfile written to %s (%s, %.1f MB, %.2f s)\n", r->path,
                   r->target->triple, (double)r->size / 1e6, r->seconds);
    else
        buf_puts(b, "validated; nothing was written\n");
}

static bool build_report(Args *a, const BuildReport *r, Err *err)
{
    if (r->unmeasured.code)
        fprintf(stderr, "encoderfile: no accuracy report: %s\n", r->unmeasured.message);
    if (args_has(a, "json")) {
        Value v = build_json(&a->arena, r);
        return out_json(&v, err);
    }
    Buf b = { 0 };
    build_put_text(&b, r);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool build_save(Args *a, const BuildConfig *c, const Model *m, Err *err)
{
    const char *path = args_value(a, "write-config");
    Buf yaml = { .arena = &a->arena };
    if (!path) return true;
    build_write(&a->arena, c, m, &yaml);
    return file_write(&a->arena, path, buf_view(&yaml), err);
}

static bool build_command(Args *a, Err *err)
{
    BuildReport built;
    BuildConfig config;
    if (!build_configure(a, &config, err)) return false;
    config.own_program = true;
    if (!build_run(&a->arena, &config, &built, err)) return false;
    bool ok = build_save(a, &config, built.model, err) && build_report(a, &built, err);
    model_close(built.model);
    return ok;
}

const Command cmd_build = {
    .name = "build",
    .summary = "pack a model folder into one executable",
    .options = options,
    .more = build_options,
    .note = NOTE_LIMIT,
    .run = build_command,
    .builder = true,
    .model_first = true,
    .usage = "MODEL [-o FILE] [OPTIONS] | -f config.yml [OPTIONS]",
    .example = "  encoderfile build ./ner-model -o ner.encoderfile && ./ner.encoderfile serve\n"
               "  encoderfile build ./ner-model --precision int8 --write-config config.yml\n"
               "\n"
               "The same with a YAML; docs/options.md lists its keys:\n"
               "  cat > config.yml <<END\n"
               "  encoderfile:\n"
               "    name: my-ner\n"
               "    path: ./ner-model          # config.json, model.onnx, tokenizer.json\n"
               "    model_type: token_classification\n"
               "    output_dir: ./build\n"
               "  END\n"
               "  encoderfile build -f config.yml && ./build/my-ner.encoderfile serve\n",
};

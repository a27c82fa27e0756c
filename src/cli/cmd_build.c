/* SPDX-License-Identifier: Apache-2.0
 * cmd_build.c - config.yml to NAME.encoderfile: flags over YAML, then the library's build. */
#include <errno.h>
#include <unistd.h>

#include "api/build.h"
#include "base/thread.h"
#include "cli/reports.h"

#define DOWNLOADS "this program is its own base: nothing is ever downloaded"
static const Option options[] = {
    { "config", 'f', "FILE", "the build's YAML (without it: MODEL_* variables)" },
    { "output-path", 'o', "FILE", "the package to write" },
    { "output-dir", 0, "DIR", "its folder; its name is then NAME.encoderfile",
      .against = "output-path" },
    OPTIONS_TASK(OPTION_NO_FIELD),
    OPTION_TOKENIZER(OPTION_NO_FIELD),
    { "precision", 0, "P", "of products: fp32 (as the file is), bf16 or int8" },
    OPTION_POOLING,
    OPTIONS_ACCURACY(BuildConfig),
    { "json", 0, NULL, "what was built, as JSON" },
    { "no-build", 0, NULL, "validate everything, write nothing" },
    { "directory", 0, "DIR", "go there after reading the YAML" },
    { "base-binary-path", 0, "FILE", "another program to put in front of the model" },
    { "target", 0, "T", "x86_64-linux or aarch64-linux: by encoderfile-T beside this program" },
    { "cache-dir", 0, "DIR", "has no effect, and says so: there is nothing to cache" },
    { "no-download", 0, NULL, "accepted: nothing is downloaded" },
    { "runtime-version", 0, "V", .refused = "runtime downloads do not exist here: " DOWNLOADS },
    { "platform", 0, "TRIPLE", .refused = "the option is called --target" },
    { 0 },
};

/* Flags win over the YAML; one kind of output replaces the other. */
static bool override(Args *a, BuildConfig *c, Err *err)
{
    const char *path = args_value(a, "output-path"), *dir = args_value(a, "output-dir");
    if (dir) c->output_dir = dir, c->output_path = NULL;
    if (path) c->output_path = path;
    if (args_has(a, "base-binary-path")) c->base_binary = args_value(a, "base-binary-path");
    if (args_has(a, "target")) c->target = args_value(a, "target");
    if (args_has(a, "cache-dir")) c->cache_dir = args_value(a, "cache-dir");
    if (args_has(a, "precision")) c->source.precision = str_of(args_value(a, "precision"));
    if (args_has(a, "no-build")) c->validate_only = true;
    c->open = args_open(a);
    return args_fill(a, c, err);
}

static bool build_configure(Args *a, BuildConfig *c, Err *err)
{
    const char *yaml = args_value(a, "config"), *directory = args_value(a, "directory");
    if (a->n_text)
        return fail(err, EF_USAGE, "build: found \"%s\", wanted options only (-f config.yml)",
                    a->text[0]);
    if (!(yaml ? build_read(&a->arena, yaml, c, err) : build_from_environment(&a->arena, c, err)))
        return false;
    if (!override(a, c, err)) return false;
    if (directory && chdir(directory) != 0)
        return fail(err, EF_NOT_FOUND, "--directory %s: %s", directory, strerror(errno));
    return true;
}

/* ---- what is said ---- */
static void build_put_text(Buf *b, const BuildReport *r)
{
    const char *why = NULL;
    const Model *m = r->model;
    bool ragged = engine_ragged(m->engine, &why);
    buf_printf(b, "%.*s %.*s: %s, %s, %s tokenizer, up to %d tokens, ", STR_ARG(m->name),
               STR_ARG(m->version), m->task->name, m->precision, tokenizer_kind(m->tokenizer),
               m->encode.max_length);
    if (ragged) buf_puts(b, "batches without padding\n");
    else buf_printf(b, "rows of one length at a time: %s\n", why ? why : "not proved ragged");
    size_t before = b->n;
    model_describe_head(m, b);
    if (b->n > before) buf_char(b, '\n');
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

static bool build_command(Args *a, Err *err)
{
    BuildReport built;
    BuildConfig config;
    if (!build_configure(a, &config, err) || !build_run(&a->arena, &config, &built, err)) return false;
    bool ok = build_report(a, &built, err);
    model_close(built.model);
    return ok;
}

const Command cmd_build = {
    .name = "build",
    .summary = "pack a model folder into one executable",
    .options = options,
    .note = NOTE_LIMIT,
    .run = build_command,
    .builder = true,
    .usage = "-f config.yml [OPTIONS]",
    .example = "  cat > config.yml <<END\n"
               "  encoderfile:\n"
               "    name: my-ner\n"
               "    path: ./ner-model          # config.json, model.onnx, tokenizer.json\n"
               "    model_type: token_classification\n"
               "    output_dir: ./build\n"
               "  END\n"
               "  encoderfile build -f config.yml && ./build/my-ner.encoderfile serve\n",
};

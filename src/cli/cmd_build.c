/* SPDX-License-Identifier: Apache-2.0
 * cmd_build.c - config.yml to NAME.encoderfile: flags over YAML, then the library's build. */
#include <errno.h>
#include <unistd.h>

#include "api/build.h"
#include "base/thread.h"
#include "cli/cli.h"

#define DOWNLOADS "this program is its own base: nothing is ever downloaded"
static const Option options[] = {
    { "config", 'f', "FILE", "the build's YAML (without it: MODEL_* variables)" },
    { "output-path", 'o', "FILE", "the package to write" },
    { "output-dir", 0, "DIR", "its folder; its name is then NAME.encoderfile" },
    OPTION_TASK,
    OPTION_TOKENIZER,
    { "precision", 0, "P", "of products: fp32 (as the file is), bf16 or int8" },
    OPTION_POOLING,
    { "no-build", 0, NULL, "validate everything, write nothing" },
    { "directory", 0, "DIR", "go there after reading the YAML" },
    { "base-binary-path", 0, "FILE", "another program to put in front of the model" },
    { "target", 0, "TRIPLE", "must be this machine's" },
    { "cache-dir", 0, "DIR", "accepted: there is nothing to cache" },
    { "no-download", 0, NULL, "accepted: nothing is downloaded" },
    { "runtime-version", 0, "V", NULL, "runtime downloads do not exist here: " DOWNLOADS },
    { "platform", 0, "TRIPLE", NULL, "the option is called --target" },
    { 0 },
};

/* Flags win over the YAML; one kind of output replaces the other. */
static void override(const Args *a, BuildConfig *c)
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
}

static bool configure(Args *a, BuildConfig *c, Err *err)
{
    const char *yaml = args_value(a, "config"), *directory = args_value(a, "directory");
    if (a->n_text)
        return fail(err, EF_USAGE, "build: found \"%s\", wanted options only (-f config.yml)",
                    a->text[0]);
    if (!(yaml ? build_read(&a->arena, yaml, c, err) : build_from_environment(&a->arena, c, err)))
        return false;
    override(a, c);
    if (directory && chdir(directory) != 0)
        return fail(err, EF_NOT_FOUND, "--directory %s: %s", directory, strerror(errno));
    return true;
}

static bool report(const BuildReport *r, double seconds, Err *err)
{
    const char *why = NULL;
    const Model *m = r->model;
    bool ragged = engine_ragged(m->engine, &why);
    Buf b = { 0 };
    buf_printf(&b, "%.*s %.*s: %s, %s, %s tokenizer, up to %d tokens, ", STR_ARG(m->name),
               STR_ARG(m->version), m->task->name, m->precision, tokenizer_kind(m->tokenizer),
               m->encode.max_length);
    if (ragged) buf_puts(&b, "batches without padding\n");
    else buf_printf(&b, "rows of one length at a time: %s\n", why ? why : "not proved ragged");
    size_t before = b.n;
    model_describe_head(m, &b);
    if (b.n > before) buf_char(&b, '\n');
    if (r->path)
        buf_printf(&b, "Encoderfile written to %s (%.1f MB, %.2f s)\n", r->path,
                   (double)r->size / 1e6, seconds);
    else
        buf_puts(&b, "validated; nothing was written\n");
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool run(Args *a, Err *err)
{
    double started = now_seconds();
    BuildConfig config;
    BuildReport result;
    if (!configure(a, &config, err) || !build_run(&a->arena, &config, &result, err)) return false;
    bool ok = report(&result, now_seconds() - started, err);
    model_close(result.model);
    return ok;
}

const Command cmd_build = {
    .name = "build",
    .summary = "pack a model folder into one executable",
    .options = options,
    .note = NOTE_LIMIT,
    .run = run,
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

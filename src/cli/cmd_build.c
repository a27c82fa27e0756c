/* SPDX-License-Identifier: Apache-2.0
 * cmd_build.c - config.yml to NAME.encoderfile: flags over YAML, then the library's build. */
#include <errno.h>
#include <unistd.h>

#include "api/build.h"
#include "base/thread.h"
#include "cli/quantizing.h"

#define DOWNLOADS "this program is its own base: nothing is ever downloaded"
static const Option options[] = {
    { "config", 'f', "FILE", "the build's YAML (without it: MODEL_* variables)" },
    { "output-path", 'o', "FILE", "the package to write" },
    { "output-dir", 0, "DIR", "its folder; its name is then NAME.encoderfile",
      .against = "output-path" },
    OPTION_TASK,
    OPTION_TOKENIZER,
    { "precision", 0, "P", "of products: fp32 (as the file is), bf16 or int8" },
    OPTION_POOLING,
    OPTIONS_ACCURACY,
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

/* ---- what is said ---- */
typedef struct Built {
    BuildReport report;
    double seconds;
    const Accuracy *accuracy; /* NULL: not measured */
} Built;

static void put_text(Buf *b, const Built *built)
{
    const char *why = NULL;
    const BuildReport *r = &built->report;
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
    if (built->accuracy) accuracy_print(b, built->accuracy);
    if (r->path)
        buf_printf(b, "Encoderfile written to %s (%s, %.1f MB, %.2f s)\n", r->path,
                   r->target->triple, (double)r->size / 1e6, built->seconds);
    else
        buf_puts(b, "validated; nothing was written\n");
}

static Value as_json(Arena *arena, const Built *built)
{
    const BuildReport *r = &built->report;
    const Model *m = r->model;
    const char *why = NULL;
    Value v = value_map(arena, 12);
    value_add(&v, "name", value_of_str(m->name));
    value_add(&v, "version", value_of_str(m->version));
    value_add(&v, "model_type", value_of_str(str_of(m->task->name)));
    value_add(&v, "precision", value_of_str(str_of(m->precision)));
    value_add(&v, "tokenizer", value_of_str(str_of(tokenizer_kind(m->tokenizer))));
    value_add(&v, "max_length", value_of_int(m->encode.max_length));
    value_add(&v, "ragged", value_of_bool(engine_ragged(m->engine, &why)));
    value_add(&v, "output", r->path ? value_of_str(str_of(r->path)) : value_null());
    value_add(&v, "target", value_of_str(str_of(r->target->triple)));
    value_add(&v, "size", value_of_int((int64_t)r->size));
    value_add(&v, "seconds", value_of_float(built->seconds));
    if (built->accuracy) value_add(&v, "accuracy", accuracy_json(arena, built->accuracy));
    return v;
}

static bool report(Args *a, const Built *built, Err *err)
{
    if (args_has(a, "json")) {
        Value v = as_json(&a->arena, built);
        return out_json(&v, err);
    }
    Buf b = { 0 };
    put_text(&b, built);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

/* Of a model in fewer bits than its files have. Why there is no report is a word, not a failure:
 * the package is written. */
static const Accuracy *measure_built(Args *a, const BuildConfig *c, const Model *built,
                               const QuantizingTexts *t)
{
    Accuracy *acc = NEW(&a->arena, Accuracy);
    Model *full;
    Err why;
    Str asked = c->source.precision;
    if (t->none || !asked.n || str_is(asked, "fp32")) return NULL;
    bool ok = build_open_full(&a->arena, c, &full, &why);
    if (ok) {
        ok = quantizing_compare(&a->arena, full, built, t->text, t->n, acc, &why);
        model_close(full);
    }
    if (!ok) fprintf(stderr, "encoderfile: no accuracy report: %s\n", why.message);
    return ok ? acc : NULL;
}

static bool run(Args *a, Err *err)
{
    Built built = { .seconds = now_seconds() };
    BuildConfig config;
    QuantizingTexts texts;
    if (!configure(a, &config, err) || !quantizing_texts(a, &texts, err) ||
        !build_run(&a->arena, &config, &built.report, err))
        return false;
    built.seconds = now_seconds() - built.seconds;
    built.accuracy = measure_built(a, &config, built.report.model, &texts);
    bool ok = report(a, &built, err);
    model_close(built.report.model);
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

/* SPDX-License-Identifier: Apache-2.0
 * cmd_metadata.c - the metadata inside an .onnx: put in, read, judged. */
#include "api/embedding_metadata.h"
#include "base/log.h"
#include "cli/cli.h"

static bool say(const char *format, ...) PRINTF(1, 2);
static bool say(const char *format, ...)
{
    Buf line = { 0 };
    Err ignored;
    va_list args;
    char text[2048];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_puts(&line, text);
    bool ok = out_buf(&line, &ignored);
    buf_free(&line);
    return ok;
}

static bool need_texts(const Args *a, int n, const char *wanted, Err *err)
{
    if (a->n_text == n) return true;
    return fail(err, EF_USAGE, "%s: found %d words, wanted %s", a->command->name, a->n_text,
                wanted);
}

/* ---- embed ---- */

static const Option embed_options[] = {
    { "json", 0, NULL, "tell the outcome as JSON" },
    { 0 },
};

static bool run_embed(Args *a, Err *err)
{
    if (!need_texts(a, 2, "an .onnx and the model's folder", err)) return false;
    EmbeddingMetadata x = { .onnx = a->text[0], .model = a->text[1] };
    if (!args_fill(a, &x, err) || !embedding_metadata_run(&a->arena, &x, err)) return false;
    if (!args_has(a, "json"))
        return say("%s: %d keys, %zu bytes of metadata; task %s%s\n", x.embed.to, x.embed.n,
                   embedding_metadata_bytes(&x), x.embed.source.task, x.embed.tokenizer ? "; runs alone" : "");
    Value v = embedding_metadata_json(&a->arena, &x);
    return out_json(&v, err);
}

const Command cmd_metadata_embed = {
    .name = "metadata embed",
    .alias = "embed-metadata",
    .summary = "put config, task and tokenizer settings into an .onnx",
    .usage = "FILE.onnx MODEL_DIR [-o OUT.onnx] [--include-tokenizer]",
    .example = "  encoderfile metadata embed model.onnx ./bert-ner\n"
               "  encoderfile infer --model model.onnx \"Ada lived in London\"\n",
    .options = embed_options,
    .more = embed_metadata_options,
    .model_word = 2,
    .run = run_embed,
    .builder = true,
};

/* ---- read ---- */

static const Option read_options[] = {
    { "json", 0, NULL, "all of it as one JSON object" },
    { "key", 'k', "KEY", "one value alone, as it is (with or without hf_)",
      .against = "json" },
    { 0 },
};

static bool print_key(Args *a, const HfMetadata *m, const char *key, Err *err)
{
    Str value = hf_metadata_get(m, key);
    if (!value.p) value = hf_metadata_get(m, str_format(&a->arena, "hf_%s", key));
    if (!value.p) return fail(err, EF_NOT_FOUND, "%s: no key \"%s\"", a->text[0], key);
    return out_write(value, err) && out_write(STR("\n"), err);
}

/* A line each; long values by their size. */
static bool print_all(const HfMetadata *m, Err *err)
{
    enum { SHORT = 200 };
    Buf b = { 0 };
    for (int i = 0; i < m->n; i++) {
        const OnnxPair *p = &m->item[i];
        buf_printf(&b, "%-28.*s ", STR_ARG(p->key));
        if (p->value.n <= SHORT) buf_str(&b, p->value);
        else buf_printf(&b, "(%zu bytes)", p->value.n);
        buf_char(&b, '\n');
    }
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool run_read(Args *a, Err *err)
{
    HfMetadata m;
    const char *key = args_value(a, "key");
    if (!need_texts(a, 1, "an .onnx", err) || !hf_metadata_usable(&a->arena, a->text[0], &m, err)) return false;
    if (key) return print_key(a, &m, key, err);
    if (!args_has(a, "json")) return print_all(&m, err);
    Value v = hf_metadata_value(&a->arena, &m);
    return out_json(&v, err);
}

const Command cmd_metadata_read = {
    .name = "metadata read",
    .summary = "show the metadata of an .onnx; weights are not read",
    .usage = "FILE.onnx [--json] [--key KEY]",
    .example = "  encoderfile metadata read model.onnx\n"
               "  encoderfile metadata read model.onnx --key pipeline_task\n",
    .options = read_options,
    .run = run_read,
};

/* ---- validate ---- */

static const Option validate_options[] = {
    { "json", 0, NULL, "tell the outcome as JSON" },
    { 0 },
};

static bool tell_problems(Args *a, const HfMetadata *m, const char *const *problem, int n, Err *err)
{
    Value v = value_map(&a->arena, 5), list = value_list(&a->arena, (size_t)n);
    Str version = hf_metadata_get(m, "hf_metadata_version");
    for (int i = 0; i < n; i++) list.list.items[i] = value_of_str(str_of(problem[i]));
    value_add(&v, "valid", value_of_bool(n == 0));
    value_add(&v, "version", version.p ? value_of_str(version) : value_null());
    value_add(&v, "checksum", value_of_bool(m->checked));
    value_add(&v, "metadata_bytes", value_of_int((int64_t)m->stored));
    value_add(&v, "problems", list);
    return out_json(&v, err);
}

static bool run_validate(Args *a, Err *err)
{
    enum { MOST = 16, LARGE = 100 << 10 };
    HfMetadata m;
    const char *problem[MOST];
    if (!need_texts(a, 1, "an .onnx", err)) return false;
    if (!hf_metadata_open(&a->arena, a->text[0], &m, err)) return false;
    int n = hf_metadata_problems(&a->arena, &m, problem, MOST);
    a->exit = n > 0;
    if (args_has(a, "json")) return tell_problems(a, &m, problem, n, err);
    for (int i = 0; i < n; i++)
        if (!say("%s: %s\n", a->text[0], problem[i])) return false;
    if (!n && m.stored > LARGE && !hf_metadata_get(&m, "hf_tokenizer").p)
        log_warn("%s: %zu bytes of metadata, 100 KB are usual", a->text[0], m.stored);
    return n || say("%s: valid, %zu bytes of metadata%s\n", a->text[0], m.stored,
                    m.checked ? ", checksum right" : ", no checksum");
}

const Command cmd_metadata_validate = {
    .name = "metadata validate",
    .summary = "check the metadata of an .onnx; exit status 1 if something is wrong",
    .usage = "FILE.onnx [--json]",
    .example = "  encoderfile metadata validate model.onnx\n",
    .options = validate_options,
    .run = run_validate,
};

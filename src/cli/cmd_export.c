/* SPDX-License-Identifier: Apache-2.0
 * cmd_export.c - a model folder to an ONNX folder, with a line for each step. */
#include "api/exporting.h"
#include "cli/reports.h"

static const Option options[] = {
    { "model", 'm', "DIR", "the model folder, its weights, or a name on the Hub" },
    { "output", 'o', "DIR", "the folder to write" },
    { "embed-hierarchy", 0, NULL, NULL, .against = "clean-onnx no-hierarchy-attrs" },
    { "embed-metadata", 0, NULL, NULL, .against = "no-embed-metadata" },
    { "json", 0, NULL, "what was done as JSON" },
    { "verbose", 'v', NULL, "say what was found" },
    { 0 },
};

typedef struct ExportWords { /* how it is told */
    bool verbose, json;
} ExportWords;

/* ---- the line ---- */
static bool read_folders(Args *a, Exporting *x, Err *err)
{
    Export *e = &x->e;
    static const char usual[] = "models/bus_ner_transformer";
    int next = 0;
    e->model = args_value(a, "model"), e->output = args_value(a, "output");
    if (!e->model && next < a->n_text) e->model = a->text[next++];
    if (!e->output && next < a->n_text) e->output = a->text[next++];
    if (!e->model && dir_is(usual)) e->model = usual;
    if (!e->output && e->model == usual) e->output = "models/bus_ner_onnx";
    if (!e->model || !e->output)
        return fail(err, EF_USAGE, "export: wanted a model folder and an output folder");
    if (next < a->n_text && !args_has(a, "verify"))
        return fail(err, EF_USAGE, "export: found \"%s\", wanted nothing behind the folders",
                    a->text[next]);
    x->texts = (TextList){ args_texts(a, next), (size_t)(a->n_text - next) };
    return true;
}

/* ---- what is said on the way; beside --json only with --verbose, and on stderr ---- */
static bool say(const Exporting *x, Err *err, const char *format, ...) PRINTF(3, 4);
static bool say(const Exporting *x, Err *err, const char *format, ...)
{
    const ExportWords *words = x->context;
    char text[1024];
    va_list args;
    if (words->json && !words->verbose) return true;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (words->json) return fputs(text, stderr), true;
    return out_write(str_of(text), err);
}

/* The report of a step that is through, with --verbose. */
static bool show(const Exporting *x, HtpStep step, Err *err)
{
    const ExportWords *words = x->context;
    Buf text = { 0 };
    if (!words->verbose || words->json) return true;
    export_show(&x->e, step, &text);
    bool ok = out_buf(&text, err);
    buf_free(&text);
    return ok;
}

static bool say_opened(const Exporting *x, Err *err)
{
    const Export *e = &x->e;
    const ExportWords *words = x->context;
    if (e->no_config)
        fprintf(stderr, "Warning: exporting without config files (--no-config, deprecated); the "
                        "model will NOT work with Optimum: export to a folder instead\n");
    if (e->moved && !say(x, err, "Creating output directory: %s\n", e->target)) return false;
    if (!say(x, err, RULE "EXPORTING MODEL TO ONNX FORMAT\n" RULE "Source: %s\nOutput: %s\n"
             "Quantization: %s\n\n[Step 1/4] Loading %s...\n", e->model,
             e->no_config ? e->onnx : e->target, x->target ? x->target : "none",
             e->pictures ? "settings" : "tokenizer"))
        return false;
    if (!e->tokenizer && !e->pictures &&
        !say(x, err, "  none found: text cannot be tokenized from this folder\n"))
        return false;
    if (words->verbose && e->tokenizer && !say(x, err, "  %s\n", e->tokenizer)) return false;
    return show(x, STEP_PREPARE, err) && say(x, err, "[Step 2/4] Exporting model to ONNX...\n");
}

static bool say_built(const Exporting *x, Err *err)
{
    const Export *e = &x->e;
    const ExportWords *words = x->context;
    if (words->verbose &&
        !say(x, err, "  %s (%s), task %s, opset %d, %d layers, %.1fM parameters\n"
             "  %d nodes, %d with a hierarchy tag\n", e->class_name, e->model_type, e->task_name,
             e->opset, e->layers, (double)e->parameters / 1e6, e->nodes, e->tagged))
        return false;
    return show(x, STEP_INPUTS, err) && show(x, STEP_HIERARCHY, err) &&
           say(x, err, "[Step 3/4] Saving ONNX model...\n");
}

static bool say_quantized(const Exporting *x, Err *err)
{
    const ExportWords *words = x->context;
    Buf text = { 0 };
    report_quantized(&text, &x->quantizing);
    bool ok = words->json || out_buf(&text, err);
    buf_free(&text);
    return ok;
}

static bool say_size(const Exporting *x, const ExportFile *f, Err *err)
{
    static const char *const units[] = { "B", "KB", "MB", "GB" };
    double size = (double)f->size;
    int unit = 0;
    for (; size >= 1000 && unit < 3; unit++) size /= 1000;
    return say(x, err, "  - %s (%.*f %s)\n", f->name, unit ? 2 : 0, size, units[unit]);
}

static bool say_done(const Exporting *x, Err *err)
{
    const Export *e = &x->e;
    const ExportWords *words = x->context;
    for (size_t i = 0; i < x->warnings.list.n; i++)
        fprintf(stderr, "Warning: %.*s\n", STR_ARG(x->warnings.list.items[i].s));
    if (words->json) return true;
    if (!say(x, err, "\n" RULE "EXPORT COMPLETE\n" RULE "Model exported successfully to %s (%.2f s)\n"
             "Total operations: %d\nTagged operations: %d\nCoverage: %.1f%%\nStrategy: htp\n"
             "Files created:\n", e->no_config ? e->onnx : e->target, x->seconds, e->nodes, e->tagged,
             100.0 * e->tagged / MAX(e->nodes, 1)))
        return false;
    for (int i = 0; i < e->n_file; i++)
        if (!say_size(x, &e->file[i], err)) return false;
    return !e->tokenizer_inside ||
           say(x, err, "%.*s holds its config and tokenizer: it runs alone\n",
               STR_ARG(path_name(e->onnx)));
}

static bool say_stage(Exporting *x, ExportStage stage, Err *err)
{
    switch (stage) {
    case EXPORT_OPENED: return say_opened(x, err);
    case EXPORT_BUILT: return say_built(x, err);
    case EXPORT_WRITTEN: return show(x, STEP_ONNX, err);
    case EXPORT_COPIED:
        return show(x, STEP_TAGGING, err) && show(x, STEP_INJECTION, err) &&
               say(x, err, "[Step 4/4] Copying label mappings...\n");
    case EXPORT_QUANTIZING: return say(x, err, "[Optional] Applying INT8 quantization...\n");
    case EXPORT_QUANTIZED: return say_quantized(x, err);
    case EXPORT_DONE: return say_done(x, err);
    }
    return true;
}

/* ---- the command ---- */
static bool export_report(Args *a, const Exporting *x, Err *err)
{
    Buf b = { 0 };
    if (args_has(a, "json")) {
        Value v = exporting_json(&a->arena, x);
        return out_json(&v, err);
    }
    if (!x->verify) return true;
    buf_char(&b, '\n');
    report_verified(&b, &x->verifying);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool export_run(Args *a, Err *err)
{
    ExportWords words = { args_has(a, "verbose"), args_has(a, "json") };
    Exporting x = { .stage = say_stage, .context = &words };
    bool ok = read_folders(a, &x, err) && args_fill(a, &x, err) &&
              exporting_run(&a->arena, &x, err) && export_report(a, &x, err);
    a->exit = ok && x.verify && !x.verifying.ok;
    export_close(&x.e);
    return ok || within(err, "Error during export");
}

const Command cmd_export = {
    .name = "export",
    .summary = "turn a model folder (safetensors, pytorch_model.bin) into ONNX, with its hierarchy",
    .usage = "MODEL_DIR OUT [--verify [TEXT...]]",
    .example = "  encoderfile export ./bert-ner ./bert-ner-onnx --task token-classification\n"
               "  encoderfile export ./bert-ner ./ner --quantize --verify \"Ada lived in London\"\n"
               "  encoderfile export sentence-transformers/all-MiniLM-L6-v2 ./minilm --quantize\n"
               "  encoderfile optimum-cli export onnx --model ./bert-ner --task ner ./bert-ner-onnx\n",
    .options = options,
    .more = export_options,
    .model_word = 1,
    .run = export_run,
    .builder = true,
};

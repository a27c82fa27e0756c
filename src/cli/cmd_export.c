/* SPDX-License-Identifier: Apache-2.0
 * cmd_export.c - a model folder to an ONNX folder, with a line for each step. */
#include "base/thread.h"
#include "cli/cli.h"
#include "export/export.h"

static const Option options[] = {
    { "model", 'm', "DIR", "the model folder, or a name in the local Hugging Face cache" },
    { "output", 'o', "DIR", "the folder to write" },
    { "task", 0, "TASK", "auto, feature-extraction, fill-mask, text-classification, "
                         "token-classification, question-answering, multiple-choice" },
    { "opset", 0, "N", "14 to 21 (18)" },
    { "strategy", 0, "NAME", "htp, the only one" },
    { "clean-onnx", 0, NULL, "no hierarchy tags in the file" },
    { "no-hierarchy-attrs", 0, NULL, NULL },
    { "no-config", 0, NULL, "write the .onnx alone, at OUT" },
    { "verbose", 'v', NULL, "say what was found" },
    { 0 },
};

static bool configure(const Args *a, Export *e, Err *err)
{
    int64_t opset;
    int next = 0;
    const char *strategy = args_value(a, "strategy");
    e->model = args_value(a, "model"), e->output = args_value(a, "output");
    if (!e->model && next < a->n_text) e->model = a->text[next++];
    if (!e->output && next < a->n_text) e->output = a->text[next++];
    if (!e->model || !e->output)
        return fail(err, EF_USAGE, "export: wanted a model folder and an output folder");
    if (next < a->n_text)
        return fail(err, EF_USAGE, "export: found \"%s\", wanted nothing behind the folders",
                    a->text[next]);
    if (strategy && strcmp(strategy, "htp") != 0)
        return fail(err, EF_USAGE, "--strategy: found \"%s\", wanted htp", strategy);
    if (!args_count(a, "opset", 18, 21, &opset, err)) return false;
    e->opset = (int)opset;
    e->task = args_value(a, "task");
    e->clean = args_has(a, "clean-onnx") || args_has(a, "no-hierarchy-attrs");
    e->no_config = args_has(a, "no-config");
    return true;
}

static bool say(Err *err, const char *format, ...) PRINTF(2, 3);
static bool say(Err *err, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return out_write(str_of(text), err);
}

#define RULE "============================================================\n"

static bool announce(const Export *e, Err *err)
{
    if (e->no_config && !say(err, "Warning: exporting without config files; the model will NOT "
                                  "work with Optimum\n"))
        return false;
    if (e->moved && !say(err, "Creating output directory: %s\n", e->target)) return false;
    return say(err, RULE "EXPORTING MODEL TO ONNX FORMAT\n" RULE "Source: %s\nOutput: %s\n\n",
               e->model, e->no_config ? e->onnx : e->target);
}

static bool describe(const Export *e, Err *err)
{
    return say(err, "  %s (%s), task %s, opset %d, %d layers, %.1fM parameters\n", e->class_name,
               e->model_type, e->task_name, e->opset, e->layers, (double)e->parameters / 1e6);
}

static bool say_size(const ExportFile *f, Err *err)
{
    static const char *const units[] = { "B", "KB", "MB", "GB" };
    double size = (double)f->size;
    int unit = 0;
    for (; size >= 1000 && unit < 3; unit++) size /= 1000;
    return say(err, "  - %s (%.*f %s)\n", f->name, unit ? 2 : 0, size, units[unit]);
}

static bool conclude(const Export *e, double seconds, Err *err)
{
    if (!say(err, "\n" RULE "EXPORT COMPLETE\n" RULE "Model exported successfully to %s (%.2f s)\n"
                  "Files created:\n", e->no_config ? e->onnx : e->target, seconds))
        return false;
    for (int i = 0; i < e->n_file; i++)
        if (!say_size(&e->file[i], err)) return false;
    return true;
}

static bool steps(Export *e, bool verbose, Err *err)
{
    double begin = now_seconds();
    if (!export_open(e, err) || !export_build(e, err) || !announce(e, err)) return false;
    if (!say(err, "[Step 1/4] Loading tokenizer...\n")) return false;
    if (!e->tokenizer && !say(err, "  none found: text cannot be tokenized from this folder\n"))
        return false;
    if (verbose && e->tokenizer && !say(err, "  %s\n", e->tokenizer)) return false;
    if (!say(err, "[Step 2/4] Exporting model to ONNX...\n")) return false;
    if (verbose && !describe(e, err)) return false;
    if (verbose && !say(err, "  %d nodes, %d with a hierarchy tag\n", e->nodes, e->tagged))
        return false;
    if (!say(err, "[Step 3/4] Saving ONNX model...\n")) return false;
    if (!export_write(e, err) || !export_copy(e, err)) return false;
    if (!say(err, "[Step 4/4] Copying label mappings...\n")) return false;
    return export_labels(e, err) && conclude(e, now_seconds() - begin, err);
}

static bool run(Args *a, Err *err)
{
    Export e = { 0 };
    bool ok = configure(a, &e, err) && steps(&e, args_has(a, "verbose"), err);
    export_close(&e);
    return ok || within(err, "Error during export");
}

const Command cmd_export = {
    .name = "export",
    .summary = "turn a model folder (safetensors) into ONNX, with its hierarchy",
    .usage = "MODEL_DIR OUT",
    .example = "encoderfile export ./bert-ner ./bert-ner-onnx --task token-classification\n",
    .options = options,
    .run = run,
    .builder = true,
};

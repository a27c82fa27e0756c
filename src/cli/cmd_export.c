/* SPDX-License-Identifier: Apache-2.0
 * cmd_export.c - a model folder to an ONNX folder, with a line for each step. */
#include "base/thread.h"
#include "cli/optimum.h"
#include "cli/quantizing.h"
#include "cli/verifying.h"
#include "export/export.h"
#include "export/files.h"

static const char *const levels[] = { "O1", "O2", "O3", NULL };
static const Option options[] = {
    { "model", 'm', "DIR", "the model folder, its weights, or a name in the local Hugging Face cache" },
    { "output", 'o', "DIR", "the folder to write" },
    { "task", 0, "TASK", "auto, feature-extraction, fill-mask, text-classification, "
                         "token-classification, question-answering, multiple-choice" },
    { "opset", 0, "N", "of the ONNX file, 14 to 21", TAKES_COUNT, .standard = "18",
      .least = 14, .most = 21 },
    { "dtype", 0, "TYPE", "of the weights: fp32 (default), fp16 or bf16; arithmetic stays fp32" },
    { "static-shapes", 0, "B,S", "inputs of this many rows and tokens, no others" },
    { "quantize", 'q', "CPU", "an int8 model too: avx512_vnni (default), avx512, avx2 or arm64",
      .may = quantize_target_names },
    { "optimize", 0, "LEVEL", "O1: as it is; O2: ONNX Runtime's fused operators; "
                              "O3: GELU by its tanh form too" },
    { "strategy", 0, "NAME", "htp, the only one" },
    { "clean-onnx", 0, NULL, "no hierarchy tags in the file" },
    { "no-hierarchy-attrs", 0, NULL, NULL },
    { "embed-hierarchy", 0, NULL, NULL, .against = "clean-onnx no-hierarchy-attrs" },
    { "with-report", 0, NULL, "write <stem>_htp_export_report.md", .against = "no-config" },
    { "with-graphml", 0, NULL, "draw the graph as GraphML v1.3" },
    { "graphml", 0, NULL, NULL },
    { "torch-module", 0, NULL, "norms and tables are levels of the hierarchy too" },
    { "class-names", 0, "OF", "classes in tags: transformers-5 (default) or transformers-4" },
    { "no-config", 0, NULL, "write the .onnx alone, at OUT" },
    OPTION_TOKENIZER,
    { "no-tokenizer", 0, NULL, "leave the tokenizer's files behind", .against = "tokenizer" },
    { "embed-metadata", 0, NULL, NULL, .against = "no-embed-metadata" },
    { "no-embed-metadata", 0, NULL, "no config and task inside the .onnx" },
    { "include-tokenizer", 0, NULL, "tokenizer.json inside the .onnx, which then runs alone (by "
                                    "default where it is at most 4 MiB)",
      .against = "no-embed-metadata" },
    { "no-include-tokenizer", 0, NULL, "leave it out" },
    { "input-text", 0, "TEXT", "verify on this text, and compare int8 on it (--quantize)" },
    { "verify", 0, NULL, "try the result: on the words behind the folders, or on samples" },
    { "json", 0, NULL, "what was done as JSON" },
    { "verbose", 'v', NULL, "say what was found" },
    { 0 },
};

typedef struct Exporting {  /* the command's own state beside the export */
    Export e;
    Arena arena;
    const char *text;       /* --input-text, or NULL */
    bool verbose, json, quantize;
    Quantizing quantizing;
    Accuracy accuracy;
    bool measured;
    Err trouble;            /* of quantizing: said, but the export stands */
    bool verify;
    Verifying verifying;
    double seconds;
    bool graphml;
} Exporting;

/* ---- the line ---- */
/* What to verify on: --input-text, and the words behind the folders. */
static void read_texts(const Args *a, Exporting *x, int next)
{
    Str *text = ARRAY(&x->arena, Str, (size_t)(a->n_text - next) + 1);
    x->verifying.text = text;
    if (x->text) text[x->verifying.n++] = str_of(x->text);
    for (; next < a->n_text; next++) text[x->verifying.n++] = str_of(a->text[next]);
}

static bool read_folders(const Args *a, Exporting *x, Err *err)
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
    read_texts(a, x, next);
    return true;
}

static bool read_shapes(const Args *a, Export *e, Err *err)
{
    const char *text = args_value(a, "static-shapes"), *comma = text ? strchr(text, ',') : NULL;
    if (!text) return true;
    bool ok = comma && str_int((Str){ text, (size_t)(comma - text) }, &e->batch) &&
              str_int(str_of(comma + 1), &e->length) && e->batch > 0 && e->length > 0 &&
              e->batch < 1 << 20 && e->length < 1 << 20;
    return ok || fail(err, EF_USAGE, "--static-shapes: found \"%s\", wanted rows and tokens, 1,128",
                      text);
}

static bool read_level(const Args *a, Export *e, Err *err)
{
    const char *level = args_value(a, "optimize");
    if (!level) return true;
    for (int i = 0; levels[i]; i++)
        if (strcmp(levels[i], level) == 0) return e->optimize = i + 1, true;
    return fail(err, EF_USAGE, "--optimize: found \"%s\", wanted O1, O2 or O3", level);
}

static bool configure(const Args *a, Exporting *x, Err *err)
{
    Export *e = &x->e;
    const char *strategy = args_value(a, "strategy"), *target = args_value(a, "quantize");
    x->text = args_value(a, "input-text");
    x->verify = args_has(a, "verify") || x->text;
    if (!read_folders(a, x, err)) return false;
    if (strategy && strcmp(strategy, "htp") != 0)
        return fail(err, EF_USAGE, "--strategy: found \"%s\", wanted htp", strategy);
    x->quantize = args_has(a, "quantize");
    x->quantizing.quantize.target = quantize_target(target ? target : quantize_targets->name);
    e->opset = (int)args_int(a, "opset");
    e->task = args_value(a, "task"), e->dtype = args_value(a, "dtype");
    e->class_names = args_value(a, "class-names");
    e->clean = args_has(a, "clean-onnx") || args_has(a, "no-hierarchy-attrs");
    e->torch_modules = args_has(a, "torch-module"), e->report = args_has(a, "with-report");
    x->graphml = args_has(a, "with-graphml") || args_has(a, "graphml");
    e->no_config = args_has(a, "no-config"), e->no_tokenizer = args_has(a, "no-tokenizer");
    e->tokenizer_from = args_value(a, "tokenizer");
    e->no_metadata = args_has(a, "no-embed-metadata");
    if (!args_tokenizer(a, &e->include_tokenizer, err)) return false;
    x->verbose = args_has(a, "verbose"), x->json = args_has(a, "json");
    return read_shapes(a, e, err) && read_level(a, e, err);
}

/* ---- what is said on the way; beside --json only with --verbose, and on stderr ---- */
static bool say(const Exporting *x, Err *err, const char *format, ...) PRINTF(3, 4);
static bool say(const Exporting *x, Err *err, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (x->json && !x->verbose) return true;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (x->json) return fputs(text, stderr), true;
    return out_write(str_of(text), err);
}

#define RULE "============================================================\n"

static bool announce(const Exporting *x, Err *err)
{
    const Export *e = &x->e;
    if (e->no_config)
        fprintf(stderr, "Warning: exporting without config files (--no-config, deprecated); the "
                        "model will NOT work with Optimum: export to a folder instead\n");
    if (e->moved && !say(x, err, "Creating output directory: %s\n", e->target)) return false;
    return say(x, err, RULE "EXPORTING MODEL TO ONNX FORMAT\n" RULE "Source: %s\nOutput: %s\n"
               "Quantization: %s\n\n", e->model, e->no_config ? e->onnx : e->target,
               x->quantize ? x->quantizing.quantize.target->name : "none");
}

static bool describe(const Exporting *x, Err *err)
{
    const Export *e = &x->e;
    if (!x->verbose) return true;
    return say(x, err, "  %s (%s), task %s, opset %d, %d layers, %.1fM parameters\n"
               "  %d nodes, %d with a hierarchy tag\n", e->class_name, e->model_type, e->task_name,
               e->opset, e->layers, (double)e->parameters / 1e6, e->nodes, e->tagged);
}

static bool say_size(const Exporting *x, const ExportFile *f, Err *err)
{
    static const char *const units[] = { "B", "KB", "MB", "GB" };
    double size = (double)f->size;
    int unit = 0;
    for (; size >= 1000 && unit < 3; unit++) size /= 1000;
    return say(x, err, "  - %s (%.*f %s)\n", f->name, unit ? 2 : 0, size, units[unit]);
}

static bool conclude(const Exporting *x, Err *err)
{
    const Export *e = &x->e;
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

static bool write_json(Exporting *x, Err *err)
{
    const Export *e = &x->e;
    Value v = value_map(&x->arena, 17), files = value_list(&x->arena, (size_t)e->n_file);
    for (int i = 0; i < e->n_file; i++) {
        Value *f = &files.list.items[i];
        *f = value_map(&x->arena, 2);
        value_add(f, "name", value_of_str(str_of(e->file[i].name)));
        value_add(f, "size", value_of_int((int64_t)e->file[i].size));
    }
    value_add(&v, "source", value_of_str(str_of(e->model)));
    value_add(&v, "output", value_of_str(str_of(e->no_config ? e->onnx : e->target)));
    value_add(&v, "onnx", value_of_str(str_of(e->onnx)));
    value_add(&v, "model_type", value_of_str(str_of(e->model_type)));
    value_add(&v, "class_name", value_of_str(str_of(e->class_name)));
    value_add(&v, "task", value_of_str(str_of(e->task_name)));
    value_add(&v, "opset", value_of_int(e->opset));
    value_add(&v, "strategy", value_of_str(STR("htp")));
    value_add(&v, "parameters", value_of_int((int64_t)e->parameters));
    value_add(&v, "operations", value_of_int(e->nodes));
    value_add(&v, "tagged_operations", value_of_int(e->tagged));
    value_add(&v, "tokenizer_inside", value_of_bool(e->tokenizer_inside));
    value_add(&v, "seconds", value_of_float(x->seconds));
    value_add(&v, "files", files);
    if (x->quantize && x->trouble.code == EF_OK)
        value_add(&v, "quantized",
                  quantizing_json(&x->arena, &x->quantizing, x->measured ? &x->accuracy : NULL));
    else if (x->quantize)
        value_add(&v, "quantization_error", value_of_str(str_of(x->trouble.message)));
    if (x->verify) value_add(&v, "verification", x->verifying.report);
    return out_json(&v, err);
}

/* ---- int8 ---- */
static void measure(Exporting *x)
{
    Err ignored;
    Str own = str_of(x->text);
    x->measured = x->e.tokenizer && !x->e.no_config &&
                  quantizing_compare_files(&x->arena, &x->quantizing, &own, own.n ? 1 : 0,
                                           &x->accuracy, &ignored);
}

/* A failure is said and does not undo the export. */
static bool quantize(Exporting *x, Err *err)
{
    Quantizing *z = &x->quantizing;
    Buf text = { 0 };
    if (!x->quantize) return true;
    z->from = x->e.onnx;
    z->to = str_format(&x->arena, "%.*s_quantized.onnx", (int)strlen(z->from) - 5, z->from);
    if (!say(x, err, "[Optional] Applying INT8 quantization...\n")) return false;
    if (!quantizing_run(&x->arena, z, &x->trouble)) {
        fprintf(stderr, "Warning: quantization failed, the export stands: %s\n",
                x->trouble.message);
        return true;
    }
    files_note(&x->e, path_name(z->to).p, z->size_to);
    files_note(&x->e, "ort_config.json", z->size_config);
    measure(x);
    quantizing_print(&text, z, x->measured ? &x->accuracy : NULL);
    bool ok = x->json || out_buf(&text, err);
    buf_free(&text);
    return ok;
}

/* ---- checks ---- */

/* What Optimum would stumble over; the export stands. */
static void check_folder(Exporting *x)
{
    OptimumReport r;
    Err ignored;
    if (x->e.no_config || !optimum_check(&x->arena, x->e.target, false, &r, &ignored)) return;
    for (int i = 0; i < r.n; i++)
        if (r.check[i].state == CHECK_FAILED)
            fprintf(stderr, "Warning: may not work with Optimum: %s: %s\n", r.check[i].name,
                    r.check[i].detail);
}

/* The source's samples and golden outputs, where it has some. */
static bool verify(Exporting *x, Err *err)
{
    Verifying *v = &x->verifying;
    if (!x->verify) return true;
    v->path = x->e.no_config ? x->e.onnx : x->e.target;
    v->samples = v->golden = x->e.folder;
    return verifying_run(&x->arena, v, err);
}

static bool print_verified(const Exporting *x, Err *err)
{
    Buf b = { 0 };
    if (!x->verify) return true;
    buf_char(&b, '\n');
    verifying_print(&b, &x->verifying);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

/* A drawing that fails does not undo the export either. */
static void draw(Exporting *x)
{
    Err trouble = { 0 };
    if (x->graphml && !export_graphml(&x->e, &trouble))
        fprintf(stderr, "Warning: no GraphML, the export stands: %s\n", trouble.message);
}

static bool show(const Exporting *x, Err *err)
{
    Buf text = { 0 };
    if (!x->verbose || x->json) return true;
    export_show(&x->e, &text);
    bool ok = out_buf(&text, err);
    buf_free(&text);
    return ok;
}

/* ---- the command ---- */
static bool steps(Exporting *x, Err *err)
{
    Export *e = &x->e;
    double begin = now_seconds();
    if (!export_open(e, err) || !announce(x, err)) return false;
    if (!say(x, err, "[Step 1/4] Loading tokenizer...\n")) return false;
    if (!e->tokenizer && !say(x, err, "  none found: text cannot be tokenized from this folder\n"))
        return false;
    if (x->verbose && e->tokenizer && !say(x, err, "  %s\n", e->tokenizer)) return false;
    if (!say(x, err, "[Step 2/4] Exporting model to ONNX...\n") || !export_build(e, err) ||
        !describe(x, err))
        return false;
    if (!say(x, err, "[Step 3/4] Saving ONNX model...\n")) return false;
    if (!export_write(e, err) || !export_copy(e, err)) return false;
    if (!say(x, err, "[Step 4/4] Copying label mappings...\n")) return false;
    if (!export_labels(e, err) || !quantize(x, err) || !show(x, err)) return false;
    draw(x);
    x->seconds = now_seconds() - begin;
    check_folder(x);
    if (!x->json && !conclude(x, err)) return false;
    return verify(x, err) && (x->json ? write_json(x, err) : print_verified(x, err));
}

static bool run(Args *a, Err *err)
{
    Exporting x = { 0 };
    bool ok = configure(a, &x, err) && steps(&x, err);
    a->exit = ok && x.verify && !x.verifying.ok;
    export_close(&x.e);
    arena_free(&x.arena);
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
    .run = run,
    .builder = true,
};

/* SPDX-License-Identifier: Apache-2.0
 * exporting.c - see exporting.h. */
#include "api/exporting.h"

#include "base/thread.h"
#include "export/files.h"
#include "model/open_options.h"
#include "model/optimum.h"

enum { MOST_WARNINGS = 24 };

#define FIELD(field) OPTION_FIELD_OF(Exporting, field)
const Option export_options[] = {
    { "task", 0, "TASK", "auto, feature-extraction, fill-mask, text-classification, "
                         "token-classification, question-answering, multiple-choice",
      TAKES_TEXT, FIELD(e.task) },
    { "opset", 0, "N", "of the ONNX file, 14 to 21", TAKES_COUNT, FIELD(e.opset), "18", 14, 21 },
    { "dtype", 0, "TYPE", "of the weights: fp32 (default), fp16 or bf16; arithmetic stays fp32",
      TAKES_TEXT, FIELD(e.dtype) },
    { "static-shapes", 0, "B,S", "inputs of this many rows and tokens, no others", TAKES_TEXT,
      FIELD(shapes) },
    { "quantize", 'q', "CPU", "an int8 model too: avx512_vnni (default), avx512, avx2 or arm64",
      TAKES_TEXT, FIELD(target), .may = quantize_target_names, .stands = "avx512_vnni" },
    { "optimize", 0, "LEVEL", "O1: as it is; O2: ONNX Runtime's fused operators; "
                              "O3: GELU by its tanh form too", TAKES_TEXT, FIELD(level) },
    { "strategy", 0, "NAME", "htp, the only one", TAKES_TEXT, FIELD(strategy) },
    { "clean-onnx", 0, NULL, "no hierarchy tags in the file", TAKES_NOTHING, FIELD(e.clean) },
    { "no-hierarchy-attrs", 0, NULL, NULL, TAKES_NOTHING, FIELD(e.clean) },
    { "with-report", 0, NULL, "write <stem>_htp_export_report.md", TAKES_NOTHING, FIELD(e.report),
      .against = "no-config" },
    { "with-graphml", 0, NULL, "draw the graph as GraphML v1.3", TAKES_NOTHING, FIELD(graphml) },
    { "graphml", 0, NULL, NULL, TAKES_NOTHING, FIELD(graphml) },
    { "torch-module", 0, NULL, "norms and tables are levels of the hierarchy too", TAKES_NOTHING,
      FIELD(e.torch_modules) },
    { "class-names", 0, "OF", "classes in tags: transformers-5 (default) or transformers-4",
      TAKES_TEXT, FIELD(e.class_names) },
    { "no-config", 0, NULL, "write the .onnx alone, at OUT", TAKES_NOTHING, FIELD(e.no_config) },
    OPTION_TOKENIZER(FIELD(e.tokenizer_from)),
    { "no-tokenizer", 0, NULL, "leave the tokenizer's files behind", TAKES_NOTHING,
      FIELD(e.no_tokenizer), .against = "tokenizer" },
    { "no-embed-metadata", 0, NULL, "no config and task inside the .onnx", TAKES_NOTHING,
      FIELD(e.no_metadata) },
    { "include-tokenizer", 0, NULL, "tokenizer.json inside the .onnx, which then runs alone (by "
                                    "default where it is at most 4 MiB)",
      TAKES_NOTHING, FIELD(include_tokenizer), .against = "no-embed-metadata" },
    { "no-include-tokenizer", 0, NULL, "leave it out", TAKES_NOTHING, FIELD(exclude_tokenizer) },
    { "input-text", 0, "TEXT", "verify on this text, and compare int8 on it (--quantize)",
      TAKES_TEXT, FIELD(input_text) },
    { "verify", 0, NULL, "try the result: on the words behind the folders, or on samples",
      TAKES_NOTHING, FIELD(verify) },
    { 0 },
};

/* ---- what is asked for ---- */

static bool read_shapes(Exporting *x, Err *err)
{
    Export *e = &x->e;
    const char *text = x->shapes, *comma = text ? strchr(text, ',') : NULL;
    if (!text) return true;
    bool ok = comma && str_int((Str){ text, (size_t)(comma - text) }, &e->batch) &&
              str_int(str_of(comma + 1), &e->length) && e->batch > 0 && e->length > 0 &&
              e->batch < 1 << 20 && e->length < 1 << 20;
    return ok || fail(err, EF_USAGE, "--static-shapes: found \"%s\", wanted rows and tokens, 1,128",
                      text);
}

static bool read_level(Exporting *x, Err *err)
{
    static const char *const levels[] = { "O1", "O2", "O3" };
    if (!x->level) return true;
    for (size_t i = 0; i < COUNT(levels); i++)
        if (strcmp(levels[i], x->level) == 0) return x->e.optimize = (int)i + 1, true;
    return fail(err, EF_USAGE, "--optimize: found \"%s\", wanted O1, O2 or O3", x->level);
}

/* --input-text before the others. */
static void exporting_read_texts(Arena *arena, Exporting *x)
{
    Str *text = ARRAY(arena, Str, x->texts.n + 1);
    size_t n = 0;
    if (x->input_text.p) text[n++] = x->input_text, x->verify = true;
    for (size_t i = 0; i < x->texts.n; i++) text[n++] = x->texts.text[i];
    x->verifying.texts = (TextList){ text, n };
}

static bool check_options(Arena *arena, Exporting *x, Err *err)
{
    if (x->strategy && strcmp(x->strategy, "htp") != 0)
        return fail(err, EF_USAGE, "--strategy: found \"%s\", wanted htp", x->strategy);
    if (x->target) x->quantizing.quantize.target = quantize_target(x->target);
    if (x->texts.n && !x->verify)
        return fail(err, EF_USAGE, "export: found texts, wanted --verify beside them");
    exporting_read_texts(arena, x);
    return hf_tokenizer_asked(x->include_tokenizer, x->exclude_tokenizer, &x->e.include_tokenizer,
                              err) &&
           read_shapes(x, err) && read_level(x, err);
}

/* ---- beside the export ---- */

static void warn(Arena *arena, Exporting *x, const char *what, const char *why)
{
    if (x->warnings.list.n < MOST_WARNINGS)
        x->warnings.list.items[x->warnings.list.n++] =
            value_of_str(str_of(str_format(arena, "%s: %s", what, why)));
}

static bool reach(Exporting *x, ExportStage stage, Err *err)
{
    return !x->stage || x->stage(x, stage, err);
}

/* A failure is reported and does not undo the export. */
static bool quantize(Arena *arena, Exporting *x, Err *err)
{
    Quantizing *z = &x->quantizing;
    if (!x->target) return true;
    if (!reach(x, EXPORT_QUANTIZING, err)) return false;
    z->from = x->e.onnx;
    z->to = str_format(arena, "%.*s_quantized.onnx", (int)strlen(z->from) - 5, z->from);
    if (!quantizing_write(arena, z, &x->unquantized)) {
        warn(arena, x, "quantization failed, the export stands", x->unquantized.message);
        return true;
    }
    files_note(&x->e, path_name(z->to).p, z->size_to);
    files_note(&x->e, "ort_config.json", z->size_config);
    if (x->e.tokenizer && !x->e.no_config)
        quantizing_measure(arena, z, &x->input_text, x->input_text.n ? 1 : 0);
    return reach(x, EXPORT_QUANTIZED, err);
}

static void draw(Arena *arena, Exporting *x)
{
    Err trouble = { 0 };
    if (x->graphml && !export_graphml(&x->e, &trouble))
        warn(arena, x, "no GraphML, the export stands", trouble.message);
}

/* Warns of what Optimum would refuse. */
static void check_folder(Arena *arena, Exporting *x)
{
    OptimumReport r;
    Err ignored;
    if (x->e.no_config || !optimum_check(arena, x->e.target, false, &r, &ignored)) return;
    for (int i = 0; i < r.n; i++)
        if (r.check[i].state == CHECK_FAILED)
            warn(arena, x, str_format(arena, "may not work with Optimum: %s", r.check[i].name),
                 r.check[i].detail);
}

/* On the source's samples and golden outputs, where it has some. */
static bool verify(Arena *arena, Exporting *x, Err *err)
{
    Verifying *v = &x->verifying;
    if (!x->verify) return true;
    v->path = x->e.no_config ? x->e.onnx : x->e.target;
    v->source = x->e.folder;
    return verifying_run(arena, v, err);
}

/* ---- all of it ---- */

static bool export_files(Exporting *x, Err *err)
{
    Export *e = &x->e;
    if (!e->output || !*e->output) return fail(err, EF_USAGE, "found no name of an output, wanted a folder to write");
    if (!export_open(e, err)) return false;
    const size_t there = dir_there(e->onnx);
    bool ok = reach(x, EXPORT_OPENED, err) && export_build(e, err) && reach(x, EXPORT_BUILT, err) &&
              export_write(e, err) && reach(x, EXPORT_WRITTEN, err) && export_copy(e, err) &&
              reach(x, EXPORT_COPIED, err) && export_labels(e, err);
    if (!ok) dir_remove_empty(e->onnx, there);
    return ok;
}

bool exporting_run(Arena *arena, Exporting *x, Err *err)
{
    double begin = now_seconds();
    x->warnings = value_list(arena, MOST_WARNINGS);
    x->warnings.list.n = 0;
    if (!check_options(arena, x, err) || !export_files(x, err) || !quantize(arena, x, err))
        return false;
    draw(arena, x);
    x->seconds = now_seconds() - begin;
    check_folder(arena, x);
    return reach(x, EXPORT_DONE, err) && verify(arena, x, err);
}

Value exporting_json(Arena *arena, const Exporting *x)
{
    const Export *e = &x->e;
    Value v = value_map(arena, 24);
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
    files_report(arena, e->file, (size_t)e->n_file, &v);
    value_add(&v, "missing", files_missing(arena, e));
    value_add(&v, "warnings", x->warnings);
    if (x->target && x->unquantized.code == EF_OK)
        value_add(&v, "quantized", quantizing_json(arena, &x->quantizing));
    else if (x->target)
        value_add(&v, "quantization_error", value_of_str(str_of(x->unquantized.message)));
    if (x->verify) value_add(&v, "verification", x->verifying.report);
    return v;
}

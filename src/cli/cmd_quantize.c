/* SPDX-License-Identifier: Apache-2.0
 * cmd_quantize.c - an ONNX model in a quarter (int8) or half (fp16, bf16) of its bytes. */
#include "cli/quantizing.h"
#include "export/files.h"
#include "model/source.h"

static const Option options[] = {
    { "model", 'm', "PATH", "the same as MODEL" },
    { "onnx_model", 0, "PATH", NULL, .against = "model" },
    { "output", 'o', "OUT", "a folder, or an .onnx (MODEL's folder, model_quantized.onnx)" },
    { "target", 0, "CPU", "the CPU it is for", TAKES_WORD, .standard = "avx512_vnni",
      .words = quantize_target_names },
    { "avx512_vnni", 0, NULL, NULL, .against = "target avx512 avx2 arm64" },
    { "avx512", 0, NULL, NULL, .against = "target avx2 arm64" },
    { "avx2", 0, NULL, NULL, .against = "target arm64" },
    { "arm64", 0, NULL, NULL, .against = "target" },
    { "per_channel", 0, NULL, NULL },
    { "dtype", 0, "TYPE", "int8 (default), fp16 or bf16: weights alone, arithmetic stays fp32" },
    OPTION_TASK,
    OPTION_TOKENIZER,
    OPTIONS_ACCURACY,
    { "json", 0, NULL, "as JSON" },
    { 0 },
};

/* Optimum's way to name the CPU: --avx2. */
static const char *named_target(const Args *a)
{
    for (const QuantizeTarget *t = quantize_targets; t->name; t++)
        if (args_has(a, t->name)) return t->name;
    return NULL;
}

static const QuantizeTarget *wanted_target(const Args *a)
{
    const char *name = named_target(a);
    return quantize_target(name ? name : quantize_target_names[args_int(a, "target")]);
}

static bool read_type(const Args *a, Quantize *q, Err *err)
{
    const char *type = args_value(a, "dtype");
    if (!type || strcmp(type, "int8") == 0) return q->target = wanted_target(a), true;
    if (args_has(a, "target") || args_has(a, "per_channel") || named_target(a))
        return fail(err, EF_USAGE, "--dtype %s: found options of int8 beside it (%s), wanted none",
                    type, "--target, a CPU's name or --per_channel");
    if (strcmp(type, "fp16") == 0) q->half = T_F16;
    else if (strcmp(type, "bf16") == 0) q->half = T_BF16;
    else return fail(err, EF_USAGE, "--dtype: found \"%s\", wanted int8, fp16 or bf16", type);
    return true;
}

/* Where it comes from, and where it goes: with a folder of its own, the files around it too. */
static bool read_paths(Args *a, Quantizing *z, Export *around, Err *err)
{
    const char *model = args_value(a, "model"), *out = args_value(a, "output");
    int next = 0;
    if (!model) model = args_value(a, "onnx_model");
    if (!model && next < a->n_text) model = a->text[next++];
    if (!out && next < a->n_text) out = a->text[next++];
    if (!model || next < a->n_text)
        return fail(err, EF_USAGE, "quantize: wanted a model folder or an .onnx, and maybe where "
                    "to write");
    z->from = dir_is(model) ? path_join(&a->arena, model, STR("model.onnx")) : model;
    const char *lone = dir_is(model) ? source_lone_onnx(&a->arena, model) : NULL;
    if (!file_is(z->from) && lone) z->from = lone;
    if (!file_is(z->from))
        return fail(err, EF_NOT_FOUND, "%s: not found; `export` writes it", z->from);
    const char *folder = path_dir(&a->arena, z->from);
    bool is_file = out && str_ends(str_of(out), ".onnx");
    z->to = is_file ? out
                    : path_join(&a->arena, out ? out : folder, STR("model_quantized.onnx"));
    *around = (Export){ .folder = folder, .encoder = folder };
    around->target = path_dir(&a->arena, z->to);
    return true;
}

/* Why there is no report is a word, not a failure: the file is written. */
static bool measure(Args *a, const Quantizing *z, Accuracy *acc, bool *measured, Err *err)
{
    QuantizingTexts t;
    Err why;
    *measured = false;
    if (!quantizing_texts(a, &t, err)) return false;
    if (t.none) return true;
    *measured = quantizing_compare_files(&a->arena, z, t.text, t.n, acc, &why);
    if (!*measured) fprintf(stderr, "encoderfile: no accuracy report: %s\n", why.message);
    return true;
}

static bool report(Args *a, const Quantizing *z, const Accuracy *acc, Err *err)
{
    Buf text = { 0 };
    if (args_has(a, "json")) {
        Value v = quantizing_json(&a->arena, z, acc);
        return out_json(&v, err);
    }
    buf_printf(&text, "%s (%.2f MB)\n", z->to, (double)z->size_to / 1e6);
    quantizing_print(&text, z, acc);
    bool ok = out_buf(&text, err);
    buf_free(&text);
    return ok;
}

static bool run(Args *a, Err *err)
{
    Quantizing z = { .open = args_open(a) };
    Export around = { 0 };
    Accuracy acc;
    bool measured = false;
    bool ok = read_paths(a, &z, &around, err) && read_type(a, &z.quantize, err) &&
              quantizing_run(&a->arena, &z, err) &&
              (files_copy_settings(&around, err) && export_labels(&around, err)) &&
              measure(a, &z, &acc, &measured, err) && report(a, &z, measured ? &acc : NULL, err);
    arena_free(&around.arena);
    return ok;
}

const Command cmd_quantize = {
    .name = "quantize",
    .summary = "make an ONNX model smaller: int8, fp16 or bf16 weights",
    .usage = "MODEL [-o OUT]",
    .options = options,
    .run = run,
    .builder = true,
    .example = "  encoderfile quantize ./bert-ner-onnx                  # model_quantized.onnx beside\n"
               "  encoderfile quantize model.onnx -o small.onnx --target avx2\n"
               "  encoderfile quantize ./bert-ner-onnx -o ./small --dtype fp16\n",
};

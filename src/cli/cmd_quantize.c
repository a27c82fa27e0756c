/* SPDX-License-Identifier: Apache-2.0
 * cmd_quantize.c - an ONNX model in a quarter (int8) or half (fp16, bf16) of its bytes. */
#include "cli/reports.h"

static const Option options[] = {
    { "model", 'm', "PATH", "the same as MODEL" },
    { "onnx_model", 0, "PATH", NULL, .against = "model" },
    { "output", 'o', "OUT", "a folder, or an .onnx (MODEL's folder, model_quantized.onnx)" },
    { "json", 0, NULL, "as JSON" },
    { 0 },
};

/* MODEL and OUT by their options, or in this order. */
static bool read_paths(Args *a, Quantizing *z, Err *err)
{
    int next = 0;
    z->model = args_value(a, "model"), z->output = args_value(a, "output");
    if (!z->model) z->model = args_value(a, "onnx_model");
    if (!z->model && next < a->n_text) z->model = a->text[next++];
    if (!z->output && next < a->n_text) z->output = a->text[next++];
    if (z->model && next == a->n_text) return true;
    return fail(err, EF_USAGE, "quantize: wanted a model folder or an .onnx, and maybe where to "
                "write");
}

static bool quantize_report(Args *a, const Quantizing *z, Err *err)
{
    Buf text = { 0 };
    if (z->unmeasured.code)
        fprintf(stderr, "encoderfile: no accuracy report: %s\n", z->unmeasured.message);
    if (args_has(a, "json")) {
        Value v = quantizing_json(&a->arena, z);
        return out_json(&v, err);
    }
    buf_printf(&text, "%s (%.2f MB)\n", z->to, (double)z->size_to / 1e6);
    report_quantized(&text, z);
    bool ok = out_buf(&text, err);
    buf_free(&text);
    return ok;
}

static bool quantize_run(Args *a, Err *err)
{
    Quantizing z = { 0 };
    return read_paths(a, &z, err) && args_fill(a, &z, err) &&
           quantizing_run(&a->arena, &z, err) && quantize_report(a, &z, err);
}

const Command cmd_quantize = {
    .name = "quantize",
    .summary = "make an ONNX model smaller: int8, fp16 or bf16 weights",
    .usage = "MODEL [-o OUT]",
    .options = options,
    .more = quantize_options,
    .model_word = 1,
    .run = quantize_run,
    .builder = true,
    .example = "  encoderfile quantize ./bert-ner-onnx                  # model_quantized.onnx beside\n"
               "  encoderfile quantize model.onnx -o small.onnx --target avx2\n"
               "  encoderfile quantize ./bert-ner-onnx -o ./small --dtype fp16\n",
};

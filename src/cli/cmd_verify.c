/* SPDX-License-Identifier: Apache-2.0
 * cmd_verify.c - a model tried on a few texts, and its numbers compared. */
#include "cli/reports.h"

static const Option options[] = {
    { "model", 'm', "PATH", "the folder or .onnx, where it is not the first word" },
    { "json", 0, NULL, "as JSON" },
    { 0 },
};

static bool verify_run(Args *a, Err *err)
{
    const char *model = args_value(a, "model");
    int first = model ? 0 : 1;
    if (!model && !a->n_text)
        return fail(err, EF_USAGE, "verify: wanted a model folder or an .onnx");
    Verifying v = { .path = model ? model : a->text[0],
                    .texts = { args_texts(a, first), (size_t)(a->n_text - first) } };
    if (!args_fill(a, &v, err)) return false;
    if (!verifying_run(&a->arena, &v, err)) return false;
    a->exit = !v.ok;
    if (args_has(a, "json")) return out_json(&v.report, err);
    Buf b = { 0 };
    report_verified(&b, &v);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

const Command cmd_verify = {
    .name = "verify",
    .summary = "try a model on sample texts; compare int8 and golden numbers",
    .usage = "DIR|FILE.onnx [TEXT...] [--golden DIR] [--json]",
    .example = "  encoderfile verify ./bus_ner_onnx\n"
               "  encoderfile verify ./sentiment \"I love this!\" --json\n"
               "  encoderfile verify ./qa \"Where was Ada born?\" \"Ada was born in London.\"\n",
    .options = options,
    .more = verify_options,
    .model_word = 1,
    .run = verify_run,
    .builder = true,
};

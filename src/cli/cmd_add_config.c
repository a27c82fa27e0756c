/* SPDX-License-Identifier: Apache-2.0
 * cmd_add_config.c - config and tokenizer files beside an .onnx that was exported without them. */
#include "api/add_config.h"
#include "cli/cli.h"

static const Option options[] = {
    { "json", 0, NULL, "tell the outcome as JSON" },
    { 0 },
};

/* The files with their sizes, and what they weigh beside the model (a few thousandths of it). */
static bool add_config_tell(const Export *e, double ms, Err *err)
{
    Buf b = { 0 };
    uint64_t sum = 0;
    buf_printf(&b, "Added config files to %s (%.1f ms)\n", e->target, ms);
    for (int i = 0; i < e->n_file; i++) {
        buf_printf(&b, "  - %s (%.2f KB)\n", e->file[i].name, (double)e->file[i].size / 1e3);
        sum += e->file[i].size;
    }
    buf_printf(&b, "%d files, %.2f KB\n", e->n_file, (double)sum / 1e3);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool add_config_run(Args *a, Err *err)
{
    if (a->n_text != 2)
        return fail(err, EF_USAGE, "add-config: found %d words, wanted an .onnx and the model's "
                    "folder", a->n_text);
    AddConfig x = { .onnx = a->text[0], .model = a->text[1] };
    bool ok = add_config_files(&a->arena, &x, err);
    if (ok && args_has(a, "json")) {
        Value v = add_config_json(&a->arena, &x);
        ok = out_json(&v, err);
    } else if (ok) {
        ok = add_config_tell(&x.files, x.milliseconds, err);
    }
    add_config_close(&x);
    return ok;
}

const Command cmd_add_config = {
    .name = "add-config",
    .summary = "put config and tokenizer files beside an .onnx",
    .usage = "FILE.onnx MODEL_DIR [--json]",
    .example = "  encoderfile add-config exported/model.onnx ./bert-ner\n",
    .options = options,
    .model_word = 2,
    .run = add_config_run,
    .builder = true,
};

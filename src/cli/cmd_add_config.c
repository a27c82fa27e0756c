/* SPDX-License-Identifier: Apache-2.0
 * cmd_add_config.c - config and tokenizer files beside an .onnx that was exported without them. The
 * .onnx itself is not touched. */
#include "base/thread.h"
#include "cli/cli.h"
#include "export/files.h"

static const Option options[] = {
    { "json", 0, NULL, "tell the outcome as JSON" },
    { 0 },
};

static bool copy(Args *a, Export *e, Err *err)
{
    OnnxPair *ignored;
    Mapping map;
    int n;
    if (a->n_text != 2)
        return fail(err, EF_USAGE, "add-config: found %d words, wanted an .onnx and the model's "
                    "folder", a->n_text);
    e->onnx = a->text[0], e->model = a->text[1];
    if (!file_map(e->onnx, &map, err)) return false;
    bool is = onnx_props(&a->arena, (Str){ (const char *)map.p, map.n }, &ignored, &n, err);
    file_unmap(&map);
    if (!is) return within(err, "%s", e->onnx);
    if (!files_source(e, err)) return false;
    e->encoder = e->folder, e->target = path_dir(&a->arena, e->onnx);
    if (!file_is(path_join(&a->arena, e->folder, STR("config.json"))))
        return fail(err, EF_NOT_FOUND, "%s/config.json: not found, and Optimum needs it",
                    e->folder);
    return files_copy_settings(e, err) && files_copy(e, "label2id.json", err) &&
           files_copy(e, "id2label.json", err);
}

static bool tell_json(Args *a, const Export *e, double ms, Err *err)
{
    Value v = value_map(&a->arena, 3), files = value_map(&a->arena, (size_t)e->n_file);
    for (int i = 0; i < e->n_file; i++)
        value_add(&files, e->file[i].name, value_of_int((int64_t)e->file[i].size));
    value_add(&v, "path", value_of_str(str_of(e->target)));
    value_add(&v, "files", files);
    value_add(&v, "milliseconds", value_of_float(ms));
    return out_json(&v, err);
}

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
    Export e = { 0 };
    double begin = now_seconds();
    bool ok = copy(a, &e, err);
    double ms = (now_seconds() - begin) * 1e3;
    if (ok) ok = args_has(a, "json") ? tell_json(a, &e, ms, err) : add_config_tell(&e, ms, err);
    arena_free(&e.arena);
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

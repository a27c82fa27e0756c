/* SPDX-License-Identifier: Apache-2.0
 * quantizing.c - see quantizing.h. */
#include "api/quantizing.h"

#include "data/json.h"
#include "export/files.h"
#include "model/open_options.h"

#define FIELD(field) OPTION_FIELD_OF(Quantizing, field)
const Option quantize_options[] = {
    { "target", 0, "CPU", "the CPU it is for, by default the first of these", TAKES_WORD,
      FIELD(target), .words = quantize_target_names },
    { "avx512_vnni", 0, NULL, NULL, TAKES_TEXT, FIELD(target), .stands = "avx512_vnni",
      .against = "target avx512 avx2 arm64" },
    { "avx512", 0, NULL, NULL, TAKES_TEXT, FIELD(target), .stands = "avx512",
      .against = "target avx2 arm64" },
    { "avx2", 0, NULL, NULL, TAKES_TEXT, FIELD(target), .stands = "avx2",
      .against = "target arm64" },
    { "arm64", 0, NULL, NULL, TAKES_TEXT, FIELD(target), .stands = "arm64", .against = "target" },
    { "per_channel", 0, NULL, NULL, TAKES_NOTHING, FIELD(per_channel) },
    { "dtype", 0, "TYPE", "int8 (default), fp16 or bf16: weights alone, arithmetic stays fp32",
      TAKES_TEXT, FIELD(dtype) },
    OPTIONS_TASK(FIELD(open.task)),
    OPTION_TOKENIZER(FIELD(open.tokenizer)),
    OPTIONS_ACCURACY(Quantizing),
    { 0 },
};

/* ---- what is asked for ---- */

static bool choose_type(Quantizing *z, Err *err)
{
    const char *type = z->dtype;
    if (!type || strcmp(type, "int8") == 0) {
        z->quantize.target = quantize_target(z->target ? z->target : quantize_targets->name);
        return true;
    }
    if (z->target || z->per_channel)
        return fail(err, EF_USAGE, "--dtype %s: found options of int8 beside it (%s), wanted none",
                    type, "--target, a CPU's name or --per_channel");
    if (strcmp(type, "fp16") == 0) z->quantize.half = T_F16;
    else if (strcmp(type, "bf16") == 0) z->quantize.half = T_BF16;
    else return fail(err, EF_USAGE, "--dtype: found \"%s\", wanted int8, fp16 or bf16", type);
    return true;
}

static bool choose_paths(Arena *arena, Quantizing *z, Err *err)
{
    z->from = dir_is(z->model) ? path_join(arena, z->model, STR("model.onnx")) : z->model;
    const char *lone = dir_is(z->model) ? source_lone_onnx(arena, z->model) : NULL;
    if (!file_is(z->from) && lone) z->from = lone;
    if (!file_is(z->from))
        return fail(err, EF_NOT_FOUND, "%s: not found; `export` writes it", z->from);
    const char *folder = z->output ? z->output : path_dir(arena, z->from);
    bool is_file = z->output && str_ends(str_of(z->output), ".onnx");
    z->to = is_file ? z->output : path_join(arena, folder, STR("model_quantized.onnx"));
    return true;
}

/* ---- the file ---- */

static bool write_config(Arena *arena, Quantizing *z, Err *err)
{
    Buf text = { 0 };
    Value v = quantize_describe(&z->quantize);
    json_write_pretty(&text, &v);
    buf_char(&text, '\n');
    const char *path = path_join(arena, path_dir(arena, z->to), STR("ort_config.json"));
    bool ok = file_write(arena, path, buf_view(&text), err);
    z->size_config = text.n;
    buf_free(&text);
    return ok;
}

bool quantizing_write(Arena *arena, Quantizing *z, Err *err)
{
    OnnxFile file;
    const size_t there = dir_there(z->to);
    if (!file_apart(z->to, z->from, err) || !onnx_file_open(arena, z->from, &file, err))
        return false;
    z->quantize.arena = arena;
    bool ok = (quantize_model(&z->quantize, &file.model, err) || within(err, "%s", z->from)) &&
              quantize_write(&z->quantize, z->to, &z->size_to, err) && write_config(arena, z, err);
    if (!ok) dir_remove_empty(z->to, there);
    onnx_file_close(&file);
    z->size_from = file_size(z->from);
    return ok;
}

/* With a folder of its own, the files around the model too. */
static bool copy_around(Arena *arena, const Quantizing *z, Err *err)
{
    const char *folder = path_dir(arena, z->from);
    Export around = { .folder = folder, .encoder = folder, .target = path_dir(arena, z->to) };
    bool ok = files_copy_settings(&around, err) && export_labels(&around, err);
    arena_free(&around.arena);
    return ok;
}

void quantizing_measure(Arena *arena, Quantizing *z, const Str *texts, size_t n)
{
    AccuracyFiles files = { z->from, z->to, z->open };
    z->measured = accuracy_files(arena, &files, texts, n, &z->accuracy, &z->unmeasured);
}

bool quantizing_run(Arena *arena, Quantizing *z, Err *err)
{
    Str *texts = NULL;
    size_t n = 0;
    if (!choose_paths(arena, z, err) || !choose_type(z, err)) return false;
    if (z->calibrate && !accuracy_texts(arena, z->calibrate, &texts, &n, err)) return false;
    if (!quantizing_write(arena, z, err) || !copy_around(arena, z, err)) return false;
    if (!z->no_report) quantizing_measure(arena, z, texts, n);
    return true;
}

/* ---- the report ---- */

const char *quantizing_kind(const Quantizing *z)
{
    const Quantize *q = &z->quantize;
    return q->target ? q->target->name : q->half == T_F16 ? "fp16" : "bf16";
}

Value quantizing_json(Arena *arena, const Quantizing *z)
{
    const Quantize *q = &z->quantize;
    Value v = value_map(arena, 12);
    value_add(&v, "source", value_of_str(str_of(z->from)));
    value_add(&v, "output", value_of_str(str_of(z->to)));
    value_add(&v, "target", value_of_str(str_of(quantizing_kind(z))));
    value_add(&v, "products", value_of_int(q->products));
    value_add(&v, "tables", value_of_int(q->tables));
    value_add(&v, "weight_bytes_before", value_of_int((int64_t)q->before));
    value_add(&v, "weight_bytes_after", value_of_int((int64_t)q->after));
    value_add(&v, "file_bytes_before", value_of_int((int64_t)z->size_from));
    value_add(&v, "file_bytes_after", value_of_int((int64_t)z->size_to));
    if (z->measured) value_add(&v, "accuracy", accuracy_json(arena, &z->accuracy));
    if (z->unmeasured.code)
        value_add(&v, "no_accuracy", value_of_str(str_of(z->unmeasured.message)));
    return v;
}

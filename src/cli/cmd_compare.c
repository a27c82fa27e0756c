/* SPDX-License-Identifier: Apache-2.0
 * cmd_compare.c - the tags of two ONNX files beside each other. */
#include "cli/cli.h"
#include "export/hierarchy.h"
#include "data/json.h"

enum { SHOWN = 10 };

static const Option options[] = {
    { "output-file", 0, "FILE", "write the comparison there, as JSON" },
    { "json", 0, NULL, "print it as JSON" },
    OPTION_VERBOSE,
    { 0 },
};

static long long count_of(const Value *v, const char *key)
{
    return (long long)value_int(value_get(v, key), 0);
}

static void compare_put_text(Buf *b, const Args *a, const Value *v)
{
    const Value *list = value_get(v, "tag_differences");
    buf_printf(b, "Model Comparison\nModel 1: %s\nModel 2: %s\nFound %zu tag differences\n",
               a->text[0], a->text[1], list->list.n);
    for (size_t i = 0; i < MIN(list->list.n, SHOWN); i++) {
        const Value *one = &list->list.items[i];
        Str tag = value_str(value_get(one, "tag"), (Str){ 0 });
        buf_printf(b, "  %.*s: %lld -> %lld\n", STR_ARG(tag), count_of(one, "model1_count"),
                   count_of(one, "model2_count"));
    }
    if (list->list.n > SHOWN) buf_printf(b, "  and %zu more\n", list->list.n - SHOWN);
}

static bool save(Args *a, const char *file, const Value *v, Err *err)
{
    Buf b = { 0 };
    json_write_pretty(&b, v);
    buf_char(&b, '\n');
    bool ok = dir_make_parents(file, err) && file_write(&a->arena, file, buf_view(&b), err);
    buf_free(&b);
    return ok;
}

static bool compare_report(Args *a, const Value *v, Err *err)
{
    const char *file = args_value(a, "output-file");
    if (file && !save(a, file, v, err)) return false;
    if (args_has(a, "json")) return out_json(v, err);
    Buf b = { 0 };
    compare_put_text(&b, a, v);
    if (file) buf_printf(&b, "Comparison exported to: %s\n", file);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool compare(Args *a, Err *err)
{
    Value v;
    if (a->n_text != 2)
        return fail(err, EF_USAGE, "found %d files, wanted two ONNX models", a->n_text);
    for (int i = 0; i < 2; i++)
        if (!file_apart(args_value(a, "output-file"), a->text[i], err)) return false;
    return hierarchy_compare(&a->arena, a->text[0], a->text[1], &v, err) && compare_report(a, &v, err);
}

static bool compare_run(Args *a, Err *err)
{
    return compare(a, err) || within(err, "Error during comparison");
}

const Command cmd_compare = {
    .name = "compare",
    .summary = "set the hierarchy tags of two ONNX files beside each other",
    .usage = "MODEL1.onnx MODEL2.onnx [--json] [--output-file FILE]",
    .example = "  encoderfile compare fp32/model.onnx int8/model.onnx\n",
    .options = options,
    .run = compare_run,
    .builder = true,
};

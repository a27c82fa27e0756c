/* SPDX-License-Identifier: Apache-2.0
 * cmd_validate.c - an ONNX file and its hierarchy: is it well-formed, is every node tagged, does its
 * sidecar agree. --repair writes the tags where every runtime tolerates them. Exit 1: something is
 * wrong. */
#include "cli/reports.h"
#include "model/validating.h"

static const Option options[] = {
    { "json", 0, NULL, "as JSON" },
    OPTION_VERBOSE,
    { 0 },
};

static void put_file(Buf *b, const Validating *v)
{
    if (v->valid) buf_puts(b, "ONNX model is valid\n");
    else buf_printf(b, "ONNX model is not valid: %s\n", v->why);
    buf_printf(b, "Found %d operations with hierarchy tags (of %d)\n", v->tagged, v->nodes);
    if (v->tagged < v->nodes && v->source != HTP_NONE)
        buf_printf(b, "Tags from %s cover %.1f%%\n", htp_source_name[v->source], v->coverage);
    if (v->sidecar_path)
        buf_printf(b, "Found sidecar file: %.*s\n", STR_ARG(path_name(v->sidecar_path)));
    else buf_puts(b, "No sidecar file found\n");
    if (v->compare && !v->sidecar_path)
        buf_puts(b, "--check-consistency: nothing to compare with\n");
    else if (v->compare)
        buf_puts(b, v->consistent ? "Tags are consistent\n" : "Tag inconsistencies found\n");
    if (v->judge && !v->problems.list.n) buf_puts(b, "Metadata is valid\n");
    for (size_t i = 0; v->judge && i < v->problems.list.n; i++)
        buf_printf(b, "Metadata: %.*s\n", STR_ARG(v->problems.list.items[i].s));
    if (v->repaired >= 0) buf_printf(b, "Repaired %d operations\n", v->repaired);
}

static bool validate(Args *a, Err *err)
{
    Validating v = { .path = a->n_text ? a->text[0] : NULL };
    Buf b = { 0 };
    if (a->n_text != 1)
        return fail(err, EF_USAGE, "found %d files, wanted one ONNX model or a folder", a->n_text);
    if (!args_fill(a, &v, err) || !validating_run(&a->arena, &v, err))
        return false;
    a->exit = !v.ok;
    if (args_has(a, "json")) return out_json(&v.report, err);
    if (v.folder) report_folder(&b, &v.optimum);
    else put_file(&b, &v);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool validate_run(Args *a, Err *err)
{
    return validate(a, err) || within(err, "Error during validation");
}

const Command cmd_validate = {
    .name = "validate",
    .summary = "check an ONNX file and its tags, or whether a folder loads in Optimum and here",
    .usage = "MODEL.onnx|DIR [--check-consistency] [--repair] [--json]",
    .example = "  encoderfile validate model.onnx --check-consistency\n"
               "  encoderfile validate ./exported\n",
    .note = "A folder gets a line for each check: config.json, model.onnx, loads, processors, pipeline (of\n"
            "Optimum), metadata, and runs (this program). Exit status 1: Optimum does not load it, or one of\n"
            "its checks failed; a warning, and whether this program runs it, do not change the status.\n",
    .options = options,
    .more = validate_options,
    .model_word = 1,
    .run = validate_run,
    .builder = true,
};

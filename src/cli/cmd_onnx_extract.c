/* SPDX-License-Identifier: Apache-2.0
 * cmd_onnx_extract.c - one module of a model as an ONNX file that runs. */
#include "cli/cli.h"
#include "export/hierarchy.h"
#include "cli/onnx_io.h"
#include "model/source.h"

static const Option options[] = {
    { "tag", 0, "PATTERN", "a hierarchy tag or its end, * and ? allowed: BertLayer.0/Bert*" },
    { "sidecar", 0, "FILE", "the hierarchy's JSON, where it is not beside the model" },
    { "json", 0, NULL, "what was written, as JSON" },
    { 0 },
};

static Value values_json(Arena *arena, const OnnxValue *v, int n)
{
    Value list = value_list(arena, (size_t)n);
    for (int i = 0; i < n; i++) list.list.items[i] = value_of_str(v[i].name);
    return list;
}

static bool onnx_extract_report(Args *a, const OnnxModel *m, Err *err)
{
    const OnnxGraph *g = &m->graph;
    Value v = value_map(&a->arena, 8);
    value_add(&v, "output", value_of_str(str_of(a->text[1])));
    value_add(&v, "nodes", value_of_int(g->n_node));
    value_add(&v, "initializers", value_of_int(g->n_init));
    value_add(&v, "inputs", values_json(&a->arena, g->in, g->n_in));
    value_add(&v, "outputs", values_json(&a->arena, g->out, g->n_out));
    if (args_has(a, "json")) return out_json(&v, err);
    Buf b = { 0 };
    buf_printf(&b, "%s: %d nodes, %d weights\n", a->text[1], g->n_node, g->n_init);
    onnx_show_values(&b, "inputs", g->in, g->n_in);
    onnx_show_values(&b, "outputs", g->out, g->n_out);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool extract(Args *a, OnnxFile *file, const Htp *h, Err *err)
{
    OnnxModel cut;
    if (!htp_extract(&a->arena, &file->model, h, args_value(a, "tag"), &cut, err)) return false;
    return onnx_take_inside(&cut, err) && onnx_save(&a->arena, a->text[1], &cut, err) &&
           onnx_extract_report(a, &cut, err);
}

static bool onnx_extract_run(Args *a, Err *err)
{
    HierarchyFile known;
    OnnxFile file;
    if (a->n_text != 2 || !args_value(a, "tag"))
        return fail(err, EF_USAGE, "onnx extract: wanted IN.onnx, OUT.onnx and --tag PATTERN");
    if (!file_apart(a->text[1], a->text[0], err) ||
        !file_apart(a->text[1], args_value(a, "sidecar"), err))
        return false;
    if (!hierarchy_open(&a->arena, a->text[0], args_value(a, "sidecar"), &known, err)) return false;
    bool ok = onnx_file_open(&a->arena, a->text[0], &file, err);
    if (ok) {
        ok = extract(a, &file, &known.htp, err) || within(err, "%s", a->text[0]);
        onnx_file_close(&file);
    }
    hierarchy_close(&known);
    return ok;
}

const Command cmd_onnx_extract = {
    .name = "onnx extract",
    .summary = "cut a module of the source model out as an ONNX file that runs",
    .usage = "IN.onnx OUT.onnx --tag PATTERN",
    .example = "  encoderfile onnx extract model.onnx layer0.onnx --tag BertLayer.0\n"
               "  encoderfile onnx extract model.onnx gelu.onnx --tag '*Layer.1/*/GELU*'\n",
    .options = options,
    .run = onnx_extract_run,
    .builder = true,
};

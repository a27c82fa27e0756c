/* SPDX-License-Identifier: Apache-2.0
 * cmd_graphml.c - an ONNX file to GraphML, and back. */
#include "base/log.h"
#include "cli/cli.h"
#include "export/hierarchy.h"
#include "cli/onnx_io.h"
#include "export/graphml.h"
#include "model/source.h"

/* ---- export-graphml ---- */
static const Option export_options[] = {
    { "output", 'o', "BASE", "writes BASE.graphml and BASE.onnxdata (the model's own name)" },
    { "strategy", 0, "WHERE", "weights: sidecar (BASE.onnxdata), embedded, or reference (the ONNX "
                              "itself)" },
    { "format", 0, "VERSION", "v1.3" },
    { "flat", 0, NULL, "no modules" },
    { "json", 0, NULL, "what was written, as JSON" },
    OPTION_VERBOSE,
    { 0 },
};

static const char *base_of(Args *a)
{
    Str path = str_of(args_value(a, "output"));
    if (!path.n) path = str_of(a->text[0]);
    if (str_ends(path, ".onnx")) path.n -= 5;
    if (str_ends(path, ".graphml")) path.n -= 8;
    return str_dup(&a->arena, path);
}

static bool graphml_configure(Args *a, GraphmlExport *e, Err *err)
{
    const char *format = args_value(a, "format");
    if (a->n_text < 1 || a->n_text > 2)
        return fail(err, EF_USAGE, "found %d files, wanted MODEL.onnx and, where it is not beside "
                    "it, its HTP_METADATA.json", a->n_text);
    if (format && strcmp(format, "v1.3") != 0 && strcmp(format, "1.3") != 0)
        return fail(err, EF_UNSUPPORTED, "--format: found \"%s\", wanted v1.3", format);
    if (!graphml_strategy(args_value(a, "strategy"), &e->strategy, err))
        return within(err, "--strategy");
    e->onnx = a->text[0], e->base = base_of(a), e->flat = args_has(a, "flat");
    return true;
}

static bool report_export(Args *a, const GraphmlExport *e, Err *err)
{
    Value v = value_map(&a->arena, 8);
    value_add(&v, "graphml", value_of_str(str_of(e->graphml)));
    value_add(&v, "parameters", e->params ? value_of_str(str_of(e->params)) : value_null());
    value_add(&v, "nodes", value_of_int(e->nodes));
    value_add(&v, "modules", value_of_int(e->compounds));
    value_add(&v, "edges", value_of_int(e->edges));
    if (args_has(a, "json")) return out_json(&v, err);
    Buf b = { 0 };
    buf_printf(&b, "GraphML: %s (%d nodes in %d modules, %d edges)\n", e->graphml, e->nodes,
               e->compounds, e->edges);
    if (e->params) buf_printf(&b, "Parameters: %s\n", e->params);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool export_graphml(Args *a, Err *err)
{
    HierarchyFile known;
    OnnxFile file;
    GraphmlExport e = { 0 };
    if (!graphml_configure(a, &e, err)) return false;
    if (!hierarchy_open(&a->arena, e.onnx, a->n_text == 2 ? a->text[1] : NULL, &known, err))
        return false;
    e.htp = known.sidecar_path;
    bool ok = onnx_file_open(&a->arena, e.onnx, &file, err);
    if (ok) {
        ok = graphml_write(&a->arena, &file.model, &known.htp, &e, err) ||
             within(err, "%s", e.onnx);
        onnx_file_close(&file);
    }
    hierarchy_close(&known);
    return ok && report_export(a, &e, err);
}

static bool run_export(Args *a, Err *err)
{
    return export_graphml(a, err) || within(err, "Error during GraphML export");
}

const Command cmd_export_graphml = {
    .name = "export-graphml",
    .summary = "write an ONNX file as GraphML v1.3, modules as nested graphs",
    .usage = "MODEL.onnx [HTP_METADATA.json] [-o BASE] [--strategy sidecar|embedded|reference]",
    .example = "  encoderfile export-graphml model.onnx -o drawings/model\n",
    .options = export_options,
    .run = run_export,
    .builder = true,
};

/* ---- import-onnx ---- */
static const Option import_options[] = {
    { "validate", 0, NULL, "check keys, edges and names, too" },
    { "json", 0, NULL, "what was found, as JSON" },
    OPTION_VERBOSE,
    { 0 },
};

static bool report_import(Args *a, const GraphmlImport *in, Err *err)
{
    static const char *const strategies[] = { "sidecar", "embedded", "reference" };
    Value v = value_map(&a->arena, 8);
    value_add(&v, "format_version", value_of_str(STR("1.3")));
    value_add(&v, "output", value_of_str(str_of(a->text[1])));
    value_add(&v, "node_count", value_of_int(in->nodes));
    value_add(&v, "edge_count", value_of_int(in->edges));
    value_add(&v, "parameter_count", value_of_int(in->parameters));
    value_add(&v, "parameter_strategy", value_of_str(str_of(strategies[in->strategy])));
    if (args_has(a, "json")) return out_json(&v, err);
    const char *line = str_format(&a->arena, "ONNX Output: %s (%d nodes, %d parameters)%s\n",
                                  a->text[1], in->nodes, in->parameters,
                                  in->strict ? ", valid" : "");
    return out_write(str_of(line), err);
}

static bool import_onnx(Args *a, Err *err)
{
    OnnxModel m;
    if (a->n_text != 2)
        return fail(err, EF_USAGE, "found %d files, wanted GRAPH.graphml and OUT.onnx", a->n_text);
    if (!file_apart(a->text[1], a->text[0], err)) return false;
    GraphmlImport in = { .path = a->text[0], .strict = args_has(a, "validate") };
    if (!graphml_read(&a->arena, &in, &m, err)) return false;
    bool ok = onnx_save(&a->arena, a->text[1], &m, err);
    log_debug("%s: %d nodes, %d edges, %d parameters%s", in.path, in.nodes, in.edges, in.parameters,
              in.strict ? "; keys, edges and names are valid" : "");
    graphml_close(&in);
    return ok && report_import(a, &in, err);
}

static bool run_import(Args *a, Err *err)
{
    return import_onnx(a, err) || within(err, "Error during import");
}

const Command cmd_import_onnx = {
    .name = "import-onnx",
    .alias = "import-graphml",
    .summary = "write the ONNX file that a GraphML v1.3 describes",
    .usage = "GRAPH.graphml OUT.onnx [--validate]",
    .example = "  encoderfile import-onnx drawings/model.graphml model.onnx --validate\n",
    .options = import_options,
    .run = run_import,
    .builder = true,
};

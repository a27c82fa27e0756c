/* SPDX-License-Identifier: Apache-2.0
 * cmd_onnx_convert.c - one ONNX file to another that means the same: another opset, constants folded,
 * decomposed norms and GELUs as the operators that ONNX has for them, weights inside or beside. */
#include "cli/cli.h"
#include "cli/onnx_io.h"
#include "export/hf_metadata.h"

enum { SMALL_WEIGHT = 1024 };                      /* bytes that stay inside the file */
static const uint64_t PROTOBUF_LIMIT = 0x7FFFFFFF; /* of a message, in any reader but ours */

static const Option options[] = {
    { "opset", 0, "N", "of the result: 11 to 28", TAKES_COUNT, .least = 11, .most = 28 },
    { "fold", 0, NULL, "run what depends on constants only; drop Identity and Dropout" },
    { "optimize", 0, NULL, "the same, and write norms and GELUs as one operator each" },
    { "external", 0, NULL, "weights in OUT.data, beside OUT" },
    { "inline", 0, NULL, "weights in OUT itself" },
    { "json", 0, NULL, "what was written, as JSON" },
    { 0 },
};

/* ---- folding: through the graph and back, in standard operators only ---- */
static int64_t opset_of(const OnnxModel *m)
{
    for (int i = 0; i < m->n_opset; i++)
        if (m->opset[i].domain.n == 0) return m->opset[i].version;
    return 0;
}

/* Our fused operators as ONNX spells them. */
static bool make_standard(Arena *arena, GraphNode *n, int64_t opset, Err *err)
{
    if (!n->op || !str_is(n->node->domain, "encoderfile")) return true;
    OnnxNode *node = n->node;
    OnnxAttr *attr = ARRAY(arena, OnnxAttr, 1);
    if (graph_is(n, "LayerNorm")) {
        *attr = (OnnxAttr){ .name = STR("epsilon"), .type = A_FLOAT };
        attr->f = onnx_float(node, "epsilon", 1e-5f);
        node->op = STR("LayerNormalization");
    } else if (graph_is(n, "Activation")) {
        bool by_tanh = onnx_int(node, "act", 0) == ACT_GELU_TANH;
        *attr = (OnnxAttr){ .name = STR("approximate"), .type = A_STRING };
        attr->s = by_tanh ? STR("tanh") : STR("none");
        node->op = STR("Gelu");
    } else {
        return fail(err, EF_UNSUPPORTED,
                    "node '%.*s' (If): its condition is not a constant, so it cannot be folded",
                    STR_ARG(node->name));
    }
    node->domain = (Str){ 0 };
    node->attr = attr;
    node->n_attr = 1;
    n->opset = (int)opset;
    return true;
}

static bool same_opset(const Graph *g, const OnnxModel *m, Err *err)
{
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        if (n->op && n->node->domain.n == 0 && n->opset != opset_of(m) && !graph_is(n, "Identity"))
            return fail(
                err, EF_UNSUPPORTED,
                "node '%.*s' (%s): it comes from a function of opset %d, the model has %lld; "
                "--opset first",
                STR_ARG(n->node->name), n->op->name, n->opset, (long long)opset_of(m));
    }
    return true;
}

static bool fold(Arena *arena, OnnxModel *m, bool optimize, Err *err)
{
    Graph *g;
    GraphWeights weights;
    OnnxModel *from = NEW(arena, OnnxModel);
    *from = *m;
    if (!graph_from_onnx(arena, from, &g, err) || !pass_fold(g, err)) return false;
    if (optimize && opset_of(m) >= 17 && !pass_norm(g, err)) return false;
    if (optimize && opset_of(m) >= 20 && !pass_gelu(g, err)) return false;
    for (int i = 0; i < g->n_node; i++)
        if (!make_standard(arena, g->node[i], opset_of(m), err)) return false;
    if (!same_opset(g, m, err)) return false;
    graph_to_onnx(g, arena, m, &weights);
    for (int i = 0; i < m->graph.n_init; i++) m->graph.init[i].location = (Str){ 0 };
    for (int i = 0; i < m->graph.n_node;
         i++) { /* absent inputs at the end: some readers trip over them */
        OnnxNode *n = &m->graph.node[i];
        while (n->n_in && !n->in[n->n_in - 1].n) n->n_in--;
    }
    m->meta = from->meta, m->n_meta = from->n_meta;
    m->opset = from->opset, m->n_opset = from->n_opset;
    m->ir_version = MAX(m->ir_version, 4); /* before, every weight had to be an input too */
    return true;
}

/* ---- weights ---- */
static bool has_external(const OnnxModel *m)
{
    for (int i = 0; i < m->graph.n_init; i++)
        if (m->graph.init[i].location.n) return true;
    return false;
}

static bool write_beside(Arena *arena, const char *path, OnnxModel *m, Err *err)
{
    const char *data = str_format(arena, "%s.data", path);
    Str location = path_name(data);
    FileWriter w;
    if (!writer_open(&w, arena, data, 0644, err)) return false;
    bool ok = true;
    for (int i = 0; ok && i < m->graph.n_init; i++) {
        OnnxTensor *t = &m->graph.init[i];
        size_t bytes = tensor_bytes(&t->t);
        if (bytes < SMALL_WEIGHT) continue;
        ok = writer_align(&w, bytes >= 65536 ? 4096 : 64, err);
        t->location = location, t->offset = w.written, t->length = bytes;
        ok = ok && writer_add(&w, t->t.data, bytes, err);
    }
    if (ok) return writer_commit(&w, err);
    writer_abort(&w);
    return false;
}

static uint64_t weight_bytes(const OnnxModel *m)
{
    uint64_t sum = 0;
    for (int i = 0; i < m->graph.n_init; i++)
        if (!m->graph.init[i].location.n) sum += tensor_bytes(&m->graph.init[i].t);
    return sum;
}

static bool write_model(Args *a, const char *path, OnnxModel *m, bool external, Err *err)
{
    if (!dir_make_parents(path, err)) return false;
    if (external && !write_beside(&a->arena, path, m, err)) return false;
    hf_metadata_refresh(&a->arena, m);
    if (weight_bytes(m) > PROTOBUF_LIMIT - (1 << 24))
        return fail(err, EF_TOO_LARGE,
                    "%s: found %llu bytes of weights, wanted less than 2 GiB "
                    "(--external writes them beside)",
                    path, (unsigned long long)weight_bytes(m));
    Buf b = { 0 };
    onnx_write(&b, m);
    bool ok = file_write(&a->arena, path, buf_view(&b), err);
    buf_free(&b);
    return ok;
}

/* ---- the command ---- */
static bool convert_report(Args *a, const OnnxModel *m, bool external, Err *err)
{
    Value v = value_map(&a->arena, 6);
    if (!args_has(a, "json")) return true;
    value_add(&v, "source", value_of_text(a->text[0]));
    value_add(&v, "output", value_of_text(a->text[1]));
    value_add(&v, "opset", value_of_int(opset_of(m)));
    value_add(&v, "nodes", value_of_int(m->graph.n_node));
    value_add(&v, "external", value_of_bool(external));
    value_add(&v, "bytes", value_of_int((int64_t)file_size(a->text[1])));
    return out_json(&v, err);
}

static bool convert(Args *a, OnnxModel *m, Err *err)
{
    int64_t opset = args_int(a, "opset");
    bool external = args_has(a, "external") || (has_external(m) && !args_has(a, "inline"));
    if (!onnx_take_inside(m, err)) return false;
    if (opset && !onnx_change_opset(&a->arena, m, opset, err)) return false;
    bool optimize = args_has(a, "optimize");
    if ((optimize || args_has(a, "fold")) && !fold(&a->arena, m, optimize, err)) return false;
    return write_model(a, a->text[1], m, external, err) && convert_report(a, m, external, err);
}

static bool onnx_convert_run(Args *a, Err *err)
{
    OnnxFile file;
    if (a->n_text != 2)
        return fail(err, EF_USAGE, "onnx convert: found %d files, wanted IN and OUT", a->n_text);
    if (args_has(a, "external") && args_has(a, "inline"))
        return fail(err, EF_USAGE, "onnx convert: --external or --inline, not both");
    if (!file_apart(a->text[1], a->text[0], err) ||
        !onnx_file_open(&a->arena, a->text[0], &file, err))
        return false;
    bool ok = convert(a, &file.model, err) || within(err, "%s", a->text[0]);
    onnx_file_close(&file);
    return ok;
}

const Command cmd_onnx_convert = {
    .name = "onnx convert",
    .summary = "rewrite an ONNX file: opset, constants, where weights are",
    .options = options,
    .run = onnx_convert_run,
    .usage = "IN.onnx OUT.onnx [--opset N] [--fold | --optimize] [--external | --inline]",
    .example = "  encoderfile onnx convert old.onnx new.onnx --opset 20 --optimize\n"
               "  encoderfile onnx convert large.onnx small.onnx --external\n",
};

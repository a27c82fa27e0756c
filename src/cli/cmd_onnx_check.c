/* SPDX-License-Identifier: Apache-2.0
 * cmd_onnx_check.c - what a model file is, and what is missing to run it: opsets, operators nobody
 * knows, weights that are not there, and whether the engine takes it as a text encoder. Exit 1: it
 * does not run here. */
#include "cli/cli.h"
#include "cli/onnx_io.h"

enum { SHOWN_OPERATORS = 12 };

static const Option options[] = {
    { "json", 0, NULL, "as JSON" },
    { 0 },
};

typedef struct Missing { /* files that hold weights and are not there */
    Str *name;
    int n, cap;
} Missing;

typedef struct Checked {
    const char *path;
    OnnxModel model;
    Census census;
    Missing missing;
    bool valid;   /* it can be run, by `onnx run` at least */
    bool encoder; /* by the engine, too */
    bool ragged;
    bool tensors; /* its rows bring tensors: pictures, sound */
    const char *why; /* not valid */
    const char *not_encoder, *not_ragged;
} Checked;

/* ---- weights beside the file ---- */
typedef struct Search {
    Arena *arena;
    const char *folder;
    Missing *missing;
} Search;

/* OnnxFind: notes what is not there, and goes on. */
static bool note_missing(void *context, Str location, Str *bytes, Err *err)
{
    Search *s = context;
    bool there = path_stays_inside(location) && file_is(path_join(s->arena, s->folder, location));
    for (int i = 0; i < s->missing->n && !there; i++) there = str_eq(s->missing->name[i], location);
    if (!there) {
        Missing *m = s->missing;
        if (m->n == m->cap) {
            m->cap = m->cap ? 2 * m->cap : 8;
            Str *bigger = ARRAY(s->arena, Str, m->cap);
            if (m->n) memcpy(bigger, m->name, sizeof *bigger * (size_t)m->n);
            m->name = bigger;
        }
        m->name[m->n++] = location;
    }
    *bytes = (Str){ 0 };
    return fail(err, EF_NOT_FOUND, "external data \"%.*s\" is not there", STR_ARG(location));
}

static void search_weights(Search *s, const OnnxGraph *g)
{
    Str ignored;
    Err err;
    for (int i = 0; i < g->n_init; i++)
        if (g->init[i].location.n) note_missing(s, g->init[i].location, &ignored, &err);
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_attr; k++) {
            const OnnxAttr *a = &g->node[i].attr[k];
            if (a->type == A_TENSOR && a->t->location.n)
                note_missing(s, a->t->location, &ignored, &err);
            if (a->type == A_GRAPH) search_weights(s, a->g);
        }
}

/* ---- the engine's opinion ---- */
static void ask_engine(Arena *arena, Checked *c)
{
    Graph *g;
    Engine *e;
    Err err = { 0 };
    if (c->model.graph.n_out == 0) {
        c->not_encoder = "the graph has no outputs";
        return;
    }
    Str output = c->model.graph.out[0].name;
    bool ok = graph_from_onnx(arena, &c->model, &g, &err);
    if (ok) graph_keep(g, &output, 1);
    ok = ok && graph_optimize(g, false, &err) && engine_new(arena, g, &output, 1, &e, &err);
    if (!ok) {
        c->not_encoder = str_dup(arena, str_of(err.message));
        return;
    }
    c->encoder = true;
    c->tensors = graph_has_own(g);
    const char *why = NULL;
    c->ragged = engine_ragged(e, &why);
    c->not_ragged = c->ragged ? NULL : why ? why : "not proved";
}

static void check_file(Arena *arena, OnnxFile *file, Checked *c)
{
    Graph *g;
    Err err = { 0 };
    c->model = file->model;
    c->valid = graph_from_onnx(arena, &c->model, &g, &err) && graph_optimize(g, true, &err);
    if (!c->valid) c->why = str_dup(arena, str_of(err.message));
    if (c->valid) ask_engine(arena, c);
}

/* ---- as text ---- */
static void put_operators(Buf *b, const Census *census, bool known)
{
    int shown = 0, more = 0;
    for (int i = 0; i < census->n; i++) {
        const OpCount *op = &census->item[i];
        if (op->known != known) continue;
        if (known && shown == SHOWN_OPERATORS) more++;
        else
            buf_printf(b, "%s %.*s%s%.*s %d", shown++ ? "," : "", STR_ARG(op->domain),
                       op->domain.n ? "." : "", STR_ARG(op->op), op->count);
    }
    if (more) buf_printf(b, " and %d more", more);
    buf_puts(b, shown ? "\n" : " none\n");
}

static void onnx_check_put_text(Buf *b, const Checked *c)
{
    const OnnxModel *m = &c->model;
    buf_printf(b, "%s: %s\n", c->path, c->valid ? "valid" : "does not run here");
    if (c->why) buf_printf(b, "  why: %s\n", c->why);
    buf_printf(b, "  IR version %lld, opset", (long long)m->ir_version);
    for (int i = 0; i < m->n_opset; i++)
        buf_printf(b, "%s %.*s%s%lld", i ? "," : "", STR_ARG(m->opset[i].domain),
                   m->opset[i].domain.n ? " " : "", (long long)m->opset[i].version);
    if (m->producer.n)
        buf_printf(b, "; made by %.*s %.*s", STR_ARG(m->producer), STR_ARG(m->producer_version));
    buf_puts(b, "\n");
    onnx_show_values(b, "inputs", m->graph.in, m->graph.n_in);
    onnx_show_values(b, "outputs", m->graph.out, m->graph.n_out);
    buf_printf(b, "  nodes: %d;", c->census.nodes);
    put_operators(b, &c->census, true);
    buf_puts(b, "  unknown operators:");
    put_operators(b, &c->census, false);
    for (int i = 0; i < c->missing.n; i++)
        buf_printf(b, "  missing external data: %.*s\n", STR_ARG(c->missing.name[i]));
    const char *kind = c->tensors ? "encoder" : "text encoder";
    if (c->ragged) buf_printf(b, "  %s: yes, batches without padding\n", kind);
    else if (c->encoder) buf_printf(b, "  %s: yes, padded: %s\n", kind, c->not_ragged);
    else if (c->not_encoder) buf_printf(b, "  %s: no: %s\n", kind, c->not_encoder);
}

/* ---- as JSON ---- */
static Value values_json(Arena *arena, const OnnxValue *v, int n)
{
    Value list = value_list(arena, (size_t)n);
    for (int i = 0; i < n; i++) {
        Value *item = &list.list.items[i], dims = value_list(arena, (size_t)MAX(v[i].rank, 0));
        for (int d = 0; d < v[i].rank; d++)
            dims.list.items[d] = v[i].dim[d] != DIM_UNKNOWN ? value_of_int(v[i].dim[d])
                                 : v[i].symbol[d].n         ? value_of_str(v[i].symbol[d])
                                                            : value_null();
        *item = value_map(arena, 3);
        value_add(item, "name", value_of_str(v[i].name));
        value_add(item, "type", value_of_str(str_of(dtype_name(v[i].type))));
        value_add(item, "shape", v[i].rank < 0 ? value_null() : dims);
    }
    return list;
}

static Value operators_json(Arena *arena, const Census *census, bool known)
{
    Value map = value_map(arena, (size_t)census->n);
    for (int i = 0; i < census->n; i++) {
        const OpCount *op = &census->item[i];
        if (op->known != known) continue;
        const char *key = op->domain.n
                              ? str_format(arena, "%.*s.%.*s", STR_ARG(op->domain), STR_ARG(op->op))
                              : str_dup(arena, op->op);
        value_add(&map, key, value_of_int(op->count));
    }
    return map;
}

static Value text_or_null(const char *text)
{
    return text ? value_of_str(str_of(text)) : value_null();
}

static Value check_json(Arena *arena, const Checked *c)
{
    const OnnxModel *m = &c->model;
    Value map = value_map(arena, 16), opsets = value_map(arena, (size_t)m->n_opset),
          missing = value_list(arena, (size_t)c->missing.n);
    for (int i = 0; i < m->n_opset; i++)
        value_add(&opsets, m->opset[i].domain.n ? str_dup(arena, m->opset[i].domain) : "ai.onnx",
                  value_of_int(m->opset[i].version));
    for (int i = 0; i < c->missing.n; i++) missing.list.items[i] = value_of_str(c->missing.name[i]);
    value_add(&map, "file", value_of_str(str_of(c->path)));
    value_add(&map, "valid", value_of_bool(c->valid));
    value_add(&map, "error", text_or_null(c->why));
    value_add(&map, "ir_version", value_of_int(m->ir_version));
    value_add(&map, "opsets", opsets);
    value_add(&map, "producer", value_of_str(m->producer));
    value_add(&map, "inputs", values_json(arena, m->graph.in, m->graph.n_in));
    value_add(&map, "outputs", values_json(arena, m->graph.out, m->graph.n_out));
    value_add(&map, "nodes", value_of_int(c->census.nodes));
    value_add(&map, "operators", operators_json(arena, &c->census, true));
    value_add(&map, "unknown_operators", operators_json(arena, &c->census, false));
    value_add(&map, "missing_external_data", missing);
    value_add(&map, "text_encoder", value_of_bool(c->encoder));
    value_add(&map, "ragged", value_of_bool(c->ragged));
    value_add(&map, "padded_because", text_or_null(c->not_ragged));
    value_add(&map, "not_an_encoder_because", text_or_null(c->not_encoder));
    return map;
}

/* ---- the command ---- */
static bool onnx_check_report(Args *a, const Checked *c, Err *err)
{
    a->exit = c->valid ? 0 : 1;
    if (args_has(a, "json")) {
        Value v = check_json(&a->arena, c);
        return out_json(&v, err);
    }
    Buf b = { 0 };
    onnx_check_put_text(&b, c);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool onnx_check_run(Args *a, Err *err)
{
    Mapping map;
    OnnxFile file;
    if (a->n_text != 1)
        return fail(err, EF_USAGE, "onnx check: found %d files, wanted one model", a->n_text);
    Checked c = { .path = a->text[0] };
    if (!file_map(c.path, &map, err)) return false;
    Search search = { &a->arena, path_dir(&a->arena, c.path), &c.missing };
    bool ok = onnx_read(&a->arena, (Str){ (const char *)map.p, map.n }, &c.model, err);
    if (!ok) {
        within(err, "%s", c.path);
        file_unmap(&map);
        return false;
    }
    search_weights(&search, &c.model.graph);
    c.census = graph_census(&a->arena, &c.model);
    Err why = { 0 };
    bool opened = c.missing.n == 0 && onnx_file_open(&a->arena, c.path, &file, &why);
    if (opened) check_file(&a->arena, &file, &c);
    else c.why = c.missing.n ? "external data is missing" : str_dup(&a->arena, str_of(why.message));
    ok = onnx_check_report(a, &c, err);
    if (opened) onnx_file_close(&file);
    file_unmap(&map);
    return ok;
}

const Command cmd_onnx_check = {
    .name = "onnx check",
    .summary = "say what an ONNX file needs and whether it runs here",
    .options = options,
    .run = onnx_check_run,
    .usage = "MODEL.onnx [--json]",
    .example = "  encoderfile onnx check model.onnx\n"
               "  encoderfile onnx check --json model.onnx\n",
};

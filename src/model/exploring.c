/* SPDX-License-Identifier: Apache-2.0
 * exploring.c - see exploring.h: the parts put together, and written as JSON. */
#include "model/exploring.h"

#include <math.h>

#include "data/json.h"
#include "export/hierarchy.h"
#include "kernels/kernels.h"

#define FIELD(field) OPTION_FIELD_OF(Exploring, field)
const Option explore_options[] = {
    { "length", 'l', "N", "tokens of the text that FLOPs and times are of; default: 128, or what the model takes",
      TAKES_COUNT, FIELD(length), .least = 1, .most = EXPLORE_LENGTH },
    { 0 },
};

typedef struct ExploreModule { /* a module of the hierarchy, and all that lies in it */
    Str name, class_name, scope;
    int parent;                /* -1: none; stands before its children */
    int nodes, steps;
    int64_t parameters;
    uint64_t bytes;
    double flops, seconds;
} ExploreModule;

typedef struct ExploreReport { /* of one model */
    Arena *arena;
    Str name;
    const char *path;          /* (optional) as it was given */
    const Model *model;        /* NULL: it could not be opened */
    const char *why;           /*   since */
    const OnnxModel *file;
    int64_t length;            /* asked for; 0: not */
    int threads;
    ExploreSample sample;
    Htp htp;
    ExploreGraph graph;
    ExploreSteps steps;
    ExploreModule *module;
    int n_module;
    int *owner;                /* [n_node]: module */
    int *step_owner;           /* [steps] */
} ExploreReport;

/* ---- modules ---- */
/* Nodes without a module are in one of their own, behind the others; a file that names none has only that. */
static void explore_modules(ExploreReport *r)
{
    const Htp *h = &r->htp;
    const int n_node = r->file->graph.n_node;
    r->module = ARRAY(r->arena, ExploreModule, h->n_module + 1);
    r->n_module = h->n_module;
    r->owner = ARRAY(r->arena, int, n_node);
    for (int i = 0; i < h->n_module; i++)
        r->module[i] = (ExploreModule){ htp_last(h->module[i].tag), htp_class(&h->module[i]), h->module[i].scope,
                                        h->module[i].parent };
    for (int i = 0; i < n_node; i++) {
        r->owner[i] = h->n_module ? h->owner[i] : -1;
        if (r->owner[i] >= 0) continue;
        r->owner[i] = h->n_module;
        r->n_module = h->n_module + 1;
    }
    if (r->n_module > h->n_module)
        r->module[h->n_module] = (ExploreModule){ h->n_module ? STR("(no module)") : STR("(model)"), .parent = -1 };
}

/* A step without a node (a copy, or made by a pass) is of the module of the step behind it. */
static void explore_step_owners(ExploreReport *r)
{
    const int n = r->steps.profile.plan.n;
    int behind = r->n_module ? 0 : -1;
    r->step_owner = ARRAY(r->arena, int, n);
    for (int s = n - 1; s >= 0; s--) {
        if (r->steps.node[s] >= 0) behind = r->owner[r->steps.node[s]];
        r->step_owner[s] = behind;
    }
}

static void explore_sums(ExploreReport *r)
{
    for (int i = 0; i < r->file->graph.n_node; i++) {
        ExploreModule *m = &r->module[r->owner[i]];
        const ExploreNode *n = &r->graph.node[i];
        m->nodes++;
        m->parameters += n->parameters, m->bytes += n->bytes;
        m->flops += MAX(n->flops, 0);
    }
    for (int s = 0; s < r->steps.profile.plan.n; s++) {
        if (r->step_owner[s] < 0) continue;
        ExploreModule *m = &r->module[r->step_owner[s]];
        m->steps++;
        m->seconds += r->steps.profile.plan.step[s].seconds;
    }
    for (int i = r->n_module - 1; i >= 0; i--) {
        const ExploreModule *m = &r->module[i];
        if (m->parent < 0) continue;
        ExploreModule *up = &r->module[m->parent];
        up->nodes += m->nodes, up->steps += m->steps, up->parameters += m->parameters, up->bytes += m->bytes;
        up->flops += m->flops, up->seconds += m->seconds;
    }
}

/* ---- JSON ---- */
/* Names may be any bytes; JSON is UTF-8. */
static Value explore_text(Arena *arena, Str s)
{
    uint32_t code;
    if (utf8_valid(s)) return value_of_str(s);
    Buf b = { .arena = arena };
    for (const char *p = s.p, *end = s.p + s.n; p < end;) {
        const int n = utf8_decode(p, end, &code);
        if (n) buf_add(&b, p, (size_t)n);
        else buf_puts(&b, "\xef\xbf\xbd"); /* U+FFFD */
        p += MAX(n, 1);
    }
    return value_of_str(buf_view(&b));
}

static Value explore_us(double seconds)
{
    return value_of_float(round(seconds * 1e8) / 100);
}

static Value explore_ints(Arena *arena, const int *n, int count)
{
    Value list = value_list(arena, (size_t)count);
    for (int i = 0; i < count; i++) list.list.items[i] = value_of_int(n[i]);
    return list;
}

static Value explore_dim(Arena *arena, int64_t dim, Str symbol)
{
    if (dim >= 0) return value_of_int(dim);
    if (dim == DIM_BATCH) return value_of_text("batch");
    if (dim == DIM_SEQUENCE) return value_of_text("sequence");
    if (dim <= DIM_NAMED) return value_of_str(str_of(str_format(arena, "n%lld", (long long)(DIM_NAMED - dim))));
    return explore_text(arena, symbol.n ? symbol : STR("?"));
}

static Value explore_value_json(Arena *arena, const ExploreValue *v)
{
    Value out = value_map(arena, 5);
    value_add(&out, "name", explore_text(arena, v->name));
    if (v->type) value_add(&out, "type", value_of_text(dtype_name(v->type)));
    if (v->rank >= 0) {
        Value shape = value_list(arena, (size_t)v->rank);
        for (int d = 0; d < v->rank; d++) shape.list.items[d] = explore_dim(arena, v->dim[d], v->symbol[d]);
        value_add(&out, "shape", shape);
    }
    if (v->constant) value_add(&out, "constant", value_of_bool(true));
    if (v->constant) value_add(&out, "bytes", value_of_int((int64_t)tensor_bytes(&v->constant->t)));
    return out;
}

static void explore_put_list(Buf *b, const OnnxAttr *a)
{
    enum { SHOWN = 16 };
    buf_char(b, '[');
    for (size_t i = 0; i < MIN(a->n, (size_t)SHOWN); i++) {
        buf_puts(b, i ? ", " : "");
        if (a->type == A_INTS) buf_printf(b, "%lld", (long long)a->ints[i]);
        else if (a->type == A_FLOATS) buf_printf(b, "%g", (double)a->floats[i]);
        else buf_printf(b, "%.*s", (int)MIN(a->strings[i].n, (size_t)80), a->strings[i].p);
    }
    if (a->n > SHOWN) buf_printf(b, ", ... %zu in all", a->n);
    buf_char(b, ']');
}

static Value explore_attribute(Arena *arena, const OnnxAttr *a)
{
    char shape[128];
    Buf b = { .arena = arena };
    switch (a->type) {
    case A_FLOAT: buf_printf(&b, "%g", (double)a->f); break;
    case A_INT: buf_printf(&b, "%lld", (long long)a->i); break;
    case A_STRING: buf_str(&b, (Str){ a->s.p, MIN(a->s.n, (size_t)200) }); break;
    case A_TENSOR: buf_puts(&b, tensor_show(&a->t->t, shape)); break;
    case A_INTS: case A_FLOATS: case A_STRINGS: explore_put_list(&b, a); break;
    default: buf_puts(&b, "a graph"); break;
    }
    return explore_text(arena, buf_view(&b));
}

static Value explore_attributes(Arena *arena, const OnnxNode *n)
{
    enum { SHOWN = 32 };
    const int count = MIN(n->n_attr, SHOWN);
    Value out = value_map(arena, (size_t)count);
    for (int i = 0; i < count; i++)
        if (n->attr[i].name.n)
            value_add(&out, str_dup(arena, explore_text(arena, n->attr[i].name).s),
                      explore_attribute(arena, &n->attr[i]));
    return out;
}

static Value explore_node_json(const ExploreReport *r, int i)
{
    const OnnxNode *file = &r->file->graph.node[i];
    const ExploreNode *n = &r->graph.node[i];
    Value out = value_map(r->arena, 12);
    value_add(&out, "name", explore_text(r->arena, file->name));
    value_add(&out, "op", explore_text(r->arena, file->op));
    if (file->domain.n) value_add(&out, "domain", explore_text(r->arena, file->domain));
    value_add(&out, "module", value_of_int(r->owner[i]));
    value_add(&out, "inputs", explore_ints(r->arena, n->in, file->n_in));
    value_add(&out, "outputs", explore_ints(r->arena, n->out, file->n_out));
    if (n->parameters) value_add(&out, "parameters", value_of_int(n->parameters));
    if (n->bytes) value_add(&out, "bytes", value_of_int((int64_t)n->bytes));
    if (n->flops >= 0) value_add(&out, "flops", value_of_float(n->flops));
    if (n->step >= 0) value_add(&out, "step", value_of_int(n->step));
    if (n->known) value_add(&out, "planned", value_of_bool(true));
    if (file->n_attr) value_add(&out, "attributes", explore_attributes(r->arena, file));
    return out;
}

static Value explore_module_json(Arena *arena, const ExploreModule *m)
{
    Value out = value_map(arena, 10);
    value_add(&out, "name", explore_text(arena, m->name));
    if (m->class_name.n) value_add(&out, "class", explore_text(arena, m->class_name));
    if (m->scope.n) value_add(&out, "scope", explore_text(arena, m->scope));
    value_add(&out, "parent", m->parent < 0 ? value_null() : value_of_int(m->parent));
    value_add(&out, "nodes", value_of_int(m->nodes));
    value_add(&out, "parameters", value_of_int(m->parameters));
    value_add(&out, "bytes", value_of_int((int64_t)m->bytes));
    value_add(&out, "flops", value_of_float(m->flops));
    if (m->steps) value_add(&out, "us", explore_us(m->seconds));
    return out;
}

static Value explore_step_json(const ExploreReport *r, int i)
{
    const ExplainedStep *s = &r->steps.profile.plan.step[i];
    Value out = value_map(r->arena, 11);
    value_add(&out, "op", value_of_text(s->op));
    value_add(&out, "module", r->step_owner[i] < 0 ? value_null() : value_of_int(r->step_owner[i]));
    if (r->steps.node[i] >= 0) value_add(&out, "node", value_of_int(r->steps.node[i]));
    value_add(&out, "us", explore_us(s->seconds));
    value_add(&out, "flops", value_of_float(s->flops));
    value_add(&out, "layout", value_of_text(s->layout));
    if (s->kernel) value_add(&out, "kernel", value_of_text(s->kernel));
    if (s->why) value_add(&out, "generic_because", value_of_text(s->why));
    value_add(&out, "weight_bytes", value_of_int((int64_t)s->weight_bytes));
    value_add(&out, "made_bytes", value_of_int((int64_t)s->made_bytes));
    return out;
}

static Value explore_totals(const ExploreReport *r)
{
    ExploreModule all = { 0 };
    Value out = value_map(r->arena, 8);
    for (int i = 0; i < r->n_module; i++) {
        const ExploreModule *m = &r->module[i];
        if (m->parent >= 0) continue;
        all.nodes += m->nodes, all.parameters += m->parameters, all.bytes += m->bytes, all.flops += m->flops;
    }
    for (int s = 0; s < r->steps.profile.plan.n; s++) all.seconds += r->steps.profile.plan.step[s].seconds;
    value_add(&out, "nodes", value_of_int(all.nodes));
    value_add(&out, "modules", value_of_int(r->n_module));
    value_add(&out, "parameters", value_of_int(all.parameters));
    value_add(&out, "bytes", value_of_int((int64_t)all.bytes));
    value_add(&out, "flops", value_of_float(all.flops));
    if (r->steps.profile.plan.n) value_add(&out, "us", explore_us(all.seconds));
    return out;
}

static Value explore_run_json(const ExploreReport *r)
{
    const Profile *p = &r->steps.profile;
    Value out = value_map(r->arena, 8);
    value_add(&out, "rows", value_of_int(1));
    value_add(&out, "runs", value_of_int(p->done));
    value_add(&out, "us", explore_us(p->seconds));
    value_add(&out, "threads", value_of_int(r->steps.threads));
    value_add(&out, "precision", value_of_text(r->model->precision));
    value_add(&out, "isa", value_of_text(kernels_isa(kernels(), r->model->precision)));
    return out;
}

static Value explore_notes(const ExploreReport *r)
{
    Value notes = value_list(r->arena, 5);
    size_t n = 0;
    const bool towers = r->model && r->model->second;
    const struct { const char *what, *why; } rows[] = {
        { "no plan and no times", r->why },
        { "shapes or FLOPs are missing", r->graph.why_shapes },
        { "no steps", r->steps.why },
        { "its second graph, which reads texts", towers ? "its steps are not timed" : NULL },
        { "no modules", r->htp.source == HTP_NONE ? "the file names none" : NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].why)
            notes.list.items[n++] =
                explore_text(r->arena, str_of(str_format(r->arena, "%s: %s", rows[i].what, rows[i].why)));
    notes.list.n = n;
    return notes;
}

static Value explore_ends(const ExploreReport *r, const OnnxValue *end, int n)
{
    Value list = value_list(r->arena, (size_t)n);
    size_t found = 0;
    for (int i = 0; i < n; i++)
        for (int v = 0; v < r->graph.n_value; v++)
            if (str_eq(r->graph.value[v].name, end[i].name)) {
                if (!r->graph.value[v].constant) list.list.items[found++] = value_of_int(v);
                break;
            }
    list.list.n = found;
    return list;
}

#define EXPLORE_LIST(count, one)                                            \
    ({                                                                      \
        Value list_ = value_list(r->arena, (size_t)(count));                \
        for (int i = 0; i < (count); i++) list_.list.items[i] = (one);      \
        list_;                                                              \
    })

static Value explore_json(const ExploreReport *r)
{
    const OnnxGraph *g = &r->file->graph;
    Value out = value_map(r->arena, 16);
    value_add(&out, "name", explore_text(r->arena, r->name));
    if (r->path) value_add(&out, "path", explore_text(r->arena, str_of(r->path)));
    value_add(&out, "form", value_of_text(r->model && !r->model->onnx ? "package" : "onnx"));
    if (r->file->producer.n)
        value_add(&out, "producer", explore_text(r->arena, str_of(str_format(r->arena, "%.*s %.*s",
                                                                             STR_ARG(r->file->producer),
                                                                             STR_ARG(r->file->producer_version)))));
    value_add(&out, "opset", value_of_int(onnx_opset(r->file)));
    value_add(&out, "tag_source", value_of_text(htp_source_name[r->htp.source]));
    const int64_t tokens = r->sample.batch.B ? r->sample.batch.start[1] : r->sample.length;
    if (tokens) value_add(&out, "length", value_of_int(tokens));
    value_add(&out, "totals", explore_totals(r));
    if (r->steps.profile.done) value_add(&out, "run", explore_run_json(r));
    value_add(&out, "notes", explore_notes(r));
    value_add(&out, "inputs", explore_ends(r, g->in, g->n_in));
    value_add(&out, "outputs", explore_ends(r, g->out, g->n_out));
    value_add(&out, "modules", EXPLORE_LIST(r->n_module, explore_module_json(r->arena, &r->module[i])));
    value_add(&out, "nodes", EXPLORE_LIST(g->n_node, explore_node_json(r, i)));
    value_add(&out, "values", EXPLORE_LIST(r->graph.n_value, explore_value_json(r->arena, &r->graph.value[i])));
    value_add(&out, "steps", EXPLORE_LIST(r->steps.profile.plan.n, explore_step_json(r, i)));
    return out;
}

/* ---- one model ---- */
static bool explore_report(ExploreReport *r, Buf *json, Err *err)
{
    enum { USUAL = 128 };
    Err why = { 0 };
    r->sample.length = r->length ? r->length : r->model ? model_usual_length(r->model) : USUAL;
    const bool runs = r->model && explore_sample(r->arena, r->model, r->sample.length, &r->sample, &why);
    if (!explore_graph(r->arena, r->file, &r->sample, &r->graph, err)) return false;
    if (runs) explore_steps(r->arena, r->model, &r->sample, r->threads, &r->graph, &r->steps);
    else if (r->model) r->why = str_dup(r->arena, str_of(why.message));
    explore_modules(r);
    explore_step_owners(r);
    explore_sums(r);
    const Value all = explore_json(r);
    json_write(json, &all);
    return true;
}

static bool explore_model(const Model *m, const char *path, int64_t length, int threads, Buf *json, Err *err)
{
    Arena arena = { .local = true };
    HierarchyHints beside = { 0 };
    Err ignored;
    Value config;
    ExploreReport r = { .arena = &arena, .name = m->name, .path = path, .model = m, .file = m->graph->model,
                        .length = length, .threads = threads };
    if (m->weights) hierarchy_hints(&arena, m->weights, htp_sidecar_find(&arena, m->weights), &beside, &ignored);
    if (!beside.hints.config && m->config_text.n && json_parse(&arena, m->config_text, &config, &ignored))
        beside.hints.config = &config;
    htp_read(&arena, &r.file->graph, &beside.hints, &r.htp);
    const bool ok = explore_report(&r, json, err);
    arena_free(&arena);
    return ok;
}

/* An .onnx that does not run here is shown all the same. */
static bool explore_file(const char *path, int64_t length, const char *why, Buf *json, Err *err)
{
    Arena arena = { .local = true };
    HierarchyFile f;
    bool ok = hierarchy_open(&arena, path, NULL, &f, err);
    if (ok) {
        ExploreReport r = { .arena = &arena, .name = path_name(path), .path = path, .why = why, .file = &f.model,
                            .length = length, .htp = f.htp };
        ok = explore_report(&r, json, err);
        hierarchy_close(&f);
    }
    arena_free(&arena);
    return ok;
}

static bool explore_path(const char *path, int64_t length, Buf *json, Err *err)
{
    Model *m;
    Err why = { 0 };
    const bool lone = path && str_ends(str_of(path), ".onnx");
    if (!(lone ? model_open_bare(path, &m, &why) : model_open(path, &m, &why)))
        return lone ? explore_file(path, length, why.message, json, err) : (*err = why, false);
    const bool ok = explore_model(m, path, length, 0, json, err);
    model_close(m);
    return ok || (path && within(err, "%s", path));
}

static void explore_begin(Buf *json)
{
    buf_puts(json, "{\"format\":\"" EXPLORE_FORMAT "\",\"models\":[");
}

bool exploring_write(const Model *m, int threads, Buf *json, Err *err)
{
    explore_begin(json);
    if (!explore_model(m, NULL, 0, threads, json, err)) return false;
    buf_puts(json, "]}");
    return true;
}

bool exploring_run(Arena *arena, Exploring *x, Err *err)
{
    Buf json = { .arena = arena };
    explore_begin(&json);
    if (!explore_path(x->path, x->length, &json, err)) return false;
    if (x->other) buf_puts(&json, ",\n");
    if (x->other && !explore_path(x->other, x->length, &json, err)) return false;
    buf_puts(&json, "]}");
    x->json = buf_view(&json);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * graphml_write.c - a model to GraphML. Ids: a node has its name, or node_<i> where that is missing
 * or taken; a module its scope; inputs and outputs input_<name> and output_<name>. */
#include "graphml.h"

#include "base/thread.h"
#include "data/gzip.h"
#include "data/json.h"

typedef struct Draw {
    Arena *arena;
    const OnnxModel *model;
    const Htp *htp;         /* NULL: flat */
    GraphmlExport *e;
    Buf out;
    Map ids;                /* taken */
    Str *id;                /* [n_node] */
    int *home;              /* [n_node]: module it is drawn in; 0: the main graph */
    int *first, *next;      /* nodes of each module, as lists; [n_module], [n_node]; -1: the end */
    int *child, *sibling;   /* modules of each module, the same; [n_module] */
    bool bad;               /* found a character that XML cannot hold */
} Draw;

/* ---- text ---- */
static const char *xml_entity(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\t': return "&#9;";
    case '\n': return "&#10;";
    case '\r': return "&#13;";
    default: return NULL;
    }
}

/* Quotes need it in attributes only, and JSON is full of them. */
static void graphml_put_text(Draw *d, Str s, bool quotes)
{
    for (size_t i = 0; i < s.n; i++) {
        const char *name = s.p[i] == '"' && !quotes ? NULL : xml_entity(s.p[i]);
        unsigned char c = (unsigned char)s.p[i];
        if (name) buf_puts(&d->out, name);
        else buf_char(&d->out, s.p[i]);
        d->bad |= (!name && c < ' ') || (c == 0xEF && i + 2 < s.n && (uint8_t)s.p[i + 1] == 0xBF &&
                                         (uint8_t)s.p[i + 2] >= 0xBE);
    }
}

static void put_escaped(Draw *d, Str s)
{
    graphml_put_text(d, s, true);
}

static void put_data(Draw *d, const char *key, Str text)
{
    buf_printf(&d->out, "<data key=\"%s\">", key);
    graphml_put_text(d, text, false);
    buf_puts(&d->out, "</data>");
}

/* The same of a buffer, which is empty afterwards. */
static void put_buf(Draw *d, const char *key, Buf *text)
{
    put_data(d, key, buf_view(text));
    text->n = 0;
}

static void graphml_put_int(Draw *d, const char *key, int64_t n)
{
    buf_printf(&d->out, "<data key=\"%s\">%lld</data>", key, (long long)n);
}

static void open_node(Draw *d, Str id)
{
    buf_puts(&d->out, "<node id=\"");
    put_escaped(d, id);
    buf_puts(&d->out, "\">");
}

/* ---- ids ---- */
static Str take_id(Draw *d, Str wanted, int number)
{
    Str id = wanted;
    if (!id.n) id = str_of(str_format(d->arena, "node_%d", number));
    for (int turn = 1; map_get(&d->ids, id); turn++)
        id = str_of(str_format(d->arena, "%.*s#%d", STR_ARG(wanted), MAX(number, 0) + turn));
    map_put(&d->ids, d->arena, id, d);
    return id;
}

static Str io_id(Draw *d, const char *kind, Str name)
{
    char *id = str_format(d->arena, "%s_%.*s", kind, STR_ARG(name));
    for (char *p = id; *p; p++)
        if (strchr("/.:- ", *p)) *p = '_';
    return str_of(id);
}

/* ---- keys ---- */
static const struct Key {
    const char *id, *of, *name;
} keys[GRAPHML_KEYS] = {
    { "d0", "graph", "class_name" }, { "d1", "graph", "module_type" },
    { "d2", "graph", "execution_order" }, { "d3", "graph", "traced_tag" },
    { "n0", "node", "op_type" }, { "n1", "node", "hierarchy_tag" },
    { "n2", "node", "onnx_attributes" }, { "n3", "node", "name" }, { "n4", "node", "input_names" },
    { "n5", "node", "output_names" }, { "n6", "node", "domain" }, { "e0", "edge", "tensor_name" },
    { "e1", "edge", "tensor_type" }, { "e2", "edge", "tensor_shape" },
    { "e3", "edge", "tensor_data_ref" }, { "meta0", "graph", "source_onnx_file" },
    { "meta1", "graph", "source_htp_file" }, { "meta2", "graph", "format_version" },
    { "meta3", "graph", "export_timestamp" }, { "meta4", "graph", "opset_imports" },
    { "meta5", "graph", "producer_name" }, { "meta6", "graph", "producer_version" },
    { "meta7", "graph", "model_version" }, { "meta8", "graph", "doc_string" },
    { "param0", "graph", "parameter_strategy" }, { "param1", "graph", "parameter_file" },
    { "param2", "graph", "parameter_checksum" }, { "io0", "graph", "graph_inputs" },
    { "io1", "graph", "graph_outputs" }, { "io2", "graph", "value_info" },
    { "io3", "graph", "initializers_ref" },
};

static void put_keys(Draw *d)
{
    for (size_t i = 0; i < COUNT(keys); i++)
        buf_printf(&d->out, "<key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
                   keys[i].id, keys[i].of, keys[i].name,
                   strcmp(keys[i].id, "d2") ? "string" : "int");
}

/* ---- nodes ---- */
static void graphml_put_names(Buf *b, const Str *name, int n)
{
    buf_char(b, '[');
    for (int i = 0; i < n; i++) {
        if (i) buf_char(b, ',');
        json_write_string(b, name[i]);
    }
    buf_char(b, ']');
}

static bool graphml_put_node(Draw *d, int i, Err *err)
{
    const OnnxNode *n = &d->model->graph.node[i];
    Buf text = { 0 };
    open_node(d, d->id[i]);
    put_data(d, "n0", n->op);
    put_data(d, "n1", d->htp && d->htp->tag[i].n ? d->htp->tag[i] : (Str){ 0 });
    bool ok = graphml_attrs(&text, n, err);
    put_buf(d, "n2", &text);
    put_data(d, "n3", n->name);
    graphml_put_names(&text, n->in, n->n_in), put_buf(d, "n4", &text);
    graphml_put_names(&text, n->out, n->n_out), put_buf(d, "n5", &text);
    if (n->domain.n) put_data(d, "n6", n->domain);
    buf_puts(&d->out, "</node>\n");
    buf_free(&text);
    d->e->nodes++;
    return ok || within(err, "node '%.*s'", (int)MIN(n->name.n, 120), n->name.p);
}

static void put_io(Draw *d, const char *kind, const OnnxValue *v, Str id)
{
    Buf text = { 0 };
    open_node(d, id);
    put_data(d, "n0", str_of(kind));
    put_data(d, "n3", v->name);
    buf_puts(&d->out, "</node>");
    graphml_shape(&text, v); /* a comment may not hold two dashes */
    bool clean = text.n && !memmem(text.p, text.n, "--", 2);
    if (clean) buf_puts(&d->out, "<!-- shape "), put_escaped(d, buf_view(&text));
    buf_puts(&d->out, clean ? " -->\n" : "\n");
    buf_free(&text);
}

/* ---- modules ---- */
static const char *module_type(Str class_name)
{
    static const char *const torch[] = { "Linear", "LayerNorm", "Embedding", "Dropout" };
    for (size_t i = 0; i < COUNT(torch); i++)
        if (str_is(class_name, torch[i])) return "pytorch";
    return "huggingface";
}

static void put_module_data(Draw *d, int m)
{
    const HtpModule *module = &d->htp->module[m];
    Str class_name = htp_class(module);
    put_data(d, "d0", class_name);
    put_data(d, "d1", str_of(module_type(class_name)));
    graphml_put_int(d, "d2", m);
    put_data(d, "d3", module->tag);
}

static bool put_inside(Draw *d, int m, Err *err);

static bool put_compound(Draw *d, int m, Err *err)
{
    const HtpModule *module = &d->htp->module[m];
    Str class_name = htp_class(module), id = take_id(d, module->scope, m);
    open_node(d, id);
    put_data(d, "n0", class_name);
    put_data(d, "n1", module->tag);
    put_data(d, "n2", str_of(str_format(d->arena,
                                        "{\"module_type\":\"%s\",\"execution_order\":%d}",
                                        module_type(class_name), m)));
    put_data(d, "n3", id);
    buf_puts(&d->out, "<graph id=\"");
    put_escaped(d, id);
    buf_puts(&d->out, "::\" edgedefault=\"directed\">");
    put_module_data(d, m);
    buf_char(&d->out, '\n');
    d->e->compounds++;
    if (!put_inside(d, m, err)) return false;
    buf_puts(&d->out, "</graph></node>\n");
    return true;
}

/* Its nodes and its modules. */
static bool put_inside(Draw *d, int m, Err *err)
{
    for (int i = d->first[m]; i >= 0; i = d->next[i])
        if (!graphml_put_node(d, i, err)) return false;
    for (int k = d->child[m]; k >= 0; k = d->sibling[k])
        if (!put_compound(d, k, err)) return false;
    return true;
}

/* Lists of nodes and modules by the module they are drawn in; what lies too deep is lifted. */
static void graphml_arrange(Draw *d)
{
    const OnnxGraph *g = &d->model->graph;
    int modules = d->htp ? MAX(d->htp->n_module, 1) : 1;
    int *depth = ARRAY(d->arena, int, modules), *place = ARRAY(d->arena, int, modules);
    d->first = ARRAY(d->arena, int, modules), d->child = ARRAY(d->arena, int, modules);
    d->sibling = ARRAY(d->arena, int, modules), d->next = ARRAY(d->arena, int, g->n_node + 1);
    for (int m = 0; m < modules; m++) d->first[m] = d->child[m] = d->sibling[m] = -1;
    for (int m = 1; m < modules; m++) {
        int up = MAX(d->htp->module[m].parent, 0);
        depth[m] = depth[up] + 1;
        place[m] = depth[m] > GRAPHML_MODULES ? place[up] : m;
    }
    for (int m = modules - 1; m > 0; m--) {
        int up = place[MAX(d->htp->module[m].parent, 0)];
        if (place[m] == m) d->sibling[m] = d->child[up], d->child[up] = m;
    }
    for (int i = g->n_node - 1; i >= 0; i--) {
        int m = d->htp && d->htp->owner[i] > 0 ? place[d->htp->owner[i]] : 0;
        d->next[i] = d->first[m], d->first[m] = i;
    }
}

/* ---- edges ---- */
typedef struct Made {       /* where a value comes from, and what is known of it */
    Str id;
    const OnnxValue *said;
} Made;

static Made *made_of(Draw *d, Map *made, Str name)
{
    Made *m = map_get(made, name);
    if (m) return m;
    m = NEW(d->arena, Made);
    map_put(made, d->arena, name, m);
    return m;
}

static void graphml_note_said(Draw *d, Map *made, const OnnxValue *v, int n)
{
    for (int i = 0; i < n; i++) made_of(d, made, v[i].name)->said = &v[i];
}

static void put_edge(Draw *d, const Map *made, Str value, Str target)
{
    const Made *m = value.n ? map_get(made, value) : NULL;
    if (!m || !m->id.p) return; /* a weight */
    Buf shape = { 0 };
    buf_puts(&d->out, "<edge source=\"");
    put_escaped(d, m->id);
    buf_puts(&d->out, "\" target=\"");
    put_escaped(d, target);
    buf_puts(&d->out, "\">");
    put_data(d, "e0", value);
    if (m->said && m->said->type) put_data(d, "e1", str_of(graphml_type(m->said->type)));
    if (m->said && m->said->rank >= 0) graphml_shape(&shape, m->said), put_buf(d, "e2", &shape);
    buf_puts(&d->out, "</edge>\n");
    buf_free(&shape);
    d->e->edges++;
}

static void put_edges(Draw *d, const Str *in, const Str *out)
{
    const OnnxGraph *g = &d->model->graph;
    Map made = { 0 };
    graphml_note_said(d, &made, g->info, g->n_info);
    graphml_note_said(d, &made, g->in, g->n_in);
    graphml_note_said(d, &made, g->out, g->n_out);
    for (int i = 0; i < g->n_in; i++) made_of(d, &made, g->in[i].name)->id = in[i];
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_out; k++)
            if (g->node[i].out[k].n) made_of(d, &made, g->node[i].out[k])->id = d->id[i];
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_in; k++)
            put_edge(d, &made, g->node[i].in[k], d->id[i]);
    for (int i = 0; i < g->n_out; i++) put_edge(d, &made, g->out[i].name, out[i]);
}

/* ---- weights ---- */
typedef struct GzipWriter { /* BASE.onnxdata on its way */
    FileWriter file;
    Sha256 sum;
} GzipWriter;

static bool to_file(void *context, const void *bytes, size_t n, Err *err)
{
    GzipWriter *p = context;
    sha256_add(&p->sum, bytes, n);
    return writer_add(&p->file, bytes, n, err);
}

static bool to_gzip(void *context, Str text, Err *err)
{
    return gzip_add(context, text, err);
}

static bool to_buf(void *context, Str text, Err *err)
{
    (void)err;
    buf_str(context, text);
    return true;
}

static bool write_sidecar(Draw *d, char sum[72], Err *err)
{
    GzipWriter p;
    sha256_start(&p.sum);
    d->e->params = str_format(d->arena, "%s.onnxdata", d->e->base);
    if (!writer_open(&p.file, d->arena, d->e->params, 0644, err)) return false;
    Gzip *zip = gzip_open(d->arena, GZIP_FAST, to_file, &p);
    GraphmlSink sink = { to_gzip, zip };
    bool ok = graphml_params_write(&sink, d->model, d->id, err);
    ok = gzip_close(zip, err) && ok;
    d->e->params_size = p.file.written;
    graphml_sum(&p.sum, sum);
    if (ok) return writer_commit(&p.file, err);
    writer_abort(&p.file);
    return false;
}

static bool checksum_file(const char *path, char sum[72], Err *err)
{
    Mapping map;
    if (!file_map(path, &map, err)) return false;
    graphml_checksum((Str){ (const char *)map.p, map.n }, sum);
    file_unmap(&map);
    return true;
}

static void put_params(Draw *d, const char *strategy, Str file, const char *sum)
{
    put_data(d, "param0", str_of(strategy));
    if (file.n) put_data(d, "param1", file);
    put_data(d, "param2", str_of(sum));
}

static bool put_weights(Draw *d, Err *err)
{
    char sum[72];
    Buf text = { 0 };
    GraphmlSink sink = { to_buf, &text };
    Str file = d->e->strategy == PARAMS_REFERENCE ? path_name(d->e->onnx) : (Str){ 0 };
    switch (d->e->strategy) {
    case PARAMS_SIDECAR:
        if (!write_sidecar(d, sum, err)) return false;
        file = path_name(d->e->params);
        put_params(d, "sidecar", file, sum);
        break;
    case PARAMS_REFERENCE:
        if (!checksum_file(d->e->onnx, sum, err)) return false;
        put_params(d, "reference", file, sum);
        break;
    case PARAMS_EMBEDDED: {
        bool ok = graphml_params_write(&sink, d->model, d->id, err) &&
                  graphml_checksum_json(buf_view(&text), sum, err);
        if (ok) put_params(d, "embedded", file, sum), put_buf(d, "io3", &text);
        buf_free(&text);
        return ok;
    }
    }
    buf_puts(&text, "{\"file\":");
    json_write_string(&text, file);
    buf_printf(&text, ",\"count\":%d}", d->model->graph.n_init);
    put_buf(d, "io3", &text);
    buf_free(&text);
    return true;
}

/* ---- the whole ---- */
static void put_opsets(Draw *d)
{
    Buf text = { 0 };
    buf_char(&text, '[');
    for (int i = 0; i < d->model->n_opset; i++) {
        buf_puts(&text, i ? ",{\"domain\":" : "{\"domain\":");
        json_write_string(&text, d->model->opset[i].domain);
        buf_printf(&text, ",\"version\":%lld}", (long long)d->model->opset[i].version);
    }
    buf_char(&text, ']');
    put_buf(d, "meta4", &text);
    buf_free(&text);
}

static void put_model_data(Draw *d)
{
    const OnnxModel *m = d->model;
    Buf text = { 0 };
    if (d->htp) put_module_data(d, 0);
    if (d->e->onnx) put_data(d, "meta0", path_name(d->e->onnx));
    if (d->e->htp) put_data(d, "meta1", path_name(d->e->htp));
    put_data(d, "meta2", STR("1.3"));
    put_data(d, "meta3", now_utc(d->arena));
    put_opsets(d);
    put_data(d, "meta5", m->producer);
    put_data(d, "meta6", m->producer_version);
    graphml_put_int(d, "meta7", m->version);
    put_data(d, "meta8", m->doc);
    graphml_values(&text, m->graph.in, m->graph.n_in), put_buf(d, "io0", &text);
    graphml_values(&text, m->graph.out, m->graph.n_out), put_buf(d, "io1", &text);
    graphml_values(&text, m->graph.info, m->graph.n_info), put_buf(d, "io2", &text);
    buf_free(&text);
}

static bool put_graph(Draw *d, Err *err)
{
    const OnnxGraph *g = &d->model->graph;
    Str *in = ARRAY(d->arena, Str, g->n_in + 1), *out = ARRAY(d->arena, Str, g->n_out + 1);
    buf_puts(&d->out, "<graph id=\"");
    put_escaped(d, d->htp ? htp_class(&d->htp->module[0]) : STR("G"));
    buf_puts(&d->out, "\" edgedefault=\"directed\">\n");
    put_model_data(d);
    if (!put_weights(d, err)) return false;
    buf_char(&d->out, '\n');
    for (int i = 0; i < g->n_in; i++) {
        in[i] = take_id(d, io_id(d, "input", g->in[i].name), i);
        put_io(d, "Input", &g->in[i], in[i]);
    }
    if (!put_inside(d, 0, err)) return false;
    for (int i = 0; i < g->n_out; i++) {
        out[i] = take_id(d, io_id(d, "output", g->out[i].name), i);
        put_io(d, "Output", &g->out[i], out[i]);
    }
    put_edges(d, in, out);
    buf_puts(&d->out, "</graph>\n");
    return true;
}

static bool put_document(Draw *d, Err *err)
{
    buf_puts(&d->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
    put_keys(d);
    if (!put_graph(d, err)) return false;
    buf_puts(&d->out, "</graphml>\n");
    return (!d->bad && utf8_valid(buf_view(&d->out))) ||
           fail(err, EF_UNSUPPORTED, "found a name or text that XML cannot hold (a control "
                "character, or no UTF-8)");
}

/* What goes into JSON beside the graph. */
static bool pairs_text(const OnnxPair *pair, int n)
{
    for (int i = 0; i < n; i++)
        if (!utf8_valid(pair[i].key) || !utf8_valid(pair[i].value)) return false;
    return true;
}

static bool is_text(const OnnxModel *m)
{
    bool ok = pairs_text(m->meta, m->n_meta) && pairs_text(m->graph.meta, m->graph.n_meta) &&
              utf8_valid(m->graph.name) && utf8_valid(m->graph.doc) && utf8_valid(m->domain);
    for (int i = 0; ok && i < m->graph.n_node; i++) {
        const OnnxNode *n = &m->graph.node[i];
        ok = pairs_text(n->meta, n->n_meta) && utf8_valid(n->doc) && utf8_valid(n->overload) &&
             utf8_valid(n->name);
    }
    for (int i = 0; ok && i < m->graph.n_init; i++) ok = utf8_valid(m->graph.init[i].name);
    return ok;
}

static bool write_document(Draw *d, Err *err)
{
    for (int i = 0; i < d->model->graph.n_node; i++)
        d->id[i] = take_id(d, d->model->graph.node[i].name, i);
    graphml_arrange(d);
    if (!put_document(d, err)) return false;
    d->e->graphml = str_format(d->arena, "%s.graphml", d->e->base);
    d->e->graphml_size = d->out.n;
    return file_write(d->arena, d->e->graphml, buf_view(&d->out), err);
}

static bool graphml_beside(Arena *arena, const char *a, const char *b)
{
    return strcmp(path_real(arena, path_dir(arena, a)), path_real(arena, path_dir(arena, b))) == 0;
}

bool graphml_write(Arena *arena, OnnxModel *m, const Htp *htp, GraphmlExport *e, Err *err)
{
    bool modules = htp && htp->n_module && !e->flat;
    Draw d = { .arena = arena, .model = m, .htp = modules ? htp : NULL, .e = e };
    d.id = ARRAY(arena, Str, m->graph.n_node + 1);
    if (!is_text(m))
        return fail(err, EF_UNSUPPORTED, "found metadata or a name that is no UTF-8");
    if (e->strategy == PARAMS_REFERENCE && !graphml_beside(arena, e->onnx, e->base))
        return fail(err, EF_USAGE, "by reference, the GraphML must stand beside %s", e->onnx);
    if (!onnx_take_inside(m, err) || !dir_make_parents(e->base, err)) return false;
    bool ok = write_document(&d, err);
    buf_free(&d.out);
    return ok;
}

bool graphml_strategy(const char *name, ParamStrategy *out, Err *err)
{
    static const char *const names[] = { "sidecar", "embedded", "reference" };
    *out = PARAMS_SIDECAR;
    for (size_t i = 0; name && i < COUNT(names); i++)
        if (strcmp(name, names[i]) == 0) return *out = (ParamStrategy)i, true;
    return !name || fail(err, EF_USAGE, "strategy: found \"%s\", wanted sidecar, embedded or "
                         "reference", name);
}

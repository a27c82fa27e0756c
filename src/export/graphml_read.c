/* SPDX-License-Identifier: Apache-2.0
 * graphml_read.c - GraphML to a model. expat gives elements; nodes that are operators are kept as
 * they come, in whatever module they lie, and put into order at the end. */
#include "graphml.h"

#include <expat.h>

#include "data/gzip.h"
#include "data/json.h"

enum { CHUNK = 1 << 20, MOST_NODES = 1 << 22 };
/* Limit of the unpacked weights: weights hardly compress, so a small file that unpacks to many
 * bytes is refused. */
static const size_t MOST_TEXT = (size_t)1 << 33, LEAST_TEXT = 64 << 20, TIMES_COMPRESSED = 64;

typedef enum { AT_NONE, AT_MAIN, AT_NODE, AT_EDGE } DataOwner; /* what a <data> belongs to */

enum { MAIN_KEYS = 20, NODE_KEYS = 7 };
typedef struct Read {
    Arena *arena;
    XML_Parser xml;
    GraphmlImport *in;
    Err *err;
    bool failed;
    int depth, graphs, keys;
    Str main[MAIN_KEYS];    /* by their place in main_key */
    /* the node that is open innermost, as far as it may be an operator */
    bool open;
    Str id, node[NODE_KEYS];
    bool given[NODE_KEYS];
    DataOwner place;
    int slot;               /* where the text of the open <data> goes; -1: nowhere */
    Buf text;
    /* found */
    Buf nodes;              /* of Operator */
    Buf ends;               /* of Str, two for each edge */
    Map ids;
} Read;

typedef struct Operator {
    Str id, field[NODE_KEYS]; /* n0 to n6 */
} Operator;

static const char *const main_key[MAIN_KEYS] = {
    "meta0", "meta1", "meta2", "meta3", "meta4", "meta5", "meta6", "meta7", "meta8", "param0",
    "param1", "param2", "io0", "io1", "io2", "io3",
};
enum {
    META_VERSION = 2, META_TIME = 3, META_OPSETS = 4, META_PRODUCER = 5, META_PRODUCER_VERSION = 6,
    META_MODEL_VERSION = 7, META_DOC = 8, PARAM_STRATEGY = 9, PARAM_FILE = 10, PARAM_SUM = 11,
    IO_IN = 12, IO_OUT = 13, IO_INFO = 14, IO_WEIGHTS = 15
};

static void give_up(Read *r, ef_code code, const char *format, const char *detail)
{
    if (r->failed) return;
    r->failed = true;
    fail(r->err, code, format, detail);
    within(r->err, "line %lu", (unsigned long)XML_GetCurrentLineNumber(r->xml));
    XML_StopParser(r->xml, XML_FALSE);
}

static const char *xml_attribute(const XML_Char **list, const char *name)
{
    for (; list[0]; list += 2)
        if (strcmp(list[0], name) == 0) return list[1];
    return NULL;
}

/* ---- elements ---- */
static void begin_key(Read *r, const XML_Char **list)
{
    static const char *const old[] = { "m5", "m6", "m7", "m8", "p0", "p1", "p2", "g0", "g1", "g2",
                                       "g3", "t0", "t1", "t2" };
    const char *id = xml_attribute(list, "id");
    r->keys++;
    for (size_t i = 0; id && i < COUNT(old); i++)
        if (strcmp(id, old[i]) == 0)
            give_up(r, EF_UNSUPPORTED, "found key %s of an older version, wanted 1.3", id);
}

static void begin_node(Read *r, const XML_Char **list)
{
    const char *id = xml_attribute(list, "id");
    if (!id) return give_up(r, EF_BAD_MODEL, "<node>: wanted an id%s", "");
    r->id = str_of(str_dup(r->arena, str_of(id)));
    if (map_get(&r->ids, r->id)) return give_up(r, EF_BAD_MODEL, "found id \"%.100s\" twice", id);
    map_put(&r->ids, r->arena, r->id, r);
    memset(r->node, 0, sizeof r->node);
    memset(r->given, 0, sizeof r->given);
    r->open = true;
    r->place = AT_NODE;
}

static void end_node(Read *r)
{
    bool is_end = str_is(r->node[0], "Input") || str_is(r->node[0], "Output");
    bool whole = r->open;
    r->open = false;
    r->place = AT_NONE;
    if (!whole) return; /* a module: its graph has been read */
    if (!r->given[0]) return give_up(r, EF_BAD_MODEL, "node without op_type (n0)%s", "");
    if (is_end && !r->given[4] && !r->given[5]) return;
    Operator op = { .id = r->id };
    memcpy(op.field, r->node, sizeof op.field);
    if (r->nodes.n / sizeof op >= MOST_NODES)
        return give_up(r, EF_TOO_LARGE, "found too many nodes%s", "");
    buf_add(&r->nodes, &op, sizeof op);
}

static void begin_edge(Read *r, const XML_Char **list)
{
    const char *ends[] = { xml_attribute(list, "source"), xml_attribute(list, "target") };
    r->place = AT_EDGE;
    r->in->edges++;
    for (int i = 0; i < 2; i++) {
        if (!ends[i]) return give_up(r, EF_BAD_MODEL, "<edge>: wanted source and target%s", "");
        Str end = str_of(r->in->strict ? str_dup(r->arena, str_of(ends[i])) : "");
        if (r->in->strict) buf_add(&r->ends, &end, sizeof end);
    }
}

static void begin_graph(Read *r)
{
    r->open = false; /* a node with a graph is a module */
    r->place = r->graphs++ == 0 ? AT_MAIN : AT_NONE;
}

static void begin_data(Read *r, const XML_Char **list)
{
    const char *key = xml_attribute(list, "key");
    r->slot = -1, r->text.n = 0;
    if (!key) return give_up(r, EF_BAD_MODEL, "<data>: wanted a key%s", "");
    bool of_node = key[0] == 'n' && key[1] >= '0' && key[1] < '0' + NODE_KEYS && !key[2];
    if (r->place == AT_NODE && of_node) r->slot = key[1] - '0';
    for (int i = 0; r->place == AT_MAIN && i < MAIN_KEYS && main_key[i]; i++)
        if (strcmp(key, main_key[i]) == 0) r->slot = i;
}

static void end_data(Read *r)
{
    if (r->slot < 0) return;
    Str text = str_of(str_dup(r->arena, buf_view(&r->text)));
    text.n = r->text.n;
    if (r->place == AT_NODE) r->node[r->slot] = text, r->given[r->slot] = true;
    else r->main[r->slot] = text;
    r->slot = -1;
}

static void XMLCALL xml_begin_element(void *context, const XML_Char *name, const XML_Char **list)
{
    Read *r = context;
    if (r->failed) return;
    if (++r->depth > GRAPHML_DEPTH)
        return give_up(r, EF_BAD_MODEL, "found elements nested too deep%s", "");
    if (r->depth == 1 && strcmp(name, "graphml") != 0)
        return give_up(r, EF_BAD_MODEL, "found <%.60s>, wanted <graphml>", name);
    if (strcmp(name, "key") == 0) begin_key(r, list);
    if (strcmp(name, "node") == 0) begin_node(r, list);
    if (strcmp(name, "edge") == 0) begin_edge(r, list);
    if (strcmp(name, "graph") == 0) begin_graph(r);
    if (strcmp(name, "data") == 0) begin_data(r, list);
}

static void XMLCALL xml_end_element(void *context, const XML_Char *name)
{
    Read *r = context;
    if (r->failed) return;
    r->depth--;
    if (strcmp(name, "data") == 0) end_data(r);
    if (strcmp(name, "node") == 0) end_node(r);
    if (strcmp(name, "edge") == 0) r->place = AT_NONE;
}

static void XMLCALL xml_characters(void *context, const XML_Char *text, int n)
{
    Read *r = context;
    if (!r->failed && r->slot >= 0) buf_add(&r->text, text, (size_t)n);
}

/* Without a document type there are no entities but the five of XML itself. */
static void XMLCALL xml_refuse_doctype(void *context, const XML_Char *name, const XML_Char *system,
                                       const XML_Char *public, int internal)
{
    (void)system, (void)public, (void)internal;
    give_up(context, EF_BAD_MODEL, "found a document type (%.60s), which is not accepted", name);
}

static bool graphml_parse_xml(Read *r, Str xml)
{
    r->xml = XML_ParserCreate("UTF-8");
    if (!r->xml) return fail(r->err, EF_IO, "out of memory");
    XML_SetUserData(r->xml, r);
    XML_SetElementHandler(r->xml, xml_begin_element, xml_end_element);
    XML_SetCharacterDataHandler(r->xml, xml_characters);
    XML_SetStartDoctypeDeclHandler(r->xml, xml_refuse_doctype);
    bool ok = true;
    for (size_t at = 0; ok && at <= xml.n; at += CHUNK) {
        size_t n = MIN(xml.n - at, (size_t)CHUNK);
        ok = XML_Parse(r->xml, xml.p + at, (int)n, at + CHUNK > xml.n) == XML_STATUS_OK;
    }
    if (!ok && !r->failed)
        fail(r->err, EF_BAD_MODEL, "line %lu: %s", (unsigned long)XML_GetCurrentLineNumber(r->xml),
             XML_ErrorString(XML_GetErrorCode(r->xml)));
    XML_ParserFree(r->xml);
    return ok && !r->failed;
}

/* ---- from text to a model ---- */
static bool json_at(Read *r, int key, Value *v)
{
    if (!r->main[key].p) return fail(r->err, EF_BAD_MODEL, "%s is missing", main_key[key]);
    return json_parse(r->arena, r->main[key], v, r->err) || within(r->err, "%s", main_key[key]);
}

static bool graphml_names_of(Read *r, Str text, const char *key, Str **out, int *n)
{
    Value v;
    if (!text.n) return true;
    if (!json_parse(r->arena, text, &v, r->err)) return within(r->err, "%s", key);
    if (v.kind != V_LIST || v.list.n > MOST_NODES)
        return fail(r->err, EF_BAD_MODEL, "%s: wanted a list of names", key);
    *n = (int)v.list.n;
    *out = ARRAY(r->arena, Str, v.list.n + 1);
    for (size_t i = 0; i < v.list.n; i++) (*out)[i] = value_str(&v.list.items[i], (Str){ 0 });
    return true;
}

static void graphml_keep_tag(Read *r, Str tag, OnnxNode *n)
{
    if (!htp_tag_valid(tag)) return;
    n->meta = NEW(r->arena, OnnxPair);
    n->meta[0] = (OnnxPair){ STR(HTP_TAG), tag };
    n->n_meta = 1;
}

static bool make_node(Read *r, const Operator *op, OnnxNode *n)
{
    Value attrs;
    *n = (OnnxNode){ .op = op->field[0], .name = op->field[3], .domain = op->field[6] };
    graphml_keep_tag(r, op->field[1], n);
    if (!graphml_names_of(r, op->field[4], "n4", &n->in, &n->n_in) ||
        !graphml_names_of(r, op->field[5], "n5", &n->out, &n->n_out))
        return false;
    if (!op->field[2].n) return true;
    if (!json_parse(r->arena, op->field[2], &attrs, r->err)) return within(r->err, "n2");
    return graphml_attrs_read(r->arena, &attrs, n, r->err);
}

/* ---- order ---- */
typedef struct Sorting {
    const OnnxNode *node;
    int n;
    Map made;               /* value to node + 1 */
    int *waits;             /* inputs that are not made yet */
    int *first, *next, *reader; /* who waits for a node: lists of places in next */
} Sorting;

static void wait_for(Sorting *s, int reader, int maker, int *used)
{
    s->waits[reader]++;
    s->reader[*used] = reader;
    s->next[*used] = s->first[maker];
    s->first[maker] = (*used)++;
}

static void note_waits(Arena *arena, Sorting *s)
{
    size_t inputs = 0;
    int used = 0;
    for (int i = 0; i < s->n; i++) {
        inputs += (size_t)s->node[i].n_in;
        s->first[i] = -1;
        for (int k = 0; k < s->node[i].n_out; k++)
            if (s->node[i].out[k].n)
                map_put(&s->made, arena, s->node[i].out[k], (void *)(intptr_t)(i + 1));
    }
    s->next = ARRAY(arena, int, inputs + 1), s->reader = ARRAY(arena, int, inputs + 1);
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->node[i].n_in; k++) {
            intptr_t maker = (intptr_t)map_get(&s->made, s->node[i].in[k]);
            if (maker) wait_for(s, i, (int)maker - 1, &used);
        }
}

/* Kahn's: a node follows when all it reads is made. */
static bool sort_nodes(Arena *arena, OnnxGraph *g, Err *err)
{
    Sorting s = { .node = g->node, .n = g->n_node };
    int *queue = ARRAY(arena, int, s.n + 1), head = 0, tail = 0;
    s.waits = ARRAY(arena, int, s.n + 1), s.first = ARRAY(arena, int, s.n + 1);
    note_waits(arena, &s);
    for (int i = 0; i < s.n; i++)
        if (!s.waits[i]) queue[tail++] = i;
    OnnxNode *sorted = ARRAY(arena, OnnxNode, s.n + 1);
    for (; head < tail; head++) {
        sorted[head] = g->node[queue[head]];
        for (int k = s.first[queue[head]]; k >= 0; k = s.next[k])
            if (--s.waits[s.reader[k]] == 0) queue[tail++] = s.reader[k];
    }
    g->node = sorted;
    return head == s.n || fail(err, EF_BAD_MODEL, "found a cycle among the nodes");
}

static void graphml_restore(OnnxNode *n, const Value *said, Arena *arena)
{
    const Value *meta = value_get(said, "metadata_props");
    n->doc = value_str(value_get(said, "doc_string"), (Str){ 0 });
    n->overload = value_str(value_get(said, "overload"), (Str){ 0 });
    n->n_meta = 0;
    size_t pairs = meta && meta->kind == V_LIST ? meta->list.n : 0;
    n->meta = ARRAY(arena, OnnxPair, pairs + 1);
    for (size_t i = 0; i < pairs; i++) {
        const Value *pair = &meta->list.items[i];
        if (pair->kind == V_LIST && pair->list.n == 2)
            n->meta[n->n_meta++] = (OnnxPair){ value_str(&pair->list.items[0], (Str){ 0 }),
                                               value_str(&pair->list.items[1], (Str){ 0 }) };
    }
}

/* The order and the rest that was kept; false: it does not fit these nodes. */
static bool graphml_reorder(Read *r, OnnxGraph *g, const Value *order)
{
    Map at = { 0 };
    const Operator *op = (const Operator *)(const void *)r->nodes.p;
    if (!order || order->kind != V_LIST || order->list.n != (size_t)g->n_node) return false;
    OnnxNode *sorted = ARRAY(r->arena, OnnxNode, g->n_node + 1);
    bool *used = ARRAY(r->arena, bool, g->n_node + 1);
    for (int i = 0; i < g->n_node; i++) map_put(&at, r->arena, op[i].id, &g->node[i]);
    for (int i = 0; i < g->n_node; i++) {
        const Value *said = &order->list.items[i];
        Str id = value_str(value_get(said, "id"), (Str){ 0 });
        const OnnxNode *from = map_get(&at, id);
        if (!from || used[from - g->node]) return false;
        used[from - g->node] = true;
        sorted[i] = *from;
        graphml_restore(&sorted[i], said, r->arena);
    }
    g->node = sorted;
    return true;
}

/* ---- model data ---- */
static bool read_opsets(Read *r, OnnxModel *m)
{
    Value v;
    if (!json_at(r, META_OPSETS, &v)) return false;
    if (v.kind != V_LIST || v.list.n > 1000)
        return fail(r->err, EF_BAD_MODEL, "meta4: wanted a list of opsets");
    m->opset = ARRAY(r->arena, OnnxOpset, v.list.n + 1);
    for (size_t i = 0; i < v.list.n; i++) {
        Str domain = value_str(value_get(&v.list.items[i], "domain"), (Str){ 0 });
        if (str_is(domain, "ai.onnx")) domain = (Str){ 0 };
        m->opset[m->n_opset++] =
            (OnnxOpset){ domain, value_int(value_get(&v.list.items[i], "version"), 0) };
    }
    return true;
}

static bool read_values(Read *r, int key, OnnxValue **out, int *n)
{
    Value v;
    if (key == IO_INFO && !r->main[key].n) return true;
    return json_at(r, key, &v) && (graphml_values_read(r->arena, &v, out, n, r->err) ||
                                   within(r->err, "%s", main_key[key]));
}

/* The oldest IR version that has these opsets; files of others do not say it. */
static int64_t ir_version(const OnnxModel *m)
{
    for (int i = 0; i < m->n_opset; i++)
        if (!m->opset[i].domain.n && m->opset[i].version > 20) return 10;
    return 8;
}

static bool graphml_read_version(Read *r)
{
    Str v = r->main[META_VERSION];
    if (!r->graphs) return fail(r->err, EF_BAD_MODEL, "found no graph");
    if (!v.p) return fail(r->err, EF_BAD_MODEL, "format_version (meta2) is missing");
    if (!str_is(v, "1.3"))
        return fail(r->err, EF_UNSUPPORTED, "format_version: found \"%.*s\", wanted 1.3",
                    (int)MIN(v.n, 20), v.p);
    if (!r->main[META_TIME].p)
        return fail(r->err, EF_BAD_MODEL, "export_timestamp (meta3) is missing");
    if (!r->main[PARAM_STRATEGY].p)
        return fail(r->err, EF_BAD_MODEL, "parameter_strategy (param0) is missing");
    return graphml_strategy(r->main[PARAM_STRATEGY].p, &r->in->strategy, r->err);
}

static bool graphml_read_model(Read *r, OnnxModel *m)
{
    int64_t version = 0;
    Str said = r->main[META_MODEL_VERSION];
    *m = (OnnxModel){ .producer = r->main[META_PRODUCER],
                      .producer_version = r->main[META_PRODUCER_VERSION],
                      .doc = r->main[META_DOC] };
    if (said.n && !str_int(said, &version))
        return fail(r->err, EF_BAD_MODEL, "model_version (meta7): wanted a number");
    m->version = version;
    if (!read_opsets(r, m) || !read_values(r, IO_IN, &m->graph.in, &m->graph.n_in) ||
        !read_values(r, IO_OUT, &m->graph.out, &m->graph.n_out) ||
        !read_values(r, IO_INFO, &m->graph.info, &m->graph.n_info))
        return false;
    m->ir_version = ir_version(m);
    m->graph.name = STR("graph");
    m->graph.n_node = (int)(r->nodes.n / sizeof(Operator));
    m->graph.node = ARRAY(r->arena, OnnxNode, m->graph.n_node + 1);
    const Operator *op = (const Operator *)(const void *)r->nodes.p;
    for (int i = 0; i < m->graph.n_node; i++)
        if (!make_node(r, &op[i], &m->graph.node[i]))
            return within(r->err, "node '%.*s'", (int)MIN(op[i].id.n, 120), op[i].id.p);
    return true;
}

/* ---- weights ---- */
static bool same_sum(Read *r, const char *found)
{
    Str wanted = r->main[PARAM_SUM];
    return !wanted.n || str_is(wanted, found) ||
           fail(r->err, EF_BAD_MODEL, "checksum of the parameters: found %s, wanted %.*s", found,
                (int)MIN(wanted.n, 72), wanted.p);
}

static bool from_json(Read *r, Str text, OnnxModel *m, const Value **order)
{
    Value v;
    if (!json_parse(r->arena, text, &v, r->err)) return within(r->err, "parameters");
    return graphml_params_read(r->arena, &v, m, order, r->err);
}

static bool from_sidecar(Read *r, Str compressed, OnnxModel *m, const Value **order)
{
    char sum[72];
    Buf text = { 0 };
    graphml_checksum(compressed, sum);
    if (!same_sum(r, sum)) return false;
    size_t most = MIN(LEAST_TEXT + TIMES_COMPRESSED * compressed.n, MOST_TEXT);
    bool ok = gzip_unpack(&text, compressed, most, r->err);
    Str kept = { 0 };
    if (ok) kept = (Str){ str_dup(r->arena, buf_view(&text)), text.n };
    buf_free(&text);
    return ok ? from_json(r, kept, m, order) : within(r->err, "parameters");
}

/* Nodes take their order and the rest from those of the same id; unknown ones are sorted. */
static bool restore_from(Read *r, const OnnxGraph *whole, OnnxGraph *g)
{
    Map at = { 0 };
    const Operator *op = (const Operator *)(const void *)r->nodes.p;
    OnnxNode *sorted = ARRAY(r->arena, OnnxNode, g->n_node + 1);
    bool *used = ARRAY(r->arena, bool, g->n_node + 1);
    int n = 0;
    for (int i = 0; i < g->n_node; i++) map_put(&at, r->arena, op[i].id, &g->node[i]);
    for (int i = 0; i < whole->n_node; i++) {
        const OnnxNode *from = &whole->node[i];
        Str id = from->name.n ? from->name : str_of(str_format(r->arena, "node_%d", i));
        OnnxNode *to = map_get(&at, id);
        if (!to || used[to - g->node]) continue;
        used[to - g->node] = true;
        to->meta = from->meta, to->n_meta = from->n_meta;
        to->doc = from->doc, to->overload = from->overload;
        sorted[n++] = *to;
    }
    if (n < g->n_node) return sort_nodes(r->arena, g, r->err);
    g->node = sorted;
    return true;
}

/* The model that is referred to has it all: its weights, and what has no key. */
static bool from_reference(Read *r, Str file, OnnxModel *m)
{
    char sum[72];
    OnnxModel whole;
    graphml_checksum(file, sum);
    if (!same_sum(r, sum) || !onnx_read(r->arena, file, &whole, r->err)) return false;
    m->graph.init = whole.graph.init, m->graph.n_init = whole.graph.n_init;
    m->graph.name = whole.graph.name, m->graph.doc = whole.graph.doc;
    m->graph.meta = whole.graph.meta, m->graph.n_meta = whole.graph.n_meta;
    m->ir_version = whole.ir_version, m->domain = whole.domain;
    m->meta = whole.meta, m->n_meta = whole.n_meta;
    m->function = whole.function, m->n_function = whole.n_function;
    return restore_from(r, &whole.graph, &m->graph);
}

static bool read_weights(Read *r, Str params, OnnxModel *m)
{
    const Value *order = NULL;
    char sum[72];
    bool ok;
    if (r->in->strategy == PARAMS_EMBEDDED) {
        ok = graphml_checksum_json(r->main[IO_WEIGHTS], sum, r->err) && same_sum(r, sum) &&
             from_json(r, r->main[IO_WEIGHTS], m, &order);
        if (!ok) within(r->err, "io3");
    } else if (!params.p) {
        ok = fail(r->err, EF_NOT_FOUND, "the file of parameters (param1) is not there");
    } else if (r->in->strategy == PARAMS_SIDECAR) {
        ok = from_sidecar(r, params, m, &order);
    } else {
        ok = from_reference(r, params, m);
    }
    r->in->parameters = m->graph.n_init;
    if (!ok || r->in->strategy == PARAMS_REFERENCE) return ok;
    return graphml_reorder(r, &m->graph, order) || sort_nodes(r->arena, &m->graph, r->err);
}

static bool check_strictly(Read *r, const OnnxModel *m)
{
    const Str *ends = (const Str *)(const void *)r->ends.p;
    if (r->keys != GRAPHML_KEYS)
        return fail(r->err, EF_BAD_MODEL, "found %d keys, wanted %d", r->keys, GRAPHML_KEYS);
    for (size_t i = 0; i < r->ends.n / sizeof *ends; i++)
        if (!map_get(&r->ids, ends[i]))
            return fail(r->err, EF_BAD_MODEL, "an edge ends at \"%.*s\", which is no node",
                        (int)MIN(ends[i].n, 120), ends[i].p);
    return onnx_check(r->arena, m, r->err);
}

typedef struct Params {     /* finds what param1 names */
    bool (*find)(void *context, Read *, Str name, Str *bytes);
    void *context;
} Params;

static bool graphml_read_all(Read *r, Str xml, const Params *params, OnnxModel *m)
{
    Str bytes = { 0 };
    if (!graphml_parse_xml(r, xml) || !graphml_read_version(r) || !graphml_read_model(r, m))
        return false;
    bool outside = r->in->strategy != PARAMS_EMBEDDED;
    if (outside && !params->find(params->context, r, r->main[PARAM_FILE], &bytes)) return false;
    if (!read_weights(r, bytes, m)) return false;
    r->in->nodes = m->graph.n_node;
    return !r->in->strict || check_strictly(r, m);
}

static bool graphml_read_with(Arena *arena, Str xml, const Params *params, GraphmlImport *in,
                              OnnxModel *m, Err *err)
{
    Read r = { .arena = arena, .in = in, .err = err, .slot = -1 };
    bool ok = graphml_read_all(&r, xml, params, m);
    buf_free(&r.text), buf_free(&r.nodes), buf_free(&r.ends);
    return ok;
}

static bool find_given(void *context, Read *r, Str name, Str *bytes)
{
    (void)r, (void)name;
    *bytes = *(const Str *)context;
    return true;
}

bool graphml_parse(Arena *arena, Str xml, Str params, GraphmlImport *in, OnnxModel *m, Err *err)
{
    Params given = { find_given, &params };
    return graphml_read_with(arena, xml, &given, in, m, err);
}

static bool graphml_find_beside(void *context, Read *r, Str name, Str *bytes)
{
    GraphmlImport *in = context;
    if (!name.n) return fail(r->err, EF_BAD_MODEL, "parameter_file (param1) is missing");
    if (!path_stays_inside(name))
        return fail(r->err, EF_BAD_MODEL, "parameter_file: found \"%.*s\", wanted a file beside",
                    (int)MIN(name.n, 120), name.p);
    const char *path = path_join(r->arena, path_dir(r->arena, in->path), name);
    if (!file_map(path, &in->reference, r->err)) return false;
    *bytes = (Str){ (const char *)in->reference.p, in->reference.n };
    return true;
}

bool graphml_read(Arena *arena, GraphmlImport *in, OnnxModel *m, Err *err)
{
    Mapping xml;
    Params beside = { graphml_find_beside, in };
    if (!file_map(in->path, &xml, err)) return false;
    bool ok = graphml_read_with(arena, (Str){ (const char *)xml.p, xml.n }, &beside, in, m, err) ||
              within(err, "%s", in->path);
    file_unmap(&xml);
    if (!ok) graphml_close(in);
    return ok;
}

void graphml_close(GraphmlImport *in)
{
    file_unmap(&in->reference);
    in->reference = (Mapping){ 0 };
}

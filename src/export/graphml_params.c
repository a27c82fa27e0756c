/* SPDX-License-Identifier: Apache-2.0
 * graphml_params.c - weights as one JSON object, piece by piece on the way out. Under "onnx" stands
 * what GraphML has no key for; other readers pass over it. */
#include "graphml.h"

#include <stdlib.h>

#include "data/base64.h"
#include "data/json.h"

enum { PIECE = 3 << 18 }; /* bytes of a tensor that are held as text at once: a multiple of 3 */

/* ---- checksums ---- */
void graphml_sum(Sha256 *sum, char out[72])
{
    uint8_t hash[32];
    sha256_end(sum, hash);
    int at = snprintf(out, 72, "sha256:");
    for (int i = 0; i < 32; i++) at += snprintf(out + at, (size_t)(72 - at), "%02x", hash[i]);
}

void graphml_checksum(Str bytes, char out[72])
{
    Sha256 s;
    sha256_start(&s);
    sha256_add(&s, bytes.p, bytes.n);
    graphml_sum(&s, out);
}

static int graphml_params_by_key(const void *a, const void *b)
{
    const Member *x = a, *y = b;
    return str_cmp(&x->key, &y->key);
}

/* A JSON string with everything beyond ASCII escaped. */
static void put_ascii(Buf *b, Str s)
{
    Buf text = { 0 };
    json_write_string(&text, s);
    for (size_t i = 0; i < text.n;) {
        uint32_t c = (unsigned char)text.p[i];
        int used = c < 0x80 ? 1 : utf8_decode(text.p + i, text.p + text.n, &c);
        if (c > 0xFFFF)
            buf_printf(b, "\\u%04x\\u%04x", 0xD800 + ((c - 0x10000) >> 10), 0xDC00 + (c & 0x3FF));
        else if (c > '~') buf_printf(b, "\\u%04x", c);
        else buf_char(b, (char)c);
        i += (size_t)MAX(used, 1);
    }
    buf_free(&text);
}

static void graphml_params_put_sorted(Arena *arena, Buf *b, const Value *v)
{
    if (v->kind == V_STR) return put_ascii(b, v->s);
    if (v->kind != V_LIST && v->kind != V_MAP) return json_write(b, v);
    bool map = v->kind == V_MAP;
    size_t n = map ? v->map.n : v->list.n;
    Member *sorted = map ? ARRAY(arena, Member, n + 1) : NULL;
    if (map && n) memcpy(sorted, v->map.items, sizeof *sorted * n);
    if (map) qsort(sorted, n, sizeof *sorted, graphml_params_by_key);
    buf_char(b, map ? '{' : '[');
    for (size_t i = 0; i < n; i++) {
        if (i) buf_puts(b, ", ");
        if (map) put_ascii(b, sorted[i].key), buf_puts(b, ": ");
        graphml_params_put_sorted(arena, b, map ? &sorted[i].value : &v->list.items[i]);
    }
    buf_char(b, map ? '}' : ']');
}

bool graphml_checksum_json(Str text, char out[72], Err *err)
{
    Arena arena = { 0 };
    Value v;
    Buf b = { 0 };
    bool ok = json_parse(&arena, text, &v, err);
    if (ok) graphml_params_put_sorted(&arena, &b, &v), graphml_checksum(buf_view(&b), out);
    buf_free(&b);
    arena_free(&arena);
    return ok;
}

/* ---- out ---- */
typedef struct ParamsWriter {
    const GraphmlSink *to;
    Buf text;
    Err *err;
} ParamsWriter;

static bool graphml_params_flush(ParamsWriter *w)
{
    bool ok = w->to->put(w->to->context, buf_view(&w->text), w->err);
    w->text.n = 0;
    return ok;
}

static void graphml_params_put_pairs(Buf *b, const OnnxPair *pair, int n)
{
    buf_char(b, '[');
    for (int i = 0; i < n; i++) {
        buf_puts(b, i ? ",[" : "[");
        json_write_string(b, pair[i].key);
        buf_char(b, ',');
        json_write_string(b, pair[i].value);
        buf_char(b, ']');
    }
    buf_char(b, ']');
}

static void put_member(Buf *b, const char *key, Str text)
{
    if (!text.n) return;
    buf_printf(b, ",\"%s\":", key);
    json_write_string(b, text);
}

static void graphml_params_put_node(Buf *b, const OnnxNode *n, Str id)
{
    buf_puts(b, "{\"id\":");
    json_write_string(b, id);
    put_member(b, "doc_string", n->doc);
    put_member(b, "overload", n->overload);
    if (n->n_meta)
        buf_puts(b, ",\"metadata_props\":"), graphml_params_put_pairs(b, n->meta, n->n_meta);
    buf_char(b, '}');
}

static void put_functions(Buf *b, const OnnxModel *m)
{
    Buf bytes = { 0 };
    onnx_write_functions(&bytes, m);
    buf_puts(b, ",\"functions_b64\":\"");
    base64_write(b, buf_view(&bytes));
    buf_char(b, '"');
    buf_free(&bytes);
}

static bool put_extras(ParamsWriter *w, const OnnxModel *m, const Str *ids)
{
    Buf *b = &w->text;
    buf_printf(b, "\"onnx\":{\"ir_version\":%lld", (long long)m->ir_version);
    put_member(b, "graph_name", m->graph.name);
    put_member(b, "graph_doc_string", m->graph.doc);
    put_member(b, "domain", m->domain);
    if (m->n_meta)
        buf_puts(b, ",\"metadata_props\":"), graphml_params_put_pairs(b, m->meta, m->n_meta);
    if (m->graph.n_meta)
        buf_puts(b, ",\"graph_metadata_props\":"),
            graphml_params_put_pairs(b, m->graph.meta, m->graph.n_meta);
    if (m->n_function) put_functions(b, m);
    buf_puts(b, ",\"nodes\":[");
    for (int i = 0; i < m->graph.n_node; i++) {
        if (i) buf_char(b, ',');
        graphml_params_put_node(b, &m->graph.node[i], ids[i]);
        if (b->n > PIECE && !graphml_params_flush(w)) return false;
    }
    buf_puts(b, "]},");
    return true;
}

static bool put_parameter(ParamsWriter *w, const OnnxTensor *t)
{
    const char *data = t->t.data;
    size_t bytes = tensor_bytes(&t->t);
    Buf *b = &w->text;
    json_write_string(b, t->name);
    buf_puts(b, ":{\"data\":\"");
    for (size_t at = 0; at < bytes; at += PIECE) {
        base64_write(b, (Str){ data + at, MIN(bytes - at, (size_t)PIECE) });
        if (b->n > PIECE && !graphml_params_flush(w)) return false;
    }
    buf_puts(b, "\",\"dtype\":\"");
    buf_printf(b, "%s\",\"shape\":[", graphml_type(t->t.type));
    for (int i = 0; i < t->t.rank; i++)
        buf_printf(b, "%s%lld", i ? "," : "", (long long)t->t.dim[i]);
    buf_printf(b, "],\"size_bytes\":%zu}", bytes);
    return true;
}

static bool put_all(ParamsWriter *w, const OnnxModel *m, const Str *ids)
{
    uint64_t total = 0;
    for (int i = 0; i < m->graph.n_init; i++) total += tensor_bytes(&m->graph.init[i].t);
    buf_puts(&w->text, "{\"format_version\":\"1.3\",");
    if (!put_extras(w, m, ids)) return false;
    buf_printf(&w->text, "\"parameter_count\":%d,\"parameters\":{", m->graph.n_init);
    for (int i = 0; i < m->graph.n_init; i++) {
        if (i) buf_char(&w->text, ',');
        if (!put_parameter(w, &m->graph.init[i])) return false;
    }
    buf_printf(&w->text, "},\"total_size_bytes\":%llu}", (unsigned long long)total);
    return graphml_params_flush(w);
}

bool graphml_params_write(const GraphmlSink *to, const OnnxModel *m, const Str *ids, Err *err)
{
    ParamsWriter w = { to, { 0 }, err };
    bool ok = put_all(&w, m, ids);
    buf_free(&w.text);
    return ok;
}

/* ---- in ---- */
static bool read_pairs(Arena *arena, const Value *list, OnnxPair **out, int *n, Err *err)
{
    if (!list) return true;
    if (list->kind != V_LIST || list->list.n > 1 << 20)
        return fail(err, EF_BAD_MODEL, "metadata_props: wanted a list of pairs");
    *out = ARRAY(arena, OnnxPair, list->list.n + 1);
    for (size_t i = 0; i < list->list.n; i++) {
        const Value *pair = &list->list.items[i];
        if (pair->kind != V_LIST || pair->list.n != 2)
            return fail(err, EF_BAD_MODEL, "metadata_props: wanted a list of pairs");
        (*out)[(*n)++] = (OnnxPair){ value_str(&pair->list.items[0], (Str){ 0 }),
                                     value_str(&pair->list.items[1], (Str){ 0 }) };
    }
    return true;
}

static bool read_extras(Arena *arena, const Value *v, OnnxModel *m, const Value **order, Err *err)
{
    Str bytes;
    const Value *functions = value_get(v, "functions_b64");
    m->ir_version = value_int(value_get(v, "ir_version"), m->ir_version);
    m->graph.name = value_str(value_get(v, "graph_name"), (Str){ 0 });
    m->graph.doc = value_str(value_get(v, "graph_doc_string"), (Str){ 0 });
    m->domain = value_str(value_get(v, "domain"), (Str){ 0 });
    *order = value_get(v, "nodes");
    if (!read_pairs(arena, value_get(v, "metadata_props"), &m->meta, &m->n_meta, err) ||
        !read_pairs(arena, value_get(v, "graph_metadata_props"), &m->graph.meta, &m->graph.n_meta,
                    err))
        return false;
    if (!functions) return true;
    if (functions->kind != V_STR || !base64_read(arena, functions->s, &bytes))
        return fail(err, EF_BAD_MODEL, "functions_b64: wanted base64");
    return onnx_read_functions(arena, bytes, m, err);
}

static bool graphml_params_read_shape(const Value *list, Tensor *t, Err *err)
{
    if (!list || list->kind != V_LIST || list->list.n > MAX_RANK)
        return fail(err, EF_BAD_MODEL, "shape: wanted a list of at most %d numbers", MAX_RANK);
    t->rank = (int)list->list.n;
    for (int i = 0; i < t->rank; i++) {
        t->dim[i] = value_int(&list->list.items[i], -1);
        if (t->dim[i] < 0) return fail(err, EF_BAD_MODEL, "shape: wanted numbers from 0 on");
    }
    return tensor_sane(t, err);
}

static bool read_parameter(Arena *arena, const Member *from, OnnxTensor *t, Err *err)
{
    Str data = value_str(value_get(&from->value, "data"), (Str){ 0 }), bytes;
    Str type = value_str(value_get(&from->value, "dtype"), (Str){ 0 });
    *t = (OnnxTensor){ .name = from->key };
    t->t.type = graphml_type_named(type);
    if (!dtype_size(t->t.type))
        return fail(err, EF_UNSUPPORTED, "dtype: found \"%.*s\", wanted a number type",
                    (int)MIN(type.n, 40), type.p);
    if (!graphml_params_read_shape(value_get(&from->value, "shape"), &t->t, err)) return false;
    if (!base64_read(arena, data, &bytes)) return fail(err, EF_BAD_MODEL, "data: wanted base64");
    if (bytes.n != tensor_bytes(&t->t))
        return fail(err, EF_BAD_MODEL, "data: found %zu bytes, wanted %zu", bytes.n,
                    tensor_bytes(&t->t));
    t->t.data = (void *)(uintptr_t)bytes.p;
    return true;
}

bool graphml_params_read(Arena *arena, const Value *v, OnnxModel *m, const Value **order, Err *err)
{
    const Value *extras = value_get(v, "onnx"), *list = value_get(v, "parameters");
    if (extras && !read_extras(arena, extras, m, order, err)) return within(err, "parameters");
    if (!list || list->kind != V_MAP || list->map.n > 1 << 24)
        return fail(err, EF_BAD_MODEL, "parameters: wanted an object of names");
    m->graph.init = ARRAY(arena, OnnxTensor, list->map.n + 1);
    for (size_t i = 0; i < list->map.n; i++) {
        Str name = list->map.items[i].key;
        if (!read_parameter(arena, &list->map.items[i], &m->graph.init[i], err))
            return within(err, "parameter '%.*s'", (int)MIN(name.n, 120), name.p);
    }
    m->graph.n_init = (int)list->map.n;
    return true;
}

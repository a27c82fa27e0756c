/* SPDX-License-Identifier: Apache-2.0
 * graphml_json.c - attributes and value descriptions as JSON. A number with a point is a float, one
 * without an int; what JSON cannot say (no finite number, an empty list, bytes that are no text, a
 * graph) is an object that names its type. */
#include "graphml.h"

#include <math.h>

#include "data/base64.h"
#include "data/json.h"
#include "data/number.h"

/* ---- types ---- */
static const char *const type_names[T_COUNT] = {
    [T_F32] = "float32", [T_U8] = "uint8", [T_I8] = "int8", [T_U16] = "uint16", [T_I16] = "int16",
    [T_I32] = "int32", [T_I64] = "int64", [T_STR] = "string", [T_BOOL] = "bool",
    [T_F16] = "float16", [T_F64] = "float64", [T_U32] = "uint32", [T_U64] = "uint64",
    [T_BF16] = "bfloat16",
};

const char *graphml_type(DType type)
{
    return type > T_NONE && type < T_COUNT && type_names[type] ? type_names[type] : "";
}

DType graphml_type_named(Str name)
{
    for (int i = 1; i < T_COUNT; i++)
        if (type_names[i] && str_is(name, type_names[i])) return (DType)i;
    return T_NONE;
}

/* ---- attributes to JSON ---- */
static void put_base64(Buf *b, Str bytes)
{
    buf_char(b, '"');
    base64_write(b, bytes);
    buf_char(b, '"');
}

static void put_typed(Buf *b, const char *type, Str bytes)
{
    buf_printf(b, "{\"attr_type\":\"%s\",\"data_b64\":", type);
    put_base64(b, bytes);
    buf_char(b, '}');
}

/* Reads back as the same bits: finite, and not in the gap between the roundings to float and to
 * double. */
static bool plain_float(float f)
{
    return isfinite(f) && (float)number_widen(f) == f;
}

static void put_float(Buf *b, float f)
{
    if (plain_float(f)) json_write_f32(b, f);
    else put_typed(b, "float", (Str){ (const char *)&f, sizeof f });
}

static void graphml_json_put_floats(Buf *b, const OnnxAttr *a)
{
    bool plain = a->n > 0;
    for (size_t i = 0; i < a->n; i++) plain = plain && plain_float(a->floats[i]);
    Str bytes = { (const char *)a->floats, a->n * sizeof(float) };
    if (!plain) return put_typed(b, "floats", bytes);
    for (size_t i = 0; i < a->n; i++) {
        buf_char(b, i ? ',' : '[');
        json_write_f32(b, a->floats[i]);
    }
    buf_char(b, ']');
}

static void graphml_json_put_ints(Buf *b, const OnnxAttr *a)
{
    if (!a->n) return put_typed(b, "ints", (Str){ 0 });
    for (size_t i = 0; i < a->n; i++)
        buf_printf(b, "%c%lld", i ? ',' : '[', (long long)a->ints[i]);
    buf_char(b, ']');
}

static void put_string(Buf *b, Str s)
{
    if (utf8_valid(s)) json_write_string(b, s);
    else put_typed(b, "string", s);
}

static void put_strings(Buf *b, const OnnxAttr *a)
{
    if (!a->n) return put_typed(b, "strings", (Str){ 0 });
    for (size_t i = 0; i < a->n; i++) {
        buf_char(b, i ? ',' : '[');
        put_string(b, a->strings[i]);
    }
    buf_char(b, ']');
}

static void graphml_json_put_tensor(Buf *b, const OnnxTensor *t)
{
    buf_puts(b, "{\"tensor_type\":\"onnx_tensor\",\"name\":");
    json_write_string(b, t->name);
    buf_printf(b, ",\"data_type\":%d,\"dims\":[", (int)t->t.type);
    for (int i = 0; i < t->t.rank; i++)
        buf_printf(b, "%s%lld", i ? "," : "", (long long)t->t.dim[i]);
    buf_puts(b, "],\"data_b64\":");
    put_base64(b, (Str){ t->t.data, t->t.data ? tensor_bytes(&t->t) : 0 });
    buf_printf(b, ",\"numpy_dtype\":\"%s\"}", graphml_type(t->t.type));
}

static void put_graphs(Buf *b, const OnnxAttr *a)
{
    Buf bytes = { 0 };
    buf_printf(b, "{\"attr_type\":\"%s\",\"graphs_b64\":[",
               a->type == A_GRAPH ? "graph" : "graphs");
    for (size_t i = 0; i < a->n; i++, bytes.n = 0) {
        if (i) buf_char(b, ',');
        onnx_write_graph(&bytes, &a->g[i]);
        put_base64(b, buf_view(&bytes));
    }
    buf_puts(b, "]}");
    buf_free(&bytes);
}

static bool put_attr(Buf *b, const OnnxAttr *a, Err *err)
{
    switch (a->type) {
    case A_FLOAT: put_float(b, a->f); break;
    case A_INT: buf_printf(b, "%lld", (long long)a->i); break;
    case A_STRING: put_string(b, a->s); break;
    case A_TENSOR: graphml_json_put_tensor(b, a->t); break;
    case A_FLOATS: graphml_json_put_floats(b, a); break;
    case A_INTS: graphml_json_put_ints(b, a); break;
    case A_STRINGS: put_strings(b, a); break;
    case A_GRAPH:
    case A_GRAPHS: put_graphs(b, a); break;
    case A_TENSORS:
        buf_puts(b, "{\"attr_type\":\"tensors\",\"values\":[");
        for (size_t i = 0; i < a->n; i++) {
            if (i) buf_char(b, ',');
            graphml_json_put_tensor(b, &a->t[i]);
        }
        buf_puts(b, "]}");
        break;
    case A_NONE:
        return fail(err, EF_UNSUPPORTED, "attribute '%.*s': its type has no form in GraphML",
                    (int)MIN(a->name.n, 60), a->name.p);
    }
    return true;
}

bool graphml_attrs(Buf *b, const OnnxNode *n, Err *err)
{
    buf_char(b, '{');
    for (int i = 0; i < n->n_attr; i++) {
        if (!utf8_valid(n->attr[i].name))
            return fail(err, EF_UNSUPPORTED, "found a name of an attribute that is no UTF-8");
        if (i) buf_char(b, ',');
        json_write_string(b, n->attr[i].name);
        buf_char(b, ':');
        if (!put_attr(b, &n->attr[i], err)) return false;
    }
    buf_char(b, '}');
    return true;
}

/* ---- attributes from JSON ---- */
static bool bytes_of(Arena *arena, const Value *v, const char *key, Str *bytes, Err *err)
{
    const Value *text = value_get(v, key);
    if (text && text->kind == V_STR && base64_read(arena, text->s, bytes)) return true;
    return fail(err, EF_BAD_MODEL, "%s: wanted base64", key);
}

static bool graphml_json_read_dims(const Value *list, Tensor *t, Err *err)
{
    if (!list || list->kind != V_LIST || list->list.n > MAX_RANK)
        return fail(err, EF_BAD_MODEL, "dims: wanted a list of at most %d numbers", MAX_RANK);
    t->rank = (int)list->list.n;
    for (int i = 0; i < t->rank; i++) {
        t->dim[i] = value_int(&list->list.items[i], -1);
        if (t->dim[i] < 0) return fail(err, EF_BAD_MODEL, "dims: wanted numbers from 0 on");
    }
    return tensor_sane(t, err);
}

static bool graphml_json_read_tensor(Arena *arena, const Value *v, OnnxTensor *t, Err *err)
{
    Str bytes;
    int64_t type = value_int(value_get(v, "data_type"), 0);
    *t = (OnnxTensor){ .name = value_str(value_get(v, "name"), (Str){ 0 }) };
    t->t.type = type > 0 && type < T_COUNT ? (DType)type : T_NONE;
    if (!dtype_size(t->t.type))
        return fail(err, EF_UNSUPPORTED, "data_type: found %lld, wanted a number type",
                    (long long)type);
    if (!graphml_json_read_dims(value_get(v, "dims"), &t->t, err)) return false;
    if (!bytes_of(arena, v, "data_b64", &bytes, err)) return false;
    if (bytes.n != tensor_bytes(&t->t))
        return fail(err, EF_BAD_MODEL, "tensor: found %zu bytes, wanted %zu", bytes.n,
                    tensor_bytes(&t->t));
    t->t.data = (void *)(uintptr_t)bytes.p;
    return true;
}

static bool read_tensors(Arena *arena, const Value *list, OnnxAttr *a, Err *err)
{
    if (!list || list->kind != V_LIST) return fail(err, EF_BAD_MODEL, "values: wanted a list");
    a->n = list->list.n;
    a->t = ARRAY(arena, OnnxTensor, a->n + 1);
    for (size_t i = 0; i < a->n; i++)
        if (!graphml_json_read_tensor(arena, &list->list.items[i], &a->t[i], err)) return false;
    return true;
}

static bool graphml_json_read_graphs(Arena *arena, const Value *list, OnnxAttr *a, Err *err)
{
    Str bytes;
    if (!list || list->kind != V_LIST) return fail(err, EF_BAD_MODEL, "graphs_b64: wanted a list");
    a->n = list->list.n;
    a->g = ARRAY(arena, OnnxGraph, a->n + 1);
    for (size_t i = 0; i < a->n; i++) {
        const Value *text = &list->list.items[i];
        if (text->kind != V_STR || !base64_read(arena, text->s, &bytes))
            return fail(err, EF_BAD_MODEL, "graphs_b64: wanted base64");
        if (!onnx_read_graph(arena, bytes, &a->g[i], err)) return false;
    }
    return a->type == A_GRAPHS || a->n == 1 || fail(err, EF_BAD_MODEL, "graph: wanted one");
}

/* [{...}, "text"]: text, or an object around bytes. */
static bool graphml_json_read_strings(Arena *arena, const Value *v, OnnxAttr *a, Err *err)
{
    a->type = A_STRINGS, a->n = v->list.n;
    a->strings = ARRAY(arena, Str, a->n + 1);
    for (size_t i = 0; i < a->n; i++) {
        const Value *one = &v->list.items[i];
        if (one->kind == V_STR) a->strings[i] = one->s;
        else if (!bytes_of(arena, one, "data_b64", &a->strings[i], err)) return false;
    }
    return true;
}

static bool graphml_json_read_numbers(Arena *arena, const Value *v, OnnxAttr *a, Err *err)
{
    bool whole = true;
    for (size_t i = 0; i < v->list.n; i++) {
        ValueKind kind = v->list.items[i].kind;
        whole = whole && kind == V_INT;
        if (kind != V_INT && kind != V_FLOAT)
            return fail(err, EF_BAD_MODEL, "found %s in a list, wanted numbers or strings",
                        value_kind_name(kind));
    }
    a->type = whole ? A_INTS : A_FLOATS, a->n = v->list.n;
    a->ints = whole ? ARRAY(arena, int64_t, a->n + 1) : NULL;
    a->floats = whole ? NULL : ARRAY(arena, float, a->n + 1);
    for (size_t i = 0; i < a->n; i++) {
        if (whole) a->ints[i] = v->list.items[i].i;
        else a->floats[i] = (float)value_float(&v->list.items[i], 0);
    }
    return true;
}

static bool graphml_json_read_list(Arena *arena, const Value *v, OnnxAttr *a, Err *err)
{
    ValueKind first = v->list.n ? v->list.items[0].kind : V_INT;
    bool text = first == V_STR || first == V_MAP;
    return text ? graphml_json_read_strings(arena, v, a, err)
                : graphml_json_read_numbers(arena, v, a, err);
}

static bool read_bytes(Arena *arena, const Value *v, OnnxAttr *a, Err *err)
{
    Str bytes;
    if (!bytes_of(arena, v, "data_b64", &bytes, err)) return false;
    size_t size = a->type == A_FLOATS || a->type == A_FLOAT ? sizeof(float) : sizeof(int64_t);
    if (a->type == A_STRING) return a->s = bytes, true;
    a->n = bytes.n / size;
    if (bytes.n % size || (a->type == A_FLOAT && a->n != 1) || (a->type == A_STRINGS && bytes.n))
        return fail(err, EF_BAD_MODEL, "data_b64: found %zu bytes", bytes.n);
    if (a->type == A_FLOAT) memcpy(&a->f, bytes.p, sizeof a->f);
    void *copy = memcpy(arena_alloc(arena, bytes.n + 1), bytes.p, bytes.n);
    if (a->type == A_FLOATS) a->floats = copy;
    if (a->type == A_INTS) a->ints = copy;
    return true;
}

static bool graphml_json_read_object(Arena *arena, const Value *v, OnnxAttr *a, Err *err)
{
    static const struct { const char *name; AttrType type; } kinds[] = {
        { "float", A_FLOAT }, { "floats", A_FLOATS }, { "ints", A_INTS }, { "string", A_STRING },
        { "strings", A_STRINGS }, { "tensors", A_TENSORS }, { "graph", A_GRAPH },
        { "graphs", A_GRAPHS },
    };
    if (value_get(v, "tensor_type")) {
        a->type = A_TENSOR, a->n = 1, a->t = NEW(arena, OnnxTensor);
        return graphml_json_read_tensor(arena, v, a->t, err);
    }
    Str name = value_str(value_get(v, "attr_type"), (Str){ 0 });
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (str_is(name, kinds[i].name)) a->type = kinds[i].type;
    if (a->type == A_NONE)
        return fail(err, EF_BAD_MODEL, "attr_type: found \"%.*s\"", (int)MIN(name.n, 40), name.p);
    if (a->type == A_TENSORS) return read_tensors(arena, value_get(v, "values"), a, err);
    if (a->type == A_GRAPH || a->type == A_GRAPHS)
        return graphml_json_read_graphs(arena, value_get(v, "graphs_b64"), a, err);
    return read_bytes(arena, v, a, err);
}

static bool read_attr(Arena *arena, const Value *v, OnnxAttr *a, Err *err)
{
    switch (v->kind) {
    case V_INT: a->type = A_INT, a->i = v->i; return true;
    case V_FLOAT: a->type = A_FLOAT, a->f = (float)v->f; return true;
    case V_BOOL: a->type = A_INT, a->i = v->b; return true;
    case V_STR: a->type = A_STRING, a->s = v->s; return true;
    case V_LIST: return graphml_json_read_list(arena, v, a, err);
    case V_MAP: return graphml_json_read_object(arena, v, a, err);
    default: return fail(err, EF_BAD_MODEL, "found %s", value_kind_name(v->kind));
    }
}

/* Attributes that the Python exporter of the tags adds, which are none of the operator's. */
static bool is_custom(Str name)
{
    static const char *const names[] = { HTP_TAG, "module_type", "execution_order", "scope",
                                         "traced_tag", "class_name" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_is(name, names[i])) return true;
    return false;
}

bool graphml_attrs_read(Arena *arena, const Value *v, OnnxNode *n, Err *err)
{
    if (v->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "onnx_attributes: found %s, wanted an object",
                    value_kind_name(v->kind));
    n->attr = ARRAY(arena, OnnxAttr, v->map.n + 1);
    for (size_t i = 0; i < v->map.n; i++) {
        Str name = v->map.items[i].key;
        if (is_custom(name)) continue;
        OnnxAttr *a = &n->attr[n->n_attr++];
        *a = (OnnxAttr){ .name = name };
        if (!read_attr(arena, &v->map.items[i].value, a, err))
            return within(err, "attribute '%.*s'", (int)MIN(name.n, 60), name.p);
    }
    return true;
}

/* ---- values ---- */
void graphml_shape(Buf *b, const OnnxValue *v)
{
    if (v->rank < 0) return buf_puts(b, "null");
    buf_char(b, '[');
    for (int i = 0; i < v->rank; i++) {
        if (i) buf_char(b, ',');
        if (v->dim[i] != DIM_UNKNOWN) buf_printf(b, "%lld", (long long)v->dim[i]);
        else if (v->symbol[i].n) json_write_string(b, v->symbol[i]);
        else buf_puts(b, "-1");
    }
    buf_char(b, ']');
}

void graphml_values(Buf *b, const OnnxValue *v, int n)
{
    buf_char(b, '[');
    for (int i = 0; i < n; i++) {
        buf_puts(b, i ? ",{\"name\":" : "{\"name\":");
        json_write_string(b, v[i].name);
        buf_printf(b, ",\"type\":\"%s\",\"shape\":", graphml_type(v[i].type));
        graphml_shape(b, &v[i]);
        buf_char(b, '}');
    }
    buf_char(b, ']');
}

static bool graphml_json_read_shape(const Value *list, OnnxValue *v, Err *err)
{
    v->rank = -1;
    if (!list || list->kind == V_NULL) return true;
    if (list->kind != V_LIST || list->list.n > MAX_RANK)
        return fail(err, EF_BAD_MODEL, "shape: wanted a list of at most %d dims", MAX_RANK);
    v->rank = (int)list->list.n;
    for (int i = 0; i < v->rank; i++) {
        const Value *dim = &list->list.items[i];
        v->dim[i] = value_int(dim, DIM_UNKNOWN);
        if (v->dim[i] < 0) v->dim[i] = DIM_UNKNOWN;
        v->symbol[i] = value_str(dim, (Str){ 0 });
    }
    return true;
}

bool graphml_values_read(Arena *arena, const Value *v, OnnxValue **out, int *n, Err *err)
{
    enum { MOST = 1 << 24 };
    if (v->kind != V_LIST || v->list.n > MOST)
        return fail(err, EF_BAD_MODEL, "found %s, wanted a list", value_kind_name(v->kind));
    *n = (int)v->list.n;
    *out = ARRAY(arena, OnnxValue, v->list.n + 1);
    for (size_t i = 0; i < v->list.n; i++) {
        const Value *one = &v->list.items[i];
        OnnxValue *to = &(*out)[i];
        to->name = value_str(value_get(one, "name"), (Str){ 0 });
        to->type = graphml_type_named(value_str(value_get(one, "type"), (Str){ 0 }));
        if (!graphml_json_read_shape(value_get(one, "shape"), to, err)) return false;
    }
    return true;
}

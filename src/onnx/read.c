/* SPDX-License-Identifier: Apache-2.0
 * read.c - ModelProto bytes to structs. Each message is walked twice: once to count what
 * repeats, once to fill arrays of exactly that size. Names and raw weights stay views into the
 * file; typed fields (float_data ...) are unpacked into the arena. Files are untrusted: every
 * length was checked by the wire reader, every count is bounded by the bytes that carry it,
 * nesting by GRAPH_DEPTH. */
#include "base/file.h"
#include "schema.h"

enum { GRAPH_DEPTH = 16, MAX_RECORDS = 1 << 24 };
static const size_t ARRAY_LIMIT = (size_t)1 << 34; /* bytes of one array */

/* ---- messages that are rows ---- */

static const WireType wire_of[] = {
    [FIELD_STR] = WIRE_BYTES,     [FIELD_DOMAIN] = WIRE_BYTES, [FIELD_INT] = WIRE_VARINT,
    [FIELD_STRS] = WIRE_BYTES,    [FIELD_MSG] = WIRE_BYTES,    [FIELD_MSGS] = WIRE_BYTES,
    [FIELD_REFUSED] = WIRE_BYTES,
};

static bool onnx_want_type(const Wire *w, WireType type, Err *err)
{
    if (w->type == type) return true;
    return fail(err, EF_BAD_MODEL, "field %d: found wire type %d, wanted %d", w->field,
                (int)w->type, (int)type);
}

static const OnnxField *field_row(const OnnxMessage *m, int number)
{
    for (const OnnxField *f = m->fields; f->number; f++)
        if (f->number == number) return f;
    return NULL;
}

static size_t element_size(const OnnxField *f)
{
    return f->kind == FIELD_STRS ? sizeof(Str) : f->of->size;
}

static bool field_repeats(const OnnxField *f)
{
    return f->kind == FIELD_STRS || f->kind == FIELD_MSGS;
}

/* Zeroed memory for n things found in the file, or NULL. */
static void *onnx_take(OnnxReader *r, size_t n, size_t size)
{
    void *p = arena_try(r->arena, MAX(n, 1), size, ARRAY_LIMIT, r->err);
    return p ? memset(p, 0, MAX(n, 1) * size) : NULL;
}

static bool count_fields(OnnxReader *r, const OnnxMessage *m, Str bytes, char *into)
{
    Wire w = wire_over(bytes);
    r->err->code = EF_OK;
    while (wire_next(&w, r->err)) {
        const OnnxField *f = field_row(m, w.field);
        if (!f || !field_repeats(f)) continue;
        int *n = (int *)(into + f->count);
        if (++*n > MAX_RECORDS)
            return fail(r->err, EF_TOO_LARGE, "found more than %d records of field %d", MAX_RECORDS,
                        f->number);
    }
    return r->err->code == EF_OK;
}

static bool make_arrays(OnnxReader *r, const OnnxMessage *m, char *into)
{
    for (const OnnxField *f = m->fields; f->number; f++) {
        if (!field_repeats(f)) continue;
        int *n = (int *)(into + f->count);
        void *array = *n ? onnx_take(r, (size_t)*n, element_size(f)) : NULL;
        if (*n && !array) return false;
        memcpy(into + f->at, &array, sizeof array);
        *n = 0; /* counts again while filling */
    }
    return true;
}

static bool fill_field(OnnxReader *r, const OnnxField *f, const Wire *w, char *into)
{
    char *at = into + f->at;
    int index = 0;
    if (field_repeats(f)) {
        int *n = (int *)(into + f->count);
        char *array;
        memcpy(&array, at, sizeof array);
        index = (*n)++;
        at = array + (size_t)index * element_size(f);
    }
    switch (f->kind) {
    case FIELD_STR:
    case FIELD_STRS: *(Str *)at = w->bytes; break;
    case FIELD_DOMAIN: *(Str *)at = str_is(w->bytes, "ai.onnx") ? (Str){ 0 } : w->bytes; break;
    case FIELD_INT: *(int64_t *)at = (int64_t)w->number; break;
    case FIELD_MSG: memset(at, 0, f->of->size); /* fall through */
    case FIELD_MSGS:
        if (message_read(r, f->of, w->bytes, at)) break;
        return within(r->err, "%s %d", f->of->name, index);
    case FIELD_REFUSED:
        return fail(r->err, EF_UNSUPPORTED, "found %s, wanted dense tensors only", f->of->name);
    }
    return true;
}

bool message_read(OnnxReader *r, const OnnxMessage *m, Str bytes, void *into)
{
    if (!m->fields) return m->read(r, bytes, into);
    if (!count_fields(r, m, bytes, into) || !make_arrays(r, m, into)) return false;
    Wire w = wire_over(bytes);
    r->err->code = EF_OK;
    while (wire_next(&w, r->err)) {
        const OnnxField *f = field_row(m, w.field);
        if (!f) continue;
        if (!onnx_want_type(&w, wire_of[f->kind], r->err) || !fill_field(r, f, &w, into))
            return false;
    }
    return r->err->code == EF_OK;
}

/* ---- repeated numbers, packed or one by one ---- */

typedef struct Numbers {
    int field, width;       /* width in the file: 0 varint, 4 or 8 bytes */
    size_t size;            /* bytes kept of each: low ones, so negative varints narrow rightly */
} Numbers;

static size_t numbers_in(const Wire *w, int width)
{
    if (w->type != WIRE_BYTES) return 1;
    if (width) return w->bytes.n / (size_t)width;
    size_t n = 0;
    for (size_t i = 0; i < w->bytes.n; i++) n += (w->bytes.p[i] & 0x80) == 0;
    return n;
}

static bool packed_numbers(OnnxReader *r, const Numbers *k, const Wire *w, char *out)
{
    Wire inside = wire_over(w->bytes);
    if (k->width && w->bytes.n % (size_t)k->width)
        return fail(r->err, EF_BAD_MODEL, "field %d: found %zu bytes, wanted a multiple of %d",
                    k->field, w->bytes.n, k->width);
    for (uint64_t number = 0; inside.p < inside.end; out += k->size) {
        if (k->width) {
            memcpy(&number, inside.p, (size_t)k->width);
            inside.p += k->width;
        } else if (!wire_varint(&inside, &number)) {
            return fail(r->err, EF_BAD_MODEL, "field %d: found a broken varint", k->field);
        }
        memcpy(out, &number, k->size);
    }
    return true;
}

static bool onnx_read_numbers(OnnxReader *r, Str bytes, const Numbers *k, void **out, size_t *count)
{
    Wire w = wire_over(bytes);
    size_t n = 0;
    r->err->code = EF_OK;
    while (wire_next(&w, r->err))
        if (w.field == k->field) n += numbers_in(&w, k->width);
    if (r->err->code != EF_OK) return false;
    char *at = onnx_take(r, n, k->size);
    if (!at) return false;
    *out = at;
    *count = n;
    const WireType single = k->width == 4 ? WIRE_32 : k->width == 8 ? WIRE_64 : WIRE_VARINT;
    for (w = wire_over(bytes); wire_next(&w, r->err);) {
        if (w.field != k->field) continue;
        if (w.type == WIRE_BYTES) {
            if (!packed_numbers(r, k, &w, at)) return false;
        } else {
            if (!onnx_want_type(&w, single, r->err)) return false;
            memcpy(at, &w.number, k->size);
        }
        at += numbers_in(&w, k->width) * k->size;
    }
    return r->err->code == EF_OK;
}

/* ---- tensors ---- */

enum {
    TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_SEGMENT = 3, TENSOR_NAME = 8, TENSOR_RAW = 9,
    TENSOR_EXTERNAL = 13, TENSOR_LOCATION = 14
};

/* Which typed field holds a type when raw_data does not. */
static const Numbers typed[T_COUNT] = {
    [T_F32] = { 4, 4, 4 },  [T_I32] = { 5, 0, 4 },  [T_I16] = { 5, 0, 2 }, [T_I8] = { 5, 0, 1 },
    [T_U16] = { 5, 0, 2 },  [T_U8] = { 5, 0, 1 },   [T_BOOL] = { 5, 0, 1 }, [T_F16] = { 5, 0, 2 },
    [T_BF16] = { 5, 0, 2 }, [T_I64] = { 7, 0, 8 },  [T_F64] = { 10, 8, 8 }, [T_U32] = { 11, 0, 4 },
    [T_U64] = { 11, 0, 8 },
};

static bool read_external(OnnxReader *r, Str bytes, OnnxTensor *t)
{
    Wire w = wire_over(bytes);
    Str key = { 0 }, value = { 0 };
    int64_t n = 0;
    r->err->code = EF_OK;
    while (wire_next(&w, r->err)) {
        if (w.field == 1) key = w.bytes;
        if (w.field == 2) value = w.bytes;
    }
    if (r->err->code != EF_OK) return false;
    if (str_is(key, "location")) {
        t->location = value;
        return true;
    }
    bool offset = str_is(key, "offset");
    if (!offset && !str_is(key, "length")) return true;
    if (!str_int(value, &n) || n < 0)
        return fail(r->err, EF_BAD_MODEL,
                    "external data: found %.*s '%.*s', wanted a count of bytes", STR_ARG(key),
                    (int)MIN(value.n, 40), value.p);
    *(offset ? &t->offset : &t->length) = (uint64_t)n;
    return true;
}

/* Everything but the numbers; *raw stays without a pointer when there is no raw_data. */
static bool onnx_read_header(OnnxReader *r, Str bytes, OnnxTensor *t, Str *raw, bool *external)
{
    Wire w = wire_over(bytes);
    r->err->code = EF_OK;
    while (wire_next(&w, r->err)) {
        switch (w.field) {
        case TENSOR_TYPE: t->t.type = w.number < T_COUNT ? (DType)w.number : T_NONE; break;
        case TENSOR_NAME: t->name = w.bytes; break;
        case TENSOR_RAW: *raw = w.bytes; break;
        case TENSOR_LOCATION: *external = w.number == 1; break;
        case TENSOR_SEGMENT:
            return fail(r->err, EF_UNSUPPORTED, "found a segmented tensor, wanted a whole one");
        case TENSOR_EXTERNAL:
            if (!read_external(r, w.bytes, t)) return false;
        }
    }
    return r->err->code == EF_OK;
}

static bool onnx_read_dims(OnnxReader *r, Str bytes, Tensor *t)
{
    void *dims;
    size_t rank;
    if (!onnx_read_numbers(r, bytes, &(Numbers){ TENSOR_DIMS, 0, 8 }, &dims, &rank)) return false;
    if (rank > MAX_RANK)
        return fail(r->err, EF_UNSUPPORTED, "found %zu dimensions, wanted at most %d", rank,
                    MAX_RANK);
    t->rank = (int)rank;
    memcpy(t->dim, dims, rank * sizeof(int64_t));
    return tensor_sane(t, r->err);
}

static bool read_typed(OnnxReader *r, Str bytes, Tensor *t)
{
    size_t n;
    char show[128];
    if (!onnx_read_numbers(r, bytes, &typed[t->type], &t->data, &n)) return false;
    if (n != (size_t)tensor_count(t))
        return fail(r->err, EF_BAD_MODEL, "found %zu numbers, wanted %lld for %s", n,
                    (long long)tensor_count(t), tensor_show(t, show));
    if (t->type == T_BOOL)
        for (size_t i = 0; i < n; i++) ((uint8_t *)t->data)[i] = ((uint8_t *)t->data)[i] != 0;
    return true;
}

static bool read_data(OnnxReader *r, Str bytes, OnnxTensor *t)
{
    Str raw = { 0 };
    bool external = false;
    char show[128];
    if (!onnx_read_header(r, bytes, t, &raw, &external) || !onnx_read_dims(r, bytes, &t->t))
        return false;
    if (!dtype_size(t->t.type))
        return fail(r->err, EF_UNSUPPORTED, "found element type %s, wanted numbers of 8 to 64 bits",
                    dtype_name(t->t.type));
    if (external) {
        if (path_stays_inside(t->location)) return true;
        return fail(r->err, EF_BAD_MODEL,
                    "external data '%.*s': wanted a file name inside the model's folder",
                    (int)MIN(t->location.n, 200), t->location.p);
    }
    t->location = (Str){ 0 };
    if (!raw.n) return read_typed(r, bytes, &t->t);
    if (raw.n != tensor_bytes(&t->t))
        return fail(r->err, EF_BAD_MODEL, "found %zu bytes, wanted %zu for %s", raw.n,
                    tensor_bytes(&t->t), tensor_show(&t->t, show));
    t->t.data = (void *)raw.p;
    return true;
}

bool read_tensor(OnnxReader *r, Str bytes, void *into)
{
    OnnxTensor *t = into;
    *t = (OnnxTensor){ 0 };
    if (read_data(r, bytes, t)) return true;
    return within(r->err, "tensor '%.*s'", (int)MIN(t->name.n, 200), t->name.p);
}

/* ---- attributes ---- */

enum { ATTR_NAME = 1, ATTR_TYPE = 20, ATTR_REF = 21 };

static AttrType type_of_field(int field)
{
    for (int i = A_FLOAT; i < ATTR_TYPES; i++)
        if (attr_field[i] == field) return (AttrType)i;
    return A_NONE;
}

/* Files from before IR 2 do not say the type: the field that is present does. */
static bool read_attr_header(OnnxReader *r, Str bytes, OnnxAttr *a)
{
    Wire w = wire_over(bytes);
    bool said = false;
    r->err->code = EF_OK;
    while (wire_next(&w, r->err)) {
        AttrType guess = type_of_field(w.field);
        if (guess && !said) a->type = guess;
        if (w.field == ATTR_NAME) a->name = w.bytes;
        if (w.field == ATTR_REF) a->ref = w.bytes;
        if (w.field != ATTR_TYPE) continue;
        said = true;
        a->type = w.number < ATTR_TYPES ? (AttrType)w.number : A_NONE;
    }
    return r->err->code == EF_OK;
}

/* The field of the attribute's type, repeated: strings, tensors or graphs. */
static bool onnx_read_list(OnnxReader *r, Str bytes, int field, const OnnxMessage *of, void **out,
                           size_t *count)
{
    size_t size = of ? of->size : sizeof(Str), n = 0;
    Wire w = wire_over(bytes);
    r->err->code = EF_OK;
    while (wire_next(&w, r->err)) n += w.field == field;
    if (r->err->code != EF_OK) return false;
    if (n > MAX_RECORDS)
        return fail(r->err, EF_TOO_LARGE, "found %zu items, wanted at most %d", n, MAX_RECORDS);
    char *at = onnx_take(r, n, size);
    if (!at) return false;
    *out = at;
    *count = n;
    for (w = wire_over(bytes); wire_next(&w, r->err);) {
        if (w.field != field) continue;
        if (!onnx_want_type(&w, WIRE_BYTES, r->err)) return false;
        if (!of) *(Str *)at = w.bytes;
        if (of && !message_read(r, of, w.bytes, at)) return false;
        at += size;
    }
    return r->err->code == EF_OK;
}

static bool read_scalar(OnnxReader *r, Str bytes, OnnxAttr *a)
{
    Wire w = wire_over(bytes);
    r->err->code = EF_OK;
    while (wire_next(&w, r->err)) {
        if (w.field != attr_field[a->type]) continue;
        WireType type = a->type == A_FLOAT ? WIRE_32 : a->type == A_INT ? WIRE_VARINT : WIRE_BYTES;
        if (!onnx_want_type(&w, type, r->err)) return false;
        if (a->type == A_FLOAT) a->f = wire_float(&w);
        if (a->type == A_INT) a->i = (int64_t)w.number;
        if (a->type == A_STRING) a->s = w.bytes;
    }
    return r->err->code == EF_OK;
}

static bool onnx_read_graphs(OnnxReader *r, Str bytes, OnnxAttr *a)
{
    if (r->depth >= GRAPH_DEPTH)
        return fail(r->err, EF_BAD_MODEL, "found graphs nested deeper than %d", GRAPH_DEPTH);
    r->depth++;
    bool ok = onnx_read_list(r, bytes, attr_field[a->type], &message_graph, (void **)&a->g, &a->n);
    r->depth--;
    return ok;
}

static bool read_attr_value(OnnxReader *r, Str bytes, OnnxAttr *a)
{
    const int field = attr_field[a->type];
    switch (a->type) {
    case A_FLOATS:
        return onnx_read_numbers(r, bytes, &(Numbers){ field, 4, 4 }, (void **)&a->floats, &a->n);
    case A_INTS:
        return onnx_read_numbers(r, bytes, &(Numbers){ field, 0, 8 }, (void **)&a->ints, &a->n);
    case A_STRINGS: return onnx_read_list(r, bytes, field, NULL, (void **)&a->strings, &a->n);
    case A_TENSOR:
    case A_TENSORS: return onnx_read_list(r, bytes, field, &message_tensor, (void **)&a->t, &a->n);
    case A_GRAPH:
    case A_GRAPHS: return onnx_read_graphs(r, bytes, a);
    default: return read_scalar(r, bytes, a);
    }
}

bool read_attr(OnnxReader *r, Str bytes, void *into)
{
    OnnxAttr *a = into;
    *a = (OnnxAttr){ 0 };
    if (!read_attr_header(r, bytes, a)) return false;
    if (a->ref.n || a->type == A_NONE) return true;
    bool ok = read_attr_value(r, bytes, a);
    bool one = a->type == A_TENSOR || a->type == A_GRAPH;
    if (ok && one && a->n != 1)
        ok = fail(r->err, EF_BAD_MODEL, "found %zu values, wanted one", a->n);
    return ok || within(r->err, "attribute '%.*s'", (int)MIN(a->name.n, 100), a->name.p);
}

/* ---- graph inputs and outputs ---- */

static bool onnx_read_dim(OnnxReader *r, Str bytes, OnnxValue *v)
{
    if (v->rank == MAX_RANK)
        return fail(r->err, EF_UNSUPPORTED, "found more than %d dimensions", MAX_RANK);
    int64_t *dim = &v->dim[v->rank];
    Wire w = wire_over(bytes);
    *dim = DIM_UNKNOWN;
    r->err->code = EF_OK;
    while (wire_next(&w, r->err)) {
        if (w.field == 1) *dim = (int64_t)w.number;
        if (w.field == 2) v->symbol[v->rank] = w.bytes;
    }
    if (r->err->code != EF_OK) return false;
    if (*dim < 0) *dim = DIM_UNKNOWN;
    v->rank++;
    return true;
}

static bool onnx_read_shape(OnnxReader *r, Str bytes, OnnxValue *v)
{
    Wire w = wire_over(bytes);
    v->rank = 0;
    r->err->code = EF_OK;
    while (wire_next(&w, r->err))
        if (w.field == 1 && !onnx_read_dim(r, w.bytes, v)) return false;
    return r->err->code == EF_OK;
}

/* TypeProto holds TypeProto.Tensor in field 1; sequences, maps and optionals stay without a type. */
static bool onnx_read_type(OnnxReader *r, Str bytes, OnnxValue *v, bool inside)
{
    Wire w = wire_over(bytes);
    r->err->code = EF_OK;
    while (wire_next(&w, r->err)) {
        if (inside && w.field == 1) v->type = w.number < T_COUNT ? (DType)w.number : T_NONE;
        if (inside && w.field == 2 && !onnx_read_shape(r, w.bytes, v)) return false;
        if (!inside && w.field == 1 && !onnx_read_type(r, w.bytes, v, true)) return false;
    }
    return r->err->code == EF_OK;
}

bool read_value(OnnxReader *r, Str bytes, void *into)
{
    OnnxValue *v = into;
    *v = (OnnxValue){ .rank = -1 };
    Wire w = wire_over(bytes);
    r->err->code = EF_OK;
    while (wire_next(&w, r->err)) {
        if (w.field == 1) v->name = w.bytes;
        if (w.field == 2 && !onnx_read_type(r, w.bytes, v, false))
            return within(r->err, "value '%.*s'", (int)MIN(v->name.n, 200), v->name.p);
    }
    return r->err->code == EF_OK;
}

/* ---- entry points ---- */

bool onnx_read(Arena *arena, Str file, OnnxModel *model, Err *err)
{
    OnnxReader r = { arena, err, 0 };
    *model = (OnnxModel){ 0 };
    if (!message_read(&r, &message_model, file, model)) return fail_of_model(err);
    if (!model->graph.n_node && !model->graph.n_out)
        return fail(err, EF_BAD_MODEL, "found no graph in %zu bytes, wanted an ONNX model", file.n);
    return true;
}

bool onnx_read_tensor(Arena *arena, Str bytes, OnnxTensor *t, Err *err)
{
    OnnxReader r = { arena, err, 0 };
    return read_tensor(&r, bytes, t) || fail_of_model(err);
}

bool onnx_read_graph(Arena *arena, Str bytes, OnnxGraph *g, Err *err)
{
    OnnxReader r = { arena, err, 1 };
    *g = (OnnxGraph){ 0 };
    return message_read(&r, &message_graph, bytes, g) || fail_of_model(err);
}

bool onnx_read_functions(Arena *arena, Str bytes, OnnxModel *m, Err *err)
{
    OnnxReader r = { arena, err, 0 };
    OnnxModel found = { 0 };
    if (!message_read(&r, &message_model, bytes, &found)) return fail_of_model(err);
    m->function = found.function, m->n_function = found.n_function;
    return true;
}

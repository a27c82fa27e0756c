/* SPDX-License-Identifier: Apache-2.0
 * write.c - structs back to ModelProto bytes, by the rows of schema.c. Numbers are written as
 * raw_data. A message's length is only known at its end: it is written in place and moved up to
 * make room. */
#include "schema.h"

static size_t open_message(Buf *b, int number)
{
    wire_put_tag(b, number, WIRE_BYTES);
    return b->n;
}

static void close_message(Buf *b, size_t at)
{
    size_t size = b->n - at;
    wire_put_varint(b, size);
    size_t prefix = b->n - at - size;
    char length[10];
    memcpy(length, b->p + at + size, prefix);
    memmove(b->p + at + prefix, b->p + at, size);
    memcpy(b->p + at, length, prefix);
}

static void put_str(Buf *b, int number, Str s)
{
    if (s.n) wire_put_bytes(b, number, s);
}

static void onnx_put_int(Buf *b, int number, int64_t n)
{
    if (n) wire_put_int(b, number, n);
}

static void write_field(Buf *b, const OnnxField *f, const char *from)
{
    const char *at = from + f->at;
    const int n =
        f->kind == FIELD_STRS || f->kind == FIELD_MSGS ? *(const int *)(from + f->count) : 1;
    switch (f->kind) {
    case FIELD_STR:
    case FIELD_DOMAIN: put_str(b, f->number, *(const Str *)at); break;
    case FIELD_INT: onnx_put_int(b, f->number, *(const int64_t *)at); break;
    case FIELD_MSG: message_write(b, f->of, f->number, at); break;
    case FIELD_STRS: /* empty names are places: written too */
        for (int i = 0; i < n; i++) wire_put_bytes(b, f->number, (*(Str *const *)at)[i]);
        break;
    case FIELD_MSGS:
        for (int i = 0; i < n; i++)
            message_write(b, f->of, f->number, *(char *const *)at + (size_t)i * f->of->size);
        break;
    case FIELD_REFUSED: break;
    }
}

static void write_fields(Buf *b, const OnnxMessage *m, const void *from)
{
    if (!m->fields) m->write(b, from);
    for (const OnnxField *f = m->fields; f && f->number; f++) write_field(b, f, from);
}

void message_write(Buf *b, const OnnxMessage *m, int number, const void *from)
{
    size_t at = open_message(b, number);
    write_fields(b, m, from);
    close_message(b, at);
}

static void put_external(Buf *b, const char *key, Str value)
{
    size_t at = open_message(b, 13);
    wire_put_bytes(b, 1, str_of(key));
    wire_put_bytes(b, 2, value);
    close_message(b, at);
}

static void put_external_number(Buf *b, const char *key, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    put_external(b, key, str_of(text));
}

void write_tensor(Buf *b, const void *from)
{
    const OnnxTensor *t = from;
    for (int i = 0; i < t->t.rank; i++) wire_put_int(b, 1, t->t.dim[i]);
    wire_put_int(b, 2, t->t.type);
    put_str(b, 8, t->name);
    if (t->location.n) {
        put_external(b, "location", t->location);
        put_external_number(b, "offset", t->offset);
        put_external_number(b, "length", t->length);
        wire_put_int(b, 14, 1);
    } else if (t->t.data) {
        wire_put_bytes(b, 9, (Str){ t->t.data, tensor_bytes(&t->t) });
    }
}

static void write_attr_value(Buf *b, const OnnxAttr *a, int number)
{
    size_t at;
    switch (a->type) {
    case A_FLOAT: wire_put_f32(b, number, a->f); break;
    case A_INT: wire_put_int(b, number, a->i); break;
    case A_STRING: wire_put_bytes(b, number, a->s); break;
    case A_FLOATS:
        for (size_t i = 0; i < a->n; i++) wire_put_f32(b, number, a->floats[i]);
        break;
    case A_INTS:
        at = open_message(b, number);
        for (size_t i = 0; i < a->n; i++) wire_put_varint(b, (uint64_t)a->ints[i]);
        close_message(b, at);
        break;
    case A_STRINGS:
        for (size_t i = 0; i < a->n; i++) wire_put_bytes(b, number, a->strings[i]);
        break;
    case A_TENSOR: message_write(b, &message_tensor, number, a->t); break;
    case A_GRAPH: message_write(b, &message_graph, number, a->g); break;
    case A_TENSORS:
        for (size_t i = 0; i < a->n; i++) message_write(b, &message_tensor, number, &a->t[i]);
        break;
    case A_GRAPHS:
        for (size_t i = 0; i < a->n; i++) message_write(b, &message_graph, number, &a->g[i]);
        break;
    case A_NONE: break;
    }
}

void write_attr(Buf *b, const void *from)
{
    const OnnxAttr *a = from;
    wire_put_bytes(b, 1, a->name);
    wire_put_int(b, 20, a->type);
    put_str(b, 21, a->ref);
    if (!a->ref.n) write_attr_value(b, a, attr_field[a->type]);
}

static void write_shape(Buf *b, const OnnxValue *v)
{
    size_t shape = open_message(b, 2);
    for (int i = 0; i < v->rank; i++) {
        size_t dim = open_message(b, 1);
        if (v->dim[i] != DIM_UNKNOWN) wire_put_int(b, 1, v->dim[i]);
        if (v->dim[i] == DIM_UNKNOWN) put_str(b, 2, v->symbol[i]);
        close_message(b, dim);
    }
    close_message(b, shape);
}

void write_value(Buf *b, const void *from)
{
    const OnnxValue *v = from;
    put_str(b, 1, v->name);
    if (v->type == T_NONE) return;
    size_t type = open_message(b, 2), tensor = open_message(b, 1);
    wire_put_int(b, 1, v->type);
    if (v->rank >= 0) write_shape(b, v);
    close_message(b, tensor);
    close_message(b, type);
}

void onnx_write(Buf *b, const OnnxModel *model)
{
    write_fields(b, &message_model, model);
}

void onnx_write_graph(Buf *b, const OnnxGraph *g)
{
    write_fields(b, &message_graph, g);
}

void onnx_write_functions(Buf *b, const OnnxModel *m)
{
    for (const OnnxField *f = message_model.fields; f->number; f++)
        if (f->at == offsetof(OnnxModel, function)) write_field(b, f, (const char *)m);
}

/* ---- into a file: lengths are known beforehand, so nothing has to be held ---- */
typedef struct OnnxStream {
    FileWriter *to;
    OnnxPour *pour;
    void *context;
    Err *err;
} OnnxStream;

static bool stream_flush(OnnxStream *s, Buf *b)
{
    bool ok = writer_add(s->to, b->p, b->n, s->err);
    b->n = 0;
    return ok;
}

static size_t varint_size(uint64_t n)
{
    size_t size = 1;
    for (; n >= 128; n >>= 7) size++;
    return size;
}

static bool is_poured(const OnnxTensor *t)
{
    return !t->t.data && !t->location.n;
}

/* Everything of a tensor but the poured bytes themselves. */
static void tensor_head(Buf *b, const OnnxTensor *t)
{
    write_tensor(b, t);
    if (!is_poured(t)) return;
    wire_put_tag(b, 9, WIRE_BYTES);
    wire_put_varint(b, tensor_bytes(&t->t));
}

static size_t tensor_size(Buf *scratch, const OnnxTensor *t)
{
    size_t before = scratch->n;
    tensor_head(scratch, t);
    size_t size = scratch->n - before + (is_poured(t) ? tensor_bytes(&t->t) : 0);
    scratch->n = before;
    return size;
}

static bool stream_tensor(OnnxStream *s, Buf *b, const OnnxTensor *t)
{
    size_t size = tensor_size(b, t);
    wire_put_tag(b, 5, WIRE_BYTES);
    wire_put_varint(b, size);
    tensor_head(b, t);
    if (!is_poured(t)) return b->n < 1 << 16 || stream_flush(s, b);
    if (!stream_flush(s, b)) return false;
    uint64_t begin = s->to->written;
    if (!s->pour(s->context, t, s->to, s->err)) return false;
    assert(s->to->written - begin == tensor_bytes(&t->t));
    return true;
}

static bool stream_graph(OnnxStream *s, Buf *b, int number, const OnnxGraph *graph)
{
    OnnxGraph bare = *graph;
    Buf rest = { 0 };
    bare.n_init = 0;
    write_fields(&rest, &message_graph, &bare);
    uint64_t size = rest.n;
    for (int i = 0; i < graph->n_init; i++) {
        size_t n = tensor_size(b, &graph->init[i]);
        size += 1 + varint_size(n) + n;
    }
    wire_put_tag(b, number, WIRE_BYTES);
    wire_put_varint(b, size);
    bool ok = stream_flush(s, b) && stream_flush(s, &rest);
    for (int i = 0; ok && i < graph->n_init; i++) ok = stream_tensor(s, b, &graph->init[i]);
    buf_free(&rest);
    return ok;
}

bool onnx_write_file(FileWriter *to, const OnnxModel *model, OnnxPour *pour, void *context,
                     Err *err)
{
    OnnxStream s = { to, pour, context, err };
    Buf b = { 0 };
    bool ok = true;
    for (const OnnxField *f = message_model.fields; ok && f->number; f++) {
        if (f->of == &message_graph) ok = stream_graph(&s, &b, f->number, &model->graph);
        else write_field(&b, f, (const char *)model);
    }
    ok = ok && stream_flush(&s, &b);
    buf_free(&b);
    return ok;
}

/* OnnxPour of a tensor of no bytes. */
static bool pour_nothing(void *context, const OnnxTensor *t, FileWriter *to, Err *err)
{
    (void)context, (void)t, (void)to, (void)err;
    return true;
}

bool onnx_save(Arena *arena, const char *path, const OnnxModel *m, Err *err)
{
    FileWriter w;
    if (!dir_make_parents(path, err) || !writer_open(&w, arena, path, 0644, err)) return false;
    if (onnx_write_file(&w, m, pour_nothing, NULL, err)) return writer_commit(&w, err);
    writer_abort(&w);
    return false;
}

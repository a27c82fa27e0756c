/* SPDX-License-Identifier: Apache-2.0
 * proto.c - a message is walked twice: the first walk counts the values of each field, the second
 * fills lists of exactly that length. So nothing grows, what comes in pieces is joined once, and a
 * message of many values is refused before they take memory. */
#include "proto.h"

#include "wire.h"

enum { MOST_ROWS = 32 };

typedef enum { AS_VARINT, AS_32, AS_64, AS_BYTES } Shape;
static const struct KindRow {
    Shape shape;
    bool map;
} kinds[] = {
    [F_STR] = { AS_BYTES },   [F_BOOL] = { AS_VARINT },
    [F_I32] = { AS_VARINT },  [F_U32] = { AS_VARINT },
    [F_U64] = { AS_VARINT },  [F_F32] = { AS_32 },
    [F_F64] = { AS_64 },      [F_BYTES] = { AS_BYTES },
    [F_MSG] = { AS_BYTES },   [F_STR_MAP] = { AS_BYTES, true },
    [F_NULL_STR_MAP] = { AS_BYTES, true }, [F_INT_STR_MAP] = { AS_BYTES, true },
    [F_ANY] = { AS_BYTES },
};
static const WireType wire_types[] = {
    [AS_VARINT] = WIRE_VARINT, [AS_32] = WIRE_32, [AS_64] = WIRE_64, [AS_BYTES] = WIRE_BYTES,
};
static const size_t sizes[] = { [AS_32] = 4, [AS_64] = 8, [AS_BYTES] = 0 };

static Shape proto_shape_of(const Field *f)
{
    return f->proto_enum ? AS_VARINT : kinds[f->kind].shape;
}

static bool proto_is_map(const Field *f)
{
    return kinds[f->kind].map;
}

/* ---- reading ---- */
typedef struct ProtoReader {
    Arena *arena;
    size_t left;                 /* values that may still be made */
    Err *err;
} ProtoReader;

typedef struct SeenFields {      /* the records of one row in one message */
    size_t n;                    /* values in them */
    size_t bytes;
    size_t last;                 /* which record of the message was the last of them; 0: none */
    Value value;                 /* filled by the second walk */
    char *joined;                /* pieces of a single message, which are read as one */
    size_t joined_n;
} SeenFields;

static bool read_message(ProtoReader *, Str bytes, const Field *rows, int depth, Value *out);

/* The row of the record just read; NULL: skip it. */
static const Field *proto_row_of(const Field *rows, const Wire *w)
{
    for (const Field *f = rows; f->name; f++) {
        if (f->number != w->field) continue;
        Shape shape = proto_shape_of(f);
        bool packed = f->repeated && shape != AS_BYTES && w->type == WIRE_BYTES;
        return w->type == wire_types[shape] || packed ? f : NULL;
    }
    return NULL;
}

static bool packed_record(const Field *f, const Wire *w)
{
    return w->type == WIRE_BYTES && proto_shape_of(f) != AS_BYTES;
}

/* How many values a packed record holds. */
static bool packed_count(const Field *f, Str bytes, size_t *n, Err *err)
{
    Shape shape = proto_shape_of(f);
    *n = 0;
    if (shape != AS_VARINT) {
        *n = bytes.n / sizes[shape];
        if (bytes.n % sizes[shape] == 0) return true;
        return fail(err, EF_BAD_REQUEST, "protobuf: %s: found %zu bytes, wanted a multiple of %zu",
                    f->name, bytes.n, sizes[shape]);
    }
    for (size_t i = 0; i < bytes.n; i++) *n += !(bytes.p[i] & 0x80); /* the last byte of each */
    return true;
}

static bool proto_spend_values(ProtoReader *r, size_t values)
{
    if (values > r->left)
        return fail(r->err, EF_TOO_LARGE, "protobuf: found more values than a message may have");
    r->left -= values;
    return true;
}

static bool proto_survey_fields(ProtoReader *r, Str bytes, const Field *rows, SeenFields *seen)
{
    Wire w = wire_over(bytes);
    for (size_t record = 1; wire_next(&w, r->err); record++) {
        const Field *f = proto_row_of(rows, &w);
        size_t n = 1;
        if (!f) continue;
        if (packed_record(f, &w) && !packed_count(f, w.bytes, &n, r->err)) return false;
        bool counted = (f->repeated || proto_is_map(f)) && f->kind != F_F32;
        if (counted && !proto_spend_values(r, n)) return false;
        SeenFields *s = &seen[f - rows];
        s->n += n;
        s->bytes += w.bytes.n;
        s->last = record;
    }
    return r->err->code == EF_OK;
}

static bool text_of(const Field *f, Str bytes, Value *out, Err *err)
{
    if (f->kind == F_STR && !utf8_valid(bytes))
        return fail(err, EF_BAD_REQUEST, "protobuf: %s: found bytes that are not UTF-8", f->name);
    *out = value_of_str(bytes.n ? bytes : STR(""));
    if (f->kind == F_BYTES) out->kind = V_BYTES;
    return true;
}

static Value enum_of(const Field *f, int32_t number)
{
    for (int i = 0; f->words[i]; i++) {
        int known = f->proto_enum->numbers ? f->proto_enum->numbers[i] : i;
        if (known == number) return value_of_str(str_of(f->words[i]));
    }
    return value_of_int(number);
}

/* A number from its bits: those of a varint, or of a fixed field. */
static Value proto_number_of(const Field *f, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float single;
    double wide;
    if (f->proto_enum) return enum_of(f, (int32_t)low);
    switch (f->kind) {
    case F_BOOL: return value_of_bool(bits != 0);
    case F_I32: return value_of_int((int32_t)low);
    case F_U32: return value_of_int(low);
    case F_F32: memcpy(&single, &low, sizeof single); return value_of_float(single);
    case F_F64: memcpy(&wide, &bits, sizeof wide); return value_of_float(wide);
    default: return value_of_int((int64_t)bits);
    }
}

static bool map_entry(ProtoReader *r, const Field *f, Str bytes, Member *out)
{
    static const Field by_text[] = { { "key", 1, F_STR }, { "value", 2, F_STR }, { 0 } };
    static const Field by_number[] = { { "key", 1, F_U32 }, { "value", 2, F_STR }, { 0 } };
    Value entry;
    bool numbered = f->kind == F_INT_STR_MAP;
    if (!read_message(r, bytes, numbered ? by_number : by_text, 0, &entry)) return false;
    const Value *key = value_get(&entry, "key");
    if (key->kind == V_INT) out->key = str_of(str_format(r->arena, "%lld", (long long)key->i));
    else out->key = key->s;
    out->value = *value_get(&entry, "value");
    return true;
}

/* Room for all that the survey counted. */
static void open_value(ProtoReader *r, const Field *f, SeenFields *s)
{
    if (f->repeated && f->kind == F_F32) {
        s->value = value_of_f32(s->n ? arena_raw(r->arena, s->n * sizeof(float)) : NULL, 0);
    } else if (f->repeated) {
        s->value = value_list(r->arena, s->n);
        s->value.list.n = 0;
    } else if (proto_is_map(f)) {
        s->value = (Value){ .kind = V_MAP };
        if (s->n) s->value.map.items = ARRAY(r->arena, Member, s->n);
    } else if (f->kind == F_MSG && s->n > 1) {
        s->joined = arena_raw(r->arena, s->bytes + 1);
    }
}

static void add_floats(SeenFields *s, const void *bytes, size_t n)
{
    if (n) memcpy((float *)s->value.f32.p + s->value.f32.n, bytes, n * sizeof(float));
    s->value.f32.n += n;
}

static bool add_packed(const Field *f, SeenFields *s, Str bytes, Err *err)
{
    Wire w = wire_over(bytes);
    Shape shape = proto_shape_of(f);
    if (f->kind == F_F32) return add_floats(s, w.p, bytes.n / sizeof(float)), true;
    while (w.p < w.end) {
        uint64_t bits = 0;
        if (shape == AS_VARINT && !wire_varint(&w, &bits))
            return fail(err, EF_BAD_REQUEST, "protobuf: %s: found a broken varint", f->name);
        if (shape != AS_VARINT) memcpy(&bits, w.p, sizes[shape]), w.p += sizes[shape];
        s->value.list.items[s->value.list.n++] = proto_number_of(f, bits);
    }
    return true;
}

/* The value of a record that holds one. */
static bool one_value(ProtoReader *r, const Field *f, const Wire *w, int depth, Value *out)
{
    if (w->type != WIRE_BYTES) return *out = proto_number_of(f, w->number), true;
    if (f->kind == F_MSG) return read_message(r, w->bytes, f->msg, depth + 1, out);
    return text_of(f, w->bytes, out, r->err);
}

static void join_piece(SeenFields *s, Str bytes)
{
    if (!s->joined) s->value = value_of_str(bytes);
    else if (bytes.n) memcpy(s->joined + s->joined_n, bytes.p, bytes.n);
    s->joined_n += bytes.n;
}

static bool add_record(ProtoReader *r, const Field *f, SeenFields *s, const Wire *w, int depth)
{
    uint32_t bits = (uint32_t)w->number;
    if (packed_record(f, w)) return add_packed(f, s, w->bytes, r->err);
    if (f->repeated && f->kind == F_F32) return add_floats(s, &bits, 1), true;
    if (f->repeated)
        return one_value(r, f, w, depth, &s->value.list.items[s->value.list.n++]);
    if (proto_is_map(f)) return map_entry(r, f, w->bytes, &s->value.map.items[s->value.map.n++]);
    if (f->kind == F_MSG) return join_piece(s, w->bytes), true;
    return one_value(r, f, w, depth, &s->value);
}

static bool has_presence(const Field *f)
{
    return f->nullable || f->oneof || f->kind == F_MSG;
}

/* What a field is when it was not sent. */
static Value default_of(const Field *f)
{
    if (f->proto_enum) return enum_of(f, 0);
    if (f->kind == F_BYTES) return value_of_bytes(STR(""));
    if (proto_shape_of(f) == AS_BYTES) return value_of_str(STR(""));
    return proto_number_of(f, 0);
}

/* Of a oneof the last one counts. */
static bool oneof_is_superseded(const Field *rows, const Field *f, const SeenFields *seen)
{
    if (!f->oneof) return false;
    for (const Field *other = rows; other->name; other++)
        if (other->oneof && strcmp(other->oneof, f->oneof) == 0 &&
            seen[other - rows].last > seen[f - rows].last)
            return true;
    return false;
}

static bool close_value(ProtoReader *r, const Field *rows, const Field *f, SeenFields *seen,
                        int depth, Value *out)
{
    SeenFields *s = &seen[f - rows];
    bool many = f->repeated || proto_is_map(f);
    if (!many && !s->last) {
        if (!has_presence(f)) value_add(out, f->name, default_of(f));
        return true;
    }
    if (oneof_is_superseded(rows, f, seen)) return true;
    if (!many && f->kind == F_MSG) {
        Str bytes = s->joined ? (Str){ s->joined, s->joined_n } : s->value.s;
        if (!read_message(r, bytes, f->msg, depth + 1, &s->value)) return false;
    }
    value_add(out, f->name, s->value);
    return true;
}

static bool proto_fill_fields(ProtoReader *r, Str bytes, const Field *rows, SeenFields *seen,
                              int depth)
{
    Wire w = wire_over(bytes);
    while (wire_next(&w, r->err)) {
        const Field *f = proto_row_of(rows, &w);
        if (f && !add_record(r, f, &seen[f - rows], &w, depth)) return false;
    }
    return true;
}

static bool read_message(ProtoReader *r, Str bytes, const Field *rows, int depth, Value *out)
{
    SeenFields seen[MOST_ROWS] = { 0 };
    size_t n = 0;
    if (depth > PROTO_DEPTH)
        return fail(r->err, EF_BAD_REQUEST, "protobuf: found more than %d messages inside of "
                                            "another", PROTO_DEPTH);
    while (rows[n].name) n++;
    assert(n <= MOST_ROWS);
    if (!proto_survey_fields(r, bytes, rows, seen)) return false;
    for (size_t i = 0; i < n; i++)
        if (rows[i].number) open_value(r, &rows[i], &seen[i]);
    if (!proto_fill_fields(r, bytes, rows, seen, depth)) return false;
    *out = value_map(r->arena, n);
    for (size_t i = 0; i < n; i++)
        if (rows[i].number && !close_value(r, rows, &rows[i], seen, depth, out)) return false;
    return true;
}

bool proto_read(Arena *arena, Str bytes, const Field *rows, size_t most, Value *out, Err *err)
{
    ProtoReader r = { arena, most, err };
    err->code = EF_OK;
    return read_message(&r, bytes, rows, 0, out);
}

/* ---- writing ---- */
/* Bytes whose length stands in front of them: written first, then moved by what that takes. */
static size_t open_length(Buf *b)
{
    buf_char(b, 0);
    return b->n;
}

static void close_length(Buf *b, size_t from)
{
    enum { LONGEST = 10 };
    char length[LONGEST];
    size_t size = b->n - from, n = 0;
    for (size_t left = size; left >= 0x80; left >>= 7) length[n++] = (char)(left | 0x80);
    length[n] = (char)(size >> (7 * n));
    buf_add(b, length, n); /* room */
    memmove(b->p + from + n, b->p + from, size);
    memcpy(b->p + from - 1, length, n + 1);
}

/* A token may be a part of a character; a string of protobuf may not. */
static void proto_put_text(Buf *b, int number, Str s)
{
    if (utf8_valid(s)) return wire_put_bytes(b, number, s);
    wire_put_tag(b, number, WIRE_BYTES);
    size_t from = open_length(b);
    for (const char *p = s.p, *end = s.p + s.n; p < end;) {
        uint32_t code;
        int n = utf8_decode(p, end, &code);
        if (n) buf_add(b, p, (size_t)n);
        else buf_puts(b, "\xEF\xBF\xBD");
        p += MAX(n, 1);
    }
    close_length(b, from);
}

static int64_t enum_number(const Field *f, const Value *v)
{
    if (v->kind != V_STR) return value_int(v, 0);
    const int *numbers = f->proto_enum->numbers;
    for (int i = 0; f->words[i]; i++)
        if (str_is(v->s, f->words[i])) return numbers ? numbers[i] : i;
    return 0;
}

/* The bits of a number, as they are sent. */
static uint64_t proto_bits_of(const Field *f, const Value *v)
{
    uint64_t bits = 0;
    double wide = value_float(v, 0);
    float single = (float)wide;
    if (f->proto_enum) return (uint64_t)enum_number(f, v);
    if (f->kind == F_BOOL) return value_bool(v, false);
    if (f->kind == F_F32) memcpy(&bits, &single, sizeof single);
    else if (f->kind == F_F64) memcpy(&bits, &wide, sizeof wide);
    else bits = (uint64_t)(v->kind == V_INT ? v->i : (int64_t)wide);
    return bits;
}

static void put_bits(Buf *b, Shape shape, uint64_t bits)
{
    if (shape == AS_VARINT) wire_put_varint(b, bits);
    else buf_add(b, &bits, sizes[shape]);
}

static Str proto_bytes_of(const Value *v)
{
    return v->kind == V_BYTES ? v->s : value_str(v, STR(""));
}

void proto_write_item(Buf *b, const Value *v, const Field *f)
{
    Shape shape = proto_shape_of(f);
    if (f->kind == F_MSG) {
        wire_put_tag(b, f->number, WIRE_BYTES);
        size_t from = open_length(b);
        proto_write(b, v, f->msg);
        close_length(b, from);
    } else if (f->kind == F_STR && !f->proto_enum) {
        proto_put_text(b, f->number, value_str(v, STR("")));
    } else if (shape == AS_BYTES) {
        wire_put_bytes(b, f->number, proto_bytes_of(v));
    } else {
        wire_put_tag(b, f->number, wire_types[shape]);
        put_bits(b, shape, proto_bits_of(f, v));
    }
}

static void put_packed(Buf *b, const Value *v, const Field *f)
{
    wire_put_tag(b, f->number, WIRE_BYTES);
    if (v->kind == V_F32 && f->kind == F_F32) {
        wire_put_varint(b, v->f32.n * sizeof(float));
        buf_add(b, v->f32.p, v->f32.n * sizeof(float));
        return;
    }
    size_t from = open_length(b);
    for (size_t i = 0; i < v->list.n; i++)
        put_bits(b, proto_shape_of(f), proto_bits_of(f, &v->list.items[i]));
    close_length(b, from);
}

static void put_map(Buf *b, const Value *v, const Field *f)
{
    for (size_t i = 0; i < v->map.n; i++) {
        const Member *m = &v->map.items[i];
        int64_t key;
        wire_put_tag(b, f->number, WIRE_BYTES);
        size_t from = open_length(b);
        if (f->kind != F_INT_STR_MAP) proto_put_text(b, 1, m->key);
        else if (str_int(m->key, &key)) wire_put_int(b, 1, key);
        proto_put_text(b, 2, value_str(&m->value, STR("")));
        close_length(b, from);
    }
}

static bool is_default(const Value *v, const Field *f)
{
    if (proto_shape_of(f) == AS_BYTES) return proto_bytes_of(v).n == 0;
    return proto_bits_of(f, v) == 0;
}

static void proto_put_field(Buf *b, const Value *v, const Field *f)
{
    if (v->kind == V_NULL) return;
    if (proto_is_map(f)) return put_map(b, v, f);
    if (!f->repeated) {
        if (has_presence(f) || !is_default(v, f)) proto_write_item(b, v, f);
        return;
    }
    size_t n = v->kind == V_F32 ? v->f32.n : v->kind == V_LIST ? v->list.n : 0;
    if (n == 0) return;
    if (proto_shape_of(f) != AS_BYTES) return put_packed(b, v, f);
    for (size_t i = 0; i < n; i++) proto_write_item(b, &v->list.items[i], f);
}

void proto_write(Buf *b, const Value *map, const Field *rows)
{
    for (const Field *f = rows; f->name; f++) {
        const Value *v = f->number ? value_get(map, f->name) : NULL;
        if (v) proto_put_field(b, v, f);
    }
}

/* SPDX-License-Identifier: Apache-2.0
 * thrift.c - see thrift.h. */
#include "thrift.h"

static int64_t thrift_break(Thrift *t)
{
    t->broken = true;
    t->in.p = t->in.end;
    return 0;
}

static uint64_t thrift_varint(Thrift *t)
{
    uint64_t v = 0;
    if (!wire_varint(&t->in, &v)) return (uint64_t)thrift_break(t);
    return v;
}

static int64_t thrift_zigzag(Thrift *t)
{
    const uint64_t v = thrift_varint(t);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static int thrift_byte(Thrift *t)
{
    if (t->in.p == t->in.end) return (int)thrift_break(t);
    return *t->in.p++;
}

bool thrift_next(Thrift *t, ThriftField *f)
{
    if (t->broken) return false;
    const int head = thrift_byte(t);
    f->type = (ThriftType)(head & 15);
    f->item = false;
    if (t->broken || head == THRIFT_STOP) return false;
    const int64_t id = head >> 4 ? f->id + (head >> 4) : thrift_zigzag(t);
    if (f->type == THRIFT_STOP || f->type > THRIFT_STRUCT || id < INT16_MIN || id > INT16_MAX) thrift_break(t);
    f->id = (int)id;
    return !t->broken;
}

int64_t thrift_int(Thrift *t, const ThriftField *f)
{
    switch (f->type) {
    case THRIFT_TRUE: case THRIFT_FALSE: return f->item ? thrift_byte(t) == THRIFT_TRUE : f->type == THRIFT_TRUE;
    case THRIFT_I8: return (int8_t)thrift_byte(t);
    case THRIFT_I16: case THRIFT_I32: case THRIFT_I64: return thrift_zigzag(t);
    default: return thrift_break(t);
    }
}

static Str thrift_take(Thrift *t, uint64_t n)
{
    if (n > (uint64_t)(t->in.end - t->in.p)) return thrift_break(t), (Str){ "", 0 };
    Str s = { (const char *)t->in.p, (size_t)n };
    t->in.p += n;
    return s;
}

Str thrift_bytes(Thrift *t, const ThriftField *f)
{
    if (f->type != THRIFT_BYTES) return thrift_break(t), (Str){ "", 0 };
    return thrift_take(t, thrift_varint(t));
}

bool thrift_struct(Thrift *t, const ThriftField *f)
{
    if (f->type != THRIFT_STRUCT) thrift_break(t);
    return !t->broken;
}

uint32_t thrift_list(Thrift *t, const ThriftField *f, ThriftField *item)
{
    if (f->type != THRIFT_LIST && f->type != THRIFT_SET) return (uint32_t)thrift_break(t);
    const int head = thrift_byte(t);
    const uint64_t n = head >> 4 == 15 ? thrift_varint(t) : (uint64_t)head >> 4;
    *item = (ThriftField){ .type = (ThriftType)(head & 15), .item = true };
    /* An item takes a byte at least. */
    if (n > (uint64_t)(t->in.end - t->in.p) || (n && item->type == THRIFT_STOP)) return (uint32_t)thrift_break(t);
    return (uint32_t)n;
}

static void thrift_skip_deep(Thrift *t, const ThriftField *f, int depth);

static void thrift_skip_map(Thrift *t, int depth)
{
    const uint64_t n = thrift_varint(t);
    const int types = n ? thrift_byte(t) : 0;
    const ThriftField key = { .type = (ThriftType)(types >> 4), .item = true };
    const ThriftField value = { .type = (ThriftType)(types & 15), .item = true };
    for (uint64_t i = 0; i < n && !t->broken; i++) {
        thrift_skip_deep(t, &key, depth);
        thrift_skip_deep(t, &value, depth);
    }
}

static void thrift_skip_deep(Thrift *t, const ThriftField *f, int depth)
{
    ThriftField inner = { 0 };
    if (depth > THRIFT_DEPTH) thrift_break(t);
    if (t->broken) return;
    switch (f->type) {
    case THRIFT_DOUBLE: thrift_take(t, 8); break;
    case THRIFT_BYTES: thrift_bytes(t, f); break;
    case THRIFT_LIST: case THRIFT_SET:
        for (uint32_t n = thrift_list(t, f, &inner); n && !t->broken; n--) thrift_skip_deep(t, &inner, depth + 1);
        break;
    case THRIFT_MAP: thrift_skip_map(t, depth + 1); break;
    case THRIFT_STRUCT:
        while (thrift_next(t, &inner)) thrift_skip_deep(t, &inner, depth + 1);
        break;
    default: thrift_int(t, f);
    }
}

void thrift_skip(Thrift *t, const ThriftField *f)
{
    thrift_skip_deep(t, f, 0);
}

/* ---- writing ---- */
static void thrift_put_zigzag(Buf *to, int64_t v)
{
    wire_put_varint(to, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void thrift_put_field(Buf *to, int *last, int id, ThriftType type)
{
    const int step = id - *last;
    if (step > 0 && step < 16) buf_char(to, (char)(step << 4 | (int)type));
    else buf_char(to, (char)type), thrift_put_zigzag(to, id);
    *last = id;
}

void thrift_put_int(Buf *to, int *last, int id, ThriftType type, int64_t v)
{
    thrift_put_field(to, last, id, type);
    if (type == THRIFT_I8) buf_char(to, (char)v);
    else thrift_put_zigzag(to, v);
}

void thrift_put_bool(Buf *to, int *last, int id, bool v)
{
    thrift_put_field(to, last, id, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_put_bytes(Buf *to, int *last, int id, Str s)
{
    thrift_put_field(to, last, id, THRIFT_BYTES);
    thrift_put_item_bytes(to, s);
}

void thrift_put_struct(Buf *to, int *last, int id)
{
    thrift_put_field(to, last, id, THRIFT_STRUCT);
}

void thrift_put_list(Buf *to, int *last, int id, ThriftType of, size_t n)
{
    thrift_put_field(to, last, id, THRIFT_LIST);
    buf_char(to, (char)((n < 15 ? n : 15) << 4 | of));
    if (n >= 15) wire_put_varint(to, n);
}

void thrift_put_item_int(Buf *to, int64_t v)
{
    thrift_put_zigzag(to, v);
}

void thrift_put_item_bytes(Buf *to, Str s)
{
    wire_put_varint(to, s.n);
    buf_str(to, s);
}

void thrift_put_stop(Buf *to)
{
    buf_char(to, THRIFT_STOP);
}

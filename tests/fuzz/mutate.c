/* SPDX-License-Identifier: Apache-2.0
 * mutate.c - mutations for the targets that take an ONNX file: records of its messages are dropped,
 * doubled, exchanged with others of their kind or changed inside, and all lengths written anew. Plain
 * bytes nearly always break a length first and never reach the graph. */
#include "data/wire.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

typedef enum {
    LEAF, MODEL, GRAPH, NODE, ATTR, TENSOR, VALUE, TYPE, DENSE, SHAPE, DIM, PAIR, FUNCTION
} Kind;

static const struct {
    Kind in;
    int field;
    Kind is;
} messages[] = {
    { MODEL, 7, GRAPH },  { MODEL, 8, PAIR },   { MODEL, 14, PAIR },  { GRAPH, 1, NODE },
    { GRAPH, 5, TENSOR }, { GRAPH, 11, VALUE }, { GRAPH, 12, VALUE }, { NODE, 5, ATTR },
    { ATTR, 5, TENSOR },  { ATTR, 6, GRAPH },   { VALUE, 2, TYPE },   { TYPE, 1, DENSE },
    { DENSE, 2, SHAPE },  { SHAPE, 1, DIM },    { MODEL, 25, FUNCTION },
    { FUNCTION, 7, NODE }, { FUNCTION, 9, PAIR }, { FUNCTION, 11, ATTR }, { NODE, 9, PAIR },
};

enum { MOST_RECORDS = 4096, MOST_LEAF = 256 };

typedef struct Record {
    Kind in;
    Wire w;
} Record;

typedef struct Mutation {
    Record record[MOST_RECORDS];
    int n;
    int at; /* the record to change, counted while writing */
    unsigned random;
} Mutation;

static unsigned dice(Mutation *m, unsigned sides)
{
    m->random = m->random * 1103515245u + 12345u;
    return (m->random >> 16) % sides;
}

static Kind kind_of(Kind in, const Wire *w)
{
    for (size_t i = 0; w->type == WIRE_BYTES && i < COUNT(messages); i++)
        if (messages[i].in == in && messages[i].field == w->field) return messages[i].is;
    return LEAF;
}

static bool collect(Mutation *m, Kind in, Str bytes)
{
    Err err = { 0 };
    Wire w = wire_over(bytes);
    while (wire_next(&w, &err)) {
        if (m->n < MOST_RECORDS) m->record[m->n++] = (Record){ in, w };
        Kind is = kind_of(in, &w);
        if (is != LEAF && !collect(m, is, w.bytes)) return false;
    }
    return err.code == EF_OK;
}

static void put_number(Buf *b, int field, WireType type, uint64_t number)
{
    wire_put_tag(b, field, type);
    if (type == WIRE_VARINT) wire_put_varint(b, number);
    else buf_add(b, &number, type == WIRE_32 ? 4 : 8);
}

static void write_message(Mutation *m, Kind in, Str bytes, Buf *out);

static void write_record(Mutation *m, Kind in, const Wire *w, Buf *out)
{
    Buf inside = { 0 };
    Kind is = kind_of(in, w);
    if (w->type != WIRE_BYTES) {
        put_number(out, w->field, w->type, w->number);
        return;
    }
    if (is != LEAF) write_message(m, is, w->bytes, &inside);
    wire_put_bytes(out, w->field, is != LEAF ? buf_view(&inside) : w->bytes);
    buf_free(&inside);
}

static void change_number(Mutation *m, Wire *w)
{
    static const int64_t telling[] = { 0, 1, -1, 2, 3, 4, 7, 16, 255, 65536, INT32_MAX, INT64_MAX };
    uint8_t bytes[8];
    memcpy(bytes, &w->number, 8);
    if (dice(m, 2)) w->number = (uint64_t)telling[dice(m, COUNT(telling))];
    else LLVMFuzzerMutate(bytes, 8, 8), memcpy(&w->number, bytes, 8);
}

static void change_leaf(Mutation *m, Wire *w, uint8_t room[MOST_LEAF])
{
    size_t n = MIN(w->bytes.n, (size_t)MOST_LEAF);
    (void)m;
    if (n) memcpy(room, w->bytes.p, n);
    w->bytes = (Str){ (const char *)room, LLVMFuzzerMutate(room, n, MOST_LEAF) };
}

/* Another record of the same field in a message of the same kind; itself when there is none. */
static const Wire *another(Mutation *m, Kind in, const Wire *w)
{
    for (int i = 0; i < 64; i++) {
        const Record *r = &m->record[dice(m, (unsigned)m->n)];
        if (r->in == in && r->w.field == w->field && r->w.type == w->type) return &r->w;
    }
    return w;
}

/* A name read here that is made elsewhere: inputs and outputs of nodes, initializers. */
static const Wire *name_of_value(Mutation *m, const Wire *w)
{
    for (int i = 0; i < 64; i++) {
        const Record *r = &m->record[dice(m, (unsigned)m->n)];
        bool name = (r->in == NODE && r->w.field <= 2) || (r->in == TENSOR && r->w.field == 8) ||
                    (r->in == VALUE && r->w.field == 1);
        if (name && r->w.type == WIRE_BYTES) return &r->w;
    }
    return w;
}

static void change(Mutation *m, Kind in, const Wire *w, Buf *out)
{
    uint8_t room[MOST_LEAF];
    Wire changed = *w;
    unsigned how = dice(m, 8);
    if (how == 0) return;
    if (how == 1) write_record(m, in, w, out);
    if (how == 2 || how == 3) write_record(m, in, another(m, in, w), out);
    if (how <= 2) {
        write_record(m, in, w, out);
        return;
    }
    if (how == 3) return;
    if (w->type != WIRE_BYTES) change_number(m, &changed);
    else if (in == NODE && w->field <= 2 && how < 7) changed.bytes = name_of_value(m, w)->bytes;
    else if (kind_of(in, w) == LEAF) change_leaf(m, &changed, room);
    else changed.bytes = another(m, in, w)->bytes;
    write_record(m, in, &changed, out);
}

static void write_message(Mutation *m, Kind in, Str bytes, Buf *out)
{
    Err err = { 0 };
    Wire w = wire_over(bytes);
    while (wire_next(&w, &err)) {
        if (m->at-- == 0) change(m, in, &w, out);
        else write_record(m, in, &w, out);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static Mutation m;
    m.n = 0, m.random = seed;
    if (size < 2 || dice(&m, 8) == 0) return LLVMFuzzerMutate(data, size, most);
    Str file = { (const char *)data, size };
    size_t before = collect(&m, MODEL, file) ? 0 : 1; /* a byte of options comes first */
    m.n = 0;
    file = (Str){ file.p + before, size - before };
    if (!collect(&m, MODEL, file) || !m.n) return LLVMFuzzerMutate(data, size, most);
    Buf a = { 0 }, b = { 0 };
    buf_str(&a, file);
    for (unsigned rounds = 1 + dice(&m, 3); rounds; rounds--) {
        m.n = 0;
        if (!collect(&m, MODEL, buf_view(&a)) || !m.n) break;
        m.at = (int)dice(&m, (unsigned)m.n);
        b.n = 0;
        write_message(&m, MODEL, buf_view(&a), &b);
        Buf swap = a;
        a = b, b = swap;
    }
    if (dice(&m, 16) == 0) data[0] ^= (uint8_t)before;
    size = MIN(a.n + before, most);
    if (size > before) memcpy(data + before, a.p, size - before);
    buf_free(&a);
    buf_free(&b);
    return size;
}

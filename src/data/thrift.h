/* SPDX-License-Identifier: Apache-2.0
 * thrift.h - Thrift's compact protocol, as Parquet uses it: a cursor over bytes, a writer. No schemas, no copies.
 *
 *   for (ThriftField f = { 0 }; thrift_next(&t, &f);)
 *       switch (f.id) {
 *       case 1: rows = thrift_int(&t, &f); break;
 *       default: thrift_skip(&t, &f);
 *       }
 *
 * Each field is taken or skipped. Bytes that make no sense, a field of another type than the one that is asked
 * for, and nesting beyond THRIFT_DEPTH set `broken`: from then on everything is empty, to be asked once at the
 * end. Lists are believed as far as bytes come: nothing is allocated by what they say of themselves. */
#ifndef DATA_THRIFT_H
#define DATA_THRIFT_H
#include "data/wire.h"

enum { THRIFT_DEPTH = 64 };
typedef enum { /* the format's own numbers; a boolean field is its value */
    THRIFT_STOP, THRIFT_TRUE, THRIFT_FALSE, THRIFT_I8, THRIFT_I16, THRIFT_I32, THRIFT_I64, THRIFT_DOUBLE,
    THRIFT_BYTES, THRIFT_LIST, THRIFT_SET, THRIFT_MAP, THRIFT_STRUCT
} ThriftType;

typedef struct Thrift {
    Wire in;
    bool broken;
} Thrift;
typedef struct ThriftField {
    int id;
    ThriftType type;
    bool item;               /* of a list: a boolean has a byte of its own */
} ThriftField;

static inline Thrift thrift_over(Str s) { return (Thrift){ .in = wire_over(s) }; }
bool thrift_next(Thrift *, ThriftField *);                /* false: the struct's end, or broken */
int64_t thrift_int(Thrift *, const ThriftField *);        /* of any width, and booleans */
Str thrift_bytes(Thrift *, const ThriftField *);          /* a view */
bool thrift_struct(Thrift *, const ThriftField *);        /* its fields are next; false: broken */
/* Its items are next, each to be taken by *item: for (; n && !t.broken; n--). */
uint32_t thrift_list(Thrift *, const ThriftField *, ThriftField *item);
void thrift_skip(Thrift *, const ThriftField *);

/* ---- writing: *last is the id of the field before, 0 at the beginning of a struct ---- */
void thrift_put_int(Buf *, int *last, int id, ThriftType, int64_t); /* I16, I32, I64, or of a byte: I8 */
void thrift_put_bool(Buf *, int *last, int id, bool);
void thrift_put_bytes(Buf *, int *last, int id, Str);
void thrift_put_struct(Buf *, int *last, int id);         /* its fields follow, and thrift_put_stop */
void thrift_put_list(Buf *, int *last, int id, ThriftType of, size_t n); /* its items follow */
void thrift_put_item_int(Buf *, int64_t);
void thrift_put_item_bytes(Buf *, Str);
void thrift_put_stop(Buf *);

#endif

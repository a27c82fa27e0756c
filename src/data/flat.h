/* SPDX-License-Identifier: Apache-2.0
 * flat.h - FlatBuffers, as Arrow uses them: a table is an i32 back (or on) to its vtable and slots that the
 * vtable places; an absent slot has its default. Whatever is read is checked; what does not fit counts as
 * absent and sets `broken`, to be asked once at the end. */
#ifndef DATA_FLAT_H
#define DATA_FLAT_H
#include "base/base.h"

typedef struct FlatTable {
    Str all;               /* the buffer */
    size_t at, vtable;
    size_t slots;          /* bytes of the vtable */
    bool *broken;          /* shared by all tables of the buffer */
} FlatTable;
typedef struct FlatVector {
    FlatTable of;          /* where it stands */
    size_t at;             /* its first element */
    uint32_t n;
} FlatVector;

FlatTable flat_root(Str all, bool *broken);
bool flat_has(const FlatTable *, int id);
int64_t flat_int(const FlatTable *, int id, int bytes, int64_t otherwise); /* signed, little endian */
Str flat_str(const FlatTable *, int id);
bool flat_table(const FlatTable *, int id, FlatTable *out);                /* false: absent */
FlatVector flat_vector(const FlatTable *, int id, size_t element);         /* bytes of one; absent: empty */
FlatTable flat_vector_table(const FlatVector *, uint32_t i);
int64_t flat_vector_i64(const FlatVector *, size_t place);                 /* of structs of i64, by place */
int32_t flat_vector_i32(const FlatVector *, size_t place);

/* ---- writing: front to back; a slot for an offset is pointed to its target once that is written ---- */
enum { FLAT_OFFSET = 0 };  /* bytes of a slot: it holds an offset */
typedef struct FlatSlot {
    int id, bytes;         /* 1, 2, 4, 8 or FLAT_OFFSET; in the order of their ids */
    int64_t number;
    size_t at;             /* out: where it stands */
} FlatSlot;
size_t flat_put_table(Buf *, FlatSlot *, int n);            /* all return where it stands */
size_t flat_put_str(Buf *, Str);
size_t flat_put_offsets(Buf *, size_t n);                   /* of tables: each is flat_point's `slot` */
size_t flat_put_i32(Buf *, const int32_t *, size_t n);
size_t flat_put_i64(Buf *, const int64_t *, size_t n, size_t each); /* structs of `each` numbers */
void flat_point(Buf *, size_t slot, size_t target);
void flat_align(Buf *, size_t to);

#endif

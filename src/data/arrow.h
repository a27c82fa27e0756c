/* SPDX-License-Identifier: Apache-2.0
 * arrow.h - Arrow's IPC format: streams and files of record batches. Arrays are views of the batch's body, in
 * the format's own layout, checked before they are handed out.
 *
 * Read: every type but unions, run ends and list views; dictionaries, also of several parts. Refused by name:
 * those types, bodies that are compressed, big endian. */
#ifndef DATA_ARROW_H
#define DATA_ARROW_H
#include "data/value.h"

typedef enum { /* the format's own numbers */
    ARROW_NULL = 1, ARROW_INT, ARROW_FLOAT, ARROW_BINARY, ARROW_UTF8, ARROW_BOOL, ARROW_DECIMAL, ARROW_DATE,
    ARROW_TIME, ARROW_TIMESTAMP, ARROW_INTERVAL, ARROW_LIST, ARROW_STRUCT, ARROW_UNION, ARROW_FIXED_BINARY,
    ARROW_FIXED_LIST, ARROW_MAP, ARROW_DURATION, ARROW_LARGE_BINARY, ARROW_LARGE_UTF8, ARROW_LARGE_LIST,
    ARROW_RUN_END, ARROW_BINARY_VIEW, ARROW_UTF8_VIEW, ARROW_LIST_VIEW, ARROW_LARGE_LIST_VIEW, ARROW_KINDS
} ArrowKind;

typedef struct ArrowField ArrowField;
struct ArrowField {
    Str name;
    ArrowKind kind;
    bool nullable;
    int64_t param[3];        /* of the kind, in the format's order: bits and sign of an integer ... */
    Str zone;                /* ARROW_TIMESTAMP */
    ArrowField *child;
    int children;
    bool encoded;            /* a dictionary has the values; here are their indexes: */
    int64_t dictionary;      /* its number */
    int index_bits;
    bool index_signed;
};
typedef struct ArrowSchema {
    ArrowField *field;
    int n;
} ArrowSchema;

typedef struct ArrowArray ArrowArray;
typedef struct ArrowValues ArrowValues; /* of a dictionary */
struct ArrowArray {
    const ArrowField *field;
    int64_t length, nulls;
    Str valid;               /* bits; empty: all are there */
    Str offsets, data;       /* by the kind: offsets of bytes or of the child; values, bytes or views */
    Str *more;               /* views: what the long ones show */
    int64_t n_more;
    ArrowArray *child;       /* [field->children] */
    const ArrowValues *values;
};
typedef struct ArrowBatch {
    int64_t rows;
    ArrowArray *column;      /* [schema.n]; those that are not wanted are not for reading */
    size_t end;              /* of a file: the bytes up to its end */
} ArrowBatch;

/* Bytes of a stream, up to `room`; *got 0: the end. */
typedef bool ArrowPull(void *context, void *to, size_t room, size_t *got, Err *);
typedef struct ArrowReader ArrowReader;
/* Reads the schema. Of a stream: `pull`. Of a file that is mapped: `file`, by its footer. The reader and what
 * it keeps live in the arena. */
bool arrow_open_stream(Arena *, ArrowPull *, void *context, ArrowReader **, Err *);
bool arrow_open_file(Arena *, Str file, ArrowReader **, Err *);
const ArrowSchema *arrow_schema(const ArrowReader *);
void arrow_want(ArrowReader *, int column); /* it is checked and may be read */
/* The next batch: its arrays in the arena; *more false: there is none. Errors say which batch. */
bool arrow_next(ArrowReader *, Arena *, ArrowBatch *, bool *more, Err *);
void arrow_close(ArrowReader *);

/* An entry as a Value: text, bytes, numbers, lists and maps; null where there is none. What JSON has no word
 * for (dates, times, decimals) is the number that stands there, or its bytes. */
Value arrow_value(Arena *, const ArrowArray *, int64_t entry);
const char *arrow_kind_name(ArrowKind);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * arrow.h - columns in Arrow's layout: how tables lie in memory here, whatever form their bytes have
 * (batches.h). Names and numbers are those of Arrow's format; what its bytes are is for arrow_read.c and
 * arrow_write.c.
 *
 * Whoever hands out a batch has checked it: offsets, lengths and indexes of the columns that are wanted stay
 * inside of their buffers. */
#ifndef DATA_ARROW_H
#define DATA_ARROW_H
#include "data/value.h"

typedef enum { /* the format's own numbers */
    ARROW_NULL = 1, ARROW_INT, ARROW_FLOAT, ARROW_BINARY, ARROW_UTF8, ARROW_BOOL, ARROW_DECIMAL, ARROW_DATE,
    ARROW_TIME, ARROW_TIMESTAMP, ARROW_INTERVAL, ARROW_LIST, ARROW_STRUCT, ARROW_UNION, ARROW_FIXED_BINARY,
    ARROW_FIXED_LIST, ARROW_MAP, ARROW_DURATION, ARROW_LARGE_BINARY, ARROW_LARGE_UTF8, ARROW_LARGE_LIST,
    ARROW_RUN_END, ARROW_BINARY_VIEW, ARROW_UTF8_VIEW, ARROW_LIST_VIEW, ARROW_LARGE_LIST_VIEW, ARROW_KINDS
} ArrowKind;

typedef struct ArrowPair {
    Str key, value;
} ArrowPair;
typedef struct ArrowMark {   /* what Parquet says of values for which Arrow has no type: JSON, ENUM, INTERVAL ... */
    Str logical;             /* its LogicalType, as it stands; n 0: none */
    int converted;           /* its older ConvertedType, plus 1; 0: none */
} ArrowMark;
typedef struct ArrowField ArrowField;
struct ArrowField {
    Str name;
    ArrowKind kind;
    bool nullable;
    int64_t param[3];        /* of the kind, in the format's order: bits and sign of an integer ... */
    Str zone;                /* ARROW_TIMESTAMP */
    int32_t *code;           /* ARROW_UNION: [codes] the number of each child; none: 0, 1, 2 ... */
    int codes;
    ArrowField *child;
    int children;
    bool encoded;            /* a dictionary has the values; here are their indexes: */
    int64_t dictionary;      /* its number */
    int index_bits;
    bool index_signed, ordered;
    ArrowPair *pair;         /* its metadata */
    int pairs;
    bool uuid;               /* 16 bytes that are one */
    ArrowMark mark;          /* of a column of Parquet */
    const ArrowField *told;  /* what an Arrow schema beside Parquet's says of it; NULL: no more than this */
    const char *strange;     /* why it is not read, though its kind may be; NULL: it is */
};
typedef struct ArrowFields { /* the schema: columns of every batch */
    ArrowField *field;
    int n;
    ArrowPair *pair;         /* metadata of the whole */
    int pairs;
} ArrowFields;

typedef struct ArrowColumn ArrowColumn;
typedef struct ArrowValues ArrowValues; /* of a dictionary */
struct ArrowColumn {
    const ArrowField *field;
    int64_t length, nulls;
    int64_t from;            /* of what was imported, which only arrow_value reads: where entry 0 is in the buffers */
    Str valid;               /* bits; empty: all are there */
    Str offsets, data;       /* by the kind: offsets of bytes or of the child; values, bytes, views, sizes or codes */
    Str *more;               /* views: what the long ones show */
    int64_t n_more;
    ArrowColumn *child;       /* [field->children] */
    const ArrowValues *values;
};
typedef struct ArrowBatch {
    int64_t rows;
    ArrowColumn *column;      /* [schema.n]; those that are not wanted are not for reading */
    size_t end;              /* of a file that is read: the bytes up to its end */
} ArrowBatch;

/* An entry as a Value: text, bytes, numbers, lists and maps; null where there is none. Decimals, dates, times and
 * UUIDs are text (arrow_text.h); durations and intervals are the number that stands there, or its bytes. */
Value arrow_value(Arena *, const ArrowColumn *, int64_t entry);
const char *arrow_kind_name(ArrowKind);
/* Whether values of the column can be had, and it can be written; else *what is in the way: "the type union". */
bool arrow_can_read(const ArrowField *, const char **what);
/* Values are texts, or bytes that may be: each is one text, or null. */
bool arrow_is_text(const ArrowField *);

#endif

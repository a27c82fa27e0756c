/* SPDX-License-Identifier: Apache-2.0
 * parquet_schema.h - the schema of a Parquet file: its elements, and what each column is in Arrow's layout. */
#ifndef DATA_PARQUET_SCHEMA_H
#define DATA_PARQUET_SCHEMA_H
#include "data/arrow.h"
#include "data/thrift.h"

typedef enum { /* the format's own numbers, as in all enumerations here */
    PARQUET_BOOLEAN, PARQUET_INT32, PARQUET_INT64, PARQUET_INT96, PARQUET_FLOAT, PARQUET_DOUBLE, PARQUET_BYTES,
    PARQUET_FIXED, PARQUET_GROUP /* our own: an element with children */
} ParquetType;
typedef enum { PARQUET_REQUIRED, PARQUET_OPTIONAL, PARQUET_REPEATED } ParquetRepetition;
typedef enum { /* what the values mean */
    MEANS_NOTHING, MEANS_STRING, MEANS_MAP, MEANS_LIST, MEANS_ENUM, MEANS_DECIMAL, MEANS_DATE, MEANS_TIME,
    MEANS_TIMESTAMP, MEANS_INTEGER = 10, MEANS_UNKNOWN, MEANS_JSON, MEANS_BSON, MEANS_UUID, MEANS_FLOAT16
} ParquetMeaning;
typedef enum { PARQUET_MS = 1, PARQUET_US, PARQUET_NS } ParquetUnit;

typedef struct ParquetLogical {
    ParquetMeaning means;
    int bits;                /* MEANS_INTEGER */
    bool is_signed, utc;
    ParquetUnit unit;        /* MEANS_TIME, MEANS_TIMESTAMP */
    int scale, precision;    /* MEANS_DECIMAL */
} ParquetLogical;

typedef struct ParquetNode ParquetNode;
struct ParquetNode {         /* an element */
    Str name;
    ParquetType type;
    int width;               /* bytes of a value; 0: by itself */
    ParquetRepetition repetition;
    ParquetLogical logical;
    ArrowMark mark;          /* the same, as it stands */
    ParquetNode *child;
    int children;
    int defined, repeated;   /* levels of what is there */
    int leaf;                /* its number among the leaves */
};

typedef struct ParquetPart ParquetPart;
struct ParquetPart {         /* what a field in Arrow's layout is made of */
    ArrowField *field;
    const ParquetNode *leaf; /* NULL: it has children */
    int there;               /* definition level from which an entry is no null; of lists: no null list */
    int item;                /* of lists: level from which there is an item */
    ParquetPart *child;      /* [field->children] */
};
typedef struct ParquetColumn {
    ParquetPart part;
    int first, leaves;       /* chunks of a row group that belong to it */
} ParquetColumn;
typedef struct ParquetSchema {
    ArrowFields fields;
    ParquetColumn *column;   /* [fields.n] */
    int leaves;
} ParquetSchema;

enum { PARQUET_DEPTH = 32 };
/* The list of elements, which is next in t. Names are copied. */
bool parquet_read_schema(Arena *, Thrift *, const ThriftField *, ParquetSchema *, Err *);

#endif

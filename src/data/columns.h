/* SPDX-License-Identifier: Apache-2.0
 * columns.h - results as typed columns, by the rows of their schema: one array of values for each
 * field, one of offsets where a field is a list. Tables are written from them, and so can be every
 * form that keeps columns: the arrays lie as such forms want them. */
#ifndef DATA_COLUMNS_H
#define DATA_COLUMNS_H
#include "data/value.h"

typedef struct Column Column;
typedef struct Columns {     /* one for each row of a schema, in their order */
    Column *column;
    size_t n;
} Columns;
struct Column {
    const Field *field;      /* its name and kind; F_ANY is not for columns */
    size_t n;                /* entries: as many as what it is a part of has values */
    const bool *there;       /* [n]; false: absent, or null */
    const size_t *offset;    /* of a list: [n + 1], where the values of an entry begin; NULL: an
                              * entry is one value */
    size_t values;           /* of all entries */
    union {                  /* [values], by the kind of the field */
        const void *data;
        const bool *b;       /* F_BOOL */
        const int64_t *i;    /* F_I32, F_U32, F_U64 */
        const float *f32;    /* F_F32 */
        const double *f64;   /* F_F64 */
        const Str *s;        /* F_STR, F_BYTES: views of the results */
    };
    Columns members;         /* F_MSG: its fields; a map of strings is a list of {key, value} */
};

/* results: [n], each a map that schema_check takes. Vectors in base64 become numbers. */
Columns columns_of(Arena *, const Field *rows, const Value *results, size_t n);
bool column_used(const Column *); /* some entry is there, or the schema wants every one */
/* An entry as it was; what is absent and what is null are both V_NULL. */
Value column_entry(Arena *, const Column *, size_t entry);
Value columns_entry(Arena *, const Columns *, size_t entry); /* a map of all fields */
/* Entries from .. to-1: views of the same arrays. */
Columns columns_slice(Arena *, const Columns *, size_t from, size_t to);

/* ---- columns_make.c: columns that grow entry by entry, for results that are never a tree ---- */
typedef struct ColumnMaker ColumnMaker;
struct ColumnMaker {
    const Field *field;      /* no F_BYTES, no map */
    size_t n, values;        /* as in Column */
    Buf offset, data;        /* of size_t and of the field's kind */
    ColumnMaker *member;     /* F_MSG: one for each of its fields */
};
ColumnMaker *columns_make(Arena *, const Field *rows); /* one for each row, all empty */
Columns columns_made(Arena *, const Field *rows, const ColumnMaker *); /* views: nothing is put afterwards */
/* An entry that is one value. */
void column_put_str(ColumnMaker *, Str);    /* a view */
void column_put_int(ColumnMaker *, int64_t);
void column_put_f32(ColumnMaker *, float);
/* An entry that is a list: of objects, whose members are put next, n of each; of numbers, which are copied. */
void column_put_list(ColumnMaker *, size_t n);
void column_put_floats(ColumnMaker *, const float *, size_t n);

#endif

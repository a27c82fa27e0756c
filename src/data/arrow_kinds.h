/* SPDX-License-Identifier: Apache-2.0
 * arrow_kinds.h - what each type of Arrow is: one row, for reading, checking and values. */
#ifndef DATA_ARROW_KINDS_H
#define DATA_ARROW_KINDS_H
#include "arrow.h"

typedef enum {
    LAYOUT_UNION,            /* which child; of a dense one also where in it */
    LAYOUT_RUNS,             /* no buffers; the children are the runs' ends and values */
    LAYOUT_LIST_VIEW,        /* validity, offsets, sizes */
    LAYOUT_NONE,             /* no buffers */
    LAYOUT_BITS,             /* validity, bits */
    LAYOUT_FIXED,            /* validity, values of arrow_width bytes */
    LAYOUT_BYTES,            /* validity, offsets, bytes */
    LAYOUT_VIEWS,            /* validity, views, and any number of buffers that they show */
    LAYOUT_LIST,             /* validity, offsets of the child */
    LAYOUT_CHILDREN          /* validity */
} ArrowLayout;
typedef struct ArrowParam {
    int bytes;               /* of the slot; 0: there is no such parameter */
    int otherwise;           /* where it is absent */
} ArrowParam;
typedef struct ArrowKindRow {
    const char *name;
    ArrowLayout layout;
    int offset;              /* bytes of one; LAYOUT_BYTES, LAYOUT_LIST */
    ArrowParam param[3];
    bool text;               /* else LAYOUT_BYTES and LAYOUT_VIEWS are bytes */
} ArrowKindRow;
extern const ArrowKindRow arrow_kinds[ARROW_KINDS];

bool arrow_is_extension(const ArrowField *, const char *name); /* the metadata says so */
int64_t arrow_width(const ArrowField *);     /* LAYOUT_FIXED: bytes of a value */
int arrow_union_child(const ArrowField *, int code); /* -1: none has it */
int arrow_view_width(const ArrowField *);    /* LAYOUT_LIST_VIEW: bytes of an offset and of a size */
int64_t arrow_int(Str values, int64_t entry, int64_t width, bool is_signed);

/* A column that was read: its entries lie inside of its buffers, and none is made of more values than memory has room
 * for. rows: of the batch, 0 of a dictionary's. */
bool arrow_check(const ArrowColumn *, int64_t rows, Err *);
uint64_t arrow_entry_most(const ArrowColumn *); /* of one that was checked: values of its largest entry */

typedef struct ArrowStore ArrowStore; /* memory of values that others may replace (arrow_read.c) */
struct ArrowValues {         /* parts in the order in which they came */
    int64_t id;
    ArrowStore *store;       /* NULL: they stay as long as the reader */
    uint64_t version;        /* another one: these are others, not more of the same */
    ArrowColumn *part;
    int parts, room;
    int64_t length;
    uint64_t most;           /* of what was read: values of the largest entry */
};

#endif

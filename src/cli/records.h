/* SPDX-License-Identifier: Apache-2.0
 * records.h - texts, pictures or sounds from a stream: plain lines, JSON lines, CSV or Arrow, one record at a time. */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H
#include "base/file.h"
#include "base/lines.h"
#include "data/arrow.h"
#include "data/gunzip.h"
#include "input/items.h"

typedef enum { RECORDS_TEXT, RECORDS_JSONL, RECORDS_CSV, RECORDS_ARROW } RecordForm;

typedef struct Record {
    Item item;
    const Value *id;       /* the record's own "id", or NULL */
    Err err;               /* code EF_OK: usable; else why this one is not */
} Record;

typedef struct Records {
    Lines lines;
    RecordForm form;
    const ItemForm *items; /* how a record's item is written: the keys of an object or the columns */
    const char *field;     /* where the text is, or a file's path: a key or a column; NULL: "text", "path" */
    Str question;          /* p: of it, texts that come alone are contexts */
    Gunzip *gunzip;        /* NULL: the stream is not packed */
    Arena head;            /* of the two below and of gunzip */
    Str *column;           /* CSV: its first record */
    size_t columns;
    ArrowReader *arrow;    /* of `batch`; NULL: another form */
    Mapping file;          /* of an Arrow file; a stream has none */
    ArrowBatch batch;
    Arena batch_arena;
    int64_t row;           /* of the batch, next */
    bool *used;            /* [columns of the schema] */
} Records;

extern const char *const records_forms[]; /* of --input-format; ends with NULL */
#define OPTION_FIELD                                                                              \
    { "field", 0, "NAME", "the key or column that holds the text; default: text (of pictures and sounds their path: "  \
                          "path)" }

/* "text", "jsonl", "csv", "arrow"; form NULL: by the name's ending, or by the first bytes of Arrow. "-":
 * stdin. What is packed with gzip is unpacked on the way, whatever its name. */
bool records_open(Records *, const char *path, const char *form, const ItemForm *, const char *field,
                  Err *);
/* False: the stream itself is broken. A bad record is handed out with its error. */
bool records_next(Records *, Arena *, Record *, bool *more, Err *);
/* Whether records_next would have to wait for whoever writes the stream. */
bool records_quiet(const Records *);
void records_close(Records *);

#endif

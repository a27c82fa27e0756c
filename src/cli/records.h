/* SPDX-License-Identifier: Apache-2.0
 * records.h - texts, pictures or sounds from a stream, one record at a time: plain lines, JSON lines, CSV, or
 * batches of columns (data/batches.h). */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H
#include "base/file.h"
#include "base/lines.h"
#include "data/batches.h"
#include "data/gunzip.h"
#include "data/unzstd.h"
#include "input/item_columns.h"

typedef enum { RECORDS_TEXT, RECORDS_JSONL, RECORDS_CSV, RECORDS_BATCHES } RecordForm;

typedef struct Record {
    Item item;
    const Value *id;       /* the record's own "id", or NULL */
    const Value *kept;     /* [keeps]; NULL: none are asked for, or the batch has them as columns */
    bool nothing;          /* no record: a batch without rows came, or something that is no batch */
    Err err;               /* code EF_OK: usable; else why this one is not. The last member: see records_next */
} Record;

typedef struct RecordBatch RecordBatch;
struct RecordBatch {       /* rows that came together */
    ArrowBatch rows;
    Arena arena;
    RecordBatch *next;
};

typedef struct RecordsHow { /* zero: the default */
    const char *form;      /* of records_forms; NULL: by the name's ending, or by the first bytes */
    const char *otherwise; /* the form of what neither says; NULL: text */
    const char *field;     /* where the text is, or a file's path: a key or a column; NULL: "text", "path" */
    const char *second;    /* where the second text of a pair is; NULL: "text_pair" */
    const char *keep;      /* "id,lang": handed through; "all"; "": none; NULL: none but the id */
    bool hold;             /* batches stay until records_release: kept columns are theirs */
} RecordsHow;

typedef struct Records {
    Lines lines;
    RecordForm form;
    const BatchForm *table;/* RECORDS_BATCHES */
    ItemNames names;       /* how a record's item is written: the keys of an object or the columns */
    RecordsHow how;
    Gunzip *gunzip;        /* NULL: the stream is not packed, or so: */
    Unzstd *unzstd;
    Arena head;            /* of what is below, and of what unpacks */
    Str *column;           /* CSV: its first record */
    size_t columns;
    Str *keep;             /* [keeps]: names of what is handed through */
    size_t keeps;
    BatchReader *reader;   /* NULL: another form */
    Mapping file;          /* that it reads; a stream has none */
    ItemColumns item_columns; /* that a record is made of */
    int id;                /* the column of the ids, if nothing is kept by name; -1: there is none */
    bool begun;            /* the first batch was asked for */
    int *keep_column;      /* [keeps] */
    RecordBatch *first, *last, *spare; /* those that are held: the oldest, and the one that is read */
    int64_t row;           /* of the last, next */
} Records;

extern const char *const records_forms[]; /* of --input-format; ends with NULL */
#define OPTION_FIELD                                                                              \
    { "field", 0, "NAME", "the key or column that holds the text; default: text (of pictures and sounds their path: "  \
                          "path)" }

bool records_know(const char *path); /* the name's ending says which form it has */
/* "-": stdin. What is packed with gzip or zstd is unpacked on the way, whatever its name. */
bool records_open(Records *, const char *path, const ItemForm *, const RecordsHow *, Err *);
/* False: the stream itself is broken. A bad record is handed out with its error. */
bool records_next(Records *, Arena *, Record *, bool *more, Err *);
/* Whether records_next would have to wait for whoever writes the stream. */
bool records_quiet(const Records *);
/* Leaves out the next rows. Where records come in batches, they must be one, which then is the oldest that is held;
 * number: its own, for messages. */
bool records_skip(Records *, int64_t rows, size_t number, Err *);
/* Leaves out the first rows, as far as they are whole batches; *left: those of the next batch that are not. *more
 * false: the input ended before; *left is how many are missing. */
bool records_drop(Records *, int64_t rows, int64_t *left, bool *more, Err *);
void records_release(Records *); /* the oldest batch, all of whose records are answered */
void records_close(Records *);
/* How the line that answers a record begins: {"id":7, or what is kept, */
void record_begin(Buf *, const Records *, const Record *);
size_t record_members(const Records *, const Record *); /* that this has */

/* records_batches.c, for records.c */
bool batches_open(Records *, const char *path, bool stream, Err *);
bool batches_record(Records *, Arena *, Record *, bool *more, Err *);
void batches_free(Records *);
/* records.c, for records_batches.c */
typedef struct RecordsColumn {
    const char *name;
    const char *flag;      /* "--keep: ", that named it, or ""; NULL: none did, and --field could */
} RecordsColumn;
bool records_lack(Records *, const Str *known, size_t n, const RecordsColumn *, Err *); /* fails: it is none of these */

#endif

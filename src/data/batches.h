/* SPDX-License-Identifier: Apache-2.0
 * batches.h - tables that come and go batch by batch: columns in Arrow's layout (arrow.h), whatever form
 * their bytes have. A form is a row: how it is recognized, read and written. Records, kept columns and
 * results know batches only.
 *
 *   arrow     a stream of messages, or a file of them with a footer
 *   parquet   a file with a footer; written in row groups
 *   csv, npy  written only: a line for each row; vectors as one array */
#ifndef DATA_BATCHES_H
#define DATA_BATCHES_H
#include "data/arrow.h"

/* ---- reading ---- */
typedef struct BatchReader BatchReader;
struct BatchReader {         /* the first member of a form's own; lives in the arena that it was opened with */
    const ArrowFields *fields;
    void (*want)(BatchReader *, int column);
    bool (*next)(BatchReader *, Arena *, ArrowBatch *, bool *more, Err *);
    void (*close)(BatchReader *);
    /* next has read something that is no batch (a dictionary, a stream's end): *more is true, but none is there yet. */
    bool unready;
    /* (optional) set by whoever mapped the file: these bytes are not needed again, and need not stay resident. */
    void (*forget)(const void *, size_t);
    void (*release)(BatchReader *); /* (optional) what only batches view that are done can go */
};
/* Bytes of a stream, up to `room`; *got 0: the end. */
typedef bool BatchPull(void *context, void *to, size_t room, size_t *got, Err *);

/* The column is checked and may be read; of others only their buffers count. */
static inline void batches_want(BatchReader *r, int column) { r->want(r, column); }
/* The next batch: its columns in the arena; they view the reader's own where that outlives them (a mapped
 * file, dictionaries). *more false: there is none. Errors say which batch. */
static inline bool batches_next(BatchReader *r, Arena *arena, ArrowBatch *out, bool *more, Err *err)
{
    do
        if (!r->next(r, arena, out, more, err)) return false;
    while (*more && r->unready);
    return true;
}
/* The same, one message at a time: who has answers to write does so before the next may have to be waited for. */
static inline bool batches_step(BatchReader *r, Arena *arena, ArrowBatch *out, bool *more, Err *err)
{
    return r->next(r, arena, out, more, err);
}
/* The oldest batch that was not released is of no use any more: its arena goes, and so may what it viewed. */
static inline void batches_release(BatchReader *r) { if (r->release) r->release(r); }
/* Frees what is not in its arena; batches are of no use any more. */
static inline void batches_close(BatchReader *r) { if (r) r->close(r); }

/* ---- writing ---- */
typedef bool BatchPut(void *context, Str bytes, Err *); /* all of them, in order */
typedef struct BatchOut {    /* where and how; zero is the default */
    BatchPut *put;
    void *context;
    bool gzip;               /* Parquet: pages are packed */
    /* of a file: other bytes in the place of earlier ones */
    bool (*patch)(void *context, uint64_t at, Str bytes, Err *);
} BatchOut;
typedef struct BatchWriter BatchWriter;
struct BatchWriter {         /* the first member of a form's own; lives in the arena that it was created with */
    bool (*add)(BatchWriter *, const ArrowBatch *, Err *);
    bool (*end)(BatchWriter *, Err *);
    void (*close)(BatchWriter *);
};
/* Columns as the schema has them, all of batch->rows entries. When it returns, all of the batch has been put
 * (Parquet may hold rows back up to a row group). */
static inline bool batches_add(BatchWriter *w, const ArrowBatch *b, Err *err) { return w->add(w, b, err); }
static inline bool batches_end(BatchWriter *w, Err *err) { return w->end(w, err); } /* end mark, footer */
static inline void batches_drop(BatchWriter *w) { if (w) w->close(w); } /* frees; after the end, or instead */

/* ---- forms ---- */
typedef struct BatchForm {
    const char *name;        /* of --input-format and --output-format */
    Str file, stream;        /* first bytes; n 0: there is no such form */
    Str encrypted;           /* (optional) first bytes of a file that open_file refuses as what it is */
    const char *endings[6];  /* of the names of files; ends with NULL */
    bool end_needed;         /* what is written is of no use before its end, and cannot be gone on with */
    /* (optional) the whole file, mapped: views of it are handed out; absent: it is only written */
    bool (*open_file)(Arena *, Str file, BatchReader **, Err *);
    /* (optional) without going back; absent: it must be a file */
    bool (*open_stream)(Arena *, BatchPull *, void *context, BatchReader **, Err *);
    /* Writes what stands in front. fields must outlive the writer. */
    bool (*create_file)(Arena *, const ArrowFields *, const BatchOut *, BatchWriter **, Err *);
    /* (optional) the form that a pipe takes */
    bool (*create_stream)(Arena *, const ArrowFields *, const BatchOut *, BatchWriter **, Err *);
} BatchForm;
extern const BatchForm batch_form_arrow, batch_form_parquet, batch_form_csv, batch_form_npy;
extern const BatchForm *const batch_forms[];     /* ends with NULL */
const BatchForm *batch_form_named(Str name);     /* NULL: none */
const BatchForm *batch_form_of_path(Str path);   /* by its ending; NULL: none */
bool batch_form_begins(Str head);               /* 4 bytes may be the beginning of one */
const BatchForm *batch_form_of_bytes(Str head, bool *stream); /* by 8 bytes from the front; NULL: none */
bool batch_form_encrypted(const BatchForm *, Str head); /* for a file said to be of that form: texts may begin so */

#endif

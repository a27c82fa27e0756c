/* SPDX-License-Identifier: Apache-2.0
 * map_table.h - answers as a table: kept columns first, then the task's (TaskTable), then `error`. A batch
 * that came is answered by one batch with the same rows; records of other forms make batches of their own. */
#ifndef CLI_MAP_TABLE_H
#define CLI_MAP_TABLE_H
#include "cli/records.h"
#include "data/arrow_build.h"
#include "model/model.h"

typedef struct MapAnswers {  /* to records */
    const Err *const *err;   /* [records]: why it failed; NULL: the next of these is its answer: */
    const Columns *columns;  /* of the task's table */
    size_t next;             /* of them */
} MapAnswers;

typedef struct MapTable {
    /* set before table_begin */
    Records *in;
    TaskTable table;
    ArrowVectors vectors;
    int64_t batch_rows;      /* of records that do not come in batches */
    /* its own */
    Arena arena, scratch;    /* scratch: of one call */
    ArrowFields fields;
    int kept, results;       /* columns of either; the last is `error` */
    ArrowBuild *keep, *result, *error; /* keep: of records that do not come in batches */
    BatchWriter *writer;     /* set before table_add */
    int64_t pending;         /* rows of the batch at hand */
} MapTable;

/* The columns, for whoever creates the writer. facts: the metadata; lives as long as the table. */
bool table_begin(MapTable *, ArrowPair *facts, int n, Err *);
/* Answers to the next n records, in their order. Writes the batches that they complete. */
bool table_add(MapTable *, const Record *, MapAnswers, size_t n, Err *);
bool table_ready(MapTable *, Err *);  /* nothing is under way: batches without rows are answered */
bool table_flush(MapTable *, Err *);  /* what is at hand, as a batch; not of records that come in batches */
/* Whether a row of a batch that was written before says what is said now: the same kept values and words, and numbers
 * that another CPU may have computed. An earlier error fits whatever is said now. The record came in that row, too. */
bool table_same(MapTable *, const Record *, MapAnswers, const ArrowBatch *before, int64_t row, bool *same, Err *);
void table_free(MapTable *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * map_parts.h - the checkpoint of `map`: results as Parquet files of so many rows each, in a folder. A part that has
 * its name is whole; a run that was cut off goes on at the first one that is missing, and its parts are those of an
 * undisturbed run, byte for byte.
 *
 *   run.json                  what the parts are made of: inputs, model, options, columns
 *   part-00002-00000.parquet  the first rows of the third input
 *   lock                      held by the process that writes here */
#ifndef CLI_MAP_PARTS_H
#define CLI_MAP_PARTS_H
#include "base/file.h"
#include "data/batches.h"
#include "data/value.h"

typedef struct MapParts MapParts;
typedef struct PartsKey {    /* must be the same in every run; kept in run.json */
    Str model, options;      /* hashes */
    int64_t rows;            /* of a part */
} PartsKey;

/* Inputs as they were given: names with * ? or [ in any part stand for what matches, a folder for all files below
 * it whose names say their form; in order. What begins with . or _ is left out, and so are the files of the checkpoint
 * in the folder `own`. */
bool parts_inputs(Arena *, const char *own, const char *const *given, int n, const char *const **out, int *count,
                  Err *);
/* Makes the folder and locks it. */
bool parts_open(Arena *, const char *folder, bool gzip, MapParts **, Err *);
/* The next input; fields: the table's, which outlive it. *skip: rows that whole parts have; *whole: it is done. The
 * first one checks the key against run.json, each the columns and whether its file is still the same. */
bool parts_begin(MapParts *, const char *input, const PartsKey *, const ArrowFields *, int64_t *skip, bool *whole,
                 Err *);
/* Where rows of the input go, from row skip - left on: `left` of them are in a part already. */
BatchWriter *parts_writer(MapParts *, int64_t left);
/* The input has ended with the rows that were skipped. */
bool parts_ended(MapParts *, int64_t rows, Err *);
int64_t parts_count(const MapParts *); /* whole parts of all inputs so far */
void parts_close(MapParts *);          /* NULL is fine */

#endif

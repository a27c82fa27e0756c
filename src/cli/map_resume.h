/* SPDX-License-Identifier: Apache-2.0
 * map_resume.h - going on with a table of Arrow that an earlier run of `map` left, behind its last whole batch. What is
 * there must have been made by the same model with the same options, in batches of as many rows, and of this input:
 * rows 1, 2, 4, 8 ... and the last one are answered again, and must say the same. */
#ifndef CLI_MAP_RESUME_H
#define CLI_MAP_RESUME_H
#include "cli/map_output.h"

typedef struct MapAgain {    /* answers a record again */
    /* *same: whether this row says it, too (table_same) */
    bool (*row)(void *context, const Record *, const ArrowBatch *before, int64_t row, bool *same, Err *);
    void *context;
} MapAgain;

/* The output has been begun (output_begin), and nothing of it written. False: the file was left as it is. */
bool output_resume(MapOutput *, const MapAgain *, Err *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * map_output.h - where the answers of `map` go, and in which form: lines of JSON, or a table. */
#ifndef CLI_MAP_OUTPUT_H
#define CLI_MAP_OUTPUT_H
#include "cli/cli.h"
#include "cli/map_parts.h"
#include "cli/map_table.h"
#include "kernels/kernels.h"

extern const char *const map_forms[];   /* of --output-format; ends with NULL */
extern const char *const map_results[], *const map_vectors[], *const map_dtypes[], *const map_errors[];
extern const char *const map_codecs[]; /* of --compression */

typedef struct MapOutput {
    const char *path;        /* NULL: stdout */
    int fd;
    Buf text;                /* bytes that are to be written */
    const BatchForm *form;   /* NULL: lines of JSON */
    MapTable table;          /* of a form */
    uint64_t done;           /* rows of the table that an earlier run has written, */
    bool whole;              /*   which are all */
    MapParts *parts;         /* of --checkpoint; NULL: one file */
} MapOutput;

/* The form of the output: --output-format, or by the name of --output, or that of the input (input NULL: JSON
 * lines, CSV or text). */
bool output_choose(Args *, const BatchForm *input, MapOutput *, Err *);
/* Opens the file; *begun: it has bytes already. Another process that writes it is an error. */
bool output_open(Args *, MapOutput *, bool *begun, Err *);
/* The table's columns and the beginning of its form, for records of `in`; params: of the task, or NULL. */
bool output_begin(Args *, MapOutput *, const Model *, Records *in, const Value *params, Err *);
/* Goes on behind the last whole batch, if what is there was begun with the same columns, model and options. */
bool output_resume(MapOutput *, Err *);
void output_undo(MapOutput *);          /* a file that was made for nothing is removed */
bool output_write(MapOutput *, Err *);  /* the text */
bool output_end(MapOutput *, Err *);    /* what is at hand, end mark and footer */
void output_close(MapOutput *);
const char *output_digest(Arena *, Sha256 *); /* its end, as text */

#endif

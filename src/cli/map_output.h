/* SPDX-License-Identifier: Apache-2.0
 * map_output.h - where the answers of `map` go, and in which form: lines of JSON, or a table. */
#ifndef CLI_MAP_OUTPUT_H
#define CLI_MAP_OUTPUT_H
#include <signal.h>

#include "cli/cli.h"
#include "cli/map_parts.h"
#include "cli/map_table.h"
#include "kernels/kernels.h"

extern const char *const map_forms[];   /* of --output-format; ends with NULL */
extern const char *const map_results[], *const map_vectors[], *const map_dtypes[], *const map_errors[];
extern const char *const map_codecs[]; /* of --compression */

typedef struct MapOutput {
    const char *path;        /* NULL: stdout */
    const volatile sig_atomic_t *stop; /* (optional) set by a signal: nothing that blocks is waited for any more */
    int fd;
    bool pipe;               /* it is no regular file, nor becomes one */
    bool stopped;            /* what was left to write was given up */
    FileWriter file;         /* of a form that is of no use without its end; path NULL: none */
    Buf text;                /* bytes that are to be written */
    const BatchForm *form;   /* NULL: lines of JSON */
    MapTable table;          /* of a form */
    TaskOptions options;     /* of the task, as they were asked for */
    uint64_t done;           /* rows of the table that an earlier run has written, */
    bool whole;              /*   which are all */
    MapParts *parts;         /* of --checkpoint; NULL: one file */
} MapOutput;

/* The form of the output: --output-format, or by the name of --output, or that of the input (input NULL: JSON
 * lines, CSV or text; then it is JSON lines). */
bool output_choose(Args *, const BatchForm *input, MapOutput *, Err *);
/* Opens the file; *begun: it has bytes already. Another process that writes it is an error. */
bool output_open(Args *, MapOutput *, bool *begun, Err *);
/* The table's columns and the beginning of its form, for records of `in`. */
bool output_begin(Args *, MapOutput *, const Model *, Records *in, Err *);
void output_undo(MapOutput *);          /* a file that was made for nothing is removed */
bool output_write(MapOutput *, Err *);  /* the text */
bool output_end(MapOutput *, Err *);    /* what is at hand, end mark and footer; then the file has its name */
void output_close(MapOutput *);
const char *output_digest(Arena *, Sha256 *); /* its end, as text */

#endif

/* SPDX-License-Identifier: Apache-2.0
 * arrow_form.h - Arrow's IPC format: a stream of messages, or a file of them with a footer.
 *
 * Read: every type but numbers of unknown widths and dictionaries in dictionaries,
 * columns of which may be there and cannot be wanted; big endian is refused; dictionaries, also of several parts;
 * bodies compressed with LZ4 or ZSTD.
 * Written: the same types, bodies as they are; dictionaries as they came. */
#ifndef DATA_ARROW_FORM_H
#define DATA_ARROW_FORM_H
#include "data/batches.h"

bool arrow_open_stream(Arena *, BatchPull *, void *context, BatchReader **, Err *);
bool arrow_open_file(Arena *, Str file, BatchReader **, Err *); /* by its footer */
bool arrow_create_stream(Arena *, const ArrowFields *, const BatchOut *, BatchWriter **, Err *);
bool arrow_create_file(Arena *, const ArrowFields *, const BatchOut *, BatchWriter **, Err *);
/* Going on behind what another writer left in a file: `front` is what the new one has put so far, and the file must
 * begin with it. False: it does not. */
typedef struct ArrowResumed {
    size_t bytes;            /* up to the end of the last whole batch; 0: not even the front is there */
    const int64_t *rows;     /* [n]: of each whole batch */
    size_t n;
    bool whole;              /* it was written to its end */
} ArrowResumed;
bool arrow_resume(BatchWriter *, Str file, Str front, ArrowResumed *, Err *);
/* The dictionaries of the last batch that is there have been written. */
void arrow_resume_dictionaries(BatchWriter *, const ArrowColumn *, int n);
/* The message that a stream begins with. */
void arrow_write_schema(Buf *, const ArrowFields *);

#endif

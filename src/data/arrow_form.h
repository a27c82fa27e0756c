/* SPDX-License-Identifier: Apache-2.0
 * arrow_form.h - Arrow's IPC format: a stream of messages, or a file of them with a footer.
 *
 * Read: every type but unions, run ends and list views, which are refused by name, as is big endian;
 * dictionaries, also of several parts; bodies compressed with LZ4 or ZSTD.
 * Written: the same types, bodies as they are; dictionaries as they came. */
#ifndef DATA_ARROW_FORM_H
#define DATA_ARROW_FORM_H
#include "data/batches.h"

bool arrow_open_stream(Arena *, BatchPull *, void *context, BatchReader **, Err *);
bool arrow_open_file(Arena *, Str file, BatchReader **, Err *); /* by its footer */
bool arrow_create_stream(Arena *, const ArrowFields *, const BatchOut *, BatchWriter **, Err *);
bool arrow_create_file(Arena *, const ArrowFields *, const BatchOut *, BatchWriter **, Err *);
/* The message that a stream begins with. */
void arrow_write_schema(Buf *, const ArrowFields *);

#endif

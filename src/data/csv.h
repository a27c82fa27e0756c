/* SPDX-License-Identifier: Apache-2.0
 * csv.h - RFC 4180: fields between commas, quoted where they hold commas, quotes or line ends. */
#ifndef DATA_CSV_H
#define DATA_CSV_H
#include "base/base.h"

/* Does the record that begins like this go on in the next line (a quote is still open)? */
bool csv_open_ended(Str begin);
/* One record to its fields, in the arena. False: a quote in the wrong place. */
bool csv_read(Arena *, Str record, Str **fields, size_t *n, Err *);
void csv_write(Buf *, Str field); /* quoted where needed */

#endif

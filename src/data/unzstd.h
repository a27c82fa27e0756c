/* SPDX-License-Identifier: Apache-2.0
 * unzstd.h - what is inside a stream of ZSTD frames, read in bounded memory (a frame's window is at most 128 MiB). As
 * gunzip.h: damaged data, a cut end and anything else behind a frame are errors. */
#ifndef DATA_UNZSTD_H
#define DATA_UNZSTD_H
#include "data/gunzip.h"

typedef struct Unzstd Unzstd;

bool unzstd_is(Str head); /* do these bytes begin a frame? */
/* head: packed bytes that were read already; must stay valid. */
Unzstd *unzstd_open(Arena *, Str head, GunzipSource *, void *context);
bool unzstd_read(Unzstd *, void *to, size_t room, size_t *got, Err *); /* *got 0: the end */
void unzstd_close(Unzstd *); /* NULL is fine */

#endif

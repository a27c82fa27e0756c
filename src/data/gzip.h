/* SPDX-License-Identifier: Apache-2.0
 * gzip.h - gzip (RFC 1952) by zlib. Equal bytes give equal files: no time and no name is kept. */
#ifndef DATA_GZIP_H
#define DATA_GZIP_H
#include "base/base.h"

enum { GZIP_FAST = 1, GZIP_SMALL = 9 };

/* Receives the compressed bytes so far; returning false stops. */
typedef bool GzipSink(void *context, const void *, size_t, Err *);
typedef struct Gzip Gzip;
Gzip *gzip_open(Arena *, int level, GzipSink *, void *context);
bool gzip_add(Gzip *, Str bytes, Err *);
bool gzip_close(Gzip *, Err *); /* writes the end; always call it: it frees */

void gzip_pack(Buf *out, Str bytes, int level); /* appends */
/* Appends what is inside: of all members, one after the other (RFC 1952, 2.2). More than `most`
 * bytes, broken or cut data is an error, and so is what stands behind the last member, except for
 * zeros (which gzip and Python ignore, too). */
bool gzip_unpack(Buf *out, Str compressed, size_t most, Err *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * gunzip.h - what is inside a gzip stream (RFC 1952), read in bounded memory. Several members one
 * after the other are one stream; damaged data, a cut end and anything else behind a member are
 * errors. */
#ifndef DATA_GUNZIP_H
#define DATA_GUNZIP_H
#include "base/base.h"

/* Up to `room` compressed bytes; *got 0: there are no more. */
typedef bool GunzipSource(void *context, void *to, size_t room, size_t *got, Err *);
typedef struct Gunzip Gunzip;

bool gunzip_is(Str head); /* do these bytes begin a gzip stream? */
/* head: compressed bytes that were read already; must stay valid. */
Gunzip *gunzip_open(Arena *, Str head, GunzipSource *, void *context);
bool gunzip_read(Gunzip *, void *to, size_t room, size_t *got, Err *); /* *got 0: the end */
void gunzip_close(Gunzip *); /* NULL is fine */

#endif

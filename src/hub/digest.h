/* SPDX-License-Identifier: Apache-2.0
 * digest.h - whether bytes are those that an ETag of the Hub names: 64 hexadecimal digits are their
 * SHA-256, 40 are what git calls them (SHA-1 of "blob SIZE\0" and the bytes). */
#ifndef HUB_DIGEST_H
#define HUB_DIGEST_H
#include "base/base.h"

typedef struct Sha1 {
    uint32_t state[5];
    uint64_t length;
    uint8_t tail[64];
} Sha1;
void sha1_start(Sha1 *);
void sha1_add(Sha1 *, const void *, size_t);
void sha1_end(Sha1 *, uint8_t out[20]);

bool digest_known(Str etag); /* it is one of the two kinds */
/* Errors: the bytes have another digest. One of another kind is not compared. */
bool digest_fits(Str bytes, const char *name, Str etag, Err *);
/* Reads the first `size` bytes of a file and does the same. */
bool digest_check(int fd, uint64_t size, const char *name, Str etag, Err *);

#endif

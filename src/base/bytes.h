/* SPDX-License-Identifier: Apache-2.0
 * bytes.h - numbers in files of either byte order, and what the first bytes of a file say. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H
#include "base.h"

static inline uint32_t le16(const uint8_t *p) { return (uint32_t)(p[0] | p[1] << 8); }
static inline uint32_t le32(const uint8_t *p) { return le16(p) | le16(p + 2) << 16; }
static inline uint32_t be16(const uint8_t *p) { return (uint32_t)(p[0] << 8 | p[1]); }
static inline uint32_t be32(const uint8_t *p) { return be16(p) << 16 | be16(p + 2); }

typedef struct Magic {
    const char *bytes;       /* '?' is any */
    int length;
} Magic;
#define MAGIC(literal) { literal, sizeof(literal) - 1 }
bool bytes_begin(Str, const Magic *);

enum { BYTES_SHOWN = 4 * 12 + 1 };
/* The first twelve for a message, so that text that was sent as a file is recognized by whoever sent it. */
const char *bytes_show(Str, char out[BYTES_SHOWN]);

#endif

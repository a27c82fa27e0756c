/* SPDX-License-Identifier: Apache-2.0
 * partial.h - a large download that can be stopped and continued: a file that has its whole length
 * from the beginning, and behind it how much of each piece is there.
 *
 *     [0, size)  the bytes; pieces of PARTIAL_PIECE, the last one shorter
 *     size       "encoderfile partial 1\n", zeros to 32 bytes; a u32 per piece: its bytes so far
 *
 * A piece's bytes are written before its number, so a killed process leaves numbers that are true.
 * After a power failure they may not be: the digest of the whole decides. */
#ifndef HUB_PARTIAL_H
#define HUB_PARTIAL_H
#include <pthread.h>

#include "base/base.h"

enum { PARTIAL_PIECE = 8 << 20 };
typedef struct Partial {
    int fd;
    const char *path;
    uint64_t size;
    int pieces;
    uint32_t *done;       /* [pieces]; each belongs to one thread at a time */
    pthread_mutex_t lock; /* of `next` */
    int next;             /* the first piece that nobody has taken */
} Partial;
/* Continues what is there, if it is of this size. */
bool partial_open(Arena *, const char *path, uint64_t size, Partial *, Err *);
void partial_restart(Partial *);         /* forgets all bytes */
uint64_t partial_bytes(const Partial *); /* that are there */
int partial_take(Partial *); /* a piece that is not whole and that nobody else has; -1: none */
uint64_t partial_from(const Partial *, int piece); /* the first byte that it lacks */
uint64_t partial_to(const Partial *, int piece);   /* its last byte */
bool partial_add(Partial *, int piece, Str bytes,
                 Err *); /* behind what it has; not more than fits */
bool partial_finish(Partial *, const char *final, Err *); /* renames it; the digest was right */
void partial_close(Partial *);                            /* it stays for the next time */
void partial_remove(Partial *);

#endif

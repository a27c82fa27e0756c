/* SPDX-License-Identifier: Apache-2.0
 * child.h - another program, run once: bytes in, bytes out. It is found by its path, gets the arguments
 * as they are (no shell), an empty environment and no files but its three streams, and may use no more
 * time, memory and output than it is given; whoever goes over is killed. */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H
#include "base/base.h"

typedef struct ChildCall {
    const char *const *argv;  /* ends with NULL; argv[0] is the program's path */
    Str in[2];                /* what it reads, one after the other */
    char *out;                /* what it writes: [room]; more than that is an error */
    size_t room;
    double seconds;           /* until it must have ended */
    size_t memory;            /* bytes of address space */
} ChildCall;
/* True: it ended by itself with status 0, and wrote *n bytes. Errors name the program, and quote the
 * first line that it wrote to its stderr. Nothing is allocated while it runs. */
bool child_run(const ChildCall *, size_t *n, Err *);
bool child_is(const char *path); /* a file that may be run */
/* Path of a program that PATH finds; NULL: it is not there. */
const char *child_find(Arena *, const char *name);

#endif

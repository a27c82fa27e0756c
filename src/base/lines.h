/* SPDX-License-Identifier: Apache-2.0
 * lines.h - a stream, line by line, in bounded memory. */
#ifndef BASE_LINES_H
#define BASE_LINES_H
#include "base.h"

enum { LINE_LIMIT = 16 << 20 };

typedef struct Lines {
    const char *name;      /* for messages */
    int fd;
    Buf buf;               /* what was read and not yet handed out, from `at` on */
    size_t at;
    bool end;
    uint64_t number;       /* of the line handed out last, from 1 */
    uint64_t bytes;        /* read so far */
    uint64_t total;        /* of the file; 0: not known */
} Lines;

bool lines_open(Lines *, const char *path, Err *); /* "-": stdin */
/* The next line without its "\n", valid until the next call; *more false: there is none. A line
 * beyond LINE_LIMIT is an error. */
bool lines_next(Lines *, Str *line, bool *more, Err *);
void lines_close(Lines *);

#endif

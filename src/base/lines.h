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
    size_t most;           /* bytes of a line; LINE_LIMIT, and the caller may change it */
    /* (optional) what the lines are made of, up to `room` bytes at a time, *got 0 at the end;
     * absent: lines_raw. It reads the stream by lines_raw itself. */
    bool (*pull)(void *context, void *to, size_t room, size_t *got, Err *);
    void *context;
} Lines;

bool lines_open(Lines *, const char *path, Err *); /* "-": stdin */
/* The next line without its "\n", valid until the next call; *more false: there is none. A line
 * beyond `most` is an error. */
bool lines_next(Lines *, Str *line, bool *more, Err *);
/* Whether lines_next would have to wait for whoever writes the stream. */
bool lines_quiet(const Lines *);
/* Up to n bytes from the stream's beginning, before the first line; fewer: that is all of it. */
bool lines_head(Lines *, size_t n, Str *head, Err *);
/* Bytes as they come, what is held first: for streams that turn out to have no lines. */
bool lines_bytes(void *lines, void *to, size_t room, size_t *got, Err *);
bool lines_raw(void *lines, void *to, size_t room, size_t *got, Err *); /* bytes as they come */
void lines_close(Lines *);

#endif

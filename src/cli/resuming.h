/* SPDX-License-Identifier: Apache-2.0
 * resuming.h - is a file the beginning of what `map` writes for an input? Whoever goes on behind it
 * asks first: a file that is something else must not lose a byte. */
#ifndef CLI_RESUMING_H
#define CLI_RESUMING_H
#include "cli/records.h"
#include "task/task.h"

typedef struct Resuming {
    Records *in;           /* is read on to the record that is answered next */
    const Task *task;
    Arena arena;           /* of `next` */
    /* found */
    uint64_t lines, errors; /* whole lines; those of them that tell an error */
    uint64_t bytes;        /* of the whole lines: what is behind them is the beginning of one */
    Record next;           /* if `ahead`: read, but not answered yet */
    bool ahead;
} Resuming;

/* Every whole line must be an answer to the input's line of that number: a JSON object with that
 * line's id, if it has one, and an error or the members of this task's results. What is behind the
 * last line end must begin like the next answer. False: it is not so, and *err says where. Changes
 * nothing. */
bool resuming_check(Resuming *, const char *path, Err *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * resuming.h - is a file the beginning of what `map` writes for an input? Whoever goes on behind it
 * asks first: a file that is something else must not lose a byte. */
#ifndef CLI_RESUMING_H
#define CLI_RESUMING_H
#include "cli/records.h"
#include "task/task.h"

enum { RESUMING_SAMPLES = 64 }; /* more than powers of two that count lines */

typedef struct ResumingLine { /* of the file, to be answered again */
    Record record;         /* what it answers */
    uint64_t number, at;   /* from 1; its first byte */
    size_t n;              /* bytes, without the line end */
} ResumingLine;

typedef struct Resuming {
    Records *in;           /* is read on to the record that is answered next */
    const Task *task;
    Arena arena;           /* of `next` and `sample`, but for the last one's: */
    Arena last[2];         /* of the records of lines with even and odd numbers */
    /* found */
    uint64_t lines, errors; /* whole lines; those of them that tell an error */
    uint64_t bytes;        /* of the whole lines: what is behind them is the beginning of one */
    Record next;           /* if `ahead`: read, but not answered yet */
    bool ahead;
    ResumingLine sample[RESUMING_SAMPLES]; /* whole lines 1, 2, 4, 8 ... and the last */
    int samples;
} Resuming;

/* Every whole line must be an answer to the input's line of that number: a JSON object with that
 * line's id, if it has one, and an error or the members of this task's results. What is behind the
 * last line end must begin like the next answer. False: it is not so, and *err says where. Changes
 * nothing. */
bool resuming_check(Resuming *, const char *path, Err *);
/* Whether the file's sampled lines say what `answers` does, which are lines, too: the same words,
 * and numbers that another CPU may have computed. By this, records without ids are told apart, and
 * models, too. An earlier error may have had a passing cause: it fits whatever is said now. */
bool resuming_same(const Resuming *, const char *path, Str answers, Err *);
bool resuming_same_value(const Value *, const Value *); /* likewise */
void resuming_free(Resuming *);

#endif

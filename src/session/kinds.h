/* SPDX-License-Identifier: Apache-2.0
 * kinds.h - what a job can be asked for: rows. A kind reads a body into texts and builds a reply;
 * everything between (tokens, queue, runs) is the same for all. */
#ifndef SESSION_KINDS_H
#define SESSION_KINDS_H
#include "stages.h"

typedef struct KindRow {
    bool (*read)(const Session *, Job *, const Value *request); /* on failure job->err */
    Value (*finish)(const Session *, Job *); /* the reply; NULL: the task's */
    bool runs;                               /* the model is needed */
} KindRow;
const KindRow *kind_of(const Job *);

#endif

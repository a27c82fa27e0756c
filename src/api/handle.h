/* SPDX-License-Identifier: Apache-2.0
 * handle.h - what lies behind the handles of a model and of a reply. */
#ifndef API_HANDLE_H
#define API_HANDLE_H
#include "api/process.h"
#include "api/tokens.h"
#include "dialect/dialect.h"

struct ef_model {
    Arena arena;
    Model *model;
    Session *session;
    pid_t process;         /* that opened it */
    ef_info info;
    const char *output;    /* of the graph: its name */
    ef_tokenizer tokenizer;
};

struct ef_reply {
    Arena arena;
    Job *job;
    const Model *model;
    ef_tensor *tensor;     /* [job->n]; NULL: the rows' numbers were not kept */
    const ef_value *value; /* NULL: not asked for yet */
};

/* inputs.c: what a caller gives becomes items of the job; what the model does not take is refused by name. */
bool inputs_take(const Model *, Job *, const ef_input *, size_t count, Err *);

#endif

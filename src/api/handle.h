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

/* predict.c. False: this thread is the model's, and runs a caller's `done`. */
bool model_may_wait(const ef_model *, Err *);

typedef struct InputsCall { /* inputs of a caller, and the job that they become */
    ef_model *m;
    const ef_input *in;
    size_t count;
    const char *params;    /* JSON, or NULL */
    Job *job;
    Err err;
} InputsCall;
/* inputs.c: a new job with what the caller gave as its items; what the model does not take is refused by name. */
bool inputs_take(InputsCall *);
bool inputs_params(InputsCall *, Value **out); /* parsed; NULL: there are none */
bool inputs_options(InputsCall *);             /* read as the options of POST /predict */

#endif

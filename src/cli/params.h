/* SPDX-License-Identifier: Apache-2.0
 * params.h - what a command asks a model's task for, as POST /predict takes it: --params with the
 * JSON, or a flag for each option. The flags are made of the tasks' request schemas. */
#ifndef CLI_PARAMS_H
#define CLI_PARAMS_H
#include "cli/cli.h"
#include "dialect/job.h"

#define OPTION_PARAMS                                                                             \
    { "params", 0, "JSON", "options of the model's task, as POST /predict takes them: '{\"top_k\": 3}'" }

/* NULL: nothing is asked for. A flag that the task does not have is an error. */
bool params_read(Args *, const Task *, const Value **out, Err *);
/* Of a job whose items are there. chars: --offsets says so. */
bool params_set(const Session *, Job *, const Value *params, bool chars, Err *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * params.h - what a command asks a model's task for: --params, as POST /predict takes it. */
#ifndef CLI_PARAMS_H
#define CLI_PARAMS_H
#include "cli/cli.h"
#include "dialect/job.h"

#define OPTION_PARAMS                                                                             \
    { "params", 0, "JSON", "options of the model's task, as POST /predict takes them: '{\"top_k\": 3}'" }

bool params_read(Args *, const Value **out, Err *); /* NULL: not given */
/* Of a job whose items are there. chars: --offsets says so. */
bool params_set(const Session *, Job *, const Value *params, bool chars, Err *);

#endif

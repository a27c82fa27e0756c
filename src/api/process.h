/* SPDX-License-Identifier: Apache-2.0
 * process.h - whose a handle is: threads do not come along when a process forks, so that what they serve is of no use
 * in the child. */
#ifndef API_PROCESS_H
#define API_PROCESS_H
#include <unistd.h>

#include "base/base.h"

static inline bool process_owns(pid_t opened_by)
{
    return getpid() == opened_by;
}

/* what: "the model" */
static inline bool process_check(pid_t opened_by, const char *what, Err *err)
{
    return process_owns(opened_by) ||
           fail(err, EF_UNAVAILABLE, "%s was opened by process %d, this is its child %d: open it again here", what,
                (int)opened_by, (int)getpid());
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * guard_call.h - memory that is missing fails a call of the API and does not end its caller's
 * process. What the call had allocated by then may stay allocated. */
#ifndef API_GUARD_CALL_H
#define API_GUARD_CALL_H
#include "base/budget.h"

/* Calls fn. False: it was left for want of memory, and err says so. */
static inline bool guard_call(void (*fn)(void *), void *arg, Err *err)
{
    Shortage shortage;
    return guarded(fn, arg, &shortage) ||
           fail(err, EF_IO, "out of memory: %zu bytes could not be had", shortage.wanted);
}

#endif

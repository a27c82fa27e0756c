/* SPDX-License-Identifier: Apache-2.0
 * guard_call.h - if memory runs out, a call of the API fails and its caller's process goes on. What the
 * call had allocated by then may stay allocated; files that it was writing are removed. */
#ifndef API_GUARD_CALL_H
#define API_GUARD_CALL_H
#include "base/budget.h"

/* Calls fn. False: it was abandoned because memory ran out, and err says so. */
static inline bool guard_call(void (*fn)(void *), void *arg, Err *err)
{
    Shortage shortage;
    return guarded(fn, arg, &shortage) ||
           fail(err, EF_IO, "out of memory: %zu bytes could not be had", shortage.wanted);
}

#endif

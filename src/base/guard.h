/* SPDX-License-Identifier: Apache-2.0
 * guard.h - between arena.c and budget.c: local arenas that are freed when a guarded call is
 * abandoned. */
#ifndef BASE_GUARD_H
#define BASE_GUARD_H
#include "base.h"

void guard_enter(Arena *); /* at its first block; does nothing outside of a guarded call */
void guard_leave(Arena *); /* it has none any more */

#endif

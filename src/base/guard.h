/* SPDX-License-Identifier: Apache-2.0
 * guard.h - between arena.c and budget.c: local arenas that a guarded call frees when it is left. */
#ifndef BASE_GUARD_H
#define BASE_GUARD_H
#include "base.h"

void guard_enter(Arena *); /* it has its first block; does nothing outside of a guarded call */
void guard_leave(Arena *); /* it has none any more */

#endif

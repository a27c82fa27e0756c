/* SPDX-License-Identifier: Apache-2.0
 * guard.h - what ends when a guarded call is abandoned: local arenas (arena.c) and files that are being
 * written (file.c). */
#ifndef BASE_GUARD_H
#define BASE_GUARD_H
#include "base.h"

void guard_enter(Arena *); /* at its first block; does nothing outside of a guarded call */
void guard_leave(Arena *); /* it has none any more */

typedef struct GuardHold GuardHold;
struct GuardHold {          /* a part of what must not stay open */
    void (*end)(GuardHold *); /* called when the call is abandoned; before that it lets go itself */
    Guard *guard;           /* that knows it; NULL: none. Among others: */
    GuardHold *next;
};
void guard_hold(GuardHold *, void (*end)(GuardHold *)); /* does nothing outside of a guarded call */
void guard_let_go(GuardHold *);

#endif

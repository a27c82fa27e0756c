/* SPDX-License-Identifier: Apache-2.0
 * budget.c - counters with a limit, and the one place where a call is abandoned because memory
 * ran out. */
#include "budget.h"

#include <setjmp.h>
#include <stdlib.h>

#include "guard.h"

/* ---- counting ---- */
static size_t budget_count_up(size_t *counter, size_t bytes)
{
    return __atomic_add_fetch(counter, bytes, __ATOMIC_RELAXED);
}

size_t budget_used(const Budget *budget)
{
    return __atomic_load_n(&budget->used, __ATOMIC_RELAXED);
}

size_t budget_needs(const Budget *budget, size_t more)
{
    size_t aside = __atomic_load_n(&budget->aside, __ATOMIC_RELAXED);
    return budget_used(budget) + budget->beside + MAX(more, aside);
}

static bool draw_from(Budget *budget, size_t bytes)
{
    size_t used = budget_count_up(&budget->used, bytes);
    if (!budget->limit || used <= budget->limit) return true;
    budget_count_up(&budget->used, -bytes);
    return false;
}

/* Takes up to this many bytes of what was set aside. */
static size_t take_aside(Budget *budget, size_t bytes)
{
    size_t aside = __atomic_load_n(&budget->aside, __ATOMIC_RELAXED), some;
    do some = MIN(aside, bytes);
    while (some && !__atomic_compare_exchange_n(&budget->aside, &aside, aside - some, true,
                                                __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return some;
}

bool budget_draw(Budget *budget, size_t bytes)
{
    size_t promised = take_aside(budget, bytes);
    if (!draw_from(budget, bytes)) return budget_count_up(&budget->aside, promised), false;
    if (!budget->all || draw_from(budget->all, bytes - promised)) return true;
    budget_count_up(&budget->used, -bytes);
    budget_count_up(&budget->aside, promised);
    return false;
}

bool budget_has(const Budget *budget, size_t bytes)
{
    if (!budget) return true;
    return (!budget->limit || budget_used(budget) + bytes <= budget->limit) &&
           budget_has(budget->all, bytes);
}

void budget_return(Budget *budget, size_t bytes)
{
    budget_count_up(&budget->used, -bytes);
    if (budget->all) budget_count_up(&budget->all->used, -bytes);
}

void budget_count(Budget *budget, size_t *counted, size_t bytes)
{
    if (bytes != *counted) budget_count_up(&budget->used, bytes - *counted); /* all threads' */
    *counted = bytes;
}

bool budget_aside(Budget *budget, size_t bytes)
{
    if (budget->all && !draw_from(budget->all, bytes)) return false;
    budget_count_up(&budget->aside, bytes);
    return true;
}

void budget_join(Budget *budget, Budget *all)
{
    budget->all = all;
    budget_count_up(&all->used, budget->used);
}

void budget_leave(Budget *budget)
{
    if (budget->all) budget_count_up(&budget->all->used, -(budget->used + budget->aside));
    budget->all = NULL;
    budget->aside = 0;
}

/* ---- leaving ---- */
struct Guard {
    jmp_buf back;
    Guard *outer;
    Arena *local; /* those that end with the call, */
    GuardHold *held; /* and what else does */
    Shortage shortage;
};
static _Thread_local Guard *innermost;

bool guarded(void (*fn)(void *), void *arg, Shortage *out)
{
    Guard guard = { .outer = innermost };
    innermost = &guard;
    volatile bool ok = false;
    if (_setjmp(guard.back) == 0) {
        fn(arg);
        ok = true;
    }
    innermost = guard.outer;
    for (Arena *arena; (arena = guard.local);) { /* of a caller's, that is still in use */
        guard_leave(arena);
        guard_enter(arena);
    }
    for (GuardHold *hold; (hold = guard.held);) {
        guard_let_go(hold);
        guard_hold(hold, hold->end);
    }
    if (!ok) *out = guard.shortage;
    return ok;
}

bool is_guarded(void)
{
    return innermost;
}

void memory_missing(size_t wanted, const Budget *budget, bool limit)
{
    Guard *guard = innermost;
    if (!guard) {
        fprintf(stderr, "encoderfile: out of memory (%zu bytes)\n", wanted);
        abort();
    }
    size_t needs = budget ? budget_needs(budget, wanted) : wanted;
    guard->shortage = (Shortage){ wanted, needs, limit };
    while (guard->held) guard->held->end(guard->held);
    while (guard->local) arena_free(guard->local);
    longjmp(guard->back, 1);
}

/* ---- arenas that end with the call (arena.c) ---- */
void guard_enter(Arena *arena)
{
    if (!innermost) return;
    arena->guard = innermost;
    arena->next_local = innermost->local;
    innermost->local = arena;
}

void guard_leave(Arena *arena)
{
    if (!arena->guard) return;
    Arena **at = &arena->guard->local;
    while (*at != arena) at = &(*at)->next_local;
    *at = arena->next_local;
    arena->guard = NULL;
}

/* ---- files that end with the call (file.c) ---- */
void guard_hold(GuardHold *hold, void (*end)(GuardHold *))
{
    *hold = (GuardHold){ .end = end, .guard = innermost };
    if (!innermost) return;
    hold->next = innermost->held;
    innermost->held = hold;
}

void guard_let_go(GuardHold *hold)
{
    if (!hold->guard) return;
    GuardHold **at = &hold->guard->held;
    while (*at != hold) at = &(*at)->next;
    *at = hold->next;
    hold->guard = NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * budget.h - what requests may hold, and what happens when one wants more.
 *
 * Arenas and buffers of a request draw on its Budget, and that on the budget of all. If the
 * budget or the system has no memory left, the program ends, unless the allocation happened
 * inside `guarded`: then the call unwinds to there, and only that request fails.
 *
 * Code that runs guarded may be abandoned at any line that allocates. So it holds no lock, writes
 * files by a FileWriter only (file.h), and its memory belongs to an arena that outlives it or is
 * `local` (base.h). */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H
#include "base.h"

struct Budget {          /* zero-initialised: no limit. The counters are atomic */
    Budget *all;         /* (optional) what this one is a part of */
    size_t limit;        /* 0: none */
    size_t used;         /* bytes that are held; of `all`: by its parts, with what they set aside */
    size_t aside;        /* of `all`, promised to this one and not used yet */
    size_t beside;       /* that `all` counts for the same request elsewhere: what it was read from */
};
bool budget_draw(Budget *, size_t bytes);   /* false: over a limit, and nothing was drawn */
bool budget_has(const Budget *, size_t bytes); /* a guess: others draw at the same time; NULL: yes */
void budget_return(Budget *, size_t bytes);
void budget_count(Budget *, size_t *counted, size_t bytes); /* it holds that now, limit or not */
bool budget_aside(Budget *, size_t bytes);  /* promises them; false: over a limit */
void budget_join(Budget *, Budget *all);    /* charges there what it holds, limit or not */
void budget_leave(Budget *);                /* what it holds counts nowhere else any more */
size_t budget_used(const Budget *);
size_t budget_needs(const Budget *, size_t more); /* what it would take of `all`, were it alone */

typedef struct Shortage {
    size_t wanted;       /* bytes */
    size_t needs;        /* with them, by the same budget: budget_needs */
    bool limit;          /* true: over the budget; false: the system had no memory */
} Shortage;
/* Calls fn. Returns false if fn ran out of memory: it was abandoned at that allocation. */
bool guarded(void (*fn)(void *), void *arg, Shortage *);
bool is_guarded(void);   /* this call is inside of one */
/* Leaves the guarded call; without one, ends the program. */
_Noreturn void memory_missing(size_t wanted, const Budget *, bool limit); /* NULL: no budget */

#endif

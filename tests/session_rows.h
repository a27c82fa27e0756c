/* SPDX-License-Identifier: Apache-2.0
 * session_rows.h - work made without a dialect, which a session does not need: items that are texts
 * "w0 the river 10", "w1 the river 9" ... for the preparer under test. */
#ifndef SESSION_ROWS_H
#define SESSION_ROWS_H
#include "check.h"
#include "model/model.h"
#include "session/session.h"

static inline bool open_items(Session *s, Work *work)
{
    (void)s;
    work->item = ARRAY(&work->arena, Item, work->n);
    for (size_t i = 0; i < work->n; i++)
        work->item[i].first =
            str_of(str_format(&work->arena, "w%zu the river %d", i, 10 - (int)i));
    return true;
}

static inline size_t item_number(const Item *item)
{
    return (size_t)atoi(item->first.p + 1);
}

static inline void finish_nothing(Session *s, Pool *pool, Work **work, int n)
{
    (void)s, (void)pool, (void)work, (void)n;
}

static const SessionSteps item_steps = { open_items, finish_nothing };

static inline Work *new_work(const Preparer *preparer, size_t items)
{
    Arena arena = { 0 };
    Work *work = NEW(&arena, Work);
    work_init(work, arena);
    work->preparer = preparer;
    work->n = items;
    return work;
}

/* preparer NULL: the model's */
static inline Work *run_items(const Model *model, const Preparer *preparer, size_t items, int threads)
{
    Work *work = new_work(preparer, items);
    Session *s = session_new(model, &(SessionOptions){ .threads = threads }, &item_steps);
    session_run(s, work);
    session_free(s);
    return work;
}

static inline void free_work(Work *work)
{
    work_shrink(work);
    Arena arena = work->arena;
    arena.budget = NULL;
    arena_free(&arena);
}

static inline bool same_result(const TaskTensor *a, const TaskTensor *b)
{
    return a->tokens == b->tokens && a->width == b->width &&
           memcmp(a->data, b->data, (size_t)(a->tokens * a->width) * sizeof *a->data) == 0;
}

#endif

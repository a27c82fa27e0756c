/* SPDX-License-Identifier: Apache-2.0
 * crew.c - the threads of a stage. One that a script keeps is replaced: it steps back behind the
 * others, another is hired for its place, and it ends with its job, since a thread that has given
 * way cannot come back. So what is stuck costs its own request time, and others next to nothing. */
#include "stages.h"

enum {
    MOST_REPLACED = 16,          /* of a crew, at once; the next ones hold their place */
    STEP_USUAL = 1,              /* more would give way to other programs, too */
    STEP_BACK = 10,              /* about a tenth of the time of one that did not */
};

static void *crew_work(void *worker)
{
    Worker *me = worker;
    Crew *crew = me->crew;
    if (!me->substitute) thread_lower(STEP_USUAL); /* who was hired by such a one took after it */
    crew->work(me);
    pthread_mutex_lock(&crew->lock);
    me->ended = true;
    crew->replaced -= me->replaced;
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Somebody's who has ended, or a new one; NULL: none. */
static Worker *free_place(Crew *crew)
{
    for (int i = 0; i < crew->places; i++) {
        Worker *w = &crew->worker[i];
        if (w->hired && (!w->ended || w->awaited)) continue;
        if (w->hired) pthread_join(w->id, NULL);
        return w;
    }
    return NULL;
}

static bool hire(Session *s, Crew *crew, bool substitute)
{
    Worker *w = free_place(crew);
    if (!w) return false;
    *w = (Worker){ .s = s, .crew = crew, .substitute = substitute,
                   .bed = { .call = PTHREAD_COND_INITIALIZER } };
    w->hired = pthread_create(&w->id, NULL, crew_work, w) == 0;
    return w->hired;
}

void crew_plan(Session *s, Stage stage, int n, void (*work_of)(Worker *))
{
    Crew *crew = &s->crew[stage];
    crew->work = work_of;
    crew->stage = stage;
    crew->first = n;
    crew->places = n ? n + MOST_REPLACED : 0;
    crew->worker = ARRAY(&s->arena, Worker, crew->places);
    pthread_mutex_init(&crew->lock, NULL);
}

bool crew_start(Session *s, Stage stage)
{
    Crew *crew = &s->crew[stage];
    pthread_mutex_lock(&crew->lock);
    while (crew->started < crew->first && hire(s, crew, false)) crew->started++;
    pthread_mutex_unlock(&crew->lock);
    return crew->first == 0 || crew->started > 0;
}

void worker_stuck(Worker *me)
{
    Crew *crew = me->crew;
    pthread_mutex_lock(&crew->lock);
    me->replaced = crew->replaced < MOST_REPLACED && hire(me->s, crew, true);
    crew->replaced += me->replaced;
    pthread_mutex_unlock(&crew->lock);
    if (me->replaced) thread_lower(STEP_BACK); /* not before: the other would take after it */
}

static Worker *next_to_await(Crew *crew)
{
    for (int i = 0; i < crew->places; i++)
        if (crew->worker[i].hired) return &crew->worker[i];
    return NULL;
}

/* Those that are awaited may still hire others. */
void crew_end(Session *s, Stage stage)
{
    Crew *crew = &s->crew[stage];
    if (!crew->work) return; /* it was not even planned */
    pthread_mutex_lock(&crew->lock);
    for (Worker *w; (w = next_to_await(crew));) {
        w->awaited = true;
        pthread_mutex_unlock(&crew->lock);
        pthread_join(w->id, NULL);
        pthread_mutex_lock(&crew->lock);
        w->hired = false;
    }
    pthread_mutex_unlock(&crew->lock);
    pthread_mutex_destroy(&crew->lock);
}

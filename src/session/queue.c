/* SPDX-License-Identifier: Apache-2.0
 * queue.c - jobs waiting for a stage. The bound counts both stages, since a job that waits costs
 * memory wherever it waits; it is checked only at the entrance, so what is in always gets
 * through. */
#include "stages.h"

void queue_init(Queue *queue, int limit)
{
    *queue = (Queue){ .limit = limit };
    pthread_mutex_init(&queue->lock, NULL);
    for (int i = 0; i < STAGES; i++) {
        queue->stage[i].tail = &queue->stage[i].head;
        pthread_cond_init(&queue->stage[i].came, NULL);
    }
}

void queue_free(Queue *queue)
{
    for (int i = 0; i < STAGES; i++) pthread_cond_destroy(&queue->stage[i].came);
    pthread_mutex_destroy(&queue->lock);
}

static void append(Queue *queue, Stage to, Job *job)
{
    struct QueueStage *stage = &queue->stage[to];
    job->next = NULL;
    *stage->tail = job;
    stage->tail = &job->next;
    queue->waiting++;
    pthread_cond_signal(&stage->came);
}

static Job *remove_first(Queue *queue, Stage from)
{
    struct QueueStage *stage = &queue->stage[from];
    Job *job = stage->head;
    if (!job) return NULL;
    stage->head = job->next;
    if (!stage->head) stage->tail = &stage->head;
    job->next = NULL;
    queue->waiting--;
    return job;
}

bool queue_enter(Queue *queue, Stage to, Job *job, Err *err)
{
    pthread_mutex_lock(&queue->lock);
    int waiting = queue->waiting;
    bool refusing = queue->refusing, room = waiting < queue->limit;
    if (!refusing && room) append(queue, to, job);
    pthread_mutex_unlock(&queue->lock);
    if (refusing) return fail(err, EF_UNAVAILABLE, "stopping: no new requests");
    if (room) return true;
    return fail(err, EF_OVERLOADED,
                "queue: found %d requests waiting, wanted less than %d: try again", waiting,
                queue->limit);
}

void queue_pass(Queue *queue, Stage to, Job *job)
{
    pthread_mutex_lock(&queue->lock);
    append(queue, to, job);
    pthread_mutex_unlock(&queue->lock);
}

Job *queue_take(Queue *queue, Stage from)
{
    struct QueueStage *stage = &queue->stage[from];
    pthread_mutex_lock(&queue->lock);
    while (!stage->head && !stage->closed) pthread_cond_wait(&stage->came, &queue->lock);
    Job *job = remove_first(queue, from);
    pthread_mutex_unlock(&queue->lock);
    return job;
}

Job *queue_take_fitting(Queue *queue, int64_t tokens)
{
    pthread_mutex_lock(&queue->lock);
    Job *job = queue->stage[STAGE_RUN].head;
    if (job && job->left <= tokens) remove_first(queue, STAGE_RUN);
    else job = NULL;
    pthread_mutex_unlock(&queue->lock);
    return job;
}

void queue_refuse(Queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->refusing = true;
    pthread_mutex_unlock(&queue->lock);
}

void queue_close(Queue *queue, Stage which)
{
    pthread_mutex_lock(&queue->lock);
    queue->stage[which].closed = true;
    pthread_cond_broadcast(&queue->stage[which].came);
    pthread_mutex_unlock(&queue->lock);
}

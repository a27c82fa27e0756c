/* SPDX-License-Identifier: Apache-2.0
 * walk.c - strided visits, see walk.h. Work is cut into pieces of 32k elements for the pool. */
#include "walk.h"

enum { PIECE = 32768 };

Walk walk_over(int rank, const int64_t *dim)
{
    Walk w = { .rank = rank };
    memcpy(w.dim, dim, sizeof *dim * (size_t)rank);
    return w;
}

void dense_steps(int rank, const int64_t *dim, int64_t *step)
{
    int64_t n = 1;
    for (int i = rank - 1; i >= 0; i--) {
        step[i] = n;
        n *= MAX(dim[i], 1);
    }
}

int walk_steps(Walk *w, const int64_t *step)
{
    assert(w->n_in < WALK_IN);
    memcpy(w->step[w->n_in], step, sizeof *step * (size_t)w->rank);
    return w->n_in++;
}

int walk_broadcast(Walk *w, const Tensor *in)
{
    int64_t dense[MAX_RANK], step[WALK_RANK] = { 0 };
    dense_steps(in->rank, in->dim, dense);
    const int before = w->rank - in->rank;
    for (int i = 0; i < in->rank; i++) step[before + i] = in->dim[i] == 1 ? 0 : dense[i];
    return walk_steps(w, step);
}

static bool runs_together(const Walk *w, int outer, int inner)
{
    for (int k = 0; k < w->n_in; k++)
        if (w->step[k][outer] != w->step[k][inner] * w->dim[inner]) return false;
    return true;
}

static void walk_put_dim(Walk *w, int to, int from)
{
    w->dim[to] = w->dim[from];
    for (int k = 0; k < w->n_in; k++) w->step[k][to] = w->step[k][from];
}

static void merge_dims(Walk *w)
{
    int kept = 0; /* dims 0 .. kept-1 are done */
    for (int i = 0; i < w->rank; i++) {
        if (w->dim[i] == 1) continue;
        if (kept && runs_together(w, kept - 1, i)) {
            int64_t outer = w->dim[kept - 1];
            walk_put_dim(w, kept - 1, i);
            w->dim[kept - 1] *= outer;
        } else {
            walk_put_dim(w, kept++, i);
        }
    }
    if (!kept) {
        w->dim[0] = 1;
        for (int k = 0; k < w->n_in; k++) w->step[k][0] = 1;
        kept = 1;
    }
    w->rank = kept;
}

typedef struct WalkJob {
    const Walk *w;
    WalkSpanFn *fn;
    const void *context;
} WalkJob;

static void walk_place(const Walk *w, int64_t row, int64_t *at)
{
    memcpy(at, w->base, sizeof w->base);
    for (int i = w->rank - 2; i >= 0; i--) {
        int64_t index = row % w->dim[i];
        row /= w->dim[i];
        for (int k = 0; k < w->n_in; k++) at[k] += index * w->step[k][i];
    }
}

static void run_range(void *context, int64_t from, int64_t to)
{
    const WalkJob *job = context;
    const Walk *w = job->w;
    const int64_t inner = w->dim[w->rank - 1];
    for (int64_t e = from; e < to;) {
        int64_t skip = e % inner;
        WalkSpan s = { .out = e, .n = MIN(inner - skip, to - e) };
        walk_place(w, e / inner, s.at);
        for (int k = 0; k < w->n_in; k++) {
            s.step[k] = w->step[k][w->rank - 1];
            s.at[k] += skip * s.step[k];
        }
        job->fn(job->context, &s);
        e += s.n;
    }
}

void walk_run(Walk *w, const OpCall *call, WalkSpanFn *fn, const void *context)
{
    int64_t count = 1;
    for (int i = 0; i < w->rank; i++) count *= w->dim[i];
    if (!count) return;
    merge_dims(w);
    op_split(call, count, PIECE, run_range, &(WalkJob){ w, fn, context });
}

/* Copies elements with a step on both sides; if both steps are one, by memcpy. */
#define MOVE(T)                                                                    \
    for (int64_t i = 0; i < n; i++) ((T *)to)[i * to_step] = ((const T *)from)[i * from_step]; \
    break
static void move_elements(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t n,
                          size_t size)
{
    if (to_step == 1 && from_step == 1) {
        memcpy(to, from, (size_t)n * size);
        return;
    }
    switch (size) {
    case 8: MOVE(uint64_t);
    case 4: MOVE(uint32_t);
    case 2: MOVE(uint16_t);
    default: MOVE(uint8_t);
    }
}

void walk_gather(const void *move, const WalkSpan *s)
{
    const Move *m = move;
    move_elements((char *)m->to + (size_t)s->out * m->size, 1,
                  (const char *)m->from + s->at[0] * (int64_t)m->size, s->step[0], s->n, m->size);
}

void walk_scatter(const void *move, const WalkSpan *s)
{
    const Move *m = move;
    move_elements((char *)m->to + s->at[0] * (int64_t)m->size, s->step[0],
                  (const char *)m->from + (size_t)s->out * m->size, 1, s->n, m->size);
}

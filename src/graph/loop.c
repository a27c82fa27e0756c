/* SPDX-License-Identifier: Apache-2.0
 * loop.c - Loop, as part of a run whose values are all known: the body is inferred again and again, each
 * time with the states that the time before gave; results that are no states are put one above another.
 * Two arenas take turns: one holds the states that go in, the other what is made of them. */
#include "graph.h"

enum { TRIPS, GOES_ON, STATES };  /* inputs of the node and, as the trip's number, of the body */
enum { MOST_TRIPS = 1 << 16 };    /* a condition that stays true would never end */

typedef struct Looping {
    const GraphNode *node;
    const Graph *body;
    Inferred *to;
    int states, scans;
    Arena turn[2];
    Tensor *state;             /* [states] */
    Tensor *scan;              /* [scans]: of one trip */
    Buf *rows;                 /* [scans]: of all */
    int64_t trips;             /* that were made */
    size_t taken;              /* bytes of rows */
} Looping;

static const Tensor *loop_input(const Looping *l, int k)
{
    const int v = k < l->node->n_in ? l->node->in[k] : -1;
    const Tensor *t = v >= 0 ? &l->to->t[v] : NULL;
    return t && t->type != T_NONE ? t : NULL;
}

static bool loop_fail(const Looping *l, Err *err, const char *what)
{
    return fail(err, EF_INVALID_INPUT, "node '%.*s' (Loop): %s", STR_ARG(l->node->node->name), what);
}

static bool loop_one(const Looping *l, int k, int64_t otherwise, int64_t *out, Err *err)
{
    const Tensor *t = loop_input(l, k);
    *out = otherwise;
    if (!t) return true;
    if (tensor_count(t) != 1)
        return loop_fail(l, err, "found a list, wanted one number of trips and one condition");
    *out = tensor_get_int(t, 0);
    return true;
}

/* The inputs of one trip: its number, the condition, the states, and what is captured. */
static void loop_feed(const Looping *l, Inferred *at, int64_t *trip, uint8_t *goes_on)
{
    for (int k = 0; k < l->body->n_input; k++) {
        Tensor *t = &at->t[l->body->input[k]];
        const Tensor *given = loop_input(l, k);
        if (k == TRIPS) *t = (Tensor){ .type = T_I64, .data = trip };
        else if (k == GOES_ON) *t = (Tensor){ .type = T_BOOL, .data = goes_on };
        else if (k < STATES + l->states) *t = l->state[k - STATES];
        else if (given) *t = *given;
    }
}

/* One row of every result that is no state. */
static bool loop_keep(Looping *l, const Inferred *at, Err *err)
{
    for (int k = 0; k < l->scans; k++) {
        const Tensor *t = &at->t[l->body->output[1 + l->states + k]];
        if (l->trips && (t->type != l->scan[k].type || !tensor_same_shape(t, &l->scan[k])))
            return loop_fail(l, err, "found a result of another size than before, wanted one size");
        l->scan[k] = *t;
        l->taken += tensor_bytes(t);
        if (l->taken > l->to->most) return loop_fail(l, err, "found results of too many bytes");
        if (tensor_bytes(t)) buf_add(&l->rows[k], t->data, tensor_bytes(t));
    }
    return true;
}

static bool loop_trip(Looping *l, bool *goes_on, Err *err)
{
    Arena *arena = &l->turn[l->trips & 1];
    uint8_t condition = *goes_on;
    int64_t trip = l->trips;
    arena_reset(arena, 1 << 20);
    Inferred at = graph_inferred(l->body, arena);
    at.limit = INT64_MAX, at.pool = l->to->pool, at.most = l->to->most, at.taken = l->taken;
    loop_feed(l, &at, &trip, &condition);
    if (!graph_infer(l->body, arena, &at, err)) return false;
    for (int k = 0; k < l->body->n_output; k++) {
        const Tensor *t = &at.t[l->body->output[k]];
        if (at.dynamic || t->type == T_NONE || (!t->data && tensor_count(t)))
            return loop_fail(l, err, "found a result that was not made");
    }
    const Tensor *next = &at.t[l->body->output[0]];
    if (tensor_count(next) != 1) return loop_fail(l, err, "found a list, wanted one condition");
    *goes_on = tensor_get(next, 0) != 0;
    for (int k = 0; k < l->states; k++) { /* what a body hands through lies outside of its arena */
        Tensor *t = &l->state[k];
        *t = at.t[l->body->output[1 + k]];
        if (tensor_bytes(t)) t->data = memcpy(arena_raw(arena, tensor_bytes(t)), t->data, tensor_bytes(t));
    }
    return loop_keep(l, &at, err);
}

/* Without a trip: no rows, of the dims that the body declares. */
static Tensor loop_no_rows(const Looping *l, int k)
{
    const OnnxValue *v = &l->body->model->graph.out[1 + l->states + k];
    Tensor t = { .type = v->type == T_NONE ? T_F32 : v->type, .rank = MAX(v->rank, 0) };
    for (int i = 0; i < t.rank; i++) t.dim[i] = MAX(v->dim[i], 0);
    return t;
}

static bool loop_done(Looping *l, Arena *arena, Err *err)
{
    for (int k = 0; k < l->states + l->scans; k++) {
        const bool state = k < l->states;
        Tensor t = state ? l->state[k] : l->trips ? l->scan[k - l->states] : loop_no_rows(l, k - l->states);
        const void *from = state ? t.data : l->rows[k - l->states].p;
        if (!state && t.rank == MAX_RANK) return loop_fail(l, err, "found a result of too many dims");
        if (!state) {
            memmove(t.dim + 1, t.dim, sizeof *t.dim * (size_t)t.rank++);
            t.dim[0] = l->trips;
        }
        const size_t bytes = tensor_bytes(&t);
        l->to->taken += bytes;
        t.data = arena_raw(arena, bytes + 1);
        if (bytes) memcpy(t.data, from, bytes);
        if (l->node->out[k] >= 0) l->to->t[l->node->out[k]] = t;
    }
    return true;
}

static bool loop_run(Looping *l, Arena *arena, Err *err)
{
    int64_t trips, condition;
    if (!loop_one(l, TRIPS, INT64_MAX, &trips, err) || !loop_one(l, GOES_ON, 1, &condition, err)) return false;
    bool goes_on = condition != 0;
    for (; goes_on && l->trips < trips; l->trips++) {
        if (l->trips == MOST_TRIPS) return loop_fail(l, err, "found over 65536 trips, wanted fewer");
        if (!loop_trip(l, &goes_on, err)) return false;
    }
    return loop_done(l, arena, err);
}

bool graph_infer_loop(const GraphNode *node, Arena *arena, Inferred *to, Err *err)
{
    Looping l = { .node = node, .body = node->body, .to = to, .states = node->states };
    l.scans = node->body->n_output - 1 - l.states;
    for (int k = 0; k < node->n_in; k++) {
        const Tensor *t = loop_input(&l, k);
        if (t && !t->data && tensor_count(t)) return to->dynamic = true;
    }
    if (to->limit != INT64_MAX) return to->dynamic = true; /* a run of its own, not an inference */
    l.state = ARRAY(arena, Tensor, l.states + 1);
    l.scan = ARRAY(arena, Tensor, l.scans + 1);
    l.rows = ARRAY(arena, Buf, l.scans + 1);
    bool ok = true;
    for (int k = 0; ok && k < l.states; k++) {
        const Tensor *t = loop_input(&l, STATES + k);
        ok = t != NULL || loop_fail(&l, err, "found no value for a state");
        if (ok) l.state[k] = *t;
    }
    ok = ok && loop_run(&l, arena, err);
    for (int k = 0; k < l.scans; k++) buf_free(&l.rows[k]);
    for (int i = 0; i < 2; i++) arena_free(&l.turn[i]);
    return ok;
}

/* SPDX-License-Identifier: Apache-2.0
 * runner.c - plans and memory of a runner. Plans are cached, 64 of them: one takes 30 us for six layers
 * (bench/NOTES.md). An elastic one serves every batch with the same longest row that it has room for,
 * others their own size alone. The activation block is shared by all. */
#include "runner.h"

enum { ROOMY_TOKENS = 1024 }; /* batches up to this get plans with room for a quarter more */

Runner *runner_new(const Engine *e, Pool *pool)
{
    Arena own = { 0 };
    Runner *r = NEW(&own, Runner);
    *r = (Runner){ .own = own, .e = e, .pool = pool };
    r->masked_from = INT64_MAX;
    r->rows_up_to = e->layout.up_to;
    return r;
}

void runner_free(Runner *r)
{
    if (!r) return;
    for (int i = 0; r->part && i < pool_most(r->pool); i++) runner_free(r->part[i]);
    for (int i = 0; i < CACHED_PLANS; i++)
        arena_free(&r->plan[i].arena);
    arena_free(&r->block_arena);
    arena_free(&r->scratch);
    arena_free(&r->result);
    arena_free(&r->dynamic);
    arena_free(&r->times.arena);
    Arena own = r->own;
    arena_free(&own);
}

/* ---- plans ---- */
static bool runner_same_size(const Graph *g, const Size *a, const Size *b)
{
    return a->B == b->B && a->S == b->S && a->T == b->T && a->ragged == b->ragged &&
           own_order(g, a->own, b->own) == 0;
}

/* Not a plan with more than twice the room: its tensors would lie too far apart. */
static bool runner_has_room(const Plan *p, const Size *size)
{
    return size->ragged && size->S == p->size.S && size->B <= p->room_B && size->T <= p->room_T &&
           p->room_T <= 2 * size->T;
}

static bool runner_serves(const Runner *r, const Plan *p, const Size *size)
{
    if (!p->used) return false;
    return p->elastic ? runner_has_room(p, size) : runner_same_size(r->e->graph, &p->size, size);
}

/* With room for other batches where the graph allows it. */
static bool runner_make_plan(Runner *r, Size size, Plan *p, Err *err)
{
    if (!size.ragged || r->exact || size.T > ROOMY_TOKENS) return plan_make(r->e, size, p, err);
    Size roomy = size;
    Err ignored;
    roomy.B += (size.B + 3) / 4, roomy.T += (size.T + 3) / 4;
    if (plan_make(r->e, roomy, p, &ignored) && p->elastic) return true;
    r->exact = true;
    return plan_make(r->e, size, p, err);
}

bool runner_plan(Runner *r, Size size, Plan **out, Err *err)
{
    Plan *found = NULL, *oldest = &r->plan[0];
    for (int i = 0; !found && i < CACHED_PLANS; i++) {
        Plan *p = &r->plan[i];
        if (runner_serves(r, p, &size)) found = p;
        if (p->used < oldest->used) oldest = p;
    }
    if (!found) {
        oldest->used = 0;
        if (!runner_make_plan(r, size, oldest, err)) return false;
        found = oldest;
    }
    if (found->elastic) plan_fit(found, size.B, size.T);
    found->used = ++r->clock;
    *out = found;
    return true;
}

static bool runner_grow_block(Runner *r, const Plan *plan, Err *err)
{
    if (plan->block <= r->block_size) return true;
    arena_reset(&r->block_arena, 0);
    r->block_size = 0;
    r->block = arena_try(&r->block_arena, plan->block, 1, MOST_BYTES, err);
    if (!r->block) return false;
    r->block_size = plan->block;
    return true;
}

bool runner_bind(Runner *r, Plan *plan, Err *err)
{
    if (!runner_grow_block(r, plan, err)) return false;
    for (int i = 0; i < plan->n_slot; i++) {
        PlanSlot *s = &plan->slot[i];
        if (s->first >= 0) s->t.data = r->block + s->offset;
        if (s->as >= 0) s->t.data = plan->slot[s->as].t.data;
    }
    for (int i = 0; i < plan->n_step; i++)
        for (int k = 0; k < plan->step[i].n_out; k++) {
            int slot = plan->step[i].slot[k];
            plan->step[i].out[k] = slot >= 0 ? plan->slot[slot].t : (Tensor){ 0 };
        }
    return true;
}

/* ---- shapes that depend on data ---- */
bool runner_begin_dynamic(Runner *r, const Plan *plan, RunnerFill *fill, const void *from, Inferred *at, Err *err)
{
    const Graph *g = r->e->graph;
    arena_reset(&r->dynamic, KEPT_SCRATCH);
    *at = graph_inferred(g, &r->dynamic);
    at->limit = INT64_MAX;
    at->most_work = work_for(size_tokens(g, &plan->size));
    at->pool = r->pool;
    for (int i = 0; i < g->n_input; i++) {
        Tensor *t = &at->t[g->input[i]];
        if (!own_bind(r->e, &r->dynamic, &plan->size, i, t, err)) return false;
        t->data = arena_try(&r->dynamic, tensor_bytes(t) + 1, 1, MOST_BYTES, err); /* an input may be empty */
        if (!t->data || !fill(from, g, i, t, err)) return false;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * plan.c - from a graph and a size to steps. Shapes come from graph_infer at the true size; what
 * is known without running (position ids, their embeddings) is computed here, once. In a ragged
 * plan, token values have their leading dims [B, S] replaced by [1, T]. Lifetimes become
 * offsets: tensors in order of decreasing size, each at the lowest offset that is free during
 * its lifetime. A ragged plan whose tensors grow with B or T alone is elastic: other batches with
 * the same longest row reuse it, with other dims at the same offsets. */
#include "plan.h"

#include <stdlib.h>

typedef struct Planner {
    const Engine *e;
    const Graph *g;
    Plan *plan;
    Inferred at;
    int *plain, *token; /* [n_value]: slot of that form, -1: not yet */
} Planner;

static int add_slot(Planner *p, const Tensor *t, int first)
{
    PlanSlot *slot = &p->plan->slot[p->plan->n_slot];
    *slot = (PlanSlot){ .t = *t,
                    .bytes = ROUND_UP(MAX(tensor_bytes(t), (size_t)1), 64),
                    .first = first,
                    .last = first,
                    .as = -1 };
    return p->plan->n_slot++;
}

static int add_token_slot(Planner *p, const Tensor *t, int first)
{
    const int slot = add_slot(p, t, first);
    p->plan->slot[slot].grows = GROWS_TOKENS;
    return slot;
}

/* How the plain form of a value grows, by its symbolic dims. */
static Grows plan_growth(const Planner *p, int v)
{
    const Tensor *named = &p->e->symbols.t[v];
    if (!p->e->symbols.known || named->rank != p->at.t[v].rank) return GROWS_OTHERWISE;
    for (int d = 0; d < named->rank; d++)
        if (named->dim[d] < 0 && named->dim[d] != DIM_SEQUENCE && (d || named->dim[d] != DIM_BATCH))
            return GROWS_OTHERWISE;
    return named->rank && named->dim[0] == DIM_BATCH ? GROWS_ROWS : GROWS_NOT;
}

static int add_plain_slot(Planner *p, int v, const Tensor *t, int first)
{
    const int slot = add_slot(p, t, first);
    p->plan->slot[slot].grows = plan_growth(p, v);
    p->plan->slot[slot].shaped = t->data && !p->g->value[v].constant;
    return slot;
}

static Tensor as_tokens(const Planner *p, Tensor t)
{
    t.dim[0] = 1, t.dim[1] = p->plan->size.T;
    t.data = NULL;
    return t;
}

static PlanStep *add_step(Planner *p, PlanStepKind kind, const GraphNode *node, int n_in, int n_out)
{
    Arena *arena = &p->plan->arena;
    PlanStep *step = &p->plan->step[p->plan->n_step++];
    *step = (PlanStep){ .kind = kind, .node = node, .n_in = n_in, .n_out = n_out };
    step->low_in = step->low_out = -1;
    step->in = ARRAY(arena, const Tensor *, n_in);
    step->out = ARRAY(arena, Tensor, n_out);
    step->slot = ARRAY(arena, int, n_out);
    return step;
}

static int read_slot(Planner *p, int slot)
{
    p->plan->slot[slot].last = p->plan->n_step; /* the step about to be added */
    return slot;
}

/* A step that copies rows from slot `from`. */
static PlanStep *plan_copy_step(Planner *p, PlanStepKind kind, int from)
{
    read_slot(p, from);
    PlanStep *step = add_step(p, kind, NULL, 1, 1);
    step->in[0] = &p->plan->slot[from].t;
    return step;
}

static int plan_copy_tokens(Planner *p, PlanStepKind kind, int from, const Tensor *to)
{
    PlanStep *step = plan_copy_step(p, kind, from);
    return step->slot[0] = add_token_slot(p, to, p->plan->n_step - 1);
}

/* A value that no step computes is already known: a constant, or a result of shapes alone. */
static int plain_slot(Planner *p, int v)
{
    if (p->plain[v] >= 0) return p->plain[v];
    if (p->token[v] < 0) return p->plain[v] = add_plain_slot(p, v, &p->at.t[v], -1);
    PlanStep *step = plan_copy_step(p, STEP_PAD, p->token[v]);
    return p->plain[v] = step->slot[0] = add_plain_slot(p, v, &p->at.t[v], p->plan->n_step - 1);
}

/* A value made from shapes ([1, S, ...], [S, ...] or equal rows) as one row per token. */
static int plan_spread_slot(Planner *p, int v)
{
    Tensor t = p->at.t[v];
    int axis = 0;
    while (p->e->symbols.t[v].dim[axis] != DIM_SEQUENCE) axis++; /* layout.c saw one */
    Tensor to = { .type = t.type, .rank = t.rank - axis + 1 };
    to.dim[0] = 1, to.dim[1] = p->plan->size.T;
    for (int i = axis + 1; i < t.rank; i++) to.dim[i - axis + 1] = t.dim[i];
    return plan_copy_tokens(p, STEP_SPREAD, plain_slot(p, v), &to);
}

/* The token form of a value that was computed in another form: from the padded form, or from
 * shapes. */
static int token_slot(Planner *p, int v)
{
    if (p->token[v] >= 0) return p->token[v];
    Tensor t = as_tokens(p, p->at.t[v]);
    if (p->e->layout.value[v] != FORM_ROWS) return p->token[v] = plan_spread_slot(p, v);
    PlanStepKind kind = graph_leads(&p->e->symbols.t[v]) ? STEP_UNPAD : STEP_REPEAT;
    return p->token[v] = plan_copy_tokens(p, kind, plain_slot(p, v), &t);
}

static int slot_for(Planner *p, int v, Form form)
{
    return form == FORM_TOKEN ? token_slot(p, v) : plain_slot(p, v);
}

static bool all_known(const Planner *p, const GraphNode *n)
{
    for (int k = 0; k < n->n_out; k++) { /* without a type: of a branch that is not taken */
        const Tensor *t = n->out[k] >= 0 ? &p->at.t[n->out[k]] : NULL;
        if (t && t->type != T_NONE && !t->data && tensor_count(t) > 0) return false;
    }
    return true;
}

/* Of a value that a step or the caller makes. */
static int plan_value_slot(Planner *p, int v, bool token, const Tensor *t, int first)
{
    if (token) return p->token[v] = add_token_slot(p, t, first);
    return p->plain[v] = add_plain_slot(p, v, t, first);
}

static void plan_node(Planner *p, int i)
{
    const GraphNode *n = p->g->node[i];
    const Layout *l = &p->e->layout;
    bool ragged = p->plan->size.ragged;
    int *from = ARRAY(&p->plan->arena, int, n->n_in);
    for (int k = 0; k < n->n_in; k++) { /* may add spreads, which come first */
        Form form = ragged ? layout_reads(p->g, &p->e->symbols, l, i, k) : FORM_PLAIN;
        bool absent = n->in[k] < 0 || p->at.t[n->in[k]].type == T_NONE ||
                      (ragged && layout_skips(n, k));
        from[k] = absent ? -1 : slot_for(p, n->in[k], form);
    }
    for (int k = 0; k < n->n_in; k++)
        if (from[k] >= 0) read_slot(p, from[k]);
    static const PlanStepKind ends[] = { [END_NONE] = STEP_OP, [END_FIRST] = STEP_FIRST,
                                     [END_SUM] = STEP_SUM, [END_MAX] = STEP_MAX,
                                     [END_NAMED] = STEP_NAMED };
    PlanStepKind kind = ragged ? ends[l->end[i]] : STEP_OP;
    PlanStep *step = add_step(p, kind, n, n->n_in, n->n_out);
    for (int k = 0; k < n->n_in; k++)
        step->in[k] = from[k] >= 0 ? &p->plan->slot[from[k]].t : NULL;
    for (int k = 0; k < n->n_out; k++) {
        step->slot[k] = -1;
        int v = n->out[k];
        if (v < 0) continue;
        bool token = ragged && l->value[v] == FORM_TOKEN;
        Tensor t = token ? as_tokens(p, p->at.t[v]) : p->at.t[v];
        t.data = NULL;
        step->slot[k] = plan_value_slot(p, v, token, &t, p->plan->n_step - 1);
    }
}

static void plan_inputs(Planner *p)
{
    const Graph *g = p->g;
    p->plan->input = ARRAY(&p->plan->arena, int, g->n_input);
    for (int i = 0; i < g->n_input; i++) {
        int v = g->input[i];
        bool token = p->plan->size.ragged && p->e->layout.value[v] == FORM_TOKEN;
        Tensor t = token ? as_tokens(p, p->at.t[v]) : p->at.t[v];
        p->plan->input[i] = plan_value_slot(p, v, token, &t, 0);
    }
}

/* What is given back lives to the end. */
static void plan_outputs(Planner *p)
{
    Plan *plan = p->plan;
    const Engine *e = p->e;
    plan->n_output = e->n_output;
    plan->output = ARRAY(&plan->arena, int, e->n_output);
    plan->output_form = ARRAY(&plan->arena, Form, e->n_output);
    for (int k = 0; k < e->n_output; k++) {
        plan->output_form[k] = plan->size.ragged ? e->layout.value[e->output[k]] : FORM_PLAIN;
        plan->output[k] = slot_for(p, e->output[k], plan->output_form[k]);
    }
    for (int k = 0; k < e->n_output; k++) plan->slot[plan->output[k]].last = plan->n_step;
}

/* ---- rows of bf16 from product to product ---- */
typedef struct LowUse { /* of a slot */
    int maker, last;    /* step that makes it as output 0, -1: none; last that reads it so */
    int reads, low;     /* inputs that it is; of those, that would take bf16 */
} LowUse;

static Low low_of(const PlanStep *step)
{
    OpCall call = { .n_in = step->n_in, .in = step->in, .k = kernels() };
    if (step->kind != STEP_OP || !step->node->op->low) return (Low){ 0 };
    call.node = step->node->node;
    return step->node->op->low(&call);
}

static int plan_slot_of(const Plan *plan, const Tensor *t)
{
    return (int)((const PlanSlot *)((const char *)t - offsetof(PlanSlot, t)) - plan->slot);
}

static LowUse *low_uses(const Plan *plan, Arena *arena)
{
    LowUse *use = ARRAY(arena, LowUse, plan->n_slot);
    for (int i = 0; i < plan->n_slot; i++) use[i].maker = -1;
    for (int k = 0; k < plan->n_output; k++) use[plan->output[k]].reads++;
    for (int i = 0; i < plan->n_step; i++) {
        const PlanStep *step = &plan->step[i];
        Low low = low_of(step);
        if (step->n_out && step->slot[0] >= 0) use[step->slot[0]].maker = i;
        for (int k = 0; k < step->n_in; k++) {
            if (!step->in[k]) continue;
            LowUse *u = &use[plan_slot_of(plan, step->in[k])];
            u->reads++;
            if (k < low.reads) u->low++, u->last = i;
        }
    }
    return use;
}

/* If a step can write bf16 rows that a product reads, no conversion is needed; if products are
 * its only readers, the f32 rows are not written at all. */
static void plan_low(Planner *p)
{
    Plan *plan = p->plan;
    Arena scratch = { .local = true };
    LowUse *use = low_uses(plan, &scratch);
    for (int i = 0, n = plan->n_slot; i < n; i++) {
        if (!use[i].low || use[i].maker < 0) continue;
        Low low = low_of(&plan->step[use[i].maker]);
        bool only = low.writes && use[i].low == use[i].reads;
        if (!only && !low.beside) continue;
        PlanSlot *of = &plan->slot[i];
        int64_t C = of->t.dim[of->t.rank - 1], M = tensor_count(&of->t) / MAX(C, 1);
        Tensor t = { .type = T_U8, .rank = 1, .dim = { (int64_t)rows_bf16_size(M, C) } };
        int slot = plan->step[use[i].maker].low_out = add_slot(p, &t, of->first);
        plan->slot[slot].last = use[i].last;
        if (only) of->first = -1;
        for (int k = use[i].maker + 1; k <= use[i].last; k++) {
            PlanStep *step = &plan->step[k];
            if (low_of(step).reads && plan_slot_of(plan, step->in[0]) == i) step->low_in = slot;
        }
    }
    arena_free(&scratch);
}

/* ---- other dims for the same numbers: no copy ---- */
static void plan_views(Plan *plan)
{
    for (int i = 0; i < plan->n_step; i++) {
        const PlanStep *step = &plan->step[i];
        if (step->kind != STEP_OP || !step->node->op->view || step->slot[0] < 0) continue;
        PlanSlot *out = &plan->slot[step->slot[0]];
        int from = plan_slot_of(plan, step->in[0]);
        if (plan->slot[from].as >= 0) from = plan->slot[from].as;
        PlanSlot *in = &plan->slot[from];
        if ((in->first < 0 && !in->t.data) || in->bytes != out->bytes || in->grows != out->grows ||
            out->first < 0)
            continue;
        in->last = MAX(in->last, out->last);
        out->first = -1, out->as = from;
    }
}

/* ---- a sum in the memory of what is added to it, where nobody reads that afterwards ---- */
static int plan_root(const Plan *plan, const Tensor *t)
{
    int slot = plan_slot_of(plan, t);
    while (plan->slot[slot].as >= 0) slot = plan->slot[slot].as;
    return slot;
}

static bool plan_reads_once(const Plan *plan, const PlanStep *step, int root)
{
    int reads = 0;
    for (int k = 0; k < step->n_in; k++) reads += step->in[k] && plan_root(plan, step->in[k]) == root;
    return reads == 1;
}

static void plan_onto(Plan *plan)
{
    for (int i = 0; i < plan->n_step; i++) {
        const PlanStep *step = &plan->step[i];
        const int k = step->kind == STEP_OP ? step->node->op->onto : 0;
        if (!k || k >= step->n_in || !step->in[k] || step->slot[0] < 0) continue;
        const int root = plan_root(plan, step->in[k]);
        PlanSlot *in = &plan->slot[root], *out = &plan->slot[step->slot[0]];
        if (in->first < 0 || in->last != i || out->first < 0 || in->bytes != out->bytes ||
            in->grows != out->grows || root > step->slot[0] || !plan_reads_once(plan, step, root))
            continue;
        in->last = out->last;
        out->first = -1, out->as = root;
    }
}

/* ---- lifetimes to offsets ---- */
static int slot_by_size(const void *a, const void *b)
{
    const PlanSlot *x = *(PlanSlot *const *)a, *y = *(PlanSlot *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x > y) - (x < y);
}

static int by_offset(const void *a, const void *b)
{
    const PlanSlot *x = *(PlanSlot *const *)a, *y = *(PlanSlot *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void place_slot(PlanSlot *slot, PlanSlot **placed, int n, PlanSlot **beside)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        if (placed[i]->first <= slot->last && slot->first <= placed[i]->last)
            beside[count++] = placed[i];
    qsort(beside, (size_t)count, sizeof *beside, by_offset);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        if (beside[i]->offset >= at + slot->bytes) break;
        at = MAX(at, beside[i]->offset + beside[i]->bytes);
    }
    slot->offset = at;
}

static void plan_memory(Plan *plan)
{
    Arena scratch = { .local = true };
    PlanSlot **order = ARRAY(&scratch, PlanSlot *, plan->n_slot),
         **beside = ARRAY(&scratch, PlanSlot *, plan->n_slot);
    int n = 0;
    for (int i = 0; i < plan->n_slot; i++)
        if (plan->slot[i].first >= 0) order[n++] = &plan->slot[i];
    qsort(order, (size_t)n, sizeof *order, slot_by_size);
    for (int i = 0; i < n; i++) {
        place_slot(order[i], order, i, beside);
        plan->block = MAX(plan->block, order[i]->offset + order[i]->bytes);
    }
    arena_free(&scratch);
}

/* ---- one plan for many batches ---- */
/* A step that reads what was made from shapes. What meets tokens was found to be the same in any
 * batch (layout.c), but not numbers that say a shape, nor what has rows of its own; of these,
 * spreading reads the first alone. */
static bool plan_reads_shapes(const Plan *plan, const PlanStep *step)
{
    for (int k = 0; step->kind != STEP_SPREAD && k < step->n_in; k++) {
        const PlanSlot *in = step->in[k] ? &plan->slot[plan_slot_of(plan, step->in[k])] : NULL;
        const bool says_shape = step->node && op_needs_values(step->node->op, k);
        if (in && in->shaped && (says_shape || in->grows != GROWS_NOT)) return true;
    }
    return false;
}

static bool plan_is_elastic(const Plan *plan)
{
    bool elastic = plan->size.ragged;
    for (int i = 0; elastic && i < plan->n_slot; i++)
        elastic = plan->slot[i].t.data || plan->slot[i].grows != GROWS_OTHERWISE;
    for (int i = 0; elastic && i < plan->n_step; i++) elastic = !plan_reads_shapes(plan, &plan->step[i]);
    for (int k = 0; elastic && k < plan->n_output; k++) elastic = !plan->slot[plan->output[k]].shaped;
    return elastic;
}

void plan_fit(Plan *plan, int64_t B, int64_t T)
{
    assert(plan->elastic && B <= plan->room_B && T <= plan->room_T);
    plan->size.B = B, plan->size.T = T;
    for (int i = 0; i < plan->n_slot; i++) {
        PlanSlot *slot = &plan->slot[i];
        if (slot->grows == GROWS_TOKENS) slot->t.dim[1] = T;
        if (slot->grows == GROWS_ROWS && !slot->shaped) slot->t.dim[0] = B;
    }
}

/* Node i reads v token by token although v has no token axis: v must have one row per token of
 * the longest text. */
static bool spread_holds(const Planner *p, int i, int k)
{
    const Layout *l = &p->e->layout;
    int v = p->g->node[i]->in[k];
    if (v < 0 || l->value[v] != FORM_PLAIN ||
        layout_reads(p->g, &p->e->symbols, l, i, k) != FORM_TOKEN)
        return true;
    const Tensor *is = &p->at.t[v], *named = &p->e->symbols.t[v];
    bool same = tensor_count(is) > 0 && is->rank == named->rank;
    for (int d = 0; same && d < is->rank; d++)
        same = is->dim[d] == (named->dim[d] == DIM_SEQUENCE ? p->plan->size.S
                              : named->dim[d] == DIM_BATCH  ? p->plan->size.B
                                                            : named->dim[d]);
    return same;
}

static bool shape_changes(const Planner *p, int i, Err *err)
{
    return fail(err, EF_UNSUPPORTED, "node '%.*s': the shape changes with the length of the text",
                STR_ARG(p->g->node[i]->node->name));
}

/* The symbolic dims of symbols.c must match the inferred dims at this size. */
static bool symbols_hold(const Planner *p, Err *err)
{
    for (int i = 0; i < p->g->n_node; i++)
        for (int k = 0; p->e->layout.needed[i] && k < p->g->node[i]->n_in; k++)
            if (!spread_holds(p, i, k)) return shape_changes(p, i, err);
    for (int i = 0; i < p->g->n_node; i++)
        for (int k = 0; p->e->layout.needed[i] && k < p->g->node[i]->n_out; k++) {
            int v = p->g->node[i]->out[k];
            if (v < 0 || p->e->layout.value[v] == FORM_PLAIN) continue;
            const Tensor *is = &p->at.t[v], *named = &p->e->symbols.t[v];
            if (!graph_leads(named)) continue; /* only rows read it */
            bool same = is->rank == named->rank && is->dim[0] == p->plan->size.B &&
                        is->dim[1] == p->plan->size.S;
            for (int d = 2; same && d < is->rank; d++) same = is->dim[d] == named->dim[d];
            if (!same) return shape_changes(p, i, err);
        }
    return true;
}

/* The part of a second-level cache (1 or 2 MB) that weights may fill; the rest holds the rows. */
enum { NEAR_WEIGHTS = 1 << 20 };

static bool weights_are_far(const Plan *plan)
{
    size_t all = 0;
    for (const PlanStep *step = plan->step; step < plan->step + plan->n_step; step++)
        if (step_multiplies(step)) all += tensor_bytes(step->in[1]);
    return all > NEAR_WEIGHTS;
}

/* What the rows hold, in tokens. */
int64_t size_tokens(const Graph *g, const Size *size)
{
    int64_t numbers = 0;
    for (int i = 0; size->own && i < g->n_input; i++)
        if (size->own[i]) numbers += tensor_count(size->own[i]);
    return size->B * (size->S + numbers / OWN_TOKEN);
}

static bool plan_make_all(Planner *p, Err *err)
{
    const Graph *g = p->g;
    Plan *plan = p->plan;
    Arena *arena = &plan->arena;
    p->at = graph_inferred(g, arena);
    p->at.needs = plan->size.ragged ? p->e->layout.needed : NULL;
    plan->size.own = own_shapes(g, arena, plan->size.own);
    for (int i = 0; i < g->n_input; i++)
        if (!own_bind(p->e, arena, &plan->size, i, &p->at.t[g->input[i]], err)) return false;
    p->at.most_work = work_for(size_tokens(g, &plan->size));
    if (!graph_infer(g, arena, &p->at, err)) return false;
    if (p->at.dynamic) return plan->dynamic = true;
    if (plan->size.ragged && !symbols_hold(p, err)) return false;
    p->plain = ARRAY(arena, int, g->n_value), p->token = ARRAY(arena, int, g->n_value);
    memset(p->plain, -1, sizeof(int) * (size_t)g->n_value);
    memset(p->token, -1, sizeof(int) * (size_t)g->n_value);
    plan->slot = arena_raw(arena, (3 * (size_t)g->n_value + 1) * sizeof *plan->slot); /* add_slot and add_step set */
    plan->step = arena_raw(arena, (size_t)(g->n_node + g->n_value) * sizeof *plan->step); /*   all of one */
    plan_inputs(p);
    for (int i = 0; i < g->n_node; i++)
        if (g->node[i]->op && (!p->at.needs || p->at.needs[i]) && !all_known(p, g->node[i]))
            plan_node(p, i);
    plan_outputs(p);
    plan_low(p);
    plan_views(plan);
    plan_onto(plan);
    plan_memory(plan);
    plan->far = weights_are_far(plan);
    plan->room_B = plan->size.B, plan->room_T = plan->size.T;
    plan->elastic = plan_is_elastic(plan);
    return true;
}

bool plan_make(const Engine *e, Size size, Plan *plan, Err *err)
{
    enum { KEPT = 1 << 18 };
    Arena arena = plan->arena;
    arena_reset(&arena, KEPT); /* also the remains of a plan that ran out of memory */
    *plan = (Plan){ .arena = arena, .size = size };
    Planner p = { .e = e, .g = e->graph, .plan = plan };
    if (plan_make_all(&p, err)) return true;
    arena_free(&plan->arena);
    return false;
}

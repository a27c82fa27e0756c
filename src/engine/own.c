/* SPDX-License-Identifier: Apache-2.0
 * own.c - graph inputs that rows bring themselves: pictures, sound, the state of an item, a sampling
 * rate. What a row brings is found by name and checked; rows that bring the same shapes are stacked
 * along the input's batch axis, and outputs are cut along theirs. */
#include "plan.h"

static bool own_misfit(const GraphValue *in, const Tensor *found, int axis, Err *err)
{
    char shown[128], wanted[96] = "";
    size_t n = 0;
    for (int i = 0; i < in->t.rank && n + 24 < sizeof wanted; i++) {
        if (i == axis) continue;
        n += (size_t)(in->t.dim[i] < 0
                          ? snprintf(wanted + n, sizeof wanted - n, n ? ",?" : "?")
                          : snprintf(wanted + n, sizeof wanted - n, n ? ",%lld" : "%lld",
                                     (long long)in->t.dim[i]));
    }
    return fail(err, EF_INVALID_INPUT, "Input shape mismatch: '%.*s' of a row: found %s, wanted %s[%s]",
                STR_ARG(in->name), tensor_show(found, shown), dtype_name(in->t.type), wanted);
}

static bool own_fits(const Graph *g, int v, const Tensor *t, Err *err)
{
    const GraphValue *in = &g->value[v];
    const int axis = graph_batch_axis(g, v);
    bool fits = dtype_size(t->type) && t->rank >= 0 && t->rank < MAX_RANK && t->data;
    if (axis < 0) fits &= tensor_count(t) == 1;
    else if (in->t.rank >= 0) fits &= t->rank == in->t.rank - 1;
    for (int i = 0, at = 0; fits && axis >= 0 && i < in->t.rank; i++)
        if (i != axis) fits = in->t.dim[i] < 0 || in->t.dim[i] == t->dim[at], at++;
    return fits || own_misfit(in, t, axis, err);
}

static bool own_find(const Graph *g, int v, const RowInputs *row, const Tensor **out, Err *err)
{
    *out = NULL;
    for (int k = 0; k < row->n; k++)
        if (str_is(g->value[v].name, row->f[k].input)) *out = &row->f[k].t;
    if (!*out)
        return fail(err, EF_INVALID_INPUT, "a row has no '%.*s', which the graph reads",
                    STR_ARG(g->value[v].name));
    return own_fits(g, v, *out, err);
}

bool own_of_rows(const Engine *e, Arena *arena, const Batch *b, const Tensor *const **out, Err *err)
{
    const Graph *g = e->graph;
    const Tensor **own = ARRAY(arena, const Tensor *, b->B * g->n_input);
    *out = own;
    for (int r = 0; r < b->B; r++)
        for (int i = 0; i < g->n_input; i++)
            if (role_of_row(graph_role(g->value[g->input[i]].name)) &&
                !own_find(g, g->input[i], b->own ? &b->own[r] : &(RowInputs){ 0 },
                          &own[r * g->n_input + i], err))
                return false;
    return true;
}

RowInputs engine_with_state(Arena *arena, const Engine *e, RowInputs own, float *state)
{
    Feature *f = ARRAY(arena, Feature, own.n + engine_states(e));
    if (own.n) memcpy(f, own.f, (size_t)own.n * sizeof *f);
    for (int k = 0; k < engine_states(e); k++) {
        const EngineState *of = engine_state(e, k);
        Tensor t = of->t;
        t.data = state;
        state += tensor_count(&t);
        f[own.n++] = (Feature){ of->input, t };
    }
    own.f = f;
    return own;
}

static int own_order_dims(const Tensor *a, const Tensor *b)
{
    if (a->rank != b->rank) return a->rank - b->rank;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i]) return a->dim[i] < b->dim[i] ? -1 : 1;
    return 0;
}

int own_order(const Graph *g, const Tensor *const *a, const Tensor *const *b)
{
    for (int i = 0; a && b && i < g->n_input; i++) {
        if (!a[i] || !b[i]) continue;
        int order = own_order_dims(a[i], b[i]);
        if (order == 0 && graph_batch_axis(g, g->input[i]) < 0) {
            double x = tensor_get(a[i], 0), y = tensor_get(b[i], 0);
            order = (x > y) - (x < y);
        }
        if (order) return order;
    }
    return 0;
}

/* What a plan keeps of its rows: shapes, and the numbers that are the same for all. */
const Tensor *const *own_shapes(const Graph *g, Arena *arena, const Tensor *const *own)
{
    if (!own) return NULL;
    const Tensor **kept = ARRAY(arena, const Tensor *, g->n_input);
    for (int i = 0; i < g->n_input; i++) {
        if (!own[i]) continue;
        Tensor *t = NEW(arena, Tensor);
        *t = *own[i];
        bool number = graph_batch_axis(g, g->input[i]) < 0;
        t->data = number ? memcpy(arena_raw(arena, tensor_bytes(t)), own[i]->data, tensor_bytes(t)) : NULL;
        kept[i] = t;
    }
    return kept;
}

/* A number for all rows is known when the plan is made: a branch that hangs on it is decided. */
static void own_bind_number(const GraphValue *in, Arena *arena, const Tensor *row, Tensor *t)
{
    t->rank = MAX(in->t.rank, 0);
    for (int i = 0; i < t->rank; i++) t->dim[i] = 1;
    t->data = arena_raw(arena, tensor_bytes(t));
    tensor_convert(row, 0, t, 0, 1);
}

bool own_bind(const Engine *e, Arena *arena, const Size *size, int i, Tensor *t, Err *err)
{
    const Graph *g = e->graph;
    const int v = g->input[i], axis = graph_batch_axis(g, v);
    const Tensor *row = size->own ? size->own[i] : NULL;
    if (!row) return graph_bind_input(g, v, size->B, size->S, t, err);
    *t = (Tensor){ .type = g->value[v].t.type, .rank = row->rank + 1 };
    if (axis < 0) return own_bind_number(&g->value[v], arena, row, t), true;
    for (int d = 0; d < t->rank; d++)
        t->dim[d] = d == axis ? size->B : row->dim[d - (d > axis)];
    return tensor_sane(t, err);
}

/* Numbers before the axis, and behind it. */
static void own_around(const Tensor *t, int axis, int64_t *outer, int64_t *inner)
{
    *outer = *inner = 1;
    for (int i = 0; i < t->rank; i++)
        if (i != axis) *(i < axis ? outer : inner) *= t->dim[i];
}

void own_fill(const EngineRows *rows, const Graph *g, int i, Tensor *t)
{
    const int axis = graph_batch_axis(g, g->input[i]);
    const int64_t B = axis < 0 ? 1 : t->dim[axis];
    int64_t outer, inner;
    own_around(t, axis, &outer, &inner);
    if (rows->n < B) memset(t->data, 0, tensor_bytes(t)); /* rows that fill up B */
    for (int64_t r = 0; r < MIN(rows->n, B); r++)
        for (int64_t o = 0; o < outer; o++)
            tensor_convert(rows->own[rows->row[r] * g->n_input + i], o * inner, t,
                           (o * B + r) * inner, inner);
}

/* The sizes of a row's part of an output; of one with an entry for each token, its own tokens. */
static RowOutput own_cut(const Engine *e, const Tensor *t, int axis, const Size *size, int64_t length)
{
    RowOutput out = { .width = 1, .tokens = 1 };
    for (int i = 0; i < t->rank; i++)
        if (i != axis) out.dim[out.rank++] = t->dim[i];
    if (e->fixed_S && axis == 0 && out.rank && length && out.dim[0] == size->S) out.dim[0] = length;
    if (out.rank) out.width = out.dim[out.rank - 1];
    for (int i = 0; i < out.rank - 1; i++) out.tokens *= out.dim[i];
    return out;
}

/* An output that is a state is what the next row brings. */
static bool own_hands_on(const Engine *e, int k, const Tensor *t, Err *err)
{
    const int state = k - (e->n_output - e->n_state), axis = e->output_axis[k];
    char found[128];
    int d = 0;
    if (state < 0) return true;
    const Tensor *want = &e->state[state].t;
    bool same = t->rank == want->rank + 1;
    for (int i = 0; same && i < t->rank; i++) same = i == axis || t->dim[i] == want->dim[d++];
    return same || fail(err, EF_BAD_MODEL, "output '%.*s' is %s, which does not fit input '%s'",
                        STR_ARG(e->graph->value[e->output[k]].name), tensor_show(t, found),
                        e->state[state].input);
}

bool own_read(const Engine *e, Arena *arena, int k, const Tensor *t, const Size *size,
              const EngineRows *rows, RowOutput *out, Err *err)
{
    char found[128];
    const int axis = e->output_axis[k];
    int64_t outer, inner;
    if (t->rank <= axis || t->dim[axis] != size->B || !dtype_size(t->type))
        return fail(err, EF_UNSUPPORTED, "output '%.*s' is %s, wanted %lld rows at axis %d",
                    STR_ARG(e->graph->value[e->output[k]].name), tensor_show(t, found),
                    (long long)size->B, axis);
    if (!own_hands_on(e, k, t, err)) return false;
    own_around(t, axis, &outer, &inner);
    for (int i = 0; i < rows->n; i++) {
        const int row = rows->row[i];
        RowOutput *to = &out[row * e->n_output + k];
        *to = own_cut(e, t, axis, size, rows->batch->start[row + 1] - rows->batch->start[row]);
        Tensor part = { .type = T_F32, .rank = 1, .dim = { to->tokens * to->width } };
        part.data = arena_raw(arena, tensor_bytes(&part) + 1);
        to->data = part.data;
        const int64_t each = axis ? inner : part.dim[0];
        for (int64_t o = 0; o < outer; o++)
            tensor_convert(t, (o * size->B + i) * inner, &part, o * each, each);
    }
    return true;
}

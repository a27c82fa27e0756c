/* SPDX-License-Identifier: Apache-2.0
 * rows.c - integers that a graph computes along whole rows (position ids: a CumSum over the tokens
 * that are no padding). A ragged plan runs such nodes on the padded form, filled up with zeros, and
 * takes the real tokens back out. That is right if a row's numbers are the same alone and in company,
 * which is not parsed but tried out: sample rows one by one, then together in one padded batch. A graph
 * whose file declares sizes means the row filled up to them when it says "alone". */
#include "graph.h"

enum { SAMPLES = 4, SMALL_IDS = 8, MOST_WORDS = 8, LARGE_ID = 1000, LARGEST_ID = 1 << 20 };
static const int64_t lengths[] = { 5, 17, 67, 257, 509 }; /* some may exceed a position table */

typedef struct Trial {
    const Graph *g;
    const Symbols *s;
    const Layout *l;
    Arena arena;
    int64_t S;
    bool *makers; /* [n_node]: everything that the values are made by */
    bool *inside; /* [n_node]: of those, what runs on the padded form, and on shapes */
    int64_t word[MOST_WORDS]; /* words that the graph asks for: a separator's id */
    int words;
    int64_t large;            /* the ids of one row begin here; 0: they are as small as those of others */
    Inferred alone[SAMPLES];
} Trial;

static int64_t length_of(int row, int64_t S)
{
    const int64_t n[SAMPLES] = { S, S - S / 3, 1, S / 2 };
    return MAX(n[row], (int64_t)1);
}

/* through: also the makers of token values */
static bool *mark(const Trial *t, Arena *arena, bool through)
{
    const Graph *g = t->g;
    bool *needed = ARRAY(arena, bool, g->n_node), *value = ARRAY(arena, bool, g->n_value);
    for (int i = g->n_node - 1; i >= 0; i--) {
        const GraphNode *n = g->node[i];
        if (!n->op || !t->l->needed[i]) continue;
        needed[i] = t->l->node[i] == FORM_ROWS;
        for (int k = 0; k < n->n_out; k++) needed[i] |= n->out[k] >= 0 && value[n->out[k]];
        for (int k = 0; needed[i] && k < n->n_in; k++)
            if (n->in[k] >= 0) value[n->in[k]] = through || t->l->value[n->in[k]] != FORM_TOKEN;
    }
    return needed;
}

/* What integers are compared with on the way. */
static void find_words(Trial *t)
{
    for (int i = 0; i < t->g->n_node; i++) {
        const GraphNode *n = t->g->node[i];
        for (int k = 0; t->makers[i] && graph_is(n, "Equal") && k < 2; k++) {
            const GraphValue *v = &t->g->value[n->in[k]];
            const bool words = v->constant && (v->t.type == T_I64 || v->t.type == T_I32);
            for (int64_t j = 0; words && j < tensor_count(&v->t) && t->words < MOST_WORDS; j++)
                if (tensor_get_int(&v->t, j) >= SMALL_IDS) t->word[t->words++] = tensor_get_int(&v->t, j);
        }
    }
}

/* A row may have no id as small as the padding's: one that is above all that is compared with. */
static int64_t largest_compared(const Trial *t)
{
    static const char *const compares[] = { "Greater", "GreaterOrEqual", "Less", "LessOrEqual" };
    int64_t most = 0;
    double number;
    for (int i = 0; i < t->g->n_node; i++)
        for (size_t op = 0; t->makers[i] && op < COUNT(compares); op++)
            for (int k = 0; graph_is(t->g->node[i], compares[op]) && k < 2; k++)
                if (graph_scalar(t->g, t->g->node[i]->in[k], &number) && number > most && number < LARGEST_ID)
                    most = (int64_t)number;
    return most > SMALL_IDS ? most : LARGE_ID;
}

/* Token k of a sample row: among its ids are the padding's own and small, perhaps special ones, and but for one
 * row the words that the graph asks for; another has large ones alone. */
static int64_t sample(const Trial *t, Role role, int row, int64_t k)
{
    uint32_t mixed = (uint32_t)(k * 31 + row * 7 + 3) * 2654435761u >> 24;
    if (role == ROLE_TOKEN && t->large && row == SAMPLES - 1) return t->large + mixed % SMALL_IDS;
    if (role == ROLE_TOKEN && t->words && row != 1 && mixed % 3 == 0) return t->word[mixed / 3 % (uint32_t)t->words];
    switch (role) {
    case ROLE_MASK: return 1;
    case ROLE_POSITION: return k;
    case ROLE_TYPE: return mixed % 2;
    case ROLE_BOX: return k % BOX_NUMBERS / 2 * SMALL_IDS + mixed % SMALL_IDS; /* right of left */
    default: return mixed % 5 == 4 ? t->g->pad_id : mixed % SMALL_IDS;
    }
}

static bool bind(const Trial *t, int64_t B, int64_t S, Inferred *at)
{
    Err ignored;
    for (int i = 0; i < t->g->n_input; i++)
        if (!graph_bind_input(t->g, t->g->input[i], B, S, &at->t[t->g->input[i]], &ignored))
            return false;
    return true;
}

/* Tokens of a row alone: its own, or all that the file declares. */
static int64_t length_alone(const Trial *t, int row)
{
    return t->g->fixed_S ? t->g->fixed_S : length_of(row, t->S);
}

static bool run_alone(Trial *t, int row)
{
    const Graph *g = t->g;
    Inferred *at = &t->alone[row];
    Err ignored;
    const int64_t n = length_of(row, t->S);
    *at = graph_inferred(g, &t->arena);
    at->needs = t->makers;
    if (!bind(t, 1, length_alone(t, row), at)) return false;
    for (int i = 0; i < g->n_input; i++) {
        Tensor *in = &at->t[g->input[i]];
        const Role role = graph_role(g->value[g->input[i]].name);
        in->data = arena_raw(&t->arena, tensor_bytes(in));
        int64_t live = n * (tensor_count(in) / in->dim[1]);
        for (int64_t k = 0; k < tensor_count(in); k++) {
            double value = (double)(k < live             ? sample(t, role, row, k)
                                    : role == ROLE_TOKEN ? g->pad_id
                                                         : 0);
            tensor_store(in, k, 1, &value);
        }
    }
    return graph_infer(g, &t->arena, at, &ignored) && !at->dynamic;
}

/* Of a value of a row alone, what its own tokens have. */
static size_t live_bytes(const Trial *t, int row, int v)
{
    return tensor_bytes(&t->alone[row].t[v]) / (size_t)length_alone(t, row) *
           (size_t)length_of(row, t->S);
}

/* A value of the rows alone as one padded tensor. */
static Tensor together(Trial *t, int v)
{
    Tensor all = t->alone[0].t[v];
    all.dim[0] = SAMPLES, all.dim[1] = t->S;
    all.data = NULL;
    for (int r = 0; r < SAMPLES; r++)
        if (!t->alone[r].t[v].data) return all; /* only its dims are read */
    size_t bytes = tensor_bytes(&all), row = bytes / SAMPLES;
    all.data = memset(arena_raw(&t->arena, bytes + 1), 0, bytes);
    for (int r = 0; r < SAMPLES; r++)
        memcpy((char *)all.data + (size_t)r * row, t->alone[r].t[v].data, live_bytes(t, r, v));
    return all;
}

static bool leads_rows(const Tensor *t, int64_t B, int64_t S)
{
    return t->rank >= 2 && t->dim[0] == B && t->dim[1] == S;
}

static bool tokens_lead(const Trial *t, int v)
{
    for (int r = 0; r < SAMPLES; r++)
        if (!leads_rows(&t->alone[r].t[v], 1, length_alone(t, r))) return false;
    return true;
}

static bool run_together(Trial *t, Inferred *at)
{
    const Graph *g = t->g;
    Err ignored;
    *at = graph_inferred(g, &t->arena);
    at->needs = t->inside;
    if (!bind(t, SAMPLES, t->S, at)) return false;
    for (int v = 0; v < g->n_value; v++) {
        if (t->l->value[v] != FORM_TOKEN || t->alone[0].t[v].type == T_NONE) continue;
        if (!tokens_lead(t, v)) return false;
        at->t[v] = together(t, v);
    }
    return graph_infer(g, &t->arena, at, &ignored) && !at->dynamic;
}

static bool same_rows(const Trial *t, const Tensor *batch, int v)
{
    if (!leads_rows(batch, SAMPLES, t->S) || !batch->data || !tokens_lead(t, v)) return false;
    size_t row = tensor_bytes(batch) / SAMPLES;
    for (int r = 0; r < SAMPLES; r++) {
        const Tensor *one = &t->alone[r].t[v];
        size_t n = live_bytes(t, r, v);
        if (!one->data || one->type != batch->type || n > row ||
            memcmp(one->data, (const char *)batch->data + (size_t)r * row, n) != 0)
            return false;
    }
    return true;
}

/* The same for what has one number for a row. */
static bool same_numbers(const Trial *t, const Tensor *batch, int v)
{
    if (!batch->data || batch->dim[0] != SAMPLES) return false;
    size_t row = tensor_bytes(batch) / SAMPLES;
    for (int r = 0; r < SAMPLES; r++) {
        const Tensor *one = &t->alone[r].t[v];
        if (!one->data || one->type != batch->type || tensor_bytes(one) != row ||
            memcmp(one->data, (const char *)batch->data + (size_t)r * row, row) != 0)
            return false;
    }
    return true;
}

/* Something beside the integers of rows reads it, and more than its dims. */
static bool is_read(const Trial *t, int v)
{
    for (int i = 0; i < t->g->n_node; i++) {
        const GraphNode *n = t->g->node[i];
        if (!n->op || !t->l->needed[i] || t->l->node[i] == FORM_ROWS) continue;
        if (graph_is(n, "Shape") || graph_is(n, "Size")) continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] == v) return true;
    }
    return false;
}

static bool holds(const Trial *t, const Inferred *batch, int v)
{
    const Tensor *named = &t->s->t[v];
    if (t->l->value[v] != FORM_ROWS || !is_read(t, v)) return true;
    if (graph_leads(named)) return same_rows(t, &batch->t[v], v);
    return !graph_of_row(named) || same_numbers(t, &batch->t[v], v);
}

static RowsVerdict try_out(Trial *t)
{
    Inferred batch;
    t->makers = mark(t, &t->arena, true);
    t->inside = mark(t, &t->arena, false);
    find_words(t);
    const int64_t large[] = { largest_compared(t) + 1, SMALL_IDS + 1, 0 };
    for (size_t i = 0; i < COUNT(large); i++) { /* there may be no such words */
        t->large = large[i];
        if (run_alone(t, SAMPLES - 1)) break;
    }
    for (int r = 0; r < SAMPLES; r++)
        if (!run_alone(t, r)) return ROWS_UNTRIED;
    if (!run_together(t, &batch)) return ROWS_UNTRIED;
    for (int v = 0; v < t->g->n_value; v++)
        if (!holds(t, &batch, v)) return ROWS_BROKEN;
    return ROWS_HOLD;
}

RowsVerdict layout_try_rows(const Graph *g, const Symbols *s, const Layout *l, int64_t S)
{
    Trial t = { .g = g, .s = s, .l = l, .S = S };
    RowsVerdict verdict = try_out(&t);
    arena_free(&t.arena);
    return verdict;
}

int64_t layout_rows_up_to(const Graph *g, const Symbols *s, const Layout *l)
{
    int64_t up_to = 0;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        if (g->fixed_S && lengths[i] > g->fixed_S) break;
        RowsVerdict verdict = layout_try_rows(g, s, l, lengths[i]);
        if (verdict == ROWS_BROKEN) return 0;
        if (verdict == ROWS_HOLD) up_to = lengths[i];
    }
    return up_to;
}

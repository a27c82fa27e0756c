/* SPDX-License-Identifier: Apache-2.0
 * fuse_attention.c - multi-head attention as exporters write it becomes one Attention node on [B, S, C]:
 *
 *   q, k, v   Reshape [B,S,H,D] -> Transpose (any chain of them), scaled before or after
 *   scores    MatMul(q, k') [* or / scale] [+ bias] [+ mask]
 *   P         Softmax over keys [-> Where(IsNaN(P), 0, P)]
 *   out       Reshape(Transpose(MatMul(P, v))) -> [B, S, C]
 *
 * Matched from the last Reshape backwards. Whether the mask can be dropped is decided in mask.c. */
#include <math.h>

#include "graph.h"

typedef struct Heads {
    int source; /* the [B, S, C] value */
    int64_t H, D;
    double scale;
} Heads;

static bool scalar_factor(const Graph *g, const GraphNode *n, int *rest, double *factor)
{
    double c;
    if (graph_is(n, "Div") && graph_scalar(g, n->in[1], &c) && c != 0)
        return *rest = n->in[0], *factor = 1 / c, true;
    for (int k = 0; graph_is(n, "Mul") && k < 2; k++)
        if (graph_scalar(g, n->in[k], &c)) return *rest = n->in[1 - k], *factor = c, true;
    return false;
}

static bool compose(const GraphNode *transpose, int total[4])
{
    size_t n;
    const int64_t *perm = onnx_ints(transpose->node, "perm", &n);
    if (!perm || n != 4) return false;
    for (int i = 0; i < 4; i++) {
        if (perm[total[i]] < 0 || perm[total[i]] > 3) return false;
        total[i] = (int)perm[total[i]];
    }
    return true;
}

/* Reshape from [B, S, C] to [B, S, H, D] */
static bool splits_heads(const Symbols *s, const GraphNode *reshape, Heads *h)
{
    const Tensor *in = &s->t[reshape->in[0]], *out = &s->t[reshape->out[0]];
    if (in->rank != 3 || out->rank != 4 || in->type != T_F32) return false;
    if (in->dim[0] != DIM_BATCH || in->dim[1] != DIM_SEQUENCE) return false;
    if (out->dim[0] != DIM_BATCH || out->dim[1] != DIM_SEQUENCE || out->dim[2] <= 0 ||
        out->dim[3] <= 0)
        return false;
    h->source = reshape->in[0], h->H = out->dim[2], h->D = out->dim[3];
    return h->H * h->D == in->dim[2];
}

/* Reshape([B,H,S,D] -> [B*H,S,D]), Transpose(0,2,1), Reshape(-> [B,H,D,S]): a transpose of the last two
 * axes, as one exporter spells it. Sets the value it starts from. */
static bool folds_batch(const Graph *g, const Symbols *s, const GraphNode *last, int *value)
{
    const GraphNode *turn = graph_producer(g, last->in[0]);
    size_t n;
    const int64_t *perm = graph_is(turn, "Transpose") ? onnx_ints(turn->node, "perm", &n) : NULL;
    if (!perm || n != 3 || perm[0] != 0 || perm[1] != 2) return false;
    const GraphNode *first = graph_producer(g, turn->in[0]);
    if (!graph_is(first, "Reshape")) return false;
    const Tensor *from = &s->t[first->in[0]], *flat = &s->t[first->out[0]],
                 *to = &s->t[last->out[0]];
    if (from->rank != 4 || flat->rank != 3 || to->rank != 4) return false;
    for (int i = 0; i < 4; i++)
        if (from->dim[i] == DIM_UNKNOWN || to->dim[i] != from->dim[(int[]){ 0, 1, 3, 2 }[i]])
            return false;
    *value = first->in[0];
    return flat->dim[1] == from->dim[2] && flat->dim[2] == from->dim[3];
}

static void swap_last(int total[4])
{
    static const int swapped[4] = { 0, 1, 3, 2 };
    for (int i = 0; i < 4; i++) total[i] = swapped[total[i]];
}

/* value is the reshaped source with axes in the order `wanted`, times constants. */
static bool match_heads(const Graph *g, const Symbols *s, int value, const int wanted[4], Heads *h)
{
    int total[4] = { 0, 1, 2, 3 };
    *h = (Heads){ .scale = 1 };
    for (int step = 0; step < 8; step++) {
        const GraphNode *n = graph_producer(g, value);
        double factor;
        if (graph_is(n, "Reshape") && folds_batch(g, s, n, &value)) swap_last(total);
        else if (graph_is(n, "Reshape"))
            return memcmp(total, wanted, sizeof total) == 0 && splits_heads(s, n, h);
        else if (graph_is(n, "Transpose") && compose(n, total)) value = n->in[0];
        else if (scalar_factor(g, n, &value, &factor)) h->scale *= factor;
        else return false;
    }
    return false;
}

typedef struct Match {
    Heads q, k, v;
    int mask; /* -1: none */
    int bias; /* -1: none; relative positions, added like a second mask */
    int sum;  /* the node that adds the second of them */
    double scale;
} Match;

static const int by_token[4] = { 0, 2, 1, 3 }, by_column[4] = { 0, 2, 3, 1 };

static bool match_product(const Graph *g, const Symbols *s, int value, Match *m)
{
    const GraphNode *n = graph_producer(g, value);
    return graph_is(n, "MatMul") && match_heads(g, s, n->in[0], by_token, &m->q) &&
           match_heads(g, s, n->in[1], by_column, &m->k);
}

static bool match_scaled(const Graph *g, const Symbols *s, int value, Match *m)
{
    double factor;
    while (scalar_factor(g, graph_producer(g, value), &value, &factor)) m->scale *= factor;
    return match_product(g, s, value, m);
}

static bool is_added(const Symbols *s, int v)
{
    return s->t[v].type == T_F32 && s->t[v].rank >= 0 && s->t[v].rank <= 4;
}

static bool match_masked(const Graph *g, const Symbols *s, int value, Match *m)
{
    m->mask = -1, m->scale = 1;
    if (match_scaled(g, s, value, m)) return true;
    const GraphNode *add = graph_producer(g, value);
    for (int k = 0; graph_is(add, "Add") && k < 2; k++) {
        m->scale = 1;
        m->mask = add->in[1 - k];
        if (match_scaled(g, s, add->in[k], m)) return is_added(s, m->mask);
    }
    return false;
}

static bool match_scores(const Graph *g, const Symbols *s, int value, Match *m)
{
    if (match_masked(g, s, value, m)) return true;
    const GraphNode *add = graph_producer(g, value);
    for (int k = 0; graph_is(add, "Add") && k < 2; k++)
        if (match_masked(g, s, add->in[k], m) && m->mask >= 0) {
            m->bias = add->in[1 - k], m->sum = g->value[value].producer;
            return is_added(s, m->bias);
        }
    return false;
}

/* Softmax over keys, perhaps guarded against rows that see nothing. */
static const GraphNode *match_softmax(const Graph *g, int value)
{
    const GraphNode *n = graph_producer(g, value);
    if (graph_is(n, "Where")) {
        const GraphNode *test = graph_producer(g, n->in[0]);
        double zero;
        if (!graph_is(test, "IsNaN") || test->in[0] != n->in[2] ||
            !graph_scalar(g, n->in[1], &zero) || zero != 0)
            return NULL;
        n = graph_producer(g, n->in[2]);
    }
    if (!graph_is(n, "Softmax")) return NULL;
    int64_t axis = onnx_int(n->node, "axis", n->opset < 13 ? 1 : -1);
    return axis == -1 || axis == 3 ? n : NULL;
}

static bool match_output(const Graph *g, const Symbols *s, const GraphNode *reshape, Match *m)
{
    const Tensor *out = &s->t[reshape->out[0]];
    if (out->rank != 3 || out->dim[0] != DIM_BATCH || out->dim[1] != DIM_SEQUENCE) return false;
    const GraphNode *transpose = graph_producer(g, reshape->in[0]);
    int total[4] = { 0, 1, 2, 3 };
    if (!graph_is(transpose, "Transpose") || !compose(transpose, total)) return false;
    if (memcmp(total, by_token, sizeof total) != 0) return false;
    const GraphNode *product = graph_producer(g, transpose->in[0]);
    if (!graph_is(product, "MatMul") || !match_heads(g, s, product->in[1], by_token, &m->v))
        return false;
    const GraphNode *softmax = match_softmax(g, product->in[0]);
    if (!softmax || !match_scores(g, s, softmax->in[0], m)) return false;
    return m->q.H == m->k.H && m->q.D == m->k.D && m->v.H == m->q.H && m->v.D == m->q.D &&
           m->v.scale == 1 && out->dim[2] == m->v.H * m->v.D;
}

/* Mask and bias as one value, made before node *i; layers share them, and so the sum. */
static int added(Graph *g, const Match *m, const Match *before, int sum_before, int *i)
{
    if (before->bias == m->bias && before->mask == m->mask) return sum_before;
    GraphNode *add = NEW(g->arena, GraphNode);
    *add = *g->node[m->sum];
    add->in = memcpy(ARRAY(g->arena, int, 2), (int[]){ m->mask, m->bias }, 2 * sizeof(int));
    add->out = ARRAY(g->arena, int, 1);
    add->out[0] = graph_add_value(
        g, str_of(str_format(g->arena, "%.*s#masks", STR_ARG(add->node->name))));
    graph_insert(g, (*i)++, add);
    return add->out[0];
}

bool pass_attention(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { 0 };
    Symbols s;
    Err ignored; /* without shapes nothing can be proved: the generic operators stay */
    bool known = graph_symbols(g, &scratch, &s, &ignored) && s.known;
    Match before = { .mask = -1, .bias = -1 };
    int sum = -1;
    for (int i = 0; known && i < g->n_node; i++) {
        Match m = { .mask = -1, .bias = -1, .scale = 1 };
        if (!graph_is(g->node[i], "Reshape") || !match_output(g, &s, g->node[i], &m)) continue;
        if (m.bias >= 0) sum = added(g, &m, &before, sum, &i), before = m;
        int in[] = { m.q.source, m.k.source, m.v.source, m.bias >= 0 ? sum : m.mask };
        GraphNode *made = graph_replace(g, i, "Attention", in, 4, g->node[i]->out[0]);
        node_set_int(g, made, "heads", m.q.H);
        node_set_float(g, made, "scale", (float)(m.scale * m.q.scale * m.k.scale));
    }
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * fuse_attention.c - multi-head attention as exporters write it becomes one Attention node on [B, S, C]:
 *
 *   q, k, v   heads of [B, S, C] (heads.c); of k and v perhaps fewer, each for a group of q's
 *   scores    MatMul(q, k') + masks and biases, each times constants, in any order; DeBERTa adds
 *             GatherElements(MatMul(q, P'), index) and the transpose of the same with k, where P, a
 *             table of relative positions, and the index are made from shapes alone
 *   masked    or Where(condition, scores, a very negative number)
 *   weights   Softmax over keys [-> Where(IsNaN(weights), 0, weights)]
 *   out       Reshape(Transpose(MatMul(weights, v))) -> [B, S, C]
 *
 * Matched from the last Reshape backwards. What a mask says is found out in mask.c. */
#include <math.h>

#include "attention.h"

enum { MOST_ADDED = 2, MOST_DEPTH = 8 };

typedef struct Relative { /* by position: q (or k) times a table, and which entry of it is meant */
    Heads heads;
    int table, index; /* values; -1: none */
    double scale;
} Relative;

typedef struct Match {
    Heads q, k, v;
    double scale;
    bool product; /* q * k' was found */
    bool guarded; /* a row that sees nothing gives zeros, not NaN */
    int added[MOST_ADDED], n_added;
    int windows;        /* a mask for each window of a picture; -1: none */
    int test, fill;     /* Where(test, fill, scores), or with `keeps` Where(test, scores, fill) */
    bool keeps;
    Relative c2p, p2c;
} Match;

static const int by_token[4] = { 0, 2, 1, 3 }, by_column[4] = { 0, 2, 3, 1 };

static Match no_match(void)
{
    Relative none = { .table = -1, .index = -1 };
    return (Match){ .scale = 1, .windows = -1, .test = -1, .fill = -1, .c2p = none, .p2c = none };
}

/* ---- scores ---- */
static bool match_terms(const Finder *, int value, double factor, int depth, Match *);

static bool match_product(const Finder *f, const GraphNode *n, double factor, Match *m)
{
    if (!graph_is(n, "MatMul") || m->product) return false;
    m->product = heads_match(f, n->in[0], by_token, &m->q) &&
                 heads_match(f, n->in[1], by_column, &m->k);
    m->scale = factor * m->q.scale * m->k.scale;
    return m->product;
}

/* An index repeated for every row and head, before it was. */
static int unexpanded(const Finder *f, int v)
{
    const GraphNode *n = graph_producer(f->g, v);
    const Tensor *t = graph_is(n, "Expand") ? &f->s.t[n->in[0]] : NULL;
    bool whole = t && t->rank >= 2 && t->dim[t->rank - 1] == DIM_SEQUENCE &&
                 t->dim[t->rank - 2] == DIM_SEQUENCE;
    return whole ? n->in[0] : v;
}

/* GatherElements(MatMul(heads, table), index) along the last axis */
static bool match_relative(const Finder *f, const GraphNode *n, double factor, Relative *r)
{
    if (!graph_is(n, "GatherElements") || r->table >= 0) return false;
    int64_t axis = onnx_int(n->node, "axis", 0);
    if (axis != -1 && axis != f->s.t[n->in[0]].rank - 1) return false;
    const GraphNode *product = graph_producer(f->g, heads_through(f, n->in[0]));
    if (!graph_is(product, "MatMul") || f->carried[product->in[1]] || f->carried[n->in[1]] ||
        !heads_match(f, product->in[0], by_token, &r->heads))
        return false;
    r->table = product->in[1], r->index = unexpanded(f, n->in[1]);
    r->scale = factor * r->heads.scale;
    return true;
}

/* The transpose of the same, times constants: a Transpose may have been moved behind them (channels_last.c). */
static bool match_turned(const Finder *f, const GraphNode *transpose, double factor, Match *m)
{
    double c;
    int value = heads_through(f, transpose->in[0]);
    for (int k = 0; k < MOST_DEPTH && scalar_factor(f->g, graph_producer(f->g, value), &value, &c); k++) {
        factor *= c;
        value = heads_through(f, value);
    }
    return match_relative(f, graph_producer(f->g, value), factor, &m->p2c);
}

static bool is_added(const Symbols *s, int sum, int v)
{
    return s->t[v].type == T_F32 && s->t[v].rank >= 0 && s->t[v].rank <= 4 && s->t[sum].rank == 4;
}

static bool match_sum(const Finder *f, const GraphNode *add, double factor, int depth, Match *m)
{
    for (int k = 0; graph_is(add, "Add") && k < 2; k++) {
        Match left = *m, both;
        if (!match_terms(f, add->in[k], factor, depth - 1, &left)) continue;
        both = left;
        if (match_terms(f, add->in[1 - k], factor, depth - 1, &both)) return *m = both, true;
        if (factor != 1 || left.n_added == MOST_ADDED ||
            !is_added(&f->s, add->out[0], add->in[1 - k]))
            continue;
        left.added[left.n_added++] = add->in[1 - k];
        return *m = left, true;
    }
    return false;
}

/* Where that keeps the scores where they are wanted and puts one number elsewhere. */
static bool match_where(const Finder *f, const GraphNode *n, double factor, int depth, Match *m)
{
    double low;
    if (!graph_is(n, "Where") || factor != 1 || m->test >= 0 || f->s.t[n->out[0]].rank != 4)
        return false;
    for (int k = 1; k < 3; k++) {
        if (!graph_scalar(f->g, n->in[k], &low) || !(low < -1e4)) continue;
        m->test = n->in[0], m->fill = n->in[k], m->keeps = k == 2;
        return match_terms(f, n->in[3 - k], factor, depth - 1, m);
    }
    return false;
}

/* Windows of a picture (Swin): the scores [N * W, H, S, S] as [N, W, H, S, S], plus a mask [W, 1, S, S] for each
 * window. The mask repeats from picture to picture, as Attention takes it. */
static bool match_windows(const Finder *f, const GraphNode *n, double factor, int depth, Match *m)
{
    const GraphNode *add = f->rows && graph_is(n, "Reshape") ? graph_producer(f->g, n->in[0]) : NULL;
    if (!graph_is(add, "Add") || factor != 1 || f->s.t[n->out[0]].rank != 4 || m->windows >= 0) return false;
    for (int k = 0; k < 2; k++) {
        const GraphNode *part = graph_producer(f->g, add->in[k]);
        const Tensor *t = &f->s.t[add->in[k]], *mask = &f->s.t[add->in[1 - k]];
        if (!graph_is(part, "Reshape") || t->rank != 5 || mask->rank < 4 || mask->type != T_F32 ||
            f->s.t[part->in[0]].rank != 4)
            continue;
        const int64_t *d = mask->dim + mask->rank - 4; /* [W, 1, S, S] */
        if (d[0] <= 0 || d[0] != t->dim[1] || d[1] != 1 || d[2] != t->dim[3] || d[3] != t->dim[4] ||
            (mask->rank == 5 && mask->dim[0] != 1))
            continue;
        m->windows = add->in[1 - k];
        return match_terms(f, part->in[0], factor, depth - 1, m);
    }
    return false;
}

static bool match_terms(const Finder *f, int value, double factor, int depth, Match *m)
{
    double c;
    value = heads_through(f, value);
    const GraphNode *n = graph_producer(f->g, value);
    if (!n || depth == 0) return false;
    if (match_product(f, n, factor, m) || match_relative(f, n, factor, &m->c2p)) return true;
    if (swaps_last(n) && match_turned(f, n, factor, m)) return true;
    if (match_sum(f, n, factor, depth, m) || match_where(f, n, factor, depth, m) ||
        match_windows(f, n, factor, depth, m))
        return true;
    return scalar_factor(f->g, n, &value, &c) && match_terms(f, value, factor * c, depth - 1, m);
}

/* ---- around them ---- */
/* Softmax over keys, perhaps guarded against rows that see nothing. */
static const GraphNode *match_softmax(const Finder *f, int value, bool *guarded)
{
    const Graph *g = f->g;
    const GraphNode *n = graph_producer(g, heads_through(f, value));
    if (graph_is(n, "Where")) {
        const GraphNode *test = graph_producer(g, n->in[0]);
        double zero;
        if (!graph_is(test, "IsNaN") || test->in[0] != n->in[2] ||
            !graph_scalar(g, n->in[1], &zero) || zero != 0)
            return NULL;
        n = graph_producer(g, n->in[2]);
        *guarded = true;
    }
    if (!graph_is(n, "Softmax")) return NULL;
    int64_t axis = onnx_int(n->node, "axis", n->opset < 13 ? 1 : -1);
    return axis == -1 || axis == f->s.t[n->in[0]].rank - 1 ? n : NULL;
}

static bool same_heads(const Heads *a, const Heads *b)
{
    return a->H == b->H && a->D == b->D;
}

/* Every head of queries has its own of keys and values, or some share one. */
static bool heads_agree(const Heads *q, const Heads *k, const Heads *v)
{
    if (q->copies != 1 || k->D != q->D || !same_heads(k, v) || k->copies != v->copies) return false;
    return q->H % k->H == 0 && (q->H / k->H == k->copies || (k->H == 1 && k->copies == 1));
}

static bool same_source(const Heads *a, const Heads *b)
{
    return a->source == b->source && a->at == b->at && same_heads(a, b) && a->cos < 0;
}

/* The same angles, perhaps with their axes in another order. */
static bool same_angles(const Finder *f, int a, int b)
{
    static const int64_t lengths[] = { 7, 23 };
    Tensor x, y;
    if (a == b || a < 0 || b < 0) return a == b;
    for (size_t i = 0; i < COUNT(lengths); i++)
        if (!graph_known_at(f->g, f->arena, &f->s, a, 1, lengths[i], &x) ||
            !graph_known_at(f->g, f->arena, &f->s, b, 1, lengths[i], &y) ||
            tensor_bytes(&x) != tensor_bytes(&y) || memcmp(x.data, y.data, tensor_bytes(&x)) != 0)
            return false;
    return true;
}

/* What is added says something of every key; one number for all of them changes no weight, and the
 * kernel does not read it. */
static bool mask_has_keys(const Finder *f, const Match *m)
{
    bool any = m->n_added > 0 || m->test >= 0, keys = false;
    for (int k = -1; k < m->n_added; k++) {
        int v = k < 0 ? m->test : m->added[k];
        const Tensor *t = v >= 0 ? &f->s.t[v] : NULL;
        keys |= t && t->rank > 0 && counts_tokens(f, t->dim[t->rank - 1]) && t->dim[t->rank - 1] != 1;
    }
    return keys || !any;
}

/* What was found separately belongs together. */
static bool agrees(const Finder *f, const Match *m, const Tensor *out)
{
    if (!m->product || !heads_agree(&m->q, &m->k, &m->v) || m->v.scale != 1 || m->v.cos >= 0 ||
        out->dim[2] != m->q.H * m->v.D || !mask_has_keys(f, m))
        return false;
    const int64_t *q = f->s.t[m->q.source].dim, *k = f->s.t[m->k.source].dim, *v = f->s.t[m->v.source].dim;
    if (q[1] != out->dim[1] || k[1] != v[1] || q[0] != k[0] || q[0] != v[0]) return false;
    if (q[1] != k[1] && (m->q.cos >= 0 || m->c2p.table >= 0 || m->p2c.table >= 0)) return false;
    if (!same_angles(f, m->q.cos, m->k.cos) || !same_angles(f, m->q.sin, m->k.sin)) return false;
    if ((m->c2p.table >= 0 || m->p2c.table >= 0) && (m->q.cos >= 0 || m->k.H != m->q.H)) return false;
    return (m->c2p.table < 0 || same_source(&m->c2p.heads, &m->q)) &&
           (m->p2c.table < 0 || same_source(&m->p2c.heads, &m->k));
}

static bool match_output(const Finder *f, const GraphNode *reshape, Match *m)
{
    const Graph *g = f->g;
    const Tensor *out = &f->s.t[reshape->out[0]];
    if (out->rank != 3 || (!f->rows && out->dim[0] != DIM_BATCH) || !counts_tokens(f, out->dim[1]))
        return false;
    const GraphNode *transpose = graph_producer(g, reshape->in[0]);
    size_t rank = 0;
    const int64_t *perm =
        graph_is(transpose, "Transpose") ? onnx_ints(transpose->node, "perm", &rank) : NULL;
    if (!perm || rank != 4) return false;
    for (int i = 0; i < 4; i++)
        if (perm[i] != by_token[i]) return false;
    const GraphNode *product = graph_producer(g, heads_through(f, transpose->in[0]));
    if (!graph_is(product, "MatMul") || !heads_match(f, product->in[1], by_token, &m->v))
        return false;
    const GraphNode *softmax = match_softmax(f, product->in[0], &m->guarded);
    return softmax && match_terms(f, softmax->in[0], 1, MOST_DEPTH, m) && agrees(f, m, out);
}

/* ---- relative positions ---- */
/* The table at B rows of S tokens: [B * H, D, P], the same for every row. */
static bool table_at(const Finder *f, const Relative *r, int64_t B, int64_t S, Tensor *t)
{
    if (!graph_known_at(f->g, f->arena, &f->s, r->table, B, S, t)) return false;
    return t->type == T_F32 && t->rank >= 2 && t->dim[t->rank - 2] == r->heads.D &&
           tensor_count(t) % (r->heads.H * r->heads.D) == 0;
}

static bool same_table(const Tensor *one, const Tensor *two, int64_t copies)
{
    size_t bytes = tensor_bytes(one);
    if (tensor_bytes(two) != bytes * (size_t)copies) return false;
    for (int64_t c = 0; c < copies; c++)
        if (memcmp((const char *)two->data + (size_t)c * bytes, one->data, bytes) != 0) return false;
    return true;
}

/* Panels of every head, with the scale of the scores in them; -1: not the same at every size. */
static int relative_panels(const Finder *f, const Relative *r, int64_t *P)
{
    Tensor t, other;
    const int64_t H = r->heads.H, D = r->heads.D;
    if (!table_at(f, r, 1, 7, &t) || tensor_count(&t) % (H * D)) return -1;
    bool constant = f->g->value[r->table].constant; /* then broadcast over the batch, if it fits */
    *P = tensor_count(&t) / (H * D);
    if (t.dim[t.rank - 1] != *P) return -1;
    if (!constant && (!table_at(f, r, 1, 23, &other) || !same_table(&t, &other, 1))) return -1;
    if (!constant && (!table_at(f, r, 2, 7, &other) ||
                      (!same_table(&t, &other, 2) && !same_table(&t, &other, 1))))
        return -1;
    size_t one = panels_f32_size(*P, D);
    float *scaled = ARRAY(f->arena, float, D * *P);
    Tensor to = { .type = T_F32, .rank = 4,
                  .dim = { H, ROUND_UP(*P, PANEL) / PANEL, D, PANEL } };
    to.data = graph_room(f->g, one * (size_t)H * sizeof(float));
    if (!to.data) return -1;
    for (int64_t h = 0; h < H; h++) {
        for (int64_t i = 0; i < D * *P; i++)
            scaled[i] = ((const float *)t.data)[h * D * *P + i] * (float)r->scale;
        panels_f32_pack(scaled, false, *P, D, (float *)to.data + (size_t)h * one);
    }
    const char *name = str_format(f->g->arena, "%.*s#relative%d",
                                  STR_ARG(f->g->value[r->table].name), f->g->n_value);
    return graph_add_constant(f->g, name, &to);
}

/* ---- the node ---- */
static int insert(const Finder *f, const char *op, const int *in, int n_in, int *i)
{
    Graph *g = f->g;
    const char *name = str_format(g->arena, "%.*s#%s%d", STR_ARG(g->node[*i]->node->name), op,
                                  g->n_value);
    GraphNode *made = graph_node(g, op, name, in, n_in);
    made->guard = g->node[*i]->guard;
    graph_insert(g, (*i)++, made);
    return made->out[0];
}

typedef struct Masks { /* of the layer before, which shares them as a rule */
    int test, fill, added[MOST_ADDED], n_added;
    bool keeps;
    int made, guard;
} Masks;

/* All that is added to the scores as one value, made before node *i; -1: nothing. */
static int made_mask(const Finder *f, const Match *m, Masks *before, int *i)
{
    if (m->test < 0 && m->n_added < 2) return m->n_added ? m->added[0] : -1;
    int guard = f->g->node[*i]->guard;
    bool same = before->made >= 0 && before->guard == guard && before->test == m->test &&
                before->fill == m->fill && before->keeps == m->keeps &&
                before->n_added == m->n_added;
    for (int k = 0; same && k < m->n_added; k++) same = before->added[k] == m->added[k];
    if (same) return before->made;
    int mask = m->n_added ? m->added[0] : -1;
    for (int k = 1; k < m->n_added; k++)
        mask = insert(f, "Add", (int[]){ mask, m->added[k] }, 2, i);
    if (m->test >= 0) {
        Tensor zero = { .type = T_F32, .data = memset(arena_raw(f->g->arena, 4), 0, 4) };
        int none = graph_add_constant(
            f->g, str_format(f->g->arena, "#zero%d", f->g->n_value), &zero);
        int hides = insert(f, "Where",
                           (int[]){ m->test, m->keeps ? none : m->fill, m->keeps ? m->fill : none },
                           3, i);
        mask = mask < 0 ? hides : insert(f, "Add", (int[]){ mask, hides }, 2, i);
    }
    *before = (Masks){ m->test, m->fill, { 0 }, m->n_added, m->keeps, mask, guard };
    memcpy(before->added, m->added, sizeof before->added);
    return mask;
}

/* The mask of windows besides, [W, 1, S, S]. */
static int with_windows(const Finder *f, const Match *m, int mask, int *i)
{
    if (m->windows < 0) return mask;
    const Tensor *t = &f->s.t[m->windows];
    Tensor shape = { .type = T_I64, .rank = 1, .dim = { 4 } };
    shape.data = memcpy(ARRAY(f->g->arena, int64_t, 4), t->dim + t->rank - 4, 4 * sizeof(int64_t));
    int to = graph_add_constant(f->g, str_format(f->g->arena, "#windows%d", f->g->n_value), &shape);
    int windows = insert(f, "Reshape", (int[]){ m->windows, to }, 2, i);
    return mask < 0 ? windows : insert(f, "Add", (int[]){ windows, mask }, 2, i);
}

/* Inputs that say where relative positions are taken from; false: the table is not constant. */
static bool add_relative(const Finder *f, const Match *m, int in[ATT_INPUTS], int64_t *P)
{
    int64_t other = 0;
    *P = 0;
    if (m->c2p.table >= 0 && (in[ATT_C2P] = relative_panels(f, &m->c2p, P)) < 0) return false;
    if (m->p2c.table >= 0 && (in[ATT_P2C] = relative_panels(f, &m->p2c, &other)) < 0) return false;
    if (*P && other && *P != other) return false;
    *P = MAX(*P, other);
    in[ATT_C2P_AT] = m->c2p.index, in[ATT_P2C_AT] = m->p2c.index;
    return true;
}

static int64_t columns_of(const Finder *f, const Heads *h)
{
    const Tensor *t = &f->s.t[h->source];
    return t->rank == 3 ? t->dim[2] : h->H * h->D;
}

/* The source as [B, S, columns]. */
static int in_columns(const Finder *f, const Heads *h, int *i)
{
    if (f->s.t[h->source].rank == 3) return h->source;
    Tensor shape = { .type = T_I64, .rank = 1, .dim = { 3 } };
    shape.data = memcpy(ARRAY(f->g->arena, int64_t, 3), (int64_t[]){ 0, 0, h->H * h->D }, 3 * sizeof(int64_t));
    int to = graph_add_constant(f->g, str_format(f->g->arena, "#columns%d", f->g->n_value), &shape);
    return insert(f, "Reshape", (int[]){ h->source, to }, 2, i);
}

static void fuse(const Finder *f, const Match *m, Masks *before, int *i)
{
    Graph *g = f->g;
    int64_t P;
    int in[ATT_INPUTS], n = ATT_MASK + 1;
    for (int k = 0; k < ATT_INPUTS; k++) in[k] = -1;
    if (!add_relative(f, m, in, &P)) return;
    in[ATT_Q] = in_columns(f, &m->q, i), in[ATT_K] = in_columns(f, &m->k, i);
    in[ATT_V] = in_columns(f, &m->v, i);
    in[ATT_COS] = m->q.cos, in[ATT_SIN] = m->q.sin;
    in[ATT_MASK] = with_windows(f, m, made_mask(f, m, before, i), i);
    for (int k = n; k < ATT_INPUTS; k++)
        if (in[k] >= 0) n = ATT_INPUTS; /* room for what mask.c finds out */
    GraphNode *made = graph_replace(g, *i, "Attention", in, n, g->node[*i]->out[0]);
    node_set_int(g, made, "heads", m->q.H);
    node_set_float(g, made, "scale", (float)m->scale);
    if (m->k.H != m->q.H) node_set_int(g, made, "kv_heads", m->k.H);
    if (m->q.H * m->q.D != columns_of(f, &m->q) || m->q.at || m->k.at || m->v.at) {
        node_set_int(g, made, "size", m->q.D);
        node_set_int(g, made, "q_at", m->q.at);
        node_set_int(g, made, "k_at", m->k.at);
        node_set_int(g, made, "v_at", m->v.at);
    }
    if (P) node_set_int(g, made, "positions", P);
    if (m->guarded) node_set_int(g, made, "guarded", 1);
}

bool pass_attention(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { .local = true };
    Err ignored; /* without shapes nothing can be proved: the generic operators stay */
    Finder f = { .g = g, .arena = &scratch, .rows = graph_has_own(g) };
    bool known = graph_symbols(g, &scratch, &f.s, &ignored) && f.s.known;
    f.carried = graph_carried(g, &scratch);
    Masks before = { .made = -1 };
    for (int i = 0; known && i < g->n_node; i++) {
        Match m = no_match();
        if (graph_is(g->node[i], "Reshape") && match_output(&f, g->node[i], &m))
            fuse(&f, &m, &before, &i);
    }
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * mask.c - exporters write the attention mask in a dozen ways, so it is not parsed but probed: the
 * subgraph that makes it is run on sample masks (a full row, shorter rows, one token, holes). What is
 * looked for: dead keys are very negative, and what live keys get depends on nothing but the head and
 * the distance from the query. Always 0: padding only. 0 up to a distance and then very negative: a
 * window. Anything else: a bias by distance (MPNet's buckets, a causal mask), kept as a table. Then
 * attention over rows without padding needs no mask tensor. The same is asked of the indices of
 * relative positions (DeBERTa).
 *
 * Where the makers can be followed (sample.c) only chosen points are looked at: every distance, and keys
 * of all kinds. Else the whole value is made, which costs the square of the length.
 *
 * The verdict holds up to the probed length, which lies beyond every integer constant of the subgraph and
 * beyond what numbers by distance go on to, where that can be followed
 * (a window of 64 is invisible at 64); longer rows are probed again, and must go on as the tables
 * end. A package has that done when it is built. */
#include "sample.h"

enum {
    PROBE_ROWS = 4,
    LEAST_LENGTH = 520,
    MOST_LENGTH = 4104,
    MOST_PROVED = 8192 /* tokens, when a package is built: no encoder that we know takes more */
};
static const float HIDDEN = -1e4f; /* exp(score - 1e4) is 0 for any score a model makes */

/* ---- what is probed ---- */
static const int probed[] = { ATT_MASK, ATT_C2P_AT, ATT_P2C_AT };

static bool *probe_makers(const Graph *g, Arena *arena, const Symbols *s, bool *any)
{
    bool *wanted = ARRAY(arena, bool, g->n_value);
    *any = false;
    for (int i = 0; i < g->n_node; i++)
        for (size_t k = 0; graph_attends(g->node[i]) && k < COUNT(probed); k++) {
            int v = graph_input(g->node[i], probed[k]);
            if (v >= 0) wanted[v] = *any = true;
        }
    return graph_makers(g, arena, s, wanted);
}

static int64_t largest_constant(const Graph *g, const bool *needed)
{
    int64_t most = 0;
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; needed[i] && k < g->node[i]->n_in; k++) {
            int v = g->node[i]->in[k];
            const Tensor *t = v >= 0 && g->value[v].constant ? &g->value[v].t : NULL;
            for (int d = 0; t && d < t->rank; d++) most = MAX(most, t->dim[d]);
            if (!t || (t->type != T_I64 && t->type != T_I32)) continue;
            for (int64_t j = 0; j < tensor_count(t); j++) {
                int64_t c = tensor_get_int(t, j);
                if (c < MOST_LENGTH) most = MAX(most, c); /* larger ones mean "to the end" */
            }
        }
    return most;
}

static bool live(int row, int64_t S, int64_t key)
{
    switch (row) {
    case 0: return true;
    case 1: return key < S - S / 3;
    case 2: return key < 1;
    default: return key < S / 2 && key % 5 != 3; /* holes */
    }
}

/* [PROBE_ROWS * S]; by_count: as a mask sees it that is made from the number of live keys, which
 * takes a row with holes for a shorter one (we make no holes). */
static const bool *live_keys(Arena *arena, int64_t S, bool by_count)
{
    bool *on = ARRAY(arena, bool, PROBE_ROWS * S);
    for (int r = 0; r < PROBE_ROWS; r++)
        for (int64_t k = 0, count = 0; k < S; k++)
            if (live(r, S, k)) on[r * S + (by_count ? count++ : k)] = true;
    return on;
}

/* ---- a mask by distance ---- */
typedef struct Mask { /* of PROBE_ROWS rows, broadcast to [PROBE_ROWS, H, S, S] */
    const float *p;
    int64_t H, queries, S;
    float *table; /* [H][2 S - 1]: by key - query */
} Mask;

static bool read_mask(const Tensor *t, Arena *arena, int64_t S, Mask *m)
{
    if (!t->data || t->type != T_F32 || t->rank < 1 || t->rank > 4 || t->dim[t->rank - 1] != S)
        return false;
    int64_t dim[4] = { 1, 1, 1, S };
    for (int d = 0; d < t->rank; d++) dim[4 - t->rank + d] = t->dim[d];
    if (dim[0] != PROBE_ROWS || (dim[2] != S && dim[2] != 1)) return false;
    *m = (Mask){ t->data, dim[1], dim[2], S, ARRAY(arena, float, dim[1] * (2 * S - 1)) };
    for (int64_t h = 0; h < m->H && m->queries == S; h++) { /* of the row without padding */
        const float *p = m->p + h * S * S;
        for (int64_t d = 0; d < S; d++) {
            m->table[h * (2 * S - 1) + S - 1 + d] = p[d];
            m->table[h * (2 * S - 1) + S - 1 - d] = p[d * S];
        }
    }
    return true;
}

static bool same_query(const float *p, const float *by_distance, const bool *on, int64_t S)
{
    for (int64_t k = 0; k < S; k++) {
        bool gone = !(p[k] > HIDDEN);
        if (on[k] ? p[k] != by_distance[k] && !(gone && by_distance[k] <= HIDDEN) : !gone)
            return false;
    }
    return true;
}

/* The table tells all of the mask. */
static bool by_distance(const Mask *m, const bool *on)
{
    const int64_t S = m->S;
    const float *p = m->p;
    for (int r = 0; r < PROBE_ROWS; r++, on += S)
        for (int64_t h = 0; h < m->H; h++)
            for (int64_t q = 0; q < m->queries; q++, p += S) {
                if (m->queries == S && !on[q]) continue; /* nobody reads a dead query */
                if (!same_query(p, m->table + h * (2 * S - 1) + S - 1 - q, on, S)) return false;
            }
    for (int64_t h = 0; h < m->H; h++) /* a token sees itself */
        if (!(m->table[h * (2 * S - 1) + S - 1] > HIDDEN)) return false;
    return true;
}

/* 0 up to that distance, hidden beyond; 0: no window. */
static int64_t window_of(const Mask *m)
{
    const int64_t S = m->S;
    const float *middle = m->table + S - 1;
    int64_t w = 0;
    while (w + 1 < S && middle[w + 1] == 0) w++;
    if (w == 0 || w == S - 1) return 0;
    for (int64_t h = 0; h < m->H; h++, middle += 2 * S - 1)
        for (int64_t d = 1 - S; d < S; d++)
            if (d >= -w && d <= w ? middle[d] != 0 : !(middle[d] <= HIDDEN)) return 0;
    return w;
}

static bool is_zero(const Mask *m)
{
    for (int64_t i = 0; i < m->H * (2 * m->S - 1); i++)
        if (m->table[i] != 0) return false;
    return true;
}

/* ---- an index by distance ---- */
/* t is [..., S, S] and depends on row - column only: to table[2 S - 1]. */
static bool index_by_distance(const Tensor *t, int64_t S, int64_t P, int32_t *table)
{
    if (!t->data || (t->type != T_I64 && t->type != T_I32) || t->rank < 2 ||
        t->dim[t->rank - 1] != S || t->dim[t->rank - 2] != S)
        return false;
    for (int64_t d = 0; d < S; d++) {
        table[S - 1 - d] = (int32_t)tensor_get_int(t, d);
        table[S - 1 + d] = (int32_t)tensor_get_int(t, d * S);
    }
    for (int64_t d = 0; d < 2 * S - 1; d++)
        if (table[d] < 0 || table[d] >= P) return false;
    int64_t n = tensor_count(t);
    for (int64_t i = 0; i < n; i++)
        if (tensor_get_int(t, i) != table[S - 1 + i / S % S - i % S]) return false;
    return true;
}

/* ---- the same, at points ---- */
typedef enum { TAKEN, REFUSED, NOT_FOLLOWED } Sampled;

/* Every distance, at several places of the row without padding: its start, its end, its middle and one
 * that looks random. A mask by blocks, segments or global tokens differs between these. */
enum { PLACES = 4 };
static int64_t distance_points(int64_t S, Point *to)
{
    int64_t n = 0;
    for (int64_t d = 1 - S; d < S; d++) { /* key - query */
        int64_t low = MAX(-d, (int64_t)0), high = S - 1 - MAX(d, (int64_t)0);
        int64_t some = low + (int64_t)((uint64_t)(d + S) * 2654435761u % (uint64_t)(high - low + 1));
        const int64_t query[PLACES] = { low, high, (low + high) / 2, some };
        for (int k = 0; k < PLACES; k++)
            to[n++] = (Point){ 0, (int32_t)query[k], (int32_t)(query[k] + d) };
    }
    return n;
}

/* Few live queries of a row against keys of all kinds: all near the ends, some between. */
enum { QUERIES = 4, NEAR = 8, BETWEEN = 256 };
static int64_t row_points(const bool *on, int64_t S, int row, Point *to)
{
    int64_t n = 0, count = 0, step = MAX(S / BETWEEN, (int64_t)1);
    for (int64_t k = 0; k < S; k++) count += on[k];
    for (int j = 0; j < QUERIES; j++) {
        int64_t query = 0, wanted = (count - 1) * j / (QUERIES - 1);
        for (int64_t seen = 0; query < S; query++)
            if (on[query] && seen++ == wanted) break;
        for (int64_t k = 0; k < S; k++) {
            bool edge = k < NEAR || k >= S - NEAR || (k >= NEAR && on[k - NEAR] != on[k]) ||
                        (k + NEAR < S && on[k + NEAR] != on[k]);
            if (edge || k % step == 0) to[n++] = (Point){ row, (int32_t)query, (int32_t)k };
        }
    }
    return n;
}

static bool hidden_alike(float a, float b)
{
    return a == b || (!(a > HIDDEN) && !(b > HIDDEN));
}

/* Numbers at the points of one head: to the table, and then against it. on: [PROBE_ROWS * S] */
static bool fits_distance(const float *p, const Point *point, int64_t n, const bool *on, int64_t S,
                          float *table)
{
    for (int64_t i = 0; i < n; i++) {
        float *entry = &table[S - 1 + point[i].key - point[i].query];
        bool live_key = on[point[i].row * S + point[i].key];
        if (point[i].row == 0 && i % PLACES == 0) *entry = p[i];
        else if (live_key ? !hidden_alike(p[i], *entry) : p[i] > HIDDEN) return false;
    }
    return table[S - 1] > HIDDEN; /* a token sees itself */
}

static Points points_of_mask(Arena *arena, const bool *on, int64_t S)
{
    Point *point = ARRAY(arena, Point, 2 * PLACES * S + PROBE_ROWS * QUERIES * S);
    int64_t n = distance_points(S, point);
    for (int r = 1; r < PROBE_ROWS; r++) n += row_points(on + r * S, S, r, point + n);
    return (Points){ point, n, PROBE_ROWS, S };
}

/* Every head's numbers go into a row of the table. own: for what is of one head alone. */
static Sampled sample_heads(Arena *arena, Arena *own, const Graph *g, const Symbols *s, int v,
                            const Mask *m)
{
    static const Axis four[] = { AXIS_ROW, AXIS_HEAD, AXIS_QUERY, AXIS_KEY };
    const int64_t S = m->S;
    const bool *on = live_keys(arena, S, false), *counted = live_keys(arena, S, true);
    Points points = points_of_mask(arena, on, S);
    Sampler *sampler = sampler_new(arena, own, g, s, &points, live);
    for (int64_t h = 0; h < m->H; h++) {
        Tensor t;
        float *table = m->table + h * (2 * S - 1);
        sampler_head(sampler, (int)h);
        if (!sampler_take(sampler, v, four + 4 - s->t[v].rank, &t) || t.type != T_F32)
            return NOT_FOLLOWED;
        if (!fits_distance(t.data, points.point, points.n, on, S, table) &&
            !fits_distance(t.data, points.point, points.n, counted, S, table))
            return REFUSED;
    }
    return TAKEN;
}

/* [..., H, S, S] by the table alone. */
static Sampled sample_whole_mask(Arena *arena, const Graph *g, const Symbols *s, int v, int64_t S,
                                 Mask *m)
{
    const Tensor *named = &s->t[v];
    int64_t H = named->rank >= 3 ? named->dim[named->rank - 3] : 1;
    if (!s->known || named->rank < 2 || named->rank > 4 || H < 1 || named->type != T_F32)
        return NOT_FOLLOWED;
    *m = (Mask){ .H = H, .queries = S, .S = S, .table = ARRAY(arena, float, H * (2 * S - 1)) };
    Arena shared = { .local = true }, own = { .local = true };
    Sampled how = sample_heads(&shared, &own, g, s, v, m);
    arena_free(&shared);
    arena_free(&own);
    return how;
}

static Sampled sample_index(const Graph *g, const Symbols *s, int v, int64_t S, int64_t P,
                            int32_t *table)
{
    const int rank = s->t[v].rank;
    Axis axis[MAX_RANK] = { AXIS_NONE };
    Arena scratch = { .local = true }, none = { .local = true };
    Tensor t;
    Point *point = ARRAY(&scratch, Point, 2 * PLACES * S);
    Points points = { point, distance_points(S, point), 1, S };
    if (rank >= 2) axis[rank - 2] = AXIS_QUERY, axis[rank - 1] = AXIS_KEY;
    bool followed = s->known && rank >= 2 &&
                    sampler_take(sampler_new(&scratch, &none, g, s, &points, NULL), v, axis, &t) &&
                    (t.type == T_I64 || t.type == T_I32);
    bool fits = followed;
    for (int64_t i = 0; fits && i < points.n; i++) {
        int64_t entry = tensor_get_int(&t, i), at = S - 1 + point[i].query - point[i].key;
        fits = entry >= 0 && entry < P && (i % PLACES == 0 || table[at] == entry);
        if (fits) table[at] = (int32_t)entry;
    }
    arena_free(&scratch);
    return !followed ? NOT_FOLLOWED : fits ? TAKEN : REFUSED;
}

/* ---- the verdict of one node ---- */
typedef struct Verdict {
    int64_t S;
    Mask mask; /* p NULL: none */
    int64_t window;
    bool biased;
    int32_t *index[2]; /* c2p, p2c: [2 S - 1] or NULL */
} Verdict;

typedef struct Probe {
    const Graph *g;
    Arena *arena;
    const Symbols *s;
    const bool *makers;
    int64_t S;
    bool points; /* only: a value that cannot be sampled is not made */
    Inferred at; /* whole values, made when one of them cannot be sampled */
    bool made;
} Probe;

static bool make_whole(Probe *p)
{
    if (!p->made && !p->points)
        p->made = graph_make(p->g, p->arena, p->s, p->makers, PROBE_ROWS, p->S, live, &p->at);
    return p->made;
}

static bool whole_mask(Probe *p, int v, Mask *mask)
{
    return make_whole(p) && read_mask(&p->at.t[v], p->arena, p->S, mask) &&
           (by_distance(mask, live_keys(p->arena, p->S, false)) ||
            by_distance(mask, live_keys(p->arena, p->S, true)));
}

static bool sampled_or_whole_mask(Probe *p, int v, Mask *mask)
{
    Sampled how = sample_whole_mask(p->arena, p->g, p->s, v, p->S, mask);
    return how == NOT_FOLLOWED ? whole_mask(p, v, mask) : how == TAKEN;
}

static bool index_table(Probe *p, int v, int64_t P, int32_t *table)
{
    Sampled how = sample_index(p->g, p->s, v, p->S, P, table);
    if (how != NOT_FOLLOWED) return how == TAKEN;
    return make_whole(p) && index_by_distance(&p->at.t[v], p->S, P, table);
}

static bool judge(Probe *p, const GraphNode *n, Verdict *to)
{
    int mask = graph_input(n, ATT_MASK);
    *to = (Verdict){ .S = p->S };
    if (mask >= 0) {
        if (!sampled_or_whole_mask(p, mask, &to->mask)) return false;
        to->window = window_of(&to->mask);
        to->biased = !to->window && !is_zero(&to->mask);
    }
    for (int k = 0; k < 2; k++) {
        int v = graph_input(n, k ? ATT_P2C_AT : ATT_C2P_AT);
        if (v < 0) continue;
        to->index[k] = ARRAY(p->arena, int32_t, 2 * p->S - 1);
        if (!index_table(p, v, onnx_int(n->node, "positions", 0), to->index[k])) return false;
    }
    return true;
}

/* An entry of a kept table, which goes on as it ends. */
static int64_t mask_place(const Tensor *table, int64_t distance)
{
    int64_t n = table->dim[table->rank - 1], R = (n + 1) / 2;
    return MIN(MAX(distance + R - 1, (int64_t)0), n - 1);
}

static bool same_bias(const Tensor *kept, const Verdict *v)
{
    if (!v->biased || kept->rank != 2 || kept->dim[0] != v->mask.H) return false;
    for (int64_t h = 0; h < v->mask.H; h++)
        for (int64_t d = 1 - v->S; d < v->S; d++) {
            float is = v->mask.table[h * (2 * v->S - 1) + v->S - 1 + d],
                  was = ((const float *)kept->data)[h * kept->dim[1] + mask_place(kept, d)];
            if (is != was && !(is <= HIDDEN && was <= HIDDEN)) return false;
        }
    return true;
}

/* What was found at this length is what the node says already. */
static bool agrees(const Graph *g, const GraphNode *n, const Verdict *v)
{
    int bias = graph_input(n, ATT_BIAS);
    if (onnx_int(n->node, "window", 0) != v->window || (bias >= 0) != v->biased) return false;
    if (bias >= 0 && !same_bias(&g->value[bias].t, v)) return false;
    for (int k = 0; k < 2; k++) {
        int by = graph_input(n, k ? ATT_P2C_BY : ATT_C2P_BY);
        if ((by >= 0) != (v->index[k] != NULL)) return false;
        for (int64_t d = 1 - v->S; by >= 0 && d < v->S; d++)
            if (((const int32_t *)g->value[by].t.data)[mask_place(&g->value[by].t, d)] !=
                v->index[k][v->S - 1 + d])
                return false;
    }
    return true;
}

/* What the node says that is added at a distance. */
static float said(const Graph *g, const GraphNode *n, int64_t head, int64_t d)
{
    int64_t window = onnx_int(n->node, "window", 0);
    int bias = graph_input(n, ATT_BIAS);
    if (window && (d > window || d < -window)) return 2 * HIDDEN;
    if (bias < 0) return 0;
    const Tensor *t = &g->value[bias].t;
    return ((const float *)t->data)[MIN(head, t->dim[0] - 1) * t->dim[1] + mask_place(t, d)];
}

/* A mask that depends on the length itself (a window of S / 4, positions divided by S) is another one
 * for shorter rows. */
static bool holds_shorter(const Graph *g, const GraphNode *n, const Verdict *v)
{
    for (int64_t h = 0; v->mask.table && h < v->mask.H; h++)
        for (int64_t d = 1 - v->S; d < v->S; d++)
            if (!hidden_alike(v->mask.table[h * (2 * v->S - 1) + v->S - 1 + d], said(g, n, h, d)))
                return false;
    for (int k = 0; k < 2; k++) {
        int by = graph_input(n, k ? ATT_P2C_BY : ATT_C2P_BY);
        for (int64_t d = 1 - v->S; v->index[k] && by >= 0 && d < v->S; d++)
            if (((const int32_t *)g->value[by].t.data)[mask_place(&g->value[by].t, d)] !=
                v->index[k][v->S - 1 + d])
                return false;
    }
    return true;
}

/* ---- keeping it ---- */
static int kept_table(Graph *g, const GraphNode *n, const char *what, DType type, int64_t rows,
                      int64_t columns, const void *data)
{
    Tensor t = { .type = type, .rank = rows ? 2 : 1, .dim = { rows ? rows : columns, columns } };
    t.data = memcpy(arena_raw(g->arena, tensor_bytes(&t)), data, tensor_bytes(&t));
    for (int v = g->n_value - 1; v >= 0; v--) { /* layers share theirs */
        const GraphValue *old = &g->value[v];
        if (old->constant && tensor_same_shape(&old->t, &t) && old->t.type == type &&
            memcmp(old->t.data, data, tensor_bytes(&t)) == 0)
            return v;
    }
    return graph_add_constant(
        g, str_format(g->arena, "%.*s#%s%d", STR_ARG(n->node->name), what, g->n_value), &t);
}

static void widen(Graph *g, GraphNode *n)
{
    int *in = ARRAY(g->arena, int, ATT_INPUTS);
    for (int k = 0; k < ATT_INPUTS; k++) in[k] = graph_input(n, k);
    n->in = in;
    n->n_in = ATT_INPUTS;
}

/* The distance from which on an index says nothing new, in either direction. */
static int64_t settles_at(const int32_t *index, int64_t S)
{
    int64_t d = S - 1;
    while (d > 1 && index[S - d] == index[0] && index[S + d - 2] == index[2 * S - 2]) d--;
    return d;
}

static void mask_keep(Graph *g, GraphNode *n, const Verdict *v)
{
    const int64_t columns = 2 * v->S - 1;
    if (v->window) node_set_int(g, n, "window", v->window);
    if (!v->biased && !v->index[0] && !v->index[1]) return;
    widen(g, n);
    if (v->biased)
        n->in[ATT_BIAS] = kept_table(g, n, "bias", T_F32, v->mask.H, columns, v->mask.table);
    for (int k = 0; k < 2; k++) {
        if (!v->index[k]) continue;
        const int64_t last = settles_at(v->index[k], v->S);
        n->in[k ? ATT_P2C_BY : ATT_C2P_BY] =
            kept_table(g, n, "by", T_I32, 0, 2 * last + 1, v->index[k] + v->S - 1 - last);
    }
}

/* ---- all nodes ---- */
static bool probes_alike(const GraphNode *a, const GraphNode *b)
{
    for (size_t k = 0; k < COUNT(probed); k++)
        if (graph_input(a, probed[k]) != graph_input(b, probed[k])) return false;
    return true;
}

/* Layers share their masks, as a rule, and where there are two of them they take turns. */
static int judged_before(const Graph *g, int node)
{
    int i = node - 1;
    while (i >= 0 && !(graph_attends(g->node[i]) && probes_alike(g->node[node], g->node[i]))) i--;
    return i;
}

static bool probe_all(Probe p, Verdict *to)
{
    const Graph *g = p.g;
    for (int i = 0; i < g->n_node; i++) {
        if (!graph_attends(g->node[i])) continue;
        int before = judged_before(g, i);
        if (before >= 0) to[i] = to[before];
        else if (!judge(&p, g->node[i], &to[i])) return false;
    }
    return true;
}

static bool probe(const Graph *g, Arena *arena, const Symbols *s, const bool *makers, int64_t S,
                  Verdict *to)
{
    return probe_all((Probe){ .g = g, .arena = arena, .s = s, .makers = makers, .S = S }, to);
}

/* Where the file declares sizes, a row is filled up to them: attention that adds no mask sees that. */
static bool sees_padding(const Graph *g)
{
    for (int i = 0; g->fixed_S && i < g->n_node; i++)
        if (graph_attends(g->node[i]) && graph_input(g->node[i], ATT_MASK) < 0) return true;
    return false;
}

/* What was kept holds for shorter rows too. */
static bool probe_shorter(const Graph *g, const Symbols *s, const bool *makers, int64_t S)
{
    static const int64_t lengths[] = { 2, 5, 17, 67, 257, LEAST_LENGTH };
    bool ok = true;
    for (size_t k = 0; ok && k < COUNT(lengths) && lengths[k] < S; k++) {
        Arena scratch = { .local = true };
        Verdict *v = ARRAY(&scratch, Verdict, g->n_node);
        ok = probe(g, &scratch, s, makers, lengths[k], v);
        for (int i = 0; ok && i < g->n_node; i++)
            ok = !graph_attends(g->node[i]) || holds_shorter(g, g->node[i], &v[i]);
        arena_free(&scratch);
    }
    return ok;
}

/* What was kept holds for rows of S tokens. */
static bool holds_at(const Graph *g, const Symbols *s, int64_t S, bool points)
{
    Arena scratch = { .local = true };
    bool any;
    const bool *makers = probe_makers(g, &scratch, s, &any);
    Verdict *v = ARRAY(&scratch, Verdict, g->n_node);
    Probe p = { .g = g, .arena = &scratch, .s = s, .makers = makers, .S = S, .points = points };
    bool ok = !any || probe_all(p, v);
    for (int i = 0; ok && any && i < g->n_node; i++)
        ok = !graph_attends(g->node[i]) || agrees(g, g->node[i], &v[i]);
    arena_free(&scratch);
    return ok;
}

/* The first long text waits for its own length only; those that then grow token by token are probed
 * a few times. */
int64_t graph_mask_up_to(const Graph *g, const Symbols *s, int64_t known, int64_t S)
{
    int64_t more = known > g->mask.up_to ? MAX(S, 2 * known) : S;
    if (S <= known) return known;
    if (holds_at(g, s, more, true)) return more;
    return holds_at(g, s, S, false) ? S : known;
}

int64_t graph_mask_proved(const Graph *g)
{
    Arena scratch = { .local = true };
    Symbols s;
    Err ignored;
    bool longer = !g->fixed_S && g->mask.up_to < MOST_PROVED && graph_symbols(g, &scratch, &s, &ignored) &&
                  holds_at(g, &s, MOST_PROVED, true);
    arena_free(&scratch);
    return longer ? MOST_PROVED : g->mask.up_to;
}

/* Nodes whose numbers by distance go on beyond the probed length: not as the tables end. */
static bool goes_on(const Graph *g, const Verdict *at, const Verdict *far)
{
    bool on = false;
    for (int i = 0; i < g->n_node; i++) {
        const Verdict *a = &at[i], *b = &far[i];
        if (!graph_attends(g->node[i])) continue;
        if (a->window != b->window || a->biased != b->biased || a->mask.H != b->mask.H) return false;
        for (int64_t h = 0; a->biased && h < a->mask.H; h++) {
            const float *is = a->mask.table + h * (2 * a->S - 1), *was = b->mask.table + h * (2 * b->S - 1);
            on |= !hidden_alike(is[0], was[0]) || !hidden_alike(is[2 * a->S - 2], was[2 * b->S - 2]);
        }
        for (int k = 0; k < 2; k++)
            if (a->index[k])
                on |= a->index[k][0] != b->index[k][0] || a->index[k][2 * a->S - 2] != b->index[k][2 * b->S - 2];
    }
    return on;
}

/* Whether the farther half of the distances says nothing new. */
static bool has_settled(const Verdict *v)
{
    const int64_t S = v->S, last = 2 * S - 2;
    for (int64_t d = S / 2; d < S; d++) {
        for (int64_t h = 0; v->biased && h < v->mask.H; h++) {
            const float *table = v->mask.table + h * (last + 1);
            if (!hidden_alike(table[S - 1 - d], table[0]) || !hidden_alike(table[S - 1 + d], table[last]))
                return false;
        }
        for (int k = 0; k < 2; k++) {
            const int32_t *at = v->index[k];
            if (at && (at[S - 1 - d] != at[0] || at[S - 1 + d] != at[last])) return false;
        }
    }
    return true;
}

/* Buckets that grow with the logarithm of a distance may do so far beyond the first probe: then what is kept
 * comes from the longest text, where the makers can be followed so far. to: [n_node], found at S. */
static int64_t probe_further(const Graph *g, Arena *arena, const Symbols *s, const bool *makers, int64_t S,
                             Verdict *to)
{
    bool settled = true;
    for (int i = 0; i < g->n_node; i++) settled &= !graph_attends(g->node[i]) || has_settled(&to[i]);
    if (settled || g->fixed_S || S >= MOST_PROVED) return S;
    Verdict *far = ARRAY(arena, Verdict, g->n_node);
    const Probe p = { .g = g, .arena = arena, .s = s, .makers = makers, .S = MOST_PROVED, .points = true };
    if (!probe_all(p, far) || !goes_on(g, to, far)) return S;
    memcpy(to, far, sizeof *far * (size_t)g->n_node);
    return MOST_PROVED;
}

bool pass_mask(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { .local = true };
    Symbols s;
    Err ignored; /* no shapes, no verdict: the graph runs padded */
    bool any;
    if (graph_has_own(g)) return true; /* it does so anyway */
    if (graph_symbols(g, &scratch, &s, &ignored)) {
        const bool *makers = probe_makers(g, &scratch, &s, &any);
        Verdict *v = ARRAY(&scratch, Verdict, g->n_node);
        int64_t S = MIN(MAX(largest_constant(g, makers) + 8, (int64_t)LEAST_LENGTH),
                        (int64_t)MOST_LENGTH);
        if (g->fixed_S) S = MIN(S, g->fixed_S); /* no row is longer */
        bool proved = !sees_padding(g) && (!any || probe(g, &scratch, &s, makers, S, v));
        if (proved && any) S = probe_further(g, &scratch, &s, makers, S, v);
        for (int i = 0; proved && any && i < g->n_node; i++)
            if (graph_attends(g->node[i])) mask_keep(g, g->node[i], &v[i]);
        proved = proved && (!any || probe_shorter(g, &s, makers, S));
        g->mask = (MaskVerdict){ proved ? MASK_PLAIN : MASK_UNPROVED, any ? S : INT32_MAX };
    }
    arena_free(&scratch);
    return true;
}

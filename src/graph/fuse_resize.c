/* SPDX-License-Identifier: Apache-2.0
 * fuse_resize.c - a product over maps that were brought to one size first: W * [up(a), up(b), c] is up(Wa * a) +
 * up(Wb * b) + Wc * c, since resizing takes each channel alone and a product each position. Small maps are then
 * multiplied while they are small: of SegFormer's head a third of the multiplications is left. */
#include "graph.h"

enum { LAST_RANK = 4, MOST_MAPS = 8 };

typedef struct MapProduct { /* Linear(Concat(Resize(x), ...)), channels last */
    Graph *g;
    const GraphNode *linear, *concat;
    const GraphNode *resize[MOST_MAPS];
    int64_t N;              /* channels of each map and of the result: Resize may be told them */
    bool turned;
    int whole;              /* the map that has the size already */
} MapProduct;

static bool resizes_alone(const MapProduct *p, const GraphNode *n, const int *uses)
{
    return graph_is(n, "Resize") && !n->guard && uses[n->out[0]] == 1 &&
           !str_is(onnx_string(n->node, "coordinate_transformation_mode", "half_pixel"), "tf_crop_and_resize") &&
           n->guard == p->linear->guard;
}

static bool product_of_maps(Graph *g, int i, const int *uses, MapProduct *p)
{
    const GraphNode *n = g->node[i];
    *p = (MapProduct){ .g = g, .linear = n, .whole = -1 };
    if (!graph_is(n, "Linear") || n->n_in > 4 || graph_input(n, 3) >= 0 || n->guard) return false;
    const GraphValue *w = &g->value[n->in[1]];
    p->concat = graph_producer(g, n->in[0]);
    p->N = onnx_int(n->node, "N", 0), p->turned = onnx_int(n->node, "turned", 0);
    if (!w->constant || w->t.type != T_F32 || w->t.rank != 2 || !graph_is(p->concat, "Concat") ||
        onnx_int(p->concat->node, "axis", 0) != LAST_RANK - 1 || uses[n->in[0]] != 1 ||
        p->concat->n_in < 2 || p->concat->n_in > MOST_MAPS || p->N < 1 ||
        onnx_int(n->node, "K", 0) != p->N * p->concat->n_in || tensor_count(&w->t) != p->N * p->N * p->concat->n_in)
        return false;
    for (int k = 0; k < p->concat->n_in; k++) {
        p->resize[k] = graph_producer(g, p->concat->in[k]);
        if (!resizes_alone(p, p->resize[k], uses)) return false;
    }
    return true;
}

/* All maps have N channels, before and after, and one its size. */
static bool sizes_fit(MapProduct *p, const Symbols *s)
{
    for (int k = 0; k < p->concat->n_in; k++) {
        const Tensor *from = &s->t[p->resize[k]->in[0]], *to = &s->t[p->resize[k]->out[0]];
        bool same = true;
        if (from->rank != LAST_RANK || to->rank != LAST_RANK || from->dim[3] != p->N || to->dim[3] != p->N)
            return false;
        for (int d = 0; d < LAST_RANK; d++) same = same && from->dim[d] == to->dim[d] && to->dim[d] != DIM_UNKNOWN;
        if (same) p->whole = k;
    }
    return p->whole >= 0;
}

/* The part of the weight that meets map k; -1: no room. */
static int part_of_weight(const MapProduct *p, int k)
{
    const Tensor *w = &p->g->value[p->linear->in[1]].t;
    const int64_t N = p->N, K = N * p->concat->n_in;
    Tensor t = { .type = T_F32, .rank = 2, .dim = { N, N } };
    float *to = t.data = graph_room(p->g, tensor_bytes(&t));
    const float *from = w->data;
    if (!to) return -1;
    if (!p->turned) memcpy(to, from + k * N * N, tensor_bytes(&t));
    for (int64_t n = 0; p->turned && n < N; n++) memcpy(to + n * N, from + n * K + k * N, sizeof(float) * (size_t)N);
    return graph_add_constant(p->g, str_format(p->g->arena, "#map%d", p->g->n_value), &t);
}

static void set_product(const MapProduct *p, GraphNode *n)
{
    node_set_int(p->g, n, "N", p->N);
    node_set_int(p->g, n, "K", p->N);
    node_set_int(p->g, n, "turned", p->turned);
}

/* up(W * x), added to what there is; -1: nothing yet. Nodes stand before node *i, which moves on. */
static int add_map(const MapProduct *p, int k, int weight, int sum, int *i)
{
    Graph *g = p->g;
    const GraphNode *old = p->resize[k];
    const char *name = str_dup(g->arena, old->node->name);
    GraphNode *product = graph_own(g, "Linear", name, (int[]){ old->in[0], weight, -1, -1 }, 4);
    set_product(p, product);
    graph_insert(g, (*i)++, product);
    int *in = memcpy(ARRAY(g->arena, int, old->n_in), old->in, sizeof(int) * (size_t)old->n_in);
    in[0] = product->out[0];
    GraphNode *up = graph_node(g, "Resize", name, in, old->n_in);
    up->node->attr = old->node->attr, up->node->n_attr = old->node->n_attr;
    graph_insert(g, (*i)++, up);
    if (sum < 0) return up->out[0];
    GraphNode *both = graph_node(g, "Add", name, (int[]){ sum, up->out[0] }, 2);
    graph_insert(g, (*i)++, both);
    return both->out[0];
}

static int multiply_small_maps(const MapProduct *p, int i)
{
    Graph *g = p->g;
    const GraphNode *n = p->linear;
    int weight[MOST_MAPS], sum = -1;
    for (int k = 0; k < p->concat->n_in; k++)
        if ((weight[k] = part_of_weight(p, k)) < 0) return i;
    for (int k = 0; k < p->concat->n_in; k++)
        if (k != p->whole) sum = add_map(p, k, weight[k], sum, &i);
    const int in[] = { p->resize[p->whole]->in[0], weight[p->whole], graph_input(n, 2), sum };
    const int64_t act = onnx_int(n->node, "act", ACT_NONE);
    GraphNode *made = graph_replace(g, i, "Linear", in, COUNT(in), n->out[0]);
    set_product(p, made);
    node_set_int(g, made, "act", act);
    node_set_int(g, made, "late", 1); /* what was added stands inside of the activation */
    return i;
}

bool pass_resize(Graph *g, Err *err)
{
    Arena arena = { .local = true };
    Symbols s = { 0 };
    MapProduct p;
    bool ok = true;
    const int *uses = graph_uses(g, &arena);
    for (int i = 0; i < g->n_node && ok; i++) {
        if (!g->node[i]->op || !product_of_maps(g, i, uses, &p)) continue;
        if (!s.t) ok = graph_symbols(g, &arena, &s, err);
        if (!ok || !s.known || !sizes_fit(&p, &s)) continue;
        i = multiply_small_maps(&p, i);
        break; /* numbers of values and nodes are new: one head has one such product */
    }
    arena_free(&arena);
    graph_remove_dead(g);
    return ok;
}

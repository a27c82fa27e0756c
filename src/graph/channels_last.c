/* SPDX-License-Identifier: Apache-2.0
 * channels_last.c - convolutions with constant filters run with the channels last (ops/conv_last.c), and so does
 * all that stands between them: every value [N, C, ...] that such a convolution makes has a twin [N, ..., C], and
 * an operator whose inputs have twins makes the twin of its output. Whoever still reads the value itself reads a
 * transpose of the twin; nobody does so in most models, and then it is dead.
 *
 * One sweep in the order of the nodes, which writes the new list of them. Transposes that models make themselves,
 * between maps [N, C, H, W] and tokens [N, H * W, C], are found to be twins, too. A convolution of single
 * positions is a Linear. */
#include "graph.h"

enum { MOST_SPACE = 3 };

typedef struct Sweep {
    Graph *g;
    Arena *arena;
    Symbols s;
    int n;                     /* values there were */
    int *twin, *rank;          /* [n]: -1: none; its rank */
    GraphNode **out;           /* the nodes that are made */
    int n_out, cap;
    GraphNode *at;             /* the node that is looked at */
} Sweep;

/* ---- making nodes ---- */

static void sweep_emit(Sweep *w, GraphNode *n)
{
    if (w->n_out == w->cap) {
        GraphNode **more = ARRAY(w->g->arena, GraphNode *, 2 * w->cap);
        memcpy(more, w->out, sizeof *more * (size_t)w->n_out);
        w->out = more, w->cap *= 2;
    }
    n->guard = w->at->guard;
    w->out[w->n_out++] = n;
}

static const char *sweep_name(const Sweep *w)
{
    return str_format(w->g->arena, "%.*s#last%d", STR_ARG(w->at->node->name), w->g->n_value);
}

static GraphNode *sweep_node(Sweep *w, const char *op, const int *in, int n_in)
{
    GraphNode *n = graph_node(w->g, op, sweep_name(w), in, n_in);
    sweep_emit(w, n);
    return n;
}

/* The node itself, with other inputs and another output. */
static GraphNode *sweep_copy(Sweep *w, const int *in, int n_in)
{
    GraphNode *n = NEW(w->g->arena, GraphNode);
    OnnxNode *node = NEW(w->g->arena, OnnxNode);
    *n = *w->at, *node = *w->at->node;
    n->node = node, n->n_in = n_in, n->n_out = 1;
    n->in = memcpy(ARRAY(w->g->arena, int, n_in), in, sizeof *in * (size_t)n_in);
    n->out = ARRAY(w->g->arena, int, 1);
    n->out[0] = graph_add_value(w->g, str_of(sweep_name(w)));
    sweep_emit(w, n);
    return n;
}

static int sweep_constant(const Sweep *w, const Tensor *t)
{
    return graph_add_constant(w->g, str_format(w->g->arena, "#last%d", w->g->n_value), t);
}

static int sweep_ints(const Sweep *w, const int64_t *list, int n)
{
    Tensor t = { .type = T_I64, .rank = 1, .dim = { n } };
    t.data = memcpy(ARRAY(w->g->arena, int64_t, n), list, sizeof *list * (size_t)n);
    return sweep_constant(w, &t);
}

/* Which axis of [N, C, ...] is axis i of [N, ..., C], and the other way round. */
static void perm_last(int rank, int64_t *perm)
{
    for (int i = 0; i < rank; i++) perm[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
}

static void perm_first(int rank, int64_t *perm)
{
    for (int i = 0; i < rank; i++) perm[i] = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
}

static bool is_perm(const GraphNode *n, const int64_t *perm, int rank)
{
    size_t given;
    const int64_t *has = graph_is(n, "Transpose") ? onnx_ints(n->node, "perm", &given) : NULL;
    return has && given == (size_t)rank && memcmp(has, perm, sizeof *perm * given) == 0;
}

/* ---- twins ---- */

static int sweep_twin(const Sweep *w, int v)
{
    return v >= 0 && v < w->n ? w->twin[v] : -1;
}

static void sweep_set(Sweep *w, int v, int twin, int rank)
{
    if (v < w->n) w->twin[v] = twin, w->rank[v] = rank;
}

static int sweep_turned(Sweep *w, int v, int rank)
{
    int64_t perm[MAX_RANK];
    if (sweep_twin(w, v) >= 0) return w->twin[v];
    perm_last(rank, perm);
    GraphNode *n = sweep_node(w, "Transpose", &v, 1);
    node_set_ints(w->g, n, "perm", perm, rank);
    sweep_set(w, v, n->out[0], rank);
    return n->out[0];
}

/* The node's value is the transpose of `twin`. */
static void sweep_done(Sweep *w, int twin, int rank)
{
    int64_t perm[MAX_RANK];
    const int v = w->at->out[0];
    perm_first(rank, perm);
    GraphNode *n = sweep_node(w, "Transpose", &twin, 1);
    node_set_ints(w->g, n, "perm", perm, rank);
    n->out[0] = v;
    sweep_set(w, v, twin, rank);
}

/* ---- convolutions ---- */

static bool is_f32(const Graph *g, int v)
{
    return g->value[v].constant && g->value[v].t.type == T_F32 && g->value[v].t.data &&
           tensor_count(&g->value[v].t) > 0;
}

static int bias_row(const Sweep *w, int b, int64_t M, int64_t group)
{
    if (b < 0) return -1;
    Tensor t = { .type = T_F32, .rank = 1, .dim = { conv_last_bias(M, group) } };
    t.data = memset(arena_raw(w->g->arena, tensor_bytes(&t)), 0, tensor_bytes(&t));
    memcpy(t.data, w->g->value[b].t.data, sizeof(float) * (size_t)M);
    return sweep_constant(w, &t);
}

typedef struct Filters {
    const Tensor *t;           /* [M, C of a group, kernel...] */
    int64_t M, C, taps, group;
} Filters;

static Filters filters_of(const Graph *g, const GraphNode *n)
{
    const Tensor *t = &g->value[n->in[1]].t;
    Filters f = { .t = t, .M = t->dim[0], .C = t->dim[1], .taps = 1, .group = onnx_int(n->node, "group", 1) };
    for (int i = 2; i < t->rank; i++) f.taps *= t->dim[i];
    return f;
}

/* [M, taps, C]: each filter as its window is read. Of one tap it is the same already. */
static void turn_channels(const Filters *f, float *to)
{
    const float *from = f->t->data;
    for (int64_t m = 0; m < f->M; m++)
        for (int64_t c = 0; c < f->C; c++)
            for (int64_t k = 0; k < f->taps; k++) to[(m * f->taps + k) * f->C + c] = *from++;
}

/* One matrix [M, K]; of several groups panels of each; of single channels [taps, C]. -1: no room. */
static int filter_matrix(Sweep *w, const Filters *f)
{
    const int64_t K = f->taps * f->C, N = f->M / f->group;
    const size_t one = panels_f32_size(N, K);
    const bool depthwise = f->group == f->M && f->C == 1;
    Tensor t = { .type = T_F32, .rank = 2, .dim = { f->M, K } };
    float *turned = f->taps == 1 ? f->t->data : graph_room(w->g, tensor_bytes(&t));
    if (!turned) return -1;
    if (f->taps > 1) turn_channels(f, turned);
    t.data = turned;
    if (f->group == 1) return sweep_constant(w, &t);
    if (depthwise) t.dim[0] = K, t.dim[1] = f->M;
    else t = (Tensor){ .type = T_F32, .rank = 3, .dim = { f->group * ((N + PANEL - 1) / PANEL), K, PANEL } };
    float *to = t.data = graph_room(w->g, tensor_bytes(&t));
    for (int64_t i = 0; to && depthwise && i < f->M * K; i++) to[i % K * f->M + i / K] = turned[i];
    for (int64_t g = 0; to && !depthwise && g < f->group; g++)
        panels_f32_pack(turned + g * N * K, true, N, K, to + (size_t)g * one);
    return to ? sweep_constant(w, &t) : -1;
}

static bool is_one(const OnnxNode *n, const char *name, int64_t wanted)
{
    size_t count = 0;
    const int64_t *list = onnx_ints(n, name, &count);
    for (size_t i = 0; i < count; i++)
        if (list[i] != wanted) return false;
    return true;
}

/* Every position by itself: the window has one tap and no step. */
static bool is_pointwise(const GraphNode *n, const Filters *f)
{
    return f->taps == 1 && f->group == 1 && is_one(n->node, "strides", 1) && is_one(n->node, "pads", 0);
}

static void copy_window_attributes(Sweep *w, const GraphNode *from, const Filters *f, GraphNode *to)
{
    static const char *const names[] = { "strides", "pads", "dilations", "auto_pad" };
    OnnxNode *node = to->node;
    node->attr = ARRAY(w->g->arena, OnnxAttr, COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++) {
        const OnnxAttr *a = onnx_attr(from->node, names[i]);
        if (a) node->attr[node->n_attr++] = *a;
    }
    node_set_ints(w->g, to, "kernel_shape", f->t->dim + 2, f->t->rank - 2);
    node_set_int(w->g, to, "group", f->group);
}

static bool sweep_conv(Sweep *w)
{
    Graph *g = w->g;
    const GraphNode *n = w->at;
    const int b = graph_input(n, 2);
    if (!graph_is(n, "Conv") || !is_f32(g, n->in[1]) || (b >= 0 && !is_f32(g, b))) return false;
    const Filters f = filters_of(g, n);
    const int rank = f.t->rank;
    if (rank < 3 || rank > MOST_SPACE + 2 || f.group < 1 || f.M % f.group) return false;
    if (b >= 0 && tensor_count(&g->value[b].t) != f.M) return false;
    const bool depthwise = f.group > 1 && f.group == f.M && f.C == 1 && rank <= 4;
    const int filters = depthwise || rank <= 4 || f.group == 1 || f.C > 1 ? filter_matrix(w, &f) : -1;
    if (filters < 0) return false;
    const int in[] = { sweep_turned(w, n->in[0], rank), filters, bias_row(w, b, f.M, depthwise ? 1 : f.group), -1 };
    const char *op = is_pointwise(n, &f) ? "Linear" : depthwise ? "DepthwiseLast" : "ConvLast";
    GraphNode *made = graph_own(g, op, sweep_name(w), in, depthwise ? 3 : 4);
    sweep_emit(w, made);
    if (!is_pointwise(n, &f)) copy_window_attributes(w, n, &f, made);
    node_set_int(g, made, "N", f.M);
    node_set_int(g, made, "K", f.taps * f.C);
    if (f.group == 1) node_set_int(g, made, "turned", 1);
    sweep_done(w, made->out[0], rank);
    return true;
}

/* ---- what stands between them ---- */

/* A constant that broadcasts to [N, C, ...], turned; -1: it has more dims. */
static int turned_constant(Sweep *w, int v, int rank)
{
    const Tensor *t = &w->g->value[v].t;
    const size_t size = dtype_size(t->type);
    int64_t perm[MAX_RANK], dim[MAX_RANK], step[MAX_RANK], at[MAX_RANK] = { 0 }, next = 1;
    if (t->rank > rank || !t->data) return -1;
    if (tensor_count(t) == 1) return v;
    perm_last(rank, perm);
    for (int i = rank - 1, k = t->rank - 1; i >= 0; i--, k--) {
        dim[i] = k < 0 ? 1 : t->dim[k];
        step[i] = next, next *= dim[i];
    }
    Tensor to = { .type = t->type, .rank = rank };
    for (int i = 0; i < rank; i++) to.dim[i] = dim[perm[i]];
    char *out = to.data = graph_room(w->g, tensor_bytes(&to));
    for (int64_t k = 0; out && k < next; k++, out += size) {
        int64_t from = 0;
        for (int i = 0; i < rank; i++) from += at[i] * step[perm[i]];
        memcpy(out, (const char *)t->data + (size_t)from * size, size);
        for (int i = rank - 1; i >= 0 && ++at[i] == to.dim[i]; i--) at[i] = 0;
    }
    return to.data ? sweep_constant(w, &to) : -1;
}

/* The rank of the twins that a node reads; 0: it reads none. */
static int rank_of_twins(const Sweep *w)
{
    for (int k = 0; k < w->at->n_in; k++)
        if (sweep_twin(w, w->at->in[k]) >= 0) return w->rank[w->at->in[k]];
    return 0;
}

static bool sweep_elementwise(Sweep *w)
{
    const GraphNode *n = w->at;
    int *in = ARRAY(w->arena, int, n->n_in);
    const int rank = rank_of_twins(w);
    if (!rank || n->op->token != TOKEN_EACH || n->n_out != 1 || onnx_attr(n->node, "axis")) return false;
    for (int k = 0; k < n->n_in; k++) {
        const int v = n->in[k], twin = sweep_twin(w, v);
        const bool number = v >= 0 && w->s.known && v < w->n && w->s.t[v].rank == 0;
        in[k] = v;
        if (v < 0 || number) continue;
        if (w->g->value[v].constant) in[k] = turned_constant(w, v, rank);
        else in[k] = twin >= 0 && w->rank[v] == rank ? twin : -1;
        if (in[k] < 0) return false;
    }
    sweep_done(w, sweep_copy(w, in, n->n_in)->out[0], rank);
    return true;
}

static bool sweep_pool(Sweep *w)
{
    static const char *const pools[] = { "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool" };
    const GraphNode *n = w->at;
    const int twin = sweep_twin(w, n->in[0]);
    for (size_t i = 0; i < COUNT(pools) && twin >= 0 && n->n_out == 1; i++) {
        if (!graph_is(n, pools[i])) continue;
        GraphNode *made = sweep_copy(w, &twin, 1);
        node_set_int(w->g, made, "last", 1);
        sweep_done(w, made->out[0], w->rank[n->in[0]]);
        return true;
    }
    return false;
}

/* Every channel by its own mean and spread: an InstanceNormalization, or one group for each channel. */
static bool sweep_norm(Sweep *w)
{
    const Graph *g = w->g;
    const GraphNode *n = w->at;
    const bool groups = graph_is(n, "GroupNormalization");
    const int twin = sweep_twin(w, n->in[0]);
    if ((!groups && !graph_is(n, "InstanceNormalization")) || twin < 0 || n->n_out != 1 ||
        !is_f32(g, n->in[1]) || !is_f32(g, n->in[2]))
        return false;
    const int64_t channels = tensor_count(&g->value[n->in[1]].t);
    if (groups && (!w->s.known || n->in[0] >= w->n || w->s.t[n->in[0]].dim[1] != channels ||
                   onnx_int(n->node, "num_groups", 0) != channels))
        return false;
    const int in[] = { twin, n->in[1], n->in[2] };
    GraphNode *made = graph_own(w->g, "NormLast", sweep_name(w), in, 3);
    sweep_emit(w, made);
    node_set_float(w->g, made, "epsilon", onnx_float(n->node, "epsilon", 1e-5f));
    sweep_done(w, made->out[0], w->rank[n->in[0]]);
    return true;
}

static void drop_attribute(Sweep *w, GraphNode *n, const char *name)
{
    OnnxNode *node = n->node;
    OnnxAttr *kept = ARRAY(w->g->arena, OnnxAttr, node->n_attr);
    int count = 0;
    for (int i = 0; i < node->n_attr; i++)
        if (!str_is(node->attr[i].name, name)) kept[count++] = node->attr[i];
    node->attr = kept, node->n_attr = count;
}

static bool sweep_concat(Sweep *w)
{
    const GraphNode *n = w->at;
    int *in = ARRAY(w->arena, int, n->n_in);
    const int rank = rank_of_twins(w);
    const int64_t axis = onnx_int(n->node, "axis", 0);
    if (!rank || !graph_is(n, "Concat") || (axis != 1 && axis != 1 - rank)) return false;
    for (int k = 0; k < n->n_in; k++) {
        in[k] = sweep_twin(w, n->in[k]);
        if (in[k] < 0 || w->rank[n->in[k]] != rank) return false;
    }
    GraphNode *made = sweep_copy(w, in, n->n_in);
    drop_attribute(w, made, "axis");
    node_set_int(w->g, made, "axis", rank - 1);
    sweep_done(w, made->out[0], rank);
    return true;
}

static bool sweep_resize(Sweep *w)
{
    Graph *g = w->g;
    const GraphNode *n = w->at;
    int64_t perm[MAX_RANK];
    int in[4] = { sweep_twin(w, n->in[0]), -1, -1, -1 };
    if (!graph_is(n, "Resize") || n->opset < 11 || in[0] < 0 || n->n_in > 4 || onnx_attr(n->node, "axes"))
        return false;
    const int rank = w->rank[n->in[0]], roi = graph_input(n, 1);
    if (roi >= 0 && (!g->value[roi].constant || tensor_count(&g->value[roi].t))) return false;
    perm_last(rank, perm);
    for (int k = 2; k < n->n_in; k++) {
        const int v = n->in[k];
        if (v < 0 || (g->value[v].constant && !tensor_count(&g->value[v].t))) continue;
        in[k] = sweep_node(w, "Gather", (int[]){ v, sweep_ints(w, perm, rank) }, 2)->out[0];
    }
    sweep_done(w, sweep_copy(w, in, n->n_in)->out[0], rank);
    return true;
}

static bool sweep_pad(Sweep *w)
{
    const GraphNode *n = w->at;
    const int twin = sweep_twin(w, n->in[0]), pads = graph_input(n, 1), value = graph_input(n, 2);
    if (!graph_is(n, "Pad") || twin < 0 || pads < 0 || graph_input(n, 3) >= 0) return false;
    const int rank = w->rank[n->in[0]];
    const Tensor *t = &w->g->value[pads].t;
    int64_t perm[MAX_RANK], list[2 * MAX_RANK];
    if (!w->g->value[pads].constant || t->type != T_I64 || tensor_count(t) != 2 * rank) return false;
    perm_last(rank, perm);
    for (int i = 0; i < 2 * rank; i++) list[i] = tensor_get_int(t, i / rank * rank + perm[i % rank]);
    const int in[] = { twin, sweep_ints(w, list, 2 * rank), value };
    sweep_done(w, sweep_copy(w, in, value < 0 ? 2 : 3)->out[0], rank);
    return true;
}

/* ---- ends: a value that is the same with the channels first or last ---- */

/* The mean (or largest) of all positions, whose axes it reads from an attribute or an input. */
static bool reduces_space(const Sweep *w, const GraphNode *n, int rank)
{
    size_t count = 0;
    const int64_t *axes = onnx_ints(n->node, "axes", &count);
    const int v = graph_input(n, 1);
    if (v >= 0 && w->g->value[v].constant && w->g->value[v].t.type == T_I64)
        axes = w->g->value[v].t.data, count = (size_t)tensor_count(&w->g->value[v].t);
    if (!axes || count != (size_t)rank - 2) return false;
    for (size_t i = 0; i < count; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 2 || axis >= rank) return false;
        for (size_t k = 0; k < i; k++)
            if (axes[k] == axes[i]) return false;
    }
    return true;
}

static bool sweep_reduce(Sweep *w)
{
    static const int64_t axes[] = { 1, 2, 3 };
    const GraphNode *n = w->at;
    const int twin = sweep_twin(w, n->in[0]);
    if ((!graph_is(n, "ReduceMean") && !graph_is(n, "ReduceMax")) || twin < 0) return false;
    const int rank = w->rank[n->in[0]];
    if (!reduces_space(w, n, rank)) return false;
    const bool input = graph_input(n, 1) >= 0;
    GraphNode *made =
        sweep_copy(w, (int[]){ twin, input ? sweep_ints(w, axes, rank - 2) : -1 }, input ? 2 : 1);
    if (!input) {
        drop_attribute(w, made, "axes");
        node_set_ints(w->g, made, "axes", axes, rank - 2);
    }
    if (onnx_int(n->node, "keepdims", 1)) sweep_done(w, made->out[0], rank);
    else made->out[0] = n->out[0];
    return true;
}

/* [N, C, 1, 1] to [N, C] */
static bool sweep_flatten(Sweep *w)
{
    const GraphNode *n = w->at;
    const int twin = sweep_twin(w, n->in[0]);
    if (twin < 0 || !w->s.known || n->out[0] >= w->n ||
        (!graph_is(n, "Flatten") && !graph_is(n, "Reshape") && !graph_is(n, "Squeeze")))
        return false;
    const Tensor *from = &w->s.t[n->in[0]], *to = &w->s.t[n->out[0]];
    bool flat = from->rank == w->rank[n->in[0]] && to->rank == 2 && to->dim[0] == from->dim[0] &&
                to->dim[1] == from->dim[1] && to->dim[1] > 0;
    for (int i = 2; flat && i < from->rank; i++) flat = from->dim[i] == 1;
    if (!flat) return false;
    GraphNode *made = sweep_node(w, "Reshape", (int[]){ twin, sweep_ints(w, (int64_t[]){ 0, -1 }, 2) }, 2);
    made->out[0] = n->out[0];
    return true;
}

/* Whether a value [N, C, ...] is [N, C, n] with its positions joined. */
static bool joins_positions(const Tensor *map, const Tensor *joined)
{
    int64_t n = 1;
    if (map->rank < 3 || joined->rank != 3 || map->dim[0] != joined->dim[0] ||
        map->dim[1] != joined->dim[1] || map->dim[1] <= 0)
        return false;
    for (int i = 2; i < map->rank; i++) {
        if (map->dim[i] <= 0) return false;
        n *= map->dim[i];
    }
    return n == joined->dim[2];
}

/* Map to tokens: Transpose of [N, C, positions], or of the map itself. */
static bool sweep_to_tokens(Sweep *w)
{
    static const int64_t swap[] = { 0, 2, 1 };
    const GraphNode *n = w->at, *join = graph_is(n, "Transpose") ? graph_producer(w->g, n->in[0]) : NULL;
    int64_t perm[MAX_RANK];
    const int itself = graph_is(n, "Transpose") ? sweep_twin(w, n->in[0]) : -1;
    perm_last(itself >= 0 ? w->rank[n->in[0]] : 0, perm);
    if (itself >= 0 && is_perm(n, perm, w->rank[n->in[0]])) {
        sweep_node(w, "Identity", &itself, 1)->out[0] = n->out[0];
        return true;
    }
    if (!is_perm(n, swap, 3) || !join || !w->s.known || n->in[0] >= w->n) return false;
    const int map = join->in[0], twin = sweep_twin(w, map);
    if ((!graph_is(join, "Reshape") && !graph_is(join, "Flatten")) || twin < 0 ||
        !joins_positions(&w->s.t[map], &w->s.t[n->in[0]]))
        return false;
    const int64_t shape[] = { 0, -1, w->s.t[map].dim[1] };
    sweep_node(w, "Reshape", (int[]){ twin, sweep_ints(w, shape, 3) }, 2)->out[0] = n->out[0];
    return true;
}

/* Tokens to a map: the twin is the tokens themselves. The node stays, for those who read the map. */
static void sweep_from_tokens(Sweep *w)
{
    static const int64_t swap[] = { 0, 2, 1 };
    const GraphNode *n = w->at;
    int64_t perm[MAX_RANK];
    const int v = n->n_out == 1 ? n->out[0] : -1;
    if (v < 0 || v >= w->n || !w->s.known || w->s.t[v].rank < 3) return;
    const int rank = w->s.t[v].rank;
    perm_first(rank, perm);
    if (is_perm(n, perm, rank)) return sweep_set(w, v, n->in[0], rank);
    const GraphNode *turn = graph_is(n, "Reshape") ? graph_producer(w->g, n->in[0]) : NULL;
    if (!is_perm(turn, swap, 3) || n->in[0] >= w->n || !joins_positions(&w->s.t[v], &w->s.t[n->in[0]])) return;
    int64_t shape[MAX_RANK] = { 0 };
    for (int i = 1; i + 1 < rank; i++) shape[i] = w->s.t[v].dim[i + 1];
    shape[rank - 1] = w->s.t[v].dim[1];
    const int in[] = { turn->in[0], sweep_ints(w, shape, rank) };
    sweep_set(w, v, sweep_node(w, "Reshape", in, 2)->out[0], rank);
}

/* ---- the sweep ---- */

static bool (*const rewrites[])(Sweep *) = {
    sweep_conv, sweep_elementwise, sweep_pool,    sweep_norm,      sweep_concat, sweep_resize,
    sweep_pad,  sweep_reduce,      sweep_flatten, sweep_to_tokens,
};

static void sweep_step(Sweep *w, GraphNode *n)
{
    w->at = n;
    if (!n->op) return;
    bool made = n->guard || n->n_in < 1 || n->in[0] < 0 || n->out[0] < 0;
    for (size_t k = 0; !made && k < COUNT(rewrites); k++)
        if (rewrites[k](w)) return;
    if (!made) sweep_from_tokens(w);
    sweep_emit(w, n);
}

static bool has_convolution(const Graph *g)
{
    for (int i = 0; i < g->n_node; i++)
        if (graph_is(g->node[i], "Conv") && is_f32(g, g->node[i]->in[1])) return true;
    return false;
}

bool pass_channels_last(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { .local = true };
    Err ignored; /* without shapes only what needs none is done */
    if (!has_convolution(g)) return true;
    Sweep w = { .g = g, .arena = &scratch, .n = g->n_value, .cap = 2 * g->n_node + 16 };
    if (!graph_symbols(g, &scratch, &w.s, &ignored)) w.s.known = false;
    w.twin = ARRAY(&scratch, int, g->n_value);
    w.rank = ARRAY(&scratch, int, g->n_value);
    memset(w.twin, -1, sizeof(int) * (size_t)g->n_value);
    w.out = ARRAY(g->arena, GraphNode *, w.cap);
    for (int i = 0, n = g->n_node; i < n; i++) sweep_step(&w, g->node[i]);
    g->node = w.out, g->n_node = w.n_out;
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i]->n_out; k++)
            if (g->node[i]->out[k] >= 0) g->value[g->node[i]->out[k]].producer = i;
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

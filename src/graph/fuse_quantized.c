/* SPDX-License-Identifier: Apache-2.0
 * fuse_quantized.c - what ONNX Runtime's dynamic quantizer writes,
 *   Cast(MatMulInteger(DynamicQuantizeLinear(x), W)) * (x_scale * w_scale) [+ bias],
 * becomes one LinearQ, whose activations are quantized per token row: a row's answer then depends on
 * that row alone (DynamicQuantizeLinear depends on the whole batch and its padding). And
 *   DequantizeLinear(Gather(table of bytes, ids))
 * becomes one Lookup, which Embed takes in. */
#include "graph.h"

typedef struct Quantized {
    int x, w, w_scale, w_zero; /* w_zero -1: none */
} Quantized;

static bool is_constant(const Graph *g, int v, int rank_most)
{
    return v >= 0 && g->value[v].constant && g->value[v].t.rank <= rank_most;
}

/* A constant with one number, or one for each column of w. */
static bool is_row_for(const Graph *g, int v, int w, DType type)
{
    if (!is_constant(g, v, 1) || g->value[v].t.type != type) return false;
    int64_t n = tensor_count(&g->value[v].t);
    return n == 1 || n == g->value[w].t.dim[1];
}

/* x_scale * w_scale with x_scale from `dynamic` */
static bool match_scales(const Graph *g, int v, const GraphNode *dynamic, Quantized *q)
{
    const GraphNode *mul = graph_producer(g, v);
    for (int k = 0; graph_is(mul, "Mul") && k < 2; k++)
        if (mul->in[k] == dynamic->out[1] && is_row_for(g, mul->in[1 - k], q->w, T_F32))
            return q->w_scale = mul->in[1 - k], true;
    return false;
}

static bool match_integer(const Graph *g, int v, const GraphNode **dynamic, Quantized *q)
{
    const GraphNode *cast = graph_producer(g, v);
    if (!graph_is(cast, "Cast") || onnx_int(cast->node, "to", 0) != T_F32) return false;
    const GraphNode *mm = graph_producer(g, cast->in[0]);
    if (!graph_is(mm, "MatMulInteger") || mm->n_in < 3) return false;
    *dynamic = graph_producer(g, mm->in[0]);
    if (!graph_is(*dynamic, "DynamicQuantizeLinear") || (*dynamic)->n_out != 3 ||
        mm->in[2] != (*dynamic)->out[2])
        return false;
    q->x = (*dynamic)->in[0], q->w = mm->in[1], q->w_zero = mm->n_in > 3 ? mm->in[3] : -1;
    const Tensor *w = &g->value[q->w].t;
    return is_constant(g, q->w, 2) && w->rank == 2 && (w->type == T_I8 || w->type == T_U8) &&
           tensor_count(w) > 0 && (q->w_zero < 0 || is_row_for(g, q->w_zero, q->w, w->type));
}

static bool match(const Graph *g, int v, Quantized *q)
{
    const GraphNode *mul = graph_producer(g, v), *dynamic;
    for (int k = 0; graph_is(mul, "Mul") && k < 2; k++)
        if (match_integer(g, mul->in[k], &dynamic, q) &&
            match_scales(g, mul->in[1 - k], dynamic, q))
            return true;
    return false;
}

/* One number per column, filled up to whole panels; a scalar is repeated. */
static int row_of(Graph *g, const char *name, DType type, int64_t N, const Tensor *from,
                  int64_t shift)
{
    Tensor t = { .type = type, .rank = 1, .dim = { ROUND_UP(N, PANEL) } };
    t.data = memset(arena_raw(g->arena, tensor_bytes(&t)), 0, tensor_bytes(&t));
    bool one = from && tensor_count(from) == 1;
    for (int64_t n = 0; from && n < N; n++) {
        double value = tensor_get(from, one ? 0 : n);
        if (type == T_F32) ((float *)t.data)[n] = (float)value;
        else ((int32_t *)t.data)[n] = (int32_t)((int64_t)value - shift);
    }
    return graph_add_constant(g, name, &t);
}

/* Unsigned weights move down by 128, and their zero points with them. */
static const int8_t *as_signed(Graph *g, const Tensor *w)
{
    if (w->type == T_I8) return w->data;
    int64_t n = tensor_count(w);
    int8_t *out = arena_raw(g->arena, (size_t)n);
    for (int64_t i = 0; i < n; i++) out[i] = (int8_t)(((const uint8_t *)w->data)[i] - 128);
    return out;
}

static bool all_zero(const Graph *g, int v, int64_t shift)
{
    for (int64_t i = 0, n = v >= 0 ? tensor_count(&g->value[v].t) : 0; i < n; i++)
        if (tensor_get_int(&g->value[v].t, i) != shift) return false;
    return v >= 0 || !shift;
}

static void make(Graph *g, int i, const Quantized *q, int bias)
{
    const Tensor w = g->value[q->w].t;
    int64_t K = w.dim[0], N = w.dim[1];
    const char *name = str_format(g->arena, "%.*s#%d", STR_ARG(g->value[q->w].name), i);
    Tensor panels = { .type = T_I8,
                      .rank = 4,
                      .dim = { ROUND_UP(N, PANEL) / PANEL, ROUND_UP(K, 4) / 4, PANEL, 4 } };
    Tensor sums = { .type = T_I32, .rank = 1, .dim = { ROUND_UP(N, PANEL) } };
    Tensor fits = { .type = T_U8, .rank = 2, .dim = { panels.dim[0], fits_row(K) } };
    panels.data = graph_room(g, panels_i8_size(N, K));
    sums.data = graph_room(g, tensor_bytes(&sums));
    fits.data = graph_room(g, tensor_bytes(&fits));
    if (!panels.data || !sums.data || !fits.data) return;
    panels_i8_pack(as_signed(g, &w), false, N, K, panels.data, sums.data);
    panels_i8_fits(panels.data, N, K, fits.data);
    Tensor no_zero = { .type = T_I32, .rank = 0, .data = (int32_t[]){ 0 } };
    const Tensor zero = q->w_zero >= 0 ? g->value[q->w_zero].t : no_zero,
                 scale = g->value[q->w_scale].t;
    int64_t shift = w.type == T_U8 ? 128 : 0;
    const Tensor row = bias >= 0 ? g->value[bias].t : no_zero;
    int in[] = { q->x,
                 graph_add_constant(g, str_format(g->arena, "%s.panels", name), &panels),
                 bias < 0 ? -1
                          : row_of(g, str_format(g->arena, "%s.bias", name), T_F32, N, &row, 0),
                 -1,
                 row_of(g, str_format(g->arena, "%s.scale", name), T_F32, N, &scale, 0),
                 graph_add_constant(g, str_format(g->arena, "%s.sum", name), &sums),
                 all_zero(g, q->w_zero, shift)
                     ? -1
                     : row_of(g, str_format(g->arena, "%s.zero", name), T_I32, N, &zero, shift),
                 graph_add_constant(g, str_format(g->arena, "%s.fits", name), &fits) };
    GraphNode *made = graph_replace(g, i, "LinearQ", in, COUNT(in), g->node[i]->out[0]);
    node_set_int(g, made, "N", N);
    node_set_int(g, made, "K", K);
}

static bool is_bias(const Graph *g, int v, int64_t N)
{
    return is_constant(g, v, 1) && g->value[v].t.type == T_F32 && tensor_count(&g->value[v].t) == N;
}

static void fuse_biased(Graph *g, int i, const int *uses)
{
    const GraphNode *add = g->node[i];
    Quantized q;
    for (int k = 0; graph_is(add, "Add") && k < 2; k++) {
        if (add->in[k] < 0 || uses[add->in[k]] != 1 || !match(g, add->in[k], &q)) continue;
        if (!is_bias(g, add->in[1 - k], g->value[q.w].t.dim[1])) continue;
        make(g, i, &q, add->in[1 - k]);
        return;
    }
}

/* ---- tables ---- */
static bool is_byte_table(const Graph *g, int v)
{
    const Tensor *t = &g->value[v].t;
    return is_constant(g, v, 2) && t->rank == 2 && (t->type == T_U8 || t->type == T_I8) &&
           tensor_count(t) > 0;
}

/* Rows of bytes with one scale and one zero point for all of them. */
static void fuse_lookup(Graph *g, int i, const int *uses)
{
    const GraphNode *n = g->node[i], *rows = graph_producer(g, graph_input(n, 0));
    double scale, zero = 0;
    if (!graph_is(n, "DequantizeLinear") || !graph_is(rows, "Gather") || rows->guard || n->guard ||
        onnx_int(rows->node, "axis", 0) != 0 || uses[rows->out[0]] != 1 ||
        !is_byte_table(g, rows->in[0]) || !graph_scalar(g, n->in[1], &scale) ||
        g->value[n->in[1]].t.type != T_F32 || onnx_attr(n->node, "output_dtype") ||
        (graph_input(n, 2) >= 0 && !graph_scalar(g, n->in[2], &zero)))
        return;
    const Tensor table = g->value[rows->in[0]].t, one = g->value[n->in[1]].t;
    const char *name = str_format(g->arena, "%.*s#scale", STR_ARG(g->value[rows->in[0]].name));
    int in[] = { rows->in[0], rows->in[1], row_of(g, name, T_F32, table.dim[0], &one, 0) };
    GraphNode *made = graph_replace(g, i, "Lookup", in, COUNT(in), n->out[0]);
    node_set_int(g, made, "N", table.dim[0]);
    node_set_int(g, made, "K", table.dim[1]);
    if (zero) node_set_int(g, made, "zero", (int64_t)zero);
}

bool pass_quantized(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { .local = true };
    const int *uses = graph_uses(g, &scratch);
    for (int i = 0; i < g->n_node; i++) fuse_biased(g, i, uses), fuse_lookup(g, i, uses);
    graph_remove_dead(g);
    Quantized q;
    for (int i = 0; i < g->n_node; i++)
        if (graph_is(g->node[i], "Mul") && match(g, g->node[i]->out[0], &q)) make(g, i, &q, -1);
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

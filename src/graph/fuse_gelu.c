/* SPDX-License-Identifier: Apache-2.0
 * fuse_gelu.c - GELU as exporters spell it is a product of three factors in any order and nesting:
 *   erf form   x * 0.5 * (1 + erf(x / sqrt 2))
 *   tanh form  x * 0.5 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
 * Becomes one Activation. */
#include <math.h>

#include "data/half.h"
#include "graph.h"

enum { MAX_FACTORS = 4 };

typedef struct GeluFactors {
    double scale;           /* product of the constant ones */
    int value[MAX_FACTORS]; /* the others */
    int n;
} GeluFactors;

/* One float that gives its product no more axes than the other factor has; the kernel reads neither
 * halves nor doubles. */
static bool is_factor(const Graph *g, int v, double *c)
{
    return graph_scalar(g, v, c) && g->value[v].t.type == T_F32 && g->value[v].t.rank <= 1;
}

/* Flattens nested products of scalars and values. */
static bool collect(const Graph *g, int v, int depth, GeluFactors *f)
{
    const GraphNode *n = graph_producer(g, v);
    double c;
    if (is_factor(g, v, &c)) return f->scale *= c, true;
    if (depth > 0 && graph_is(n, "Mul"))
        return collect(g, n->in[0], depth - 1, f) && collect(g, n->in[1], depth - 1, f);
    if (depth > 0 && graph_is(n, "Div") && is_factor(g, n->in[1], &c) && c != 0)
        return f->scale /= c, collect(g, n->in[0], depth - 1, f);
    if (f->n == MAX_FACTORS) return false;
    f->value[f->n++] = v;
    return true;
}

static double gelu_in_half(double x)
{
    return half_to_double(f32_to_half((float)x));
}

/* As float16 has it, too, the number or its reciprocal: converters round sqrt(2) to 1.4140625. */
static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-4 * fabs(b) || fabs(a - gelu_in_half(b)) <= 1e-6 * fabs(b) ||
           fabs(1 / a - gelu_in_half(1 / b)) <= 1e-6 / fabs(b);
}

/* v = factor * x with one value x */
static bool is_scaled(const Graph *g, int v, double factor, int x)
{
    GeluFactors f = { .scale = 1 };
    return collect(g, v, 2, &f) && f.n == 1 && f.value[0] == x && near(f.scale, factor);
}

static bool is_cube(const Graph *g, int v, int x)
{
    const GraphNode *n = graph_producer(g, v);
    double three;
    if (graph_is(n, "Pow")) return n->in[0] == x && graph_scalar(g, n->in[1], &three) && three == 3;
    GeluFactors f = { .scale = 1 };
    return collect(g, v, 2, &f) && f.n == 3 && f.value[0] == x && f.value[1] == x &&
           f.value[2] == x && f.scale == 1;
}

/* 0.044715 x^3 */
static bool is_cubic_term(const Graph *g, int v, int x)
{
    const GraphNode *n = graph_producer(g, v);
    double c;
    if (!graph_is(n, "Mul")) return false;
    for (int k = 0; k < 2; k++)
        if (is_factor(g, n->in[k], &c) && near(c, 0.044715) && is_cube(g, n->in[1 - k], x))
            return true;
    return false;
}

static bool is_tanh_argument(const Graph *g, int v, int x)
{
    GeluFactors f = { .scale = 1 };
    if (!collect(g, v, 1, &f) || f.n != 1 || !near(f.scale, 0.7978845608)) return false;
    const GraphNode *sum = graph_producer(g, f.value[0]);
    if (!graph_is(sum, "Add")) return false;
    return (sum->in[0] == x && is_cubic_term(g, sum->in[1], x)) ||
           (sum->in[1] == x && is_cubic_term(g, sum->in[0], x));
}

/* gate = 1 + erf(x / sqrt 2), or its tanh cousin */
static Act gate_of(const Graph *g, int gate, int x)
{
    const GraphNode *sum = graph_producer(g, gate);
    double one;
    if (!graph_is(sum, "Add")) return ACT_NONE;
    int k = is_factor(g, sum->in[0], &one) ? 1 : 0;
    if (!is_factor(g, sum->in[1 - k], &one) || one != 1) return ACT_NONE;
    const GraphNode *f = graph_producer(g, sum->in[k]);
    if (graph_is(f, "Erf") && is_scaled(g, f->in[0], 0.70710678, x)) return ACT_GELU;
    if (graph_is(f, "Tanh") && is_tanh_argument(g, f->in[0], x)) return ACT_GELU_TANH;
    return ACT_NONE;
}

static void fuse_product(Graph *g, int i)
{
    GeluFactors f = { .scale = 1 };
    if (!graph_is(g->node[i], "Mul") || !collect(g, g->node[i]->out[0], 3, &f) || f.n != 2 ||
        !near(f.scale, 0.5))
        return;
    for (int k = 0; k < 2; k++) {
        Act act = gate_of(g, f.value[1 - k], f.value[k]);
        if (act == ACT_NONE) continue;
        int in[] = { f.value[k] };
        node_set_int(g, graph_replace(g, i, "Activation", in, 1, g->node[i]->out[0]), "act", act);
        return;
    }
}

static void fuse_standard(Graph *g, int i)
{
    bool tanh_form = str_is(onnx_string(g->node[i]->node, "approximate", "none"), "tanh");
    int in[] = { g->node[i]->in[0] };
    node_set_int(g, graph_replace(g, i, "Activation", in, 1, g->node[i]->out[0]), "act",
                 tanh_form ? ACT_GELU_TANH : ACT_GELU);
}

/* The standard operator, where it reads floats: nothing in it says so, the shapes do. */
static void fuse_standards(Graph *g)
{
    Arena scratch = { .local = true };
    Symbols s = { 0 };
    Err ignored;
    for (int i = 0; i < g->n_node; i++) {
        if (!graph_is(g->node[i], "Gelu")) continue;
        if (!s.t && !graph_symbols(g, &scratch, &s, &ignored)) break;
        if (s.known && s.t[g->node[i]->in[0]].type == T_F32) fuse_standard(g, i);
    }
    arena_free(&scratch);
}

bool pass_gelu(Graph *g, Err *err)
{
    (void)err;
    fuse_standards(g);
    for (int i = 0; i < g->n_node; i++) fuse_product(g, i);
    graph_remove_dead(g);
    return true;
}

/* ---- act(x1) * x2 with the halves x1, x2 of one value: the gated layer of ModernBERT ---- */
/* v is the first or second of two equal parts of a value's last axis; -1: it is not. */
static int half_of(const Graph *g, const Symbols *s, int v, int which)
{
    const GraphNode *n = graph_producer(g, v);
    double from, axis;
    if (!n || n->n_in < 1 || n->in[0] < 0) return -1;
    const Tensor *whole = &s->t[n->in[0]], *half = &s->t[v];
    int last = whole->rank - 1;
    if (last < 0 || half->rank != whole->rank || half->dim[last] <= 0 ||
        2 * half->dim[last] != whole->dim[last])
        return -1;
    if (graph_is(n, "Split")) {
        int64_t along = onnx_int(n->node, "axis", 0);
        return (along == -1 || along == last) && n->out[which] == v ? n->in[0] : -1;
    }
    if (!graph_is(n, "Slice") || n->n_in < 4 || n->n_in > 5 ||
        !graph_scalar(g, n->in[1], &from) || !graph_scalar(g, n->in[3], &axis))
        return -1;
    double step = 1;
    if (n->n_in == 5 && n->in[4] >= 0 && !graph_scalar(g, n->in[4], &step)) return -1;
    bool fits = step == 1 && (int64_t)from == which * half->dim[last] &&
                (axis == -1 || (int)axis == last);
    return fits ? n->in[0] : -1;
}

bool pass_gated(Graph *g, Err *err)
{
    (void)err;
    Arena scratch = { .local = true };
    Symbols s;
    Err ignored; /* without shapes the halves cannot be told */
    bool known = graph_symbols(g, &scratch, &s, &ignored) && s.known;
    for (int i = 0; known && i < g->n_node; i++)
        for (int k = 0; graph_is(g->node[i], "Mul") && k < 2; k++) {
            const GraphNode *act = graph_producer(g, g->node[i]->in[k]);
            if (!graph_is(act, "Activation")) continue;
            int x = half_of(g, &s, act->in[0], 0);
            if (x < 0 || half_of(g, &s, g->node[i]->in[1 - k], 1) != x) continue;
            int64_t kind = onnx_int(act->node, "act", ACT_NONE);
            GraphNode *made = graph_replace(g, i, "Gated", &x, 1, g->node[i]->out[0]);
            node_set_int(g, made, "act", kind);
        }
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

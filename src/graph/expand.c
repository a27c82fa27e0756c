/* SPDX-License-Identifier: Apache-2.0
 * expand.c - what ONNX Runtime's optimizer fused is taken apart again, so that the passes after
 * this one find the same nodes whoever wrote the file, and put them together their own way:
 *
 *   SkipLayerNormalization   Add [Add] LayerNorm
 *   BiasGelu, FastGelu       [Add] Activation
 *   EmbedLayerNormalization  Gather Gather Slice Add Add LayerNorm [ReduceSum]
 *   Attention                three MatMul + Add, the mask written out, our Attention
 *   FusedMatMul              [Transpose] MatMul [Mul], of two computed sides
 *
 * A node with an option that is not listed here stays as it is. */
#include <math.h>

#include "graph.h"

enum { LEAST_OPSET = 11 }; /* has every operator that is written here: Range came last */

typedef struct Expand {
    Graph *g;
    Symbols s;
    GraphNode **node; /* the new list */
    int n, cap;
    const int *uses;       /* of the values there were */
    const GraphNode *from; /* being taken apart */
    int serial;            /* for names of values */
} Expand;

static void expand_append(Expand *e, GraphNode *node)
{
    if (e->n == e->cap) {
        GraphNode **bigger = ARRAY(e->g->arena, GraphNode *, 2 * e->cap + 64);
        if (e->n) memcpy(bigger, e->node, sizeof *bigger * (size_t)e->n);
        e->node = bigger, e->cap = 2 * e->cap + 64;
    }
    e->node[e->n++] = node;
}

static const char *fresh_name(Expand *e)
{
    return str_format(e->g->arena, "%.*s#%d", STR_ARG(e->from->node->name), e->serial++);
}

/* A node that makes `out` (-1: a new value, returned): ours where our domain has it. */
static int emit(Expand *e, const char *op, const int *in, int n_in, int out)
{
    Graph *g = e->g;
    GraphNode *made = NEW(g->arena, GraphNode);
    OnnxNode *node = NEW(g->arena, OnnxNode);
    *node = (OnnxNode){ .op = str_of(op), .name = e->from->node->name };
    *made = (GraphNode){
        .node = node, .opset = graph_opset(g), .n_in = n_in, .n_out = 1, .guard = e->from->guard
    };
    made->op = op_find(STR("encoderfile"), node->op, 1);
    if (made->op) node->domain = STR("encoderfile"), made->opset = 1;
    else made->op = op_find(STR(""), node->op, made->opset);
    assert(made->op);
    made->in = memcpy(ARRAY(g->arena, int, n_in), in, sizeof *in * (size_t)n_in);
    made->out = ARRAY(g->arena, int, 1);
    made->out[0] = out >= 0 ? out : graph_add_value(g, str_of(fresh_name(e)));
    expand_append(e, made);
    return made->out[0];
}

static GraphNode *last(const Expand *e)
{
    return e->node[e->n - 1];
}

static int emit2(Expand *e, const char *op, int a, int b, int out)
{
    return emit(e, op, (int[]){ a, b }, 2, out);
}

static int constant(Expand *e, DType type, int rank, int64_t n, const void *data)
{
    Tensor t = { .type = type, .rank = rank, .dim = { n } };
    t.data = memcpy(arena_raw(e->g->arena, tensor_bytes(&t)), data, tensor_bytes(&t));
    return graph_add_constant(e->g, fresh_name(e), &t);
}

static int ints(Expand *e, const int64_t *list, int n)
{
    return constant(e, T_I64, 1, n, list);
}

static int scalar(Expand *e, float f)
{
    return constant(e, T_F32, 0, 1, &f);
}

/* ---- shared questions ---- */
static int input(const Expand *e, int k)
{
    return k < e->from->n_in ? e->from->in[k] : -1;
}

/* -1: nobody reads it */
static int output(const Expand *e, int k)
{
    int v = k < e->from->n_out ? e->from->out[k] : -1;
    return v >= 0 && e->uses[v] ? v : -1;
}

static bool is_row(const Graph *g, int v)
{
    return v >= 0 && g->value[v].constant && g->value[v].t.rank == 1 && g->value[v].t.type == T_F32;
}

static bool is_row_or_none(const Graph *g, int v)
{
    return v < 0 || is_row(g, v);
}

static void emit_norm(Expand *e, int x, int gamma, int beta, float eps)
{
    emit(e, "LayerNorm", (int[]){ x, gamma, beta }, 3, output(e, 0));
    node_set_float(e->g, last(e), "epsilon", eps);
}

/* ---- SkipLayerNormalization(x, skip, gamma, beta?, bias?): output 3 is x + skip + bias ---- */
static bool expand_skip_norm(Expand *e)
{
    const Graph *g = e->g;
    int x = input(e, 0), skip = input(e, 1), bias = input(e, 4);
    if (!is_row(g, input(e, 2)) || !is_row_or_none(g, input(e, 3)) || !is_row_or_none(g, bias) ||
        output(e, 1) >= 0 || output(e, 2) >= 0)
        return false;
    if (bias >= 0 && graph_is(graph_producer(g, skip), "MatMul")) /* the bias was that product's */
        x = input(e, 1), skip = input(e, 0);
    if (bias >= 0) x = emit2(e, "Add", x, bias, -1);
    int sum = emit2(e, "Add", x, skip, output(e, 3));
    emit_norm(e, sum, input(e, 2), input(e, 3), onnx_float(e->from->node, "epsilon", 1e-12f));
    return true;
}

/* ---- BiasGelu(x, bias) and FastGelu(x, bias?) ---- */
static bool expand_gelu(Expand *e, Act act)
{
    int x = input(e, 0);
    if (!is_row_or_none(e->g, input(e, 1))) return false;
    if (input(e, 1) >= 0) x = emit2(e, "Add", x, input(e, 1), -1);
    emit(e, "Activation", &x, 1, output(e, 0));
    node_set_int(e->g, last(e), "act", act);
    return true;
}

static bool expand_bias_gelu(Expand *e)
{
    return expand_gelu(e, ACT_GELU);
}

static bool expand_fast_gelu(Expand *e)
{
    return expand_gelu(e, ACT_GELU_TANH);
}

/* ---- EmbedLayerNormalization(ids, segment ids?, word, position and segment table?, gamma, beta,
 * mask?, position ids?): also the number of live tokens as output 1, and the sum as output 2 ---- */
/* The length S of a value [B, S, ...], as a list of one. */
static int length_of(Expand *e, int v)
{
    int shape = emit(e, "Shape", &v, 1, -1);
    return emit2(e, "Gather", shape, ints(e, (int64_t[]){ 1 }, 1), -1);
}

static void emit_lengths(Expand *e, int mask, int out)
{
    int64_t axis = 1;
    if (graph_opset(e->g) >= 13) emit2(e, "ReduceSum", mask, ints(e, &axis, 1), out);
    else {
        emit(e, "ReduceSum", &mask, 1, out);
        node_set_ints(e->g, last(e), "axes", &axis, 1);
    }
    node_set_int(e->g, last(e), "keepdims", 0);
}

/* Rows of the position table: those asked for, or the first S. */
static int emit_positions(Expand *e)
{
    if (input(e, 8) >= 0) return emit2(e, "Gather", input(e, 3), input(e, 8), -1);
    int zero = ints(e, (int64_t[]){ 0 }, 1), S = length_of(e, input(e, 0));
    return emit(e, "Slice", (int[]){ input(e, 3), zero, S, zero }, 4, -1);
}

static bool expand_embed_norm(Expand *e)
{
    const Graph *g = e->g;
    int ids = input(e, 0), segments = input(e, 1), mask = input(e, 7);
    if (!is_row(g, input(e, 5)) || !is_row(g, input(e, 6)) ||
        (output(e, 1) >= 0 && mask < 0) || (segments >= 0 && input(e, 4) < 0))
        return false;
    int words = emit2(e, "Gather", input(e, 2), ids, -1);
    if (segments >= 0)
        words = emit2(e, "Add", words, emit2(e, "Gather", input(e, 4), segments, -1), -1);
    int sum = emit2(e, "Add", words, emit_positions(e), output(e, 2));
    emit_norm(e, sum, input(e, 5), input(e, 6), onnx_float(e->from->node, "epsilon", 1e-12f));
    if (output(e, 1) >= 0) emit_lengths(e, mask, output(e, 1));
    return true;
}

/* ---- Attention(x, weight [C, 3 N], bias [3 N], mask?) ---- */
/* Part `which` of three along the last axis; -1: no room. */
static int third(Expand *e, int v, int which)
{
    const Tensor *t = &e->g->value[v].t;
    int64_t all = t->dim[t->rank - 1], N = all / 3, rows = tensor_count(t) / all;
    Tensor part = *t;
    part.dim[t->rank - 1] = N;
    part.data = graph_room(e->g, tensor_bytes(&part));
    if (!part.data) return -1;
    for (int64_t r = 0; r < rows; r++)
        memcpy((float *)part.data + r * N, (const float *)t->data + r * all + which * N,
               sizeof(float) * (size_t)N);
    return graph_add_constant(e->g, fresh_name(e), &part);
}

/* 1 for live keys, or how many there are, as numbers to add: [B, 1, 1, S]. */
static int written_mask(Expand *e, int mask, int x, float hidden)
{
    static const int64_t by_row[] = { -1, 1, 1, 1 }, by_key[] = { 0, 1, 1, -1 };
    const Tensor *t = &e->s.t[mask];
    int zero = scalar(e, 0), low = scalar(e, hidden);
    if (t->rank == 2) {
        int shaped = emit2(e, "Reshape", mask, ints(e, by_key, 4), -1);
        int live = emit(e, "Cast", &shaped, 1, -1);
        node_set_int(e->g, last(e), "to", T_BOOL);
        return emit(e, "Where", (int[]){ live, zero, low }, 3, -1);
    }
    int count = emit2(e, "Reshape", mask, ints(e, by_row, 4), -1);
    int wide = emit(e, "Cast", &count, 1, -1);
    node_set_int(e->g, last(e), "to", T_I64);
    int S = emit2(e, "Reshape", length_of(e, x), ints(e, (int64_t[]){ 0 }, 0), -1);
    int64_t first = 0, step = 1;
    int from = constant(e, T_I64, 0, 1, &first), by = constant(e, T_I64, 0, 1, &step);
    int keys = emit(e, "Range", (int[]){ from, S, by }, 3, -1);
    int live = emit2(e, "Less", keys, wide, -1);
    return emit(e, "Where", (int[]){ live, zero, low }, 3, -1);
}

static bool mask_is_known(const Expand *e, int mask)
{
    if (mask < 0) return true;
    if (!e->s.known || (e->s.t[mask].type != T_I32 && e->s.t[mask].type != T_I64)) return false;
    const Tensor *t = &e->s.t[mask];
    return (t->rank == 1 || (t->rank == 2 && t->dim[1] == DIM_SEQUENCE)) && t->dim[0] == DIM_BATCH;
}

static bool attention_is_plain(const Expand *e)
{
    const Graph *g = e->g;
    const OnnxNode *n = e->from->node;
    int w = input(e, 1), bias = input(e, 2);
    for (int k = 4; k < e->from->n_in; k++)
        if (input(e, k) >= 0) return false; /* past, a bias on the scores */
    if (output(e, 1) >= 0 || onnx_int(n, "unidirectional", 0) || onnx_int(n, "do_rotary", 0) ||
        onnx_attr(n, "qkv_hidden_sizes"))
        return false;
    if (w < 0 || !g->value[w].constant || g->value[w].t.rank != 2 || g->value[w].t.type != T_F32 ||
        g->value[w].t.dim[1] % 3 || g->value[w].t.dim[1] == 0 || !is_row(g, bias))
        return false;
    int64_t heads = onnx_int(n, "num_heads", 0), N = g->value[w].t.dim[1] / 3;
    return heads > 0 && N % heads == 0 && g->value[bias].t.dim[0] == 3 * N &&
           mask_is_known(e, input(e, 3));
}

static bool expand_attention(Expand *e)
{
    if (!attention_is_plain(e)) return false;
    int64_t heads = onnx_int(e->from->node, "num_heads", 1);
    int64_t N = e->g->value[input(e, 1)].t.dim[1] / 3;
    int in[4], w[3], b[3];
    for (int k = 0; k < 3; k++) {
        w[k] = third(e, input(e, 1), k), b[k] = third(e, input(e, 2), k);
        if (w[k] < 0 || b[k] < 0) return false;
    }
    for (int k = 0; k < 3; k++)
        in[k] = emit2(e, "Add", emit2(e, "MatMul", input(e, 0), w[k], -1), b[k], -1);
    float hidden = onnx_float(e->from->node, "mask_filter_value", -10000.0f);
    in[3] = input(e, 3) < 0 ? -1 : written_mask(e, input(e, 3), input(e, 0), hidden);
    emit(e, "Attention", in, 4, output(e, 0));
    float scale = onnx_float(e->from->node, "scale", 0);
    node_set_int(e->g, last(e), "heads", heads);
    node_set_float(e->g, last(e), "scale", scale != 0 ? scale : 1 / sqrtf((float)(N / heads)));
    return true;
}

/* ---- FusedMatMul(a, b): alpha * a' * b' ---- */
/* The side with its last two axes the other way round. */
static int turned(Expand *e, int v)
{
    const int rank = e->s.t[v].rank;
    int64_t perm[MAX_RANK];
    for (int a = 0; a < rank; a++) perm[a] = a < rank - 2 ? a : 2 * rank - 3 - a;
    int made = emit(e, "Transpose", &v, 1, -1);
    node_set_ints(e->g, last(e), "perm", perm, rank);
    return made;
}

static bool expand_matmul(Expand *e)
{
    static const char *const turns[] = { "transA", "transB" };
    const OnnxNode *n = e->from->node;
    const float alpha = onnx_float(n, "alpha", 1);
    int side[2] = { input(e, 0), input(e, 1) };
    if (!e->s.known || onnx_int(n, "transBatchA", 0) || onnx_int(n, "transBatchB", 0)) return false;
    for (int k = 0; k < 2; k++) /* weights are turned where they are packed */
        if (side[k] < 0 || e->g->value[side[k]].constant || e->s.t[side[k]].rank < 2 ||
            e->s.t[side[k]].type != T_F32)
            return false;
    for (int k = 0; k < 2; k++)
        if (onnx_int(n, turns[k], 0)) side[k] = turned(e, side[k]);
    if (alpha == 1) emit2(e, "MatMul", side[0], side[1], output(e, 0));
    else emit2(e, "Mul", emit2(e, "MatMul", side[0], side[1], -1), scalar(e, alpha), output(e, 0));
    return true;
}

static const struct Row {
    const char *op;
    bool (*expand)(Expand *); /* false: nothing was emitted, the node stays */
} rows[] = {
    { "SkipLayerNormalization", expand_skip_norm },
    { "EmbedLayerNormalization", expand_embed_norm },
    { "BiasGelu", expand_bias_gelu },
    { "FastGelu", expand_fast_gelu },
    { "Attention", expand_attention },
    { "FusedMatMul", expand_matmul },
};

static const struct Row *row_of(const GraphNode *n)
{
    for (size_t r = 0; n->op && str_is(n->node->domain, "com.microsoft") && r < COUNT(rows); r++)
        if (graph_is(n, rows[r].op)) return &rows[r];
    return NULL;
}

bool pass_expand(Graph *g, Err *err)
{
    (void)err;
    bool any = false;
    for (int i = 0; i < g->n_node; i++) any |= row_of(g->node[i]) != NULL;
    if (!any || graph_opset(g) < LEAST_OPSET) return true;
    Arena scratch = { .local = true };
    Err ignored; /* without shapes a mask cannot be told */
    Expand e = { .g = g, .uses = graph_uses(g, &scratch) };
    if (!graph_symbols(g, &scratch, &e.s, &ignored)) e.s.known = false;
    for (int i = 0; i < g->n_node; i++) {
        const struct Row *row = row_of(g->node[i]);
        e.from = g->node[i];
        if (!row || !row->expand(&e)) expand_append(&e, g->node[i]);
    }
    g->node = e.node, g->n_node = e.n;
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; g->node[i]->op && k < g->node[i]->n_out; k++)
            if (g->node[i]->out[k] >= 0) g->value[g->node[i]->out[k]].producer = i;
    arena_free(&scratch);
    graph_remove_dead(g);
    return true;
}

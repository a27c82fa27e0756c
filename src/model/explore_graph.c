/* SPDX-License-Identifier: Apache-2.0
 * explore_graph.c - the nodes and values of a file as they stand there: shapes with names for the batch and the
 * sequence, multiplications and additions of each node for one row, and whose the parameters are. */
#include "model/exploring.h"

typedef struct Explorer {
    Arena *arena;
    ExploreGraph *to;
    Map values;                /* name to number + 1 */
    int room;
} Explorer;

/* ---- values ---- */
static int explore_value(Explorer *x, Str name)
{
    if (!name.n) return -1;
    const intptr_t known = (intptr_t)map_get(&x->values, name);
    if (known) return (int)known - 1;
    ExploreGraph *g = x->to;
    if (g->n_value == x->room) {
        ExploreValue *more = ARRAY(x->arena, ExploreValue, x->room * 2 + 64);
        if (g->n_value) memcpy(more, g->value, sizeof *more * (size_t)g->n_value);
        g->value = more, x->room = x->room * 2 + 64;
    }
    g->value[g->n_value] = (ExploreValue){ .name = name, .rank = -1 };
    map_put(&x->values, x->arena, name, (void *)(intptr_t)(g->n_value + 1));
    return g->n_value++;
}

static void explore_said(Explorer *x, const OnnxValue *said, int n)
{
    for (int i = 0; i < n; i++) {
        const int at = explore_value(x, said[i].name);
        if (at < 0) continue;
        ExploreValue *v = &x->to->value[at];
        v->type = said[i].type, v->rank = said[i].rank;
        for (int d = 0; d < v->rank; d++) v->dim[d] = said[i].dim[d], v->symbol[d] = said[i].symbol[d];
    }
}

static void explore_set_shape(ExploreValue *v, const Tensor *t)
{
    v->type = t->type, v->rank = t->rank;
    for (int d = 0; d < t->rank; d++) v->dim[d] = t->dim[d];
}

static void explore_constants(Explorer *x, const OnnxGraph *file)
{
    for (int i = 0; i < file->n_init; i++) {
        const int at = explore_value(x, file->init[i].name);
        if (at < 0) continue;
        x->to->value[at].constant = &file->init[i];
        explore_set_shape(&x->to->value[at], &file->init[i].t);
    }
}

static int *explore_numbers(Explorer *x, const Str *name, int n)
{
    int *numbers = ARRAY(x->arena, int, n);
    for (int i = 0; i < n; i++) numbers[i] = explore_value(x, name[i]);
    return numbers;
}

static bool explore_names(Explorer *x, const OnnxGraph *file, Err *err)
{
    explore_said(x, file->in, file->n_in);
    explore_said(x, file->info, file->n_info);
    explore_said(x, file->out, file->n_out);
    explore_constants(x, file);
    x->to->node = ARRAY(x->arena, ExploreNode, file->n_node);
    for (int i = 0; i < file->n_node; i++) {
        const OnnxNode *n = &file->node[i];
        x->to->node[i] = (ExploreNode){ explore_numbers(x, n->in, n->n_in), explore_numbers(x, n->out, n->n_out),
                                        .flops = -1, .step = -1 };
        if (x->to->n_value > 4 * EXPLORE_NODES)
            return fail(err, EF_TOO_LARGE, "found more than %d values, wanted fewer", 4 * EXPLORE_NODES);
    }
    return true;
}

/* ---- parameters ---- */
/* Floats with at least one dim (single numbers are no parameters), 8-bit numbers with two; of our own products, whose
 * panels are filled up, as many as the node says. */
int64_t explore_parameters(const OnnxNode *n, int input, const Tensor *t)
{
    const bool own = str_is(n->domain, "encoderfile");
    const int64_t N = own ? onnx_int(n, "N", 0) : 0, K = own ? onnx_int(n, "K", 0) : 0;
    const bool eight = t->type == T_I8 || t->type == T_U8;
    if (!(dtype_is_float(t->type) && t->rank >= 1) && !(eight && t->rank >= 2)) return 0;
    if (N > 0 && K > 0 && input == 1) return MIN(N, INT32_MAX) * MIN(K, INT32_MAX);
    return N > 0 && t->rank == 1 ? MIN(N, tensor_count(t)) : tensor_count(t);
}

/* A constant that several nodes read is the first one's. */
static void explore_owners(Arena *arena, ExploreGraph *g)
{
    bool *taken = ARRAY(arena, bool, g->n_value);
    for (int i = 0; i < g->file->graph.n_node; i++) {
        const OnnxNode *n = &g->file->graph.node[i];
        for (int k = 0; k < n->n_in; k++) {
            const int v = g->node[i].in[k];
            if (v < 0 || taken[v] || !g->value[v].constant) continue;
            const Tensor *t = &g->value[v].constant->t;
            taken[v] = true;
            g->node[i].parameters += explore_parameters(n, k, t);
            g->node[i].bytes += tensor_bytes(t);
        }
    }
}

/* ---- multiplications and additions ---- */
static double explore_inner(const GraphNode *n, const Tensor *const *in)
{
    const Tensor *a = in[0], *w = in[1];
    if (graph_is(n, "Gemm")) return (double)a->dim[onnx_int(n->node, "transA", 0) ? 0 : 1];
    if (graph_is(n, "Conv") || graph_is(n, "ConvInteger"))
        return w->rank > 1 && w->dim[0] ? (double)tensor_count(w) / (double)w->dim[0] : 0;
    return a->rank ? (double)a->dim[a->rank - 1] : 0;
}

static bool explore_is_one_of(const GraphNode *n, const char *const *names)
{
    for (; *names; names++)
        if (graph_is(n, *names)) return true;
    return false;
}

/* Of products two for each pair of numbers; of what only moves numbers none; else one for each that is made. */
static double explore_flops(const GraphNode *n, const Tensor *const *in, const Tensor *out)
{
    static const char *const products[] = { "MatMul", "Gemm", "Conv", "MatMulInteger", "ConvInteger", NULL };
    static const char *const moves[] = {
        "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Shape", "Size", "Gather",
        "GatherElements", "GatherND", "Slice", "Split", "Concat", "Expand", "Tile", "Pad", "Cast", "CastLike",
        "ConstantOfShape", "Range", "DepthToSpace", "SpaceToDepth", NULL
    };
    double made = 0;
    for (int k = 0; k < n->n_out; k++) made += (double)tensor_count(&out[k]);
    if (explore_is_one_of(n, moves)) return 0;
    if (explore_is_one_of(n, products) && n->n_in > 1 && in[0] && in[1])
        return 2 * (double)tensor_count(&out[0]) * explore_inner(n, in);
    const OpCall call = { .node = n->node, .opset = n->opset, .n_in = n->n_in, .n_out = n->n_out, .in = in,
                          .out = (Tensor *)out };
    const double work = n->op->cost >= COST_PRODUCT ? 2 * op_work(n->op, &call) : 0;
    return work > 0 ? work : made;
}

static double explore_node_flops(Arena *arena, const Inferred *at, const GraphNode *n)
{
    const Tensor **in = ARRAY(arena, const Tensor *, n->n_in);
    Tensor *out = ARRAY(arena, Tensor, n->n_out);
    for (int k = 0; k < n->n_in; k++) {
        const Tensor *t = n->in[k] >= 0 ? &at->t[n->in[k]] : NULL;
        if (t && t->type != T_NONE) in[k] = t;
        else if (k < n->op->min_in) return -1; /* not inferred */
    }
    for (int k = 0; k < n->n_out; k++) {
        if (n->out[k] < 0) continue;
        out[k] = at->t[n->out[k]];
        if (out[k].type == T_NONE) return -1;
    }
    return explore_flops(n, in, out);
}

/* ---- shapes ---- */
/* The file again, with constants that need no copy to be aligned. */
static OnnxModel explore_view(Arena *arena, const OnnxModel *file, const Graph *aligned)
{
    OnnxModel view = *file;
    Map found = { 0 };
    for (int v = 0; aligned && v < aligned->n_value; v++)
        if (aligned->value[v].constant) map_put(&found, arena, aligned->value[v].name, &aligned->value[v]);
    view.graph.init = ARRAY(arena, OnnxTensor, file->graph.n_init);
    for (int i = 0; i < file->graph.n_init; i++) {
        OnnxTensor *t = &view.graph.init[i];
        *t = file->graph.init[i];
        const GraphValue *v = map_get(&found, t->name);
        if (v && v->t.type == t->t.type && tensor_same_shape(&v->t, &t->t) && v->t.data) t->t.data = v->t.data;
    }
    return view;
}

/* What the sample row brings as this input; false: nothing. */
static bool explore_bind_own(const Graph *g, int v, const Batch *batch, Tensor *out)
{
    const RowInputs *own = batch->own;
    const int axis = graph_batch_axis(g, v);
    for (int i = 0; own && i < own->n; i++) {
        const Tensor *t = &own->f[i].t;
        if (!str_is(g->value[v].name, own->f[i].input) || t->rank >= MAX_RANK || axis > t->rank) continue;
        *out = (Tensor){ .type = g->value[v].t.type };
        for (int d = 0; d < t->rank; d++) {
            if (d == axis) out->dim[out->rank++] = 1;
            out->dim[out->rank++] = t->dim[d];
        }
        if (axis == t->rank) out->dim[out->rank++] = 1;
        return true;
    }
    return false;
}

static bool explore_infer(Arena *arena, const Graph *g, const ExploreSample *sample, Inferred *at, Err *err)
{
    const int64_t length = sample->batch.B && sample->batch.start[1] ? sample->batch.start[1] : sample->length;
    *at = graph_inferred(g, arena);
    for (int i = 0; i < g->n_input; i++) {
        const int v = g->input[i];
        int64_t B = 0, S = 0;
        if (explore_bind_own(g, v, &sample->batch, &at->t[v])) continue;
        graph_declares(g, v, &B, &S);
        if (!graph_bind_input(g, v, B ? B : 1, S ? S : length, &at->t[v], err)) return false;
    }
    return graph_infer(g, arena, at, err);
}

static void explore_take_shapes(const Explorer *x, const Graph *g, const Tensor *shape)
{
    for (int v = 0; v < g->n_value; v++) {
        const intptr_t known = (intptr_t)map_get(&x->values, g->value[v].name);
        if (!known || shape[v].type == T_NONE || shape[v].rank < 0) continue;
        explore_set_shape(&x->to->value[known - 1], &shape[v]);
    }
}

static void explore_take_nodes(const Explorer *x, Arena *scratch, const Graph *g, const Inferred *at)
{
    const OnnxGraph *file = &x->to->file->graph;
    const bool *carried = graph_carried(g, scratch);
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        const ptrdiff_t place = n->node - file->node;
        if (!n->op || n->node < file->node || place >= file->n_node) continue; /* of a branch, or of a function */
        ExploreNode *to = &x->to->node[place];
        to->known = true;
        for (int k = 0; k < n->n_out; k++)
            if (n->out[k] >= 0 && carried[n->out[k]]) to->known = false;
        if (at) to->flops = explore_node_flops(scratch, at, n);
    }
}

/* Whatever fails here only leaves something out. */
static void explore_shapes(const Explorer *x, const ExploreSample *sample)
{
    Arena scratch = { .local = true };
    const OnnxModel view = explore_view(&scratch, x->to->file, sample->aligned);
    Graph *g = NULL;
    Symbols symbols;
    Inferred at;
    Err err = { 0 };
    bool ok = graph_from_onnx(&scratch, &view, &g, &err);
    const bool named = ok && graph_symbols(g, &scratch, &symbols, &err);
    ok = ok && explore_infer(&scratch, g, sample, &at, &err);
    if (ok) explore_take_shapes(x, g, at.t);
    if (named && symbols.known) explore_take_shapes(x, g, symbols.t);
    if (g) explore_take_nodes(x, &scratch, g, ok ? &at : NULL);
    if (!ok) x->to->why_shapes = str_dup(x->arena, str_of(err.message));
    else if (at.dynamic) x->to->why_shapes = "a shape depends on data";
    arena_free(&scratch);
}

bool explore_graph(Arena *arena, const OnnxModel *file, const ExploreSample *sample, ExploreGraph *to, Err *err)
{
    *to = (ExploreGraph){ .file = file };
    Explorer x = { .arena = arena, .to = to };
    if (file->graph.n_node > EXPLORE_NODES)
        return fail(err, EF_TOO_LARGE, "found %d nodes, wanted at most %d", file->graph.n_node, EXPLORE_NODES);
    if (!explore_names(&x, &file->graph, err)) return false;
    explore_owners(arena, to);
    explore_shapes(&x, sample);
    return true;
}

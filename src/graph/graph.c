/* SPDX-License-Identifier: Apache-2.0
 * graph.c - a model file to values and nodes, and back. Everything a later pass may rely on is checked
 * here: names are defined once, no cycles, every operator is known. */
#include "graph.h"

enum { LISTED_OPERATORS = 32 };

static int add_value(Graph *g, Str name)
{
    if (g->n_value == g->cap_value) {
        int cap = g->cap_value ? g->cap_value * 2 : 256;
        GraphValue *bigger = ARRAY(g->arena, GraphValue, cap);
        if (g->n_value) memcpy(bigger, g->value, sizeof *bigger * (size_t)g->n_value);
        g->value = bigger;
        g->cap_value = cap;
    }
    g->value[g->n_value] = (GraphValue){ .name = name, .producer = -1 };
    return g->n_value++;
}

int graph_add_constant(Graph *g, const char *name, const Tensor *t)
{
    int v = add_value(g, str_of(name));
    g->value[v].t = *t;
    g->value[v].constant = true;
    return v;
}

/* ---- names to numbers while reading ---- */
typedef struct Builder {
    Graph *g;
    Map names;                     /* name -> value number + 1 */
    Str unknown[LISTED_OPERATORS]; /* operators nobody knows, with counts */
    int count[LISTED_OPERATORS];
    int n_unknown;
} Builder;

static int lookup(const Builder *b, Str name)
{
    return (int)(intptr_t)map_get(&b->names, name) - 1;
}

static int named(Builder *b, Str name)
{
    if (name.n == 0) return -1;
    int v = lookup(b, name);
    if (v >= 0) return v;
    v = add_value(b->g, name);
    map_put(&b->names, b->g->arena, name, (void *)(intptr_t)(v + 1));
    return v;
}

/* Kernels read aligned numbers; files do not align them. */
static bool aligned_constant(Graph *g, const OnnxTensor *from, Tensor *to, Err *err)
{
    *to = from->t;
    size_t size = dtype_size(to->type), bytes = tensor_bytes(to);
    if (size == 0)
        return fail(err, EF_UNSUPPORTED, "constant '%.*s': type %s is not supported",
                    STR_ARG(from->name), dtype_name(to->type));
    if (!to->data && bytes)
        return fail(err, EF_BAD_MODEL, "constant '%.*s': external data '%.*s' was not found",
                    STR_ARG(from->name), STR_ARG(from->location));
    if (to->data && (uintptr_t)to->data % size == 0) return true;
    void *copy = arena_raw(g->arena, bytes);
    if (bytes) memcpy(copy, to->data, bytes);
    to->data = copy;
    return true;
}

static bool define_constant(Builder *b, Str name, const OnnxTensor *tensor, Err *err)
{
    int v = named(b, name);
    if (v < 0) return fail(err, EF_BAD_MODEL, "a constant has no name");
    GraphValue *value = &b->g->value[v];
    if (value->constant || value->producer >= 0 || value->input)
        return fail(err, EF_BAD_MODEL, "value '%.*s' is defined twice", STR_ARG(name));
    if (!aligned_constant(b->g, tensor, &value->t, err)) return false;
    value->constant = true;
    return true;
}

static Tensor numbers(Arena *arena, DType type, int rank, size_t n, const void *data)
{
    Tensor t = { .type = type, .rank = rank, .dim = { rank ? (int64_t)n : 0 } };
    t.data = arena_raw(arena, n * dtype_size(type));
    if (n) memcpy(t.data, data, n * dtype_size(type));
    return t;
}

static const OnnxAttr *typed_attr(const OnnxNode *node, const char *name, AttrType type)
{
    const OnnxAttr *a = onnx_attr(node, name);
    return a && a->type == type ? a : NULL;
}

/* A Constant node in any of its spellings. */
static bool constant_node(Builder *b, const OnnxNode *node, Err *err)
{
    Arena *arena = b->g->arena;
    const OnnxAttr *a;
    OnnxTensor tensor = { .name = node->n_out ? node->out[0] : (Str){ 0 } };
    if ((a = typed_attr(node, "value", A_TENSOR))) tensor.t = a->t->t;
    else if ((a = typed_attr(node, "value_int", A_INT)))
        tensor.t = numbers(arena, T_I64, 0, 1, &a->i);
    else if ((a = typed_attr(node, "value_float", A_FLOAT)))
        tensor.t = numbers(arena, T_F32, 0, 1, &a->f);
    else if ((a = typed_attr(node, "value_ints", A_INTS)))
        tensor.t = numbers(arena, T_I64, 1, a->n, a->ints);
    else if ((a = typed_attr(node, "value_floats", A_FLOATS)))
        tensor.t = numbers(arena, T_F32, 1, a->n, a->floats);
    else
        return fail(err, EF_UNSUPPORTED, "node '%.*s' (Constant): only numbers are supported",
                    STR_ARG(node->name));
    return define_constant(b, tensor.name, &tensor, err);
}

static int64_t opset_of(const OnnxModel *m, Str domain)
{
    bool standard = domain.n == 0 || str_is(domain, "ai.onnx");
    for (int i = 0; i < m->n_opset; i++) {
        Str d = m->opset[i].domain;
        if (standard ? d.n == 0 || str_is(d, "ai.onnx") : str_eq(d, domain))
            return m->opset[i].version;
    }
    return standard ? 0 : 1;
}

static void note_unknown(Builder *b, Str op)
{
    for (int i = 0; i < b->n_unknown; i++)
        if (str_eq(b->unknown[i], op)) {
            b->count[i]++;
            return;
        }
    if (b->n_unknown == LISTED_OPERATORS) return;
    b->unknown[b->n_unknown] = op;
    b->count[b->n_unknown++] = 1;
}

static bool say_unknown(const Builder *b, Err *err)
{
    char list[640] = "";
    size_t n = 0;
    for (int i = 0; i < b->n_unknown && n < sizeof list - 64; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%.40s (%d)", i ? ", " : "",
                              str_format(b->g->arena, "%.*s", STR_ARG(b->unknown[i])), b->count[i]);
    return fail(err, EF_UNSUPPORTED, "operators that are not supported: %s", list);
}

/* What every pass relies on: inputs that the operator needs and its first output have names. */
static bool check_names(const OnnxNode *node, const Op *op, Err *err)
{
    if (node->n_in < op->min_in || (op->max_in && node->n_in > op->max_in))
        return fail(err, EF_BAD_MODEL, "node '%.*s' (%s): found %d inputs, wanted %d to %d",
                    STR_ARG(node->name), op->name, node->n_in, op->min_in, op->max_in);
    for (int i = 0; i < op->min_in; i++)
        if (node->in[i].n == 0)
            return fail(err, EF_BAD_MODEL, "node '%.*s' (%s): input %d: found none, wanted one",
                        STR_ARG(node->name), op->name, i);
    if (node->n_out == 0 || node->out[0].n == 0)
        return fail(err, EF_BAD_MODEL, "node '%.*s' (%s): output 0: found none, wanted one",
                    STR_ARG(node->name), op->name);
    return true;
}

static bool add_node(Builder *b, OnnxNode *node, Err *err)
{
    Graph *g = b->g;
    int64_t opset = opset_of(g->model, node->domain);
    const Op *op = op_find(node->domain, node->op, opset);
    if (!op) return note_unknown(b, node->op), true;
    if (!check_names(node, op, err)) return false;
    GraphNode *made = NEW(g->arena, GraphNode);
    *made = (GraphNode){
        .op = op, .node = node, .opset = (int)opset, .n_in = node->n_in, .n_out = node->n_out
    };
    made->in = ARRAY(g->arena, int, node->n_in);
    made->out = ARRAY(g->arena, int, node->n_out);
    for (int i = 0; i < node->n_in; i++) made->in[i] = named(b, node->in[i]);
    for (int i = 0; i < node->n_out; i++) {
        int v = made->out[i] = named(b, node->out[i]);
        if (v < 0) continue;
        if (g->value[v].constant || g->value[v].producer >= 0 || g->value[v].input)
            return fail(err, EF_BAD_MODEL, "value '%.*s' is defined twice", STR_ARG(node->out[i]));
        g->value[v].producer = g->n_node;
    }
    g->node[g->n_node++] = made;
    return true;
}

static bool add_inputs(Builder *b, const OnnxGraph *from, Err *err)
{
    Graph *g = b->g;
    g->input = ARRAY(g->arena, int, from->n_in);
    for (int i = 0; i < from->n_in; i++) {
        int v = named(b, from->in[i].name);
        if (v < 0) return fail(err, EF_BAD_MODEL, "graph input %d has no name", i);
        if (g->value[v].constant) continue; /* old files list initializers as inputs */
        if (g->value[v].input)
            return fail(err, EF_BAD_MODEL, "graph input '%.*s' is listed twice",
                        STR_ARG(from->in[i].name));
        g->value[v].input = true;
        g->value[v].t.type = from->in[i].type;
        g->value[v].t.rank = from->in[i].rank;
        memcpy(g->value[v].t.dim, from->in[i].dim, sizeof g->value[v].t.dim);
        g->input[g->n_input++] = v;
    }
    return true;
}

static bool add_outputs(Builder *b, const OnnxGraph *from, Err *err)
{
    Graph *g = b->g;
    g->output = ARRAY(g->arena, int, from->n_out);
    for (int i = 0; i < from->n_out; i++) {
        int v = lookup(b, from->out[i].name);
        if (v < 0)
            return fail(err, EF_BAD_MODEL, "graph output '%.*s' is made by no node",
                        STR_ARG(from->out[i].name));
        g->value[v].output = true;
        g->output[g->n_output++] = v;
    }
    return true;
}

/* ---- order ---- */
static bool everything_defined(const Graph *g, Err *err)
{
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i]->n_in; k++) {
            int v = g->node[i]->in[k];
            if (v < 0 || g->value[v].constant || g->value[v].input || g->value[v].producer >= 0)
                continue;
            return fail(err, EF_BAD_MODEL, "node '%.*s' (%s): reads '%.*s', which nothing makes",
                        STR_ARG(g->node[i]->node->name), g->node[i]->op->name,
                        STR_ARG(g->value[v].name));
        }
    for (int i = 0; i < g->n_output; i++) {
        const GraphValue *v = &g->value[g->output[i]];
        if (!v->constant && !v->input && v->producer < 0)
            return fail(err, EF_BAD_MODEL, "graph output '%.*s' is made by no node",
                        STR_ARG(v->name));
    }
    return true;
}

typedef struct Schedule {
    const Graph *g;
    GraphNode **order;
    int placed;
    bool *done;
    int *read;           /* [n_node]: inputs before this one are made */
    int *waiting, *next; /* [n_node]: who waits for a node, as lists of node number + 1 */
} Schedule;

/* The node that i still waits for; -1: none. */
static int missing(const Schedule *s, int i)
{
    const GraphNode *node = s->g->node[i];
    for (int *k = &s->read[i]; *k < node->n_in; ++*k) {
        int v = node->in[*k], maker = v < 0 ? -1 : s->g->value[v].producer;
        if (maker >= 0 && !s->done[maker]) return maker;
    }
    return -1;
}

/* Node i, if it is ready, and then whoever waited for it; else it waits itself. */
static void place(Schedule *s, int i)
{
    for (int todo = i + 1; todo;) {
        int at = todo - 1, maker = missing(s, at);
        todo = s->next[at];
        if (maker >= 0) {
            s->next[at] = s->waiting[maker], s->waiting[maker] = at + 1;
            continue;
        }
        s->done[at] = true;
        s->order[s->placed++] = s->g->node[at];
        for (int w = s->waiting[at], after; w; w = after)
            after = s->next[w - 1], s->next[w - 1] = todo, todo = w;
    }
}

/* Files are nearly always sorted already: file order, but for nodes that stand before their inputs. */
static bool schedule(Graph *g, Err *err)
{
    Arena scratch = { 0 };
    Schedule s = { .g = g, .order = ARRAY(g->arena, GraphNode *, g->n_node) };
    s.done = ARRAY(&scratch, bool, g->n_node);
    s.read = ARRAY(&scratch, int, g->n_node);
    s.waiting = ARRAY(&scratch, int, g->n_node), s.next = ARRAY(&scratch, int, g->n_node);
    for (int i = 0; i < g->n_node; i++) place(&s, i);
    bool ok = s.placed == g->n_node;
    for (int i = 0; !ok && i < g->n_node; i++)
        if (!s.done[i]) {
            fail(err, EF_BAD_MODEL, "the graph has a cycle through node '%.*s' (%s)",
                 STR_ARG(g->node[i]->node->name), g->node[i]->op->name);
            break;
        }
    if (ok) g->node = s.order;
    for (int i = 0; ok && i < g->n_node; i++)
        for (int k = 0; k < s.order[i]->n_out; k++)
            if (s.order[i]->out[k] >= 0) g->value[s.order[i]->out[k]].producer = i;
    arena_free(&scratch);
    return ok;
}

static void read_verdict(Graph *g)
{
    const char *text = onnx_meta(g->model, g->arena, "encoderfile.plain_mask_up_to");
    int64_t up_to;
    if (text && str_int(str_of(text), &up_to)) g->mask = (MaskVerdict){ MASK_PLAIN, up_to };
    text = onnx_meta(g->model, g->arena, "encoderfile.pad_id");
    if (text && str_int(str_of(text), &up_to)) g->pad_id = up_to;
}

bool graph_from_onnx(Arena *arena, const OnnxModel *model, Graph **out, Err *err)
{
    const OnnxGraph *from = &model->graph;
    Graph *g = NEW(arena, Graph);
    *g = (Graph){ .arena = arena, .model = model };
    g->node = ARRAY(arena, GraphNode *, from->n_node);
    Builder b = { .g = g };
    for (int i = 0; i < from->n_init; i++)
        if (!define_constant(&b, from->init[i].name, &from->init[i], err)) return false;
    if (!add_inputs(&b, from, err)) return false;
    for (int i = 0; i < from->n_node; i++) {
        OnnxNode *node = &from->node[i];
        bool constant = str_is(node->op, "Constant") && node->domain.n == 0;
        if (!(constant ? constant_node(&b, node, err) : add_node(&b, node, err))) return false;
    }
    if (b.n_unknown) return say_unknown(&b, err);
    if (!add_outputs(&b, from, err) || !everything_defined(g, err) || !schedule(g, err))
        return false;
    read_verdict(g);
    *out = g;
    return true;
}

/* ---- rewriting ---- */
GraphNode *graph_replace(Graph *g, int i, const char *op, const int *in, int n_in, int out)
{
    GraphNode *made = NEW(g->arena, GraphNode);
    OnnxNode *node = NEW(g->arena, OnnxNode);
    *node = (OnnxNode){ .op = str_of(op), .domain = STR("encoderfile") };
    node->name = g->node[i]->node->name;
    *made = (GraphNode){ .node = node, .opset = 1, .n_in = n_in, .n_out = 1 };
    made->op = op_find(node->domain, node->op, 1);
    assert(made->op);
    made->in = ARRAY(g->arena, int, n_in);
    memcpy(made->in, in, sizeof *in * (size_t)n_in);
    made->out = ARRAY(g->arena, int, 1);
    made->out[0] = out;
    g->value[out].producer = i;
    g->node[i] = made;
    return made;
}

static OnnxAttr *new_attr(Graph *g, GraphNode *node, const char *name, AttrType type)
{
    OnnxNode *n = node->node;
    OnnxAttr *bigger = ARRAY(g->arena, OnnxAttr, n->n_attr + 1);
    if (n->n_attr) memcpy(bigger, n->attr, sizeof *bigger * (size_t)n->n_attr);
    n->attr = bigger;
    n->attr[n->n_attr] = (OnnxAttr){ .name = str_of(name), .type = type };
    return &n->attr[n->n_attr++];
}

void node_set_int(Graph *g, GraphNode *node, const char *name, int64_t i)
{
    new_attr(g, node, name, A_INT)->i = i;
}

void node_set_float(Graph *g, GraphNode *node, const char *name, float f)
{
    new_attr(g, node, name, A_FLOAT)->f = f;
}

int *graph_uses(const Graph *g, Arena *arena)
{
    int *uses = ARRAY(arena, int, g->n_value);
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; g->node[i]->op && k < g->node[i]->n_in; k++)
            if (g->node[i]->in[k] >= 0) uses[g->node[i]->in[k]]++;
    for (int i = 0; i < g->n_output; i++) uses[g->output[i]]++;
    return uses;
}

void graph_remove_dead(Graph *g)
{
    Arena scratch = { 0 };
    int *uses = graph_uses(g, &scratch);
    for (int i = g->n_node - 1; i >= 0; i--) {
        GraphNode *node = g->node[i];
        bool wanted = false;
        for (int k = 0; node->op && k < node->n_out; k++)
            wanted |= node->out[k] >= 0 && uses[node->out[k]] > 0;
        if (wanted || !node->op) continue;
        for (int k = 0; k < node->n_in; k++)
            if (node->in[k] >= 0) uses[node->in[k]]--;
        node->op = NULL;
    }
    arena_free(&scratch);
}

void graph_keep(Graph *g, Str output)
{
    int kept = -1;
    for (int i = 0; i < g->n_output; i++)
        if (str_eq(g->value[g->output[i]].name, output)) kept = g->output[i];
    if (kept < 0) return;
    for (int i = 0; i < g->n_output; i++) g->value[g->output[i]].output = false;
    g->value[kept].output = true;
    g->output[0] = kept;
    g->n_output = 1;
    graph_remove_dead(g);
}

const GraphNode *graph_producer(const Graph *g, int value)
{
    if (value < 0 || g->value[value].producer < 0 || g->value[value].constant) return NULL;
    return g->node[g->value[value].producer];
}

bool graph_is(const GraphNode *node, const char *op)
{
    return node && node->op && strcmp(node->op->name, op) == 0;
}

bool graph_scalar(const Graph *g, int value, double *out)
{
    if (value < 0 || !g->value[value].constant || tensor_count(&g->value[value].t) != 1)
        return false;
    *out = tensor_get(&g->value[value].t, 0);
    return true;
}

/* ---- back to a model ---- */
static Str *names_of(const Graph *g, Arena *arena, const int *values, int n)
{
    Str *names = ARRAY(arena, Str, n);
    for (int i = 0; i < n; i++) names[i] = values[i] >= 0 ? g->value[values[i]].name : (Str){ 0 };
    return names;
}

static void write_nodes(const Graph *g, Arena *arena, OnnxGraph *to)
{
    to->node = ARRAY(arena, OnnxNode, g->n_node);
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *from = g->node[i];
        if (!from->op) continue;
        OnnxNode *node = &to->node[to->n_node++];
        *node = *from->node;
        node->in = names_of(g, arena, from->in, from->n_in);
        node->out = names_of(g, arena, from->out, from->n_out);
        node->n_in = from->n_in, node->n_out = from->n_out;
    }
}

static void write_constants(const Graph *g, Arena *arena, OnnxGraph *to, GraphWeights *weights)
{
    int *uses = graph_uses(g, arena);
    to->init = ARRAY(arena, OnnxTensor, g->n_value);
    weights->item = ARRAY(arena, GraphWeight, g->n_value);
    for (int v = 0; v < g->n_value; v++) {
        if (!g->value[v].constant || !uses[v]) continue;
        OnnxTensor *t = &to->init[to->n_init++];
        *t =
            (OnnxTensor){ .name = g->value[v].name, .t = g->value[v].t, .location = STR("panels") };
        t->length = tensor_bytes(&t->t);
        t->offset = ROUND_UP(weights->total, t->length >= 65536 ? 4096 : 64);
        weights->item[weights->n++] = (GraphWeight){ t->t.data, t->length, t->offset };
        weights->total = t->offset + t->length;
    }
}

static void write_values(const Graph *g, Arena *arena, const int *values, int n,
                         const OnnxValue *said, int n_said, OnnxValue **to)
{
    *to = ARRAY(arena, OnnxValue, n);
    for (int i = 0; i < n; i++) {
        (*to)[i] = (OnnxValue){ .name = g->value[values[i]].name, .type = T_F32, .rank = -1 };
        for (int k = 0; k < n_said; k++)
            if (str_eq(said[k].name, (*to)[i].name)) (*to)[i] = said[k];
    }
}

void graph_to_onnx(const Graph *g, Arena *arena, OnnxModel *to, GraphWeights *weights)
{
    *weights = (GraphWeights){ 0 };
    *to = *g->model;
    const OnnxGraph *from = &g->model->graph;
    to->graph = (OnnxGraph){ .name = from->name, .n_in = g->n_input, .n_out = g->n_output };
    write_values(g, arena, g->input, g->n_input, from->in, from->n_in, &to->graph.in);
    write_values(g, arena, g->output, g->n_output, from->out, from->n_out, &to->graph.out);
    write_nodes(g, arena, &to->graph);
    write_constants(g, arena, &to->graph, weights);
    to->n_opset = g->model->n_opset + 1;
    to->opset = ARRAY(arena, OnnxOpset, to->n_opset);
    if (g->model->n_opset)
        memcpy(to->opset, g->model->opset, sizeof *to->opset * (size_t)g->model->n_opset);
    to->opset[g->model->n_opset] = (OnnxOpset){ STR("encoderfile"), 1 };
    to->meta = ARRAY(arena, OnnxPair, 2);
    to->n_meta = 0, to->n_function = 0;
    to->meta[to->n_meta++] = (OnnxPair){ STR("encoderfile.pad_id"),
                                         str_of(str_format(arena, "%lld", (long long)g->pad_id)) };
    if (g->mask.kind == MASK_PLAIN)
        to->meta[to->n_meta++] =
            (OnnxPair){ STR("encoderfile.plain_mask_up_to"),
                        str_of(str_format(arena, "%lld", (long long)g->mask.up_to)) };
}

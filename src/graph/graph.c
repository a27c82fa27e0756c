/* SPDX-License-Identifier: Apache-2.0
 * graph.c - what passes do to a graph, and the way back to a model. from_onnx.c is the way in. */
#include "graph.h"

int graph_add_value(Graph *g, Str name)
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
    int v = graph_add_value(g, str_of(name));
    g->value[v].t = *t;
    g->value[v].constant = true;
    return v;
}

/* Weights lie side by side in a few large blocks: pages of 2 MB fit into those. */
void *graph_room(Graph *g, size_t bytes)
{
    g->arena->step = 32 << 20;
    Err ignored;
    void *p = arena_try(g->arena, bytes, 1, g->room, &ignored);
    if (p) g->room -= bytes;
    return p;
}

/* ---- rewriting ---- */
GraphNode *graph_replace(Graph *g, int i, const char *op, const int *in, int n_in, int out)
{
    GraphNode *made = NEW(g->arena, GraphNode);
    OnnxNode *node = NEW(g->arena, OnnxNode);
    *node = (OnnxNode){ .op = str_of(op), .domain = STR("encoderfile") };
    node->name = g->node[i]->node->name;
    *made = (GraphNode){
        .node = node, .opset = 1, .n_in = n_in, .n_out = 1, .guard = g->node[i]->guard
    };
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

void graph_insert(Graph *g, int i, GraphNode *node)
{
    GraphNode **longer = ARRAY(g->arena, GraphNode *, g->n_node + 1);
    memcpy(longer, g->node, sizeof *longer * (size_t)i);
    memcpy(longer + i + 1, g->node + i, sizeof *longer * (size_t)(g->n_node - i));
    longer[i] = node;
    g->node = longer;
    g->n_node++;
    for (int k = i; k < g->n_node; k++)
        for (int o = 0; g->node[k]->op && o < g->node[k]->n_out; o++)
            if (g->node[k]->out[o] >= 0) g->value[g->node[k]->out[o]].producer = k;
}

int graph_opset(const Graph *g)
{
    for (int i = 0; i < g->model->n_opset; i++)
        if (g->model->opset[i].domain.n == 0 || str_is(g->model->opset[i].domain, "ai.onnx"))
            return (int)MIN(MAX(g->model->opset[i].version, 0), INT16_MAX);
    return 1;
}

GraphNode *graph_node(Graph *g, const char *op, const char *name, const int *in, int n_in)
{
    GraphNode *made = NEW(g->arena, GraphNode);
    OnnxNode *node = NEW(g->arena, OnnxNode);
    *node = (OnnxNode){ .op = str_of(op), .name = str_of(name) };
    *made = (GraphNode){ .node = node, .opset = graph_opset(g), .n_in = n_in, .n_out = 1 };
    made->op = op_find(STR(""), node->op, made->opset);
    made->in = memcpy(ARRAY(g->arena, int, n_in), in, sizeof *in * (size_t)n_in);
    made->out = ARRAY(g->arena, int, 1);
    made->out[0] = graph_add_value(g, node->name);
    return made;
}

GraphNode *graph_own(Graph *g, const char *op, const char *name, const int *in, int n_in)
{
    GraphNode *made = graph_node(g, op, name, in, n_in);
    made->node->domain = STR("encoderfile");
    made->opset = 1;
    made->op = op_find(made->node->domain, made->node->op, 1);
    assert(made->op);
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

void node_set_ints(Graph *g, GraphNode *node, const char *name, const int64_t *list, int n)
{
    OnnxAttr *a = new_attr(g, node, name, A_INTS);
    a->ints = memcpy(ARRAY(g->arena, int64_t, n), list, sizeof *list * (size_t)n);
    a->n = (size_t)n;
}

int *graph_uses(const Graph *g, Arena *arena)
{
    int *uses = ARRAY(arena, int, g->n_value);
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *node = g->node[i];
        for (int k = 0; node->op && k < node->n_in; k++)
            if (node->in[k] >= 0) uses[node->in[k]]++;
        if (node->op && node->guard) uses[node->guard - 1]++;
    }
    for (int i = 0; i < g->n_output; i++) uses[g->output[i]]++;
    return uses;
}

void graph_remove_dead(Graph *g)
{
    Arena scratch = { .local = true };
    int *uses = graph_uses(g, &scratch);
    for (int i = g->n_node - 1; i >= 0; i--) {
        GraphNode *node = g->node[i];
        bool wanted = false;
        for (int k = 0; node->op && k < node->n_out; k++)
            wanted |= node->out[k] >= 0 && uses[node->out[k]] > 0;
        if (wanted || !node->op) continue;
        for (int k = 0; k < node->n_in; k++)
            if (node->in[k] >= 0) uses[node->in[k]]--;
        if (node->guard) uses[node->guard - 1]--;
        node->op = NULL;
    }
    arena_free(&scratch);
}

/* Those of another output: an image beside a text. A graph of texts keeps all that tokens have. */
static void remove_inputs(Graph *g)
{
    Arena scratch = { .local = true };
    const int *uses = graph_uses(g, &scratch);
    int n = 0;
    bool texts = false, any = false;
    for (int i = 0; i < g->n_input; i++) {
        any |= uses[g->input[i]] > 0;
        texts |= uses[g->input[i]] && role_of_token(graph_role(g->value[g->input[i]].name));
    }
    for (int i = 0; i < g->n_input; i++)
        if (uses[g->input[i]] || ((texts || !any) && role_of_token(graph_role(g->value[g->input[i]].name))))
            g->input[n++] = g->input[i];
    g->n_input = n;
    arena_free(&scratch);
}

/* Adds the outputs that are the next row's state. */
static int keep_states(const Graph *g, int *kept, int n)
{
    for (int i = 0; i < g->n_input; i++) {
        const char *next = graph_next_state(g->value[g->input[i]].name);
        bool has = false;
        for (int k = 0; next && k < n; k++) has |= str_is(g->value[kept[k]].name, next);
        for (int k = 0; next && !has && k < g->n_output; k++)
            if (str_is(g->value[g->output[k]].name, next)) kept[n++] = g->output[k];
    }
    return n;
}

void graph_keep(Graph *g, const Str *outputs, int n)
{
    int *kept = ARRAY(g->arena, int, n + g->n_input + 1), found = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < g->n_output; i++)
            if (str_eq(g->value[g->output[i]].name, outputs[k])) kept[found++] = g->output[i];
    if (found != n) return;
    n = keep_states(g, kept, n);
    for (int i = 0; i < g->n_output; i++) g->value[g->output[i]].output = false;
    for (int k = 0; k < n; k++) g->value[kept[k]].output = true;
    g->output = kept;
    g->n_output = n;
    graph_remove_dead(g);
    remove_inputs(g);
}

/* What a copy is made of: an exporter may give an output its name by an Identity. */
static int cut_value(const Graph *g, int value)
{
    const GraphNode *node = graph_producer(g, value);
    return graph_is(node, "Identity") ? cut_value(g, node->in[0]) : value;
}

/* Nobody makes it any more: what it was made of is dead. */
static void cut_at(Graph *g, int value, Str name)
{
    GraphNode *node = g->value[value].producer < 0 ? NULL : g->node[g->value[value].producer];
    if (!node || g->value[value].constant) return;
    for (int k = 0; k < node->n_out; k++)
        if (node->out[k] == value) node->out[k] = graph_add_value(g, STR("encoderfile.cut"));
    g->value[value].producer = -1;
    g->value[value].input = true;
    g->value[value].name = name;
    g->value[value].t = (Tensor){ .rank = -1 }; /* as many rows as one likes */
    g->input[g->n_input++] = value;
}

void graph_cut(Graph *g, const Str *names, int n)
{
    int *input = ARRAY(g->arena, int, g->n_input + n);
    if (g->n_input) memcpy(input, g->input, sizeof *input * (size_t)g->n_input);
    g->input = input;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < g->n_output; i++)
            if (str_eq(g->value[g->output[i]].name, names[k])) cut_at(g, cut_value(g, g->output[i]), names[k]);
}

const GraphNode *graph_producer(const Graph *g, int value)
{
    if (value < 0 || g->value[value].producer < 0 || g->value[value].constant) return NULL;
    return g->node[g->value[value].producer];
}

bool graph_attends(const GraphNode *node)
{
    return node && node->op && node->op->token == TOKEN_ATTENTION;
}

int graph_input(const GraphNode *node, int k)
{
    return k < node->n_in ? node->in[k] : -1;
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

static void write_guard(const Graph *g, Arena *arena, int guard, OnnxNode *node)
{
    OnnxPair *meta = ARRAY(arena, OnnxPair, node->n_meta + 1);
    if (node->n_meta) memcpy(meta, node->meta, sizeof *meta * (size_t)node->n_meta);
    meta[node->n_meta++] = (OnnxPair){ STR(GUARD_KEY), g->value[guard].name };
    node->meta = meta;
}

/* What says which module of the source model a node belongs to (export/htp.h). */
static bool is_module_key(Str key)
{
    return str_is(key, "hierarchy_tag") || str_is(key, "namespace");
}

/* A node that a pass made has the name of the one whose place it took, perhaps with a '#' and more behind it: it
 * belongs to the same module. */
static void write_module(const Map *sources, Arena *arena, OnnxNode *node)
{
    const OnnxNode *from = map_get(sources, node->name);
    const char *mark = from || !node->name.n ? NULL : memchr(node->name.p, '#', node->name.n);
    if (mark) from = map_get(sources, (Str){ node->name.p, (size_t)(mark - node->name.p) });
    if (!from || node->n_meta) return;
    node->meta = ARRAY(arena, OnnxPair, from->n_meta);
    for (int i = 0; i < from->n_meta; i++)
        if (is_module_key(from->meta[i].key)) node->meta[node->n_meta++] = from->meta[i];
}

static void write_nodes(const Graph *g, Arena *arena, OnnxGraph *to)
{
    const OnnxGraph *file = &g->model->graph;
    Map sources = { 0 };
    for (int i = 0; i < file->n_node; i++)
        if (file->node[i].name.n && file->node[i].n_meta)
            map_put(&sources, arena, file->node[i].name, &file->node[i]);
    to->node = ARRAY(arena, OnnxNode, g->n_node);
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *from = g->node[i];
        if (!from->op) continue;
        OnnxNode *node = &to->node[to->n_node++];
        *node = *from->node;
        node->in = names_of(g, arena, from->in, from->n_in);
        node->out = names_of(g, arena, from->out, from->n_out);
        node->n_in = from->n_in, node->n_out = from->n_out;
        node->doc = (Str){ 0 };
        write_module(&sources, arena, node);
        if (from->guard) write_guard(g, arena, from->guard - 1, node);
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

/* An input that is no longer what the file declared (choices.c). */
static void redeclare(const Graph *g, const GraphValue *v, OnnxValue *said)
{
    if (!v->input || v->t.rank == said->rank) return;
    said->rank = v->t.rank;
    for (int i = 0; i < said->rank; i++) said->dim[i] = v->t.dim[i];
    if (g->fixed_S) /* which unfix.c took away */
        said->dim[0] = g->fixed_B ? g->fixed_B : DIM_UNKNOWN, said->dim[1] = g->fixed_S;
    memset(said->symbol, 0, sizeof said->symbol);
}

static void write_values(const Graph *g, Arena *arena, const int *values, int n,
                         const OnnxValue *said, int n_said, OnnxValue **to)
{
    *to = ARRAY(arena, OnnxValue, n);
    for (int i = 0; i < n; i++) {
        (*to)[i] = (OnnxValue){ .name = g->value[values[i]].name, .type = T_F32, .rank = -1 };
        for (int k = 0; k < n_said; k++)
            if (str_eq(said[k].name, (*to)[i].name)) (*to)[i] = said[k];
        redeclare(g, &g->value[values[i]], &(*to)[i]);
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
    to->meta = ARRAY(arena, OnnxPair, 3);
    to->n_meta = 0, to->n_function = 0;
    to->meta[to->n_meta++] = (OnnxPair){ STR("encoderfile.pad_id"),
                                         str_of(str_format(arena, "%lld", (long long)g->pad_id)) };
    if (g->fixed_S) to->meta[to->n_meta++] = (OnnxPair){ STR("encoderfile.unfixed"), STR("1") };
    if (g->mask.kind == MASK_PLAIN)
        to->meta[to->n_meta++] =
            (OnnxPair){ STR("encoderfile.plain_mask_up_to"),
                        str_of(str_format(arena, "%lld", (long long)graph_mask_proved(g))) };
}

/* SPDX-License-Identifier: Apache-2.0
 * from_onnx.c - a model file to values and nodes. Everything a later pass may rely on is checked here:
 * names are defined once, no cycles, every operator is known.
 *
 * The graph is flat. Functions of the model are written out where they are called. An If becomes the
 * nodes of both its branches, each with a guard: a value that says whether this branch is taken (made
 * by Then or Else; nodes whose guard is false are not run), and one Either for each result. So a condition
 * that is a constant, or known from shapes, costs nothing, and any other makes the graph dynamic. The body
 * of a Loop is a graph of its own; what it reads from outside becomes an input of the node and of the body. */
#include "base/log.h"
#include "graph.h"

enum {
    LISTED_OPERATORS = 32,
    MOST_DEPTH = 32,
    MOST_SCOPES = 1 << 16,
    MOST_NODES = 1 << 20,
    MOST_VALUES = 1 << 22,
    KNOWN_OPSET = 28
};

/* Where names are looked up: the graph, a branch inside it, or the body of a function. */
typedef struct Scope {
    Map names;                 /* name -> value number + 2; 1: an input that the call leaves out */
    const struct Scope *up;    /* a branch sees these names too */
    Str prefix;                /* of names made in here; empty: the graph's own */
    const OnnxOpset *opset;
    int n_opset;
    const OnnxNode *call;      /* in a function: whose attributes its nodes may refer to */
    const OnnxFunction *function;
    int guard;                 /* of the nodes in here; 0: none */
    int depth;
} Scope;

typedef struct GraphBuilder {
    Graph *g;
    int cap_node, n_scope;
    Str unknown[LISTED_OPERATORS]; /* operators nobody knows, with counts */
    int count[LISTED_OPERATORS];
    int n_unknown;
} GraphBuilder;

enum { NOT_FOUND = -2 }; /* beside -1: absent */

static int lookup(const Scope *s, Str name)
{
    for (; s; s = s->up) {
        intptr_t found = (intptr_t)map_get(&s->names, name);
        if (found) return (int)found - 2;
    }
    return NOT_FOUND;
}

static void bind_name(GraphBuilder *b, Scope *s, Str name, int value)
{
    map_put(&s->names, b->g->arena, name, (void *)(intptr_t)(value + 2));
}

static Str inner_name(GraphBuilder *b, const Scope *s, Str name)
{
    if (!s->prefix.n) return name;
    return str_of(str_format(b->g->arena, "%.*s/%.*s", STR_ARG(s->prefix), STR_ARG(name)));
}

/* The value that a name of this very scope stands for, made if there is none; -1: no name. */
static int named(GraphBuilder *b, Scope *s, Str name)
{
    if (name.n == 0) return -1;
    intptr_t found = (intptr_t)map_get(&s->names, name);
    if (found > 1) return (int)found - 2;
    int v = graph_add_value(b->g, inner_name(b, s, name));
    bind_name(b, s, name, v);
    return v;
}

static int reading(GraphBuilder *b, Scope *s, Str name)
{
    int v = name.n ? lookup(s, name) : -1;
    return v == NOT_FOUND ? named(b, s, name) : v;
}

static bool defined(const Graph *g, int v)
{
    return g->value[v].constant || g->value[v].producer >= 0 || g->value[v].input;
}

/* ---- constants ---- */
/* Kernels read aligned numbers; files do not align them. */
static bool aligned_constant(Graph *g, bool top, const OnnxTensor *from, Tensor *to, Err *err)
{
    *to = from->t;
    size_t size = dtype_size(to->type), bytes = tensor_bytes(to);
    if (size == 0)
        return fail(err, EF_UNSUPPORTED, "constant '%.*s': type %s is not supported",
                    STR_ARG(from->name), dtype_name(to->type));
    if (!to->data && bytes)
        return fail(err, EF_BAD_MODEL, "constant '%.*s': external data '%.*s' was not found",
                    STR_ARG(from->name), STR_ARG(from->location));
    if (top) g->room += 2 * bytes;
    if (to->data && (uintptr_t)to->data % size == 0) return true;
    void *copy = top ? arena_raw(g->arena, bytes) : graph_room(g, bytes);
    if (!copy) /* of a function called often */
        return fail(err, EF_TOO_LARGE, "constant '%.*s': found %zu bytes too many",
                    STR_ARG(from->name), bytes);
    if (bytes) memcpy(copy, to->data, bytes);
    to->data = copy;
    return true;
}

static bool define_constant(GraphBuilder *b, Scope *s, Str name, const OnnxTensor *tensor, Err *err)
{
    int v = named(b, s, name);
    if (v < 0) return fail(err, EF_BAD_MODEL, "a constant has no name");
    if (defined(b->g, v))
        return fail(err, EF_BAD_MODEL, "value '%.*s' is defined twice", STR_ARG(name));
    GraphValue *value = &b->g->value[v];
    if (!aligned_constant(b->g, !s->depth, tensor, &value->t, err)) return false;
    value->constant = true;
    return true;
}

/* A view: attributes live as long as the model. */
static Tensor numbers(DType type, int rank, size_t n, const void *data)
{
    return (Tensor){
        .type = type, .rank = rank, .dim = { rank ? (int64_t)n : 0 }, .data = (void *)data
    };
}

static const OnnxAttr *typed_attr(const OnnxNode *node, const char *name, AttrType type)
{
    const OnnxAttr *a = onnx_attr(node, name);
    return a && a->type == type ? a : NULL;
}

/* A Constant node in any of its spellings. */
static bool constant_node(GraphBuilder *b, Scope *s, const OnnxNode *node, Err *err)
{
    const OnnxAttr *a;
    OnnxTensor tensor = { .name = node->n_out ? node->out[0] : (Str){ 0 } };
    if ((a = typed_attr(node, "value", A_TENSOR))) tensor.t = a->t->t;
    else if ((a = typed_attr(node, "value_int", A_INT)))
        tensor.t = numbers(T_I64, 0, 1, &a->i);
    else if ((a = typed_attr(node, "value_float", A_FLOAT)))
        tensor.t = numbers(T_F32, 0, 1, &a->f);
    else if ((a = typed_attr(node, "value_ints", A_INTS)))
        tensor.t = numbers(T_I64, 1, a->n, a->ints);
    else if ((a = typed_attr(node, "value_floats", A_FLOATS)))
        tensor.t = numbers(T_F32, 1, a->n, a->floats);
    else
        return fail(err, EF_UNSUPPORTED, "node '%.*s' (Constant): only numbers are supported",
                    STR_ARG(node->name));
    return define_constant(b, s, tensor.name, &tensor, err);
}

/* ---- operators ---- */
static int64_t opset_of(const Scope *s, Str domain)
{
    bool standard = domain.n == 0 || str_is(domain, "ai.onnx");
    for (int i = 0; i < s->n_opset; i++) {
        Str d = s->opset[i].domain;
        if (standard ? d.n == 0 || str_is(d, "ai.onnx") : str_eq(d, domain))
            return s->opset[i].version;
    }
    return standard ? 0 : 1;
}

/* An opset from the future is tried: most operators do not change. */
static void say_opset(const OnnxModel *m)
{
    static bool said;
    if (said) return;
    for (int i = 0; i < m->n_opset; i++)
        if (m->opset[i].domain.n == 0 && m->opset[i].version > KNOWN_OPSET) {
            said = true;
            log_warn("the model is of opset %lld, this program knows %d: its operators are taken "
                     "as they were then",
                     (long long)m->opset[i].version, KNOWN_OPSET);
        }
}

static void note_unknown(GraphBuilder *b, Str op)
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

static bool say_unknown(const GraphBuilder *b, Err *err)
{
    char list[640] = "";
    size_t n = 0;
    for (int i = 0; i < b->n_unknown && n < sizeof list - 80; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%.60s (%d)", i ? ", " : "",
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
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i].n) return true;
    return fail(err, EF_BAD_MODEL, "node '%.*s' (%s): output 0: found none, wanted one",
                STR_ARG(node->name), op->name);
}

static GraphNode *new_node(GraphBuilder *b, const Scope *s, OnnxNode *node, const Op *op, int64_t opset)
{
    Graph *g = b->g;
    if (g->n_node == b->cap_node) {
        int cap = b->cap_node ? b->cap_node * 2 : 64;
        GraphNode **bigger = ARRAY(g->arena, GraphNode *, cap);
        if (g->n_node) memcpy(bigger, g->node, sizeof *bigger * (size_t)g->n_node);
        g->node = bigger;
        b->cap_node = cap;
    }
    GraphNode *made = NEW(g->arena, GraphNode);
    *made = (GraphNode){ .op = op,
                         .node = node,
                         .opset = (int)MIN(MAX(opset, 0), INT16_MAX),
                         .n_in = node->n_in,
                         .n_out = node->n_out,
                         .guard = s->guard };
    made->in = ARRAY(g->arena, int, node->n_in);
    made->out = ARRAY(g->arena, int, node->n_out);
    return g->node[g->n_node++] = made;
}

static bool makes(GraphBuilder *b, int v, Err *err)
{
    Graph *g = b->g;
    if (v >= 0 && defined(g, v))
        return fail(err, EF_BAD_MODEL, "value '%.*s' is defined twice", STR_ARG(g->value[v].name));
    if (v >= 0) g->value[v].producer = g->n_node - 1;
    return true;
}

/* A package writes the guard beside the node. */
static int written_guard(const Scope *s, const OnnxNode *node)
{
    for (int i = 0; i < node->n_meta; i++)
        if (str_is(node->meta[i].key, GUARD_KEY))
            return MAX(lookup(s, node->meta[i].value), -1) + 1;
    return 0;
}

static bool add_node(GraphBuilder *b, Scope *s, OnnxNode *node, const Op *op, Err *err)
{
    if (!check_names(node, op, err)) return false;
    GraphNode *made = new_node(b, s, node, op, opset_of(s, node->domain));
    if (!s->up && node->n_meta) made->guard = written_guard(s, node);
    for (int i = 0; i < node->n_in; i++) {
        made->in[i] = reading(b, s, node->in[i]);
        if (i < op->min_in && made->in[i] < 0) /* a parameter that the call leaves out */
            return fail(err, EF_BAD_MODEL, "node '%.*s' (%s): input %d: found none, wanted one",
                        STR_ARG(node->name), op->name, i);
    }
    for (int i = 0; i < node->n_out; i++) {
        made->out[i] = named(b, s, node->out[i]);
        if (!i && made->out[0] < 0) /* an LSTM of which the last state alone is wanted */
            made->out[0] = graph_add_value(b->g, str_of(str_format(b->g->arena, "#unread%d", b->g->n_value)));
        if (!makes(b, made->out[i], err)) return false;
    }
    return true;
}

/* A node of our own making, with value numbers instead of names; `in` has as many as it takes. */
static bool own_node(GraphBuilder *b, const Scope *s, const OnnxNode *from, const char *name,
                     const int *in, int out, Err *err)
{
    OnnxNode *node = NEW(b->g->arena, OnnxNode);
    *node = (OnnxNode){ .op = str_of(name), .name = from->name, .n_out = 1 };
    if (strcmp(name, "Identity") != 0) node->domain = STR("encoderfile");
    const Op *op = op_find(node->domain, node->op, 1);
    assert(op);
    node->n_in = op->max_in;
    GraphNode *made = new_node(b, s, node, op, 1);
    for (int i = 0; i < node->n_in; i++) made->in[i] = in[i];
    if (op->min_in && in[0] < 0)
        return fail(err, EF_BAD_MODEL, "node '%.*s': input 0: found none, wanted one",
                    STR_ARG(from->name));
    made->out[0] = out;
    return makes(b, out, err);
}

static bool read_graph(GraphBuilder *b, Scope *s, const OnnxGraph *from, Err *err);

/* ---- If ---- */
/* The nodes of one branch; values[k]: what result k of the If is when this branch is taken. */
static bool add_branch(GraphBuilder *b, Scope *outer, const OnnxNode *node, bool taken, int *values,
                       Err *err)
{
    const OnnxAttr *a = onnx_attr(node, taken ? "then_branch" : "else_branch");
    const OnnxGraph *from = a && a->type == A_GRAPH ? a->g : NULL;
    if (!from || from->n_out != node->n_out || from->n_in)
        return fail(err, EF_BAD_MODEL,
                    "node '%.*s' (If): %s: found %d results, wanted %d, and no inputs",
                    STR_ARG(node->name), taken ? "then_branch" : "else_branch",
                    from ? from->n_out : 0, node->n_out);
    Scope s = { .up = outer,
                .opset = outer->opset,
                .n_opset = outer->n_opset,
                .call = outer->call,
                .function = outer->function,
                .depth = outer->depth + 1 };
    s.prefix = str_of(str_format(b->g->arena, "%s@%d", taken ? "then" : "else", b->n_scope++));
    int guard = graph_add_value(b->g, inner_name(b, &s, STR("taken")));
    int in[2] = { reading(b, outer, node->in[0]), outer->guard - 1 };
    Scope always = { 0 };
    if (!own_node(b, &always, node, taken ? "Then" : "Else", in, guard, err)) return false;
    s.guard = guard + 1;
    if (!read_graph(b, &s, from, err)) return false;
    for (int k = 0; k < node->n_out; k++) {
        values[k] = reading(b, &s, from->out[k].name);
        if (values[k] < 0)
            return fail(err, EF_BAD_MODEL, "node '%.*s' (If): result %d has no name",
                        STR_ARG(node->name), k);
    }
    return true;
}

static bool add_if(GraphBuilder *b, Scope *s, const OnnxNode *node, Err *err)
{
    if (node->n_in != 1 || !node->in[0].n || !node->n_out)
        return fail(err, EF_BAD_MODEL, "node '%.*s' (If): found %d inputs, wanted a condition",
                    STR_ARG(node->name), node->n_in);
    int *values[2] = { ARRAY(b->g->arena, int, node->n_out), ARRAY(b->g->arena, int, node->n_out) };
    if (!add_branch(b, s, node, true, values[0], err)) return false;
    if (!add_branch(b, s, node, false, values[1], err)) return false;
    for (int k = 0; k < node->n_out; k++) {
        if (!node->out[k].n) continue;
        int in[3] = { reading(b, s, node->in[0]), values[0][k], values[1][k] };
        if (!own_node(b, s, node, "Either", in, named(b, s, node->out[k]), err)) return false;
    }
    return true;
}

/* ---- Loop ---- */
enum { LOOP_FIXED = 2, LOOP_INPUTS = 32 }; /* trips and condition; as many as Op.values has bits */

typedef struct Captured { /* names that a body reads from outside */
    Str name[LOOP_INPUTS];
    int n;
    bool many;
} Captured;

static void capture(Captured *c, Str name)
{
    for (int i = 0; i < c->n; i++)
        if (str_eq(c->name[i], name)) return;
    if (c->n == LOOP_INPUTS) c->many = true;
    else c->name[c->n++] = name;
}

static bool body_makes(const OnnxGraph *g, Str name)
{
    for (int i = 0; i < g->n_in; i++)
        if (str_eq(g->in[i].name, name)) return true;
    for (int i = 0; i < g->n_init; i++)
        if (str_eq(g->init[i].name, name)) return true;
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_out; k++)
            if (str_eq(g->node[i].out[k], name)) return true;
    return false;
}

/* Names that neither this body nor the ones around it make. */
static void capture_all(Captured *c, const OnnxGraph *g, const OnnxGraph *const *around, int depth)
{
    const OnnxGraph *inside[MOST_DEPTH];
    if (depth == MOST_DEPTH) return; /* read_graph refuses it */
    if (depth) memcpy(inside, around, sizeof *inside * (size_t)depth);
    inside[depth++] = g;
    for (int i = 0; i < g->n_node + g->n_out; i++) {
        const OnnxNode *n = i < g->n_node ? &g->node[i] : NULL;
        for (int k = 0; k < (n ? n->n_in : 1); k++) {
            const Str name = n ? n->in[k] : g->out[i - g->n_node].name;
            bool made = !name.n;
            for (int d = 0; !made && d < depth; d++) made = body_makes(inside[d], name);
            if (!made) capture(c, name);
        }
        for (int k = 0; n && k < n->n_attr; k++)
            if (n->attr[k].type == A_GRAPH && n->attr[k].g) capture_all(c, n->attr[k].g, inside, depth);
    }
}

static bool loop_fits(const OnnxNode *node, const OnnxGraph *body, const Captured *c, Err *err)
{
    const int states = body ? body->n_in - LOOP_FIXED : -1;
    if (states < 0 || node->n_in < body->n_in || body->n_out != node->n_out + 1 || node->n_out < states ||
        node->n_out < 1)
        return fail(err, EF_BAD_MODEL, "node '%.*s' (Loop): found %d inputs, %d results and a body of %d "
                    "and %d, wanted as many states", STR_ARG(node->name), node->n_in, node->n_out,
                    body ? body->n_in : 0, body ? body->n_out : 0);
    return (!c->many && body->n_in + c->n <= LOOP_INPUTS) ||
           fail(err, EF_UNSUPPORTED, "node '%.*s' (Loop): found more than %d values that go in",
                STR_ARG(node->name), LOOP_INPUTS);
}

/* The body as a model of its own, with what it captures as inputs. */
static bool loop_body(GraphBuilder *b, const Scope *s, const OnnxGraph *from, const Captured *c,
                      Graph **out, Err *err)
{
    OnnxModel *m = NEW(b->g->arena, OnnxModel);
    *m = *b->g->model;
    m->opset = (OnnxOpset *)s->opset, m->n_opset = s->n_opset, m->n_meta = 0;
    m->graph = *from;
    m->graph.in = ARRAY(b->g->arena, OnnxValue, from->n_in + c->n);
    memcpy(m->graph.in, from->in, sizeof *from->in * (size_t)from->n_in);
    for (int i = 0; i < c->n; i++)
        m->graph.in[m->graph.n_in++] = (OnnxValue){ .name = c->name[i], .rank = -1 };
    if (!graph_from_onnx(b->g->arena, m, out, err)) return false;
    return (*out)->n_input == m->graph.n_in ||
           fail(err, EF_UNSUPPORTED, "a Loop whose body has constants among its inputs");
}

static bool add_loop(GraphBuilder *b, Scope *s, const OnnxNode *given, Err *err)
{
    const OnnxAttr *a = onnx_attr(given, "body");
    const OnnxGraph *body = a && a->type == A_GRAPH ? a->g : NULL;
    Captured c = { 0 };
    if (s->depth + 1 > MOST_DEPTH || b->n_scope++ > MOST_SCOPES)
        return fail(err, EF_TOO_LARGE, "found too many calls or branches, wanted %d and %d deep",
                    MOST_SCOPES, MOST_DEPTH);
    if (body) capture_all(&c, body, NULL, 0);
    if (!loop_fits(given, body, &c, err)) return false;
    OnnxNode *node = NEW(b->g->arena, OnnxNode);
    *node = *given;
    node->in = ARRAY(b->g->arena, Str, body->n_in + c.n);
    memcpy(node->in, given->in, sizeof *node->in * (size_t)body->n_in);
    memcpy(node->in + body->n_in, c.name, sizeof *node->in * (size_t)c.n);
    node->n_in = body->n_in + c.n;
    if (!add_node(b, s, node, op_find(node->domain, node->op, 1), err)) return false;
    GraphNode *made = b->g->node[b->g->n_node - 1];
    made->states = body->n_in - LOOP_FIXED;
    return loop_body(b, s, body, &c, &made->body, err);
}

/* ---- functions ---- */
static const OnnxFunction *find_function(const OnnxModel *m, const OnnxNode *node)
{
    for (int i = 0; i < m->n_function; i++)
        if (str_eq(m->function[i].name, node->op) && str_eq(m->function[i].domain, node->domain))
            return &m->function[i];
    return NULL;
}

/* What an attribute that refers to the call's stands for; NULL: left out. */
static const OnnxAttr *referred(const Scope *s, Str name)
{
    for (int i = 0; i < s->call->n_attr; i++)
        if (str_eq(s->call->attr[i].name, name)) return &s->call->attr[i];
    for (int i = 0; i < s->function->n_otherwise; i++)
        if (str_eq(s->function->otherwise[i].name, name)) return &s->function->otherwise[i];
    return NULL;
}

/* The node as this call means it: its name, and attributes taken from the call. */
static OnnxNode *resolved(GraphBuilder *b, const Scope *s, OnnxNode *node)
{
    if (!s->call) return node;
    OnnxNode *made = NEW(b->g->arena, OnnxNode);
    *made = *node;
    made->name = inner_name(b, s, node->name.n ? node->name : node->op);
    made->attr = ARRAY(b->g->arena, OnnxAttr, node->n_attr);
    made->n_attr = 0;
    for (int i = 0; i < node->n_attr; i++) {
        const OnnxAttr *a = node->attr[i].ref.n ? referred(s, node->attr[i].ref) : &node->attr[i];
        if (!a) continue;
        made->attr[made->n_attr] = *a;
        made->attr[made->n_attr++].name = node->attr[i].name;
    }
    return made;
}

static bool is_parameter(const OnnxFunction *f, Str name)
{
    for (int i = 0; i < f->n_in; i++)
        if (str_eq(f->in[i], name)) return true;
    return false;
}

static bool call_function(GraphBuilder *b, Scope *outer, const OnnxNode *node, const OnnxFunction *f,
                          Err *err)
{
    if (node->n_in > f->n_in || node->n_out > f->n_out)
        return fail(err, EF_BAD_MODEL,
                    "node '%.*s' (%.*s): found %d inputs and %d outputs, the function has %d and %d",
                    STR_ARG(node->name), STR_ARG(node->op), node->n_in, node->n_out, f->n_in,
                    f->n_out);
    Scope s = { .opset = f->opset, .n_opset = f->n_opset, .call = node, .function = f,
                .guard = outer->guard, .depth = outer->depth + 1 };
    s.prefix = str_of(str_format(b->g->arena, "%.*s@%d", STR_ARG(f->name), b->n_scope++));
    for (int i = 0; i < f->n_in; i++)
        bind_name(b, &s, f->in[i], i < node->n_in ? reading(b, outer, node->in[i]) : -1);
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i].n && !is_parameter(f, f->out[i]))
            bind_name(b, &s, f->out[i], named(b, outer, node->out[i]));
    if (!read_graph(b, &s, &f->body, err)) return false;
    for (int i = 0; i < node->n_out; i++) { /* what is handed through, or named twice */
        int made = node->out[i].n ? lookup(&s, f->out[i]) : -1;
        int wanted = made >= 0 ? named(b, outer, node->out[i]) : -1;
        if (made >= 0 && made != wanted &&
            !own_node(b, outer, node, "Identity", &made, wanted, err))
            return false;
    }
    return true;
}

/* ---- graphs ---- */
static bool add_any(GraphBuilder *b, Scope *s, OnnxNode *given, Err *err)
{
    OnnxNode *node = resolved(b, s, given);
    bool standard = node->domain.n == 0;
    if (b->g->n_node >= MOST_NODES || b->g->n_value >= MOST_VALUES)
        return fail(err, EF_TOO_LARGE, "the graph has more than %d nodes or %d values", MOST_NODES,
                    MOST_VALUES);
    if (standard && str_is(node->op, "Constant")) return constant_node(b, s, node, err);
    if (standard && str_is(node->op, "If")) return add_if(b, s, node, err);
    if (standard && str_is(node->op, "Loop")) return add_loop(b, s, node, err);
    const Op *op = op_find(node->domain, node->op, opset_of(s, node->domain));
    if (op) return add_node(b, s, node, op, err);
    const OnnxFunction *f = find_function(b->g->model, node);
    if (f) return call_function(b, s, node, f, err);
    note_unknown(b, standard ? node->op
                             : str_of(str_format(b->g->arena, "%.*s.%.*s", STR_ARG(node->domain),
                                                 STR_ARG(node->op))));
    return true;
}

/* Names are declared before anything reads them: files need not be sorted, and a branch must not take
 * an outer value for one of its own. */
static bool read_graph(GraphBuilder *b, Scope *s, const OnnxGraph *from, Err *err)
{
    if (s->depth > MOST_DEPTH || b->n_scope > MOST_SCOPES)
        return fail(err, EF_TOO_LARGE, "found too many calls or branches, wanted %d and %d deep",
                    MOST_SCOPES, MOST_DEPTH);
    for (int i = 0; s->depth && i < from->n_init; i++)
        if (!define_constant(b, s, from->init[i].name, &from->init[i], err)) return false;
    for (int i = 0; i < from->n_node; i++)
        for (int k = 0; k < from->node[i].n_out; k++) named(b, s, from->node[i].out[k]);
    for (int i = 0; i < from->n_node; i++)
        if (!add_any(b, s, &from->node[i], err)) return false;
    return true;
}

static bool add_inputs(GraphBuilder *b, Scope *s, const OnnxGraph *from, Err *err)
{
    Graph *g = b->g;
    g->input = ARRAY(g->arena, int, from->n_in);
    for (int i = 0; i < from->n_in; i++) {
        int v = named(b, s, from->in[i].name);
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

static bool add_outputs(GraphBuilder *b, Scope *s, const OnnxGraph *from, Err *err)
{
    Graph *g = b->g;
    g->output = ARRAY(g->arena, int, from->n_out);
    for (int i = 0; i < from->n_out; i++) {
        int v = lookup(s, from->out[i].name);
        if (v < 0)
            return fail(err, EF_BAD_MODEL, "graph output '%.*s' is made by no node",
                        STR_ARG(from->out[i].name));
        g->value[v].output = true;
        g->output[g->n_output++] = v;
    }
    return true;
}

static bool is_made(const Graph *g, int v)
{
    return v < 0 || defined(g, v);
}

static bool everything_defined(const Graph *g, Err *err)
{
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i]->n_in; k++) {
            int v = g->node[i]->in[k];
            if (is_made(g, v)) continue;
            return fail(err, EF_BAD_MODEL, "node '%.*s' (%s): reads '%.*s', which nothing makes",
                        STR_ARG(g->node[i]->node->name), g->node[i]->op->name,
                        STR_ARG(g->value[v].name));
        }
    for (int i = 0; i < g->n_output; i++) {
        const GraphValue *v = &g->value[g->output[i]];
        if (!defined(g, g->output[i]))
            return fail(err, EF_BAD_MODEL, "graph output '%.*s' is made by no node",
                        STR_ARG(v->name));
    }
    return true;
}

static void read_verdict(Graph *g)
{
    const char *text = onnx_meta(g->model, g->arena, "encoderfile.plain_mask_up_to");
    int64_t up_to;
    if (text && str_int(str_of(text), &up_to)) g->mask = (MaskVerdict){ MASK_PLAIN, up_to };
    text = onnx_meta(g->model, g->arena, "encoderfile.pad_id");
    if (text && str_int(str_of(text), &up_to)) g->pad_id = up_to;
    const Tensor *first = g->n_input ? &g->value[g->input[0]].t : NULL;
    if (onnx_meta(g->model, g->arena, "encoderfile.unfixed") && first && first->rank == 2 && first->dim[1] > 0)
        graph_unfixed(g, MAX(first->dim[0], (int64_t)0), first->dim[1]);
}

bool graph_from_onnx(Arena *arena, const OnnxModel *model, Graph **out, Err *err)
{
    const OnnxGraph *from = &model->graph;
    Graph *g = NEW(arena, Graph);
    *g = (Graph){ .arena = arena, .model = model, .room = MOST_BYTES / 4 };
    for (int i = 0; i < from->n_init; i++) g->room += 2 * tensor_bytes(&from->init[i].t);
    GraphBuilder b = { .g = g };
    Scope top = { .opset = model->opset, .n_opset = model->n_opset };
    for (int i = 0; i < from->n_init; i++)
        if (!define_constant(&b, &top, from->init[i].name, &from->init[i], err)) return false;
    if (!add_inputs(&b, &top, from, err) || !read_graph(&b, &top, from, err)) return false;
    if (b.n_unknown) return say_unknown(&b, err);
    say_opset(model);
    if (!add_outputs(&b, &top, from, err) || !everything_defined(g, err) || !graph_schedule(g, err))
        return false;
    read_verdict(g);
    *out = g;
    return true;
}

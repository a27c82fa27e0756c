/* SPDX-License-Identifier: Apache-2.0
 * opset.c - a model written for one opset, rewritten for another. Most versions of an operator only
 * add types; what else changed between 7 and 28 is a row of `changes`: attributes that became inputs
 * (and back), options that appeared, softmax that changed its meaning. Whatever has no row in `known`,
 * or uses what the other opset lacks, is refused by name. */
#include "graph.h"

enum { LOWEST = 11, HIGHEST = 28, MOST_MOVES = 3 };

/* ---- which operators, and from which opset on ---- */
static const struct Known {
    int since;
    const char *names; /* between spaces */
} known[] = {
    { 1, " Identity Shape Constant Gather Unsqueeze Squeeze Slice Split Concat Reshape Flatten Transpose "
         "Tile Cast Size Add Sub Mul Div Pow Sqrt Reciprocal Neg Abs Exp Log Tanh Sigmoid Relu LeakyRelu "
         "Elu Softplus Clip Min Max Mean Sum Floor Ceil Equal Less Greater And Or Not Xor MatMul Gemm "
         "Softmax LogSoftmax Hardmax ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 "
         "ReduceSumSquare ReduceLogSum ReduceLogSumExp ArgMax ArgMin TopK Pad HardSigmoid Selu PRelu "
         "Softsign Dropout If BatchNormalization " },
    { 7, " Sin Cos " },
    { 8, " Expand " },
    { 9, " ConstantOfShape Where NonZero Erf Sign IsNaN OneHot " },
    { 10, " Mod IsInf QuantizeLinear DequantizeLinear MatMulInteger QLinearMatMul ThresholdedRelu " },
    { 11, " GatherElements GatherND ScatterND ScatterElements Range CumSum Round DynamicQuantizeLinear " },
    { 12, " LessOrEqual GreaterOrEqual Einsum Celu " },
    { 14, " Trilu HardSwish " },
    { 15, " CastLike " },
    { 17, " LayerNormalization " },
    { 18, " Mish " },
    { 20, " Gelu " },
    { 23, " RMSNormalization RotaryEmbedding Attention " },
    { 24, " Swish " },
};

static bool among(const char *names, Str name)
{
    for (const char *at = names; (at = memmem(at, strlen(at), name.p, name.n)); at++)
        if (at[-1] == ' ' && at[name.n] == ' ') return name.n > 0;
    return false;
}

static int since_of(Str op) /* 0: not known */
{
    for (size_t i = 0; i < COUNT(known); i++)
        if (among(known[i].names, op)) return known[i].since;
    return 0;
}

/* ---- what is being converted ---- */
typedef struct Converter {
    Arena *arena;
    const OnnxGraph *graph;      /* its constants are looked up */
    const struct Converter *up;  /* the graph around it */
    OnnxNode *node;              /* what was written so far */
    int n_node, cap_node;
    int64_t from, to;
    int *fresh;                  /* numbers of names made here */
    const char *half;            /* name of a weight of another float type than float, or NULL */
} Converter;

typedef struct Rewrite {         /* one node on its way */
    OnnxNode node;
    OnnxNode after[2];           /* nodes that follow it */
    int n_after;
} Rewrite;

static void emit(Converter *c, OnnxNode node)
{
    if (c->n_node == c->cap_node) {
        int cap = c->cap_node ? c->cap_node * 2 : 64;
        OnnxNode *bigger = ARRAY(c->arena, OnnxNode, cap);
        if (c->n_node) memcpy(bigger, c->node, sizeof *bigger * (size_t)c->n_node);
        c->node = bigger;
        c->cap_node = cap;
    }
    c->node[c->n_node++] = node;
}

static bool opset_refuse(const Converter *c, const OnnxNode *node, Err *err, const char *why)
{
    return fail(err, EF_UNSUPPORTED, "node '%.*s' (%.*s): no way from opset %lld to %lld: %s",
                (int)MIN(node->name.n, 120), node->name.p, STR_ARG(node->op), (long long)c->from,
                (long long)c->to, why);
}

static Str fresh_name(Converter *c, Str base, const char *what)
{
    return str_of(str_format(c->arena, "%.*s/%s@%d", STR_ARG(base), what, (*c->fresh)++));
}

/* ---- attributes ---- */
static OnnxAttr *find_attr(OnnxNode *node, const char *name)
{
    return (OnnxAttr *)onnx_attr(node, name);
}

static void drop_attr(OnnxNode *node, const char *name)
{
    int kept = 0;
    for (int i = 0; i < node->n_attr; i++)
        if (!str_is(node->attr[i].name, name)) node->attr[kept++] = node->attr[i];
    node->n_attr = kept;
}

static OnnxAttr *add_attr(Converter *c, OnnxNode *node, const char *name, AttrType type)
{
    OnnxAttr *bigger = ARRAY(c->arena, OnnxAttr, node->n_attr + 1);
    if (node->n_attr) memcpy(bigger, node->attr, sizeof *bigger * (size_t)node->n_attr);
    node->attr = bigger;
    bigger[node->n_attr] = (OnnxAttr){ .name = str_of(name), .type = type };
    return &bigger[node->n_attr++];
}

static void set_input(Converter *c, OnnxNode *node, int index, Str name)
{
    if (index >= node->n_in) {
        Str *bigger = ARRAY(c->arena, Str, index + 1);
        if (node->n_in) memcpy(bigger, node->in, sizeof *bigger * (size_t)node->n_in);
        node->in = bigger;
        node->n_in = index + 1;
    }
    node->in[index] = name;
}

/* ---- constants ---- */
static Str add_constant(Converter *c, const OnnxNode *node, const char *what, const Tensor *t)
{
    Str name = fresh_name(c, node->n_out ? node->out[0] : node->name, what);
    OnnxNode made = { .op = STR("Constant"), .name = name, .n_out = 1 };
    made.out = ARRAY(c->arena, Str, 1);
    made.out[0] = name;
    OnnxAttr *value = add_attr(c, &made, "value", A_TENSOR);
    value->t = NEW(c->arena, OnnxTensor);
    value->t->t = *t;
    emit(c, made);
    return name;
}

static const Tensor *constant_of(const Converter *c, Str name)
{
    for (; c && name.n; c = c->up) {
        for (int i = 0; i < c->graph->n_init; i++)
            if (str_eq(c->graph->init[i].name, name)) return &c->graph->init[i].t;
        for (int i = 0; i < c->graph->n_node; i++) {
            const OnnxNode *n = &c->graph->node[i];
            const OnnxAttr *a = str_is(n->op, "Constant") ? onnx_attr(n, "value") : NULL;
            if (a && a->type == A_TENSOR && n->n_out && str_eq(n->out[0], name)) return &a->t->t;
        }
    }
    return NULL;
}

/* The same, aligned; weights in a file are not. */
static bool constant_numbers(const Converter *c, Str name, Tensor *out)
{
    const Tensor *t = constant_of(c, name);
    if (!t || !t->data || !dtype_size(t->type)) return false;
    *out = *t;
    out->data = memcpy(arena_raw(c->arena, tensor_bytes(t) + 1), t->data, tensor_bytes(t));
    return true;
}

/* ---- attributes that became inputs ---- */
typedef struct OpsetMove {
    const char *attr;
    int input;
    AttrType type;   /* A_INTS, A_INT (as a list of one) or A_FLOAT (a scalar) */
    bool typed;      /* a float of the type of input 0, whatever that is */
} OpsetMove;

static bool to_input(Converter *c, OnnxNode *node, const OpsetMove *m, Err *err)
{
    OnnxAttr *a = find_attr(node, m->attr);
    if (!a) return true;
    if (a->type != m->type) return opset_refuse(c, node, err, "an attribute has the wrong type");
    if (m->typed && c->half)
        return opset_refuse(c, node, err, "its floats may be of another type than float");
    Tensor t = { .type = m->type == A_FLOAT ? T_F32 : T_I64, .rank = m->type != A_FLOAT };
    t.dim[0] = m->type == A_INTS ? (int64_t)a->n : 1;
    t.data = m->type == A_INTS ? (void *)a->ints : m->type == A_INT ? (void *)&a->i : (void *)&a->f;
    t.data = memcpy(arena_raw(c->arena, tensor_bytes(&t) + 1), t.data, tensor_bytes(&t));
    set_input(c, node, m->input, add_constant(c, node, m->attr, &t));
    drop_attr(node, m->attr);
    return true;
}

static bool to_attr(Converter *c, OnnxNode *node, const OpsetMove *m, Err *err)
{
    Tensor t;
    if (node->n_in <= m->input || !node->in[m->input].n) return true;
    if (!constant_numbers(c, node->in[m->input], &t))
        return opset_refuse(c, node, err, "an input that was an attribute is not a constant");
    const int64_t n = tensor_count(&t);
    if (m->type != A_INTS && n != 1) return opset_refuse(c, node, err, "an input is not one number");
    OnnxAttr *a = add_attr(c, node, m->attr, m->type);
    if (m->type == A_FLOAT) a->f = (float)tensor_get(&t, 0);
    else if (m->type == A_INT) a->i = tensor_get_int(&t, 0);
    a->ints = ARRAY(c->arena, int64_t, n + 1);
    for (int64_t i = 0; m->type == A_INTS && i < n; i++) a->ints[i] = tensor_get_int(&t, i);
    if (m->type == A_INTS) a->n = (size_t)n;
    return true;
}

/* ---- rules with a mind of their own ---- */
static OnnxNode simple_node(Converter *c, const char *op, Str in, Str in2, Str out)
{
    OnnxNode n = { .op = str_of(op), .name = out, .n_in = in2.n ? 2 : 1, .n_out = 1 };
    n.in = ARRAY(c->arena, Str, 2);
    n.out = ARRAY(c->arena, Str, 1);
    n.in[0] = in, n.in[1] = in2, n.out[0] = out;
    return n;
}

/* Before 13 everything from the axis on is one line: flattened, and given its shape back. */
static bool softmax_up(Converter *c, Rewrite *r, Err *err)
{
    OnnxNode *n = &r->node;
    const int64_t axis = onnx_int(n, "axis", 1);
    drop_attr(n, "axis");
    add_attr(c, n, "axis", A_INT)->i = -1;
    if (axis == -1) return true;
    if (n->n_in != 1 || n->n_out != 1) return opset_refuse(c, n, err, "it has other inputs or outputs");
    Str shape = fresh_name(c, n->out[0], "shape"), flat = fresh_name(c, n->out[0], "flat"),
        soft = fresh_name(c, n->out[0], "soft");
    emit(c, simple_node(c, "Shape", n->in[0], (Str){ 0 }, shape));
    OnnxNode flatten = simple_node(c, "Flatten", n->in[0], (Str){ 0 }, flat);
    add_attr(c, &flatten, "axis", A_INT)->i = axis;
    emit(c, flatten);
    r->after[r->n_after++] = simple_node(c, "Reshape", soft, shape, n->out[0]);
    n->in = ARRAY(c->arena, Str, 1), n->out = ARRAY(c->arena, Str, 1);
    n->in[0] = flat, n->out[0] = soft;
    return true;
}

static bool softmax_down(Converter *c, Rewrite *r, Err *err)
{
    OnnxNode *n = &r->node;
    if (onnx_int(n, "axis", -1) != -1) return opset_refuse(c, n, err, "its axis is not the last one");
    drop_attr(n, "axis");
    add_attr(c, n, "axis", A_INT)->i = -1;
    return true;
}

/* ---- operators that did not exist: written out ---- */
static Str step(Converter *c, const char *op, Str a, Str b)
{
    Str out = fresh_name(c, a, op);
    emit(c, simple_node(c, op, a, b, out));
    return out;
}

static Str scalar(Converter *c, const OnnxNode *node, float f)
{
    Tensor t = { .type = T_F32 };
    t.data = memcpy(arena_raw(c->arena, sizeof f), &f, sizeof f);
    return add_constant(c, node, "number", &t);
}

static Str mean_of(Converter *c, Str x)
{
    Str out = fresh_name(c, x, "ReduceMean");
    OnnxNode n = simple_node(c, "ReduceMean", x, (Str){ 0 }, out);
    OnnxAttr *axes = add_attr(c, &n, "axes", A_INTS);
    axes->ints = ARRAY(c->arena, int64_t, 1);
    axes->ints[0] = -1, axes->n = 1;
    emit(c, n);
    return out;
}

/* The node becomes its own last step: a op b. */
static void ends_as(Converter *c, OnnxNode *n, const char *op, Str a, Str b)
{
    Str out = n->out[0], name = n->name;
    *n = simple_node(c, op, a, b, out);
    n->name = name;
}

static bool norm_down(Converter *c, Rewrite *r, Err *err)
{
    OnnxNode *n = &r->node;
    if (onnx_int(n, "axis", -1) != -1 || n->n_out != 1 || n->n_in < 2 || c->half)
        return opset_refuse(c, n, err, "it is not a float norm over the last axis alone");
    bool shifted = n->n_in > 2 && n->in[2].n;
    Str scale = n->in[1], shift = shifted ? n->in[2] : (Str){ 0 };
    Str centered = step(c, "Sub", n->in[0], mean_of(c, n->in[0]));
    Str variance = mean_of(c, step(c, "Mul", centered, centered));
    Str eps = scalar(c, n, onnx_float(n, "epsilon", 1e-5f));
    Str root = step(c, "Sqrt", step(c, "Add", variance, eps), (Str){ 0 });
    Str unit = step(c, "Div", centered, root);
    if (shifted) ends_as(c, n, "Add", step(c, "Mul", unit, scale), shift);
    else ends_as(c, n, "Mul", unit, scale);
    return true;
}

static bool or_equal_down(Converter *c, Rewrite *r, Err *err)
{
    (void)err;
    OnnxNode *n = &r->node;
    const char *strict = str_is(n->op, "LessOrEqual") ? "Less" : "Greater";
    Str apart = step(c, strict, n->in[0], n->in[1]);
    ends_as(c, n, "Or", apart, step(c, "Equal", n->in[0], n->in[1]));
    return true;
}

/* Only a zero in the shape tells the difference. */
static bool reshape_down(Converter *c, Rewrite *r, Err *err)
{
    (void)err;
    Tensor t;
    bool zero = !constant_numbers(c, r->node.n_in > 1 ? r->node.in[1] : (Str){ 0 }, &t);
    for (int64_t i = 0; !zero && i < tensor_count(&t); i++) zero = tensor_get(&t, i) == 0;
    if (!zero) drop_attr(&r->node, "allowzero");
    return true;
}

static Str int_constant(Converter *c, const OnnxNode *node, int64_t i)
{
    Tensor t = { .type = T_I64, .rank = 1, .dim = { 1 } };
    t.data = memcpy(arena_raw(c->arena, sizeof i), &i, sizeof i);
    return add_constant(c, node, "axis", &t);
}

/* A part of a shape: all of it, then a Slice. */
static bool shape_down(Converter *c, Rewrite *r, Err *err)
{
    (void)err;
    OnnxNode *n = &r->node;
    int64_t start = onnx_int(n, "start", 0), end = onnx_int(n, "end", INT64_MAX);
    if (start == 0 && end == INT64_MAX) return true;
    Str in[4] = { step(c, "Shape", n->in[0], (Str){ 0 }), int_constant(c, n, start),
                  int_constant(c, n, end), int_constant(c, n, 0) };
    ends_as(c, n, "Slice", in[0], in[1]);
    for (int i = 2; i < 4; i++) set_input(c, n, i, in[i]);
    return true;
}

static bool gelu_down(Converter *c, Rewrite *r, Err *err)
{
    OnnxNode *n = &r->node;
    Str x = n->in[0], gate;
    if (c->half) return opset_refuse(c, n, err, "its floats may be of another type than float");
    if (str_is(onnx_string(n, "approximate", "none"), "tanh")) {
        Str cube = step(c, "Mul", step(c, "Mul", x, x), x);
        Str sum = step(c, "Add", x, step(c, "Mul", cube, scalar(c, n, 0.044715f)));
        gate = step(c, "Tanh", step(c, "Mul", sum, scalar(c, n, 0.7978845608f)), (Str){ 0 });
    } else {
        gate = step(c, "Erf", step(c, "Mul", x, scalar(c, n, 0.7071067812f)), (Str){ 0 });
    }
    gate = step(c, "Add", gate, scalar(c, n, 1));
    ends_as(c, n, "Mul", step(c, "Mul", x, scalar(c, n, 0.5f)), gate);
    return true;
}

static bool split_up(Converter *c, Rewrite *r, Err *err)
{
    (void)err;
    OnnxNode *n = &r->node;
    if (n->n_in < 2 || !n->in[1].n) add_attr(c, n, "num_outputs", A_INT)->i = n->n_out;
    return true;
}

static bool split_down(Converter *c, Rewrite *r, Err *err)
{
    (void)c, (void)err;
    drop_attr(&r->node, "num_outputs");
    return true;
}

static bool gemm_down(Converter *c, Rewrite *r, Err *err)
{
    return r->node.n_in == 3 || opset_refuse(c, &r->node, err, "input C is absent");
}

static bool dropout_down(Converter *c, Rewrite *r, Err *err)
{
    Tensor t;
    OnnxNode *n = &r->node;
    if (n->n_in < 3 || !n->in[2].n) return true;
    if (!constant_numbers(c, n->in[2], &t) || tensor_count(&t) != 1 || tensor_get(&t, 0) != 0)
        return opset_refuse(c, n, err, "training_mode is not the constant false");
    return true;
}

static bool batch_norm_up(Converter *c, Rewrite *r, Err *err)
{
    return r->node.n_out == 1 || opset_refuse(c, &r->node, err, "it has the outputs of training");
}

static bool reduction_down(Converter *c, Rewrite *r, Err *err)
{
    Str how = onnx_string(&r->node, "reduction", "none");
    return (!str_is(how, "min") && !str_is(how, "max")) ||
           opset_refuse(c, &r->node, err, "reduction min and max came later");
}

/* ---- the rows ---- */
typedef struct Change {
    const char *ops;             /* between spaces */
    int at;                      /* the opset that changed them */
    OpsetMove move[MOST_MOVES];       /* attributes that became inputs */
    int inputs;                  /* moves: inputs that stay when going down */
    const char *added;           /* "name=default ...": attributes that appeared */
    bool (*up)(Converter *, Rewrite *, Err *);
    bool (*down)(Converter *, Rewrite *, Err *);
} Change;

#define AXES { { "axes", 1, A_INTS } }, 1
static const Change changes[] = {
    { " Slice ", 10, { { "starts", 1, A_INTS }, { "ends", 2, A_INTS }, { "axes", 3, A_INTS } }, 1 },
    { " TopK ", 10, { { "k", 1, A_INT } }, 1 },
    { " TopK ", 11, .added = "largest=1 sorted=1" },
    { " Clip ", 11, { { "min", 1, A_FLOAT, true }, { "max", 2, A_FLOAT, true } }, 1 },
    { " Pad ", 11, { { "pads", 1, A_INTS }, { "value", 2, A_FLOAT, true } }, 1 },
    { " Gemm ", 11, .down = gemm_down },
    { " LessOrEqual GreaterOrEqual ", 12, .down = or_equal_down },
    { " GatherND ", 12, .added = "batch_dims=0" },
    { " ArgMax ArgMin ", 12, .added = "select_last_index=0" },
    { " Dropout ", 12, { { "ratio", 1, A_FLOAT } }, 1, "seed=0", .down = dropout_down },
    { " Squeeze Unsqueeze ", 13, AXES },
    { " ReduceSum ", 13, AXES, "noop_with_empty_axes=0" },
    { " Split ", 13, { { "split", 1, A_INTS } }, 1 },
    { " Softmax LogSoftmax Hardmax ", 13, .up = softmax_up, .down = softmax_down },
    { " QuantizeLinear DequantizeLinear ", 13, .added = "axis=1" },
    { " Reshape ", 14, .added = "allowzero=0", .down = reshape_down },
    { " BatchNormalization ", 14, .added = "training_mode=0", .up = batch_norm_up },
    { " Shape ", 15, .added = "start=0 end=9223372036854775807", .down = shape_down },
    { " ScatterND ScatterElements ", 16, .added = "reduction=none" },
    { " LayerNormalization ", 17, .down = norm_down },
    { " ScatterND ScatterElements ", 18, .down = reduction_down },
    { " ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum "
      "ReduceLogSumExp ", 18, AXES, "noop_with_empty_axes=0" },
    { " Split ", 18, .up = split_up, .down = split_down },
    { " Cast CastLike QuantizeLinear ", 19, .added = "saturate=1" },
    { " Gelu ", 20, .down = gelu_down },
    { " QuantizeLinear DequantizeLinear ", 21, .added = "block_size=0 output_dtype=0" },
    { " QuantizeLinear ", 23, .added = "precision=0" },
    { " DequantizeLinear ", 23, .added = "output_dtype=0" },
    { " Cast CastLike ", 24, .added = "round_mode=up" },
    { " Attention ", 24, .added = "" },
    { " Attention ", 25, .added = "left_window_size=-1 right_window_size=-1" },
};

/* Drops attributes that only say what is meant anyway; false: one says something else. */
static bool drop_added(Converter *c, OnnxNode *node, const char *added, Err *err)
{
    for (const char *at = added; at && *at;) {
        const char *equals = strchr(at, '='), *end = strchr(equals, ' ');
        Str name = { at, (size_t)(equals - at) }, value = str_of(equals + 1);
        if (end) value.n = (size_t)(end - equals - 1);
        const char *text = str_dup(c->arena, name);
        const OnnxAttr *a = onnx_attr(node, text);
        int64_t number;
        bool same = a && (a->type == A_STRING ? str_eq(a->s, value)
                                              : a->type == A_INT && str_int(value, &number) &&
                                                    a->i == number);
        if (a && !same)
            return opset_refuse(c, node, err, str_format(c->arena, "attribute %s came later", text));
        drop_attr(node, text);
        at = end ? end + 1 : NULL;
    }
    return true;
}

static bool cross_up(Converter *c, Rewrite *r, const Change *change, Err *err)
{
    for (int i = 0; i < MOST_MOVES && change->move[i].attr; i++)
        if (!to_input(c, &r->node, &change->move[i], err)) return false;
    return !change->up || change->up(c, r, err);
}

static bool cross_down(Converter *c, Rewrite *r, const Change *change, Err *err)
{
    if (change->down && !change->down(c, r, err)) return false;
    if (!drop_added(c, &r->node, change->added, err)) return false;
    for (int i = 0; i < MOST_MOVES && change->move[i].attr; i++)
        if (!to_attr(c, &r->node, &change->move[i], err)) return false;
    if (change->inputs) r->node.n_in = MIN(r->node.n_in, change->inputs);
    return true;
}

static bool cross(Converter *c, Rewrite *r, int version, Err *err)
{
    for (size_t i = 0; i < COUNT(changes); i++) {
        if (changes[i].at != version || !among(changes[i].ops, r->node.op)) continue;
        if (!(c->to > c->from ? cross_up : cross_down)(c, r, &changes[i], err)) return false;
    }
    return true;
}

static bool has_way_down(Str op, int since)
{
    for (size_t i = 0; i < COUNT(changes); i++)
        if (changes[i].at == since && changes[i].down && among(changes[i].ops, op)) return true;
    return false;
}

/* ---- walking ---- */
static bool convert_graph(Converter *c, OnnxGraph *g, Err *err);

static bool convert_branches(Converter *c, OnnxNode *node, Err *err)
{
    for (int i = 0; i < node->n_attr; i++) {
        if (node->attr[i].type != A_GRAPH) continue;
        Converter inner = { .arena = c->arena, .up = c, .from = c->from, .to = c->to,
                            .fresh = c->fresh, .half = c->half };
        if (!convert_graph(&inner, node->attr[i].g, err)) return false;
    }
    return true;
}

static bool convert_node(Converter *c, const OnnxNode *from, Err *err)
{
    Rewrite r = { .node = *from };
    OnnxNode *n = &r.node;
    if (n->domain.n == 0) {
        const int since = since_of(n->op);
        if (!since) return opset_refuse(c, n, err, "there are no rules for this operator");
        if (since > c->to && !has_way_down(n->op, since))
            return opset_refuse(c, n, err, "there is no such operator yet");
        n->attr = ARRAY(c->arena, OnnxAttr, n->n_attr);
        if (n->n_attr) memcpy(n->attr, from->attr, sizeof *n->attr * (size_t)n->n_attr);
        n->in = ARRAY(c->arena, Str, n->n_in);
        if (n->n_in) memcpy(n->in, from->in, sizeof *n->in * (size_t)n->n_in);
        for (int v = (int)c->from + 1; v <= c->to; v++)
            if (!cross(c, &r, v, err)) return false;
        for (int v = (int)c->from; v > c->to; v--)
            if (!cross(c, &r, v, err)) return false;
    }
    if (!convert_branches(c, n, err)) return false;
    emit(c, *n);
    for (int i = 0; i < r.n_after; i++) emit(c, r.after[i]);
    return true;
}

static bool convert_graph(Converter *c, OnnxGraph *g, Err *err)
{
    OnnxGraph *before = NEW(c->arena, OnnxGraph);
    *before = *g;
    c->graph = before;
    for (int i = 0; i < before->n_node; i++)
        if (!convert_node(c, &before->node[i], err)) return false;
    g->node = c->node;
    g->n_node = c->n_node;
    return true;
}

/* The version of ai.onnx among imports, to be changed in place; NULL: none. */
static OnnxOpset *standard(OnnxOpset *opset, int n)
{
    for (int i = 0; i < n; i++)
        if (opset[i].domain.n == 0) return &opset[i];
    return NULL;
}

static const char *other_float(const OnnxModel *m)
{
    for (int i = 0; i < m->graph.n_init; i++) {
        DType type = m->graph.init[i].t.type;
        if (type == T_F16 || type == T_F64 || type == T_BF16) return m->graph.init[i].name.p;
    }
    return NULL;
}

static bool convert_part(Arena *arena, OnnxModel *m, OnnxOpset *said, OnnxGraph *g, int64_t to,
                         int *fresh, Err *err)
{
    if (!said) return true;
    Converter c = { .arena = arena, .from = said->version, .to = to, .fresh = fresh,
                    .half = other_float(m) };
    if (c.from < 7 || c.from > HIGHEST)
        return fail(err, EF_UNSUPPORTED, "opset: found %lld, wanted 7 to %d to convert from",
                    (long long)c.from, HIGHEST);
    if (!convert_graph(&c, g, err)) return false;
    said->version = to;
    return true;
}

bool onnx_change_opset(Arena *arena, OnnxModel *m, int64_t to, Err *err)
{
    int fresh = 0;
    m->graph.n_info = 0;
    if (to < LOWEST || to > HIGHEST)
        return fail(err, EF_UNSUPPORTED, "opset: found %lld, wanted %d to %d", (long long)to,
                    LOWEST, HIGHEST);
    for (int i = 0; i < m->n_function; i++) {
        OnnxFunction *f = &m->function[i];
        if (!convert_part(arena, m, standard(f->opset, f->n_opset), &f->body, to, &fresh, err))
            return within(err, "function '%.*s'", STR_ARG(f->name));
    }
    return convert_part(arena, m, standard(m->opset, m->n_opset), &m->graph, to, &fresh, err);
}

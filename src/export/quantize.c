/* SPDX-License-Identifier: Apache-2.0
 * quantize.c - which weights can be made smaller, and the nodes that then stand for their readers.
 * A weight is taken only if every reader is of a kind that is known here. */
#include "quantize.h"

#include "hf_metadata.h"
#include "quantize_plan.h"

enum {
    SMALL = 256,      /* weights with fewer numbers stay */
    FEW_ROWS = 8,
    LEAST_OPSET = 11, /* has DynamicQuantizeLinear */
    BFLOAT_OPSET = 13,
};
static const uint64_t MOST_INSIDE = (uint64_t)2000 << 20; /* protobuf ends at 2 GiB */

const QuantizeTarget quantize_targets[] = {
    { "avx512_vnni", T_I8, false },
    { "avx512", T_I8, true },
    { "avx2", T_U8, true },
    { "arm64", T_I8, false },
    { 0 },
};
const char *const quantize_target_names[] = { "avx512_vnni", "avx512", "avx2", "arm64", NULL };

const QuantizeTarget *quantize_target(const char *name)
{
    for (const QuantizeTarget *t = quantize_targets; t->name; t++)
        if (strcmp(t->name, name) == 0) return t;
    return NULL;
}

/* ---- who reads a weight ---- */
typedef enum {
    READ_NONE = 0,
    READ_PRODUCT = 1, /* second factor of a MatMul or Gemm, [in, out] */
    READ_LINEAR = 2,  /* of a Gemm that turns it, [out, in] */
    READ_ROWS = 4,    /* Gather or Slice along the first axis */
    READ_TURNED = 8,  /* Transpose, and then READ_PRODUCT */
    READ_OTHER = 16,
    READ_AWAY = 32,   /* inside a subgraph, or as an output: nothing can stand before that */
} WeightReader;

typedef struct QuantizedWeight {
    const OnnxTensor *init;
    int readers;            /* WeightReaders, or-ed */
    Str bytes, scale, zero; /* names of what it becomes; bytes empty: it stays */
} QuantizedWeight;

typedef struct QuantizeRewrite {
    Quantize *q;
    const OnnxModel *from;
    Arena *arena;
    Map weights;            /* name to QuantizedWeight */
    Map turned;             /* name of a Transpose's result to its QuantizedWeight */
    Map dynamic;            /* name of a float value to its quantized OnnxNode */
    Map makers;             /* name of a value to its node */
    OnnxGraph *to;
    int node_room, init_room;
} QuantizeRewrite;

static bool is_plain_gemm(const OnnxNode *n)
{
    return onnx_float(n, "alpha", 1) == 1 && onnx_float(n, "beta", 1) == 1 &&
           !onnx_int(n, "transA", 0);
}

static const OnnxTensor *find_init(const OnnxGraph *g, Str name)
{
    for (int i = 0; i < g->n_init; i++)
        if (str_eq(g->init[i].name, name)) return &g->init[i];
    return NULL;
}

/* Along the first axis alone. */
static bool slices_rows(const QuantizeRewrite *w, const OnnxNode *n)
{
    int64_t axis = -1;
    const OnnxTensor *axes = n->n_in > 3 ? find_init(&w->from->graph, n->in[3]) : NULL;
    if (!axes || !axes->t.data || axes->t.type != T_I64 || tensor_count(&axes->t) != 1) return false;
    memcpy(&axis, axes->t.data, sizeof axis);
    return axis == 0;
}

static bool is_turn(const OnnxNode *n)
{
    size_t count = 0;
    const int64_t *perm = onnx_ints(n, "perm", &count);
    return !perm || (count == 2 && perm[0] == 1);
}

/* What node n is to the weight that is its input k. */
static WeightReader quantize_reader_of(const QuantizeRewrite *w, const OnnxNode *n, int k)
{
    if (n->domain.n || !n->in[0].n) return READ_OTHER;
    if (str_is(n->op, "MatMul") && k == 1) return READ_PRODUCT;
    if (str_is(n->op, "Gemm") && k == 1 && is_plain_gemm(n))
        return onnx_int(n, "transB", 0) ? READ_LINEAR : READ_PRODUCT;
    if (str_is(n->op, "Gather") && k == 0 && onnx_int(n, "axis", 0) == 0) return READ_ROWS;
    if (str_is(n->op, "Slice") && k == 0 && slices_rows(w, n)) return READ_ROWS;
    if (str_is(n->op, "Transpose") && is_turn(n)) return READ_TURNED;
    return READ_OTHER;
}

static void note_readers(QuantizeRewrite *w, const OnnxGraph *g, bool inner)
{
    for (int i = 0; i < g->n_node; i++) {
        const OnnxNode *n = &g->node[i];
        for (int k = 0; k < n->n_in; k++) {
            QuantizedWeight *weight = map_get(&w->weights, n->in[k]);
            QuantizedWeight *turned = map_get(&w->turned, n->in[k]);
            WeightReader reader = inner || n->n_out != 1 ? READ_AWAY : quantize_reader_of(w, n, k);
            if (weight) weight->readers |= reader;
            if (weight && reader == READ_TURNED) map_put(&w->turned, w->arena, n->out[0], weight);
            if (turned && reader != READ_PRODUCT) turned->readers |= READ_OTHER;
        }
        for (int k = 0; k < n->n_attr; k++)
            for (size_t j = 0; n->attr[k].g && j < (n->attr[k].type == A_GRAPH ? 1 : n->attr[k].n);
                 j++)
                note_readers(w, &n->attr[k].g[j], true);
    }
    for (int i = 0; i < g->n_out; i++) {
        QuantizedWeight *weight = map_get(&w->weights, g->out[i].name);
        QuantizedWeight *turned = map_get(&w->turned, g->out[i].name);
        if (weight) weight->readers |= READ_AWAY;
        if (turned) turned->readers |= READ_AWAY;
    }
}

static void note_weights(QuantizeRewrite *w)
{
    const OnnxGraph *g = &w->from->graph;
    for (int i = 0; i < g->n_init; i++) {
        const OnnxTensor *t = &g->init[i];
        w->q->before += tensor_bytes(&t->t);
        bool fits = t->t.type == T_F32 && t->t.data && tensor_count(&t->t) >= SMALL;
        if (!fits || (w->q->target && t->t.rank != 2)) continue;
        QuantizedWeight *weight = NEW(w->arena, QuantizedWeight);
        weight->init = t;
        map_put(&w->weights, w->arena, t->name, weight);
    }
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_out; k++)
            map_put(&w->makers, w->arena, g->node[i].out[k], &g->node[i]);
    for (int pass = 0; pass < 2; pass++) note_readers(w, g, false); /* a Transpose may stand late */
}

/* ---- the new graph ---- */
static void *quantize_grow(QuantizeRewrite *w, void *old, int used, int *room, size_t size)
{
    if (used < *room) return old;
    *room = MAX(*room * 2, 256);
    void *p = arena_alloc(w->arena, (size_t)*room * size);
    if (used) memcpy(p, old, (size_t)used * size);
    return p;
}

static OnnxTensor *quantize_add_init(QuantizeRewrite *w, OnnxTensor t, QuantizeSource source)
{
    OnnxGraph *g = w->to;
    int room = w->init_room;
    g->init = quantize_grow(w, g->init, g->n_init, &room, sizeof *g->init);
    w->q->source = quantize_grow(w, w->q->source, g->n_init, &w->init_room, sizeof *w->q->source);
    w->q->source[g->n_init] = source;
    t.location = (Str){ 0 };
    g->init[g->n_init] = t;
    w->q->after += tensor_bytes(&t.t);
    return &g->init[g->n_init++];
}

static OnnxNode *quantize_add_node(QuantizeRewrite *w, OnnxNode node)
{
    OnnxGraph *g = w->to;
    g->node = quantize_grow(w, g->node, g->n_node, &w->node_room, sizeof *g->node);
    g->node[g->n_node] = node;
    return &g->node[g->n_node++];
}

static Str quantize_name(QuantizeRewrite *w, Str stem, const char *tail)
{
    return str_of(str_format(w->arena, "%.*s%s", STR_ARG(stem), tail));
}

/* A node of its own beside `of`: the same place in the hierarchy. */
static Str quantize_emit_node(QuantizeRewrite *w, const char *op, const OnnxNode *of,
                              const char *tail, const Str *in, int n_in, Str out)
{
    OnnxNode n = { .op = str_of(op), .n_in = n_in, .n_out = 1 };
    Str stem = of->name.n ? of->name : of->out[0];
    n.name = quantize_name(w, stem, tail);
    n.in = ARRAY(w->arena, Str, n_in), n.out = ARRAY(w->arena, Str, 1);
    memcpy(n.in, in, sizeof *in * (size_t)n_in);
    n.out[0] = out.n ? out : quantize_name(w, n.name, "_output_0");
    n.meta = of->meta, n.n_meta = of->n_meta;
    quantize_add_node(w, n);
    return n.out[0];
}
#define EMIT(w, op, of, tail, out, ...)                                             \
    quantize_emit_node(w, op, of, tail, (const Str[]){ __VA_ARGS__ },               \
                       (int)(sizeof((const Str[]){ __VA_ARGS__ }) / sizeof(Str)), out)

static Str to_float(QuantizeRewrite *w, const OnnxNode *of, const char *tail, Str x)
{
    Str y = EMIT(w, "Cast", of, tail, (Str){ 0 }, x);
    OnnxNode *n = &w->to->node[w->to->n_node - 1];
    n->attr = NEW(w->arena, OnnxAttr), n->n_attr = 1;
    *n->attr = (OnnxAttr){ .name = STR("to"), .type = A_INT, .i = T_F32 };
    return y;
}

/* x as bytes, made once however many read it: outputs are bytes, scale, zero point. */
static const OnnxNode *quantize_dynamic_input(QuantizeRewrite *w, const OnnxNode *reader, Str x)
{
    OnnxNode *known = map_get(&w->dynamic, x);
    if (known) return known;
    const OnnxNode *maker = map_get(&w->makers, x);
    OnnxNode *n = NEW(w->arena, OnnxNode);
    *n = (OnnxNode){ .op = STR("DynamicQuantizeLinear"), .n_in = 1, .n_out = 3 };
    n->name = quantize_name(w, x, "_QuantizeLinear");
    n->in = ARRAY(w->arena, Str, 1), n->out = ARRAY(w->arena, Str, 3);
    n->in[0] = x;
    n->out[0] = quantize_name(w, x, "_quantized");
    n->out[1] = quantize_name(w, x, "_scale"), n->out[2] = quantize_name(w, x, "_zero_point");
    n->meta = (maker ? maker : reader)->meta, n->n_meta = (maker ? maker : reader)->n_meta;
    quantize_add_node(w, *n);
    map_put(&w->dynamic, w->arena, x, n);
    return n;
}

static void quantize_emit_product(QuantizeRewrite *w, const OnnxNode *n,
                                  const QuantizedWeight *weight, Str bytes)
{
    const OnnxNode *x = quantize_dynamic_input(w, n, n->in[0]);
    bool added = str_is(n->op, "Gemm") && n->n_in > 2 && n->in[2].n;
    Str sum = weight->zero.n
                  ? EMIT(w, "MatMulInteger", n, "_quant", (Str){ 0 }, x->out[0], bytes, x->out[2],
                         weight->zero)
                  : EMIT(w, "MatMulInteger", n, "_quant", (Str){ 0 }, x->out[0], bytes, x->out[2]);
    sum = to_float(w, n, "_quant_cast", sum);
    Str scale = EMIT(w, "Mul", n, "_quant_scales_mul", (Str){ 0 }, x->out[1], weight->scale);
    Str y = EMIT(w, "Mul", n, "_quant_output_scale_mul", added ? (Str){ 0 } : n->out[0], sum,
                 scale);
    if (added) EMIT(w, "Add", n, "_quant_bias", n->out[0], y, n->in[2]);
    w->q->products++;
}

/* The same node over bytes and over scales. */
static Str quantize_emit_again(QuantizeRewrite *w, const OnnxNode *n, const char *tail, Str data)
{
    OnnxNode copy = *n;
    copy.name = quantize_name(w, n->name.n ? n->name : n->out[0], tail);
    copy.in = ARRAY(w->arena, Str, n->n_in), copy.out = ARRAY(w->arena, Str, 1);
    memcpy(copy.in, n->in, sizeof *n->in * (size_t)n->n_in);
    copy.in[0] = data;
    copy.out[0] = quantize_name(w, copy.name, "_output_0");
    quantize_add_node(w, copy);
    return copy.out[0];
}

static void quantize_rewrite_rows(QuantizeRewrite *w, const OnnxNode *n,
                                  const QuantizedWeight *weight)
{
    Str bytes = quantize_emit_again(w, n, "_quant", weight->bytes);
    Str x = to_float(w, n, "_quant_cast", bytes);
    Str scale = quantize_emit_again(w, n, "_quant_scale",
                                    quantize_name(w, weight->init->name, "_row_scale"));
    EMIT(w, "Mul", n, "_quant_scale_mul", n->out[0], x, scale);
    w->q->tables++;
}

static void quantize_rewrite_turn(QuantizeRewrite *w, const OnnxNode *n,
                                  const QuantizedWeight *weight)
{
    OnnxNode copy = *n;
    copy.in = ARRAY(w->arena, Str, 1), copy.out = ARRAY(w->arena, Str, 1);
    copy.n_in = 1, copy.in[0] = weight->bytes,
    copy.out[0] = quantize_name(w, n->out[0], "_quantized");
    quantize_add_node(w, copy);
}

static void rewrite_node(QuantizeRewrite *w, const OnnxNode *n)
{
    const QuantizedWeight *second = n->n_in > 1 ? map_get(&w->weights, n->in[1]) : NULL;
    const QuantizedWeight *turned = n->n_in > 1 ? map_get(&w->turned, n->in[1]) : NULL;
    const QuantizedWeight *first = n->n_in ? map_get(&w->weights, n->in[0]) : NULL;
    if (second && second->bytes.n) quantize_emit_product(w, n, second, second->bytes);
    else if (turned && turned->bytes.n)
        quantize_emit_product(w, n, turned, quantize_name(w, n->in[1], "_quantized"));
    else if (first && first->bytes.n && str_is(n->op, "Transpose"))
        quantize_rewrite_turn(w, n, first);
    else if (first && first->bytes.n) quantize_rewrite_rows(w, n, first);
    else quantize_add_node(w, *n);
}

static void quantize_add_row(QuantizeRewrite *w, Str name, DType type, int64_t n, int64_t columns,
                             const void *data)
{
    OnnxTensor t = { .name = name };
    t.t = (Tensor){ .type = type, .rank = columns ? 2 : 1, .dim = { n, columns } };
    t.t.data = (void *)data;
    quantize_add_init(w, t, (QuantizeSource){ 0 });
}

/* How many bytes there are: 7 bits where the target asks for it and products are made. */
static QuantizeSource plan_bytes(const QuantizeRewrite *w, const QuantizedWeight *weight)
{
    bool by_rows = weight->readers & (READ_ROWS | READ_TURNED);
    bool reduce = w->q->target->reduce_range && (weight->readers & ~READ_ROWS);
    QuantizeSource s = { .from = weight->init, .axis = by_rows ? AXIS_ROWS : AXIS_COLUMNS };
    if (weight->readers == READ_LINEAR) s.axis = AXIS_ROWS, s.turned = true;
    if (!by_rows && w->q->target->weights == T_U8) s.most = reduce ? 127 : 255;
    else s.most = reduce ? 64 : 127, s.least = -s.most;
    return s;
}

/* One weight to bytes, scales and (where they are unsigned) zero points. */
static bool quantize_weight(QuantizeRewrite *w, QuantizedWeight *weight, Err *err)
{
    const OnnxTensor *from = weight->init;
    QuantizeSource s = plan_bytes(w, weight);
    if (!quantize_scales(w->arena, &s, err)) return false;
    OnnxTensor t = { .name = quantize_name(w, from->name, "_quantized") };
    t.t = (Tensor){ .type = s.zero ? T_U8 : T_I8, .rank = 2,
                    .dim = { from->t.dim[s.turned], from->t.dim[!s.turned] } };
    int64_t n = from->t.dim[s.axis == AXIS_COLUMNS];
    weight->bytes = quantize_add_init(w, t, s)->name;
    weight->scale = quantize_name(w, from->name, "_scale");
    if (weight->readers & ~READ_ROWS) quantize_add_row(w, weight->scale, T_F32, n, 0, s.scale);
    if (weight->readers & READ_ROWS)
        quantize_add_row(w, quantize_name(w, from->name, "_row_scale"), T_F32, n, 1, s.scale);
    if (!s.zero) return true;
    weight->zero = quantize_name(w, from->name, "_zero_point");
    quantize_add_row(w, weight->zero, T_U8, n, 0, s.zero);
    return true;
}

/* Rows and columns cannot share one set of scales; and where a table has few rows, every token meets
 * the same error, which then does not average out. */
static bool can_shrink(const QuantizedWeight *weight)
{
    int r = weight->readers;
    if (r == READ_ROWS && weight->init->t.dim[0] < FEW_ROWS) return false;
    return r && (r == READ_PRODUCT || r == READ_LINEAR || !(r & ~(READ_ROWS | READ_TURNED)));
}

static uint64_t init_bytes(const OnnxGraph *g)
{
    uint64_t sum = 0;
    for (int i = 0; i < g->n_init; i++) sum += tensor_bytes(&g->init[i].t);
    return sum;
}

static bool to_int8(QuantizeRewrite *w, Err *err)
{
    const OnnxGraph *g = &w->from->graph;
    note_weights(w);
    progress_start(&w->q->progress, "quantizing", init_bytes(g));
    for (int i = 0; i < g->n_init; i++) {
        QuantizedWeight *weight = map_get(&w->weights, g->init[i].name);
        if (!weight || !can_shrink(weight)) quantize_add_init(w, g->init[i], (QuantizeSource){ 0 });
        else if (!quantize_weight(w, weight, err)) return false;
        if (!progress_at(&w->q->progress, w->q->scaled += tensor_bytes(&g->init[i].t), err)) return false;
    }
    progress_end(&w->q->progress);
    for (int i = 0; i < g->n_node; i++) rewrite_node(w, &g->node[i]);
    return true;
}

/* ---- half precision ---- */
static void add_half(QuantizeRewrite *w, QuantizedWeight *weight)
{
    OnnxTensor t = *weight->init;
    t.name = quantize_name(w, t.name, w->q->half == T_F16 ? "_fp16" : "_bf16");
    t.t.type = w->q->half, t.t.data = NULL;
    quantize_add_init(w, t, (QuantizeSource){ .from = weight->init });
    weight->bytes = t.name;
}

/* Before its first reader, and in that one's place of the hierarchy. */
static void widen_inputs(QuantizeRewrite *w, const OnnxNode *n)
{
    for (int k = 0; k < n->n_in; k++) {
        QuantizedWeight *weight = map_get(&w->weights, n->in[k]);
        if (!weight || !weight->bytes.n) continue;
        to_float(w, n, str_format(w->arena, "_widen_%d", k), weight->bytes);
        w->to->node[w->to->n_node - 1].out[0] = weight->init->name;
        weight->bytes = (Str){ 0 };
        w->q->tables++;
    }
}

static bool to_half(QuantizeRewrite *w, Err *err)
{
    const OnnxGraph *g = &w->from->graph;
    (void)err;
    note_weights(w);
    for (int i = 0; i < g->n_init; i++) {
        QuantizedWeight *weight = map_get(&w->weights, g->init[i].name);
        bool fits = weight && weight->readers && !(weight->readers & READ_AWAY);
        if (fits) add_half(w, weight);
        else quantize_add_init(w, g->init[i], (QuantizeSource){ 0 });
    }
    for (int i = 0; i < g->n_node; i++) {
        widen_inputs(w, &g->node[i]);
        quantize_add_node(w, g->node[i]);
    }
    return true;
}

/* Before IR 4 every weight was an input too. */
static void drop_inputs(QuantizeRewrite *w)
{
    OnnxGraph *g = w->to;
    OnnxValue *in = ARRAY(w->arena, OnnxValue, g->n_in + 1);
    int n = 0;
    for (int i = 0; i < g->n_in; i++)
        if (!find_init(&w->from->graph, g->in[i].name)) in[n++] = g->in[i];
    g->in = in, g->n_in = n;
    w->q->model.ir_version = MAX(w->q->model.ir_version, 4);
}

static bool quantize_check_model(const OnnxModel *m, DType half, Err *err)
{
    int64_t least = half == T_BF16 ? BFLOAT_OPSET : LEAST_OPSET, found = onnx_opset(m);
    if (found < least)
        return fail(err, EF_UNSUPPORTED, "opset: found %lld, wanted %lld or later (onnx convert "
                    "--opset 17)", (long long)found, (long long)least);
    for (int i = 0; i < m->graph.n_init; i++) {
        const OnnxTensor *t = &m->graph.init[i];
        if (!dtype_size(t->t.type) || (!t->t.data && tensor_bytes(&t->t)))
            return fail(err, EF_UNSUPPORTED, "constant '%.*s': type %s cannot be written",
                        STR_ARG(t->name), dtype_name(t->t.type));
    }
    for (int i = 0; i < m->graph.n_node; i++)
        if (str_is(m->graph.node[i].op, "MatMulInteger"))
            return fail(err, EF_INVALID_INPUT, "the model is quantized already");
    return true;
}

static bool quantize_convolves(const OnnxModel *m)
{
    for (int i = 0; i < m->graph.n_node; i++)
        if (str_is(m->graph.node[i].op, "Conv")) return true;
    return false;
}

bool quantize_model(Quantize *q, const OnnxModel *from, Err *err)
{
    QuantizeRewrite w = { .q = q, .from = from, .arena = q->arena, .to = &q->model.graph };
    if (!quantize_check_model(from, q->half, err)) return false;
    q->model = *from;
    w.to->node = NULL, w.to->init = NULL;
    w.to->n_node = w.to->n_init = 0;
    if (!(q->target ? to_int8 : to_half)(&w, err)) return false;
    drop_inputs(&w);
    q->model.producer = STR("encoderfile"), q->model.producer_version = STR(EF_VERSION);
    hf_metadata_refresh(q->arena, &q->model);
    if (!q->products && !q->tables)
        return fail(err, EF_UNSUPPORTED, "no float weight is multiplied with or looked up in%s",
                    !quantize_convolves(from) ? "" :
                    "; convolutions stay in fp32 here: `build --precision int8` takes them, too");
    return q->after <= MOST_INSIDE ||
           fail(err, EF_TOO_LARGE, "found %llu bytes of weights after quantizing, wanted less than "
                "2 GiB", (unsigned long long)q->after);
}

bool quantize_write(Quantize *q, const char *path, uint64_t *size, Err *err)
{
    FileWriter to;
    if (!dir_make_parents(path, err) || !writer_open(&to, q->arena, path, 0644, err)) return false;
    to.copy = true; /* of a model that stays */
    progress_start(&q->progress, "writing", init_bytes(&q->model.graph));
    bool ok = onnx_write_file(&to, &q->model, quantize_pour, q, err);
    progress_end(&q->progress);
    *size = to.written;
    if (ok) return writer_commit(&to, err);
    writer_abort(&to);
    return false;
}

/* ---- ort_config.json ---- */
static Value describe_int8(const Quantize *q)
{
    Value v = value_map(q->arena, 20), ops = value_list(q->arena, 3), axis = value_map(q->arena, 1);
    bool is_unsigned = q->target->weights == T_U8;
    ops.list.items[0] = value_of_text("MatMul"), ops.list.items[1] = value_of_text("Gemm");
    ops.list.items[2] = value_of_text("Gather");
    value_add(&axis, "MatMul", value_of_int(1));
    value_add(&v, "is_static", value_of_bool(false));
    value_add(&v, "format", value_of_text("QOperator"));
    value_add(&v, "mode", value_of_text("IntegerOps"));
    value_add(&v, "activations_dtype", value_of_text("QUInt8"));
    value_add(&v, "activations_symmetric", value_of_bool(false));
    value_add(&v, "weights_dtype", value_of_text(is_unsigned ? "QUInt8" : "QInt8"));
    value_add(&v, "weights_symmetric", value_of_bool(!is_unsigned));
    value_add(&v, "per_channel", value_of_bool(true));
    value_add(&v, "reduce_range", value_of_bool(q->target->reduce_range));
    value_add(&v, "nodes_to_quantize", value_list(q->arena, 0));
    value_add(&v, "nodes_to_exclude", value_list(q->arena, 0));
    value_add(&v, "operators_to_quantize", ops);
    value_add(&v, "qdq_add_pair_to_weight", value_of_bool(false));
    value_add(&v, "qdq_dedicated_pair", value_of_bool(false));
    value_add(&v, "qdq_op_type_per_channel_support_to_axis", axis);
    return v;
}

Value quantize_describe(const Quantize *q)
{
    Value v = value_map(q->arena, 8), none = value_map(q->arena, 0);
    value_add(&v, "one_external_file", value_of_bool(true));
    value_add(&v, "opset", value_of_int(onnx_opset(&q->model)));
    value_add(&v, "optimization", none);
    value_add(&v, "quantization", q->target ? describe_int8(q) : none);
    value_add(&v, "use_external_data_format", value_of_bool(false));
    return v;
}

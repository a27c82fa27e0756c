/* SPDX-License-Identifier: Apache-2.0
 * graph_case.h - small graphs written row by row, run through one pass and compared with themselves.
 *
 *   tokens(c, 8);                               input_ids, attention_mask; x [B, S, 8] by input_ids
 *   node(c, "ReduceMean axes=-1,", "x", "mean");
 *   node(c, "Sub", "x mean", "centered");       attributes: 1 an int, 1.0 a float, 1,2 ints, else a string
 *   output(c, "centered");
 *
 * What a node reads: a name; 0.5 (a float), 3 (an int64) or [1,-1] (int64s), each a constant; w:8x16 and
 * from there on w, a constant of random numbers; _ is absent. "com.microsoft:FastGelu": another domain. */
#ifndef GRAPH_CASE_H
#define GRAPH_CASE_H
#include "check.h"
#include "engine/engine.h"

enum { CASE_ROWS = 160, CASE_WORDS = 16, CASE_IDS = 29 };

typedef struct GraphCase {
    Arena arena;
    OnnxModel model;
    OnnxGraph *to; /* where rows go: the graph itself, or a branch */
    uint32_t seed;
    int serial;
    Err err;
} GraphCase;

typedef bool Pass(Graph *, Err *);

/* ---- words ---- */
static inline Str case_text(GraphCase *c, const char *p, size_t n)
{
    Str text = { p, n };
    return str_of(str_dup(&c->arena, text));
}

static inline int case_split(GraphCase *c, const char *text, Str *words)
{
    int n = 0;
    for (const char *p = text + strspn(text, " "); *p && n < CASE_WORDS; p += strspn(p, " ")) {
        size_t length = strcspn(p, " ");
        words[n++] = case_text(c, p, length);
        p += length;
    }
    return n;
}

static inline int case_ints(const char *text, int64_t *out)
{
    int n = 0;
    for (char *end; *text && n < CASE_WORDS; text = end + strspn(end, ",x] ")) {
        out[n] = strtoll(text, &end, 10);
        if (end == text) break;
        n++;
    }
    return n;
}

static inline double case_random(GraphCase *c) /* -1 to 1 */
{
    c->seed = c->seed * 1664525u + 1013904223u;
    return (double)(c->seed >> 8) / (1 << 23) - 1;
}

/* ---- constants ---- */
static inline Tensor *case_constant(GraphCase *c, Str name, DType type, int rank,
                                    const int64_t *dim)
{
    OnnxTensor *made = &c->model.graph.init[c->model.graph.n_init++];
    *made = (OnnxTensor){ .name = name, .t = { .type = type, .rank = rank } };
    for (int i = 0; i < rank; i++) made->t.dim[i] = dim[i];
    made->t.data = arena_raw(&c->arena, tensor_bytes(&made->t) + 1);
    return &made->t;
}

/* A constant with these numbers, given by its dims: constant(c, "bias", T_F32, "2x3", numbers). */
static inline void constant(GraphCase *c, const char *name, DType type, const char *dims,
                            const double *numbers)
{
    int64_t dim[CASE_WORDS];
    Tensor *t = case_constant(c, case_text(c, name, strlen(name)), type, case_ints(dims, dim), dim);
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
        double number = numbers ? numbers[i] : case_random(c);
        tensor_store(t, i, 1, &number);
    }
}

/* What stands in a list of inputs, as a name. */
static inline Str case_value(GraphCase *c, Str word)
{
    const char *colon = strchr(word.p, ':');
    if (colon) {
        Str name = case_text(c, word.p, (size_t)(colon - word.p));
        constant(c, name.p, T_F32, colon + 1, NULL);
        return name;
    }
    if (word.p[0] == '_' && word.n == 1) return (Str){ 0 };
    bool list = word.p[0] == '[';
    if (!list && !strchr("-0123456789", word.p[0])) return word;
    bool real = !list && strpbrk(word.p, ".einf");
    int64_t ints[CASE_WORDS], n = list ? case_ints(word.p + 1, ints) : 1;
    Str name = str_of(str_format(&c->arena, "constant%d", c->serial++));
    Tensor *t = case_constant(c, name, real ? T_F32 : T_I64, list, &n);
    for (int64_t i = 0; i < n; i++) {
        double number = list ? (double)ints[i] : strtod(word.p, NULL);
        tensor_store(t, i, 1, &number);
    }
    return name;
}

/* ---- rows ---- */
static inline OnnxAttr case_attribute(GraphCase *c, Str word)
{
    const char *value = strchr(word.p, '=') + 1;
    OnnxAttr a = { .name = case_text(c, word.p, (size_t)(value - 1 - word.p)) };
    if (!strchr("-0123456789", *value)) return a.type = A_STRING, a.s = str_of(value), a;
    if (strchr(value, ',')) {
        int64_t list[CASE_WORDS];
        a.type = A_INTS, a.n = (size_t)case_ints(value, list);
        a.ints = memcpy(ARRAY(&c->arena, int64_t, a.n), list, sizeof *list * a.n);
        return a;
    }
    if (strpbrk(value, ".e")) return a.type = A_FLOAT, a.f = strtof(value, NULL), a;
    return a.type = A_INT, a.i = strtoll(value, NULL, 10), a;
}

static inline OnnxNode *node(GraphCase *c, const char *op, const char *inputs, const char *outputs)
{
    Str word[CASE_WORDS];
    OnnxNode *n = &c->to->node[c->to->n_node++];
    int words = case_split(c, op, word);
    const char *colon = strchr(word[0].p, ':');
    *n = (OnnxNode){ .op = colon ? str_of(colon + 1) : word[0] };
    if (colon) n->domain = case_text(c, word[0].p, (size_t)(colon - word[0].p));
    n->attr = ARRAY(&c->arena, OnnxAttr, words + 2);
    for (int i = 1; i < words; i++) n->attr[n->n_attr++] = case_attribute(c, word[i]);
    n->in = ARRAY(&c->arena, Str, CASE_WORDS), n->out = ARRAY(&c->arena, Str, CASE_WORDS);
    n->n_in = case_split(c, inputs, n->in), n->n_out = case_split(c, outputs, n->out);
    for (int i = 0; i < n->n_in; i++) n->in[i] = case_value(c, n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        if (str_is(n->out[i], "_")) n->out[i] = (Str){ 0 };
    n->name = str_of(str_format(&c->arena, "/%d", c->serial++));
    return n;
}

typedef struct Row {
    const char *op, *in, *out;
} Row;

static inline void node_rows(GraphCase *c, const Row *row, size_t n)
{
    for (size_t i = 0; i < n; i++) node(c, row[i].op, row[i].in, row[i].out);
}

static inline OnnxValue *case_declare(GraphCase *c, const char *name, DType type, const char *dims)
{
    bool out = !dims; /* of an output nothing is said */
    OnnxValue *v = out ? &c->to->out[c->to->n_out++] : &c->to->in[c->to->n_in++];
    Str word[CASE_WORDS];
    *v = (OnnxValue){ .name = case_text(c, name, strlen(name)), .type = type, .rank = -1 };
    if (out) return v;
    v->rank = case_split(c, dims, word);
    for (int i = 0; i < v->rank; i++)
        v->dim[i] = strchr("0123456789", word[i].p[0]) ? atoll(word[i].p) : DIM_UNKNOWN;
    return v;
}

static inline void input(GraphCase *c, const char *name, DType type, const char *dims)
{
    case_declare(c, name, type, dims);
}

static inline void output(GraphCase *c, const char *name)
{
    case_declare(c, name, T_F32, NULL);
}

static inline void case_graph(GraphCase *c, OnnxGraph *g)
{
    *g = (OnnxGraph){ .name = STR("g"), .node = ARRAY(&c->arena, OnnxNode, CASE_ROWS) };
    g->init = ARRAY(&c->arena, OnnxTensor, CASE_ROWS);
    g->in = ARRAY(&c->arena, OnnxValue, CASE_WORDS),
    g->out = ARRAY(&c->arena, OnnxValue, CASE_WORDS);
}

static inline void case_begin(GraphCase *c, int opset)
{
    *c = (GraphCase){ .seed = 7 };
    c->model =
        (OnnxModel){ .ir_version = 8, .n_opset = 2, .opset = ARRAY(&c->arena, OnnxOpset, 2) };
    c->model.opset[0].version = opset;
    c->model.opset[1] = (OnnxOpset){ STR("com.microsoft"), 1 };
    case_graph(c, &c->model.graph);
    c->to = &c->model.graph;
}

/* The rows that follow are a branch of an If, until branch_end says of which. */
static inline void branch_begin(GraphCase *c)
{
    c->to = NEW(&c->arena, OnnxGraph);
    case_graph(c, c->to);
}

static inline OnnxGraph *branch_end(GraphCase *c)
{
    OnnxGraph *made = c->to;
    c->to = &c->model.graph;
    return made;
}

static inline void node_if(GraphCase *c, const char *condition, OnnxGraph *yes, OnnxGraph *no,
                           const char *out)
{
    OnnxNode *n = node(c, "If", condition, out);
    n->attr[n->n_attr++] =
        (OnnxAttr){ .name = STR("then_branch"), .type = A_GRAPH, .g = yes, .n = 1 };
    n->attr[n->n_attr++] =
        (OnnxAttr){ .name = STR("else_branch"), .type = A_GRAPH, .g = no, .n = 1 };
}

/* Inputs of `dims`, and x: a row of a table for each token. */
static inline void tokens_of(GraphCase *c, const char *dims, int64_t width)
{
    input(c, "input_ids", T_I64, dims);
    input(c, "attention_mask", T_I64, dims);
    node(c, "Gather", str_format(&c->arena, "words:%dx%lld input_ids", CASE_IDS, (long long)width),
         "x");
}

static inline void tokens(GraphCase *c, int64_t width)
{
    tokens_of(c, "B S", width);
}

/* ---- running ---- */
static inline bool case_open(GraphCase *c, Graph **g)
{
    return graph_from_onnx(&c->arena, &c->model, g, &c->err);
}

/* Row r of a batch has so many live tokens; the first has all. */
static inline int64_t case_length(int64_t S, int64_t row)
{
    return MAX(S - row * 3, (int64_t)1);
}

static inline double case_number(GraphCase *c, Str name, int64_t S, int64_t row, int64_t k,
                                 bool padded)
{
    bool live = !padded || k < case_length(S, row);
    uint32_t id = (uint32_t)(row * 131 + k * 7 + 1) * 2654435761u >> 16;
    if (str_is(name, "attention_mask")) return live;
    if (str_is(name, "token_type_ids")) return live && id % 3 == 1;
    if (str_is(name, "position_ids")) return (double)k;
    if (str_is(name, "input_ids")) return live ? id % CASE_IDS : 0;
    return case_random(c);
}

/* first: the row that row 0 of this batch is in case_number */
static inline void case_inputs(GraphCase *c, const Graph *g, int64_t B, int64_t S, int64_t first,
                               bool padded, Named *in)
{
    c->seed = 11;
    for (int i = 0; i < g->n_input; i++) {
        const GraphValue *v = &g->value[g->input[i]];
        Tensor t = v->t;
        for (int d = 0, open = 0; d < t.rank; d++)
            if (t.dim[d] < 0) t.dim[d] = open++ ? S : B;
        int64_t n = tensor_count(&t), row = t.rank > 1 ? n / MAX(t.dim[0], (int64_t)1) : n;
        t.data = arena_raw(&c->arena, tensor_bytes(&t) + 1);
        for (int64_t k = 0; k < n; k++) {
            double number = case_number(c, v->name, row, first + k / row, k % row, padded);
            tensor_store(&t, k, 1, &number);
        }
        in[i] = (Named){ v->name, t };
    }
}

static inline bool case_answers(GraphCase *c, Graph *g, int64_t B, int64_t S, Named *out)
{
    Named in[CASE_WORDS];
    case_inputs(c, g, B, S, 0, true, in);
    return engine_run_generic(g, NULL, in, (size_t)g->n_input, &c->arena, out, &c->err);
}

static inline double case_distance(const Tensor *a, const Tensor *b)
{
    double worst =
        a->type == b->type && tensor_same_shape(a, b) && a->data && b->data ? 0 : INFINITY;
    for (int64_t i = 0; worst < INFINITY && i < tensor_count(a); i++) {
        double x = tensor_get(a, i), y = tensor_get(b, i), d = fabs(x - y) / fmax(1, fabs(y));
        if (x == y || (isnan(x) && isnan(y))) continue;
        worst = fmax(worst, isnan(d) ? INFINITY : d);
    }
    return worst;
}

/* How far the answers of one graph are from those of another, at several sizes. */
static inline double case_difference(GraphCase *c, Graph *plain, Graph *made)
{
    static const int64_t sizes[][2] = { { 2, 7 }, { 1, 1 }, { 3, 12 }, { 1, 2 } };
    Named a[CASE_WORDS], b[CASE_WORDS];
    double worst = 0;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        if (!case_answers(c, plain, sizes[i][0], sizes[i][1], a) ||
            !case_answers(c, made, sizes[i][0], sizes[i][1], b))
            return printf("  %s\n", c->err.message), INFINITY;
        for (int k = 0; k < plain->n_output; k++)
            worst = fmax(worst, case_distance(&b[k].t, &a[k].t));
    }
    return worst;
}

/* The operators left, in their order: "Gather LayerNorm". */
static inline const char *case_ops(GraphCase *c, const Graph *g)
{
    const char *all = "";
    for (int i = 0; i < g->n_node; i++)
        if (g->node[i]->op)
            all = str_format(&c->arena, "%s%s%s", all, *all ? " " : "", g->node[i]->op->name);
    return all;
}

/* The pass makes these operators of the graph, and the answers stay; wanted NULL: the operators, too. */
static inline bool case_becomes(GraphCase *c, Pass *const *passes, const char *wanted,
                                double within, Graph **made)
{
    Graph *plain;
    bool ok = case_open(c, &plain) && case_open(c, made);
    for (int i = 0; ok && passes[i]; i++) ok = passes[i](*made, &c->err);
    if (!ok) return printf("  %s: %s\n", check_group, c->err.message), false;
    const char *found = case_ops(c, *made);
    if (!wanted) wanted = case_ops(c, plain);
    double worst = case_difference(c, plain, *made);
    bool same = strcmp(found, wanted) == 0;
    if (!same || !(worst <= within))
        printf("  found  %s\n  wanted %s, difference %g\n", found, wanted, worst);
    return same && worst <= within;
}

static inline bool becomes(GraphCase *c, Pass *pass, const char *wanted)
{
    Graph *g;
    return case_becomes(c, (Pass *[]){ pass, NULL }, wanted, 1e-5, &g);
}

static inline bool stays(GraphCase *c, Pass *pass)
{
    return becomes(c, pass, NULL);
}

/* ---- a pattern, and the same with one row changed ---- */
typedef struct Change {
    const char *what;
    int at; /* the row that is another; beyond the last: one more, whose result is an output, too */
    Row row;
    const char *wanted; /* operators that are left; NULL: all of them */
    Row more;           /* beside them, where it has an operator */
} Change;

/* Behind tokens of that width, up to the output y. */
static inline void pattern(GraphCase *c, int opset, int64_t width, const Row *row, int n,
                           const Change *change)
{
    case_begin(c, opset);
    tokens(c, width);
    for (int i = 0; i < n; i++) {
        const Row *r = change && change->at == i ? &change->row : &row[i];
        node(c, r->op, r->in, r->out);
    }
    output(c, "y");
    if (change && change->more.op) node(c, change->more.op, change->more.in, change->more.out);
    if (!change || change->at < n) return;
    node(c, change->row.op, change->row.in, change->row.out);
    output(c, change->row.out);
}

static inline void try_pattern(Pass *const *passes, int opset, int64_t width, const Row *row, int n,
                               const char *wanted, const Change *change, int n_change)
{
    GraphCase c;
    Graph *g;
    pattern(&c, opset, width, row, n, NULL);
    CHECK(case_becomes(&c, passes, wanted, 1e-5, &g));
    arena_free(&c.arena);
    for (int i = 0; i < n_change; i++) {
        pattern(&c, opset, width, row, n, &change[i]);
        if (!CHECK(case_becomes(&c, passes, change[i].wanted, 1e-5, &g)))
            printf("  %s: %s\n", check_group, change[i].what);
        arena_free(&c.arena);
    }
}

/* ---- through plans ---- */
enum { CASE_BATCH = 3 };

/* Where the sizes are fixed: the first row, n tokens of it, and padding. */
static inline void case_blank(Named *in, int n_in, int64_t n)
{
    double zero = 0;
    for (int i = 0; i < n_in; i++)
        for (int64_t k = 0; k < tensor_count(&in[i].t); k++)
            if (k >= n) tensor_store(&in[i].t, k, 1, &zero);
}

/* One row alone, by the untouched graph. */
static inline bool case_row(GraphCase *c, int row, int64_t n, Tensor *out, bool *fixed)
{
    Graph *plain;
    Named in[CASE_WORDS], answer[CASE_WORDS];
    if (!case_open(c, &plain)) return false;
    const int64_t *dim = plain->value[plain->input[0]].t.dim;
    *fixed = dim[0] > 0 && dim[1] > 0;
    case_inputs(c, plain, *fixed ? dim[0] : 1, *fixed ? dim[1] : n, row, false, in);
    if (*fixed) case_blank(in, plain->n_input, n);
    if (!engine_run_generic(plain, NULL, in, (size_t)plain->n_input, &c->arena, answer, &c->err))
        return false;
    return *out = answer[0].t, true;
}

/* How far rows of different lengths, run in one batch, are from what each gives alone. */
static inline double case_alone(GraphCase *c, const RowOutput *out, int64_t S)
{
    double worst = 0;
    for (int r = 0; r < CASE_BATCH; r++) {
        Tensor want;
        bool fixed;
        int64_t n = out[r].tokens * out[r].width;
        if (!case_row(c, r, case_length(S, r), &want, &fixed)) return INFINITY;
        if (fixed ? n > tensor_count(&want) : n != tensor_count(&want)) return INFINITY;
        Tensor got = { .type = want.type, .rank = 1, .dim = { n }, .data = (void *)out[r].data };
        want.rank = 1, want.dim[0] = n;
        worst = fmax(worst, case_distance(&got, &want));
    }
    return worst;
}

static inline double case_run_batch(GraphCase *c, Engine *e, int64_t S)
{
    int32_t ids[CASE_BATCH * 64], types[CASE_BATCH * 64], start[CASE_BATCH + 1] = { 0 };
    for (int r = 0; r < CASE_BATCH; r++) {
        start[r + 1] = start[r] + (int32_t)case_length(S, r);
        for (int32_t k = 0, at = start[r]; at + k < start[r + 1]; k++) {
            ids[at + k] = (int32_t)case_number(c, STR("input_ids"), S, r, k, false);
            types[at + k] = (int32_t)case_number(c, STR("token_type_ids"), S, r, k, false);
        }
    }
    RowOutput out[CASE_BATCH];
    Runner *runner = runner_new(e, NULL);
    Batch batch = { .B = CASE_BATCH, .start = start, .ids = ids, .type_ids = types };
    double worst = runner_run(runner, &batch, out, &c->err) ? case_alone(c, out, S) : INFINITY;
    if (worst == INFINITY) printf("  %s: %s\n", check_group, c->err.message);
    runner_free(runner);
    return worst;
}

/* All passes, an engine, and a batch of rows; ragged or, with this in its reason, not. */
static inline bool runs(GraphCase *c, bool ragged, const char *reason)
{
    Graph *g;
    Engine *e;
    const char *why = NULL;
    if (!case_open(c, &g) || !graph_optimize(g, false, &c->err) ||
        !engine_new(&c->arena, g, &c->model.graph.out[0].name, 1, &e, &c->err))
        return printf("  %s: %s\n", check_group, c->err.message), false;
    bool found = engine_ragged(e, &why);
    double worst = fmax(case_run_batch(c, e, 12), case_run_batch(c, e, 7));
    worst = fmax(worst, case_run_batch(c, e, 4)); /* 4, 1 and 1: two of them of one length */
    bool said = found == ragged && (ragged || strstr(why, reason));
    if (!said || !(worst <= 1e-5))
        printf("  found %s (%s), difference %g\n", found ? "ragged" : "padded", why ? why : "",
               worst);
    return said && worst <= 1e-5;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * test_ops.c - every operator against files that the ONNX reference wrote (tools/oracle/ops.py):
 * folders with model.onnx (one node) and test_data_set_K/input_I.pb, output_I.pb, the layout of
 * ONNX's own tests.
 *
 *     test_ops                  the folders under tests/golden/ops
 *     test_ops -v DIR...        other folders of such folders, with a line for each failure and operator */
#include <dirent.h>
#include <math.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/thread.h"
#include "check.h"
#include "ops/ops.h"

enum { MAX_IO = 64, MAX_OPS = 400 };
typedef enum { PASSED, FAILED, SKIPPED } Result;

static bool verbose;
static struct {
    char name[64];
    int count[3];
} by_op[MAX_OPS];

static void note(Str op, Result result)
{
    for (int i = 0; i < MAX_OPS; i++) {
        if (by_op[i].name[0] && !str_is(op, by_op[i].name)) continue;
        if (!by_op[i].name[0]) snprintf(by_op[i].name, sizeof by_op[i].name, "%.*s", STR_ARG(op));
        by_op[i].count[result]++;
        return;
    }
}

/* ---- comparing ---- */

static bool close_enough(double found, double wanted, DType type)
{
    const double loose = type == T_F16    ? 2e-3
                         : type == T_BF16 ? 1.6e-2
                         : type == T_F64  ? 1e-7
                                          : 1e-5;
    if (found != found || wanted != wanted) return found != found && wanted != wanted;
    if (found == wanted || isinf(found) || isinf(wanted)) return found == wanted;
    return fabs(found - wanted) <= loose * fmax(fabs(wanted), 0.1);
}

static bool same_numbers(const Tensor *found, const Tensor *wanted, char *why, size_t size)
{
    char a[128], b[128];
    const bool floats = wanted->type == T_F32 || wanted->type == T_F64 || wanted->type == T_F16 ||
                        wanted->type == T_BF16;
    if (found->type != wanted->type || !tensor_same_shape(found, wanted)) {
        snprintf(why, size, "found %s, wanted %s", tensor_show(found, a), tensor_show(wanted, b));
        return false;
    }
    for (int64_t i = 0; i < tensor_count(wanted); i++) {
        const double x = tensor_get(found, i), y = tensor_get(wanted, i);
        const bool ok = floats ? close_enough(x, y, wanted->type)
                               : tensor_get_int(found, i) == tensor_get_int(wanted, i);
        if (ok) continue;
        snprintf(why, size, "element %lld: found %.9g, wanted %.9g", (long long)i, x, y);
        return false;
    }
    return true;
}

/* ---- one case ---- */

typedef struct Case {
    Arena *arena;
    const char *dir;
    OnnxModel model;
    const OnnxNode *node;
    const Op *op;
    int opset;
    char why[512];
} Case;

static void *aligned(Arena *arena, const Tensor *t)
{
    void *data = arena_raw(arena, MAX(tensor_bytes(t), 1));
    if (tensor_bytes(t)) memcpy(data, t->data, tensor_bytes(t));
    return data;
}

static bool read_pb(Case *c, int set, const char *kind, int index, Tensor *out, Err *err)
{
    Str bytes;
    OnnxTensor t;
    const char *path =
        str_format(c->arena, "%s/test_data_set_%d/%s_%d.pb", c->dir, set, kind, index);
    if (!file_read(c->arena, path, (size_t)1 << 30, &bytes, err)) return false;
    if (!onnx_read_tensor(c->arena, bytes, &t, err)) return false;
    *out = t.t;
    out->data = aligned(c->arena, &t.t);
    return true;
}

/* An input of the node: a file, an initializer, or absent. */
static bool find_input(Case *c, int set, Str name, const Tensor **out, Err *err)
{
    const OnnxGraph *g = &c->model.graph;
    *out = NULL;
    if (!name.n) return true;
    Tensor *t = NEW(c->arena, Tensor);
    for (int i = 0; i < g->n_in; i++) {
        if (!str_eq(g->in[i].name, name)) continue;
        *out = t;
        return read_pb(c, set, "input", i, t, err);
    }
    for (int i = 0; i < g->n_init; i++) {
        if (!str_eq(g->init[i].name, name)) continue;
        *t = g->init[i].t;
        t->data = aligned(c->arena, &g->init[i].t);
        *out = t;
        return true;
    }
    return fail(err, EF_BAD_MODEL, "no input '%.*s'", STR_ARG(name));
}

static Result run_set(Case *c, int set, Pool *pool)
{
    const Tensor *in[MAX_IO];
    Tensor out[MAX_IO] = { 0 }, wanted;
    Err err = { 0 };
    for (int i = 0; i < c->node->n_in; i++) {
        if (find_input(c, set, c->node->in[i], &in[i], &err)) continue;
        snprintf(c->why, sizeof c->why, "%.400s", err.message);
        return SKIPPED;
    }
    OpCall call = { .node = c->node,
                    .opset = c->opset,
                    .n_in = c->node->n_in,
                    .n_out = c->node->n_out,
                    .in = in,
                    .out = out,
                    .k = kernels(),
                    .pool = pool,
                    .scratch = c->arena };
    bool ok = op_shape(c->op, &call, &err);
    for (int i = 0; ok && i < call.n_out;
         i++) /* filled: what is not written must not look like zeros */
        if (c->node->out[i].n)
            out[i].data =
                memset(arena_raw(c->arena, tensor_bytes(&out[i]) + 1), 0x5A, tensor_bytes(&out[i]));
    if (ok) ok = c->op->run(&call, &err);
    if (!ok) {
        snprintf(c->why, sizeof c->why, "%.400s", err.message);
        return FAILED;
    }
    for (int i = 0, file = 0; i < call.n_out; i++) {
        if (!c->node->out[i].n) continue;
        if (!read_pb(c, set, "output", file++, &wanted, &err)) return SKIPPED;
        if (!same_numbers(&out[i], &wanted, c->why, sizeof c->why)) return FAILED;
    }
    return PASSED;
}

static bool open_case(Case *c, Err *err)
{
    Str bytes;
    const char *path = path_join(c->arena, c->dir, STR("model.onnx"));
    if (!file_read(c->arena, path, (size_t)1 << 30, &bytes, err)) return false;
    if (!onnx_read(c->arena, bytes, &c->model, err)) return false;
    if (c->model.graph.n_node != 1) return fail(err, EF_UNSUPPORTED, "more than one node");
    c->node = &c->model.graph.node[0];
    if (c->node->n_in > MAX_IO || c->node->n_out > MAX_IO)
        return fail(err, EF_UNSUPPORTED, "too many");
    for (int i = 0; i < c->model.n_opset; i++)
        if (str_eq(c->model.opset[i].domain, c->node->domain))
            c->opset = (int)c->model.opset[i].version;
    c->op = op_find(c->node->domain, c->node->op, c->opset);
    return c->op || fail(err, EF_UNSUPPORTED, "unknown operator");
}

static Result run_case(const char *dir, Pool *pool)
{
    Arena arena = { 0 };
    Case c = { .arena = &arena, .dir = dir };
    Err err = { 0 };
    Result result = SKIPPED;
    if (open_case(&c, &err)) {
        result = run_set(&c, 0, pool);
        for (int set = 1; result == PASSED; set++) {
            if (!dir_is(str_format(&arena, "%s/test_data_set_%d", dir, set))) break;
            result = run_set(&c, set, pool);
        }
        note(c.node->op, result);
    } else if (c.node) {
        note(c.node->op, SKIPPED);
    }
    if (result == FAILED) printf("  FAILED: %s: %s\n", dir, c.why);
    if (result == SKIPPED && verbose && c.op) printf("  skipped: %s: %s\n", dir, c.why);
    arena_free(&arena);
    return result;
}

static void run_folder(const char *folder)
{
    DIR *d = opendir(folder);
    Arena arena = { 0 };
    Pool *pool = pool_new(2);
    int count[3] = { 0 };
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        const char *dir = path_join(&arena, folder, str_of(e->d_name));
        if (dir_is(dir)) count[run_case(dir, pool)]++;
    }
    if (d) closedir(d);
    pool_free(pool);
    arena_free(&arena);
    checks_passed += count[PASSED];
    checks_failed += count[FAILED];
    checks_skipped += count[SKIPPED];
}

/* ---- what no file says ---- */

static OpCall call_of(const OnnxNode *node, const Tensor *const *in, int n_in, Tensor *out)
{
    return (OpCall){ .node = node, .opset = 18, .n_in = n_in, .n_out = 1, .in = in, .out = out };
}

static void test_messages(void)
{
    TEST("messages");
    OnnxNode node = { .op = STR("Add"), .name = STR("/sum") };
    Tensor a = { .type = T_F32, .rank = 2, .dim = { 2, 3 } },
           b = { .type = T_F32, .rank = 1, .dim = { 4 } };
    Tensor out[1] = { 0 };
    const Tensor *in[] = { &a, &b, NULL };
    OpCall call = call_of(&node, in, 2, out);
    Err err = { 0 };
    const Op *add = op_find((Str){ 0 }, STR("Add"), 18);
    CHECK(!op_shape(add, &call, &err));
    CHECK(says(&err, "node '/sum' (Add): inputs 0 and 1: found float[2,3] and float[4]"));
    b.type = T_I64;
    CHECK(!op_shape(add, &call, &err));
    CHECK(says(&err, "input 1: found int64[4], wanted float as input 0"));
    call.n_in = 1;
    CHECK(!op_shape(add, &call, &err));
    CHECK(says(&err, "found 1 inputs, wanted 2 to 2"));
    in[0] = NULL;
    call.n_in = 2;
    CHECK(!op_shape(add, &call, &err));
    CHECK(says(&err, "input 0: found none"));
}

/* A number that decides the shape, given as a tensor without any. */
static void test_no_number(void)
{
    TEST("no number");
    static const struct {
        const char *name;
        int inputs, empty, opset;
    } cases[] = { { "HannWindow", 1, 0, 17 }, { "STFT", 2, 1, 17 },           { "DFT", 3, 2, 20 },
                  { "MelWeightMatrix", 5, 0, 17 }, { "MelWeightMatrix", 5, 2, 17 } };
    int64_t eight = 8;
    float samples[8] = { 0 };
    Tensor x = { .type = T_F32, .rank = 3, .dim = { 1, 8, 1 }, .data = samples };
    Tensor one = { .type = T_I64, .data = &eight }, none = { .type = T_I64, .rank = 1 };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const Op *op = op_find((Str){ 0 }, str_of(cases[i].name), cases[i].opset);
        const Tensor *in[] = { cases[i].name[0] == 'M' ? &one : &x, &one, &one, &one, &one };
        Tensor out[1] = { 0 };
        OnnxNode node = { .op = str_of(cases[i].name) };
        in[cases[i].empty] = &none;
        OpCall call = call_of(&node, in, cases[i].inputs, out);
        Err err = { 0 };
        call.opset = cases[i].opset;
        CHECK(!op_shape(op, &call, &err) && says(&err, "int64[0], wanted one number"));
    }
}

/* A node of our own domain, as a file may have it: floats [1, 1, .., C]. */
typedef struct LastCase {
    int64_t C, M, K, group, kernel[3];
    Tensor w, bias;
    const char *words;         /* NULL: it is fine */
} LastCase;

static void test_last_case(const LastCase *c)
{
    enum { DIMS = 3 };
    int64_t kernel[DIMS], pads[2 * DIMS] = { 0 };
    for (int i = 0; i < DIMS; i++) kernel[i] = c->kernel[i], pads[i] = kernel[i] - 1;
    OnnxAttr attr[] = { { .name = STR("N"), .type = A_INT, .i = c->M },
                        { .name = STR("K"), .type = A_INT, .i = c->K },
                        { .name = STR("group"), .type = A_INT, .i = c->group },
                        { .name = STR("kernel_shape"), .type = A_INTS, .n = DIMS, .ints = kernel },
                        { .name = STR("pads"), .type = A_INTS, .n = 2 * DIMS, .ints = pads } };
    OnnxNode node = { .op = STR("ConvLast"), .domain = STR("encoderfile"), .attr = attr, .n_attr = COUNT(attr) };
    const Tensor x = { .type = T_F32, .rank = DIMS + 2, .dim = { 1, 1, 1, 1, c->C } };
    const Tensor *in[] = { &x, &c->w, c->bias.type ? &c->bias : NULL };
    Tensor out[1] = { 0 };
    OpCall call = call_of(&node, in, 3, out);
    Err err = { 0 };
    const bool ok = op_shape(op_find(node.domain, node.op, 1), &call, &err);
    if (!CHECK(ok == !c->words && (ok || says(&err, c->words)))) printf("  %s\n", err.message);
}

/* A window whose numbers, counted in 64 bits, would seem to be few; and a bias whose last panel ends before
 * the kernel has read it. */
static void test_conv_last(void)
{
    TEST("ConvLast of a file");
    static const LastCase cases[] = {
        { 4, 1, 124, 1, { 701685493, 99745, 65891 }, { .type = T_F32, .rank = 2, .dim = { 1, 124 } }, { 0 },
          "wanted as many channels" },
        { 32, 32, 8, 4, { 1, 1, 1 }, { .type = T_F32, .rank = 3, .dim = { 4, 8, 16 } },
          { .type = T_F32, .rank = 1, .dim = { 32 } }, "filled up to whole panels" },
        { 32, 32, 8, 4, { 1, 1, 1 }, { .type = T_F32, .rank = 3, .dim = { 4, 8, 16 } },
          { .type = T_F32, .rank = 1, .dim = { 40 } }, NULL },
    };
    for (size_t i = 0; i < COUNT(cases); i++) test_last_case(&cases[i]);
}

/* Boxes that are no numbers, or far larger than the picture: of 16 million samples in each cell hardly any can lie in
 * the picture, and only those may take time. */
static void test_roi(void)
{
    TEST("RoiAlign of odd boxes");
    static const struct {
        float box[4], wanted;
    } cases[] = { { { NAN, NAN, NAN, NAN }, 0 }, { { 0, 0, NAN, 4 }, 0 }, { { 0, 0, INFINITY, INFINITY }, 0 },
                  { { -1e30f, -1e30f, 1e30f, 1e30f }, 0 }, { { 0.5f, 0.5f, 3.5f, 3.5f }, 1 } };
    float ones[16], y[64];
    int64_t first = 0;
    const double from = now_seconds();
    for (int i = 0; i < 16; i++) ones[i] = 1;
    OnnxAttr attr[] = { { .name = STR("output_height"), .type = A_INT, .i = 8 },
                        { .name = STR("output_width"), .type = A_INT, .i = 8 },
                        { .name = STR("mode"), .type = A_STRING } };
    OnnxNode node = { .op = STR("RoiAlign"), .attr = attr, .n_attr = COUNT(attr) };
    const Tensor x = { .type = T_F32, .rank = 4, .dim = { 1, 1, 4, 4 }, .data = ones };
    const Tensor picture = { .type = T_I64, .rank = 1, .dim = { 1 }, .data = &first };
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const Tensor box = { .type = T_F32, .rank = 2, .dim = { 1, 4 }, .data = (void *)cases[i / 2].box };
        const Tensor *in[] = { &x, &box, &picture };
        Tensor out[1] = { 0 };
        Arena scratch = { 0 };
        Err err = { 0 };
        attr[2].s = i % 2 ? STR("avg") : STR("max");
        OpCall call = call_of(&node, in, 3, out);
        call.scratch = &scratch;
        const Op *op = op_find((Str){ 0 }, node.op, 18);
        CHECK(op_shape(op, &call, &err) && (out->data = y, op->run(&call, &err)));
        for (int k = 0; k < 64; k++) CHECK(y[k] == cases[i / 2].wanted || (i % 2 == 0 && cases[i / 2].wanted && y[k] > 0.2));
        arena_free(&scratch);
    }
    CHECK(now_seconds() - from < 5);
}

/* Sizes whose product does not fit 64 bits: of a tensor without numbers, and of a window beyond the picture. */
static void test_pool_sizes(void)
{
    TEST("pooling: sizes");
    Tensor out[1] = { 0 };
    float one = 3, y[1] = { 0 };
    Err err = { 0 };
    OnnxNode global = { .op = STR("GlobalMaxPool") }, node = { .op = STR("AveragePool") };
    const Tensor none = { .type = T_F32, .rank = 4, .dim = { 0, 1, 1ll << 40, 1ll << 40 } };
    const Tensor *in[] = { &none };
    OpCall call = call_of(&global, in, 1, out);
    CHECK(!op_shape(op_find((Str){ 0 }, global.op, 18), &call, &err));
    int64_t kernel[] = { 1 << 30, 1 << 30, 4 }, pads[6];
    for (int i = 0; i < 6; i++) pads[i] = i < 3 ? kernel[i] - 1 : 0;
    OnnxAttr attr[] = { { .name = STR("kernel_shape"), .type = A_INTS, .n = 3, .ints = kernel },
                        { .name = STR("pads"), .type = A_INTS, .n = 6, .ints = pads } };
    const Tensor x = { .type = T_F32, .rank = 5, .dim = { 1, 1, 1, 1, 1 }, .data = &one };
    node.attr = attr, node.n_attr = COUNT(attr);
    in[0] = &x;
    call = call_of(&node, in, 1, out);
    const Op *op = op_find((Str){ 0 }, node.op, 18);
    CHECK(op_shape(op, &call, &err) && (out->data = y, op->run(&call, &err)) && y[0] == 3);
}

/* A transform of no numbers that are filled up to a length is one of zeros. */
static void test_empty_transform(void)
{
    TEST("a transform of nothing");
    int64_t length = 5;
    float y[10];
    Arena scratch = { 0 };
    const Tensor x = { .type = T_F32, .rank = 3, .dim = { 1, 0, 1 } }, n = { .type = T_I64, .data = &length };
    const Tensor *in[] = { &x, &n };
    Tensor out[1] = { 0 };
    OnnxNode node = { .op = STR("DFT") };
    OpCall call = call_of(&node, in, 2, out);
    Err err = { 0 };
    const Op *op = op_find((Str){ 0 }, STR("DFT"), 18);
    call.scratch = &scratch;
    memset(y, 0x5A, sizeof y);
    CHECK(op_shape(op, &call, &err) && tensor_count(&out[0]) == 10);
    out[0].data = y;
    CHECK(op->run(&call, &err));
    for (int i = 0; i < 10; i++) CHECK(y[i] == 0);
    arena_free(&scratch);
}

static void test_table(void)
{
    TEST("table");
    const Str ai = { 0 };
    CHECK(op_find(ai, STR("NoSuch"), 18) == NULL);
    CHECK(op_find(ai, STR("ReduceSum"), 12)->max_in == 1);
    CHECK(op_find(ai, STR("ReduceSum"), 13)->max_in == 2);
    CHECK(op_find(ai, STR("Gelu"), 19) == NULL);
    CHECK(op_find(STR("com.microsoft"), STR("Gelu"), 1) != NULL);
    CHECK(op_find(STR("ai.onnx"), STR("Add"), 18) == op_find(ai, STR("Add"), 18));
    for (size_t i = 0; i < op_count(); i++) {
        const Op *op = op_at(i);
        const Str domain = str_of(op->domain);
        CHECK(op->shape && op->run && op_find(domain, str_of(op->name), op->since) == op);
    }
    CHECK(op_at(op_count()) == NULL);
}

/* Shapes are asked for before anything is known but dims. */
static void test_values(void)
{
    TEST("values");
    OnnxNode node = { .op = STR("Reshape"), .name = STR("r") };
    int64_t shape[] = { 2, -1 };
    Tensor x = { .type = T_F32, .rank = 1, .dim = { 6 } },
           s = { .type = T_I64, .rank = 1, .dim = { 2 } };
    Tensor out[1] = { 0 };
    const Tensor *in[] = { &x, &s };
    OpCall call = call_of(&node, in, 2, out);
    Err err = { 0 };
    const Op *reshape = op_find((Str){ 0 }, STR("Reshape"), 18);
    CHECK(!op_shape(reshape, &call, &err));
    CHECK(says(&err, "input 1: its values decide the shape"));
    s.data = shape;
    CHECK(op_shape(reshape, &call, &err) && out[0].rank == 2 && out[0].dim[1] == 3);
    shape[0] = 4;
    CHECK(!op_shape(reshape, &call, &err));
    shape[0] = INT64_MAX;
    CHECK(!op_shape(reshape, &call, &err));
    shape[0] = 0;
    CHECK(op_shape(reshape, &call, &err) && out[0].dim[0] == 6 && out[0].dim[1] == 1);
}

/* XLNet's products of heads, LongT5's of blocks: a letter, or a dim of dots, that two inputs have counts once. */
static void test_work_of_letters(void)
{
    static const struct {
        const char *equation;
        double work;
    } cases[] = {
        { "bnij,jbnd->ibnd", 2 * 3 * 5 * 7 * 11 },
        { "bnij, jbnd", 2 * 3 * 5 * 7 * 11 },
        { "bnij,j...->ibnd", 210 * 66 },
        { "...ij,jbnd->...", 2 * 3 * 5 * 7 * 66 },
        { "bnij,jbn->ibn", 210.0 * 462 }, /* not those of the inputs: each number with each */
        { "bnij,jb...nd", 210 * 11 },
        { "bnij,jbxynd...", 210.0 * 462 },
        { "bnij", 210.0 * 462 },
    };
    const Tensor a = { .type = T_F32, .rank = 4, .dim = { 2, 3, 5, 7 } },
                 b = { .type = T_F32, .rank = 4, .dim = { 7, 2, 3, 11 } }, *in[] = { &a, &b };
    TEST("work of letters");
    for (size_t i = 0; i < COUNT(cases); i++) {
        OnnxAttr equation = { .name = STR("equation"), .type = A_STRING, .s = str_of(cases[i].equation) };
        OnnxNode node = { .op = STR("Einsum"), .attr = &equation, .n_attr = 1 };
        Tensor out = { .type = T_F32, .rank = 4, .dim = { 5, 2, 3, 11 } };
        OpCall call = call_of(&node, in, 2, &out);
        const double is = op_work(op_find(STR(""), node.op, 12), &call);
        if (!CHECK(is == cases[i].work * 64)) printf("  %s: %.0f\n", cases[i].equation, is / 64);
    }
}

/* What bounds folding, shape inference and runs is read from the operator's row. */
static void test_work(void)
{
    TEST("work");
    static const struct {
        const char *domain, *name;
        Tensor a, b, out;
        double work;
    } cases[] = {
#define F32(r, ...) { .type = T_F32, .rank = r, .dim = { __VA_ARGS__ } }
        { "", "Add", F32(1, 100), F32(1, 100), F32(1, 100), 300 * 64 },
        { "", "Shape", F32(2, 1 << 20, 1 << 20), { 0 }, F32(1, 2), 2 * 64 },
        { "", "MatMul", F32(2, 8, 32), F32(2, 32, 64), F32(2, 8, 64), 8 * 32 * 64 + 8 * 32 + 32 * 64 },
        { "", "Gemm", F32(2, 8, 32), F32(2, 32, 64), F32(2, 8, 64), 8 * 32 * 64 + 8 * 32 + 32 * 64 },
        { "com.microsoft", "FusedGemm", F32(2, 8, 32), F32(2, 32, 64), F32(2, 8, 64),
          8 * 32 * 64 + 8 * 32 + 32 * 64 },
        { "", "Conv", F32(4, 1, 3, 8, 8), F32(4, 16, 3, 3, 3), F32(4, 1, 16, 6, 6),
          16 * 36 * 27.0 + 16 * 27 * 64 },
        { "", "Einsum", F32(1, 100), F32(1, 50), F32(2, 100, 50), 100 * 51 * 64 + 50 * 64 },
        { "encoderfile", "Attention", F32(3, 1, 10, 64), F32(3, 1, 20, 64), F32(3, 1, 10, 64),
          (640 + 1280 + 640) * 64 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const Op *op = op_find(str_of(cases[i].domain), str_of(cases[i].name), 23);
        const Tensor *in[] = { &cases[i].a, &cases[i].b };
        Tensor out[] = { cases[i].out };
        OnnxNode node = { .op = str_of(cases[i].name) };
        OpCall call = call_of(&node, in, cases[i].b.type ? 2 : 1, out);
        CHECK(op && op_work(op, &call) == cases[i].work);
    }
    for (size_t i = 0; i < op_count(); i++) {
        const Op *op = op_at(i);
        CHECK(op->token != TOKEN_MATMUL || op->cost == COST_PRODUCT);
        CHECK(op->token != TOKEN_ATTENTION || op->cost == COST_ATTENTION);
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "-v")) {
        verbose = true;
        for (int i = 2; i < argc; i++) run_folder(argv[i]);
        for (int i = 0; i < MAX_OPS && by_op[i].name[0]; i++)
            printf("%-32s %4d passed %4d failed %4d skipped\n", by_op[i].name,
                   by_op[i].count[PASSED], by_op[i].count[FAILED], by_op[i].count[SKIPPED]);
        return finish();
    }
    test_messages();
    test_no_number();
    test_conv_last();
    test_roi();
    test_pool_sizes();
    test_empty_transform();
    test_table();
    test_values();
    test_work();
    test_work_of_letters();
    TEST("golden");
    run_folder(argc > 1 ? argv[1] : "tests/golden/ops");
    CHECK(checks_passed > 100);
    TEST("com.microsoft");
    run_folder("tests/golden/contrib"); /* ONNX Runtime's answers: tools/oracle/contrib.py */
    return finish();
}

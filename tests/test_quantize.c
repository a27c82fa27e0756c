/* SPDX-License-Identifier: Apache-2.0
 * test_quantize.c - the exports of tests/golden/export quantized for every target and in both half
 * precisions, run by our engine: near PyTorch's answers. And models that are refused. */
#include <sys/stat.h>
#include <unistd.h>

#include "export/quantize.h"
#include "export_case.h"
#include "folder.h"

static char work[] = "/tmp/ef-quantize-XXXXXX";
static const char *const cases[] = { "bert", "roberta", "distilbert", "modernbert", "deberta-v2" };

static double largest(const Npy *npy)
{
    double most = 0;
    int64_t n = 1;
    for (int i = 0; i < npy->rank; i++) n *= npy->dim[i];
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)((const float *)npy->data)[i]));
    return most;
}

/* Every node has a name of its own and a tag; no large float weight is left (but for int8 those
 * whose readers are of no known kind). */
static void check_graph(const Quantize *q, const OnnxModel *m)
{
    Arena arena = { 0 };
    Map seen = { 0 };
    uint64_t bytes = 0;
    for (int i = 0; i < m->graph.n_node; i++) {
        const OnnxNode *n = &m->graph.node[i];
        CHECK(n->name.p[0] == '/' && !map_get(&seen, n->name) && n->n_meta == 1);
        map_put(&seen, &arena, n->name, (void *)n);
    }
    for (int i = 0; i < m->graph.n_init; i++) bytes += tensor_bytes(&m->graph.init[i].t);
    CHECK(bytes == q->after && q->after < q->before);
    arena_free(&arena);
}

static void one(const char *name, int opset, const QuantizeTarget *target, DType half)
{
    Case plain = { 0 }, c = { 0 };
    Err err = { 0 };
    uint64_t size;
    const char *dir = str_format(&c.arena, GOLDEN "/%s", name);
    Export e = { .model = dir, .opset = opset, .output = str_format(&c.arena, "%s/%s", work, name) };
    Quantize q = { .arena = &c.arena, .target = target, .half = half };
    const char *path = str_format(&c.arena, "%s/q.onnx", work);
    bool ok = CHECK(load_case(&c, dir)) && export_all(&e, &err) && open_case(&plain, e.onnx, &err) &&
              quantize_model(&q, &plain.model, &err) && quantize_write(&q, path, &size, &err) &&
              open_case(&c, path, &err);
    double far = ok ? run_engine(&c, &err) : INFINITY, near = largest(&c.output) * (half ? 5e-3 : 8e-2);
    if (!CHECK(far <= near))
        printf("  %s, opset %d, %s: %g, wanted %g %s\n", name, opset,
               target ? target->name : "half", far, near, err.message);
    if (ok) check_graph(&q, &c.model);
    CHECK(target ? q.products > 4 && q.tables >= 1 : q.tables > 4);
    file_unmap(&c.file), file_unmap(&plain.file);
    export_close(&e);
    arena_free(&plain.arena), arena_free(&c.arena);
}

static void answers(void)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        TEST(cases[i]);
        for (const QuantizeTarget *t = quantize_targets; t->name; t++)
            one(cases[i], t->reduce_range ? 18 : 14, t, T_NONE);
        one(cases[i], 14, NULL, T_F16);
        one(cases[i], 18, NULL, T_BF16);
    }
}

/* ---- a graph of one product, changed in one way each ---- */
typedef struct Small {
    OnnxOpset opset;
    OnnxNode node[2];
    OnnxTensor init;
    OnnxValue in, out;
    OnnxModel model;
    float weight[20 * 16];
} Small;

static void small_model(Small *s)
{
    static Str product[] = { { "x", 1 }, { "w", 1 } }, result[] = { { "y", 1 } };
    *s = (Small){ .opset = { .version = 13 } };
    for (size_t i = 0; i < COUNT(s->weight); i++) s->weight[i] = (float)i / 100 - 1;
    s->node[0] = (OnnxNode){ .op = STR("MatMul"), .name = STR("/p/MatMul"), .in = product,
                             .out = result, .n_in = 2, .n_out = 1 };
    s->init = (OnnxTensor){ .name = STR("w"), .t = { .type = T_F32, .rank = 2, .dim = { 20, 16 } } };
    s->init.t.data = s->weight;
    s->in = (OnnxValue){ .name = STR("x"), .type = T_F32, .rank = 2, .dim = { 3, 20 } };
    s->out = (OnnxValue){ .name = STR("y"), .type = T_F32, .rank = 2, .dim = { 3, 16 } };
    s->model = (OnnxModel){ .ir_version = 8, .opset = &s->opset, .n_opset = 1 };
    s->model.graph = (OnnxGraph){ .name = STR("g"), .node = s->node, .init = &s->init, .in = &s->in,
                                  .out = &s->out, .n_node = 1, .n_init = 1, .n_in = 1, .n_out = 1 };
}

static bool quantizes(Small *s, DType half, Quantize *out, Err *err)
{
    *out = (Quantize){ .arena = out->arena, .half = half };
    if (!half) out->target = quantize_target("avx512_vnni");
    return quantize_model(out, &s->model, err);
}

static void refusals(void)
{
    Arena arena = { 0 };
    Quantize q = { .arena = &arena };
    Err err = { 0 };
    Small s;
    TEST("refusals");
    small_model(&s);
    CHECK(quantizes(&s, T_NONE, &q, &err) && q.products == 1 && q.model.graph.n_node == 5);
    s.opset.version = 10;
    CHECK(!quantizes(&s, T_NONE, &q, &err) && says(&err, "found 10, wanted 11"));
    s.opset.version = 12;
    CHECK(!quantizes(&s, T_BF16, &q, &err) && says(&err, "found 12, wanted 13"));
    small_model(&s);
    s.weight[7] = NAN;
    CHECK(!quantizes(&s, T_NONE, &q, &err) && says(&err, "w: found a weight that is not finite"));
    small_model(&s);
    s.init.t.dim[0] = 1, s.init.t.dim[1] = 16;
    CHECK(!quantizes(&s, T_NONE, &q, &err) && says(&err, "no float weight"));
    small_model(&s);
    s.node[0].op = STR("MatMulInteger");
    CHECK(!quantizes(&s, T_NONE, &q, &err) && says(&err, "quantized already"));
    small_model(&s); /* read by an operator that is not known: it stays */
    s.node[1] = s.node[0], s.node[1].op = STR("Relu"), s.node[1].in = &s.node[0].in[1];
    s.node[1].n_in = 1, s.node[1].out = (Str[]){ STR("z") }, s.model.graph.n_node = 2;
    CHECK(!quantizes(&s, T_NONE, &q, &err) && says(&err, "no float weight"));
    CHECK(quantizes(&s, T_F16, &q, &err) && q.model.graph.n_node == 3);
    small_model(&s); /* an old file names its weights as inputs */
    s.model.graph.in = (OnnxValue[]){ s.in, { .name = STR("w") } }, s.model.graph.n_in = 2;
    s.model.ir_version = 3;
    CHECK(quantizes(&s, T_NONE, &q, &err) && q.model.graph.n_in == 1 && q.model.ir_version == 4);
    CHECK(quantize_target("avx2") && !quantize_target("sse"));
    arena_free(&arena);
}

int main(void)
{
    if (!CHECK(mkdtemp(work))) return finish();
    answers();
    refusals();
    remove_tree(work);
    return finish();
}

/* SPDX-License-Identifier: Apache-2.0
 * test_onnx_read.c - the ONNX reader and writer: a model with one of everything (written by
 * tools/oracle/ops_reader.py), the same model after writing and reading again, and broken bytes. */
#include "base/file.h"
#include "check.h"
#include "data/wire.h"
#include "ops/ops.h"

static const OnnxTensor *init(const OnnxModel *m, const char *name)
{
    for (int i = 0; i < m->graph.n_init; i++)
        if (str_is(m->graph.init[i].name, name)) return &m->graph.init[i];
    static const OnnxTensor none;
    CHECK(!"initializer is there");
    return &none;
}

/* Weights are views into the file and need not be aligned: look at a copy. */
static double number(const OnnxModel *m, const char *name, int64_t at)
{
    const OnnxTensor *t = init(m, name);
    const size_t size = dtype_size(t->t.type);
    uint64_t aligned = 0;
    if (!t->t.data || at >= tensor_count(&t->t)) return -999;
    memcpy(&aligned, (const char *)t->t.data + (size_t)at * size, size);
    Tensor one = { .type = t->t.type, .data = &aligned };
    return tensor_get(&one, 0);
}

static void test_tensors(const OnnxModel *m)
{
    TEST("tensors");
    CHECK(m->graph.n_init == 16);
    CHECK(init(m, "f32")->t.type == T_F32 && init(m, "f32")->t.rank == 2 &&
          init(m, "f32")->t.dim[1] == 2);
    CHECK(number(m, "f32", 0) == 1.5 && number(m, "f32", 3) == (double)3e38f);
    CHECK(number(m, "i32", 1) == -2 && number(m, "i32", 2) == INT32_MAX);
    CHECK(number(m, "i8", 0) == -128 && number(m, "u8", 1) == 255);
    CHECK(number(m, "i16", 0) == -300 && number(m, "u16", 0) == 65535);
    CHECK(number(m, "bool", 0) == 0 && number(m, "bool", 2) == 1);
    CHECK(number(m, "f16", 0) == 1 && number(m, "f16", 1) == -2 && number(m, "bf16", 0) == 1);
    CHECK(number(m, "i64", 0) == -0x1p63 && number(m, "f64", 0) == 0.1);
    CHECK(number(m, "u32", 0) == UINT32_MAX && number(m, "u64", 0) == 0x1p64);
    CHECK(init(m, "empty")->t.data && tensor_count(&init(m, "empty")->t) == 0);
    CHECK(init(m, "raw")->t.rank == 0 && number(m, "raw", 0) == 7);
}

static void test_attributes(const OnnxNode *n)
{
    TEST("attributes");
    CHECK(n->n_in == 3 && n->in[1].n == 0 && n->n_out == 2 && str_is(n->out[0], "y"));
    CHECK(n->domain.n == 0 && str_is(n->name, "branch"));
    CHECK(onnx_float(n, "f", 0) == 1.5f && onnx_int(n, "i", 0) == -3);
    CHECK(str_is(onnx_string(n, "s", ""), "text") && str_is(onnx_string(n, "none", "d"), "d"));
    const OnnxAttr *a = onnx_attr(n, "fs");
    CHECK(a && a->type == A_FLOATS && a->n == 2 && a->floats[1] == 2);
    a = onnx_attr(n, "ii");
    CHECK(a && a->type == A_INTS && a->n == 2 && a->ints[1] == INT64_MIN);
    a = onnx_attr(n, "ss");
    CHECK(a && a->type == A_STRINGS && a->n == 2 && str_is(a->strings[0], "a") &&
          a->strings[1].n == 0);
    a = onnx_attr(n, "t");
    CHECK(a && a->type == A_TENSOR && str_is(a->t->name, "f32"));
    a = onnx_attr(n, "then_branch");
    CHECK(a && a->type == A_GRAPH && a->g->n_node == 1 && str_is(a->g->node[0].op, "Identity"));
    CHECK(a && a->g->out[0].rank == -1);
    CHECK(n->n_meta == 2 && str_is(n->meta[0].value, "/encoder/layer.0"));
}

static void test_rest(const OnnxModel *m)
{
    Arena arena = { 0 };
    TEST("model");
    CHECK(m->ir_version == 10 && str_is(m->producer, "oracle") &&
          str_is(m->producer_version, "1.0"));
    CHECK(m->n_opset == 2 && m->opset[0].version == 18 && str_is(m->opset[1].domain, "local"));
    const char *task = onnx_meta(m, &arena, "hf_task");
    CHECK(task && !strcmp(task, "feature-extraction") && !onnx_meta(m, &arena, "nothing"));
    const OnnxValue *x = &m->graph.in[0];
    CHECK(x->type == T_F32 && x->rank == 3 && x->dim[0] == DIM_UNKNOWN &&
          str_is(x->symbol[0], "batch"));
    CHECK(x->dim[1] == 3 && x->dim[2] == DIM_UNKNOWN && x->symbol[2].n == 0);
    CHECK(m->graph.out[0].rank == 0 && m->graph.out[0].type == T_I64);
    TEST("function");
    const OnnxFunction *f = m->function;
    if (CHECK(m->n_function == 1 && f->n_attr == 1 && f->n_otherwise == 1 && f->body.n_node == 1)) {
        CHECK(str_is(f->name, "Twice") && str_is(f->domain, "local") && str_is(f->in[0], "a"));
        CHECK(str_is(f->body.node[0].attr[0].ref, "alpha") && f->otherwise[0].f == 4);
    }
    arena_free(&arena);
}

/* ---- external data ---- */

static bool find_weights(void *context, Str location, Str *bytes, Err *err)
{
    if (!str_is(location, "weights.bin")) return fail(err, EF_NOT_FOUND, "no such file");
    *bytes = *(Str *)context;
    return true;
}

static void test_external(OnnxModel *m)
{
    TEST("external data");
    const float weights[] = { 1, 2, 3 };
    Str bytes = { (const char *)weights, 11 };
    Err err = { 0 };
    CHECK(init(m, "outside")->t.data == NULL && init(m, "outside")->offset == 4);
    CHECK(!onnx_attach(m, find_weights, &bytes, &err));
    CHECK(says(
        &err, "tensor 'outside': found bytes 4 to 12, wanted them inside the 11 of 'weights.bin'"));
    bytes.n = 12;
    CHECK(onnx_attach(m, find_weights, &bytes, &err) && number(m, "outside", 1) == 3);
}

/* ---- hostile bytes ---- */

static Str tensor_bytes_of(Buf *b, int type, int64_t dim, Str raw)
{
    b->n = 0;
    wire_put_int(b, 1, dim);
    wire_put_int(b, 2, type);
    wire_put_bytes(b, 9, raw);
    return buf_view(b);
}

static void test_hostile(Str file)
{
    TEST("hostile");
    Arena arena = { 0 };
    Buf b = { 0 };
    OnnxTensor t;
    OnnxModel m;
    Err err = { 0 };
    CHECK(!onnx_read_tensor(&arena, tensor_bytes_of(&b, T_F32, 3, STR("12345678")), &t, &err));
    CHECK(says(&err, "found 8 bytes, wanted 12 for float[3]") && err.code == EF_BAD_MODEL);
    CHECK(!onnx_read_tensor(&arena, tensor_bytes_of(&b, T_F32, -3, STR("1234")), &t, &err));
    CHECK(says(&err, "negative dimension"));
    CHECK(!onnx_read_tensor(&arena, tensor_bytes_of(&b, T_F32, INT64_MAX, STR("1234")), &t, &err));
    CHECK(!onnx_read_tensor(&arena, tensor_bytes_of(&b, T_STR, 1, STR("1234")), &t, &err));
    CHECK(says(&err, "found element type string"));
    CHECK(!onnx_read(&arena, (Str){ 0 }, &m, &err) && says(&err, "wanted an ONNX model"));
    for (size_t n = 0; n < file.n;
         n++) { /* cut off anywhere: an error or a smaller model, never a crash */
        char *cut = arena_alloc(&arena, n + 1);
        memcpy(cut, file.p, n);
        onnx_read(&arena, (Str){ cut, n }, &m, &err);
        arena_reset(&arena, 1 << 16);
    }
    Str inside = STR("");
    Buf deep[2] = { { 0 }, { 0 } }; /* graph in attribute in node in graph ... */
    for (int i = 0; i < 198; i++) {
        static const int fields[] = { 6, 5, 1 }; /* attribute.g, node.attribute, graph.node */
        Buf *to = &deep[i % 2];
        to->n = 0;
        wire_put_bytes(to, fields[i % 3], inside);
        inside = buf_view(to);
    }
    b.n = 0;
    wire_put_bytes(&b, 7, inside);
    CHECK(!onnx_read(&arena, buf_view(&b), &m, &err) && says(&err, "graphs nested deeper than 16"));
    for (int i = 0; i < 2; i++) buf_free(&deep[i]);
    buf_free(&b);
    arena_free(&arena);
}

static void test_halves(void)
{
    TEST("16-bit floats");
    bool same = true;
    for (uint32_t h = 0; h < 65536; h++) {
        const bool nan16 = (h & 0x7C00) == 0x7C00 && h & 0x3FF,
                   nan_b = (h & 0x7F80) == 0x7F80 && h & 0x7F;
        same = same && (nan16 || f32_to_f16(f16_to_f32((uint16_t)h)) == h);
        same = same && (nan_b || f32_to_bf16(bf16_to_f32((uint16_t)h)) == h);
    }
    CHECK(same);
    CHECK(f32_to_f16(65519.0f) == 0x7BFF && f32_to_f16(65520.0f) == 0x7C00 &&
          f32_to_f16(0x1p-25f) == 0);
    CHECK(f32_to_f16(0x1.8p-24f) == 2 && f32_to_f16(1.00048828125f) == 0x3C00 &&
          f32_to_f16(-0.0f) == 0x8000);
    CHECK(f16_to_f32(f32_to_f16(NAN)) != f16_to_f32(f32_to_f16(NAN)));
}

int main(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Str file;
    OnnxModel model, again;
    if (!CHECK(file_read(&arena, "tests/golden/ops/reader.onnx", 1 << 20, &file, &err)))
        return finish();
    if (!CHECK(onnx_read(&arena, file, &model, &err))) return puts(err.message), finish();
    Buf written = { 0 };
    onnx_write(&written, &model);
    CHECK(onnx_read(&arena, buf_view(&written), &again, &err));
    for (int i = 0; i < 2; i++) {
        OnnxModel *m = i ? &again : &model;
        test_tensors(m);
        if (CHECK(m->graph.n_node == 2)) test_attributes(&m->graph.node[0]);
        test_rest(m);
    }
    test_external(&model);
    test_hostile(file);
    test_halves();
    buf_free(&written);
    arena_free(&arena);
    return finish();
}

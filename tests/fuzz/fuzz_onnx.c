/* SPDX-License-Identifier: Apache-2.0
 * fuzz_onnx.c - a stranger's ONNX file: read, write, read again; then every node whose inputs
 * are known (initializers and what came out before) is asked for its shape and, while small,
 * run. */
#include "ops/ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_NODES = 64, MAX_IO = 16, MAX_ELEMENTS = 2048 };

static bool is_small(const Tensor *t)
{
    return tensor_count(t) <= MAX_ELEMENTS;
}

static void know_initializers(const OnnxGraph *g, Map *known, Arena *arena)
{
    for (int i = 0; i < g->n_init; i++) {
        const Tensor *from = &g->init[i].t;
        if (!from->data || !is_small(from)) continue;
        Tensor *t = NEW(arena, Tensor);
        *t = *from;
        t->data = arena_raw(arena, tensor_bytes(t) + 1);
        if (tensor_bytes(t)) memcpy(t->data, from->data, tensor_bytes(t));
        map_put(known, arena, g->init[i].name, t);
    }
}

static void run_node(const OnnxModel *m, const OnnxNode *n, Map *known, Arena *arena)
{
    const Tensor *in[MAX_IO];
    Tensor *out = ARRAY(arena, Tensor, MAX_IO);
    int64_t opset = 0;
    Err err = { 0 };
    if (n->n_in > MAX_IO || n->n_out > MAX_IO) return;
    if (str_is(n->op, "Einsum") && n->n_in > 2)
        return; /* right, but slow: every letter is a loop */
    for (int i = 0; i < m->n_opset; i++)
        if (str_eq(m->opset[i].domain, n->domain)) opset = m->opset[i].version;
    const Op *op = op_find(n->domain, n->op, opset);
    for (int i = 0; i < n->n_in; i++) {
        in[i] = map_get(known, n->in[i]);
        if (n->in[i].n && !in[i]) return;
    }
    OpCall call = { .node = n,
                    .opset = (int)MIN(MAX(opset, 0), 1000),
                    .n_in = n->n_in,
                    .n_out = n->n_out,
                    .in = in,
                    .out = out,
                    .k = kernels(),
                    .scratch = arena };
    if (!op || !op_shape(op, &call, &err)) return;
    for (int i = 0; i < n->n_out; i++) {
        if (!is_small(&out[i])) return;
        out[i].data = memset(arena_raw(arena, tensor_bytes(&out[i]) + 1), 0, tensor_bytes(&out[i]));
    }
    if (!op->run(&call, &err)) return;
    for (int i = 0; i < n->n_out; i++) map_put(known, arena, n->out[i], &out[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Err err = { 0 };
    OnnxModel model, again;
    if (onnx_read(&arena, (Str){ (const char *)data, size }, &model, &err)) {
        Buf written = { 0 };
        onnx_write(&written, &model);
        onnx_read(&arena, buf_view(&written), &again, &err);
        buf_free(&written);
        Map known = { 0 };
        know_initializers(&model.graph, &known, &arena);
        for (int i = 0; i < MIN(model.graph.n_node, MAX_NODES); i++)
            run_node(&model, &model.graph.node[i], &known, &arena);
    }
    arena_free(&arena);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * fuzz_graph.c - an ONNX file of a stranger all the way: read, resolved, optimized, planned, run on two
 * short rows; in the exact tier (first byte even) or fused. */
#include "engine/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(Arena *arena, Graph *g)
{
    Err err = { 0 };
    Engine *engine;
    if (!g->n_output || !engine_new(arena, g, &g->value[g->output[0]].name, 1, &engine, &err)) return;
    static const int32_t start[] = { 0, 3, 5 }, ids[] = { 1, 2, 3, 4, 5 };
    Batch batch = { 2, start, ids, NULL };
    RowOutput out[2];
    Runner *runner = runner_new(engine, NULL);
    runner_run(runner, &batch, out, &err);
    runner_free(runner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    Arena arena = { 0 };
    Err err = { 0 };
    OnnxModel model;
    Graph *g;
    Str file = { (const char *)data + 1, size - 1 };
    if (onnx_read(&arena, file, &model, &err) && graph_from_onnx(&arena, &model, &g, &err) &&
        graph_optimize(g, data[0] % 2 == 0, &err))
        run(&arena, g);
    arena_free(&arena);
    return 0;
}

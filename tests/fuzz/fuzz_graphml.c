/* SPDX-License-Identifier: Apache-2.0
 * fuzz_graphml.c - any bytes as GraphML: a model that is accepted can be written as ONNX and read
 * back. A zero byte parts the XML from the file of parameters; without one the XML holds them. */
#include <stdlib.h>

#include "export/graphml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

static void try_read(Str xml, Str params, bool strict)
{
    Arena arena = { 0 };
    OnnxModel model, again;
    Err err = { 0 };
    GraphmlImport in = { .strict = strict };
    if (graphml_parse(&arena, xml, params, &in, &model, &err)) {
        Buf bytes = { 0 };
        onnx_write(&bytes, &model);
        if (model.graph.n_node || model.graph.n_out) {
            must(onnx_read(&arena, buf_view(&bytes), &again, &err));
            must(again.graph.n_node == model.graph.n_node);
            must(again.graph.n_init == model.graph.n_init);
        }
        must(!strict || onnx_check(&arena, &model, &err));
        buf_free(&bytes);
    } else {
        must(err.code != EF_OK && err.message[0]);
    }
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t n = zero ? (size_t)(zero - data) : size;
    Str xml = { (const char *)data, n }, params = { 0 };
    if (zero) params = (Str){ (const char *)zero + 1, size - n - 1 };
    try_read(xml, params, false);
    try_read(xml, params, true);
    return 0;
}

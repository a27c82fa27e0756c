/* SPDX-License-Identifier: Apache-2.0
 * fuzz_onnx_write.c - whatever the reader takes, the writers give back: written, read and written
 * again it is the same bytes, and the streamed file says the same. Quantizing it ends in an error or
 * in a file that is read again. */
#include <stdlib.h>

#include "export/quantize.h"
#include "export/quantize_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

static bool no_file(void *context, Str location, Str *bytes, Err *err)
{
    (void)context, (void)location, (void)bytes;
    return fail(err, EF_NOT_FOUND, "external data");
}

/* Never asked for: all that was read has its data. */
static bool no_pour(void *context, const OnnxTensor *t, FileWriter *to, Err *err)
{
    (void)context, (void)to;
    return tensor_bytes(&t->t) == 0 || fail(err, EF_BAD_MODEL, "no data");
}

/* The file in memory, read again. */
static bool reread(Arena *arena, const OnnxModel *m, OnnxPour *pour, void *context, Mapping *file,
                   OnnxModel *again)
{
    FileWriter w;
    Err err = { 0 };
    must(writer_open_memory(&w, &err));
    if (!onnx_write_file(&w, m, pour, context, &err)) return writer_abort(&w), false;
    must(writer_map(&w, file, &err));
    must(onnx_read(arena, (Str){ (const char *)file->p, file->n }, again, &err));
    return true;
}

static bool same(const Buf *a, const Buf *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

static void round_trip(Arena *arena, const OnnxModel *m)
{
    Buf once = { 0 }, twice = { 0 }, streamed = { 0 };
    Mapping file = { 0 };
    OnnxModel again;
    Err err = { 0 };
    onnx_write(&once, m);
    must(onnx_read(arena, buf_view(&once), &again, &err));
    onnx_write(&twice, &again);
    must(same(&once, &twice));
    if (reread(arena, m, no_pour, NULL, &file, &again)) {
        onnx_write(&streamed, &again);
        must(same(&once, &streamed));
    }
    file_unmap(&file);
    buf_free(&once), buf_free(&twice), buf_free(&streamed);
}

static void quantize(Arena *arena, const OnnxModel *m, const char *target, DType half)
{
    Quantize q = { .arena = arena, .half = half };
    Mapping file = { 0 };
    OnnxModel again;
    Err err = { 0 };
    if (target) q.target = quantize_target(target);
    if (!quantize_model(&q, m, &err)) {
        must(err.code != EF_OK && err.message[0]);
        return;
    }
    must(reread(arena, &q.model, quantize_pour, &q, &file, &again));
    file_unmap(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Err err = { 0 };
    OnnxModel model;
    if (onnx_read(&arena, (Str){ (const char *)data, size }, &model, &err)) {
        round_trip(&arena, &model);
        if (onnx_attach(&model, no_file, NULL, &err)) {
            quantize(&arena, &model, "avx512_vnni", T_NONE);
            quantize(&arena, &model, "avx2", T_NONE);
            quantize(&arena, &model, NULL, T_BF16);
        }
    }
    arena_free(&arena);
    return 0;
}

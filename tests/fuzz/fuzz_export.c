/* SPDX-License-Identifier: Apache-2.0
 * fuzz_export.c - a stranger's checkpoint: config.json up to the first zero byte, model.safetensors
 * behind it. Every head of the architecture it names is written; what succeeds is an ONNX file that
 * is read again. */
#include <stdlib.h>

#include "data/json.h"
#include "export/arch.h"
#include "export/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

static void write_again(Arena *arena, Builder *b)
{
    OnnxOpset opset = { .version = b->opset };
    OnnxModel m = { .ir_version = 8, .opset = &opset, .n_opset = 1, .graph = b->graph }, again;
    FileWriter w;
    Mapping file = { 0 };
    Err err = { 0 };
    must(writer_open_memory(&w, &err));
    must(onnx_write_file(&w, &m, weights_pour, b, &err) && writer_map(&w, &file, &err));
    must(onnx_read(arena, (Str){ (const char *)file.p, file.n }, &again, &err));
    must(again.graph.n_node == b->graph.n_node && again.graph.n_init == b->graph.n_init);
    file_unmap(&file);
}

static void export_head(const Arch *arch, Head head, const Value *config, Safetensors *s)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Builder b = { .arena = &arena, .opset = 14 + 3 * (head % 3), .weights = s,
                  .base = head ? arch->base : "", .prefix = arch->base, .modules = arch->modules,
                  .head_modules = arch->head_modules[head], .family = arch->family, .tags = true,
                  .root_class = "Model", .stored = head % 2 ? T_F32 : T_F16,
                  .contrib = head == HEAD_TOKEN };
    Encoder m = { .b = &b, .arch = arch, .head = head };
    weights_rename(&arena, s, arch->renames);
    if (encoder_configure(&m, config, &err) && encoder_write(&m, &err)) write_again(&arena, &b);
    else must(err.code != EF_OK && err.message[0]);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Value config;
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t n = zero ? (size_t)(zero - data) : size;
    if (zero && json_parse(&arena, (Str){ (const char *)data, n }, &config, &err)) {
        const Arch *arch = arch_find(value_str(value_get(&config, "model_type"), STR("")));
        for (Head head = 0; arch && head < HEAD_COUNT; head++) {
            Safetensors s;
            if (head && !arch->steps[head]) continue;
            if (safetensors_read(&arena, (Str){ (const char *)zero + 1, size - n - 1 }, &s, &err))
                export_head(arch, head, &config, &s);
        }
    }
    arena_free(&arena);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * fuzz_metadata.c - any bytes as an ONNX file: what its metadata_props say is read, told and judged.
 * A first byte of 0xff stands for "the rest is one value": a whole file is put around it, so that
 * compressed values are reached without a protobuf to guess. */
#include <stdlib.h>

#include "data/wire.h"
#include "export/hf_parts.h"
#include "export/hf_task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

static void judge(Str file)
{
    Arena arena = { 0 };
    HfMetadata m;
    Err err = { 0 };
    const char *problem[8];
    if (hf_metadata_read(&arena, file, &m, &err)) {
        must((m.state == HF_REFUSED || m.state == HF_DAMAGED) == (m.why != NULL));
        must(m.state != HF_GOOD || hf_metadata_get(&m, "hf_metadata_version").n);
        int n = hf_metadata_problems(&arena, &m, problem, 8);
        for (int i = 0; i < n; i++) must(problem[i][0]);
        size_t bytes = 0;
        for (int i = 0; i < m.n; i++) bytes += m.item[i].value.n;
        must(m.state != HF_GOOD || bytes <= 64 << 20);
        Value v = hf_metadata_value(&arena, &m);
        must(v.map.n == (size_t)m.n);
        must(hf_task_detect(value_get(&v, "model_config"), NULL) != NULL);
    } else {
        must(err.code != EF_OK && err.message[0]);
    }
    arena_free(&arena);
}

static void add(Buf *file, Str key, Str value)
{
    Buf pair = { 0 };
    wire_put_bytes(&pair, 1, key);
    wire_put_bytes(&pair, 2, value);
    wire_put_bytes(file, 14, buf_view(&pair));
    buf_free(&pair);
}

/* The value behind three keys that read it differently. */
static void around(Str value)
{
    static const char *const keys[] = { "hf_model_config", "hf_processor_config:compressed",
                                        "hf_tokenizer" };
    for (size_t i = 0; i < COUNT(keys); i++) {
        Buf file = { 0 };
        wire_put_bytes(&file, 7, STR(""));
        add(&file, STR("hf_metadata_version"), STR("2.0"));
        add(&file, str_of(keys[i]), value);
        if (i == 2) add(&file, STR("hf_metadata_compressed"), STR("true"));
        judge(buf_view(&file));
        buf_free(&file);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str all = { (const char *)data, size };
    if (size && data[0] == 0xff) around((Str){ all.p + 1, all.n - 1 });
    else judge(all);
    return 0;
}

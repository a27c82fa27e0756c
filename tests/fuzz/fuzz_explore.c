/* SPDX-License-Identifier: Apache-2.0
 * fuzz_explore.c - an ONNX file of a stranger as `explore` shows it: whatever can be read gives valid JSON, whether it
 * runs or not. The command takes paths, so the bytes go through a file. */
#include <stdlib.h>
#include <unistd.h>

#include "data/json.h"
#include "model/exploring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Value root;
    const char *path = str_format(&arena, "/tmp/fuzz-explore-%d.onnx", (int)getpid());
    Exploring x = { .path = path, .length = 5 };
    if (!file_write(&arena, path, (Str){ (const char *)data, size }, &err)) abort();
    if (exploring_run(&arena, &x, &err) && !json_parse(&arena, x.json, &root, &err)) abort();
    remove(path);
    arena_free(&arena);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * fuzz_yaml.c - any bytes as YAML: refused with a line, or a tree that JSON can hold. */
#include <stdlib.h>

#include "data/json.h"
#include "data/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Value tree, again;
    Err err = { 0 };
    Buf b = { 0 };
    if (yaml_parse(&arena, (Str){ (const char *)data, size }, &tree, &err)) {
        json_write(&b, &tree);
        if (!json_parse(&arena, buf_view(&b), &again, &err)) abort();
    } else if (err.code != EF_TOO_LARGE && strncmp(err.message, "line ", 5)) {
        abort();
    }
    buf_free(&b);
    arena_free(&arena);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * fuzz_yaml.c - any bytes as YAML: refused with a line, or a tree that JSON can hold; and as the
 * settings of a build, which are refused by name or can be used. */
#include <stdlib.h>

#include "api/build.h"
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
    BuildConfig config;
    ModelSource source;
    if (build_read_text(&arena, "nowhere/config.yml", (Str){ (const char *)data, size }, &config, &err))
        build_settings(&arena, &config, &source, &err);
    buf_free(&b);
    arena_free(&arena);
    return 0;
}

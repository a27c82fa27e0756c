/* SPDX-License-Identifier: Apache-2.0
 * fuzz_multipart.c - a Content-Type up to the first line's end, then a body: parts are views of the body, one
 * behind the other. */
#include <stdlib.h>

#include "data/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Err err = { 0 };
    const char *text = (const char *)data, *end = size ? memchr(text, '\n', size) : NULL;
    Str type = { text, end ? (size_t)(end - text) : size }, boundary;
    Str body = { text + type.n + (end != NULL), size - type.n - (end != NULL) };
    FormPart *part;
    size_t n;
    if (multipart_boundary(type, &boundary, &err) &&
        multipart_read(&arena, body, boundary, 100, &part, &n, &err)) {
        const char *at = body.p;
        for (size_t i = 0; i < n; i++) {
            must(part[i].name.p && part[i].bytes.p >= at);
            at = part[i].bytes.p + part[i].bytes.n;
            must(at <= body.p + body.n);
        }
    } else {
        must(err.code == EF_BAD_REQUEST || err.code == EF_TOO_LARGE);
    }
    arena_free(&arena);
    return 0;
}

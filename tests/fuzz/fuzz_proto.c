/* SPDX-License-Identifier: Apache-2.0
 * fuzz_proto.c - any bytes: whatever is read must be written, read again, and then be written the
 * same. */
#include <stdlib.h>

#include "data/proto.h"
#include "proto_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 10000 };
    Arena arena = { 0 };
    Value tree;
    Err err = { 0 };
    Buf first = { 0 }, second = { 0 };
    if (proto_read(&arena, (Str){ (const char *)data, size }, proto_all, MOST, &tree, &err)) {
        proto_write(&first, &tree, proto_all);
        must(proto_read(&arena, buf_view(&first), proto_all, MOST, &tree, &err));
        proto_write(&second, &tree, proto_all);
        must(str_eq(buf_view(&first), buf_view(&second)));
    } else {
        must(err.code == EF_BAD_REQUEST || err.code == EF_TOO_LARGE);
    }
    buf_free(&first);
    buf_free(&second);
    arena_free(&arena);
    return 0;
}

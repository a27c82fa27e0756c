/* SPDX-License-Identifier: Apache-2.0
 * fuzz_csv.c - any bytes as a record: fields that were read and written again are the same fields. */
#include <stdlib.h>

#include "data/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Buf b = { 0 };
    Err err = { 0 };
    Str *first, *second;
    size_t n, again;
    if (csv_read(&arena, (Str){ (const char *)data, size }, &first, &n, &err)) {
        for (size_t i = 0; i < n; i++) {
            if (i) buf_char(&b, ',');
            csv_write(&b, first[i]);
        }
        must(!csv_open_ended(buf_view(&b)) && csv_read(&arena, buf_view(&b), &second, &again, &err) && n == again);
        for (size_t i = 0; i < n; i++) must(str_eq(first[i], second[i]));
    } else {
        must(err.code == EF_INVALID_INPUT);
    }
    buf_free(&b);
    arena_free(&arena);
    return 0;
}

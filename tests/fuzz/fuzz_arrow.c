/* SPDX-License-Identifier: Apache-2.0
 * fuzz_arrow.c - any bytes as an Arrow stream or file: values that are handed out can be read. */
#include <stdlib.h>

#include "data/arrow_form.h"
#include "data/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool pull(void *context, void *to, size_t room, size_t *got, Err *err)
{
    Str *left = context;
    (void)err;
    *got = MIN(room, left->n);
    memcpy(to, left->p, *got);
    left->p += *got, left->n -= *got;
    return true;
}

static void read_all(Arena *arena, BatchReader *r, Err *err)
{
    enum { ROWS = 50, BATCHES = 10 };
    ArrowBatch batch;
    Arena scratch = { 0 };
    bool more = true;
    for (int i = 0; i < r->fields->n; i++) batches_want(r, i);
    for (int b = 0; b < BATCHES && batches_next(r, arena, &batch, &more, err) && more; b++)
        for (int64_t row = 0; row < batch.rows && row < ROWS; row++)
            for (int i = 0; i < r->fields->n; i++) {
                Buf text = { .arena = &scratch };
                Value v = arrow_value(&scratch, &batch.column[i], row);
                json_write(&text, &v);
                arena_reset(&scratch, 1 << 20);
            }
    arena_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Err err = { 0 };
    BatchReader *r;
    Str bytes = { (const char *)data, size };
    bool ok = str_starts(bytes, "ARROW1") ? arrow_open_file(&arena, bytes, &r, &err)
                                          : arrow_open_stream(&arena, pull, &bytes, &r, &err);
    if (ok) read_all(&arena, r, &err);
    else if (!err.message[0]) abort();
    batches_close(r);
    arena_free(&arena);
    return 0;
}

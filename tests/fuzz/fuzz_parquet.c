/* SPDX-License-Identifier: Apache-2.0
 * fuzz_parquet.c - any bytes as a Parquet file: values that are handed out can be read, and what is written of them
 * reads back as the same. */
#include <stdlib.h>

#include "data/json.h"
#include "data/parquet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
enum { ROWS = 50, BATCHES = 4, WRITTEN_MOST = 4 << 20 };

static bool put(void *context, Str bytes, Err *err)
{
    Buf *b = context;
    if (b->n + bytes.n > WRITTEN_MOST) return fail(err, EF_TOO_LARGE, "enough");
    return buf_str(b, bytes), true;
}

static void put_values(Buf *text, const BatchReader *r, const ArrowBatch *batch, int64_t most)
{
    Arena scratch = { 0 };
    for (int64_t row = 0; row < batch->rows && row < most; row++)
        for (int i = 0; i < r->fields->n; i++) {
            Value v = arrow_value(&scratch, &batch->column[i], row);
            json_write(text, &v);
            arena_reset(&scratch, 1 << 20);
        }
    arena_free(&scratch);
}

/* The first rows as text, and written again: true if that went well. */
static bool read_some(Arena *arena, BatchReader *r, Buf *text, BatchWriter *w)
{
    Err err = { 0 };
    bool more = true, whole = true;
    for (int i = 0; i < r->fields->n; i++) batches_want(r, i);
    for (int b = 0; b < BATCHES && more; b++) {
        ArrowBatch batch;
        if (!batches_next(r, arena, &batch, &more, &err)) {
            if (!err.message[0]) abort();
            break;
        }
        if (!more) break;
        put_values(text, r, &batch, ROWS);
        if (w && whole) whole = parquet_add_rows(w, &batch, 0, MIN(batch.rows, ROWS), &err);
    }
    return w && whole && batches_end(w, &err);
}

static void check_again(Str bytes, Str text)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Buf found = { 0 };
    BatchReader *r = NULL;
    const bool open = parquet_open_file(&arena, bytes, &r, &err);
    if (!open && !strstr(err.message, "too deep")) abort(); /* our lists have a group more than some */
    for (int i = 0; open && i < r->fields->n; i++) batches_want(r, i);
    for (bool more = open; more;) {
        ArrowBatch batch;
        if (!batches_next(r, &arena, &batch, &more, &err)) abort();
        if (more) put_values(&found, r, &batch, INT64_MAX);
    }
    if (open && !str_eq(buf_view(&found), text)) abort();
    batches_close(r);
    buf_free(&found);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Buf text = { 0 }, written = { 0 };
    BatchReader *r = NULL;
    BatchWriter *w = NULL;
    if (parquet_open_file(&arena, (Str){ (const char *)data, size }, &r, &err)) {
        if (!parquet_create_file(&arena, r->fields, &(BatchOut){ put, &written }, &w, &err)) batches_drop(w), w = NULL;
        if (read_some(&arena, r, &text, w)) check_again(buf_view(&written), buf_view(&text));
    } else if (!err.message[0]) abort();
    batches_drop(w);
    batches_close(r);
    buf_free(&text);
    buf_free(&written);
    arena_free(&arena);
    return 0;
}

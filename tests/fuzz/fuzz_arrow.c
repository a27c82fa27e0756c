/* SPDX-License-Identifier: Apache-2.0
 * fuzz_arrow.c - any bytes as an Arrow stream or file: values that are handed out can be read, and what is written of
 * them reads back as the same. */
#include <stdlib.h>

#include "data/arrow_form.h"
#include "data/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
enum { ROWS = 50, BATCHES = 10, WRITTEN_MOST = 4 << 20 };

static bool pull(void *context, void *to, size_t room, size_t *got, Err *err)
{
    Str *left = context;
    (void)err;
    *got = MIN(room, left->n);
    memcpy(to, left->p, *got);
    left->p += *got, left->n -= *got;
    return true;
}

static bool put(void *context, Str bytes, Err *err)
{
    Buf *b = context;
    if (b->n + bytes.n > WRITTEN_MOST) return fail(err, EF_TOO_LARGE, "enough");
    return buf_str(b, bytes), true;
}

static void put_values(Buf *text, const BatchReader *r, const ArrowBatch *batch)
{
    Arena scratch = { 0 };
    for (int64_t row = 0; row < batch->rows && row < ROWS; row++)
        for (int i = 0; i < r->fields->n; i++) {
            const char *what;
            if (!arrow_can_read(&r->fields->field[i], &what)) continue;
            Value v = arrow_value(&scratch, &batch->column[i], row);
            json_write(text, &v);
            arena_reset(&scratch, 1 << 20);
        }
    arena_free(&scratch);
}

/* As text; and, where there is a writer, written again. */
static bool read_all(Arena *arena, BatchReader *r, Buf *text, BatchWriter *w, Err *err)
{
    ArrowBatch batch;
    Err full;
    bool more = true, whole = true, ok = true;
    const char *what;
    for (int i = 0; i < r->fields->n; i++) {
        if (!arrow_can_read(&r->fields->field[i], &what)) whole = false; /* it cannot be written */
        else batches_want(r, i);
    }
    for (int b = 0; ok && b < BATCHES; b++) {
        ok = batches_next(r, arena, &batch, &more, err) && more;
        if (!ok) break;
        put_values(text, r, &batch);
        if (w && whole) whole = batches_add(w, &batch, &full);
    }
    return whole && (!w || batches_end(w, &full));
}

static void check_again(Str bytes, Str text)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Buf again = { 0 };
    BatchReader *r;
    if (!arrow_open_stream(&arena, pull, &bytes, &r, &err)) abort();
    read_all(&arena, r, &again, NULL, &err);
    if (err.message[0] || again.n != text.n || (text.n && memcmp(again.p, text.p, text.n) != 0)) abort();
    batches_close(r);
    buf_free(&again);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Buf text = { 0 }, written = { 0 };
    BatchReader *r;
    BatchWriter *w = NULL;
    const BatchOut out = { .put = put, .context = &written };
    Str bytes = { (const char *)data, size };
    bool ok = str_starts(bytes, "ARROW1") ? arrow_open_file(&arena, bytes, &r, &err)
                                          : arrow_open_stream(&arena, pull, &bytes, &r, &err);
    if (!ok && !err.message[0]) abort();
    if (ok) ok = arrow_create_stream(&arena, r->fields, &out, &w, &err) && read_all(&arena, r, &text, w, &err);
    if (ok) check_again(buf_view(&written), buf_view(&text));
    batches_drop(w);
    batches_close(r);
    buf_free(&text), buf_free(&written);
    arena_free(&arena);
    return 0;
}

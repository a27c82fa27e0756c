/* SPDX-License-Identifier: Apache-2.0
 * test_data_parquet.c - Parquet files of five writers against their values, and what is broken.
 *
 *   test_data_parquet turn IN OUT [IN OUT ...]   reads each IN and writes its columns to OUT: for the oracle */
#include "base/file.h"
#include "check.h"
#include "data/parquet.h"

/* ---- for the oracle ---- */
static bool turn_put(void *context, Str bytes, Err *err)
{
    return writer_add(context, bytes.p, bytes.n, err);
}

static bool turn_batches(Arena *arena, BatchReader *r, FileWriter *to, bool gzip, Err *err)
{
    BatchWriter *w;
    ArrowBatch batch;
    bool more = true, ok = parquet_create_file(arena, r->fields, &(BatchOut){ turn_put, to, .gzip = gzip }, &w, err);
    for (int i = 0; i < r->fields->n; i++) batches_want(r, i);
    r->forget = file_forget;
    while (ok && more) {
        Arena rows = { 0 };
        ok = batches_next(r, &rows, &batch, &more, err) && (!more || batches_add(w, &batch, err));
        arena_free(&rows);
    }
    ok = ok && batches_end(w, err);
    batches_drop(w);
    return ok;
}

static bool turn_file(const char *in, const char *out, bool gzip, Err *err)
{
    Arena arena = { 0 };
    Mapping map = { 0 };
    BatchReader *r = NULL;
    FileWriter to;
    bool ok = file_map(in, &map, err) && parquet_open_file(&arena, (Str){ (const char *)map.p, map.n }, &r, err) &&
              writer_open(&to, &arena, out, 0644, err);
    if (ok && !(ok = turn_batches(&arena, r, &to, gzip, err))) writer_abort(&to);
    ok = ok && writer_commit(&to, err);
    batches_close(r);
    file_unmap(&map);
    arena_free(&arena);
    return ok;
}

static int turn_main(int argc, char **argv)
{
    int status = 0;
    for (int i = 2; i + 1 < argc; i += 2) {
        Err err = { 0 };
        if (turn_file(argv[i], argv[i + 1], i / 2 % 2 == 0, &err)) continue;
        printf("%s: %s\n", argv[i], err.message);
        status = 1;
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "turn") == 0) return turn_main(argc, argv);
    return finish();
}

/* SPDX-License-Identifier: Apache-2.0
 * batches.c - the forms of tables. */
#include "batches.h"

#include "arrow_form.h"
#include "csv_form.h"
#include "npy_form.h"
#include "parquet.h"

const BatchForm batch_form_arrow = {
    .name = "arrow",
    .file = { "ARROW1\0\0", 8 },
    .stream = { "\xff\xff\xff\xff", 4 },
    .endings = { ".arrow", ".feather", ".ipc", ".arrows" },
    .open_file = arrow_open_file,
    .open_stream = arrow_open_stream,
    .create_file = arrow_create_file,
    .create_stream = arrow_create_stream,
};

const BatchForm batch_form_parquet = {
    .name = "parquet",
    .file = { "PAR1", 4 },
    .encrypted = { "PARE", 4 },
    .endings = { ".parquet", ".pq" },
    .end_needed = true,
    .open_file = parquet_open_file,
    .create_file = parquet_create_file,
};

const BatchForm batch_form_csv = {
    .name = "csv", .endings = { ".csv" }, .create_file = csv_create, .create_stream = csv_create,
};
const BatchForm batch_form_npy = {
    .name = "npy", .endings = { ".npy" }, .end_needed = true, .create_file = npy_create,
};

const BatchForm *const batch_forms[] = { &batch_form_arrow, &batch_form_parquet, &batch_form_csv, &batch_form_npy,
                                         NULL };

const BatchForm *batch_form_named(Str name)
{
    for (size_t i = 0; batch_forms[i]; i++)
        if (str_is(name, batch_forms[i]->name)) return batch_forms[i];
    return NULL;
}

const BatchForm *batch_form_of_path(Str path)
{
    for (size_t i = 0; batch_forms[i]; i++)
        for (size_t k = 0; batch_forms[i]->endings[k]; k++)
            if (str_ends_any_case(path, batch_forms[i]->endings[k])) return batch_forms[i];
    return NULL;
}

static bool begins_with(Str head, Str magic)
{
    return magic.n && head.n >= magic.n && memcmp(head.p, magic.p, magic.n) == 0;
}

bool batch_form_begins(Str head)
{
    const Str few = { head.p, MIN(head.n, (size_t)4) };
    for (size_t i = 0; few.n == 4 && batch_forms[i]; i++)
        if (batch_forms[i]->file.n && memcmp(few.p, batch_forms[i]->file.p, few.n) == 0) return true;
    return false;
}

const BatchForm *batch_form_of_bytes(Str head, bool *stream)
{
    for (size_t i = 0; batch_forms[i]; i++) {
        *stream = begins_with(head, batch_forms[i]->stream);
        if (*stream || begins_with(head, batch_forms[i]->file)) return batch_forms[i];
    }
    return NULL;
}

bool batch_form_encrypted(const BatchForm *form, Str head)
{
    return begins_with(head, form->encrypted);
}

/* SPDX-License-Identifier: Apache-2.0
 * map_resume.c - see map_resume.h. */
#include "cli/map_resume.h"

#include <errno.h>
#include <unistd.h>

#include "data/arrow_form.h"

typedef struct MapResume {
    MapOutput *o;
    const MapAgain *again;
    Mapping file;
    ArrowResumed found;
    size_t at;               /* bytes of the file that the reader has taken */
    BatchReader *before;     /* of the batches that are there */
    ArrowBatch batch;        /* the one at hand */
    Arena arena, rows, record; /* of the reader, of its batch, of a record */
} MapResume;

/* ---- what is there ---- */
static bool resume_pull(void *resume, void *to, size_t room, size_t *got, Err *err)
{
    MapResume *r = resume;
    (void)err; /* there is nothing to fail */
    *got = MIN(room, r->file.n - r->at);
    memcpy(to, r->file.p + r->at, *got);
    r->at += *got;
    return true;
}

static bool open_before(MapResume *r, Err *err)
{
    const Str file = { (const char *)r->file.p, r->file.n }, magic = batch_form_arrow.file;
    if (str_starts(file, "ARROW1")) r->at = magic.n; /* a stream follows */
    if (!arrow_open_stream(&r->arena, resume_pull, r, &r->before, err)) return false;
    for (int i = 0; i < r->before->fields->n; i++) batches_want(r->before, i);
    return true;
}

static Str pair_of(const ArrowFields *fields, const char *key)
{
    for (int i = 0; i < fields->pairs; i++)
        if (str_is(fields->pair[i].key, key)) return fields->pair[i].value;
    return (Str){ 0 };
}

/* Its front is not that of this run: why not? */
static bool tell_difference(MapResume *r, Err *err)
{
    static const char *const facts[][2] = {
        { "encoderfile.model", "another model" }, { "encoderfile.options", "other options" },
    };
    const ArrowFields *now = &r->o->table.fields;
    Err ignored;
    if (!open_before(r, &ignored)) return fail(err, EF_INVALID_INPUT, "found no table of `map`");
    for (size_t i = 0; i < COUNT(facts); i++)
        if (!str_eq(pair_of(r->before->fields, facts[i][0]), pair_of(now, facts[i][0])))
            return fail(err, EF_INVALID_INPUT, "found a table that %s began, wanted the same", facts[i][1]);
    return fail(err, EF_INVALID_INPUT, "found a table of other columns, wanted those of this input, model and --keep");
}

/* ---- is it this input's? ---- */
/* The next row of the batch that is answered again, from `from` on; rows: there is none. */
static int64_t next_sample(const MapResume *r, int64_t from, int64_t rows, bool last)
{
    const int64_t before = (int64_t)r->o->done;
    int64_t number = 1;
    while (number <= before + from) number *= 2;
    if (number <= before + rows) return number - 1 - before;
    return last && from < rows ? rows - 1 : rows;
}

static bool refuse_row(int64_t row, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "row %lld is not of this input and model (its record has another answer now): "
                "give the input that it was begun with, or another --output", (long long)row);
}

/* The input's next record stands in this row. */
static bool check_row(MapResume *r, int64_t row, Err *err)
{
    Record record;
    bool more, same = true;
    arena_reset(&r->record, 1 << 20);
    if (!records_next(r->o->table.in, &r->record, &record, &more, err)) return false;
    const bool ok = !more || r->again->row(r->again->context, &record, &r->batch, row, &same, err);
    return ok && ((more && same) || refuse_row((int64_t)r->o->done + row + 1, err));
}

/* The input's batch is read, and rows of it are looked at. */
static bool check_batch(MapResume *r, int64_t rows, size_t number, Err *err)
{
    Records *in = r->o->table.in;
    const bool last = number == r->found.n;
    if (!records_skip(in, rows, number, err)) return false;
    const uint64_t line = in->lines.number;
    bool ok = true;
    for (int64_t at = 0; ok && (at = next_sample(r, at, rows, last)) < rows; at++) {
        in->row = at;
        ok = check_row(r, at, err);
    }
    in->row = rows, in->lines.number = line;
    return ok;
}

/* The same of records that come one by one. */
static bool check_rows(MapResume *r, int64_t rows, size_t number, Err *err)
{
    const bool last = number == r->found.n;
    for (int64_t at = 0, sample; at < rows; at = sample + 1) {
        sample = next_sample(r, at, rows, last);
        if (!records_skip(r->o->table.in, sample - at, number, err)) return false;
        if (sample < rows && !check_row(r, sample, err)) return false;
    }
    return true;
}

/* Takes as many batches from the input as are there; the last one is left to the table, where batches come. */
static bool check_batches(MapResume *r, Err *err)
{
    const bool batches = r->o->table.in->reader != NULL;
    bool more;
    for (size_t i = 0; i < r->found.n; i++) {
        const int64_t rows = r->found.rows[i];
        if (i) batches_release(r->before);
        arena_reset(&r->rows, 1 << 20);
        if (!batches_next(r->before, &r->rows, &r->batch, &more, err)) return false;
        if (!(batches ? check_batch : check_rows)(r, rows, i + 1, err)) return false;
        r->o->done += (uint64_t)rows;
    }
    return true;
}

/* The dictionaries of the last batch are there, too. */
static void skip_dictionaries(MapResume *r)
{
    MapTable *t = &r->o->table;
    if (!t->in->reader || !t->in->first) return;
    ArrowColumn *kept = ARRAY(&r->arena, ArrowColumn, t->kept);
    for (int i = 0; i < t->kept; i++) kept[i] = t->in->first->rows.column[t->in->keep_column[i]];
    arrow_resume_dictionaries(t->writer, kept, t->kept);
    records_release(t->in);
}

static bool input_ended(MapResume *r, Err *err)
{
    int64_t left;
    bool more;
    if (!records_drop(r->o->table.in, 1, &left, &more, err)) return false;
    return !more || fail(err, EF_INVALID_INPUT, "found %llu rows and the end, and the input has more: it is another "
                         "input", (unsigned long long)r->o->done);
}

static bool resume_check(MapResume *r, Err *err)
{
    const Str file = { (const char *)r->file.p, r->file.n };
    if (!arrow_resume(r->o->table.writer, file, buf_view(&r->o->text), &r->found, err)) return tell_difference(r, err);
    if (r->found.n && (!open_before(r, err) || !check_batches(r, err))) return false;
    if (r->found.whole) return input_ended(r, err);
    skip_dictionaries(r);
    return true;
}

bool output_resume(MapOutput *o, const MapAgain *again, Err *err)
{
    MapResume r = { .o = o, .again = again };
    if (o->form != &batch_form_arrow)
        return fail(err, EF_USAGE, "--resume: found %s, wanted jsonl or arrow", o->form->name);
    if (!file_map(o->path, &r.file, err)) return false;
    const bool ok = resume_check(&r, err);
    batches_close(r.before);
    file_unmap(&r.file);
    arena_free(&r.arena), arena_free(&r.rows), arena_free(&r.record);
    if (!ok) return within(err, "--resume: %s: the file was left as it is", o->path);
    o->whole = r.found.whole;
    if (o->whole) return true;
    if (r.found.bytes) o->text.n = 0; /* the front is there */
    if (ftruncate(o->fd, (off_t)r.found.bytes) == 0 && lseek(o->fd, 0, SEEK_END) >= 0) return true;
    return fail(err, EF_IO, "%s: cannot be cut to its whole batches: %s", o->path, strerror(errno));
}

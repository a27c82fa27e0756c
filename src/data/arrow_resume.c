/* SPDX-License-Identifier: Apache-2.0
 * arrow_resume.c - a table whose writer was killed: what is there is walked message by message, up to the last whole
 * batch, and a new writer goes on behind it as if it had written all that. */
#include "arrow_kinds.h"
#include "arrow_writer.h"
#include "flat.h"

enum { HEADER_DICTIONARY = 2, HEADER_BATCH = 3, HEAD = 8 };

typedef struct ArrowWalk {
    Str file;
    size_t at;
    int kind;              /* of the message at hand, */
    int64_t meta, body;    /*   and its sizes, with its head */
    int64_t rows;
    bool end;              /* the end mark */
} ArrowWalk;

static int64_t word_at(const char *p)
{
    return arrow_int((Str){ p, 4 }, 0, 4, false);
}

/* False: no whole message is left. */
static bool walk_next(ArrowWalk *w)
{
    bool broken;
    FlatTable header;
    const size_t left = w->file.n - w->at;
    const char *p = w->file.p + w->at;
    if (left < HEAD || word_at(p) != UINT32_MAX) return false;
    w->meta = word_at(p + 4) + HEAD;
    w->end = w->meta == HEAD;
    if (w->end || (uint64_t)w->meta > left) return false;
    const FlatTable root = flat_root((Str){ p + HEAD, (size_t)w->meta - HEAD }, &broken);
    w->kind = (int)flat_int(&root, 1, 1, 0);
    w->body = flat_int(&root, 3, 8, -1);
    if (!flat_table(&root, 2, &header)) return false;
    w->rows = flat_int(&header, 0, 8, 0);
    return !broken && w->body >= 0 && (uint64_t)w->body <= left - (size_t)w->meta && w->rows >= 0;
}

bool arrow_resume(BatchWriter *writer, Str file, Str front, ArrowResumed *out, Err *err)
{
    ArrowWriter *w = (ArrowWriter *)writer;
    *out = (ArrowResumed){ 0 };
    Buf rows = { .arena = w->arena };
    const size_t same = MIN(file.n, front.n);
    if (memcmp(file.p, front.p, same) != 0)
        return fail(err, EF_INVALID_INPUT, "found a table of other columns, another model or other options");
    if (file.n < front.n) return true;
    ArrowWalk walk = { .file = file, .at = front.n };
    size_t dictionaries = 0;
    for (out->bytes = front.n; walk_next(&walk); walk.at += (size_t)(walk.meta + walk.body)) {
        if (walk.kind != HEADER_BATCH && walk.kind != HEADER_DICTIONARY) break;
        const bool batch = walk.kind == HEADER_BATCH;
        arrow_note_block(w->arena, batch ? &w->batches : &w->dictionaries, (int64_t)walk.at, walk.meta, walk.body);
        if (!batch) continue;
        buf_add(&rows, &walk.rows, sizeof walk.rows);
        out->bytes = walk.at + (size_t)(walk.meta + walk.body);
        dictionaries = w->dictionaries.n;
    }
    w->dictionaries.n = dictionaries; /* those behind the last batch are written again */
    out->rows = (const int64_t *)(void *)rows.p, out->n = rows.n / sizeof(int64_t);
    const bool footer = file.n > walk.at + 2 * HEAD && str_ends(file, "ARROW1");
    out->whole = walk.end && (!w->file || footer);
    w->at = (int64_t)out->bytes;
    return true;
}

void arrow_resume_dictionaries(BatchWriter *writer, const ArrowColumn *column, int n)
{
    ArrowWriter *w = (ArrowWriter *)writer;
    for (int i = 0; i < n; i++) {
        const ArrowField *f = column[i].field;
        if (!f->encoded) arrow_resume_dictionaries(writer, column[i].child, f->children);
        if (!f->encoded || !column[i].values) continue;
        ArrowSent *sent = arrow_sent_of(w, f->dictionary);
        sent->version = column[i].values->version, sent->parts = column[i].values->parts;
    }
}

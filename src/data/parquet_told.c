/* SPDX-License-Identifier: Apache-2.0
 * parquet_told.c - see parquet_told.h. */
#include "parquet_told.h"

#include "arrow_form.h"
#include "base64.h"

/* ---- reading ---- */
static bool told_pull(void *context, void *to, size_t room, size_t *got, Err *err)
{
    Str *left = context;
    (void)err;
    *got = MIN(left->n, room);
    if (*got) memcpy(to, left->p, *got);
    left->p += *got, left->n -= *got;
    return true;
}

/* Whether values of the one are those of the other, in memory alone another way. */
static bool told_fits(const ArrowField *f, const ArrowField *told)
{
    switch (f->kind) {
    case ARROW_UTF8: return told->kind == ARROW_LARGE_UTF8 || told->kind == ARROW_UTF8_VIEW;
    case ARROW_BINARY: return told->kind == ARROW_LARGE_BINARY || told->kind == ARROW_BINARY_VIEW;
    case ARROW_LIST: return told->kind == ARROW_LARGE_LIST || told->kind == ARROW_FIXED_LIST;
    case ARROW_DATE: return told->kind == ARROW_DATE;
    default: return false;
    }
}

static bool told_same(const ArrowField *f, const ArrowField *told)
{
    return told->kind == f->kind && (f->kind == ARROW_TIMESTAMP || memcmp(f->param, told->param, sizeof f->param) == 0);
}

/* Names of items say nothing. */
static bool told_names(const ArrowField *f, const ArrowField *told)
{
    bool same = f->children == told->children;
    for (int i = 0; same && f->kind == ARROW_STRUCT && i < f->children; i++)
        same = str_eq(f->child[i].name, told->child[i].name);
    return same;
}

/* A type of an extension, which says what it is stored as: a tensor of a fixed shape is no list of any length. */
static bool told_extended(const ArrowField *f)
{
    bool is = false;
    for (int i = 0; !is && i < f->pairs; i++) is = str_is(f->pair[i].key, "ARROW:extension:name");
    return is;
}

/* A list in it that had one length, as `from` or what is told of it says, has none in `to`. */
static bool told_loosened(const ArrowField *from, const ArrowField *to)
{
    const ArrowField *as = from->told ? from->told : from;
    bool is = as->kind == ARROW_FIXED_LIST && to->kind != ARROW_FIXED_LIST;
    for (int i = 0; !is && i < from->children; i++) is = told_loosened(&from->child[i], &to->child[i]);
    return is;
}

static void told_adopt(ArrowField *f, const ArrowField *told)
{
    enum { WIDE = 64 };
    const bool number = f->kind == ARROW_INT && f->param[0] == WIDE && f->param[1];
    const char *what;
    if (f->strange || !arrow_can_read(told, &what)) return;
    if (told->kind == ARROW_DURATION && number && !told->encoded)
        f->kind = ARROW_DURATION, f->param[0] = told->param[0], f->param[1] = 0;
    else if (told->encoded || !told_same(f, told)) {
        if (!told_same(f, told) && !told_fits(f, told)) return;
        f->told = told;
    }
    if (f->kind == ARROW_TIMESTAMP && f->zone.n && told->zone.n) f->zone = told->zone;
    f->pair = told->pair, f->pairs = told->pairs;
    for (int i = 0; told_names(f, told) && i < f->children; i++) told_adopt(&f->child[i], &told->child[i]);
    if (told_extended(told) && told_loosened(f, f)) f->told = told, f->pairs = 0;
}

void parquet_told_read(Arena *arena, Str base64, ArrowFields *fields)
{
    Str message;
    BatchReader *r = NULL;
    Err ignored;
    if (!base64_read(arena, base64, &message)) return;
    const bool ok = arrow_open_stream(arena, told_pull, &message, &r, &ignored) && r->fields->n == fields->n;
    for (int i = 0; ok && i < fields->n; i++)
        if (str_eq(fields->field[i].name, r->fields->field[i].name))
            told_adopt(&fields->field[i], &r->fields->field[i]);
    batches_close(r);
}

/* ---- writing ---- */
/* nulls: some may be above it. Lists of one length that may be null are told as others, since pyarrow before 26 cannot
 * read a file of them, and so are views, which Daft does not know. True: Parquet does not say it. */
static bool told_field(Arena *arena, const ArrowField *from, bool nulls, ArrowField *to)
{
    static const bool unsaid[ARROW_KINDS] = {
        [ARROW_DURATION] = true, [ARROW_FIXED_LIST] = true, [ARROW_LARGE_LIST] = true, [ARROW_LARGE_UTF8] = true,
        [ARROW_LARGE_BINARY] = true,
    };
    enum { NARROWEST = 128 };
    const ArrowField *as = from->told ? from->told : from;
    nulls |= from->nullable;
    *to = *as;
    to->name = from->name, to->nullable = from->nullable;
    if (as->kind == ARROW_FIXED_LIST && nulls) to->kind = ARROW_LIST;
    if (as->kind == ARROW_UTF8_VIEW) to->kind = ARROW_UTF8;
    if (as->kind == ARROW_BINARY_VIEW) to->kind = ARROW_BINARY;
    bool more = unsaid[to->kind] || as->pairs || as->encoded || (as->zone.n && !str_is(as->zone, "UTC")) ||
                (as->kind == ARROW_DECIMAL && as->param[2] < NARROWEST) || (as->kind == ARROW_DATE && as->param[0]);
    to->children = from->children;
    to->child = ARRAY(arena, ArrowField, from->children);
    for (int i = 0; i < from->children; i++) more |= told_field(arena, &from->child[i], nulls, &to->child[i]);
    if (told_extended(to) && told_loosened(from, to)) to->pairs = 0;
    return more;
}

bool parquet_told_write(Arena *arena, const ArrowFields *fields, Buf *base64)
{
    Buf message = { 0 };
    bool more = false;
    ArrowFields told = { .field = ARRAY(arena, ArrowField, fields->n), .n = fields->n };
    for (int i = 0; i < fields->n; i++) more |= told_field(arena, &fields->field[i], false, &told.field[i]);
    if (!more) return false;
    arrow_write_schema(&message, &told);
    base64_write(base64, buf_view(&message));
    buf_free(&message);
    return true;
}

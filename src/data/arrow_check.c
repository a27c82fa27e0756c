/* SPDX-License-Identifier: Apache-2.0
 * arrow_check.c - whether all entries of a column that was read lie inside of its buffers, and none is too large. */
#include "arrow_kinds.h"
#include "base/bytes.h"

/* Entries that take no bytes: only their number is there to bound them. Of rows there may be more. */
enum { EMPTY_MOST = 1 << 20, EMPTY_ROWS_MOST = 1 << 24 };
/* Values of one entry, where lists share them: a few kilobytes of views of views could ask for any number. */
enum { VALUES_MOST = 1 << 24 };

/* ---- are all entries inside? ---- */
static bool is_there(const ArrowColumn *a, int64_t i)
{
    return !a->valid.n || (a->valid.p[i >> 3] >> (i & 7) & 1);
}

static int64_t number_at(Str s, int64_t i, int bytes)
{
    const uint8_t *p = (const uint8_t *)s.p + i * bytes;
    return bytes == 4 ? (int32_t)le32(p) : (int64_t)((uint64_t)le32(p) | (uint64_t)le32(p + 4) << 32);
}

static bool check_offsets(const ArrowColumn *a, int bytes, uint64_t most)
{
    if (a->offsets.n / (size_t)bytes < (uint64_t)a->length + 1) return false;
    int64_t last = number_at(a->offsets, 0, bytes);
    bool ok = last >= 0;
    for (int64_t i = 1; ok && i <= a->length; i++) {
        int64_t now = number_at(a->offsets, i, bytes);
        ok = now >= last;
        last = now;
    }
    return ok && (uint64_t)last <= most;
}

static bool check_views(const ArrowColumn *a)
{
    enum { VIEW = 16, SHORT = 12 };
    bool ok = a->data.n / VIEW >= (uint64_t)a->length;
    for (int64_t i = 0; ok && i < a->length; i++) {
        int64_t n = number_at(a->data, 4 * i, 4), which = number_at(a->data, 4 * i + 2, 4);
        int64_t at = number_at(a->data, 4 * i + 3, 4);
        if (!is_there(a, i) || (n >= 0 && n <= SHORT)) continue;
        ok = n > SHORT && which >= 0 && which < a->n_more && at >= 0 && (uint64_t)(at + n) <= a->more[which].n;
    }
    return ok;
}

/* Columns of several types may name one dictionary: its values are those of the first. */
static bool same_type(const ArrowField *a, const ArrowField *b)
{
    bool same = a->kind == b->kind && memcmp(a->param, b->param, sizeof a->param) == 0 && a->children == b->children;
    for (int i = 0; same && i < a->children; i++) same = same_type(&a->child[i], &b->child[i]);
    return same;
}

static bool check_indexes(const ArrowColumn *a)
{
    int64_t width = arrow_width(a->field);
    const bool fits = a->values && a->values->parts && same_type(a->field, a->values->part->field);
    bool ok = fits && a->data.n / (size_t)width >= (uint64_t)a->length;
    for (int64_t i = 0; ok && i < a->length; i++) {
        int64_t x = arrow_int(a->data, i, width, a->field->index_signed);
        ok = !is_there(a, i) || (x >= 0 && x < a->values->length);
    }
    return ok;
}

static bool check_list_views(const ArrowColumn *a)
{
    const int width = arrow_view_width(a->field);
    const uint64_t n = (uint64_t)a->length, most = (uint64_t)a->child[0].length;
    bool ok = a->offsets.n / (size_t)width >= n && a->data.n / (size_t)width >= n;
    for (int64_t i = 0; ok && i < a->length; i++) {
        const uint64_t from = (uint64_t)number_at(a->offsets, i, width), size = (uint64_t)number_at(a->data, i, width);
        ok = !is_there(a, i) || (from <= most && size <= most - from); /* below zero is above all */
    }
    return ok;
}

/* Ends that grow, up to the last entry at least. */
static bool check_runs(const ArrowColumn *a, uint64_t empty)
{
    const ArrowColumn *ends = &a->child[0];
    const int64_t width = arrow_width(ends->field);
    bool ok = (uint64_t)a->length <= empty && !ends->valid.n && ends->length > 0 &&
              ends->data.n / (size_t)width >= (uint64_t)ends->length && a->child[1].length >= ends->length;
    int64_t last = 0;
    for (int64_t i = 0; ok && i < ends->length; i++) {
        const int64_t now = arrow_int(ends->data, i, width, true);
        ok = now > last;
        last = now;
    }
    return ok && last >= a->length;
}

/* Before Arrow 1.0 unions had nulls of their own: there is no way to write these now. */
static bool check_union(const ArrowColumn *a)
{
    const bool dense = a->field->param[0] != 0;
    bool ok = !a->valid.n && a->data.n >= (uint64_t)a->length &&
              (!dense || a->offsets.n / sizeof(int32_t) >= (uint64_t)a->length);
    for (int64_t i = 0; ok && i < a->length; i++) {
        const int which = arrow_union_child(a->field, (signed char)a->data.p[i]);
        const int64_t at = dense ? number_at(a->offsets, i, 4) : i;
        ok = which >= 0 && at >= 0 && at < a->child[which].length;
    }
    return ok;
}

static bool check_own(const ArrowColumn *a, uint64_t empty)
{
    const ArrowField *f = a->field;
    const ArrowKindRow *row = &arrow_kinds[f->kind];
    uint64_t length = (uint64_t)a->length, size = (uint64_t)f->param[0];
    if (f->encoded) return check_indexes(a);
    switch (row->layout) {
    case LAYOUT_NONE: return length <= empty;
    case LAYOUT_BITS: return a->data.n >= (length + 7) / 8;
    case LAYOUT_FIXED:
        return arrow_width(f) ? a->data.n / (uint64_t)arrow_width(f) >= length : length <= empty;
    case LAYOUT_BYTES: return check_offsets(a, row->offset, a->data.n);
    case LAYOUT_LIST: return check_offsets(a, row->offset, (uint64_t)a->child[0].length);
    case LAYOUT_VIEWS: return check_views(a);
    case LAYOUT_CHILDREN:
        if (f->kind == ARROW_FIXED_LIST && size) return (uint64_t)a->child[0].length / size >= length;
        if (f->kind == ARROW_FIXED_LIST) return length <= empty;
        if (f->children == 0) return length <= empty;
        for (int i = 0; i < f->children; i++)
            if ((uint64_t)a->child[i].length < length) return false;
        return true;
    case LAYOUT_LIST_VIEW: return check_list_views(a);
    case LAYOUT_RUNS: return check_runs(a, empty);
    case LAYOUT_UNION: return check_union(a);
    default: return false;
    }
}

static bool check_array(const ArrowColumn *a, int64_t rows, Err *err)
{
    const char *what;
    const uint64_t empty = (uint64_t)MAX(EMPTY_MOST, MIN(rows, EMPTY_ROWS_MOST));
    if (!arrow_can_read(a->field, &what))
        return fail(err, EF_UNSUPPORTED, "Arrow: column \"%.*s\": found %s, which is not read",
                    (int)MIN(a->field->name.n, 60), a->field->name.p, what);
    if (a->length == 0) return true; /* its buffers may hold anything, or nothing */
    if ((a->valid.n && a->valid.n < ((uint64_t)a->length + 7) / 8) || !check_own(a, empty))
        return fail(err, EF_INVALID_INPUT, "Arrow: column \"%.*s\": found entries outside of its buffers",
                    (int)MIN(a->field->name.n, 60), a->field->name.p);
    for (int i = 0; a->child && i < a->field->children; i++)
        if (!check_array(&a->child[i], rows, err)) return false;
    return true;
}

/* ---- how many values is an entry? ---- */
typedef struct ArrowSpread {
    uint64_t entry, all;     /* values of the largest entry, and of all together; at most MANY */
    uint64_t stored;         /* entries that are in the file, with bytes of their own */
} ArrowSpread;
#define MANY ((uint64_t)1 << 40)

static ArrowSpread spread_of(const ArrowColumn *);

static uint64_t spread_times(uint64_t n, uint64_t each)
{
    return each && n > MANY / each ? MANY : n * each;
}

/* An entry, or something inside of it, has bytes that are no other's. */
static bool takes_bytes(const ArrowField *f)
{
    const ArrowLayout layout = arrow_kinds[f->kind].layout;
    if (f->encoded) return true;
    if (layout == LAYOUT_NONE || layout == LAYOUT_RUNS) return false;
    if (layout == LAYOUT_FIXED) return arrow_width(f) > 0;
    if (layout != LAYOUT_CHILDREN) return true;
    bool takes = false;
    for (int i = 0; !takes && i < f->children; i++) takes = takes_bytes(&f->child[i]);
    return takes && (f->kind != ARROW_FIXED_LIST || f->param[0]);
}

/* Entries may be lists of the same items; so may those of a dictionary, of runs and of dense unions. Those without
 * bytes may be any number. */
static bool shares_entries(const ArrowField *f)
{
    const ArrowLayout layout = arrow_kinds[f->kind].layout;
    bool shares = f->encoded || layout == LAYOUT_LIST_VIEW || layout == LAYOUT_RUNS || layout == LAYOUT_UNION ||
                  !takes_bytes(f);
    for (int i = 0; !shares && i < f->children; i++) shares = shares_entries(&f->child[i]);
    return shares;
}

static void spread_children(const ArrowColumn *a, ArrowSpread *sum, uint64_t *largest)
{
    *sum = (ArrowSpread){ 0 };
    *largest = 0;
    for (int i = 0; i < a->field->children; i++) {
        const ArrowSpread s = spread_of(&a->child[i]);
        sum->entry = MIN(sum->entry + s.entry, MANY), sum->all = MIN(sum->all + s.all, MANY);
        sum->stored += s.stored;
        *largest = MAX(*largest, s.entry);
    }
}

/* The items of the largest list, and of all. */
static void list_items(const ArrowColumn *a, uint64_t *largest, uint64_t *all)
{
    const bool view = arrow_kinds[a->field->kind].layout == LAYOUT_LIST_VIEW;
    const int width = view ? arrow_view_width(a->field) : arrow_kinds[a->field->kind].offset;
    *largest = *all = 0;
    for (int64_t i = 0; i < a->length; i++) {
        if (!is_there(a, i)) continue;
        const int64_t n = view ? number_at(a->data, i, width)
                               : number_at(a->offsets, i + 1, width) - number_at(a->offsets, i, width);
        *largest = MAX(*largest, (uint64_t)n), *all = MIN(*all + (uint64_t)n, MANY);
    }
}

/* What the dictionary stores is counted once, where it was read: many columns may have it. */
static ArrowSpread spread_of_values(const ArrowColumn *a)
{
    const uint64_t most = a->values->most;
    return (ArrowSpread){ most, spread_times((uint64_t)a->length, most), (uint64_t)a->length };
}

/* Of a column whose entries lie inside of their buffers. */
static ArrowSpread spread_of(const ArrowColumn *a)
{
    const ArrowField *f = a->field;
    const ArrowLayout layout = arrow_kinds[f->kind].layout;
    const uint64_t length = (uint64_t)a->length;
    uint64_t largest, items, most;
    ArrowSpread s;
    if (a->length == 0) return (ArrowSpread){ 0 };
    if (f->encoded) return spread_of_values(a);
    spread_children(a, &s, &largest);
    s.stored += takes_bytes(f) ? length : 0;
    if (layout == LAYOUT_RUNS || layout == LAYOUT_UNION) {
        s.entry = largest; /* of runs: of their values, since ends are numbers */
        s.all = spread_times(length, s.entry);
        return s;
    }
    if (layout == LAYOUT_LIST || layout == LAYOUT_LIST_VIEW) {
        list_items(a, &most, &items);
        if (layout == LAYOUT_LIST_VIEW) s.all = spread_times(items, s.entry);
        s.entry = MIN(spread_times(most, s.entry), s.all);
    } else if (f->kind == ARROW_FIXED_LIST) {
        s.entry = MIN(spread_times((uint64_t)f->param[0], s.entry), s.all);
    }
    s.entry = MIN(s.entry + 1, MANY), s.all = MIN(s.all + length, MANY);
    return s;
}

uint64_t arrow_entry_most(const ArrowColumn *a)
{
    return spread_of(a).entry;
}

bool arrow_check(const ArrowColumn *a, int64_t rows, Err *err)
{
    if (!check_array(a, rows, err)) return false;
    if (!shares_entries(a->field)) return true;
    const ArrowSpread s = spread_of(a);
    if (s.entry <= MAX(VALUES_MOST, s.stored)) return true;
    return fail(err, EF_TOO_LARGE, "Arrow: column \"%.*s\": found an entry of more than %d values, which are not all "
                "in the file", (int)MIN(a->field->name.n, 60), a->field->name.p, VALUES_MOST);
}

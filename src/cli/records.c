/* SPDX-License-Identifier: Apache-2.0
 * records.c - what a record looks like in each form:
 *
 *   text    a line is a text
 *   jsonl   "a text", ["first", "second"] or {"id": ..., "text": ..., "text_pair": ...}, where
 *           "text" may itself be a pair, and "inputs" is taken for it
 *   csv     a first record of column names; the columns text, text_pair and id
 *   arrow   the same columns, in a stream or a file; numbers, lists and bytes as they are
 *
 * Pictures and sounds: the path of a file stands for a text, under the name "path"; or "image" or "audio" has
 * base64 or a data URI. Where the model's items are neither, their own keys and columns stand for text and
 * text_pair. */
#include "cli/records.h"

#include "base/bytes.h"
#include "data/csv.h"
#include "data/json.h"

const char *const records_forms[] = { [RECORDS_TEXT] = "text", [RECORDS_JSONL] = "jsonl",
                                      [RECORDS_CSV] = "csv", [RECORDS_ARROW] = "arrow", NULL };
enum { RECORD_VALUES = 1 << 16, RECORD_SAMPLES = 1 << 26 }; /* a line with more of them is no record */

static bool refuse_parquet(const char *name, Err *err)
{
    return fail(err, EF_UNSUPPORTED, "%s: found a Parquet file, wanted text, JSON lines, CSV or Arrow, "
                "packed with gzip or not: write it as one of these first", name);
}

static bool find_form(const char *path, const char *name, RecordForm *out, Err *err)
{
    Str file = str_of(path);
    if (str_ends(file, ".gz")) file.n -= 3;
    if (str_ends(file, ".parquet")) return refuse_parquet(path, err);
    *out = str_ends(file, ".jsonl") || str_ends(file, ".ndjson") ? RECORDS_JSONL
           : str_ends(file, ".csv")                              ? RECORDS_CSV
           : str_ends(file, ".arrow") || str_ends(file, ".arrows") || str_ends(file, ".feather") ? RECORDS_ARROW
                                                                 : RECORDS_TEXT;
    for (size_t i = 0; name && records_forms[i]; i++)
        if (strcmp(name, records_forms[i]) == 0) *out = (RecordForm)i;
    return true;
}

/* ---- files ---- */
static bool are_files(const Records *s)
{
    return s->items == &item_pictures || s->items == &item_sounds;
}

static bool are_pages(const Records *s)
{
    return item_form_has(s->items, ITEM_BOXES);
}

static const char *path_key(const Records *s)
{
    return s->field ? s->field : "path";
}

/* ---- JSON ---- */
static bool take_file(const Records *s, Arena *arena, const Value *v, Item *item, Err *err)
{
    const Value *path = v->kind == V_MAP ? value_get(v, path_key(s)) : v;
    if (path && path->kind == V_STR) return item_open_file(arena, s->items, path->s, item, err);
    const char *key = item_form_file(s->items)->key;
    bool numbers = item_form_has(s->items, ITEM_NUMBERS) && (value_get(v, "array") || value_get(v, "raw"));
    if (v->kind == V_MAP && (numbers || value_get(v, key))) return item_read_object(arena, s->items, v, item, err);
    return fail(err, EF_INVALID_INPUT, "found %s, wanted a path, or an object with %s or %s",
                value_kind_name(path ? path->kind : v->kind), path_key(s), key);
}

/* Its picture may be a file; a question that is asked of all pages is this one's, if it has none. */
static bool take_page(const Records *s, Arena *arena, const Value *v, Item *item, Err *err)
{
    const Value *path = value_get(v, "path"), *asked = value_get(v, "question");
    Value page = value_map(arena, v->map.n + 2);
    memcpy(page.map.items, v->map.items, v->map.n * sizeof *v->map.items);
    page.map.n = v->map.n;
    if (path && path->kind == V_STR && !value_get(v, "image")) {
        if (!item_open_file(arena, s->items, path->s, item, err)) return false;
        value_add(&page, "image", value_of_bytes(item->picture));
    }
    if (!asked && s->question.p) value_add(&page, "question", value_of_str(s->question));
    return item_read_object(arena, s->items, &page, item, err);
}

static void take_text(const Records *s, Str text, Item *item)
{
    *item = s->question.p ? (Item){ .first = s->question, .second = text } : (Item){ .first = text };
}

static bool take_pair(const Records *s, const Value *v, Item *item)
{
    if (v->kind == V_STR) return take_text(s, v->s, item), true;
    if (v->kind != V_LIST || v->list.n != 2 || v->list.items[0].kind != V_STR ||
        v->list.items[1].kind != V_STR)
        return false;
    item->first = v->list.items[0].s;
    item->second = v->list.items[1].s;
    return true;
}

static bool take_map(const Records *s, const Value *v, Item *item, Err *err)
{
    const char *field = s->field ? s->field : "text";
    const Value *text = value_get(v, field), *pair = value_get(v, "text_pair");
    if (!text && !s->field) text = value_get(v, "inputs");
    if (!text) return fail(err, EF_INVALID_INPUT, "found no \"%s\", wanted one", field);
    if (!take_pair(s, text, item))
        return fail(err, EF_INVALID_INPUT, "%s: found %s, wanted a string or two of them", field,
                    value_kind_name(text->kind));
    if (!pair || pair->kind == V_NULL) return true;
    if (pair->kind != V_STR || item->second.p)
        return fail(err, EF_INVALID_INPUT, "text_pair: wanted one string beside one text");
    item->second = pair->s;
    return true;
}

static bool are_texts(const Records *s)
{
    return s->items == &item_texts;
}

static bool take_record(const Records *s, Arena *arena, const Value *v, Record *r, Err *err)
{
    if (v->kind == V_MAP) r->id = value_get(v, "id");
    if (are_files(s)) return take_file(s, arena, v, &r->item, err);
    if (v->kind == V_MAP && are_pages(s)) return take_page(s, arena, v, &r->item, err);
    if (v->kind == V_MAP && !are_texts(s)) return item_read_object(arena, s->items, v, &r->item, err);
    if (v->kind == V_MAP) return take_map(s, v, &r->item, err);
    return take_pair(s, v, &r->item) || fail(err, EF_INVALID_INPUT, "found %s, wanted a text, two texts or an object",
                                   value_kind_name(v->kind));
}

static bool parse_json(const Records *s, Arena *arena, Str line, Record *r, Err *err)
{
    Value *v = NEW(arena, Value);
    const size_t most = item_form_has(s->items, ITEM_NUMBERS) ? RECORD_SAMPLES : RECORD_VALUES;
    return json_parse_most(arena, line, most, v, err) && take_record(s, arena, v, r, err);
}

/* ---- Arrow ---- */
static bool is_key(const Records *s, Str name)
{
    const bool path = are_files(s) || are_pages(s);
    const char *own[] = { "id", s->field ? s->field : "text", "text_pair", path ? path_key(s) : "id" };
    for (size_t i = 0; i < COUNT(own); i++)
        if (str_is(name, own[i])) return true;
    for (const Field *key = s->items->keys; key->name; key++)
        if (str_is(name, key->name)) return true;
    return false;
}

static bool arrow_has(const Records *s, const char *name)
{
    const ArrowFields *schema = arrow_schema(s->arrow);
    for (int i = 0; i < schema->n; i++)
        if (str_is(schema->field[i].name, name)) return true;
    return false;
}

static bool lacks_column(Records *s, const char *name, Err *err)
{
    const ArrowFields *schema = arrow_schema(s->arrow);
    const char **known = ARRAY(&s->head, const char *, schema->n);
    for (int i = 0; i < schema->n; i++) known[i] = schema->field[i].name.p;
    const char *near = str_nearest(str_of(name), known, (size_t)schema->n);
    return fail(err, EF_INVALID_INPUT, "%s: found no column \"%s\"%s%s%s", s->lines.name, name,
                near ? ": did you mean --field " : "; --field names another one", near ? near : "", near ? "?" : "");
}

/* The columns that a record is made of are there, and are the ones that are read. */
static bool arrow_columns(Records *s, Err *err)
{
    const ArrowFields *schema = arrow_schema(s->arrow);
    s->used = ARRAY(&s->head, bool, schema->n);
    for (int i = 0; i < schema->n; i++) {
        s->used[i] = is_key(s, schema->field[i].name);
        if (s->used[i]) arrow_want(s->arrow, i);
    }
    if (are_texts(s)) {
        const char *text = s->field ? s->field : "text";
        return arrow_has(s, text) || lacks_column(s, text, err);
    }
    if (are_files(s))
        return arrow_has(s, item_form_file(s->items)->key) || arrow_has(s, "array") || arrow_has(s, path_key(s)) ||
               lacks_column(s, path_key(s), err);
    for (const Field *key = s->items->keys; key->name; key++)
        if (key->required && !arrow_has(s, key->name)) return lacks_column(s, key->name, err);
    return true;
}

static bool open_arrow(Records *s, const char *path, bool file, Err *err)
{
    bool ok;
    if (file && !s->lines.total)
        return fail(err, EF_USAGE, "%s: found an Arrow file in a pipe, wanted the file itself or an Arrow stream",
                    s->lines.name);
    if (file) ok = file_map(path, &s->file, err) &&
                   arrow_open_file(&s->head, (Str){ (const char *)s->file.p, s->file.n }, &s->arrow, err);
    else ok = arrow_open_stream(&s->head, lines_bytes, &s->lines, &s->arrow, err);
    return ok ? arrow_columns(s, err) : within(err, "%s", s->lines.name);
}

/* Views of the batch become the record's own, and texts are checked. */
static bool settle_value(Arena *arena, Value *v, Err *err)
{
    bool ok = true;
    if (v->kind == V_STR && !utf8_valid(v->s))
        return fail(err, EF_INVALID_INPUT, "found bytes that are not valid UTF-8");
    if (v->kind == V_STR || v->kind == V_BYTES) v->s.p = str_dup(arena, v->s);
    for (size_t i = 0; v->kind == V_LIST && ok && i < v->list.n; i++)
        ok = settle_value(arena, &v->list.items[i], err);
    for (size_t i = 0; v->kind == V_MAP && ok && i < v->map.n; i++)
        ok = settle_value(arena, &v->map.items[i].value, err);
    return ok;
}

static bool next_row(Records *s, bool *more, Err *err)
{
    while (s->row >= s->batch.rows) {
        arena_reset(&s->batch_arena, 64 << 20);
        if (!arrow_next(s->arrow, &s->batch_arena, &s->batch, more, err)) return within(err, "%s", s->lines.name);
        if (!*more) return true;
        s->row = 0;
        if (s->file.n) s->lines.bytes = s->batch.end;
    }
    return *more = true;
}

static bool take_row(Records *s, Arena *arena, Record *r, Err *err)
{
    const ArrowFields *schema = arrow_schema(s->arrow);
    const int64_t row = s->row++;
    Value *v = NEW(arena, Value);
    *v = value_map(arena, (size_t)schema->n);
    s->lines.number++;
    for (int i = 0; i < schema->n; i++) {
        Value cell;
        if (!s->used[i]) continue;
        cell = arrow_value(arena, &s->batch.column[i], row);
        if (!settle_value(arena, &cell, err)) return false;
        if (cell.kind != V_NULL || str_is(schema->field[i].name, s->field ? s->field : "text"))
            v->map.items[v->map.n++] = (Member){ schema->field[i].name, cell };
    }
    return take_record(s, arena, v, r, err);
}

/* ---- CSV ---- */
static Str column_of(const Records *s, const Str *field, size_t n, const char *name)
{
    for (size_t i = 0; i < s->columns && i < n; i++)
        if (str_is(s->column[i], name)) return field[i];
    return (Str){ 0 };
}

/* A cell for each key that has a column; lists are written as JSON. */
static bool columns_map(const Records *s, Arena *arena, const Str *field, size_t n, Value *out, Err *err)
{
    *out = value_map(arena, ITEM_KEYS + 1); /* and a path */
    for (const Field *key = s->items->keys; key->name; key++) {
        Str cell = column_of(s, field, n, key->name);
        Value v = value_of_str(cell);
        if (!cell.p) continue;
        if ((key->repeated || key->kind == F_ANY) && !json_parse_most(arena, cell, RECORD_VALUES, &v, err))
            return within(err, "%s", key->name);
        value_add(out, key->name, v);
    }
    return true;
}

static bool parse_csv(const Records *s, Arena *arena, Str record, Record *r, Err *err)
{
    Str *field;
    size_t n;
    if (!csv_read(arena, record, &field, &n, err)) return false;
    if (n != s->columns)
        return fail(err, EF_INVALID_INPUT, "found %zu fields, wanted %zu as in the first line", n, s->columns);
    const Str id = column_of(s, field, n, "id");
    Value *v = NEW(arena, Value);
    *v = value_of_str(id);
    if (id.p) r->id = v;
    Value cells;
    const Str path = column_of(s, field, n, path_key(s));
    if (are_files(s) && path.p) return item_open_file(arena, s->items, path, &r->item, err);
    if (are_pages(s)) {
        if (!columns_map(s, arena, field, n, &cells, err)) return false;
        if (path.p) value_add(&cells, "path", value_of_str(path));
        return take_page(s, arena, &cells, &r->item, err);
    }
    if (!are_texts(s))
        return columns_map(s, arena, field, n, &cells, err) &&
               item_read_object(arena, s->items, &cells, &r->item, err);
    r->item.first = column_of(s, field, n, s->field ? s->field : "text");
    r->item.second = column_of(s, field, n, "text_pair");
    if (r->item.second.n == 0) r->item.second.p = NULL;
    return true;
}

/* ---- the stream ---- */
static Str without_return(Str line)
{
    if (line.n && line.p[line.n - 1] == '\r') line.n--;
    return line;
}

/* The next record's bytes, in the arena; those of CSV may be several lines. */
static bool next_bytes(Records *s, Arena *arena, Str *out, bool *more, Err *err)
{
    Str line;
    if (!lines_next(&s->lines, &line, more, err)) return false;
    if (!*more) return true;
    *out = (Str){ str_dup(arena, line), line.n };
    Buf all = { 0 };
    bool ok = true, next = s->form == RECORDS_CSV && csv_open_ended(line);
    if (next) buf_str(&all, line);
    while (next && (ok = lines_next(&s->lines, &line, &next, err)) && next) {
        buf_char(&all, '\n');
        buf_str(&all, line);
        ok = all.n <= LINE_LIMIT || fail(err, EF_TOO_LARGE, "%s: line %llu: a quote stays open too long",
                                         s->lines.name, (unsigned long long)s->lines.number);
        next = ok && !csv_open_ended(line); /* an odd number of quotes closes it */
    }
    if (ok && all.n) *out = (Str){ str_dup(arena, buf_view(&all)), all.n };
    buf_free(&all);
    return ok;
}

static bool has_column(const Records *s, const char *name, Err *err)
{
    if (column_of(s, s->column, s->columns, name).p) return true;
    return fail(err, EF_INVALID_INPUT, "%s: found no column \"%s\"%s", s->lines.name, name,
                are_texts(s) || are_files(s) ? "; --field names another one" : "");
}

static bool read_head(Records *s, Err *err)
{
    Str record;
    bool more;
    if (!next_bytes(s, &s->head, &record, &more, err)) return false;
    if (!more) return fail(err, EF_INVALID_INPUT, "%s: found nothing, wanted a line of column names", s->lines.name);
    if (str_starts(record, "\xef\xbb\xbf")) record.p += 3, record.n -= 3;
    if (!csv_read(&s->head, without_return(record), &s->column, &s->columns, err))
        return within_line(err, 1), within(err, "%s", s->lines.name);
    if (are_texts(s)) return has_column(s, s->field ? s->field : "text", err);
    if (are_files(s) && !column_of(s, s->column, s->columns, item_form_file(s->items)->key).p)
        return has_column(s, path_key(s), err);
    if (are_files(s)) return true;
    for (const Field *key = s->items->keys; key->name; key++)
        if (key->required && !has_column(s, key->name, err)) return false;
    return true;
}

static bool unpack_records(void *records, void *to, size_t room, size_t *got, Err *err)
{
    return gunzip_read(((Records *)records)->gunzip, to, room, got, err);
}

/* What the first bytes tell, whatever the name says. */
static bool look_inside(Records *s, Err *err)
{
    Str head;
    if (!lines_head(&s->lines, 4, &head, err)) return false;
    if (str_starts(head, "PAR1")) return refuse_parquet(s->lines.name, err);
    if (!gunzip_is(head)) return true;
    head.p = str_dup(&s->head, head);
    s->gunzip = gunzip_open(&s->head, head, lines_raw, &s->lines);
    s->lines.buf.n = 0, s->lines.end = false;
    s->lines.pull = unpack_records, s->lines.context = s;
    return true;
}

/* What stands before the first record. */
static bool open_form(Records *s, const char *path, Err *err)
{
    static const Magic file = MAGIC("ARROW1\0\0"), stream = MAGIC("\xff\xff\xff\xff");
    Str head;
    if (!lines_head(&s->lines, (size_t)file.length, &head, err)) return false;
    const bool whole = bytes_begin(head, &file);
    if (whole || bytes_begin(head, &stream)) s->form = RECORDS_ARROW;
    if (s->form == RECORDS_ARROW) return open_arrow(s, path, whole, err);
    return s->form != RECORDS_CSV || read_head(s, err);
}

bool records_open(Records *s, const char *path, const char *form, const ItemForm *items,
                  const char *field, Err *err)
{
    *s = (Records){ .items = items, .field = field, .lines.fd = -1 };
    if (!find_form(path, form, &s->form, err)) return false;
    if (field && !are_texts(s) && !are_files(s))
        return fail(err, EF_USAGE, "--field: found a model whose records have keys of their own, wanted "
                    "%s", items->one);
    if (!lines_open(&s->lines, path, err)) return false;
    bool ok = look_inside(s, err) && open_form(s, path, err);
    if (ok && field && s->form == RECORDS_TEXT)
        ok = fail(err, EF_USAGE, "--field: found plain text, wanted jsonl, csv or arrow (--input-format)");
    if (ok) return true;
    records_close(s);
    return false;
}

bool records_next(Records *s, Arena *arena, Record *r, bool *more, Err *err)
{
    Str bytes;
    *r = (Record){ 0 };
    if (s->arrow) {
        if (!next_row(s, more, err)) return false;
        if (*more && (!take_row(s, arena, r, &r->err) || !item_check(s->items, &r->item, &r->err)))
            within(&r->err, "row %llu", (unsigned long long)s->lines.number);
        return true;
    }
    if (!next_bytes(s, arena, &bytes, more, err)) return false;
    if (!*more) return true;
    bytes = without_return(bytes);
    bool ok = true;
    if (!utf8_valid(bytes)) ok = fail(&r->err, EF_INVALID_INPUT, "found bytes that are not valid UTF-8");
    else if (s->form == RECORDS_TEXT && are_files(s)) ok = item_open_file(arena, s->items, bytes, &r->item, &r->err);
    else if (s->form == RECORDS_TEXT) take_text(s, bytes, &r->item);
    else ok = (s->form == RECORDS_JSONL ? parse_json : parse_csv)(s, arena, bytes, r, &r->err);
    if (!ok || !item_check(s->items, &r->item, &r->err)) within_line(&r->err, s->lines.number);
    return true;
}

bool records_quiet(const Records *s)
{
    return s->arrow && s->row < s->batch.rows ? false : lines_quiet(&s->lines);
}

void records_close(Records *s)
{
    if (s->arrow) arrow_close(s->arrow);
    if (s->file.n) file_unmap(&s->file);
    arena_free(&s->batch_arena);
    lines_close(&s->lines);
    gunzip_close(s->gunzip);
    arena_free(&s->head);
}

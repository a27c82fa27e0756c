/* SPDX-License-Identifier: Apache-2.0
 * records.c - what a record looks like in each form:
 *
 *   text    a line is a text
 *   jsonl   "a text", ["first", "second"] or {"id": ..., "text": ..., "text_pair": ...}, where
 *           "text" may itself be a pair, and "inputs" is taken for it
 *   csv     a first record of column names; the columns text, text_pair and id
 *   arrow   the same columns, in a stream or a file; numbers, lists and bytes as they are (records_batches.c)
 *   parquet the same, in a file
 *
 * Pictures and sounds: the path of a file stands for a text, under the name "path"; or "image" or "audio" has
 * base64 or a data URI. Where the model's items are neither, their own keys and columns stand for text and
 * text_pair. */
#include "cli/records.h"

#include "data/csv.h"
#include "data/json.h"

const char *const records_forms[] = { [RECORDS_TEXT] = "text", [RECORDS_JSONL] = "jsonl",
                                      [RECORDS_CSV] = "csv",
                                      "arrow", "parquet", NULL }; /* the names of batch_forms that are read */
enum { RECORD_VALUES = 1 << 16, RECORD_SAMPLES = 1 << 26 }; /* a line with more of them is no record */

static Str without_packing(const char *path)
{
    Str file = str_of(path);
    if (str_ends_any_case(file, ".gz")) file.n -= 3;
    else if (str_ends_any_case(file, ".zst")) file.n -= 4;
    return file;
}

bool records_know(const char *path)
{
    static const char *const lines[] = { ".jsonl", ".ndjson", ".json", ".csv", ".txt" };
    const Str file = without_packing(path);
    const BatchForm *table = batch_form_of_path(file);
    for (size_t i = 0; i < COUNT(lines); i++)
        if (str_ends_any_case(file, lines[i])) return true;
    return table && table->open_file;
}

static bool find_form(Records *s, const char *path, Err *err)
{
    const Str file = without_packing(path);
    const char *name = s->how.form ? s->how.form : records_know(path) ? NULL : s->how.otherwise;
    if (!s->how.form && str_ends_any_case(file, ".tsv"))
        return fail(err, EF_USAGE, "%s: found tab-separated values, which are not read, wanted CSV with commas, JSON "
                    "lines, Arrow or Parquet; if it is one of these, say so: --input-format csv", path);
    s->table = name ? batch_form_named(str_of(name)) : batch_form_of_path(file);
    if (s->table && !s->table->open_file) s->table = NULL; /* it is only written */
    const bool csv = str_ends_any_case(file, ".csv"), text = !records_know(path) || str_ends_any_case(file, ".txt");
    s->form = s->table ? RECORDS_BATCHES : csv ? RECORDS_CSV : text ? RECORDS_TEXT : RECORDS_JSONL;
    for (int i = 0; name && i < RECORDS_BATCHES; i++)
        if (strcmp(name, records_forms[i]) == 0) s->form = (RecordForm)i;
    return true;
}

/* ---- JSON ---- */
static const Value *kept_members(const Records *s, Arena *arena, const Value *v)
{
    Value *kept = ARRAY(arena, Value, s->keeps);
    for (size_t i = 0; i < s->keeps; i++) {
        const Value *member = value_get(v, s->keep[i].p);
        if (member) kept[i] = *member;
    }
    return kept;
}

static bool parse_json(const Records *s, Arena *arena, Str line, Record *r, Err *err)
{
    Value *v = NEW(arena, Value);
    const size_t most = item_form_has(s->names.form, ITEM_NUMBERS) ? RECORD_SAMPLES : RECORD_VALUES;
    if (!json_parse_record(arena, line, most, v, err)) return false;
    if (s->keeps) r->kept = kept_members(s, arena, v);
    r->id = value_get(v, "id");
    return item_of_value(&s->names, arena, v, &r->item, err);
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
    for (const Field *key = s->names.form->keys; key->name; key++) {
        Str cell = column_of(s, field, n, key->name);
        Value v = value_of_str(cell);
        if (!cell.p) continue;
        if ((key->repeated || key->kind == F_ANY) && !json_parse_most(arena, cell, RECORD_VALUES, &v, err))
            return within(err, "%s", key->name);
        value_add(out, key->name, v);
    }
    return true;
}

static const Value *kept_cells(const Records *s, Arena *arena, const Str *field, size_t n)
{
    Value *kept = ARRAY(arena, Value, s->keeps);
    for (size_t i = 0; i < s->keeps; i++) kept[i] = value_of_str(column_of(s, field, n, s->keep[i].p));
    return kept;
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
    if (s->keeps) r->kept = kept_cells(s, arena, field, n);
    Value cells;
    const Str path = column_of(s, field, n, item_names_path(&s->names));
    if (item_names_files(&s->names) && path.p) return item_open_file(arena, s->names.form, path, &r->item, err);
    if (item_names_pages(&s->names)) {
        if (!columns_map(s, arena, field, n, &cells, err)) return false;
        if (path.p) value_add(&cells, "path", value_of_str(path));
        return item_of_value(&s->names, arena, &cells, &r->item, err);
    }
    if (!item_names_texts(&s->names))
        return columns_map(s, arena, field, n, &cells, err) &&
               item_read_object(arena, s->names.form, &cells, &r->item, err);
    r->item.first = column_of(s, field, n, item_names_text(&s->names));
    r->item.second = column_of(s, field, n, s->names.second ? s->names.second : "text_pair");
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

bool records_lack(Records *s, const Str *known, size_t n, const RecordsColumn *column, Err *err)
{
    const char **names = ARRAY(&s->head, const char *, n), *name = column->name;
    for (size_t i = 0; i < n; i++) names[i] = str_dup(&s->head, known[i]);
    const char *near = str_nearest(str_of(name), names, n), *flag = column->flag;
    if (near && !flag)
        return fail(err, EF_INVALID_INPUT, "found no column \"%s\": did you mean --field %s?", name, near);
    if (near)
        return fail(err, EF_INVALID_INPUT, "%sfound no column \"%s\": did you mean \"%s\"?", flag, name, near);
    return flag ? fail(err, EF_INVALID_INPUT, "%sfound no column \"%s\"", flag, name)
                : fail(err, EF_INVALID_INPUT, "found no column \"%s\"; --field names another one", name);
}

static bool has_column(Records *s, const char *name, const char *flag, Err *err)
{
    size_t first = 0, last = s->columns;
    while (first < s->columns && !str_is(s->column[first], name)) first++;
    while (last > first + 1 && !str_is(s->column[last - 1], name)) last--;
    if (last > first + 1)
        return fail(err, EF_INVALID_INPUT, "%s: columns %zu and %zu of %zu are both \"%s\", wanted one: rename the "
                    "other", s->lines.name, first + 1, last, s->columns, name);
    return first < s->columns || records_lack(s, s->column, s->columns, &(RecordsColumn){ name, flag }, err) ||
           within(err, "%s", s->lines.name);
}

/* Those of --keep are there; "all" is what the first line has. */
static bool keep_columns(Records *s, Err *err)
{
    if (s->keeps == 1 && str_is(s->keep[0], "all") && !column_of(s, s->column, s->columns, "all").p) {
        s->keep = ARRAY(&s->head, Str, s->keeps = s->columns);
        for (size_t i = 0; i < s->columns; i++) s->keep[i] = (Str){ str_dup(&s->head, s->column[i]), s->column[i].n };
    }
    for (size_t i = 0; i < s->keeps; i++)
        if (!has_column(s, s->keep[i].p, "--keep: ", err)) return false;
    return true;
}

/* What some programs of Windows write in front of UTF-8. */
static Str without_mark(Str first)
{
    return str_starts(first, "\xef\xbb\xbf") ? (Str){ first.p + 3, first.n - 3 } : first;
}

static bool read_head(Records *s, Err *err)
{
    Str record;
    bool more;
    if (!next_bytes(s, &s->head, &record, &more, err)) return false;
    if (!more) return fail(err, EF_INVALID_INPUT, "%s: found nothing, wanted a line of column names", s->lines.name);
    if (!csv_read(&s->head, without_return(without_mark(record)), &s->column, &s->columns, err))
        return within_line(err, 1), within(err, "%s", s->lines.name);
    if (!keep_columns(s, err)) return false;
    const char *flag = s->names.field ? "" : NULL;
    if (s->names.second && !has_column(s, s->names.second, "--column2: ", err)) return false;
    if (item_names_texts(&s->names)) return has_column(s, item_names_text(&s->names), flag, err);
    const ItemFile *file = item_form_file(s->names.form);
    if (item_names_files(&s->names) && !column_of(s, s->column, s->columns, file->key).p)
        return has_column(s, item_names_path(&s->names), flag, err);
    if (item_names_files(&s->names)) return true;
    const bool path = column_of(s, s->column, s->columns, item_names_path(&s->names)).p != NULL;
    for (const Field *key = s->names.form->keys; key->name; key++)
        if (key->required && !(path && item_names_path_for(&s->names, key)) && !has_column(s, key->name, "", err))
            return false;
    return true;
}

static bool unpack_records(void *records, void *to, size_t room, size_t *got, Err *err)
{
    Records *s = records;
    return s->unzstd ? unzstd_read(s->unzstd, to, room, got, err) : gunzip_read(s->gunzip, to, room, got, err);
}

/* What the first bytes tell, whatever the name says. */
static bool look_inside(Records *s, Err *err)
{
    Str head;
    if (!lines_head(&s->lines, 4, &head, err)) return false;
    if (!gunzip_is(head) && !unzstd_is(head)) return true;
    head.p = str_dup(&s->head, head);
    if (gunzip_is(head)) s->gunzip = gunzip_open(&s->head, head, lines_raw, &s->lines);
    else s->unzstd = unzstd_open(&s->head, head, lines_raw, &s->lines);
    s->lines.buf.n = 0, s->lines.end = false;
    s->lines.pull = unpack_records, s->lines.context = s;
    return true;
}

/* What stands before the first record. More than 4 bytes are waited for only where these begin a table. */
static bool open_form(Records *s, const char *path, Err *err)
{
    Str head;
    bool stream = false;
    const size_t few = 4, all = 8;
    if (!lines_head(&s->lines, few, &head, err)) return false;
    if (batch_form_begins(head) && !lines_head(&s->lines, all, &head, err)) return false;
    const BatchForm *found = batch_form_of_bytes(head, &stream);
    if (!found && s->form == RECORDS_BATCHES && batch_form_encrypted(s->table, head)) found = s->table;
    if (found) s->table = found, s->form = RECORDS_BATCHES;
    if (s->form == RECORDS_BATCHES) return batches_open(s, path, stream || !found, err);
    if (s->form == RECORDS_CSV) return read_head(s, err);
    if (s->keeps && (s->form == RECORDS_TEXT || str_is(s->keep[0], "all")))
        return fail(err, EF_USAGE, "--keep: found %s, wanted %s", records_forms[s->form],
                    s->form == RECORDS_TEXT ? "records with names" : "the names of keys: lines may have any");
    return true;
}

static bool split_keep(Records *s, const char *list, Err *err)
{
    size_t room = 1;
    for (const char *c = list; *c; c++) room += *c == ',';
    s->keep = ARRAY(&s->head, Str, room);
    for (const char *from = list; *from;) {
        const size_t n = strcspn(from, ",");
        const Str name = str_trim((Str){ from, n });
        if (name.n) s->keep[s->keeps++] = (Str){ str_dup(&s->head, name), name.n };
        from += n + (from[n] == ',');
        for (size_t i = 0; name.n && i + 1 < s->keeps; i++)
            if (str_eq(name, s->keep[i])) return fail(err, EF_USAGE, "--keep: found \"%.*s\" twice", STR_ARG(name));
    }
    return true;
}

bool records_open(Records *s, const char *path, const ItemForm *items, const RecordsHow *how, Err *err)
{
    *s = (Records){ .names = { items, how->field, how->second }, .how = *how, .lines.fd = -1 };
    if (!find_form(s, path, err)) return false;
    if (!item_names_fit(&s->names, "--field", "--column2", err)) return false;
    if (dir_is(path))
        return fail(err, EF_USAGE, "%s: found a folder, wanted a file; map --checkpoint DIR takes folders", path);
    if (!lines_open(&s->lines, path, err)) return false;
    bool ok = (!how->keep || split_keep(s, how->keep, err)) && look_inside(s, err) && open_form(s, path, err);
    if (ok && (how->field || how->second) && s->form == RECORDS_TEXT)
        ok = fail(err, EF_USAGE, "--field: found plain text, wanted jsonl, csv or arrow (--input-format)");
    if (ok) return true;
    records_close(s);
    return false;
}

/* A whole file as one list, as .json often is. A record may be a list of two texts. */
static bool begins_array(const Records *s, Str line)
{
    line = str_trim(line);
    const bool first = s->form == RECORDS_JSONL && s->lines.number == 1;
    return first && str_starts(line, "[") && (line.n == 1 || line.p[1] == '{');
}

bool records_next(Records *s, Arena *arena, Record *r, bool *more, Err *err)
{
    Str bytes;
    memset(r, 0, offsetof(Record, err)); /* the message is 1 KB that hardly ever is read */
    r->err.code = EF_OK;
    if (s->reader) return batches_record(s, arena, r, more, err);
    if (!next_bytes(s, arena, &bytes, more, err)) return false;
    if (!*more) return true;
    bytes = without_return(bytes);
    if (s->lines.number == 1) bytes = without_mark(bytes);
    bool ok = true;
    if (!utf8_valid(bytes)) ok = fail(&r->err, EF_INVALID_INPUT, "found bytes that are not valid UTF-8");
    else if (s->form == RECORDS_TEXT && item_names_files(&s->names))
        ok = item_open_file(arena, s->names.form, bytes, &r->item, &r->err);
    else if (s->form == RECORDS_TEXT) item_of_text(&s->names, bytes, &r->item);
    else ok = (s->form == RECORDS_JSONL ? parse_json : parse_csv)(s, arena, bytes, r, &r->err);
    if (!ok && begins_array(s, bytes))
        fail(&r->err, EF_INVALID_INPUT, "found a JSON array, wanted one record a line: jq -c '.[]' FILE");
    if (!ok || !item_check(s->names.form, &r->item, &r->err)) within_line(&r->err, s->lines.number);
    return true;
}

bool records_quiet(const Records *s)
{
    return s->last && s->row < s->last->rows.rows ? false : lines_quiet(&s->lines);
}

void records_close(Records *s)
{
    batches_free(s);
    lines_close(&s->lines);
    gunzip_close(s->gunzip);
    unzstd_close(s->unzstd);
    arena_free(&s->head);
}

static void put_member(Buf *b, Str key, const Value *v)
{
    json_write_string(b, key);
    buf_char(b, ':');
    json_write(b, v);
    buf_char(b, ',');
}

void record_begin(Buf *b, const Records *s, const Record *r)
{
    buf_char(b, '{');
    for (size_t i = 0; r->kept && i < s->keeps; i++) put_member(b, s->keep[i], &r->kept[i]);
    if (r->id && !s->how.keep) put_member(b, STR("id"), r->id);
}

size_t record_members(const Records *s, const Record *r)
{
    return s->how.keep ? (r->kept ? s->keeps : 0) : r->id != NULL;
}

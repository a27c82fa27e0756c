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
    if (str_ends(file, ".gz")) file.n -= 3;
    else if (str_ends(file, ".zst")) file.n -= 4;
    return file;
}

bool records_know(const char *path)
{
    static const char *const lines[] = { ".jsonl", ".ndjson", ".json", ".csv", ".txt" };
    const Str file = without_packing(path);
    const BatchForm *table = batch_form_of_path(file);
    for (size_t i = 0; i < COUNT(lines); i++)
        if (str_ends(file, lines[i])) return true;
    return table && table->open_file;
}

static void find_form(Records *s, const char *path, const char *name)
{
    const Str file = without_packing(path);
    s->table = name ? batch_form_named(str_of(name)) : batch_form_of_path(file);
    if (s->table && !s->table->open_file) s->table = NULL; /* it is only written */
    const bool json = str_ends(file, ".jsonl") || str_ends(file, ".ndjson") || str_ends(file, ".json");
    s->form = s->table ? RECORDS_BATCHES : json ? RECORDS_JSONL : str_ends(file, ".csv") ? RECORDS_CSV : RECORDS_TEXT;
    for (int i = 0; name && i < RECORDS_BATCHES; i++)
        if (strcmp(name, records_forms[i]) == 0) s->form = (RecordForm)i;
}

/* ---- files ---- */
bool records_take_files(const Records *s)
{
    return s->items == &item_pictures || s->items == &item_sounds;
}

bool records_take_pages(const Records *s)
{
    return item_form_has(s->items, ITEM_BOXES);
}

const char *records_path_key(const Records *s)
{
    return s->how.field ? s->how.field : "path";
}

const char *records_field(const Records *s)
{
    return s->how.field ? s->how.field : "text";
}

/* ---- JSON ---- */
/* A file inside of a table, as datasets have it: {bytes, path}. */
static const Value *bytes_or_path(const Value *v)
{
    const Value *bytes = value_get(v, "bytes"), *path = value_get(v, "path");
    if (bytes && bytes->kind == V_BYTES) return bytes;
    return path && path->kind == V_STR ? path : NULL;
}

static bool take_bytes(const Records *s, Arena *arena, const Value *bytes, Item *item, Err *err)
{
    Value object = value_map(arena, 1);
    value_add(&object, item_form_file(s->items)->key, *bytes);
    return item_read_object(arena, s->items, &object, item, err);
}

/* Samples instead of a file: {array, sampling_rate}. */
static bool holds_samples(const Records *s, const Value *v)
{
    return v && item_form_has(s->items, ITEM_NUMBERS) && (value_get(v, "array") || value_get(v, "raw"));
}

static bool take_file(const Records *s, Arena *arena, const Value *v, Item *item, Err *err)
{
    const Value *path = v->kind == V_MAP ? value_get(v, records_path_key(s)) : v;
    const char *key = item_form_file(s->items)->key;
    const Value *inside = path && path->kind == V_MAP ? path : value_get(v, key);
    if (holds_samples(s, inside)) return item_read_object(arena, s->items, inside, item, err);
    if (path && path->kind == V_MAP) path = bytes_or_path(path);
    if (path && path->kind == V_STR) return item_open_file(arena, s->items, path->s, item, err);
    if (path && path->kind == V_BYTES) return take_bytes(s, arena, path, item, err);
    const Value *own = value_get(v, key);
    if (own && own->kind == V_MAP && (own = bytes_or_path(own)) != NULL)
        return own->kind == V_STR ? item_open_file(arena, s->items, own->s, item, err)
                                  : take_bytes(s, arena, own, item, err);
    if (v->kind == V_MAP && (holds_samples(s, v) || value_get(v, key)))
        return item_read_object(arena, s->items, v, item, err);
    return fail(err, EF_INVALID_INPUT, "found %s, wanted a path, or an object with %s or %s",
                value_kind_name(path ? path->kind : v->kind), records_path_key(s), key);
}

bool records_path_is(const Records *s, const Field *key)
{
    return records_take_pages(s) && strcmp(key->name, item_form_file(s->items)->key) == 0;
}

/* Its picture may be a file, or {bytes, path}; a question that is asked of all pages is this one's, if it has none. */
static bool take_page(const Records *s, Arena *arena, const Value *v, Item *item, Err *err)
{
    const char *key = item_form_file(s->items)->key;
    const Value *image = value_get(v, key), *asked = value_get(v, "question");
    const bool own = image && image->kind != V_NULL && image->kind != V_MAP;
    const Value *file = own ? NULL : image && image->kind == V_MAP ? image : value_get(v, records_path_key(s));
    if (file && file->kind == V_MAP) file = bytes_or_path(file);
    Value page = value_map(arena, v->map.n + 2);
    if (file && file->kind == V_STR) {
        if (!item_open_file(arena, s->items, file->s, item, err)) return false;
        value_add(&page, key, value_of_bytes(item->picture));
    } else if (file && file->kind == V_BYTES) value_add(&page, key, *file);
    const bool instead = page.map.n > 0;
    for (size_t i = 0; i < v->map.n; i++)
        if (!instead || !str_is(v->map.items[i].key, key)) page.map.items[page.map.n++] = v->map.items[i];
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

bool record_take_text(const Records *s, const Value *text, Item *item, Err *err)
{
    return take_pair(s, text, item) ||
           fail(err, EF_INVALID_INPUT, "%s: found %s, wanted a string or two of them", records_field(s),
                value_kind_name(text->kind));
}

static bool take_map(const Records *s, const Value *v, Item *item, Err *err)
{
    const char *field = records_field(s), *second = s->how.second ? s->how.second : "text_pair";
    const Value *text = value_get(v, field), *pair = value_get(v, second);
    if (!text && !s->how.field) text = value_get(v, "inputs");
    if (!text) return fail(err, EF_INVALID_INPUT, "found no \"%s\", wanted one", field);
    if (!record_take_text(s, text, item, err)) return false;
    if (!pair || pair->kind == V_NULL) return true;
    if (pair->kind != V_STR || item->second.p)
        return fail(err, EF_INVALID_INPUT, "%s: wanted one string beside one text", second);
    item->second = pair->s;
    return true;
}

static bool are_texts(const Records *s)
{
    return s->items == &item_texts;
}

bool record_take(const Records *s, Arena *arena, const Value *v, Record *r, Err *err)
{
    if (records_take_files(s)) return take_file(s, arena, v, &r->item, err);
    if (v->kind == V_MAP && records_take_pages(s)) return take_page(s, arena, v, &r->item, err);
    if (v->kind == V_MAP && !are_texts(s)) return item_read_object(arena, s->items, v, &r->item, err);
    if (v->kind == V_MAP) return take_map(s, v, &r->item, err);
    return take_pair(s, v, &r->item) || fail(err, EF_INVALID_INPUT, "found %s, wanted a text, two texts or an object",
                                   value_kind_name(v->kind));
}

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
    const size_t most = item_form_has(s->items, ITEM_NUMBERS) ? RECORD_SAMPLES : RECORD_VALUES;
    if (!json_parse_record(arena, line, most, v, err)) return false;
    if (s->keeps) r->kept = kept_members(s, arena, v);
    r->id = value_get(v, "id");
    return record_take(s, arena, v, r, err);
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
    const Str path = column_of(s, field, n, records_path_key(s));
    if (records_take_files(s) && path.p) return item_open_file(arena, s->items, path, &r->item, err);
    if (records_take_pages(s)) {
        if (!columns_map(s, arena, field, n, &cells, err)) return false;
        if (path.p) value_add(&cells, "path", value_of_str(path));
        return take_page(s, arena, &cells, &r->item, err);
    }
    if (!are_texts(s))
        return columns_map(s, arena, field, n, &cells, err) &&
               item_read_object(arena, s->items, &cells, &r->item, err);
    r->item.first = column_of(s, field, n, records_field(s));
    r->item.second = column_of(s, field, n, s->how.second ? s->how.second : "text_pair");
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
    const char **names = ARRAY(&s->head, const char *, n), *file = s->lines.name, *name = column->name;
    for (size_t i = 0; i < n; i++) names[i] = str_dup(&s->head, known[i]);
    const char *near = str_nearest(str_of(name), names, n), *flag = column->flag;
    if (near && !flag)
        return fail(err, EF_INVALID_INPUT, "%s: found no column \"%s\": did you mean --field %s?", file, name, near);
    if (near)
        return fail(err, EF_INVALID_INPUT, "%s: %sfound no column \"%s\": did you mean \"%s\"?", file, flag, name,
                    near);
    return flag ? fail(err, EF_INVALID_INPUT, "%s: %sfound no column \"%s\"", file, flag, name)
                : fail(err, EF_INVALID_INPUT, "%s: found no column \"%s\"; --field names another one", file, name);
}

static bool has_column(Records *s, const char *name, const char *flag, Err *err)
{
    size_t first = 0, last = s->columns;
    while (first < s->columns && !str_is(s->column[first], name)) first++;
    while (last > first + 1 && !str_is(s->column[last - 1], name)) last--;
    if (last > first + 1)
        return fail(err, EF_INVALID_INPUT, "%s: columns %zu and %zu of %zu are both \"%s\", wanted one: rename the "
                    "other", s->lines.name, first + 1, last, s->columns, name);
    return first < s->columns || records_lack(s, s->column, s->columns, &(RecordsColumn){ name, flag }, err);
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

static bool read_head(Records *s, Err *err)
{
    Str record;
    bool more;
    if (!next_bytes(s, &s->head, &record, &more, err)) return false;
    if (!more) return fail(err, EF_INVALID_INPUT, "%s: found nothing, wanted a line of column names", s->lines.name);
    if (str_starts(record, "\xef\xbb\xbf")) record.p += 3, record.n -= 3;
    if (!csv_read(&s->head, without_return(record), &s->column, &s->columns, err))
        return within_line(err, 1), within(err, "%s", s->lines.name);
    if (!keep_columns(s, err)) return false;
    const char *flag = s->how.field ? "" : NULL;
    if (s->how.second && !has_column(s, s->how.second, "--column2: ", err)) return false;
    if (are_texts(s)) return has_column(s, records_field(s), flag, err);
    if (records_take_files(s) && !column_of(s, s->column, s->columns, item_form_file(s->items)->key).p)
        return has_column(s, records_path_key(s), flag, err);
    if (records_take_files(s)) return true;
    const bool path = column_of(s, s->column, s->columns, records_path_key(s)).p != NULL;
    for (const Field *key = s->items->keys; key->name; key++)
        if (key->required && !(path && records_path_is(s, key)) && !has_column(s, key->name, "", err)) return false;
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

static bool fits_items(const Records *s, Err *err)
{
    const char *flag = s->how.second ? "--column2" : "--field";
    if (s->how.second && !are_texts(s))
        return fail(err, EF_USAGE, "--column2: found a model that takes %s, wanted one that takes texts",
                    s->items->one);
    if ((!s->how.field && !s->how.second) || are_texts(s) || records_take_files(s)) return true;
    return fail(err, EF_USAGE, "%s: found a model whose records have keys of their own, wanted %s", flag,
                s->items->one);
}

bool records_open(Records *s, const char *path, const ItemForm *items, const RecordsHow *how, Err *err)
{
    *s = (Records){ .items = items, .how = *how, .lines.fd = -1 };
    find_form(s, path, how->form);
    if (!fits_items(s, err)) return false;
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

bool records_next(Records *s, Arena *arena, Record *r, bool *more, Err *err)
{
    Str bytes;
    memset(r, 0, offsetof(Record, err)); /* the message is 1 KB that hardly ever is read */
    r->err.code = EF_OK;
    if (s->reader) return batches_record(s, arena, r, more, err);
    if (!next_bytes(s, arena, &bytes, more, err)) return false;
    if (!*more) return true;
    bytes = without_return(bytes);
    bool ok = true;
    if (!utf8_valid(bytes)) ok = fail(&r->err, EF_INVALID_INPUT, "found bytes that are not valid UTF-8");
    else if (s->form == RECORDS_TEXT && records_take_files(s))
        ok = item_open_file(arena, s->items, bytes, &r->item, &r->err);
    else if (s->form == RECORDS_TEXT) take_text(s, bytes, &r->item);
    else ok = (s->form == RECORDS_JSONL ? parse_json : parse_csv)(s, arena, bytes, r, &r->err);
    if (!ok || !item_check(s->items, &r->item, &r->err)) within_line(&r->err, s->lines.number);
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

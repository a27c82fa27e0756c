/* SPDX-License-Identifier: Apache-2.0
 * map_arrow.c - batches through a model by Arrow's C Stream Interface: ef_map_arrow. One batch is asked for, pulled,
 * answered part by part, and handed on. Answers are those of `map`: a part that failed runs again in halves, so that
 * each row has its own result or error.
 *
 * Memory may run out at any step: steps are guarded one by one, and what they made lies in the stream, not in them. */
#include <errno.h>

#include "api/guard_call.h"
#include "api/handle.h"
#include "api/json_options.h"
#include "data/arrow_export.h"
#include "data/arrow_import.h"
#include "input/item_columns.h"
#include "model/model.h"

enum { PART_ROWS = 1024, PART_BYTES = 1 << 20, SPARE = 1 << 20 };

typedef struct MapStream {
    Arena arena;             /* this, too */
    ef_model *model;
    struct ArrowArrayStream in;
    /* options */
    ItemNames names;         /* of the columns that an item is made of */
    Str *keep;
    size_t keeps;
    Value params;            /* of the task */
    bool chars;
    TaskTable table;
    Field *rows;             /* of the table, and `error` */
    size_t results;          /* columns before that */
    /* the input's schema, once it was read */
    bool known;
    ArrowFields fields;
    ItemColumns columns;     /* of them, those that an item is made of */
    int64_t *kept;           /* [keeps] */
    /* how it goes */
    bool over;
    int code;                /* of errno; not 0: it failed for good, */
    Err err;                 /*   and why */
    /* the schema or the batch at hand */
    struct ArrowSchema schema, own;
    struct ArrowArray batch, result;
    struct ArrowSchema *schema_out;
    struct ArrowArray *batch_out;
    ArrowExport *made;
    ArrowColumn *values;     /* [fields.n] */
    Arena held;              /* of the batch */
    /* the part at hand: rows from .. to - 1 */
    int64_t from, to;
    Arena scratch;
    Job *job;                /* of those that are usable; NULL: none is */
    const char **why;        /* [to - from]: why a row has no result; NULL: it has one */
} MapStream;

/* ---- steps ---- */
static int stream_errno(ef_code code)
{
    switch (code) {
    case EF_OK: return 0;
    case EF_UNSUPPORTED: return ENOSYS;
    case EF_IO: return EIO;
    case EF_CANCELLED: return ECANCELED;
    case EF_OVERLOADED:
    case EF_UNAVAILABLE: return EAGAIN;
    default: return EINVAL;
    }
}

/* Runs it; false: it, or something before it, failed. */
static bool stream_step(MapStream *s, void (*step)(void *))
{
    if (s->code) return false;
    const bool whole = guard_call(step, s, &s->err);
    s->code = whole ? stream_errno(s->err.code) : ENOMEM;
    return s->code == 0;
}

static bool stream_failed(MapStream *s, int code)
{
    const char *why = s->in.get_last_error ? s->in.get_last_error(&s->in) : NULL;
    fail(&s->err, EF_IO, "the input: %s", why ? why : strerror(code));
    s->code = code;
    return false;
}

/* ---- the schema ---- */
static int64_t stream_find(const struct ArrowSchema *schema, Str name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (str_eq(str_of(schema->children[i]->name), name)) return i;
    return -1;
}

static bool stream_lacks(MapStream *s, Str name, const char *option)
{
    const struct ArrowSchema *schema = &s->schema;
    const char **known = ARRAY(&s->held, const char *, schema->n_children + 1);
    for (int64_t i = 0; i < schema->n_children; i++)
        known[i] = schema->children[i]->name ? schema->children[i]->name : "";
    const char *near = str_nearest(name, known, (size_t)schema->n_children);
    if (near)
        return fail(&s->err, EF_INVALID_INPUT, "found no column \"%.*s\": did you mean \"%s\"?", STR_ARG(name), near);
    return option ? fail(&s->err, EF_INVALID_INPUT, "found no column \"%.*s\"; \"%s\" names another one",
                         STR_ARG(name), option)
                  : fail(&s->err, EF_INVALID_INPUT, "found no column \"%.*s\"", STR_ARG(name));
}

static bool stream_differs(MapStream *s)
{
    for (size_t i = 0; i < s->keeps; i++) {
        bool twice = false;
        for (size_t k = 0; k < i; k++) twice |= str_eq(s->keep[i], s->keep[k]);
        for (const Field *f = s->rows; f->name; f++) twice |= str_is(s->keep[i], f->name);
        if (twice)
            return fail(&s->err, EF_INVALID_INPUT, "keep: found \"%.*s\", which would be there twice; wanted other "
                        "names: rename it in the input", STR_ARG(s->keep[i]));
    }
    return true;
}

static void stream_keep_all(MapStream *s)
{
    if (s->keeps != 1 || !str_is(s->keep[0], "all") || stream_find(&s->schema, s->keep[0]) >= 0) return;
    s->keep = ARRAY(&s->arena, Str, s->schema.n_children);
    s->keeps = (size_t)s->schema.n_children;
    for (size_t i = 0; i < s->keeps; i++) {
        const Str name = str_of(s->schema.children[i]->name);
        s->keep[i] = (Str){ str_dup(&s->arena, name), name.n };
    }
}

static bool stream_lacks_items(void *stream, const char *name, ItemLack lack, Err *err)
{
    static const char *const option[] = { "column", "column", "column2", NULL };
    MapStream *s = stream;
    (void)err; /* of the stream, as all of its errors are */
    return stream_lacks(s, str_of(name), option[lack]);
}

static void stream_know(void *stream)
{
    MapStream *s = stream;
    if (!arrow_import_struct(&s->schema, &s->err)) return;
    arrow_import_fields(&s->arena, &s->schema, &s->fields);
    if (!item_columns_choose(&s->arena, &s->names, &s->fields, stream_lacks_items, s, &s->columns, &s->err)) return;
    stream_keep_all(s);
    s->kept = ARRAY(&s->arena, int64_t, s->keeps);
    for (size_t i = 0; i < s->keeps; i++)
        if ((s->kept[i] = stream_find(&s->schema, s->keep[i])) < 0) return (void)stream_lacks(s, s->keep[i], "keep");
    s->known = stream_differs(s);
}

/* Asked anew each time: the input's schema is the input's, and what is handed out is the caller's. */
static bool stream_read_schema(MapStream *s)
{
    if (s->code) return false;
    const int code = s->in.get_schema(&s->in, &s->schema);
    if (code) return s->schema.release = NULL, stream_failed(s, code);
    return s->known || stream_step(s, stream_know);
}

static void stream_join_schema(void *stream)
{
    MapStream *s = stream;
    struct ArrowSchema own = { 0 }, **part = ARRAY(&s->held, struct ArrowSchema *, s->keeps + s->results + 1);
    if (!arrow_import_struct(&s->schema, &s->err)) return;
    if (s->schema.n_children != s->fields.n)
        return (void)fail(&s->err, EF_INVALID_INPUT, "found a schema of %lld columns, wanted %d as before",
                          (long long)s->schema.n_children, s->fields.n);
    s->made = arrow_export_new(s->rows);
    arrow_export_schema(s->made, &own);
    s->own = own;
    for (size_t i = 0; i < s->keeps; i++) part[i] = s->schema.children[s->kept[i]];
    for (size_t i = 0; i <= s->results; i++) part[s->keeps + i] = s->own.children[i];
    arrow_export_copies(part, (int64_t)(s->keeps + s->results + 1), s->schema_out);
}

static void stream_let_go(MapStream *s)
{
    if (s->schema.release) s->schema.release(&s->schema);
    if (s->own.release) s->own.release(&s->own);
    if (s->batch.release) s->batch.release(&s->batch);
    if (s->result.release) s->result.release(&s->result);
    s->schema.release = s->own.release = NULL;
    s->batch.release = s->result.release = NULL;
    arrow_export_drop(s->made);
    s->made = NULL;
    arena_reset(&s->held, SPARE);
}

static int map_get_schema(struct ArrowArrayStream *out, struct ArrowSchema *schema)
{
    MapStream *s = out->private_data;
    *schema = (struct ArrowSchema){ 0 };
    s->schema_out = schema;
    if (stream_read_schema(s)) stream_step(s, stream_join_schema);
    stream_let_go(s);
    return s->code;
}

/* ---- a part of a batch ---- */
static bool part_options(MapStream *s)
{
    return s->params.map.n == 0 || job_options(s->model->session, s->job, &s->params);
}

static bool part_take(MapStream *s, int64_t row, Item *item, Err *err)
{
    return item_of_row(&s->scratch, &s->columns, s->values, row, false, item, err) &&
           item_check(s->names.form, item, err);
}

/* Ends it where it has enough bytes. */
static void part_fill(void *stream)
{
    MapStream *s = stream;
    size_t n = 0, bytes = 0;
    s->job = job_new();
    Item *item = job_items(s->job, (size_t)(s->to - s->from));
    s->why = ARRAY(&s->scratch, const char *, s->to - s->from);
    for (int64_t row = s->from; row < s->to; row++) {
        Err err = { 0 };
        if (row > s->from && bytes > PART_BYTES) s->to = row;
        else if (part_take(s, row, &item[n], &err)) bytes += item_bytes(&item[n]), n++;
        else s->why[row - s->from] = str_dup(&s->scratch, str_of(err.message)), item[n] = (Item){ 0 };
    }
    s->job->work.n = n;
    s->job->in.table = &s->table;
    if (!part_options(s)) {
        s->err = s->job->work.err;
        return;
    }
    s->job->work.options.chars |= s->chars;
    if (s->table.ask) s->table.ask(&s->job->work.options);
    if (n) return;
    job_free(s->job);
    s->job = NULL;
}

/* Rows that all have their results, from `next` on, or all failed. */
static bool part_add_alike(MapStream *s, size_t at, size_t n, size_t *next)
{
    Arena *arena = &s->scratch;
    const bool failed = s->why[at] != NULL;
    Value *none = ARRAY(arena, Value, n), *errors = ARRAY(arena, Value, n);
    for (size_t i = 0; failed && i < n; i++) {
        errors[i] = value_map(arena, 1);
        value_add(&errors[i], "error", value_of_text(s->why[at + i]));
    }
    const Columns results = failed ? columns_of(arena, s->table.rows, none, n)
                                   : columns_slice(arena, &s->job->out.columns, *next, *next + n);
    const Columns error = columns_of(arena, s->rows + s->results, errors, n);
    Columns all = { ARRAY(arena, Column, s->results + 1), s->results + 1 };
    memcpy(all.column, results.column, s->results * sizeof *all.column);
    all.column[s->results] = error.column[0];
    if (!failed) *next += n;
    return arrow_export_add(s->made, &all, &s->err);
}

/* What is wrong with one row stands in it; what has nothing to do with it ends the stream. */
static bool part_judge(MapStream *s)
{
    const Err *err = s->job ? &s->job->work.err : &(Err){ 0 };
    switch (err->code) {
    case EF_OK: return true;
    case EF_OVERLOADED:
    case EF_UNAVAILABLE:
    case EF_DEADLINE:
    case EF_CANCELLED:
    case EF_INTERNAL: return s->err = *err, false;
    default: return s->why[0] = str_dup(&s->scratch, str_of(err->message)), true;
    }
}

static void part_add(void *stream)
{
    MapStream *s = stream;
    const size_t n = (size_t)(s->to - s->from);
    size_t next = 0;
    bool ok = part_judge(s);
    for (size_t at = 0, to; ok && at < n; at = to) {
        for (to = at + 1; to < n && !s->why[to] == !s->why[at]; to++) continue;
        ok = part_add_alike(s, at, to - at, &next);
    }
}

/* Answers rows from on, at most up to `to`; *done: as far as it came. The session guards its own work. */
static bool part_run(MapStream *s, int64_t from, int64_t to, int64_t *done)
{
    s->from = from, s->to = to;
    bool ok = stream_step(s, part_fill);
    if (ok && s->job) job_run(s->model->session, s->job);
    to = *done = s->to;
    const bool again = ok && s->job && s->job->work.err.code != EF_OK && to - from > 1;
    if (ok && !again) ok = stream_step(s, part_add);
    job_free(s->job);
    s->job = NULL;
    arena_reset(&s->scratch, SPARE);
    for (int64_t at = from; ok && again && at < to;)
        ok = part_run(s, at, at < from + (to - from) / 2 ? from + (to - from) / 2 : to, &at);
    return ok;
}

/* ---- batches ---- */
static void batch_open(void *stream)
{
    MapStream *s = stream;
    if (!arrow_import_batch(&s->batch, s->fields.n, &s->err)) return;
    s->values = ARRAY(&s->held, ArrowColumn, s->fields.n);
    for (int i = 0; i < s->columns.n; i++) {
        const int at = s->columns.used[i];
        if (!arrow_import_column(&s->held, &s->fields.field[at], &s->batch, at, &s->values[at], &s->err)) return;
    }
    s->made = arrow_export_new(s->rows);
}

static void batch_close(void *stream)
{
    MapStream *s = stream;
    struct ArrowArray result, **part = ARRAY(&s->held, struct ArrowArray *, s->keeps + s->results + 1);
    arrow_export_array(s->made, &result);
    s->result = result;
    s->made = NULL;
    for (size_t i = 0; i < s->keeps; i++) part[i] = s->batch.children[s->kept[i]];
    for (size_t i = 0; i <= s->results; i++) part[s->keeps + i] = s->result.children[i];
    arrow_join_arrays(part, (int64_t)(s->keeps + s->results + 1), &s->batch, (int64_t)s->keeps, s->batch_out);
}

static bool stream_pull(MapStream *s)
{
    const int code = s->in.get_next(&s->in, &s->batch);
    if (code) return s->batch.release = NULL, stream_failed(s, code);
    s->over = !s->batch.release;
    return !s->over;
}

static bool stream_answer(MapStream *s)
{
    const int64_t most = (int64_t)MIN(session_options(s->model->session)->max_inputs, (size_t)PART_ROWS);
    bool ok = stream_step(s, batch_open);
    for (int64_t at = 0; ok && at < s->batch.length;) ok = part_run(s, at, MIN(at + most, s->batch.length), &at);
    return ok && stream_step(s, batch_close);
}

static int map_get_next(struct ArrowArrayStream *out, struct ArrowArray *array)
{
    MapStream *s = out->private_data;
    *array = (struct ArrowArray){ 0 };
    s->batch_out = array;
    if (s->over || s->code) return s->code;
    if (!process_check(s->model->process, "the model", &s->err) || !model_may_wait(s->model, &s->err))
        return s->code = stream_errno(s->err.code);
    if ((s->known || stream_read_schema(s)) && stream_pull(s)) stream_answer(s);
    stream_let_go(s);
    return s->code;
}

static const char *map_last_error(struct ArrowArrayStream *out)
{
    const MapStream *s = out->private_data;
    return s->code ? s->err.message : NULL;
}

static void map_free(MapStream *s)
{
    if (!s) return;
    stream_let_go(s);
    job_free(s->job);
    arena_free(&s->scratch);
    arena_free(&s->held);
    Arena arena = s->arena;
    arena_free(&arena);
}

static void map_release(struct ArrowArrayStream *out)
{
    MapStream *s = out->private_data;
    if (s->in.release) s->in.release(&s->in);
    out->release = NULL;
    map_free(s);
}

/* ---- options ---- */
static bool option_keep(MapStream *s, const Value *v, Err *err)
{
    const bool one = v->kind == V_STR;
    if (v->kind == V_NULL) return true;
    if (!one && v->kind != V_LIST)
        return fail(err, EF_INVALID_INPUT, "keep: found %s, wanted a list of names", value_kind_name(v->kind));
    s->keeps = one ? 1 : v->list.n;
    s->keep = ARRAY(&s->arena, Str, s->keeps);
    for (size_t i = 0; i < s->keeps; i++) {
        const Value *name = one ? v : &v->list.items[i];
        if (name->kind != V_STR)
            return fail(err, EF_INVALID_INPUT, "keep[%zu]: found %s, wanted a name", i, value_kind_name(name->kind));
        s->keep[i] = (Str){ str_dup(&s->arena, name->s), name->s.n };
    }
    return true;
}

static bool option_name(MapStream *s, const Member *m, const char **out, Err *err)
{
    if (m->value.kind == V_NULL) return true;
    if (m->value.kind != V_STR)
        return fail(err, EF_INVALID_INPUT, "%.*s: found %s, wanted a name", STR_ARG(m->key),
                    value_kind_name(m->value.kind));
    *out = str_dup(&s->arena, m->value.s);
    return true;
}

static bool option_unknown(MapStream *s, Str key, Err *err)
{
    const char *names[64] = { "column", "column2", "keep", "results" };
    size_t n = 4;
    for (const Field *f = s->model->model->task->request; f->name && n < COUNT(names); f++) names[n++] = f->name;
    const char *near = str_nearest(key, names, n);
    return fail(err, EF_INVALID_INPUT, "unknown key \"%.*s\"%s%s%s", STR_ARG(key), near ? ": did you mean \"" : "",
                near ? near : "", near ? "\"?" : "");
}

static bool options_take(MapStream *s, const char *json, const char **results, Err *err)
{
    Value all;
    if (!json_options_parse(&s->arena, json, &all, err)) return false;
    s->params = value_map(&s->arena, all.map.n);
    s->names.form = s->model->model->items, s->chars = true;
    bool ok = true;
    for (size_t i = 0; ok && i < all.map.n; i++) {
        const Member *m = &all.map.items[i];
        const char *key = str_dup(&s->arena, m->key);
        if (strcmp(key, "column") == 0) ok = option_name(s, m, &s->names.field, err);
        else if (strcmp(key, "column2") == 0) ok = option_name(s, m, &s->names.second, err);
        else if (strcmp(key, "results") == 0) ok = option_name(s, m, results, err);
        else if (strcmp(key, "keep") == 0) ok = option_keep(s, &m->value, err);
        else if (!task_has_option(s->model->model->task, key) || strcmp(key, "inputs") == 0)
            ok = option_unknown(s, m->key, err);
        else s->params.map.items[s->params.map.n++] = *m;
        if (strcmp(key, "offsets") == 0 && m->value.kind != V_NULL) s->chars = false;
    }
    return (ok && item_names_fit(&s->names, "column", "column2", err)) || within(err, "options");
}

/* Of the table, then `error`. */
static void rows_make(MapStream *s)
{
    while (s->table.rows[s->results].name) s->results++;
    s->rows = ARRAY(&s->arena, Field, s->results + 2);
    memcpy(s->rows, s->table.rows, s->results * sizeof *s->rows);
    s->rows[s->results] = (Field){ "error", 1, F_STR };
}

/* ---- the call ---- */
typedef struct MapCall {
    ef_model *model;
    const char *options;
    MapStream *stream;
    bool ok;
    Err err;
} MapCall;

static void map_open(void *call)
{
    MapCall *c = call;
    const Model *model = c->model->model;
    Arena arena = { 0 };
    MapStream *s = NEW(&arena, MapStream);
    const char *results = NULL;
    *s = (MapStream){ .arena = arena, .model = c->model };
    c->stream = s;
    if (!options_take(s, c->options, &results, &c->err)) return;
    s->job = job_new();
    c->ok = part_options(s);
    if (!c->ok) c->err = s->job->work.err;
    const TaskTold how = { results, &s->job->work.options };
    c->ok = c->ok && task_table(model->task, &model->config, how, &s->table, &c->err);
    if (c->ok) rows_make(s);
    job_free(s->job);
    s->job = NULL;
}

bool ef_map_arrow(ef_model *m, struct ArrowArrayStream *in, const char *options, struct ArrowArrayStream *out,
                  ef_error *err)
{
    MapCall c = { .model = m, .options = options };
    if (!process_check(m->process, "the model", err)) return false;
    if (!in || !out) return fail(err, EF_INVALID_INPUT, "ef_map_arrow: found no stream, wanted one in and one out");
    if (!in->release) return fail(err, EF_INVALID_INPUT, "ef_map_arrow: found a stream that was released");
    guard_call(map_open, &c, &c.err);
    if (!c.ok) return map_free(c.stream), fail(err, c.err.code, "%s", c.err.message);
    c.stream->in = *in;
    in->release = NULL;
    *out = (struct ArrowArrayStream){ map_get_schema, map_get_next, map_last_error, map_release, c.stream };
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * map_parts.c - see map_parts.h. */
#include "cli/map_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "cli/map_output.h"
#include "cli/records.h"
#include "data/arrow_kinds.h"
#include "data/json.h"
#include "data/parquet.h"

enum { RUN_MOST = 64 << 20 };

typedef struct PartsInput {
    const char *path;        /* absolute */
    int64_t size, mtime;     /* bytes; nanoseconds */
    const char *end;         /* SHA-256 of a Parquet file's footer, else of the last 64 KiB */
    int64_t rows, parts;     /* rows -1: it was not read to its end */
} PartsInput;

struct MapParts {
    BatchWriter base;
    Arena *arena;
    const char *folder;
    int lock;
    bool gzip, known;        /* known: run.json was read or written */
    PartsKey key;
    Value columns;           /* of every part: a list of texts */
    bool fits;               /* an input of this run had the key and the columns */
    PartsInput *input;       /* in the order in which they came first */
    int inputs, room;
    /* the input at hand */
    int at;
    const ArrowFields *fields;
    int64_t part, rows, drop; /* rows of the part at hand; rows that are in a part already */
    Arena own;               /* of the part */
    FileWriter file;
    BatchWriter *writer;     /* NULL: no part is open */
    int64_t done;            /* whole parts */
};

/* ---- inputs ---- */
static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_name(Buf *list, const char *path)
{
    buf_add(list, &path, sizeof path);
}

/* Those of a folder that match, in order; pattern NULL: all but what engines put beside the rows: _SUCCESS, _delta_log,
 * .crc. False: it cannot be read. */
static bool folder_names(Arena *arena, const char *folder, const char *pattern, Buf *names)
{
    DIR *open = opendir(folder);
    if (!open) return false;
    for (struct dirent *e; (e = readdir(open));) {
        const bool wanted = pattern ? fnmatch(pattern, e->d_name, FNM_PERIOD) == 0 : !strchr("._", e->d_name[0]);
        if (wanted) add_name(names, str_dup(arena, str_of(e->d_name)));
    }
    closedir(open);
    if (names->n) qsort(names->p, names->n / sizeof(char *), sizeof(char *), compare_names);
    return true;
}

static bool same_folder(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* What this checkpoint is made of is no input, though a folder or a pattern may have it; parts of another one are. */
static bool is_own(Arena *arena, const char *own, const char *path)
{
    static const char *const parts[] = { "part-*-*.parquet", "part-*-*.parquet.tmp.??????", "run.json.tmp.??????" };
    const char *folder = path_dir(arena, path), *name = str_dup(arena, path_name(path));
    bool part = false;
    for (size_t i = 0; i < COUNT(parts); i++) part |= fnmatch(parts[i], name, 0) == 0;
    if (part) return same_folder(folder, own);
    return (strcmp(name, "run.json") == 0 || strcmp(name, "lock") == 0) &&
           file_is(path_join(arena, folder, STR("run.json"))) && file_is(path_join(arena, folder, STR("lock")));
}

static void add_file(Arena *arena, Buf *list, const char *own, const char *path)
{
    if (!is_own(arena, own, path)) add_name(list, path);
}

/* All files below it whose names say their form. */
static bool add_folder(Arena *arena, Buf *list, const char *own, const char *folder, int depth, Err *err)
{
    enum { DEEPEST = 32 };
    Buf names = { .arena = arena };
    if (depth > DEEPEST) return fail(err, EF_INVALID_INPUT, "%s: found folders that are nested too deep", folder);
    if (!folder_names(arena, folder, NULL, &names))
        return fail(err, EF_IO, "%s: cannot be read: %s", folder, strerror(errno));
    for (size_t i = 0; i < names.n / sizeof(char *); i++) {
        const char *path = path_join(arena, folder, str_of(((const char *const *)(void *)names.p)[i]));
        if (dir_is(path) && !add_folder(arena, list, own, path, depth + 1, err)) return false;
        if (file_is(path) && records_know(path)) add_file(arena, list, own, path);
    }
    return true;
}

static bool add_input(Arena *arena, Buf *list, const char *own, const char *path, Err *err)
{
    const size_t before = list->n;
    if (!dir_is(path)) return add_file(arena, list, own, path), true;
    return add_folder(arena, list, own, path, 0, err) &&
           (list->n > before || same_folder(path, own) ||
            fail(err, EF_INVALID_INPUT, "%s: found a folder without files of a known ending, wanted .parquet, .arrow, "
                 ".jsonl, .csv or .txt", path));
}

/* What is there of a pattern: its first part in the folder, the rest below that. glob() would bring the C library's
 * database of users along. */
static bool match_below(Arena *arena, Buf *list, const char *own, const char *folder, const char *pattern, Err *err)
{
    const size_t n = strcspn(pattern, "/");
    const char *part = str_dup(arena, (Str){ pattern, n }), *rest = pattern + n + strspn(pattern + n, "/");
    Buf names = { .arena = arena };
    if (strpbrk(part, "*?[")) folder_names(arena, *folder ? folder : ".", part, &names);
    else add_name(&names, part);
    for (size_t i = 0; i < names.n / sizeof(char *); i++) {
        const char *path = str_format(arena, "%s%s", folder, ((const char *const *)(void *)names.p)[i]);
        const bool folder_there = dir_is(path);
        if (*rest && folder_there && !match_below(arena, list, own, str_format(arena, "%s/", path), rest, err))
            return false;
        if (!*rest && (folder_there || file_is(path)) && !add_input(arena, list, own, path, err)) return false;
    }
    return true;
}

static bool match_names(Arena *arena, Buf *list, const char *own, const char *pattern, Err *err)
{
    const size_t before = list->n, root = strspn(pattern, "/");
    return match_below(arena, list, own, root ? "/" : "", pattern + root, err) &&
           (list->n > before || fail(err, EF_INVALID_INPUT, "%s: found no file that matches", pattern));
}

bool parts_inputs(Arena *arena, const char *own, const char *const *given, int n, const char *const **out, int *count,
                  Err *err)
{
    Buf list = { .arena = arena };
    for (int i = 0; i < n; i++) {
        const bool pattern = strpbrk(given[i], "*?[") && !file_is(given[i]) && !dir_is(given[i]);
        if (!(pattern ? match_names : add_input)(arena, &list, own, given[i], err)) return false;
    }
    *out = (const char *const *)list.p;
    *count = (int)(list.n / sizeof(char *));
    return *count || fail(err, EF_USAGE, "--checkpoint: found no file, wanted inputs that can be read again");
}

static const char *hash_end(Arena *arena, Str file)
{
    enum { END = 1 << 16, TAIL = 8 };
    size_t n = MIN(file.n, (size_t)END);
    Sha256 sum;
    if (file.n > TAIL && str_ends(file, "PAR1"))
        n = MIN(file.n, (size_t)le32((const uint8_t *)file.p + file.n - TAIL) + TAIL);
    sha256_start(&sum);
    sha256_add(&sum, file.p + file.n - n, n);
    return output_digest(arena, &sum);
}

static bool look_at(Arena *arena, const char *path, PartsInput *out, Err *err)
{
    struct stat st;
    Mapping map;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return fail(err, EF_USAGE, "--checkpoint: %s: found no file, wanted inputs that can be read again", path);
    if (!file_map(path, &map, err)) return false;
    *out = (PartsInput){ .path = path_real(arena, path), .size = st.st_size, .rows = -1,
                         .mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
                         .end = hash_end(arena, (Str){ (const char *)map.p, map.n }) };
    file_unmap(&map);
    return true;
}

/* ---- run.json ---- */
static const char *run_path(const MapParts *p, Arena *arena)
{
    return path_join(arena, p->folder, STR("run.json"));
}

static Value input_value(Arena *arena, const PartsInput *in)
{
    Value v = value_map(arena, 6);
    value_add(&v, "path", value_of_text(in->path));
    value_add(&v, "size", value_of_int(in->size));
    value_add(&v, "mtime_ns", value_of_int(in->mtime));
    value_add(&v, "end_sha256", value_of_text(in->end));
    if (in->rows >= 0) value_add(&v, "rows", value_of_int(in->rows));
    if (in->rows >= 0) value_add(&v, "parts", value_of_int(in->parts));
    return v;
}

static bool run_write(const MapParts *p, Err *err)
{
    Arena scratch = { 0 };
    Buf text = { .arena = &scratch };
    Value run = value_map(&scratch, 5), inputs = value_list(&scratch, (size_t)p->inputs);
    for (int i = 0; i < p->inputs; i++) inputs.list.items[i] = input_value(&scratch, &p->input[i]);
    value_add(&run, "model", value_of_str(p->key.model));
    value_add(&run, "options", value_of_str(p->key.options));
    value_add(&run, "rows_per_part", value_of_int(p->key.rows));
    value_add(&run, "columns", p->columns);
    value_add(&run, "inputs", inputs);
    json_write(&text, &run);
    buf_char(&text, '\n');
    const bool ok = file_write(&scratch, run_path(p, &scratch), buf_view(&text), err);
    arena_free(&scratch);
    return ok;
}

static PartsInput *input_new(MapParts *p)
{
    if (p->inputs == p->room) {
        PartsInput *more = ARRAY(p->arena, PartsInput, p->room = p->room ? 2 * p->room : 16);
        if (p->inputs) memcpy(more, p->input, (size_t)p->inputs * sizeof *more);
        p->input = more;
    }
    return &p->input[p->inputs++];
}

static bool run_read(MapParts *p, const char *path, Err *err)
{
    static const Field input_rows[] = {
        { "path", 0, F_STR, .required = true }, { "size", 0, F_U64, .required = true },
        { "mtime_ns", 0, F_F64, .required = true }, { "end_sha256", 0, F_STR, .required = true },
        { "rows", 0, F_U64 }, { "parts", 0, F_U64 }, { 0 } };
    static const Field rows[] = {
        { "model", 0, F_STR, .required = true }, { "options", 0, F_STR, .required = true },
        { "rows_per_part", 0, F_U64, .required = true }, { "columns", 0, F_STR, .repeated = true, .required = true },
        { "inputs", 0, F_MSG, .repeated = true, .required = true, .msg = input_rows }, { 0 } };
    Str text;
    Value run;
    if (!file_read(p->arena, path, RUN_MOST, &text, err)) return false;
    if (!json_parse(p->arena, text, &run, err) || !schema_check(&run, rows, err)) return within(err, "%s", path);
    p->key = (PartsKey){ value_get(&run, "model")->s, value_get(&run, "options")->s,
                         value_int(value_get(&run, "rows_per_part"), 0) };
    p->columns = *value_get(&run, "columns");
    const Value *inputs = value_get(&run, "inputs");
    for (size_t i = 0; i < inputs->list.n; i++) {
        const Value *v = &inputs->list.items[i];
        *input_new(p) = (PartsInput){
            .path = str_dup(p->arena, value_get(v, "path")->s), .size = value_int(value_get(v, "size"), 0),
            .mtime = value_int(value_get(v, "mtime_ns"), 0), .end = str_dup(p->arena, value_get(v, "end_sha256")->s),
            .rows = value_int(value_get(v, "rows"), -1), .parts = value_int(value_get(v, "parts"), 0) };
    }
    return true;
}

/* ---- is it the same? ---- */
static void column_text(Buf *to, const ArrowField *f)
{
    buf_str(to, f->name);
    buf_printf(to, ": %s", f->encoded ? "dictionary of " : "");
    buf_puts(to, arrow_kind_name(f->kind));
    for (int i = 0; i < 3 && arrow_kinds[f->kind].param[i].bytes; i++) buf_printf(to, " %lld", (long long)f->param[i]);
    if (f->zone.n) buf_printf(to, " %.*s", STR_ARG(f->zone));
    if (f->children) buf_char(to, '<');
    for (int i = 0; i < f->children; i++) {
        if (i) buf_puts(to, ", ");
        column_text(to, &f->child[i]);
    }
    if (f->children) buf_char(to, '>');
    if (f->nullable) buf_char(to, '?');
}

static Value columns_text(Arena *arena, const ArrowFields *fields)
{
    Value list = value_list(arena, (size_t)fields->n);
    for (int i = 0; i < fields->n; i++) {
        Buf text = { .arena = arena };
        column_text(&text, &fields->field[i]);
        list.list.items[i] = value_of_str(buf_view(&text));
    }
    return list;
}

static bool same_columns(const MapParts *p, const Value *now, const char *input, Err *err)
{
    const size_t n = MIN(now->list.n, p->columns.list.n);
    for (size_t i = 0; i < n; i++) {
        const Str found = now->list.items[i].s, wanted = p->columns.list.items[i].s;
        if (!str_eq(found, wanted))
            return fail(err, EF_INVALID_INPUT, "%s: found a column %.*s, wanted %.*s as in the parts of %s: one "
                        "checkpoint has one schema", input, (int)MIN(found.n, 200), found.p, (int)MIN(wanted.n, 200),
                        wanted.p, p->folder);
    }
    return now->list.n == p->columns.list.n ||
           fail(err, EF_INVALID_INPUT, "%s: found %zu columns to write, wanted %zu as in the parts of %s", input,
                now->list.n, p->columns.list.n, p->folder);
}

static bool same_key(const MapParts *p, const PartsKey *now, Err *err)
{
    if (!str_eq(p->key.model, now->model))
        return fail(err, EF_USAGE, "--checkpoint: %s was begun with another model; take another folder for this one",
                    p->folder);
    if (!str_eq(p->key.options, now->options))
        return fail(err, EF_USAGE, "--checkpoint: %s was begun with other options; give the same ones, or another "
                    "folder", p->folder);
    return p->key.rows == now->rows ||
           fail(err, EF_USAGE, "--checkpoint: %s was begun with --rows-per-part %lld, found %lld; give the same, or "
                "another folder", p->folder, (long long)p->key.rows, (long long)now->rows);
}

static bool same_input(const PartsInput *was, const PartsInput *now, Err *err)
{
    const bool same = was->size == now->size && was->mtime == now->mtime && strcmp(was->end, now->end) == 0;
    return same || fail(err, EF_INVALID_INPUT, "--checkpoint: %s has changed since its first part was written (%s); "
                        "take another folder", now->path, was->size != now->size ? "another size"
                        : strcmp(was->end, now->end) ? "another end" : "another time of change");
}

/* A file that is no longer where it was, and is what this one is. Of one that is still there, this is a copy. */
static bool has_moved(const PartsInput *was, const PartsInput *now)
{
    Err ignored;
    return same_input(was, now, &ignored) && !file_is(was->path);
}

/* Parts are made after run.json tells of their input: others are not of this run. */
static bool no_foreign_parts(const MapParts *p, Err *err)
{
    Arena scratch = { 0 };
    Buf names = { .arena = &scratch };
    const char *pattern = p->inputs ? str_format(&scratch, "part-%05d-*.parquet", p->inputs) : "part-*.parquet";
    folder_names(&scratch, p->folder, pattern, &names);
    const bool ok = names.n == 0 ||
                    fail(err, EF_USAGE, "--checkpoint: %s: found %s, of which no run.json tells; take another folder",
                         p->folder, *(const char *const *)(void *)names.p);
    arena_free(&scratch);
    return ok;
}

/* Its place among those of run.json, where it is added if it is new. */
static bool find_input(MapParts *p, const char *path, Err *err)
{
    PartsInput now;
    if (!look_at(p->arena, path, &now, err)) return false;
    if (!utf8_valid(str_of(now.path)))
        return fail(err, EF_USAGE, "--checkpoint: %s: found a path that is no UTF-8, which run.json cannot tell: "
                    "rename it", path);
    for (p->at = 0; p->at < p->inputs; p->at++)
        if (strcmp(p->input[p->at].path, now.path) == 0) return same_input(&p->input[p->at], &now, err);
    for (p->at = 0; p->at < p->inputs && !has_moved(&p->input[p->at], &now); p->at++) continue;
    if (p->at < p->inputs) {
        log_info("%s was %s: its parts are those of part-%05d", now.path, p->input[p->at].path, p->at);
        p->input[p->at].path = now.path;
    } else {
        if (!no_foreign_parts(p, err)) return false;
        *input_new(p) = now;
    }
    return run_write(p, err);
}

/* ---- parts ---- */
static const char *part_path(const MapParts *p, Arena *arena, int64_t part)
{
    const char *name = str_format(arena, "part-%05d-%05lld.parquet", p->at, (long long)part);
    return path_join(arena, p->folder, str_of(name));
}

static bool part_put(void *parts, Str bytes, Err *err)
{
    return writer_add(&((MapParts *)parts)->file, bytes.p, bytes.n, err);
}

static void part_drop(MapParts *p)
{
    batches_drop(p->writer);
    p->writer = NULL;
    arena_reset(&p->own, 1 << 20);
}

static bool part_begin(MapParts *p, Err *err)
{
    const BatchOut out = { .put = part_put, .context = p, .gzip = p->gzip };
    if (!writer_open(&p->file, &p->own, part_path(p, &p->own, p->part), 0644, err)) return false;
    p->rows = 0;
    if (parquet_create_file(&p->own, p->fields, &out, &p->writer, err)) return true;
    writer_abort(&p->file);
    part_drop(p);
    return false;
}

/* It gets its name when it is whole, and so does the folder's entry survive a loss of power. */
static bool part_end(MapParts *p, Err *err)
{
    bool ok = batches_end(p->writer, err) && writer_commit(&p->file, err);
    if (!ok) writer_abort(&p->file);
    part_drop(p);
    const int folder = ok ? open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder >= 0) fsync(folder), close(folder);
    p->part++, p->done++;
    return ok;
}

static bool parts_add(BatchWriter *base, const ArrowBatch *b, Err *err)
{
    MapParts *p = (MapParts *)base;
    int64_t from = MIN(p->drop, b->rows);
    p->drop -= from;
    while (from < b->rows) {
        if (!p->writer && !part_begin(p, err)) return false;
        const int64_t n = MIN(b->rows - from, p->key.rows - p->rows);
        if (!parquet_add_rows(p->writer, b, from, from + n, err)) return false;
        from += n, p->rows += n;
        if (p->rows == p->key.rows && !part_end(p, err)) return false;
    }
    return true;
}

static bool parts_end(BatchWriter *base, Err *err)
{
    MapParts *p = (MapParts *)base;
    const int64_t rows = p->part * p->key.rows + (p->writer ? p->rows : 0);
    if (p->part == 0 && !p->writer && !part_begin(p, err)) return false; /* an input without rows: columns only */
    return (!p->writer || part_end(p, err)) && parts_ended(p, rows, err);
}

static void parts_stop(BatchWriter *base)
{
    MapParts *p = (MapParts *)base;
    if (p->writer) writer_abort(&p->file);
    if (p->writer) part_drop(p);
}

bool parts_ended(MapParts *p, int64_t rows, Err *err)
{
    PartsInput *in = &p->input[p->at];
    const int64_t parts = MAX((rows + p->key.rows - 1) / p->key.rows, 1);
    if (parts != p->part)
        return fail(err, EF_INVALID_INPUT, "--checkpoint: %s: found %lld rows, but %lld parts of it in %s", in->path,
                    (long long)rows, (long long)p->part, p->folder);
    in->rows = rows, in->parts = parts;
    return run_write(p, err);
}

BatchWriter *parts_writer(MapParts *p, int64_t left)
{
    p->drop = left;
    return &p->base;
}

/* ---- the folder ---- */
/* Waits a little: a run that was killed a moment ago may still hold it. */
static bool lock_folder(int fd)
{
    enum { TRIES = 20, PAUSE_MS = 100 };
    bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    for (int i = 1; !locked && errno == EWOULDBLOCK && i < TRIES; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
        locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    }
    return locked;
}

/* Removes files that a killed run has not yet given their names. */
static void remove_unnamed(const char *folder)
{
    DIR *open = opendir(folder);
    for (struct dirent *e; open && (e = readdir(open));)
        if (fnmatch("part-*.parquet.tmp.??????", e->d_name, 0) == 0 ||
            fnmatch("run.json.tmp.??????", e->d_name, 0) == 0)
            unlinkat(dirfd(open), e->d_name, 0);
    if (open) closedir(open);
}

bool parts_open(Arena *arena, const char *folder, bool gzip, MapParts **out, Err *err)
{
    MapParts *p = NEW(arena, MapParts);
    *p = (MapParts){ .base = { .add = parts_add, .end = parts_end, .close = parts_stop }, .arena = arena,
                     .folder = folder, .lock = -1, .gzip = gzip };
    const char *lock = path_join(arena, folder, STR("lock"));
    if (!dir_make_parents(lock, err)) return false;
    p->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (p->lock < 0) return fail(err, EF_IO, "--checkpoint: %s: cannot be written: %s", folder, strerror(errno));
    if (!lock_folder(p->lock)) {
        close(p->lock);
        return fail(err, EF_IO, "--checkpoint: %s: another process is at work there", folder);
    }
    remove_unnamed(folder);
    *out = p;
    const char *run = run_path(p, arena);
    p->known = file_is(run);
    if (!p->known || run_read(p, run, err)) return true;
    parts_close(p);
    return *out = NULL, false;
}

bool parts_begin(MapParts *p, const char *input, const PartsKey *key, const ArrowFields *fields, int64_t *skip,
                 bool *whole, Err *err)
{
    const Value columns = columns_text(p->arena, fields);
    if (!p->known) {
        p->key = (PartsKey){ { str_dup(p->arena, key->model), key->model.n },
                             { str_dup(p->arena, key->options), key->options.n }, key->rows };
        p->columns = columns;
    }
    p->known = true;
    /* With --keep all the columns are among the options: where an earlier input had the same, this one's are others. */
    if (p->fits && !same_columns(p, &columns, input, err)) return false;
    if (!same_key(p, key, err) || !same_columns(p, &columns, input, err) || !find_input(p, input, err)) return false;
    p->fits = true;
    Arena scratch = { 0 };
    for (p->part = 0; file_is(part_path(p, &scratch, p->part)); p->part++) arena_reset(&scratch, 1 << 16);
    arena_free(&scratch);
    p->fields = fields, p->rows = p->drop = 0;
    p->done += p->part;
    *whole = p->input[p->at].rows >= 0 && p->part >= p->input[p->at].parts;
    *skip = p->part * p->key.rows;
    return true;
}

int64_t parts_count(const MapParts *p)
{
    return p->done;
}

void parts_close(MapParts *p)
{
    if (!p) return;
    parts_stop(&p->base);
    arena_free(&p->own);
    close(p->lock);
}

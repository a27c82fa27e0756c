/* SPDX-License-Identifier: Apache-2.0
 * map_output.c - see map_output.h. */
#include "cli/map_output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/arrow_form.h"
#include "data/json.h"

const char *const map_forms[] = { "jsonl", "arrow", "parquet", "csv", "npy", NULL };
const char *const map_results[] = { "entities", "tokens", "scores", "all", NULL };
const char *const map_vectors[] = { "list", "fixed", NULL };
const char *const map_dtypes[] = { "f32", "f16", NULL };
const char *const map_errors[] = { "keep", "fail", NULL };
const char *const map_codecs[] = { "none", "gzip", NULL };
enum { FACTS = 7, DIGEST = 32 };

/* ---- the form ---- */
static bool tables_only(Args *a, Err *err)
{
    static const char *const names[] = { "results", "vectors", "dtype", "batch-rows", "compression" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (args_has(a, names[i]))
            return fail(err, EF_USAGE, "--%s: found lines of JSON, wanted a table: --output-format arrow or csv",
                        names[i]);
    return true;
}

bool output_choose(Args *a, const BatchForm *input, MapOutput *o, Err *err)
{
    const char *form = args_value(a, "output-format");
    o->path = args_value(a, "output");
    o->fd = STDOUT_FILENO;
    if (o->parts) return o->form = &batch_form_parquet, true;
    if (form) o->form = batch_form_named(str_of(form));
    else if (o->path && batch_form_of_path(str_of(o->path))) o->form = batch_form_of_path(str_of(o->path));
    else if (!o->path) o->form = input && !input->create_stream ? &batch_form_arrow : input;
    if (!o->form) return tables_only(a, err);
    if (!o->path && !o->form->create_stream)
        return fail(err, EF_USAGE, "--output-format %s: found no --output, wanted a file", o->form->name);
    if (!o->path && o->form->stream.n && isatty(STDOUT_FILENO))
        return fail(err, EF_USAGE, "found a terminal for %s, wanted a pipe or --output FILE; or --output-format jsonl",
                    o->form->name);
    return true;
}

bool output_open(Args *a, MapOutput *o, bool *begun, Err *err)
{
    const int append = o->form ? 0 : O_APPEND;
    *begun = false;
    if (!o->path) return true;
    o->fd = open(o->path, O_RDWR | O_CREAT | append | O_CLOEXEC, 0644);
    if (o->fd < 0 && errno == EINVAL) o->fd = open(o->path, O_WRONLY | O_CLOEXEC); /* no regular file */
    if (o->fd < 0) return fail(err, EF_IO, "%s: cannot be written: %s", o->path, strerror(errno));
    if (flock(o->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fail(err, EF_IO, "%s: another process is writing it", o->path);
    *begun = lseek(o->fd, 0, SEEK_END) > 0;
    if (!*begun) return true;
    if (o->form == &batch_form_parquet)
        return fail(err, EF_USAGE, "%s: is there already, and Parquet cannot be gone on with: take another name, or "
                    "--checkpoint DIR", o->path);
    if (args_has(a, "resume")) return true;
    return fail(err, EF_USAGE, "%s: has %s already; --resume goes on behind them", o->path, o->form ? "rows" : "lines");
}

void output_undo(MapOutput *o)
{
    struct stat now;
    if (o->path && fstat(o->fd, &now) == 0 && S_ISREG(now.st_mode) && now.st_size == 0) unlink(o->path);
}

/* ---- bytes ---- */
static bool write_bytes(const MapOutput *o, Str bytes, Err *err)
{
    for (size_t at = 0; at < bytes.n;) {
        ssize_t n = write(o->fd, bytes.p + at, bytes.n - at);
        if (n < 0 && errno != EINTR)
            return o->path ? fail(err, EF_IO, "%s: cannot be written: %s", o->path, strerror(errno)) : out_failed(err);
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool output_write(MapOutput *o, Err *err)
{
    bool ok = write_bytes(o, buf_view(&o->text), err);
    o->text.n = 0;
    return ok;
}

/* Small pieces go out together. */
static bool output_put(void *output, Str bytes, Err *err)
{
    enum { ENOUGH = 1 << 18 };
    MapOutput *o = output;
    if (o->text.n + bytes.n > ENOUGH && !output_write(o, err)) return false;
    if (bytes.n > ENOUGH) return write_bytes(o, bytes, err);
    return buf_str(&o->text, bytes), true;
}

static bool output_patch(void *output, uint64_t at, Str bytes, Err *err)
{
    MapOutput *o = output;
    if (!output_write(o, err)) return false;
    if (pwrite(o->fd, bytes.p, bytes.n, (off_t)at) == (ssize_t)bytes.n) return true;
    return fail(err, EF_IO, "%s: cannot be written: %s", o->path, strerror(errno));
}

/* ---- facts ---- */
const char *output_digest(Arena *arena, Sha256 *sum)
{
    uint8_t digest[DIGEST];
    char *text = ARRAY(arena, char, 2 * DIGEST + 1);
    sha256_end(sum, digest);
    for (int i = 0; i < DIGEST; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}

static void digest_add(Sha256 *sum, Str s)
{
    const uint64_t n = s.n; /* so that two texts are not one */
    sha256_add(sum, &n, sizeof n);
    sha256_add(sum, s.p, s.n);
}

/* Of a package the hashes of its members, which it brings along; else what is known without reading weights. */
static const char *digest_model(Arena *arena, const Model *m)
{
    Sha256 sum;
    sha256_start(&sum);
    digest_add(&sum, m->name), digest_add(&sum, m->version), digest_add(&sum, str_of(m->task->name));
    for (int i = 0; i < MEMBER_COUNT; i++)
        sha256_add(&sum, m->package.member[i].sha256, DIGEST);
    if (m->package.file.n == 0) {
        digest_add(&sum, m->config_text);
        sha256_add(&sum, &m->load_bytes, sizeof m->load_bytes);
    }
    return output_digest(arena, &sum);
}

/* Of what changes the rows that are written. */
static const char *digest_options(Args *a, const MapOutput *o, const Value *params)
{
    static const char *const names[] = { "results", "vectors", "dtype", "offsets", "field", "column", "column2", "keep",
                                         "pooling", "normalize", "task", "tokenizer", "batch-rows", "compression" };
    Sha256 sum;
    Buf text = { .arena = &a->arena };
    sha256_start(&sum);
    digest_add(&sum, str_of(o->form->name));
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *value = args_value(a, names[i]);
        digest_add(&sum, str_of(value ? value : ""));
    }
    if (params) json_write(&text, params);
    digest_add(&sum, buf_view(&text));
    return output_digest(&a->arena, &sum);
}

static Str labels_text(Arena *arena, const Model *m)
{
    const int n = task_labels(m->task, &m->config);
    Buf text = { .arena = arena };
    Value list = value_list(arena, (size_t)n);
    for (int i = 0; i < n; i++) list.list.items[i] = value_of_str(m->config.labels[i]);
    json_write(&text, &list);
    return buf_view(&text);
}

static int facts_of(Args *a, const MapOutput *o, const Model *m, const Value *params, ArrowPair *out)
{
    Arena *arena = &a->arena;
    int n = 0;
    out[n++] = (ArrowPair){ STR("encoderfile.name"), m->name };
    out[n++] = (ArrowPair){ STR("encoderfile.version"), m->version };
    out[n++] = (ArrowPair){ STR("encoderfile.task"), str_of(m->task->name) };
    if (task_labels(m->task, &m->config)) out[n++] = (ArrowPair){ STR("encoderfile.labels"), labels_text(arena, m) };
    if (model_makes_vectors(m))
        out[n++] = (ArrowPair){ STR("encoderfile.dim"),
                                str_of(str_format(arena, "%d", config_vector_size(&m->config))) };
    out[n++] = (ArrowPair){ STR("encoderfile.model"), str_of(digest_model(arena, m)) };
    out[n++] = (ArrowPair){ STR("encoderfile.options"), str_of(digest_options(a, o, params)) };
    assert(n <= FACTS);
    return n;
}

/* ---- the table ---- */
static bool vector_form(Args *a, const Model *m, const Value *params, ArrowVectors *out, Err *err)
{
    enum { FIXED = 1, F16 = 1 };
    out->half = args_int(a, "dtype") == F16;
    if (args_int(a, "vectors") != FIXED) return true;
    const int64_t cut = value_int(value_get(params, "dimensions"), 0);
    out->fixed = cut ? cut : model_makes_vectors(m) ? config_vector_size(&m->config) : 0;
    return out->fixed || fail(err, EF_USAGE, "--vectors fixed: found a model for %s whose vectors have no known length",
                              m->task->name);
}

static Str fact_named(const MapTable *t, const char *key)
{
    for (int i = 0; i < t->fields.pairs; i++)
        if (str_is(t->fields.pair[i].key, key)) return t->fields.pair[i].value;
    return (Str){ 0 };
}

/* Of a checkpoint: where this input goes on. */
static bool begin_parts(Args *a, MapOutput *o, Err *err)
{
    MapTable *t = &o->table;
    const PartsKey key = { fact_named(t, "encoderfile.model"), fact_named(t, "encoderfile.options"),
                           args_int(a, "rows-per-part") };
    int64_t skip, left = 0;
    bool more = true;
    if (!parts_begin(o->parts, t->in->lines.name, &key, &t->fields, &skip, &o->whole, err)) return false;
    t->writer = parts_writer(o->parts, 0);
    o->done = (uint64_t)skip;
    if (o->whole || skip == 0) return true;
    if (!records_drop(t->in, skip, &left, &more, err)) return false;
    t->writer = parts_writer(o->parts, left);
    if (more) return true;
    o->whole = true;
    return parts_ended(o->parts, skip - left, err);
}

bool output_begin(Args *a, MapOutput *o, const Model *m, Records *in, const Value *params, Err *err)
{
    enum { GZIP = 1 };
    MapTable *t = &o->table;
    ArrowPair *facts = ARRAY(&a->arena, ArrowPair, FACTS);
    const BatchOut out = { .put = output_put, .context = o, .patch = output_patch,
                           .gzip = args_int(a, "compression") == GZIP };
    const bool stream = o->form->create_stream && (!o->path || str_ends(str_of(o->path), ".arrows"));
    t->in = in;
    t->batch_rows = args_int(a, "batch-rows");
    if (!vector_form(a, m, params, &t->vectors, err)) return false;
    if (!table_begin(t, facts, facts_of(a, o, m, params, facts), err)) return false;
    /* A row that failed has zeros: pyarrow before 26 reads no nulls here. */
    for (int i = t->kept; o->form == &batch_form_parquet && i < t->fields.n; i++)
        if (t->fields.field[i].kind == ARROW_FIXED_LIST) t->fields.field[i].nullable = false;
    if (o->parts) return begin_parts(a, o, err);
    return (stream ? o->form->create_stream : o->form->create_file)(&t->arena, &t->fields, &out, &t->writer, err);
}

/* ---- going on ---- */
static bool walk_file(MapOutput *o, ArrowResumed *found, Err *err)
{
    Mapping file;
    if (o->form != &batch_form_arrow)
        return fail(err, EF_USAGE, "--resume: found %s, wanted jsonl or arrow", o->form->name);
    if (!file_map(o->path, &file, err)) return false;
    bool ok = arrow_resume(o->table.writer, (Str){ (const char *)file.p, file.n }, buf_view(&o->text), found, err);
    file_unmap(&file);
    return ok || within(err, "--resume: %s: the file was left as it is", o->path);
}

/* Records of the batches that are there; the last one is left to the table, where batches come. */
static bool skip_batches(MapOutput *o, const ArrowResumed *found, Err *err)
{
    MapTable *t = &o->table;
    if (!records_skip(t->in, found->rows, found->n, err)) return within(err, "--resume: %s", o->path);
    for (size_t i = 0; i < found->n; i++) o->done += (uint64_t)found->rows[i];
    if (!t->in->reader || !found->n) return true;
    Arena arena = { 0 };
    ArrowColumn *kept = ARRAY(&arena, ArrowColumn, t->kept);
    for (int i = 0; i < t->kept; i++) kept[i] = t->in->first->rows.column[t->in->keep_column[i]];
    arrow_resume_dictionaries(t->writer, kept, t->kept);
    arena_free(&arena);
    records_release(t->in);
    return true;
}

bool output_resume(MapOutput *o, Err *err)
{
    ArrowResumed found;
    if (!walk_file(o, &found, err)) return false;
    o->whole = found.whole;
    if (found.whole) return true;
    if (found.bytes) o->text.n = 0; /* the front is there */
    if (!skip_batches(o, &found, err)) return false;
    if (ftruncate(o->fd, (off_t)found.bytes) != 0 || lseek(o->fd, 0, SEEK_END) < 0)
        return fail(err, EF_IO, "%s: cannot be cut to its whole batches: %s", o->path, strerror(errno));
    return true;
}

bool output_end(MapOutput *o, Err *err)
{
    return !o->form || (table_ready(&o->table, err) && table_flush(&o->table, err) &&
                        batches_end(o->table.writer, err) && output_write(o, err));
}

void output_close(MapOutput *o)
{
    if (o->form) table_free(&o->table);
    if (o->fd > STDOUT_FILENO) close(o->fd);
    buf_free(&o->text);
}

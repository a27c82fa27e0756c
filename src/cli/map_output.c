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
#include "task/head.h"

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

static bool is_pipe(const char *path)
{
    struct stat st;
    return !path || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

static bool names_lines(Str path)
{
    static const char *const endings[] = { ".jsonl", ".ndjson", ".json", ".txt" };
    for (size_t i = 0; i < COUNT(endings); i++)
        if (str_ends_any_case(path, endings[i])) return true;
    return false;
}

/* By the name, else as the input. */
static const BatchForm *usual_form(const MapOutput *o, const BatchForm *input)
{
    const Str path = str_of(o->path ? o->path : "");
    const BatchForm *named = batch_form_of_path(path);
    if (named || names_lines(path)) return named;
    return input && o->pipe && !input->create_stream ? &batch_form_arrow : input;
}

static bool name_fits(const MapOutput *o, const char *form, Err *err)
{
    const Str path = str_of(o->path);
    if (!o->path || o->pipe) return true;
    if (!form && str_ends_any_case(path, ".tsv"))
        return fail(err, EF_USAGE, "%s: found a name of tab-separated values, which are not written, wanted .csv, "
                    ".jsonl, .arrow or .parquet, or --output-format", o->path);
    if (!str_ends_any_case(path, ".gz") && !str_ends_any_case(path, ".zst")) return true;
    return fail(err, EF_USAGE, "%s: found a name of what is packed, wanted another one: the output is not packed but "
                "for the pages of Parquet (--compression gzip); a pipe to gzip or zstd packs it", o->path);
}

bool output_choose(Args *a, const BatchForm *input, MapOutput *o, Err *err)
{
    const char *form = args_value(a, "output-format");
    o->path = args_value(a, "output");
    o->fd = STDOUT_FILENO;
    o->pipe = is_pipe(o->path);
    if (o->parts) return o->form = &batch_form_parquet, true;
    if (!name_fits(o, form, err)) return false;
    o->form = form ? batch_form_named(str_of(form)) : usual_form(o, input);
    if (!o->form) return tables_only(a, err);
    if (o->form != &batch_form_parquet && args_int(a, "compression"))
        return fail(err, EF_USAGE, "--compression %s: found an output of %s, wanted parquet, whose pages it packs",
                    args_value(a, "compression"), o->form->name);
    if (o->pipe && !o->form->create_stream)
        return fail(err, EF_USAGE, "--output-format %s: found %s, wanted a file", o->form->name,
                    o->path ? o->path : "no --output");
    if (!o->path && o->form->stream.n && isatty(STDOUT_FILENO))
        return fail(err, EF_USAGE, "found a terminal for %s, wanted a pipe or --output FILE; or --output-format jsonl",
                    o->form->name);
    return true;
}

static bool is_there(const MapOutput *o, Err *err)
{
    return fail(err, EF_USAGE, "%s: is there already, and %s cannot be gone on with: take another name, or "
                "--checkpoint DIR", o->path, o->form->name);
}

/* A file that gets its name at its end: what is killed leaves none. */
static bool open_whole(Args *a, MapOutput *o, Err *err)
{
    if (file_size(o->path)) return is_there(o, err);
    if (args_has(a, "resume"))
        return fail(err, EF_USAGE, "--resume: found %s, wanted jsonl or arrow, or --checkpoint DIR", o->form->name);
    if (!writer_open(&o->file, &a->arena, o->path, 0644, err)) return false;
    o->fd = o->file.fd;
    return true;
}

static bool open_fd(MapOutput *o, int flags, Err *err)
{
    o->fd = open(o->path, flags | O_CLOEXEC, 0644);
    return o->fd >= 0 || fail(err, EF_IO, "%s: cannot be written: %s", o->path, strerror(errno));
}

bool output_open(Args *a, MapOutput *o, bool *begun, Err *err)
{
    *begun = false;
    if (!o->path) return true;
    if (o->pipe) return open_fd(o, O_WRONLY, err); /* with O_RDWR the reader would be this program, too */
    if (o->form && o->form->end_needed) return open_whole(a, o, err);
    if (!open_fd(o, O_RDWR | O_CREAT | (o->form ? 0 : O_APPEND), err)) return false;
    if (flock(o->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fail(err, EF_IO, "%s: another process is writing it", o->path);
    *begun = lseek(o->fd, 0, SEEK_END) > 0;
    if (!*begun || args_has(a, "resume")) return true;
    if (o->form && o->form != &batch_form_arrow) return is_there(o, err);
    return fail(err, EF_USAGE, "%s: has %s already; --resume goes on behind them", o->path, o->form ? "rows" : "lines");
}

void output_undo(MapOutput *o)
{
    struct stat now;
    if (!o->path || o->pipe || o->file.path) return; /* that one is removed when it is closed */
    if (fstat(o->fd, &now) == 0 && now.st_size == 0) unlink(o->path);
}

/* ---- bytes ---- */
static bool write_failed(const MapOutput *o, Err *err)
{
    if (!o->path || errno == EPIPE) return out_failed(err);
    return fail(err, EF_IO, "%s: cannot be written: %s", o->path, strerror(errno));
}

/* A signal ends the wait for a reader that does not read: then a write is cut short, or not even begun. */
static bool write_bytes(MapOutput *o, Str bytes, Err *err)
{
    for (size_t at = 0; at < bytes.n && !o->stopped;) {
        ssize_t n = write(o->fd, bytes.p + at, bytes.n - at);
        if (n < 0 && errno != EINTR) return write_failed(o, err);
        at += n > 0 ? (size_t)n : 0;
        o->stopped = at < bytes.n && o->stop && *o->stop;
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

static void digest_number(Sha256 *sum, int64_t n)
{
    sha256_add(sum, &n, sizeof n);
}

/* Of what changes the rows that are written: values, not the words that said them. */
static const char *digest_options(Args *a, const MapOutput *o, const Model *m)
{
    const MapTable *t = &o->table;
    const Records *in = t->in;
    const char *tokenizer = args_value(a, "tokenizer");
    Sha256 sum;
    Buf text = { .arena = &a->arena }, head = { .arena = &a->arena };
    sha256_start(&sum);
    digest_add(&sum, str_of(o->form->name));
    digest_add(&sum, str_of(t->table.name ? t->table.name : ""));
    digest_add(&sum, str_of(item_names_files(&in->names) ? item_names_path(&in->names) : item_names_text(&in->names)));
    digest_add(&sum, str_of(in->names.second ? in->names.second : "text_pair"));
    digest_add(&sum, str_of(tokenizer ? path_real(&a->arena, tokenizer) : ""));
    for (size_t i = 0; i < in->keeps; i++) digest_add(&sum, in->keep[i]);
    digest_number(&sum, t->vectors.fixed), digest_number(&sum, t->vectors.half);
    digest_number(&sum, o->form == &batch_form_arrow && !in->reader ? t->batch_rows : 0); /* else no form shows them */
    digest_number(&sum, o->form == &batch_form_parquet ? args_int(a, "compression") : 0);
    if (m->config.head) head_describe(m->config.head, &head);
    digest_add(&sum, buf_view(&head));
    task_options_text(m->task, &o->options, &text);
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

static int facts_of(Args *a, const MapOutput *o, const Model *m, ArrowPair *out)
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
    out[n++] = (ArrowPair){ STR("encoderfile.options"), str_of(digest_options(a, o, m)) };
    assert(n <= FACTS);
    return n;
}

/* ---- the table ---- */
static bool vector_form(Args *a, const Model *m, const MapOutput *o, ArrowVectors *out, Err *err)
{
    enum { FIXED = 1, F16 = 1 };
    const bool asked = args_int(a, "vectors") == FIXED;
    out->half = args_int(a, "dtype") == F16;
    if (!asked && o->form != &batch_form_npy) return true; /* an array is as wide where all rows failed */
    out->fixed = o->options.dimensions;
    if (!out->fixed && model_makes_vectors(m)) out->fixed = config_vector_size(&m->config);
    return out->fixed || !asked ||
           fail(err, EF_USAGE, "--vectors fixed: found a model for %s whose vectors have no known length",
                m->task->name);
}

/* An option that changes no column is an error, not a surprise. */
static bool vectors_are_told(const MapTable *t, const BatchForm *form, Err *err)
{
    bool fixed = false, half = false;
    for (int i = t->kept; i < t->kept + t->results; i++) {
        const ArrowField *f = &t->fields.field[i];
        const bool floats = f->children == 1 && f->child[0].kind == ARROW_FLOAT;
        fixed |= f->kind == ARROW_FIXED_LIST, half |= floats && f->child[0].param[0] == 0;
    }
    if (t->vectors.fixed && !fixed && form != &batch_form_npy) /* which says so itself */
        return fail(err, EF_USAGE, "--vectors fixed: found a table without a column `embedding`, wanted one vector for "
                    "each row");
    return half || !t->vectors.half ||
           fail(err, EF_USAGE, "--dtype f16: found a table without lists of numbers, wanted vectors or scores");
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

bool output_begin(Args *a, MapOutput *o, const Model *m, Records *in, Err *err)
{
    enum { GZIP = 1 };
    MapTable *t = &o->table;
    ArrowPair *facts = ARRAY(&a->arena, ArrowPair, FACTS);
    const BatchOut out = { .put = output_put, .context = o, .patch = output_patch,
                           .gzip = args_int(a, "compression") == GZIP };
    const bool stream = o->form->create_stream && (o->pipe || str_ends_any_case(str_of(o->path), ".arrows"));
    t->in = in;
    t->batch_rows = args_int(a, "batch-rows");
    if (!vector_form(a, m, o, &t->vectors, err)) return false;
    if (!table_begin(t, facts, facts_of(a, o, m, facts), err) || !vectors_are_told(t, o->form, err)) return false;
    /* A row that failed has zeros: pyarrow before 26 reads no nulls here. */
    for (int i = t->kept; o->form == &batch_form_parquet && i < t->fields.n; i++)
        if (t->fields.field[i].kind == ARROW_FIXED_LIST) t->fields.field[i].nullable = false;
    if (o->parts) return begin_parts(a, o, err);
    return (stream ? o->form->create_stream : o->form->create_file)(&t->arena, &t->fields, &out, &t->writer, err);
}

/* ---- the end ---- */
/* Another process may have been as far. */
static bool name_file(MapOutput *o, Err *err)
{
    if (!o->file.path) return true;
    if (file_size(o->path)) return is_there(o, err);
    if (!writer_commit(&o->file, err)) return false;
    o->file = (FileWriter){ 0 }, o->fd = -1;
    return true;
}

bool output_end(MapOutput *o, Err *err)
{
    return !o->form || (table_ready(&o->table, err) && table_flush(&o->table, err) &&
                        batches_end(o->table.writer, err) && output_write(o, err) && name_file(o, err));
}

void output_close(MapOutput *o)
{
    if (o->form) table_free(&o->table);
    if (o->file.path) writer_abort(&o->file);
    else if (o->fd > STDOUT_FILENO) close(o->fd);
    buf_free(&o->text);
}

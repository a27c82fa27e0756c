/* SPDX-License-Identifier: Apache-2.0
 * cmd_map.c - a stream of records through a model: line n of the output answers line n of the
 * input, so a run that was cut off goes on behind the last whole line. Of tables a batch answers a batch.
 *
 * This thread reads, submits chunks and writes them in order; each thread of the session has one of them
 * at a time, from tokens to the lines of the output. Memory is bounded by the ring of chunks. While the
 * input is quiet, all that came is answered: who writes it may wait for that. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/thread.h"
#include "cli/cli.h"
#include "cli/given.h"
#include "cli/map_resume.h"
#include "cli/params.h"
#include "cli/resuming.h"
#include "data/json.h"
#include "dialect/job.h"

/* Few are under way: what one thread made is still in the caches when the next takes it. */
enum { CHUNK_RECORDS = 128, CHUNK_BYTES = 1 << 17, THREAD_CHUNKS = 4 };
enum { RUN_TOKENS = 1024 }; /* longer ones gain nothing; at the end all threads have some */
/* More than a chunk can cost: the next one is due after all of it. Side by side they would all be
 * done at the same time, and nothing could be read and written meanwhile. */
enum { CHUNK_SHARE = 1 << 30 };

static const Option options[] = {
    OPTIONS_OPEN,
    { "input-format", 0, "FORM", "of the input (default: by the name or the first bytes, else jsonl)", TAKES_WORD,
      .words = records_forms },
    OPTION_FIELD,
    { "column", 0, "NAME", "the same as --field", .against = "field" },
    { "column2", 0, "NAME", "the key or column with the second text of a pair; default: text_pair" },
    { "keep", 0, "NAMES", "keys or columns that are handed through, with a comma between, or all, or \"\" for none; "
      "default: the id of JSON lines" },
    { "output", 'o', "FILE", "write there instead of to stdout; a file with lines needs --resume" },
    { "output-format", 0, "FORM", "of the output (default: by --output's name, else that of the input: arrow or "
      "parquet, in pipes arrow; jsonl for others)", TAKES_WORD, .words = map_forms },
    { "results", 0, "WHAT", "of token classification, in tables; default: entities", TAKES_WORD, .words = map_results },
    { "vectors", 0, "FORM", "in tables: lists, or lists of one length", TAKES_WORD, .standard = "list",
      .words = map_vectors },
    { "dtype", 0, "TYPE", "of numbers in lists, in tables", TAKES_WORD, .standard = "f32", .words = map_dtypes },
    { "batch-rows", 0, "N", "rows of a batch, in tables from an input that has none", TAKES_COUNT, .standard = "4096",
      .least = 1, .most = 1 << 24 },
    { "compression", 0, "CODEC", "of Parquet's pages", TAKES_WORD, .standard = "none", .words = map_codecs },
    { "checkpoint", 0, "DIR", "results as Parquet files there, each whole or absent; the same command goes on where it "
      "was cut off. Takes several inputs, folders, and names with *", .against = "output output-format resume" },
    { "rows-per-part", 0, "N", "rows of such a file", TAKES_COUNT, .standard = "1000000", .least = 1,
      .most = (int64_t)1 << 40, .beside = "checkpoint" },
    { "resume", 0, NULL, "go on behind --output's last whole line or batch, if it is of this input and model",
      .beside = "output" },
    { "errors", 0, "HOW", "keep: exit status 0 also when lines failed; fail: end at the first one. Default: all are "
      "answered; then the status is 1, in tables 0", TAKES_WORD, .words = map_errors },
    { "keep-going", 0, NULL, "the same as --errors keep", .against = "errors" },
    { "offsets", 0, "UNIT", "what offsets count; default: bytes, in tables chars", TAKES_WORD, .words = args_units },
    OPTION_PARAMS,
    OPTION_THREADS,
    { "json", 0, NULL, "JSON lines: what it does anyway" },
    { 0 },
};

typedef struct Chunk {
    Record record[CHUNK_RECORDS];
    size_t n;
    Arena arena;           /* of the records */
    Job *job;              /* of those that are usable; NULL: none is */
    bool done;             /* under the lock */
    struct Mapper *mapper;
} Chunk;

typedef struct Mapper {
    const Model *model;
    Session *session;
    Records in;
    Resuming resuming;      /* zero: not asked for */
    Err broken;             /* why the input could not be read to its end */
    MapOutput out;
    MapParts *parts;        /* of --checkpoint; NULL: one output */
    const Value *params;    /* of the task; NULL: none */
    bool fatal;             /* the first error ends it */
    Chunk *ring;            /* [chunks] */
    uint64_t chunks, read, written;
    pthread_mutex_t lock;
    pthread_cond_t came;
    const Chunk *awaited;   /* under the lock: that is waited for */
    Progress progress;
    uint64_t lines, errors;
    int64_t tokens;
} Mapper;

/* ---- in ---- */
static void chunk_done(Work *work)
{
    Chunk *c = work->context;
    Mapper *m = c->mapper;
    pthread_mutex_lock(&m->lock);
    c->done = true;
    const bool awaited = m->awaited == c;
    pthread_mutex_unlock(&m->lock);
    if (awaited) pthread_cond_signal(&m->came); /* now: who wakes up wants the lock */
}

/* A stream that breaks ends there: what came before is still answered. One that is quiet ends the chunk, and so do
 * many batches without rows, which are held until what came before them is written. */
static void read_chunk(Mapper *m, Chunk *c, bool *more)
{
    c->n = 0;
    c->mapper = m;
    arena_reset(&c->arena, CHUNK_BYTES);
    if (m->resuming.ahead) c->record[c->n++] = m->resuming.next;
    m->resuming.ahead = false;
    for (size_t bytes = 0, none = 0; *more && MAX(c->n, none) < CHUNK_RECORDS && bytes < CHUNK_BYTES;) {
        Record *r = &c->record[c->n];
        if (!records_next(&m->in, &c->arena, r, more, &m->broken)) *more = false;
        c->n += *more && !r->nothing;
        none += *more && r->nothing;
        bytes += item_bytes(&r->item);
        if (records_quiet(&m->in)) break;
    }
}

/* The usable ones of records from..to as a job; NULL: there is none. */
static Job *chunk_job(Mapper *m, const Chunk *c, size_t from, size_t to)
{
    Job *job = job_new();
    size_t n = 0;
    job_items(job, to - from);
    job->in.lines = !m->out.form;
    job->in.table = m->out.form ? &m->out.table.table : NULL;
    for (size_t i = from; i < to; i++) {
        if (c->record[i].err.code != EF_OK) continue;
        job->work.item[n++] = c->record[i].item;
    }
    job->work.n = n;
    params_set(m->session, job, m->params, m->out.options.chars, &(Err){ 0 }); /* start_session has tried it */
    if (m->out.table.table.ask) m->out.table.table.ask(&job->work.options);
    if (n) return job;
    job_free(job);
    return NULL;
}

static bool map_submit(Mapper *m, Chunk *c, Err *err)
{
    c->job = chunk_job(m, c, 0, c->n);
    c->done = !c->job;
    if (!c->job) return true;
    c->job->work.share = (double)m->read * CHUNK_SHARE;
    c->job->work.done = chunk_done;
    c->job->work.context = c;
    if (job_submit(m->session, c->job, err)) return true;
    job_free(c->job);
    c->job = NULL;
    return false;
}

/* ---- lines ---- */
static void put_error(Mapper *m, const Err *e)
{
    Buf *text = &m->out.text;
    buf_puts(text, "\"error\":{\"message\":");
    json_write_string(text, str_of(e->message));
    buf_printf(text, ",\"type\":\"%s\"}}\n", err_kind(e->code)->name);
}

/* The line of one record: its id or what is kept, then its result's members or its error. */
static void put_line(Mapper *m, const Record *r, Str result, const Err *e)
{
    record_begin(&m->out.text, &m->in, r);
    m->lines++;
    m->errors += e->code != EF_OK;
    if (e->code != EF_OK) put_error(m, e);
    else buf_add(&m->out.text, result.p + 1, result.n - 1); /* behind its brace */
}

/* The job's next result, with its line end. */
static Str next_result(const Job *job, size_t *at)
{
    const char *from = job->out.text.p + *at, *end = memchr(from, '\n', job->out.text.n - *at);
    assert(end);
    Str line = { from, (size_t)(end + 1 - from) };
    *at += line.n;
    return line;
}

/* Those of a job that went well. */
static void put_lines(Mapper *m, const Chunk *c)
{
    size_t at = 0;
    for (size_t i = 0; i < c->n; i++) {
        const Record *r = &c->record[i];
        put_line(m, r, r->err.code == EF_OK ? next_result(c->job, &at) : (Str){ 0 }, &r->err);
    }
}

/* ---- rows of a table ---- */
/* Answers to records from..to. job: of those that are usable; NULL: none is. */
static bool put_rows(Mapper *m, const Chunk *c, size_t from, size_t to, const Job *job, Err *err)
{
    const Err *wrong[CHUNK_RECORDS];
    for (size_t i = from; i < to; i++) {
        const Err *e = &c->record[i].err;
        if (e->code == EF_OK && job) e = &job->work.err;
        wrong[i - from] = e->code == EF_OK ? NULL : e;
        m->errors += e->code != EF_OK;
    }
    m->lines += to - from;
    const MapAnswers answers = { .err = wrong, .columns = job ? &job->out.columns : NULL };
    return table_add(&m->out.table, c->record + from, answers, to - from, err);
}

/* ---- chunks ---- */
/* A chunk that failed as a whole runs again record by record, so that each has its own answer. */
static bool answer_alone(Mapper *m, Chunk *c, size_t i, Err *err)
{
    const Record *r = &c->record[i];
    Job *job = chunk_job(m, c, i, i + 1);
    bool ok = true;
    if (job) job_run(m->session, job);
    m->tokens += job ? job->work.tokens : 0;
    if (m->out.form) ok = put_rows(m, c, i, i + 1, job, err);
    else put_line(m, r, job ? buf_view(&job->out.text) : (Str){ 0 }, job ? &job->work.err : &r->err);
    job_free(job);
    return ok;
}

static bool answer_chunk(Mapper *m, Chunk *c, Err *err)
{
    const bool whole = !c->job || c->job->work.err.code == EF_OK;
    bool ok = true;
    for (size_t i = 0; !whole && ok && i < c->n; i++) ok = answer_alone(m, c, i, err);
    if (whole && m->out.form) ok = put_rows(m, c, 0, c->n, c->job, err);
    else if (whole) put_lines(m, c);
    if (whole && c->job) m->tokens += c->job->work.tokens;
    job_free(c->job);
    c->job = NULL;
    return ok;
}

/* --errors fail: the first record of the chunk that failed. */
static bool all_went_well(Mapper *m, const Chunk *c, uint64_t before, Err *err)
{
    if (!m->fatal || m->errors == before) return true;
    for (size_t i = 0; i < c->n; i++)
        if (c->record[i].err.code != EF_OK) return *err = c->record[i].err, within(err, "--errors fail");
    return fail(err, EF_INVALID_INPUT, "--errors fail: one of the records up to %llu failed",
                (unsigned long long)m->lines);
}

static bool write_chunk(Mapper *m, Chunk *c, Err *err)
{
    const uint64_t errors = m->errors;
    return answer_chunk(m, c, err) && output_write(&m->out, err) && all_went_well(m, c, errors, err);
}

static void await(Mapper *m, Chunk *c)
{
    pthread_mutex_lock(&m->lock);
    m->awaited = c;
    while (!c->done) pthread_cond_wait(&m->came, &m->lock);
    m->awaited = NULL;
    pthread_mutex_unlock(&m->lock);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = true;
}

/* The first Ctrl-C ends the run between two chunks; a second one ends it at once. */
static void catch_interrupt(void)
{
    struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = SA_RESETHAND };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Else what is under way is written first. */
static bool is_time_to_read(const Mapper *m)
{
    const uint64_t busy = m->read - m->written;
    return busy < m->chunks && (busy == 0 || !records_quiet(&m->in));
}

/* Nothing is under way, and nothing is there to be read: who writes the input may wait for answers. */
static bool answer_quiet(Mapper *m, Err *err)
{
    return table_ready(&m->out.table, err) && table_flush(&m->out.table, err) && output_write(&m->out, err);
}

static bool map_all(Mapper *m, Err *err)
{
    bool more = true, ok = true, none = false; /* none: there was nothing to read but batches without rows */
    while (ok && !interrupted && (more || m->written < m->read)) {
        Chunk *c = &m->ring[m->read % m->chunks];
        if (more && is_time_to_read(m) && !(none && m->written < m->read)) {
            read_chunk(m, c, &more);
            none = c->n == 0;
            ok = c->n == 0 || map_submit(m, c, err);
            m->read += ok && c->n;
            if (ok && m->out.form && m->read == m->written) ok = answer_quiet(m, err);
            continue;
        }
        c = &m->ring[m->written % m->chunks];
        await(m, c);
        ok = write_chunk(m, c, err);
        m->written++, none = false;
        if (ok && m->out.form && m->read == m->written && more && records_quiet(&m->in)) ok = answer_quiet(m, err);
        ok = ok && progress_at(&m->progress, m->in.lines.bytes, err);
    }
    for (; m->written < m->read; m->written++) { /* not all: nobody may write into a dead chunk */
        await(m, &m->ring[m->written % m->chunks]);
        job_free(m->ring[m->written % m->chunks].job);
    }
    if (ok && m->broken.code != EF_OK) {
        ok = !m->out.form || (table_flush(&m->out.table, err) && output_write(&m->out, err));
        if (ok) *err = m->broken;
        return false;
    }
    return ok && (interrupted || output_end(&m->out, err));
}

/* ---- going on ---- */

/* Answers some of the lines again: only so are inputs without ids, or models, told apart. */
static bool check_answers(Mapper *m, const char *path, Err *err)
{
    _Static_assert((int)RESUMING_SAMPLES <= (int)CHUNK_RECORDS, "one chunk takes them");
    Resuming *r = &m->resuming;
    Chunk *c = &m->ring[0];
    c->n = (size_t)r->samples;
    for (size_t i = 0; i < c->n; i++) c->record[i] = r->sample[i].record;
    c->job = chunk_job(m, c, 0, c->n);
    if (c->job) job_run(m->session, c->job);
    const bool ok = answer_chunk(m, c, err) && resuming_same(r, path, buf_view(&m->out.text), err);
    m->out.text.n = 0;
    m->lines = m->errors = 0, m->tokens = 0; /* they count where they were answered first */
    return ok;
}

/* Goes on behind the last whole line, if all that is there was written for this input. */
static bool map_resume(Mapper *m, const char *path, Err *err)
{
    Resuming *r = &m->resuming;
    r->in = &m->in, r->task = m->model->task;
    if (!resuming_check(r, path, err) || !check_answers(m, path, err)) return false;
    if (ftruncate(m->out.fd, (off_t)r->bytes) != 0)
        return fail(err, EF_IO, "%s: cannot be cut to its whole lines: %s", path, strerror(errno));
    log_info("resuming behind line %llu", (unsigned long long)r->lines);
    return true;
}

/* Of a table a row: the same, with its record. */
static bool check_row(void *mapper, const Record *record, const ArrowBatch *before, int64_t row, bool *same, Err *err)
{
    Mapper *m = mapper;
    Chunk *c = &m->ring[0];
    c->record[0] = *record, c->n = 1;
    Job *job = chunk_job(m, c, 0, 1);
    if (job) job_run(m->session, job);
    const Err *why = job ? &job->work.err : &record->err;
    if (why->code == EF_OK) why = NULL;
    const MapAnswers answers = { .err = &why, .columns = job ? &job->out.columns : NULL };
    const bool ok = table_same(&m->out.table, record, answers, before, row, same, err);
    job_free(job);
    return ok;
}

static bool open_output(Args *a, Mapper *m, Err *err)
{
    const MapAgain again = { check_row, m };
    bool begun;
    if (!output_open(a, &m->out, &begun, err)) return false;
    if (m->out.form && !output_begin(a, &m->out, m->model, &m->in, err)) return output_undo(&m->out), false;
    if (m->out.form && begun && !output_resume(&m->out, &again, err)) return false;
    if (begun && m->out.form) log_info("resuming behind row %llu", (unsigned long long)m->out.done);
    if (m->out.form) return true;
    return !begun || map_resume(m, m->out.path, err);
}

/* ---- the command ---- */
static bool start_session(Args *a, Mapper *m, Err *err)
{
    model_log_assumed(m->model);
    SessionOptions how = { .threads = (int)args_int(a, "threads"), .bulk = true,
                           .batch_seconds = 0.2, .batch_tokens = RUN_TOKENS,
                           .max_inputs = SIZE_MAX, .ocr = given_ocr(a, m->model) };
    if (m->session) return true; /* of the input before */
    m->session = job_session(m->model, &how);
    if (!m->session) return fail(err, EF_IO, "no thread could be started");
    m->chunks = (uint64_t)session_options(m->session)->threads * THREAD_CHUNKS;
    m->ring = ARRAY(&a->arena, Chunk, m->chunks);
    Job *trial = job_new();
    bool ok = params_set(m->session, trial, m->params, m->out.options.chars, err);
    job_free(trial);
    return ok;
}

static void tell_interrupted(Args *a, const Mapper *m)
{
    const char *path = args_value(a, "output");
    const unsigned long long lines = m->lines + m->resuming.lines + m->out.done;
    a->exit = 128 + SIGINT;
    if (m->parts)
        log_warn("interrupted: %s has %lld whole parts; the same command goes on behind them",
                 args_value(a, "checkpoint"), (long long)parts_count(m->parts));
    else if (m->out.file.path)
        log_warn("interrupted: %s was not written; with --checkpoint DIR a run can be gone on with", path);
    else if (path && !m->out.pipe)
        log_warn("interrupted: %s has %llu whole lines; the same command with --resume goes on behind "
                 "them", path, lines);
    else
        log_warn("interrupted after %llu lines; with --output FILE, --resume could go on behind them",
                 lines);
}

/* Lines that an earlier run answered with an error count: the output is judged as a whole. */
static void map_tell(Args *a, const Mapper *m, double seconds)
{
    const uint64_t failed = m->errors + m->resuming.errors;
    const bool kept = args_has(a, "keep-going") || args_has(a, "errors") || m->out.form;
    log_info("%llu lines (%llu with an error), %lld tokens in %.2f s: %.0f lines/s, %.0f tokens/s",
             (unsigned long long)m->lines, (unsigned long long)m->errors, (long long)m->tokens,
             seconds, (double)m->lines / seconds, (double)m->tokens / seconds);
    if (interrupted) return tell_interrupted(a, m);
    if (!failed || kept) return;
    log_error("%llu of %llu lines failed, each is answered with an error in its place: exit status "
              "1 (0 with --keep-going)", (unsigned long long)failed,
              (unsigned long long)(m->lines + m->resuming.lines));
    a->exit = 1;
}

static bool map_records(Args *a, Mapper *m, const char *input, Err *err)
{
    bool ok = (m->parts || start_session(a, m, err)) && open_output(a, m, err); /* of parts none may be left to make */
    if (ok && m->out.whole) log_info("%s is whole: nothing is left to do", m->out.path ? m->out.path : input);
    if (!ok || m->out.whole || !start_session(a, m, err)) return ok && m->out.whole;
    catch_interrupt();
    progress_start(&m->progress, "map", m->in.lines.total);
    ok = map_all(m, err);
    progress_end(&m->progress);
    return ok;
}

static bool open_input(Args *a, Mapper *m, const char *path, Err *err)
{
    RecordsHow how = { .form = args_value(a, "input-format"), .second = args_value(a, "column2"),
                       .keep = args_value(a, "keep"), .hold = true, .otherwise = "jsonl" };
    how.field = args_value(a, args_has(a, "column") ? "column" : "field");
    return records_open(&m->in, path, m->model->items, &how, err);
}

/* What lines tell and tables have no column for. */
static bool has_column(const TaskOptions *o, Err *err)
{
    const struct {
        bool asked;
        const char *option, *instead;
    } rows[] = {
        { o->base64, "encoding base64", "numbers, as columns have them" },
        { o->return_tokens, "return-tokens", "lines (--output-format jsonl), or --results tokens of a tagger" },
        { o->extract, "extract", "lines (--output-format jsonl), or the entities that a table has anyway" },
        { o->runs, "masks rle", "lines (--output-format jsonl), or the PNG files that a table has anyway" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].asked)
            return fail(err, EF_USAGE, "--%s: found a table, which has no column for it, wanted %s", rows[i].option,
                        rows[i].instead);
    return true;
}

/* Two members of a line with one name would be one to whoever reads it. */
static bool names_differ(const Mapper *m, Err *err)
{
    for (size_t i = 0; i < m->in.keeps; i++) {
        const Str name = m->in.keep[i];
        bool taken = str_is(name, "error");
        for (const Field *f = m->model->task->result; f->name; f++) taken |= str_is(name, f->name);
        if (taken)
            return fail(err, EF_USAGE, "--keep: found \"%.*s\", which is a member of the results, too; wanted other "
                        "names: rename it in the input", STR_ARG(name));
    }
    return true;
}

/* What the answers are, and where they go. */
static bool choose_output(Args *a, Mapper *m, Err *err)
{
    enum { FAIL = 1 };
    const Model *model = m->model;
    TaskOptions *asked = &m->out.options;
    if (!output_choose(a, m->in.table, &m->out, err)) return false;
    m->in.how.hold = m->out.form != NULL; /* no record has been read */
    m->fatal = args_int(a, "errors") == FAIL;
    if (!task_options(model->task, &model->config, m->params, asked, err)) return false;
    asked->chars |= args_has(a, "offsets") ? args_int(a, "offsets") : m->out.form != NULL;
    if (!m->out.form) return names_differ(m, err);
    const TaskTold how = { args_value(a, "results"), asked };
    return has_column(asked, err) && task_table(model->task, &model->config, how, &m->out.table.table, err);
}

static bool map_input(Args *a, Mapper *m, const char *path, Err *err)
{
    m->out = (MapOutput){ .parts = m->parts, .stop = &interrupted };
    m->read = m->written = 0;
    if (!open_input(a, m, path, err)) return false;
    bool ok = choose_output(a, m, err) && map_records(a, m, path, err);
    output_close(&m->out); /* it may hold the input's columns */
    records_close(&m->in);
    return ok;
}

static bool map_inputs(Args *a, Mapper *m, const char *const *path, int n, Err *err)
{
    const char *folder = args_value(a, "checkpoint");
    const double begin = now_seconds();
    bool ok = !folder || parts_open(&a->arena, folder, args_int(a, "compression"), &m->parts, err);
    for (int i = 0; ok && !interrupted && i < n; i++) ok = map_input(a, m, path[i], err);
    if (m->session) session_free(m->session);
    if (ok) map_tell(a, m, MAX(now_seconds() - begin, 1e-9));
    parts_close(m->parts);
    return ok;
}

static bool map_model(Args *a, Mapper *m, const char *const *path, int n, Err *err)
{
    Model *model;
    if (!args_model(a, &model, err)) return false;
    m->model = model;
    bool ok = params_read(a, model->task, &m->params, err) && map_inputs(a, m, path, n, err);
    model_close(model);
    return ok;
}

static bool map_run(Args *a, Err *err)
{
    Mapper *m = NEW(&a->arena, Mapper);
    const char *const standard[] = { "-" }, *const *path = a->n_text ? a->text : standard;
    int n = MAX(a->n_text, 1);
    const char *to = args_value(a, "output");
    const char *own = args_value(a, "checkpoint");
    if (own && !parts_inputs(&a->arena, own, a->text, a->n_text, &path, &n, err)) return false;
    if (a->n_text > 1 && !args_has(a, "checkpoint"))
        return fail(err, EF_USAGE, "map: found %d files, wanted one, or --checkpoint DIR, which takes several",
                    a->n_text);
    if (!args_has(a, "checkpoint") && !file_apart(to ? to : "/dev/stdout", path[0], err)) return false;
    heap_keep_much();
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->came, NULL);
    bool ok = map_model(a, m, path, n, err);
    for (uint64_t i = 0; i < m->chunks; i++) arena_free(&m->ring[i].arena);
    resuming_free(&m->resuming);
    return ok;
}

const Command cmd_map = {
    .name = "map",
    .summary = "run a stream of records through a model: JSON lines, CSV, Arrow or Parquet in and out, in order",
    .options = options,
    .task_options = true,
    .run = map_run,
    .model_first = true,
    .usage = "[MODEL] [FILE]",
    .example = "  encoderfile map ./ner-model texts.jsonl > entities.jsonl\n"
               "  ./my.encoderfile map texts.jsonl.gz -o out.jsonl\n"
               "  ./my.encoderfile map texts.jsonl -o out.jsonl --resume    # after a crash\n"
               "  ./my.encoderfile map texts.arrow --column body --keep id -o out.arrow\n"
               "  ./my.encoderfile map 'texts-*.parquet' --keep id --checkpoint out    # again: goes on\n"
               "\n"
               "A line is \"a text\", [\"first\", \"second\"] or {\"id\": 7, \"text\": \"...\"}; the id comes back.\n"
               "Question answering: {\"id\": 7, \"question\": \"...\", \"context\": \"...\"}, or these columns.\n"
               "Multiple choice: {\"prompt\": \"...\", \"choices\": [...]}. Models that read places on a page:\n"
               "{\"words\": [...], \"boxes\": [[left, top, right, bottom], ...]}, 0 to 1000, and a \"path\"\n"
               "for those that see the page; \"question\" for those that answer. In CSV lists are JSON.\n"
               "Pictures: a line is a path; or {\"path\": \"...\"}, {\"image\": \"base64\"}, or such a column. Sounds\n"
               "likewise, with \"audio\".\n"
               "A line that cannot be used is answered with {\"error\": ...} in its place, and\n"
               "the rest is still mapped; then the exit status is 1, or 0 with --keep-going.\n"
               "gzip is unpacked on the way. Arrow and Parquet: a column text (--column); other columns\n"
               "are not read but for those of --keep. In tables a row that failed has its error and nulls.\n"
               "--resume reads --output first: each line must have its record's id and this task's members,\n"
               "and lines 1, 2, 4, 8 ... and the last are answered again and must say the same. Else nothing\n"
               "is changed. A record edited between those lines keeps its earlier answer. So it is with the rows of\n"
               "a table of Arrow. Parquet and npy files appear when they are whole.\n",
};

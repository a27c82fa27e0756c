/* SPDX-License-Identifier: Apache-2.0
 * cmd_map.c - a stream of records through a model: line n of the output answers line n of the
 * input, so a run that was cut off goes on behind the last whole line.
 *
 * This thread reads, submits chunks and writes them in order; each thread of the session has one of them
 * at a time, from tokens to the lines of the output. Memory is bounded by the ring of chunks. While the
 * input is quiet, all that came is answered: who writes it may wait for that. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "cli/cli.h"
#include "cli/given.h"
#include "cli/params.h"
#include "cli/resuming.h"
#include "data/json.h"
#include "dialect/job.h"

enum { CHUNK_RECORDS = 64, CHUNK_BYTES = 1 << 17, LEAST_CHUNKS = 32, THREAD_CHUNKS = 4 };
enum { RUN_TOKENS = 1024 }; /* longer ones gain nothing; at the end all threads have some */
/* More than a chunk can cost: the next one is due after all of it. Side by side they would all be
 * done at the same time, and nothing could be read and written meanwhile. */
enum { CHUNK_SHARE = 1 << 30 };

static const Option options[] = {
    OPTIONS_OPEN,
    { "input-format", 0, "FORM", "of the input (default: by the name or the first bytes, else jsonl)", TAKES_WORD,
      .words = records_forms },
    OPTION_FIELD,
    { "output", 'o', "FILE", "write there instead of to stdout; a file with lines needs --resume" },
    { "resume", 0, NULL, "go on behind --output's last whole line, if it is of this input and model",
      .beside = "output" },
    { "keep-going", 0, NULL, "exit status 0 also when lines failed; else 1" },
    OPTION_OFFSETS(),
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
    int out;
    const Value *params;    /* of the task; NULL: none */
    bool chars;
    Chunk *ring;            /* [chunks] */
    uint64_t chunks, read, written;
    pthread_mutex_t lock;
    pthread_cond_t came;
    Progress progress;
    uint64_t lines, errors;
    int64_t tokens;
    Buf text;
} Mapper;

/* ---- in ---- */
static void chunk_done(Work *work)
{
    Chunk *c = work->context;
    Mapper *m = c->mapper;
    pthread_mutex_lock(&m->lock);
    c->done = true;
    pthread_cond_signal(&m->came);
    pthread_mutex_unlock(&m->lock);
}

/* A stream that breaks ends there: what came before is still answered. One that is quiet ends the chunk. */
static void read_chunk(Mapper *m, Chunk *c, bool *more)
{
    c->n = 0;
    c->mapper = m;
    arena_reset(&c->arena, CHUNK_BYTES);
    if (m->resuming.ahead) c->record[c->n++] = m->resuming.next;
    m->resuming.ahead = false;
    for (size_t bytes = 0; *more && c->n < CHUNK_RECORDS && bytes < CHUNK_BYTES;) {
        Record *r = &c->record[c->n];
        if (!records_next(&m->in, &c->arena, r, more, &m->broken)) *more = false;
        c->n += *more;
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
    job->in.lines = true;
    for (size_t i = from; i < to; i++) {
        if (c->record[i].err.code != EF_OK) continue;
        job->work.item[n++] = c->record[i].item;
    }
    job->work.n = n;
    params_set(m->session, job, m->params, m->chars, &(Err){ 0 }); /* start_session has tried it */
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

/* ---- out ---- */
static bool write_all(Mapper *m, Err *err)
{
    for (size_t at = 0; at < m->text.n;) {
        ssize_t n = write(m->out, m->text.p + at, m->text.n - at);
        if (n < 0 && errno != EINTR) return out_failed(err);
        at += n > 0 ? (size_t)n : 0;
    }
    m->text.n = 0;
    return true;
}

static void put_error(Mapper *m, const Err *e)
{
    buf_puts(&m->text, "\"error\":{\"message\":");
    json_write_string(&m->text, str_of(e->message));
    buf_printf(&m->text, ",\"type\":\"%s\"}}\n", err_kind(e->code)->name);
    m->errors++;
}

/* The line of one record: its id, then its result's members or its error. */
static void put_line(Mapper *m, const Record *r, Str result, const Err *e)
{
    buf_char(&m->text, '{');
    if (r->id) {
        buf_puts(&m->text, "\"id\":");
        json_write(&m->text, r->id);
        buf_char(&m->text, ',');
    }
    m->lines++;
    if (e->code != EF_OK) return put_error(m, e);
    buf_add(&m->text, result.p + 1, result.n - 1); /* behind its brace */
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

/* A chunk that failed as a whole runs again record by record, so that each has its own answer. */
static void put_alone(Mapper *m, Chunk *c, size_t i)
{
    Job *job = chunk_job(m, c, i, i + 1);
    job_run(m->session, job);
    m->tokens += job->work.tokens;
    put_line(m, &c->record[i], buf_view(&job->out.text), &job->work.err);
    job_free(job);
}

static void put_chunk(Mapper *m, Chunk *c)
{
    const bool whole = c->job && c->job->work.err.code == EF_OK;
    size_t at = 0;
    for (size_t i = 0; i < c->n; i++) {
        const Record *r = &c->record[i];
        if (r->err.code != EF_OK) put_line(m, r, (Str){ 0 }, &r->err);
        else if (whole) put_line(m, r, next_result(c->job, &at), &r->err);
        else put_alone(m, c, i);
    }
    if (whole) m->tokens += c->job->work.tokens;
    job_free(c->job);
    c->job = NULL;
}

static bool write_chunk(Mapper *m, Chunk *c, Err *err)
{
    put_chunk(m, c);
    return write_all(m, err);
}

static void await(Mapper *m, Chunk *c)
{
    pthread_mutex_lock(&m->lock);
    while (!c->done) pthread_cond_wait(&m->came, &m->lock);
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

static bool map_all(Mapper *m, Err *err)
{
    bool more = true, ok = true;
    while (ok && !interrupted && (more || m->written < m->read)) {
        Chunk *c = &m->ring[m->read % m->chunks];
        if (more && is_time_to_read(m)) {
            read_chunk(m, c, &more);
            ok = c->n == 0 || map_submit(m, c, err);
            m->read += ok && c->n;
            continue;
        }
        c = &m->ring[m->written % m->chunks];
        await(m, c);
        ok = write_chunk(m, c, err);
        m->written++;
        ok = ok && progress_at(&m->progress, m->in.lines.bytes, err);
    }
    for (; m->written < m->read; m->written++) { /* not all: nobody may write into a dead chunk */
        await(m, &m->ring[m->written % m->chunks]);
        job_free(m->ring[m->written % m->chunks].job);
    }
    if (ok && m->broken.code != EF_OK) *err = m->broken, ok = false;
    return ok;
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
    put_chunk(m, c);
    const bool ok = resuming_same(r, path, buf_view(&m->text), err);
    m->text.n = 0;
    m->lines = m->errors = 0, m->tokens = 0; /* they count where they were answered first */
    return ok;
}

/* Goes on behind the last whole line, if all that is there was written for this input. */
static bool map_resume(Mapper *m, const char *path, Err *err)
{
    Resuming *r = &m->resuming;
    r->in = &m->in, r->task = m->model->task;
    if (!resuming_check(r, path, err) || !check_answers(m, path, err)) return false;
    if (ftruncate(m->out, (off_t)r->bytes) != 0)
        return fail(err, EF_IO, "%s: cannot be cut to its whole lines: %s", path, strerror(errno));
    log_info("resuming behind line %llu", (unsigned long long)r->lines);
    return true;
}

static bool open_output(Args *a, Mapper *m, Err *err)
{
    const char *path = args_value(a, "output");
    m->out = STDOUT_FILENO;
    if (!path) return true;
    m->out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (m->out < 0) return fail(err, EF_IO, "%s: cannot be written: %s", path, strerror(errno));
    if (lseek(m->out, 0, SEEK_END) <= 0) return true;
    if (args_has(a, "resume")) return map_resume(m, path, err);
    return fail(err, EF_USAGE, "%s: has lines already; --resume goes on behind them", path);
}

/* ---- the command ---- */
static bool start_session(Args *a, Mapper *m, Err *err)
{
    model_log_assumed(m->model);
    SessionOptions how = { .threads = (int)args_int(a, "threads"), .bulk = true,
                           .batch_seconds = 0.2, .batch_tokens = RUN_TOKENS,
                           .max_inputs = SIZE_MAX, .ocr = given_ocr(a, m->model) };
    m->session = job_session(m->model, &how);
    if (!m->session) return fail(err, EF_IO, "no thread could be started");
    m->chunks = (uint64_t)MAX(LEAST_CHUNKS, session_options(m->session)->threads * THREAD_CHUNKS);
    m->ring = ARRAY(&a->arena, Chunk, m->chunks);
    Job *trial = job_new();
    bool ok = params_set(m->session, trial, m->params, m->chars, err);
    job_free(trial);
    if (!ok) session_free(m->session);
    return ok;
}

static void tell_interrupted(Args *a, const Mapper *m)
{
    const char *path = args_value(a, "output");
    const unsigned long long lines = m->lines + m->resuming.lines;
    a->exit = 128 + SIGINT;
    if (path)
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
    log_info("%llu lines (%llu with an error), %lld tokens in %.2f s: %.0f lines/s, %.0f tokens/s",
             (unsigned long long)m->lines, (unsigned long long)m->errors, (long long)m->tokens,
             seconds, (double)m->lines / seconds, (double)m->tokens / seconds);
    if (interrupted) return tell_interrupted(a, m);
    if (!failed || args_has(a, "keep-going")) return;
    log_error("%llu of %llu lines failed, each is answered with an error in its place: exit status "
              "1 (0 with --keep-going)", (unsigned long long)failed,
              (unsigned long long)(m->lines + m->resuming.lines));
    a->exit = 1;
}

static bool map_records(Args *a, Mapper *m, Err *err)
{
    if (!start_session(a, m, err)) return false;
    const double begin = now_seconds();
    bool ok = open_output(a, m, err);
    if (ok) {
        catch_interrupt();
        progress_start(&m->progress, "map", m->in.lines.total);
        ok = map_all(m, err);
        progress_end(&m->progress);
    }
    session_free(m->session);
    if (ok) map_tell(a, m, MAX(now_seconds() - begin, 1e-9));
    return ok;
}

static bool open_input(Args *a, Mapper *m, const char *path, Err *err)
{
    const char *form = args_value(a, "input-format");
    if (!form && strcmp(path, "-") == 0) form = "jsonl";
    return records_open(&m->in, path, form, m->model->items, args_value(a, "field"), err);
}

static bool map_model(Args *a, Mapper *m, const char *path, Err *err)
{
    Model *model;
    if (!args_model(a, &model, err)) return false;
    m->model = model;
    bool ok = params_read(a, model->task, &m->params, err) && open_input(a, m, path, err);
    if (ok) {
        ok = map_records(a, m, err);
        records_close(&m->in);
    }
    model_close(model);
    return ok;
}

static bool map_run(Args *a, Err *err)
{
    Mapper *m = NEW(&a->arena, Mapper);
    const char *path = a->n_text ? a->text[0] : "-";
    if (a->n_text > 1) return fail(err, EF_USAGE, "map: found %d files, wanted one", a->n_text);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->came, NULL);
    const char *to = args_value(a, "output");
    m->chars = args_int(a, "offsets");
    if (!file_apart(to ? to : "/dev/stdout", path, err)) return false;
    bool ok = map_model(a, m, path, err);
    if (m->out > STDOUT_FILENO) close(m->out);
    for (uint64_t i = 0; i < m->chunks; i++) arena_free(&m->ring[i].arena);
    resuming_free(&m->resuming);
    buf_free(&m->text);
    return ok;
}

const Command cmd_map = {
    .name = "map",
    .summary = "run a stream of records through a model: JSON lines, CSV or Arrow in, JSON lines out, in order",
    .options = options,
    .task_options = true,
    .run = map_run,
    .model_first = true,
    .usage = "[MODEL] [FILE]",
    .example = "  encoderfile map ./ner-model texts.jsonl > entities.jsonl\n"
               "  ./my.encoderfile map texts.jsonl.gz -o out.jsonl\n"
               "  ./my.encoderfile map texts.jsonl -o out.jsonl --resume    # after a crash\n"
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
               "gzip is unpacked on the way. Arrow: columns text (--field) and id, in a stream or a file that is not\n"
               "compressed; other columns are not read.\n"
               "--resume reads --output first: each line must have its record's id and this task's members,\n"
               "and lines 1, 2, 4, 8 ... and the last are answered again and must say the same. Else nothing\n"
               "is changed. A record edited between those lines keeps its earlier answer.\n",
};

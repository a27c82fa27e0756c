/* SPDX-License-Identifier: Apache-2.0
 * reply.c - rows of numbers to the reply and its text. Writing floats costs most, so
 * a job is cut into parts that workers finish at the same time. A part has an arena and a text of its
 * own; the texts are joined and put into the kind's frame. */
#include "data/gzip.h"
#include "data/json.h"
#include "data/proto.h"
#include "dialect.h"

enum { PART_TOKENS = 512 }; /* less is not worth a worker */

typedef struct Part {
    Job *job;
    size_t from, to;  /* items */
    Arena *arena;     /* the job's own when it has one part */
    Value *results;   /* [items], shared by the parts */
    Buf *text;        /* results from .. to-1: as lines, or as JSON with a comma before each
                       * but item 0. The first part writes into the reply's own text */
    Err err;          /* set where memory ran out */
} Part;

typedef struct Finish {
    Session *s;
    Pool *pool;
    Job **jobs;
    int n_jobs;
    Part *part;
    int n;
} Finish;

typedef struct JobStep {  /* a step of one job, guarded */
    Session *s;
    Job *job;
    Part *part;           /* the first of its parts */
    int parts;
} JobStep;

static int parts_of(const Pool *pool, const Job *job)
{
    int64_t n = MIN(job->work.tokens / PART_TOKENS, pool_threads(pool));
    return (int)MAX(MIN(n, (int64_t)job->work.n), 1);
}

static void job_step(JobStep *step, void (*fn)(void *))
{
    Job *job = step->job;
    if (job->work.err.code == EF_OK) session_guarded(step->s, fn, step, &job->work.err);
}

static void cut(void *arg)
{
    JobStep *step = arg;
    Job *job = step->job;
    int parts = step->parts;
    Value *results = ARRAY(&job->work.arena, Value, job->work.n);
    if (parts > 1) {
        job->out.arena = ARRAY(&job->work.arena, Arena, parts);
        job->out.part = ARRAY(&job->work.arena, Buf, parts);
        job->out.parts = parts;
    }
    for (int i = 0; i < job->out.parts; i++)
        job->out.arena[i].budget = job->out.part[i].budget = &job->work.budget;
    for (int i = 0; i < parts; i++)
        step->part[i] = (Part){ .job = job,
                                .from = job->work.n * (size_t)i / (size_t)parts,
                                .to = job->work.n * (size_t)(i + 1) / (size_t)parts,
                                .arena = parts > 1 ? &job->out.arena[i] : &job->work.arena,
                                .results = results,
                                .text = i ? &job->out.part[i] : &job->out.text };
    job->out.value = kind_of(job)->frame(step->s, job, results, job->work.n);
}

/* What stands before and after the results: the frame of an empty list of results, cut after its first
 * bracket. */
static size_t write_frame(const Session *s, Job *job, Buf *out)
{
    size_t at = out->n;
    Value frame = kind_of(job)->frame(s, job, NULL, 0);
    json_write(out, &frame);
    const char *bracket = memchr(out->p + at, '[', out->n - at);
    assert(bracket);
    return (size_t)(bracket + 1 - out->p);
}

static void open_frame(const Session *s, Job *job, Buf *out)
{
    out->n = write_frame(s, job, out);
}

static void close_frame(const Session *s, Job *job, Buf *out)
{
    size_t at = out->n, rest = write_frame(s, job, out);
    memmove(out->p + at, out->p + rest, out->n - rest);
    out->n -= rest - at;
}

static void finish_item(const Session *s, Part *part, size_t i)
{
    const Job *job = part->job;
    const JobForm *form = job->in.form;
    kind_of(job)->item(s, job, part->arena, i, &part->results[i]);
    if (job->in.no_text || (form && form->shape)) return;
    if (form) return proto_write_item(part->text, &part->results[i], form->reply);
    if (i && !job->in.lines) buf_char(part->text, ',');
    json_write(part->text, &part->results[i]);
    if (job->in.lines) buf_char(part->text, '\n');
}

static void finish_items(void *arg)
{
    JobStep *step = arg;
    Part *part = step->part;
    const Job *job = part->job;
    bool framed = !job->in.no_text && !job->in.form && !job->in.lines;
    if (part->from == 0 && framed) open_frame(step->s, part->job, part->text);
    for (size_t i = part->from; i < part->to; i++) finish_item(step->s, part, i);
}

static void finish_part(void *arg, int index, int worker)
{
    (void)worker;
    Finish *f = arg;
    Part *part = &f->part[index];
    JobStep step = { f->s, part->job, part, 1 };
    if (part->job) session_guarded(f->s, finish_items, &step, &part->err);
}

static void join_parts(Part *part, int n)
{
    Job *job = part->job;
    for (int i = 1; i < n; i++) {
        buf_str(&job->out.text, buf_view(part[i].text));
        buf_free(part[i].text);
    }
}

/* The other parts' texts go behind the first's. In protobuf nothing stands around the results. */
static void reply_join(void *arg)
{
    JobStep *step = arg;
    Job *job = step->job;
    join_parts(step->part, step->parts);
    if (job->in.lines) return;
    if (!job->in.form) return close_frame(step->s, job, &job->out.text);
    Value frame = kind_of(job)->frame(step->s, job, NULL, 0);
    proto_write(&job->out.text, &frame, job->in.form->reply);
}

/* A reply that is written at once. */
static void write_whole(void *arg)
{
    Job *job = ((JobStep *)arg)->job;
    const JobForm *form = job->in.form;
    if (job->in.no_text || job->work.err.code != EF_OK) return;
    if (!form) return json_write(&job->out.text, &job->out.value);
    if (form->shape) job->out.value = form->shape(form, job, job->out.value);
    proto_write(&job->out.text, &job->out.value, form->reply);
}

/* Writes the gzip form into the buffer of the body, which is not needed any more. Where there is no
 * memory for both forms, the reply stays plain. */
static void gzip_text(void *arg)
{
    Job *job = arg;
    Buf plain = job->out.text;
    buf_free(&job->in.storage);
    gzip_pack(&job->in.storage, buf_view(&plain), GZIP_FAST);
    job->out.text = job->in.storage;
    job->in.storage = plain;
    buf_free(&job->in.storage);
    job->out.gzip = true;
}

static void gzip_reply(Job *job)
{
    Shortage ignored;
    size_t from = job->in.gzip_from;
    if (job->work.err.code != EF_OK || !from || job->out.text.n < from) return;
    if (!guarded(gzip_text, job, &ignored)) buf_free(&job->in.storage);
}

static void gzip_one(void *arg, int index, int worker)
{
    (void)worker;
    Finish *f = arg;
    gzip_reply(f->jobs[index]);
}

static void finish_whole(void *arg)
{
    JobStep *step = arg;
    Job *job = step->job;
    const JobKind *kind = kind_of(job);
    bool text = kind->write && !job->in.form && !job->in.no_text;
    if (job->in.table) {
        job->out.columns = kind->columns(step->s, job);
        return;
    }
    if (text) return kind->write(step->s, job, &job->out.text);
    job->out.value = kind->finish(step->s, job);
    write_whole(step);
}

/* Finishes on this thread the jobs whose reply is made at once; returns how many others there are. */
static int finish_others(Session *s, Job **jobs, int n)
{
    int left = 0;
    for (int i = 0; i < n; i++) {
        JobStep step = { s, jobs[i], NULL, 0 };
        if (!kind_of(jobs[i])->finish && !jobs[i]->in.table) {
            jobs[left++] = jobs[i];
            continue;
        }
        job_step(&step, finish_whole);
        gzip_reply(jobs[i]);
        if (kind_of(jobs[i])->write) job_shrink(jobs[i]); /* here: it may take long */
    }
    return left;
}

/* All parts of the job are finished. */
static void join_job(JobStep *step)
{
    Job *job = step->job;
    for (int i = 0; i < step->parts && job->work.err.code == EF_OK; i++) job->work.err = step->part[i].err;
    if (job->in.form && job->in.form->shape) job_step(step, write_whole);
    else if (!job->in.no_text) job_step(step, reply_join);
}

static void finish_by_items(void *arg)
{
    Finish *f = arg;
    Arena arena = { .local = true };
    for (int i = 0; i < f->n_jobs; i++) f->n += parts_of(f->pool, f->jobs[i]);
    f->part = ARRAY(&arena, Part, f->n);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0, at = 0; i < f->n_jobs; i++) {
            JobStep step = { f->s, f->jobs[i], f->part + at, parts_of(f->pool, f->jobs[i]) };
            if (pass == 0) job_step(&step, cut);
            else join_job(&step);
            at += step.parts;
        }
        if (pass == 0) pool_for(f->pool, f->n, finish_part, f);
    }
    pool_for(f->pool, f->n_jobs, gzip_one, f);
    arena_free(&arena);
}

void jobs_finish(Session *s, Pool *pool, Work **all, int n_all)
{
    enum { FEW = 256 };
    Job *jobs[FEW];
    Err err = { 0 };
    assert(n_all <= FEW);
    for (int i = 0; i < n_all; i++) jobs[i] = job_of(all[i]);
    Finish f = { .s = s, .pool = pool, .jobs = jobs };
    f.n_jobs = finish_others(s, jobs, n_all);
    if (f.n_jobs && !session_guarded(s, finish_by_items, &f, &err))
        for (int i = 0; i < f.n_jobs; i++) jobs[i]->work.err = err; /* not even for the list of parts */
}

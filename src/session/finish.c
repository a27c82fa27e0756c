/* SPDX-License-Identifier: Apache-2.0
 * finish.c - rows of numbers to the reply and its text. Writing floats costs more than anything
 * else here, so jobs are cut into parts that workers finish side by side; a part has its own arena
 * and its own text, and the texts are joined inside what the kind's frame says. */
#include "data/gzip.h"
#include "data/json.h"
#include "data/proto.h"
#include "kinds.h"
#include "stages.h"

enum { PART_TOKENS = 512 }; /* less is not worth a worker */

typedef struct Part {
    Job *job;
    size_t from, to;  /* rows */
    Arena *arena;     /* the job's own when it has one part */
    Value *results;   /* [job->n], shared by the parts */
    Buf *text;        /* results from .. to-1; JSON: with commas between and before (not row 0),
                       * or as lines. Of the first part: the job's json */
    Err err;          /* memory was missing */
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
    int64_t n = MIN(job->tokens / PART_TOKENS, pool_threads(pool));
    return (int)MAX(MIN(n, (int64_t)job->n), 1);
}

static void take_step(JobStep *step, void (*fn)(void *))
{
    Job *job = step->job;
    if (job->err.code == EF_OK) job_guarded(step->s, fn, step, &job->err);
}

static void cut(void *arg)
{
    JobStep *step = arg;
    Job *job = step->job;
    int parts = step->parts;
    Value *results = ARRAY(&job->arena, Value, job->n);
    if (parts > 1) {
        job->extra = ARRAY(&job->arena, Arena, parts);
        job->text = ARRAY(&job->arena, Buf, parts);
        job->n_extra = parts;
    }
    for (int i = 0; i < job->n_extra; i++)
        job->extra[i].budget = job->text[i].budget = &job->budget;
    for (int i = 0; i < parts; i++)
        step->part[i] = (Part){ .job = job,
                                .from = job->n * (size_t)i / (size_t)parts,
                                .to = job->n * (size_t)(i + 1) / (size_t)parts,
                                .arena = parts > 1 ? &job->extra[i] : &job->arena,
                                .results = results,
                                .text = i ? &job->text[i] : &job->json };
    job->reply = kind_of(job)->frame(step->s, job, results, job->n);
}

static void finish_row(const Session *s, Part *part, size_t r)
{
    const Job *job = part->job;
    kind_of(job)->row(s, job, part->arena, r, &part->results[r]);
    if (job->no_json || (job->form && job->form->shape)) return;
    if (job->form) return proto_write_item(part->text, &part->results[r], job->form->reply);
    if (r && !job->lines) buf_char(part->text, ',');
    json_write(part->text, &part->results[r]);
    if (job->lines) buf_char(part->text, '\n');
}

static void finish_rows(void *arg)
{
    JobStep *step = arg;
    Part *part = step->part;
    const Job *job = part->job;
    bool framed = !job->no_json && !job->form && !job->lines;
    if (part->from == 0 && framed) buf_puts(part->text, kind_of(job)->opening);
    for (size_t r = part->from; r < part->to; r++) finish_row(step->s, part, r);
}

static void finish_part(void *arg, int index, int worker)
{
    (void)worker;
    Finish *f = arg;
    Part *part = &f->part[index];
    JobStep step = { f->s, part->job, part, 1 };
    if (part->job) job_guarded(f->s, finish_rows, &step, &part->err);
}

static void join_parts(Part *part, int n)
{
    Job *job = part->job;
    for (int i = 1; i < n; i++) {
        buf_str(&job->json, buf_view(part[i].text));
        buf_free(part[i].text);
    }
}

/* The first part's text grows into the whole. Protobuf's records need nothing around them. */
static void join(void *arg)
{
    JobStep *step = arg;
    Job *job = step->job;
    const char *opening = kind_of(job)->opening;
    join_parts(step->part, step->parts);
    if (job->lines) return;
    Value frame = kind_of(job)->frame(step->s, job, NULL, 0);
    if (job->form) return proto_write(&job->json, &frame, job->form->reply);
    size_t at = job->json.n, skip = strlen(opening);
    json_write(&job->json, &frame);
    char *around = job->json.p + at;
    size_t n = job->json.n - at;
    assert(str_starts((Str){ around, n }, opening));
    memmove(around, around + skip, n - skip);
    job->json.n -= skip;
}

/* A reply that is written at once. */
static void write_whole(void *arg)
{
    Job *job = ((JobStep *)arg)->job;
    const JobForm *form = job->form;
    if (job->no_json || job->err.code != EF_OK) return;
    if (!form) return json_write(&job->json, &job->reply);
    if (form->shape) job->reply = form->shape(form, job, job->reply);
    proto_write(&job->json, &job->reply, form->reply);
}

/* The body is not needed any more; its buffer takes what was packed. A reply that there is no memory
 * for twice stays as it is. */
static void pack(void *arg)
{
    Job *job = arg;
    Buf plain = job->json;
    buf_free(&job->storage);
    gzip_pack(&job->storage, buf_view(&plain), GZIP_FAST);
    job->json = job->storage;
    job->storage = plain;
    buf_free(&job->storage);
    job->json_packed = true;
}

static void pack_or_not(Job *job)
{
    Shortage ignored;
    if (job->err.code != EF_OK || !job->gzip_from || job->json.n < job->gzip_from) return;
    if (!guarded(pack, job, &ignored)) buf_free(&job->storage);
}

static void pack_job(void *arg, int index, int worker)
{
    (void)worker;
    Finish *f = arg;
    pack_or_not(f->jobs[index]);
}

static void finish_whole(void *arg)
{
    JobStep *step = arg;
    Job *job = step->job;
    const JobKind *kind = kind_of(job);
    bool text = kind->write && !job->form && !job->no_json;
    if (text) return kind->write(step->s, job, &job->json);
    job->reply = kind->finish(step->s, job);
    write_whole(step);
}

/* Those whose replies are not made row by row: whole, on this thread. Returns how many are left. */
static int finish_others(Session *s, Job **jobs, int n)
{
    int left = 0;
    for (int i = 0; i < n; i++) {
        JobStep step = { s, jobs[i], NULL, 0 };
        if (!kind_of(jobs[i])->finish) {
            jobs[left++] = jobs[i];
            continue;
        }
        take_step(&step, finish_whole);
        pack_or_not(jobs[i]);
    }
    return left;
}

/* Its parts are there, and finished. */
static void join_job(JobStep *step)
{
    Job *job = step->job;
    for (int i = 0; i < step->parts && job->err.code == EF_OK; i++) job->err = step->part[i].err;
    if (job->form && job->form->shape) take_step(step, write_whole);
    else if (!job->no_json) take_step(step, join);
}

static void finish_by_rows(void *arg)
{
    Finish *f = arg;
    Arena arena = { .local = true };
    for (int i = 0; i < f->n_jobs; i++) f->n += parts_of(f->pool, f->jobs[i]);
    f->part = ARRAY(&arena, Part, f->n);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0, at = 0; i < f->n_jobs; i++) {
            JobStep step = { f->s, f->jobs[i], f->part + at, parts_of(f->pool, f->jobs[i]) };
            if (pass == 0) take_step(&step, cut);
            else join_job(&step);
            at += step.parts;
        }
        if (pass == 0) pool_for(f->pool, f->n, finish_part, f);
    }
    pool_for(f->pool, f->n_jobs, pack_job, f);
    arena_free(&arena);
}

void jobs_finish(Session *s, Pool *pool, Job **all, int n_all)
{
    enum { FEW = 256 };
    Job *jobs[FEW];
    Err err = { 0 };
    assert(n_all <= FEW);
    memcpy(jobs, all, (size_t)n_all * sizeof *jobs);
    Finish f = { .s = s, .pool = pool, .jobs = jobs };
    f.n_jobs = finish_others(s, jobs, n_all);
    if (f.n_jobs && !job_guarded(s, finish_by_rows, &f, &err))
        for (int i = 0; i < f.n_jobs; i++) jobs[i]->err = err; /* not even for the list of parts */
}

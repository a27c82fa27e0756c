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
    Buf text;         /* results from .. to-1; JSON: with commas between and before (not row 0),
                       * or as lines */
} Part;

typedef struct Finish {
    const Session *s;
    Part *part;
    int n;
} Finish;

static int parts_of(const Pool *pool, const Job *job)
{
    int64_t n = MIN(job->tokens / PART_TOKENS, pool_threads(pool));
    return (int)MAX(MIN(n, (int64_t)job->n), 1);
}

static void cut(Session *s, Job *job, int parts, Part *out)
{
    Value *results = ARRAY(&job->arena, Value, job->n);
    if (parts > 1) {
        job->extra = ARRAY(&job->arena, Arena, parts);
        job->n_extra = parts;
    }
    for (int i = 0; i < parts; i++)
        out[i] = (Part){ .job = job,
                         .from = job->n * (size_t)i / (size_t)parts,
                         .to = job->n * (size_t)(i + 1) / (size_t)parts,
                         .arena = parts > 1 ? &job->extra[i] : &job->arena,
                         .results = results };
    job->reply = kind_of(job)->frame(s, job, results, job->n);
}

static void finish_row(const Session *s, Part *part, size_t r)
{
    const Job *job = part->job;
    kind_of(job)->row(s, job, part->arena, r, &part->results[r]);
    if (job->no_json || (job->form && job->form->shape)) return;
    if (job->form) return proto_write_item(&part->text, &part->results[r], job->form->reply);
    if (r && !job->lines) buf_char(&part->text, ',');
    json_write(&part->text, &part->results[r]);
    if (job->lines) buf_char(&part->text, '\n');
}

static void finish_part(void *arg, int index, int worker)
{
    (void)worker;
    Finish *f = arg;
    Part *part = &f->part[index];
    const Job *job = part->job;
    bool framed = !job->no_json && !job->form && !job->lines;
    if (part->from == 0 && framed) buf_puts(&part->text, kind_of(job)->opening);
    for (size_t r = part->from; r < part->to; r++) finish_row(f->s, part, r);
}

static void join_parts(Part *part, int n)
{
    Job *job = part->job;
    job->json = part->text;
    for (int i = 1; i < n; i++) {
        buf_str(&job->json, buf_view(&part[i].text));
        buf_free(&part[i].text);
    }
}

/* The first part's text grows into the whole. Protobuf's records need nothing around them. */
static void join(const Session *s, Part *part, int n)
{
    Job *job = part->job;
    const char *opening = kind_of(job)->opening;
    Buf around = { 0 };
    join_parts(part, n);
    if (job->lines) return;
    Value frame = kind_of(job)->frame(s, job, NULL, 0);
    if (job->form) return proto_write(&job->json, &frame, job->form->reply);
    json_write(&around, &frame);
    assert(str_starts(buf_view(&around), opening));
    buf_add(&job->json, around.p + strlen(opening), around.n - strlen(opening));
    buf_free(&around);
}

/* A reply that is written at once. */
static void write_whole(Job *job)
{
    const JobForm *form = job->form;
    if (job->no_json || job->err.code != EF_OK) return;
    if (!form) return json_write(&job->json, &job->reply);
    if (form->shape) job->reply = form->shape(form, job, job->reply);
    proto_write(&job->json, &job->reply, form->reply);
}

static void pack(void *arg, int index, int worker)
{
    (void)worker;
    Job *job = ((Job **)arg)[index];
    if (!job->gzip_from || job->json.n < job->gzip_from) return;
    Buf packed = { 0 };
    gzip_pack(&packed, buf_view(&job->json), GZIP_FAST);
    buf_free(&job->json);
    job->json = packed;
    job->json_packed = true;
}

/* Those whose replies are not made row by row: whole, on this thread. Returns how many are left. */
static int finish_others(Session *s, Job **jobs, int n)
{
    int left = 0;
    for (int i = 0; i < n; i++) {
        Job *job = jobs[i];
        if (!kind_of(job)->finish) {
            jobs[left++] = job;
            continue;
        }
        job->reply = kind_of(job)->finish(s, job);
        write_whole(job);
        pack(&job, 0, 0);
    }
    return left;
}

void jobs_finish(Session *s, Pool *pool, Job **all, int n_all)
{
    enum { FEW = 256 };
    Job *jobs[FEW];
    assert(n_all <= FEW);
    memcpy(jobs, all, (size_t)n_all * sizeof *jobs);
    int n = finish_others(s, jobs, n_all);
    Arena arena = { 0 };
    Finish f = { .s = s };
    for (int i = 0; i < n; i++) f.n += parts_of(pool, jobs[i]);
    f.part = ARRAY(&arena, Part, f.n);
    for (int i = 0, at = 0; i < n; i++) {
        int parts = parts_of(pool, jobs[i]);
        cut(s, jobs[i], parts, f.part + at);
        at += parts;
    }
    pool_for(pool, f.n, finish_part, &f);
    for (int i = 0, at = 0; i < n; i++) {
        int parts = parts_of(pool, jobs[i]);
        if (jobs[i]->form && jobs[i]->form->shape) write_whole(jobs[i]);
        else if (!jobs[i]->no_json) join(s, f.part + at, parts);
        at += parts;
    }
    pool_for(pool, n, pack, jobs);
    arena_free(&arena);
}

/* SPDX-License-Identifier: Apache-2.0
 * job.c - the life of a job, each in its own arena, and how a body becomes items. */
#include "data/gzip.h"
#include "data/json.h"
#include "data/proto.h"
#include "dialect.h"

enum {
    VALUES_BESIDE = 4096,        /* of a body, beside its inputs */
    VALUES_OF_PAGE = 7 * (PAGE_WORDS_MOST + 1), /* a word, its box and both together */
    VALUES_OF_SOUND = 1 << 26,   /* samples; --max-body limits them before that */
};

/* ---- a job ---- */
Job *job_new(void)
{
    Arena arena = { 0 };
    Job *job = NEW(&arena, Job);
    work_init(&job->work, arena);
    job->in.storage.budget = job->out.text.budget = &job->work.budget;
    return job;
}

Job *job_of(Work *work)
{
    return (Job *)work;
}

Item *job_items(Job *job, size_t n)
{
    job->work.n = n;
    return job->work.item = ARRAY(&job->work.arena, Item, n);
}

Str job_text(Job *job, Str text)
{
    return (Str){ str_dup(&job->work.arena, text), text.n };
}

void job_store(Job *job, Buf *body)
{
    job->in.storage = *body;
    job->in.storage.budget = &job->work.budget;
    job->work.budget.used += body->cap;
    *body = (Buf){ 0 };
}

void job_shrink(Job *job)
{
    for (int i = 0; i < job->out.parts; i++) {
        arena_free(&job->out.arena[i]);
        buf_free(&job->out.part[i]);
    }
    job->out.parts = 0;
    buf_free(&job->in.storage);
    buf_fit(&job->out.text);
    work_shrink(&job->work);
}

void job_free(Job *job)
{
    if (!job) return;
    job_shrink(job);
    buf_free(&job->out.text);
    budget_leave(&job->work.budget);
    Arena arena = job->work.arena;
    arena.budget = NULL; /* goes with it */
    arena_free(&arena);
}

/* ---- a body to items ---- */
/* Replaces a gzip body by what it holds. The reply's buffer is used for that: there is no reply yet. */
static bool unzip_body(Job *job)
{
    Buf *plain = &job->out.text;
    Err *err = &job->work.err;
    if (!job->in.gzip) return true;
    if (!gzip_unpack(plain, job->in.body, job->in.most, err)) {
        if (err->code != EF_TOO_LARGE) err->code = EF_BAD_REQUEST;
        buf_free(plain);
        return within(err, "body");
    }
    buf_free(&job->in.storage);
    job->in.storage = *plain;
    *plain = (Buf){ .budget = &job->work.budget };
    job->in.body = job->in.storage.n ? buf_view(&job->in.storage) : STR("");
    return true;
}

static bool parse_body(Session *s, Job *job, size_t most, Value *request)
{
    Arena *arena = &job->work.arena;
    Err *err = &job->work.err;
    if (job->in.type.n) return files_request(s, job, request, err);
    if (job->in.form)
        return proto_read(arena, job->in.body, job->in.form->request, most, request, err);
    if (json_parse_most(arena, job->in.body, most, request, err)) return true;
    return within(err, "Failed to parse the request body as JSON");
}

static bool read_body(Session *s, Job *job)
{
    if (!unzip_body(job)) return false;
    Value *request = NEW(&job->work.arena, Value);
    size_t most = session_options(s)->max_inputs * 3 + VALUES_BESIDE /* a pair is three */
                  + kind_of(job)->values
                  + (item_form_has(site_of(s)->items, ITEM_BOXES) ? VALUES_OF_PAGE : 0)
                  + (item_form_has(site_of(s)->items, ITEM_NUMBERS) ? VALUES_OF_SOUND : 0);
    return parse_body(s, job, most, request) && kind_of(job)->read(s, job, request);
}

bool job_open(Session *s, Work *work)
{
    Job *job = job_of(work);
    Items given = { work->item, work->n };
    bool ok = job->in.tree     ? kind_of(job)->read(s, job, job->in.tree)
              : job->in.body.p ? read_body(s, job)
                               : items_check(site_of(s)->items, &given,
                                             session_options(s)->max_inputs, &work->err);
    work->keep = kind_of(job)->keep; /* of the kind that the body turned out to be */
    work->options.input.uncut |= kind_of(job)->uncut;
    return ok;
}

/* ---- the session ---- */
bool job_submit(Session *s, Job *job, Err *err)
{
    job->work.bytes = job->in.body.n;
    job->work.unread = job->in.gzip || kind_of(job)->slow;
    return session_submit(s, &job->work, err);
}

void job_run(Session *s, Job *job)
{
    session_run(s, &job->work);
}

/* SPDX-License-Identifier: Apache-2.0
 * admission.c - what can be refused is refused here, before it costs a run: JSON, schema, texts.
 * What comes out is a job with ids, so that the queue knows how much work it is. */
#include "data/gzip.h"
#include "data/json.h"
#include "data/proto.h"
#include "kind.h"
#include "stages.h"

enum {
    SCRATCH_KEPT = 1 << 20,
    SLICE_BYTES = 16 << 10,      /* of text: about a millisecond of work */
    MOST_SLICES = 64,
    VALUES_BESIDE = 4096,        /* of a body, beside its inputs */
};

/* A packed body makes place for what was inside. `json` is free as long as there is no reply. */
static bool unpack_body(Job *job)
{
    Buf *plain = &job->json;
    if (!job->body_packed) return true;
    if (!gzip_unpack(plain, job->body, job->body_most, &job->err)) {
        if (job->err.code != EF_TOO_LARGE) job->err.code = EF_BAD_REQUEST;
        buf_free(plain);
        return within(&job->err, "body");
    }
    buf_free(&job->storage);
    job->storage = *plain;
    *plain = (Buf){ .budget = &job->budget };
    job->body = job->storage.n ? buf_view(&job->storage) : STR("");
    return true;
}

static bool parse_body(Job *job, size_t most, Value *request)
{
    Arena *arena = &job->arena;
    if (job->form)
        return proto_read(arena, job->body, job->form->request, most, request, &job->err);
    if (json_parse_most(arena, job->body, most, request, &job->err)) return true;
    return within(&job->err, "Failed to parse the request body as JSON");
}

static bool read_body(const Session *s, Job *job)
{
    if (!unpack_body(job)) return false;
    Value *request = NEW(&job->arena, Value);
    size_t most = s->options.max_inputs * 3 + VALUES_BESIDE /* a pair is three */
                  + kind_of(job)->values;
    return parse_body(job, most, request) && kind_of(job)->read(s, job, request);
}

static bool runs(const Job *job)
{
    return kind_of(job)->keep != KEEP_NOTHING;
}

static bool encode(const Session *s, Arena *scratch, Arena *arena, Job *job, size_t i, Err *err)
{
    const Model *m = s->model;
    Encoding *out = &job->encoding[i];
    EncodeOptions how = m->encode;
    how.work = scratch; /* many times the text, and all that is cut off: a job may wait long */
    how.no_special |= job->no_special || (job->plain && job->plain[i]);
    how.truncate_left |= job->options.left;
    if (job->options.whole || kind_of(job)->uncut) how.max_length = 0;
    if (!tokenizer_encode(m->tokenizer, arena, job->first[i], job_second(job, i), &how, out, err))
        return within(err, "inputs[%zu]: Error during tokenization", i);
    if (job->options.whole && m->encode.max_length > 0 && out->n > (size_t)m->encode.max_length)
        return fail(err, EF_INVALID_INPUT, "inputs[%zu]: found %zu tokens, wanted at most %d", i,
                    out->n, m->encode.max_length);
    if (out->n == 0 && runs(job))
        return fail(err, EF_INVALID_INPUT, "inputs[%zu]: found no tokens, wanted at least one", i);
    if (m->flat_types) memset(out->type_ids, 0, out->n * sizeof *out->type_ids);
    return true;
}

static bool encode_rows(const Session *s, Job *job, Arena *arena, size_t from, size_t to, Err *err)
{
    Arena scratch = { .budget = &job->budget, .local = true };
    bool ok = true;
    for (size_t i = from; i < to && ok; i++) {
        ok = encode(s, &scratch, arena, job, i, err);
        arena_reset(&scratch, SCRATCH_KEPT);
    }
    arena_free(&scratch);
    return ok;
}

/* ---- slices ---- */
static size_t text_bytes(const Job *job)
{
    size_t bytes = 0;
    for (size_t i = 0; i < job->n; i++) {
        const Str *second = job_second(job, i);
        bytes += job->first[i].n + (second ? second->n : 0);
    }
    return bytes;
}

/* 0: it is not worth it. One slice goes to the line of long ones, too. */
static int slices_of(const Job *job)
{
    size_t bytes = text_bytes(job), slices = MIN(MIN(bytes / SLICE_BYTES, job->n), (size_t)MOST_SLICES);
    return slices > 1 || stage_for(bytes) == STAGE_LONG ? (int)MAX(slices, 1) : 0;
}

static void cut(Job *job, int slices)
{
    job->slice = ARRAY(&job->arena, Arena, slices);
    for (int i = 0; i < slices; i++) job->slice[i].budget = &job->budget;
    job->slices = job->slices_left = slices;
}

typedef struct Step {            /* of a job's admission: what is done guarded */
    Session *s;
    Job *job;
    Worker *worker;
    int slice;
    Err err;                     /* of a slice */
    bool ok;
} Step;

static void encode_slice(void *arg)
{
    Step *step = arg;
    Job *job = step->job;
    size_t from = job->n * (size_t)step->slice / (size_t)job->slices;
    size_t to = job->n * (size_t)(step->slice + 1) / (size_t)job->slices;
    step->ok = encode_rows(step->s, job, &job->slice[step->slice], from, to, &step->err);
}

static void slice_job(Session *s, Job *job, int slice)
{
    Step step = { .s = s, .job = job, .slice = slice };
    if (job_guarded(s, encode_slice, &step, &step.err) && step.ok) return;
    pthread_mutex_lock(&s->queue.lock); /* the first failure is the answer */
    if (job->err.code == EF_OK) job->err = step.err;
    pthread_mutex_unlock(&s->queue.lock);
}

/* ---- a job ---- */
static Str stripped(Str s)
{
    while (s.n && strchr(" \t\r\n", *s.p)) s.p++, s.n--;
    while (s.n && strchr(" \t\r\n", s.p[s.n - 1])) s.n--;
    return s;
}

/* As sentence-transformers counts them: with special tokens in front, without one at the end. */
static bool count_prompt(const Session *s, Job *job, Str prompt)
{
    Arena scratch = { 0 };
    Encoding e;
    bool ok = tokenizer_encode(s->model->tokenizer, &scratch, stripped(prompt), NULL,
                               &s->model->encode, &e, &job->err);
    if (ok) job->prompt = (int64_t)e.n - (e.n && e.special[e.n - 1]);
    arena_free(&scratch);
    return ok || within(&job->err, "prompt");
}

/* Ids that get a prompt are texts like others: with special tokens. */
bool job_prompt(const Session *s, Job *job, Str prompt)
{
    const VectorHead *head = s->model->config.head;
    Str *texts = ARRAY(&job->arena, Str, job->n);
    for (size_t i = 0; i < job->n; i++) {
        Str text = job->first[i];
        char *both = arena_alloc(&job->arena, prompt.n + text.n + 1);
        memcpy(both, prompt.p, prompt.n);
        memcpy(both + prompt.n, text.p, text.n);
        texts[i] = (Str){ both, prompt.n + text.n };
    }
    job->first = texts;
    job->plain = NULL;
    job->prompted = true;
    return !head || !head->without_prompt || !prompt.n || count_prompt(s, job, prompt);
}

/* As sentence-transformers' encode() does for who names no prompt. */
static bool default_prompt(const Session *s, const Job *job)
{
    return s->model->prompt.n && !job->prompted && runs(job);
}

/* Body, texts, scripts: all that is not cut into slices. */
static bool open_job(Session *s, Job *job, Worker *worker)
{
    TaskInputs given = { job->first, job->second, job->n };
    bool ok = job->body.p ? read_body(s, job)
                          : task_inputs_check(&given, s->options.max_inputs, &job->err);
    if (ok && default_prompt(s, job)) ok = job_prompt(s, job, s->model->prompt);
    if (!ok || !job_prepare(s, job, worker)) return false;
    job->encoding = ARRAY(&job->arena, Encoding, job->n);
    return true;
}

/* What its rows and their text will take, roughly: a number is 4 bytes and some 12 as text, a token
 * 64 as text and the rest as tree. */
static size_t weight(const Session *s, const Job *job)
{
    enum { OF_NUMBER = 16, OF_TEXT = 64, OF_TOKEN = 400 };
    const Task *task = s->model->task;
    size_t vocabulary = tokenizer_size(s->model->tokenizer);
    if (!runs(job)) return (size_t)job->tokens * OF_TEXT;
    size_t width = (size_t)task_width(task, &s->model->config, vocabulary);
    bool all = task_keeps_tokens(task) && !job_pool(s, job);
    size_t vectors = all ? (size_t)job->tokens : job->n;
    return vectors * width * OF_NUMBER + (all ? (size_t)job->tokens * OF_TOKEN : 0);
}

static bool close_job(Session *s, Job *job)
{
    if (job->err.code != EF_OK) return false;
    for (size_t i = 0; i < job->n; i++) {
        const Str *second = job_second(job, i);
        job->tokens += (int64_t)job->encoding[i].n;
        job->characters += utf8_length(job->first[i]) + (second ? utf8_length(*second) : 0);
    }
    job->rows = ARRAY(&job->arena, float *, job->n);
    job->row_data = job->rows;
    job->row_tokens = ARRAY(&job->arena, int64_t, job->n);
    job->row_width = ARRAY(&job->arena, int64_t, job->n);
    job->times.admitted = now_seconds();
    meter_add(&s->meters.tokenize, METER_SECONDS, job->times.admitted - job->times.entered);
    size_t more = weight(s, job);
    if (!budget_aside(&job->budget, more)) memory_missing(more, &job->budget, true);
    return true;
}

static void open_step(void *arg)
{
    Step *step = arg;
    step->ok = open_job(step->s, step->job, step->worker);
    bool runner = step->worker->crew->stage == STAGE_RUN; /* the line may be closed before it ends */
    int slices = step->ok && !runner ? slices_of(step->job) : 0;
    if (slices) cut(step->job, slices);
}

static void close_step(void *arg)
{
    Step *step = arg;
    step->ok = close_job(step->s, step->job);
}

static void encode_step(void *arg)
{
    Step *step = arg;
    Job *job = step->job;
    step->ok = encode_rows(step->s, job, &job->arena, 0, job->n, &job->err) &&
               close_job(step->s, job);
}

static bool take_step(Step *step, void (*fn)(void *))
{
    step->ok = false;
    return job_guarded(step->s, fn, step, &step->job->err) && step->ok;
}

static void whole_step(void *arg)
{
    Step *step = arg;
    step->ok = open_job(step->s, step->job, NULL);
    if (step->ok) encode_step(arg);
}

bool job_admit(Session *s, Job *job)
{
    Step step = { .s = s, .job = job };
    return take_step(&step, whole_step);
}

/* ---- the crew ---- */
static void settle(Session *s, Job *job, bool ok)
{
    if (ok && runs(job)) return queue_pass(&s->queue, STAGE_RUN, job);
    if (ok) jobs_finish(s, NULL, &job, 1);
    if (ok && kind_of(job)->write) job_shrink(job); /* here: it may take long */
    job_done(s, job);
}

void admit_whole(Session *s, Job *job, Worker *worker)
{
    Step step = { .s = s, .job = job, .worker = worker };
    if (job_unwanted(s, job) || !take_step(&step, open_step)) return job_done(s, job);
    if (job->slices) return queue_pass(&s->queue, STAGE_LONG, job);
    settle(s, job, take_step(&step, encode_step));
}

static void admit_slice(Session *s, Job *job, int slice)
{
    Step step = { .s = s, .job = job };
    if (!__atomic_load_n(&job->abandoned, __ATOMIC_RELAXED)) slice_job(s, job, slice);
    if (__atomic_sub_fetch(&job->slices_left, 1, __ATOMIC_ACQ_REL) > 0) return;
    settle(s, job, !job_unwanted(s, job) && take_step(&step, close_step));
}

void admission_thread(Worker *me)
{
    Session *s = me->s;
    int slice;
    for (Job *job; !me->replaced && (job = queue_take(&s->queue, me->crew->stage, &slice));) {
        if (job->slices) admit_slice(s, job, slice);
        else admit_whole(s, job, me);
    }
}

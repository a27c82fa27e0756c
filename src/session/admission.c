/* SPDX-License-Identifier: Apache-2.0
 * admission.c - what can be refused is refused here, before it costs a run: JSON, schema, texts.
 * What comes out is a job with ids, so that the queue knows how much work it is. */
#include "data/json.h"
#include "stages.h"

enum { SCRATCH_KEPT = 1 << 20 };

static bool read_body(const Session *s, Job *job)
{
    Value *request = NEW(&job->arena, Value);
    TaskInputs inputs;
    if (!json_parse(&job->arena, job->body, request, &job->err))
        return within(&job->err, "Failed to parse the request body as JSON");
    const Task *task = s->model->task;
    if (!task_inputs(&job->arena, task, request, s->options.max_inputs, &inputs, &job->err))
        return false;
    job->first = inputs.first;
    job->second = inputs.second;
    job->n = inputs.n;
    job->metadata = value_get(request, "metadata");
    return task_options(request, &job->options, &job->err);
}

static void *keep(Arena *arena, const void *from, size_t bytes)
{
    void *to = arena_alloc(arena, bytes);
    return bytes ? memcpy(to, from, bytes) : to;
}

/* What a job needs of an encoding. The rest, many times the text and all that was cut off, goes
 * with the scratch: a job may wait long. */
static Encoding keep_encoding(Arena *arena, const Encoding *e)
{
    size_t words = e->n * sizeof *e->ids;
    return (Encoding){ .n = e->n,
                       .ids = keep(arena, e->ids, words),
                       .type_ids = keep(arena, e->type_ids, words),
                       .start = keep(arena, e->start, words),
                       .end = keep(arena, e->end, words),
                       .word = keep(arena, e->word, words),
                       .special = keep(arena, e->special, e->n),
                       .sequence = keep(arena, e->sequence, e->n),
                       .truncated = e->truncated };
}

static bool encode(const Session *s, Arena *scratch, Job *job, size_t i)
{
    const Model *m = s->model;
    Encoding out;
    if (!tokenizer_encode(m->tokenizer, scratch, job->first[i], job_second(job, i), &m->encode,
                          &out, &job->err))
        return within(&job->err, "inputs[%zu]: Error during tokenization", i);
    if (out.n == 0)
        return fail(&job->err, EF_INVALID_INPUT,
                    "inputs[%zu]: found no tokens, wanted at least one", i);
    job->encoding[i] = keep_encoding(&job->arena, &out);
    job->tokens += (int64_t)out.n;
    return true;
}

static bool encode_all(const Session *s, Job *job)
{
    Arena scratch = { 0 };
    bool ok = true;
    job->encoding = ARRAY(&job->arena, Encoding, job->n);
    for (size_t i = 0; i < job->n && ok; i++) {
        ok = encode(s, &scratch, job, i);
        arena_reset(&scratch, SCRATCH_KEPT);
    }
    arena_free(&scratch);
    return ok;
}

bool job_admit(const Session *s, Job *job)
{
    TaskInputs given = { job->first, job->second, job->n };
    bool ok = job->body.p ? read_body(s, job)
                          : task_inputs_check(&given, s->options.max_inputs, &job->err);
    if (!ok || !job_prepare(s, job) || !encode_all(s, job)) return false;
    job->left = job->tokens;
    job->rows = ARRAY(&job->arena, float *, job->n);
    job->row_data = job->rows;
    job->row_tokens = ARRAY(&job->arena, int64_t, job->n);
    job->row_width = ARRAY(&job->arena, int64_t, job->n);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * admission.c - what can be refused is refused here, before it costs a run: JSON, schema, texts.
 * What comes out is a job with ids, so that the queue knows how much work it is. */
#include "data/json.h"
#include "stages.h"

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

static const Str *second_of(const Job *job, size_t i)
{
    return job->second && job->second[i].p ? &job->second[i] : NULL;
}

static bool encode(const Session *s, Job *job, size_t i)
{
    const Model *m = s->model;
    Encoding *out = &job->encoding[i];
    if (!tokenizer_encode(m->tokenizer, &job->arena, job->first[i], second_of(job, i), &m->encode,
                          out, &job->err))
        return within(&job->err, "inputs[%zu]: Error during tokenization", i);
    if (out->n == 0)
        return fail(&job->err, EF_INVALID_INPUT,
                    "inputs[%zu]: found no tokens, wanted at least one", i);
    job->tokens += (int64_t)out->n;
    return true;
}

bool job_admit(const Session *s, Job *job)
{
    TaskInputs given = { job->first, job->second, job->n };
    bool ok = job->body.p ? read_body(s, job)
                          : task_inputs_check(&given, s->options.max_inputs, &job->err);
    if (!ok) return false;
    job->encoding = ARRAY(&job->arena, Encoding, job->n);
    for (size_t i = 0; i < job->n; i++)
        if (!encode(s, job, i)) return false;
    job->left = job->tokens;
    job->rows = ARRAY(&job->arena, float *, job->n);
    job->row_data = job->rows;
    job->row_tokens = ARRAY(&job->arena, int64_t, job->n);
    job->row_width = ARRAY(&job->arena, int64_t, job->n);
    return true;
}

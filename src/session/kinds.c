/* SPDX-License-Identifier: Apache-2.0
 * kinds.c - predict, tokenize, decode, similarity. The last three have the shapes of
 * text-embeddings-inference, so that its clients find them. */
#include "kinds.h"

#include <math.h>

#include "data/json.h"

static void take_texts(Job *job, const TaskInputs *inputs)
{
    job->first = inputs->first;
    job->second = inputs->second;
    job->n = inputs->n;
}

/* ---- predict ---- */
static bool read_predict(const Session *s, Job *job, const Value *request)
{
    const Model *m = s->model;
    TaskInputs inputs;
    size_t most = s->options.max_inputs;
    if (!task_inputs(&job->arena, m->task, request, most, &inputs, &job->err)) return false;
    take_texts(job, &inputs);
    job->metadata = value_get(request, "metadata");
    return task_options(m->task, &m->config, request, &job->options, &job->err);
}

/* ---- tokenize ---- */
static const char *const offset_words[] = { "bytes", "chars", NULL };
static const Field tokenize_rows[] = {
    { "add_special_tokens", 0, F_BOOL },
    { "offsets", 0, F_STR, .words = offset_words },
    { 0 },
};

static bool read_tokenize(const Session *s, Job *job, const Value *request)
{
    TaskInputs inputs;
    if (!schema_check(request, tokenize_rows, &job->err) ||
        !task_texts(&job->arena, value_get(request, "inputs"), s->options.max_inputs, &inputs,
                    &job->err))
        return false;
    take_texts(job, &inputs);
    job->options.chars = str_is(value_str(value_get(request, "offsets"), STR("")), "chars");
    job->no_special = !value_bool(value_get(request, "add_special_tokens"), true);
    return true;
}

static Value token_of(const Session *s, Job *job, size_t row, const Encoding *spans, size_t i)
{
    Arena *arena = &job->arena;
    const Encoding *e = &job->encoding[row]; /* in bytes */
    const Str *second = job_second(job, row);
    Str source = second && e->sequence[i] ? *second : job->first[row];
    Str part = { source.p + e->start[i], (size_t)(e->end[i] - e->start[i]) };
    bool special = e->special[i];
    Value v = value_map(arena, 6);
    value_add(&v, "id", value_of_int(e->ids[i]));
    value_add(&v, "text",
              value_of_str(special ? tokenizer_token(s->model->tokenizer, e->ids[i]) : part));
    value_add(&v, "special", value_of_bool(special));
    value_add(&v, "start", special ? value_null() : value_of_int(spans->start[i]));
    value_add(&v, "stop", special ? value_null() : value_of_int(spans->end[i]));
    if (second && !special) value_add(&v, "sequence", value_of_int(e->sequence[i]));
    return v;
}

static Value finish_tokenize(const Session *s, Job *job)
{
    Value list = value_list(&job->arena, job->n);
    for (size_t r = 0; r < job->n; r++) {
        const Encoding *e = &job->encoding[r];
        TaskRow row = { .first = job->first[r], .second = job_second(job, r), .encoding = e };
        Encoding spans = task_spans(&job->arena, &job->options, &row);
        list.list.items[r] = value_list(&job->arena, e->n);
        for (size_t i = 0; i < e->n; i++)
            list.list.items[r].list.items[i] = token_of(s, job, r, &spans, i);
    }
    return list;
}

/* ---- decode ---- */
/* "ids": one list of numbers, or a list of such lists. */
static bool check_ids(const Session *s, Job *job, const Value *ids)
{
    int64_t most = (int64_t)tokenizer_size(s->model->tokenizer) - 1;
    for (size_t i = 0; i < ids->list.n; i++) {
        const Value *id = &ids->list.items[i];
        double n = value_float(id, -1);
        bool number = id->kind == V_INT || id->kind == V_FLOAT;
        if (n < 0 || n > (double)most || n != floor(n))
            return fail(&job->err, EF_INVALID_INPUT,
                        "ids: found %s, wanted whole numbers from 0 to %lld",
                        number ? "one that is no token" : value_kind_name(id->kind),
                        (long long)most);
    }
    return true;
}

static bool read_decode(const Session *s, Job *job, const Value *request)
{
    static const Field rows[] = { { "skip_special_tokens", 0, F_BOOL }, { 0 } };
    const Value *ids = value_get(request, "ids");
    if (!schema_check(request, rows, &job->err)) return false;
    if (!ids || ids->kind != V_LIST || ids->list.n == 0)
        return fail(&job->err, EF_INVALID_INPUT, "ids: found %s, wanted a list of numbers",
                    !ids ? "nothing" : ids->kind == V_LIST ? "none" : value_kind_name(ids->kind));
    job->request = request;
    if (ids->list.items[0].kind != V_LIST) return check_ids(s, job, ids);
    if (ids->list.n > s->options.max_inputs)
        return fail(&job->err, EF_INVALID_INPUT, "ids: found %zu lists, wanted at most %zu",
                    ids->list.n, s->options.max_inputs);
    for (size_t i = 0; i < ids->list.n; i++) {
        const Value *one = &ids->list.items[i];
        if (one->kind != V_LIST)
            return fail(&job->err, EF_INVALID_INPUT, "ids[%zu]: found %s, wanted a list", i,
                        value_kind_name(one->kind));
        if (!check_ids(s, job, one)) return false;
    }
    return true;
}

static Value decoded(const Session *s, Job *job, const Value *ids, bool skip)
{
    Str text = STR("");
    int32_t *list = ARRAY(&job->arena, int32_t, ids->list.n);
    for (size_t i = 0; i < ids->list.n; i++) list[i] = (int32_t)value_float(&ids->list.items[i], 0);
    tokenizer_decode(s->model->tokenizer, list, ids->list.n, skip, &job->arena, &text, &job->err);
    return value_of_str(text);
}

static Value finish_decode(const Session *s, Job *job)
{
    const Value *ids = value_get(job->request, "ids");
    bool skip = value_bool(value_get(job->request, "skip_special_tokens"), true);
    bool many = ids->list.items[0].kind == V_LIST;
    Value list = value_list(&job->arena, many ? ids->list.n : 1);
    for (size_t i = 0; i < list.list.n; i++)
        list.list.items[i] = decoded(s, job, many ? &ids->list.items[i] : ids, skip);
    return list;
}

/* ---- similarity ---- */
static const Field similarity_inputs[] = {
    { "source_sentence", 0, F_STR, .required = true },
    { "sentences", 0, F_STR, .repeated = true, .required = true },
    { 0 },
};
static const Field similarity_parameters[] = { { "truncate", 0, F_BOOL, .nullable = true }, { 0 } };
static const Field similarity_rows[] = {
    { "inputs", 0, F_MSG, .required = true, .msg = similarity_inputs },
    { "parameters", 0, F_MSG, .nullable = true, .msg = similarity_parameters },
    { 0 },
};

static bool read_similarity(const Session *s, Job *job, const Value *request)
{
    if (!schema_check(request, similarity_rows, &job->err)) return false;
    const Value *inputs = value_get(request, "inputs");
    const Value *sentences = value_get(inputs, "sentences");
    size_t n = sentences->list.n;
    const Value *truncate = value_get(value_get(request, "parameters"), "truncate");
    if (n == 0) return fail(&job->err, EF_INVALID_INPUT, "inputs.sentences: found none");
    job->options.whole = truncate && truncate->kind == V_BOOL && !truncate->b;
    job->n = n + 1;
    job->first = ARRAY(&job->arena, Str, job->n);
    job->first[0] = value_get(inputs, "source_sentence")->s;
    for (size_t i = 0; i < n; i++) job->first[i + 1] = sentences->list.items[i].s;
    TaskInputs texts = { job->first, NULL, job->n };
    return task_inputs_check(&texts, s->options.max_inputs, &job->err);
}

static float cosine(const float *a, const float *b, int64_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (int64_t i = 0; i < n; i++) {
        ab += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
    }
    return aa > 0 && bb > 0 ? (float)(ab / sqrt(aa * bb)) : 0;
}

static Value finish_similarity(const Session *s, Job *job)
{
    (void)s;
    float *out = ARRAY(&job->arena, float, job->n);
    for (size_t i = 1; i < job->n; i++)
        out[i - 1] = cosine(job->rows[0], job->rows[i], job->row_width[0]);
    return value_of_f32(out, job->n - 1);
}

/* ---- rows ---- */
static const KindRow kinds[] = {
    [JOB_PREDICT] = { read_predict, NULL, true },
    [JOB_TOKENIZE] = { read_tokenize, finish_tokenize, false },
    [JOB_DECODE] = { read_decode, finish_decode, false },
    [JOB_SIMILARITY] = { read_similarity, finish_similarity, true },
};

const KindRow *kind_of(const Job *job)
{
    return &kinds[job->kind];
}

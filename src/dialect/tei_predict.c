/* SPDX-License-Identifier: Apache-2.0
 * tei_predict.c - labels as text-embeddings-inference gives them. Its `inputs` are one text,
 * one pair, or a list of lists; two texts in a flat list are a pair. */
#include "parts.h"

#include "data/number.h"

static const Field rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a text, a pair or a list of these in lists" },
    KIND_TRUNCATION,
    { "raw_scores", 0, F_BOOL, .help = "logits instead of probabilities; default: false" },
    { 0 },
};

#define WANTED "one or two strings"

/* One text or a pair, as a list of strings. */
static bool read_strings(Job *job, const Value *list, size_t index)
{
    const Value *item = list->list.items;
    if (list->list.n < 1 || list->list.n > 2)
        return fail(&job->work.err, EF_INVALID_INPUT, "inputs: found a list of %zu, wanted " WANTED,
                    list->list.n);
    for (size_t i = 0; i < list->list.n; i++) {
        if (item[i].kind != V_STR)
            return fail(&job->work.err, EF_INVALID_INPUT, "inputs: found %s, wanted " WANTED,
                        value_kind_name(item[i].kind));
        if (!kind_text(job, "inputs", index, item[i].s)) return false;
    }
    job->work.item[index].first = item[0].s;
    if (list->list.n == 2) job->work.item[index].second = item[1].s;
    return true;
}

static bool read_inputs(const Session *s, Job *job, const Value *v)
{
    Value alone = { .kind = V_LIST, .list = { (Value *)v, 1 } };
    if (v->kind != V_STR && v->kind != V_LIST)
        return fail(&job->work.err, EF_INVALID_INPUT, "inputs: found %s, wanted a string or a list",
                    value_kind_name(v->kind));
    bool batch = v->kind == V_LIST && v->list.n && v->list.items[0].kind == V_LIST;
    job->in.single = !batch;
    job->work.n = batch ? v->list.n : 1;
    if (!kind_count(s, job, "inputs", job->work.n)) return false;
    job_items(job, job->work.n);
    if (!batch) return read_strings(job, v->kind == V_STR ? &alone : v, 0);
    for (size_t i = 0; i < job->work.n; i++) {
        if (v->list.items[i].kind != V_LIST)
            return fail(&job->work.err, EF_INVALID_INPUT, "inputs[%zu]: found %s, wanted a list", i,
                        value_kind_name(v->list.items[i].kind));
        if (!read_strings(job, &v->list.items[i], i)) return false;
    }
    return true;
}

static bool read_predict(const Session *s, Job *job, const Value *request)
{
    job->in.value = request;
    kind_truncation(job, request);
    return schema_check(request, rows, &job->work.err) &&
           read_inputs(s, job, value_get(request, "inputs"));
}

/* ---- the reply ---- */
const float *kind_scores(const Session *s, const Job *job, Arena *arena, size_t row, TaskScore how)
{
    if (job->work.scores) return job->work.scores[row]; /* a script's scores are final */
    const TaskTensor *result = work_result(&job->work, row);
    float *out = ARRAY(arena, float, result->width);
    task_score(&session_model(s)->config, how, result->data, result->width, out);
    return out;
}

Value kind_labels(const Session *s, Arena *arena, const float *scores, size_t n, size_t most)
{
    const ModelConfig *config = &session_model(s)->config;
    const size_t *order = kind_order(arena, scores, n);
    Value list = value_list(arena, MIN(n, most));
    for (size_t i = 0; i < list.list.n; i++) {
        Value *one = &list.list.items[i];
        *one = value_map(arena, 2);
        value_add(one, "score", value_of_float(number_widen(scores[order[i]])));
        value_add(one, "label", task_label(arena, config, (int64_t)order[i]));
    }
    return list;
}

TaskScore kind_tei_score(const Session *s, bool raw)
{
    const ModelConfig *config = &session_model(s)->config;
    bool several = str_is(config->problem_type, "multi_label_classification");
    if (raw) return SCORE_NONE;
    return several || config->num_labels == 1 ? SCORE_SIGMOID : SCORE_SOFTMAX;
}

static Value finish_predict(const Session *s, Job *job)
{
    bool raw = value_bool(value_get(job->in.value, "raw_scores"), false);
    TaskScore how = kind_tei_score(s, raw);
    Value list = value_list(&job->work.arena, job->work.n);
    for (size_t r = 0; r < job->work.n; r++) {
        size_t n = (size_t)work_result(&job->work, r)->width;
        const float *scores = kind_scores(s, job, &job->work.arena, r, how);
        if (!kind_finite(job, scores, n)) return value_null();
        list.list.items[r] = kind_labels(s, &job->work.arena, scores, n, SIZE_MAX);
    }
    return job->in.single ? list.list.items[0] : list;
}

/* ---- schemas ---- */
static const Field label[] = {
    { "score", 0, F_F32, .required = true },
    { "label", 0, F_STR, .required = true },
    { 0 },
};

Value kind_labels_schema(Arena *arena)
{
    return kind_schema_list(arena, schema_describe(arena, label));
}

static Value predict_request(Arena *arena, const Site *site)
{
    Value inputs = kind_schema(
        arena, str_format(arena,
                          "{\"anyOf\":[{\"type\":\"string\",\"minLength\":1},%s,"
                          "{\"type\":\"array\",\"minItems\":1,\"maxItems\":%zu,\"items\":%s}]}",
                          KIND_ONE_OR_TWO, site->max_inputs, KIND_ONE_OR_TWO));
    return kind_schema_with(arena, rows, "inputs", inputs);
}

static Value predict_reply(Arena *arena, const Site *site)
{
    (void)site;
    Value labels = kind_labels_schema(arena);
    return kind_schema_any(arena, labels, kind_schema_list(arena, labels));
}

const JobKind kind_tei_predict = {
    .name = "predict",
    .family = &family_tei,
    .read = read_predict,
    .finish = finish_predict,
    .needs = CAN_CLASSIFY,
    .request = predict_request,
    .reply = predict_reply,
};

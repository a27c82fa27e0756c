/* SPDX-License-Identifier: Apache-2.0
 * item_case.h - sessions of the golden models of a folder, and bodies of /predict through them: as JSON, or as
 * the protobuf that says the same. */
#ifndef ITEM_CASE_H
#define ITEM_CASE_H
#include "base/file.h"
#include "check.h"
#include "data/json.h"
#include "data/proto.h"
#include "dialect/job.h"
#include "model/model.h"
#include "text_replay.h"

typedef struct ItemModel {
    const char *name;
    Model *model;
    Session *session;
} ItemModel;

/* folder: of all models; ends in "/". */
static inline bool item_open(ItemModel *m, const char *folder)
{
    Err err = { 0 };
    char path[100];
    snprintf(path, sizeof path, "%s%s", folder, m->name);
    if (!CHECK(model_open(path, &m->model, &err))) return printf("  %s: %s\n", path, err.message), false;
    if (!CHECK(model_dry_run(m->model, &err))) printf("  %s: %s\n", path, err.message);
    m->session = job_session(m->model, &(SessionOptions){ .threads = 1, .max_inputs = 64 });
    return CHECK(m->session);
}

static inline void item_close(ItemModel *m)
{
    if (m->session) session_free(m->session);
    model_close(m->model);
}

/* The one that a golden row names, if it could be opened. */
static inline ItemModel *item_model(ItemModel *models, size_t n, const Value *row)
{
    for (size_t i = 0; i < n; i++)
        if (models[i].session && str_is(value_str(value_get(row, "model"), STR("")), models[i].name)) return &models[i];
    return NULL;
}

static inline Job *item_run(ItemModel *m, Str body, const JobForm *form)
{
    Job *job = job_new();
    job->in.body = body;
    job->in.form = form;
    job->in.most = 1 << 20;
    job_run(m->session, job);
    if (job->work.err.code == EF_OK && !CHECK(form || job->out.text.n)) printf("  no text\n");
    return job;
}

typedef struct Refusal {
    const char *body, *words;    /* its error says this */
} Refusal;

static inline void items_refused(ItemModel *m, const Refusal *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        Job *job = item_run(m, str_of(rows[i].body), NULL);
        CHECK(job->work.err.code == EF_INVALID_INPUT && says(&job->work.err, rows[i].words));
        job_free(job);
    }
}

static inline const Value *item_result(const Job *job, size_t i)
{
    const Value *results = value_get(&job->out.value, "results");
    return results && results->kind == V_LIST && i < results->list.n ? &results->list.items[i] : NULL;
}

/* The tree as protobuf, and what comes back as protobuf is what the tree of the JSON reply would be. */
static inline void item_same_in_proto(ItemModel *m, Str json, const Value *tree)
{
    const Task *task = m->model->task;
    JobForm form = { .request = task->request, .reply = task->reply };
    Buf body = { 0 }, wanted = { 0 };
    proto_write(&body, tree, task->request);
    Job *plain = item_run(m, json, NULL), *proto = item_run(m, buf_view(&body), &form);
    proto_write(&wanted, &plain->out.value, task->reply);
    if (!CHECK(proto->work.err.code == EF_OK && wanted.n && str_eq(buf_view(&wanted), buf_view(&proto->out.text))))
        printf("  %s, %s\n", plain->work.err.message, proto->work.err.message);
    job_free(plain), job_free(proto);
    buf_free(&body), buf_free(&wanted);
}

#endif

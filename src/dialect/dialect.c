/* SPDX-License-Identifier: Apache-2.0
 * dialect.c - the families, which kind a job is of, and what dialects know of a model. */
#include "dialect/family.h"
#include "base/file.h"
#include "model/model.h"
#include "model/samples.h"

#define FAMILY_ROW(name) &family_##name,
const Family *const families[] = { EVERY_FAMILY(FAMILY_ROW) NULL };

const JobKind *kind_of(const Job *job)
{
    return job->in.kind ? job->in.kind : &kind_predict;
}

bool site_can(const Site *site, TaskCan any)
{
    return !any || task_can(site->task, site->config, any);
}

const char *site_wanted(TaskCan any)
{
    static const struct Want {
        TaskCan can;
        const char *words;
    } wants[] = {
        { CAN_EMBED, "a model for embeddings" },
        { CAN_EMBED | CAN_MATCH, "a model for embeddings" },
        { CAN_EMBED | CAN_EMBED_PICTURE, "a model for embeddings" },
        { CAN_SPARSE, "a masked language model or one for sparse embeddings" },
        { CAN_CLASSIFY, "a sequence classifier" },
        { CAN_RANK, "a sequence classifier with one label" },
        { CAN_READ, "a model that reads texts" },
        { CAN_SEE | CAN_HEAR, "a model that takes pictures or sounds" },
    };
    for (size_t i = 0; i < COUNT(wants); i++)
        if (wants[i].can == any) return wants[i].words;
    return "another kind of model";
}

static const char *head_line(Arena *arena, const Model *m)
{
    Buf line = { .arena = arena };
    if (m->task) model_describe_head(m, &line);
    return str_dup(arena, buf_view(&line));
}

/* Of the model card in the folder of the weights, or in the one above that of onnx/model.onnx; else of the task. */
static size_t site_samples(Arena *arena, const Model *m, const Str **out)
{
    const char *folder = m->weights ? path_dir(arena, m->weights) : NULL;
    size_t n = strlen(folder ? folder : "");
    if (n > 5 && strcmp(folder + n - 5, "/onnx") == 0) folder = path_dir(arena, folder);
    return samples_find(arena, folder, m->task, &m->config, m->tokenizer, out);
}

static Site *site_new(const Model *m)
{
    Arena arena = { 0 };
    Site *site = NEW(&arena, Site);
    const char *precision = m->precision ? m->precision : "fp32";
    *site = (Site){
        .model_id = m->name,
        .task = m->task,
        .items = m->items,
        .config = &m->config,
        .vocabulary = m->tokenizer ? tokenizer_size(m->tokenizer) : 0,
        .max_length = m->encode.max_length,
        .precision = precision,
        .isa = kernels_isa(kernels(), precision),
        .pooling = m->task ? model_pooling(m, &arena) : NULL,
        .head = head_line(&arena, m),
        .load_seconds = m->load_seconds,
        .load_bytes = m->load_bytes,
        .prompts = m->prompts,
    };
    site->report = site_report_new(&arena);
    if (m->task) site->samples = site_samples(&arena, m, &site->sample);
    site->arena = arena;
    return site;
}

static void site_free(void *site)
{
    site_report_free(((Site *)site)->report);
    Arena arena = ((Site *)site)->arena; /* *site lies in it */
    arena_free(&arena);
}

Session *job_session(const Model *model, const SessionOptions *options)
{
    Site *site = site_new(model);
    SessionSteps steps = { job_open, jobs_finish, site, site_free };
    Session *s = session_new(model, options, &steps);
    if (!s) return NULL;
    site->session = s;
    site->max_inputs = session_options(s)->max_inputs;
    return s;
}

const Site *site_of(const Session *s)
{
    return session_own(s);
}

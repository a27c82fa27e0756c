/* SPDX-License-Identifier: Apache-2.0
 * dialect.c - which kind a job is of, and what dialects ask about a model. */
#include "dialect.h"


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
        { CAN_SPARSE, "a masked language model or one for sparse embeddings" },
        { CAN_CLASSIFY, "a sequence classifier" },
        { CAN_RANK, "a sequence classifier with one label" },
    };
    for (size_t i = 0; i < COUNT(wants); i++)
        if (wants[i].can == any) return wants[i].words;
    return "another kind of model";
}

Site session_site(const Session *s)
{
    const Model *m = session_model(s);
    return (Site){
        m->name, m->task, m->items, &m->config, session_options(s)->max_inputs, tokenizer_size(m->tokenizer), s, 0
    };
}

/* SPDX-License-Identifier: Apache-2.0
 * dialect.c - which kind a job is of, and what dialects ask about a model. */
#include "dialect.h"


const JobKind *kind_of(const Job *job)
{
    return job->in.kind ? job->in.kind : &kind_predict;
}

bool site_embeds(const Site *site)
{
    return !site->task->labelled && !site->task->words;
}

bool site_sparse(const Site *site)
{
    return site->task->words;
}

bool site_classifies(const Site *site)
{
    return site->task->labelled && !site->task->per_token;
}

bool site_ranks(const Site *site)
{
    return site_classifies(site) && site->config->num_labels == 1;
}

const char *site_wanted(bool (*fits)(const Site *))
{
    static const struct Want {
        bool (*fits)(const Site *);
        const char *words;
    } wants[] = {
        { site_embeds, "a model for embeddings" },
        { site_sparse, "a masked language model or one for sparse embeddings" },
        { site_classifies, "a sequence classifier" },
        { site_ranks, "a sequence classifier with one label" },
    };
    for (size_t i = 0; i < COUNT(wants); i++)
        if (wants[i].fits == fits) return wants[i].words;
    return "another kind of model";
}

Site session_site(const Session *s)
{
    const Model *m = session_model(s);
    return (Site){
        m->name, m->task, &m->config, session_options(s)->max_inputs, tokenizer_size(m->tokenizer), s, 0
    };
}

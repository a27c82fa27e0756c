/* SPDX-License-Identifier: Apache-2.0
 * params.c - see params.h. */
#include "cli/params.h"

#include "data/json.h"

bool params_read(Args *a, const Value **out, Err *err)
{
    const char *text = args_value(a, "params");
    *out = NULL;
    if (!text) return true;
    Value *v = NEW(&a->arena, Value);
    if (!json_parse(&a->arena, str_of(text), v, err)) return within(err, "--params");
    if (v->kind != V_MAP)
        return fail(err, EF_USAGE, "--params: found %s, wanted an object", value_kind_name(v->kind));
    *out = v;
    return true;
}

bool params_set(const Session *s, Job *job, const Value *params, bool chars, Err *err)
{
    if (params && !job_options(s, job, params)) {
        fail(err, job->work.err.code, "%s", job->work.err.message);
        return within(err, "--params");
    }
    job->work.options.chars |= chars;
    return true;
}

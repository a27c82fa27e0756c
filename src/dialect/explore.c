/* SPDX-License-Identifier: Apache-2.0
 * explore.c - GET /ui/model.json: what the page's explorer shows (model/exploring.h). The report of a model never
 * changes: the first request makes it, on one thread, the others get the same bytes. */
#include "dialect/family.h"
#include "model/exploring.h"

typedef enum { REPORT_NONE, REPORT_MAKING, REPORT_MADE, REPORT_FAILED } ReportState;
struct SiteReport {
    ReportState state; /* atomic; what follows is read once it is made, or has failed */
    Buf json;
    Err err;
};

SiteReport *site_report_new(Arena *arena)
{
    return NEW(arena, SiteReport);
}

void site_report_free(SiteReport *r)
{
    buf_free(&r->json);
}

typedef struct ReportStep {
    const Model *model;
    SiteReport *to;
    bool ok;
} ReportStep;

static void report_write(void *arg)
{
    ReportStep *step = arg;
    step->ok = exploring_write(step->model, 1, &step->to->json, &step->to->err);
    buf_fit(&step->to->json);
}

/* Memory that is missing fails this one request: the next tries again. */
static bool report_make(const Session *s, SiteReport *r, Err *err)
{
    ReportStep step = { session_model(s), r, false };
    ReportState state = REPORT_NONE;
    if (session_guarded((Session *)s, report_write, &step, err)) state = step.ok ? REPORT_MADE : REPORT_FAILED;
    if (state != REPORT_MADE) buf_free(&r->json);
    __atomic_store_n(&r->state, state, __ATOMIC_RELEASE);
    return state != REPORT_NONE;
}

static bool explore_read(const Session *s, Job *job, const Value *request)
{
    SiteReport *r = site_of(s)->report;
    Err *err = &job->work.err;
    ReportState state = REPORT_NONE;
    (void)request;
    if (__atomic_compare_exchange_n(&r->state, &state, REPORT_MAKING, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        if (!report_make(s, r, err)) return false;
        state = __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
    }
    if (state == REPORT_MAKING) return fail(err, EF_UNAVAILABLE, "the report is being made: try again");
    if (state == REPORT_FAILED) *err = r->err;
    return state == REPORT_MADE;
}

static void explore_write(const Session *s, Job *job, Buf *out)
{
    (void)job;
    buf_str(out, buf_view(&site_of(s)->report->json));
}

static Value explore_finish(const Session *s, Job *job)
{
    (void)s, (void)job; /* nobody asks for it but as text */
    return value_null();
}

const JobKind kind_explore = {
    .name = "explore",
    .family = &family_own,
    .keep = KEEP_NOTHING,
    .slow = true,
    .read = explore_read,
    .finish = explore_finish,
    .write = explore_write,
};

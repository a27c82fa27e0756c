/* SPDX-License-Identifier: Apache-2.0
 * tei.c - what operators of text-embeddings-inference look at: its te_* series, counted from every
 * job whichever dialect it came in, and the x-* fields of its replies. As there, a series is told
 * after its first use. All of it is the loop's own. */
#include "tei.h"

#include "data/number.h"
#include "loop.h"

/* ---- counting ---- */
static void add(TeHistogram *h, double least, double ratio, double value)
{
    int k = 0;
    for (double bound = least * ratio; k < TE_BUCKETS && value > bound; bound *= ratio) k++;
    h->bucket[k]++;
    h->sum += value;
    h->count++;
}

static void add_seconds(TeHistogram *h, double seconds)
{
    add(h, TE_LEAST, TE_RATIO, MAX(seconds, 0));
}

typedef struct Spans { /* seconds */
    double total, tokenize, queue, inference;
} Spans;

static Spans spans_of(const WorkTimes *t)
{
    Spans s = { .total = t->done - t->entered };
    if (t->admitted > 0) s.tokenize = t->admitted - t->entered;
    if (t->started > 0) s.queue = t->started - t->admitted;
    if (t->started > 0) s.inference = t->done - t->started;
    return s;
}

static void add_spans(TeHistogram h[TE_SPANS], Spans s)
{
    add_seconds(&h[0], s.total);
    add_seconds(&h[1], s.tokenize);
    add_seconds(&h[2], s.queue);
    add_seconds(&h[3], s.inference);
}

static const char *const failures[TE_FAILURES] = { "dropped",    "inference",    "model_type",
                                                   "overloaded", "tokenization", "validation" };
enum { DROPPED, INFERENCE, MODEL_TYPE, OVERLOADED, TOKENIZATION, VALIDATION };

static int failure_of(int status)
{
    switch (status) {
    case 429: return OVERLOADED;
    case 503:
    case 504: return DROPPED;
    case 500: return INFERENCE;
    case 424: return MODEL_TYPE;
    default: return VALIDATION;
    }
}

/* Vectors or labels: the two groups that TEI counts apart. */
static int group_of(const Exchange *x)
{
    return x->loop->site.task->shape->last == AXIS_LABELS;
}

static void count_job(TeMeters *m, const Exchange *x, const Job *job)
{
    Spans s = spans_of(&job->work.times);
    int group = group_of(x);
    bool good = job->work.err.code == EF_OK;
    m->requests[!job->in.single]++;
    m->inputs[group] += job->work.n;
    if (!good) return;
    m->successes[!job->in.single]++;
    m->good_inputs[group] += job->work.n;
    add_spans(m->request, s);
    for (size_t i = 0; i < job->work.n; i++) add_spans(m->input[group], s);
}

void tei_lengths(TeMeters *m, const Exchange *x, const Job *job)
{
    if (!x->route || !x->route->job || x->route->job->keep == KEEP_NOTHING) return;
    for (size_t i = 0; job->work.err.code == EF_OK && i < job->work.n; i++)
        add(&m->length, 0.5, 2, (double)job->work.row[i].encoding.n);
}

void tei_answered(TeMeters *m, const Exchange *x)
{
    const Job *job = x->job;
    if (!x->route || !x->route->job || x->route->job->keep == KEEP_NOTHING) return;
    if (job) count_job(m, x, job);
    else m->requests[0]++;
    bool failed = job ? job->work.err.code != EF_OK : x->status >= 400;
    if (failed) m->failures[job && x->status == 424 ? INFERENCE : failure_of(x->status)]++;
}

/* ---- telling ---- */
static void put_histogram(Buf *out, const char *name, const TeHistogram *h, double least,
                          double ratio, int buckets)
{
    uint64_t count = 0;
    double bound = least * ratio;
    if (!h->count) return;
    buf_printf(out, "# TYPE %s histogram\n", name);
    for (int i = 0; i < buckets; i++, bound *= ratio) {
        count += h->bucket[i];
        buf_printf(out, "%s_bucket{le=\"%.10g\"} %llu\n", name, bound, (unsigned long long)count);
    }
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n%s_count %llu\n", name,
               (unsigned long long)h->count, name, h->sum, name, (unsigned long long)h->count);
}

static void put_spans(Buf *out, const char *group, const TeHistogram h[TE_SPANS])
{
    static const char *const spans[TE_SPANS] = { "", "_tokenization", "_queue", "_inference" };
    char name[64];
    for (int i = 0; i < TE_SPANS; i++) {
        snprintf(name, sizeof name, "te_%s%s_duration", group, spans[i]);
        put_histogram(out, name, &h[i], TE_LEAST, TE_RATIO, TE_BUCKETS);
    }
}

static void put_counters(Buf *out, const char *name, const char *label, const char *const *values,
                         const uint64_t *n, int count)
{
    bool told = false;
    for (int i = 0; i < count; i++) {
        if (!n[i]) continue;
        if (!told) buf_printf(out, "# TYPE %s counter\n", name);
        told = true;
        if (label) buf_printf(out, "%s{%s=\"%s\"} ", name, label, values[i]);
        else buf_printf(out, "%s ", name);
        buf_printf(out, "%llu\n", (unsigned long long)n[i]);
    }
}

/* Of the session's own histograms, as far as its bounds go. */
static void put_batches(Buf *out, const char *name, const Meter *from)
{
    TeHistogram h = { .sum = (double)count_get(&from->sum) * METER_UNIT };
    for (int i = 0; i <= METER_BUCKETS; i++) h.count += h.bucket[i] = count_get(&from->bucket[i]);
    put_histogram(out, name, &h, 0.5, 2, METER_BUCKETS);
}

void tei_page(const Loop *loop, Buf *out)
{
    static const char *const methods[] = { "single", "batch" };
    static const char *const groups[] = { "embed", "predict" };
    const TeMeters *m = &loop->meters.te;
    const SessionMeters *s = session_meters(loop->session);
    char name[40];
    put_counters(out, "te_request_count", "method", methods, m->requests, 2);
    put_counters(out, "te_request_success", "method", methods, m->successes, 2);
    put_counters(out, "te_request_failure", "err", failures, m->failures, TE_FAILURES);
    put_spans(out, "request", m->request);
    for (int g = 0; g < 2; g++) {
        snprintf(name, sizeof name, "te_%s_count", groups[g]);
        put_counters(out, name, NULL, NULL, &m->inputs[g], 1);
        snprintf(name, sizeof name, "te_%s_success", groups[g]);
        put_counters(out, name, NULL, NULL, &m->good_inputs[g], 1);
        put_spans(out, groups[g], m->input[g]);
    }
    put_histogram(out, "te_request_input_length", &m->length, 0.5, 2, 20);
    put_batches(out, "te_batch_next_size", &s->run_rows);
    put_batches(out, "te_batch_next_tokens", &s->run_tokens);
    buf_printf(out, "# TYPE te_queue_size gauge\nte_queue_size %lld\n",
               (long long)__atomic_load_n(&s->waiting, __ATOMIC_RELAXED));
}

/* ---- fields of a reply ---- */
size_t tei_fields(const Job *job, TeFields *out)
{
    static const char *const names[TE_FIELDS] = {
        "x-compute-type", "x-compute-time",      "x-compute-characters", "x-compute-tokens",
        "x-total-time",   "x-tokenization-time", "x-queue-time",         "x-inference-time",
    };
    Spans s = spans_of(&job->work.times);
    const int64_t values[TE_FIELDS] = { 0,
                                        (int64_t)(s.total * 1000),
                                        (int64_t)job->work.characters,
                                        job->work.tokens,
                                        (int64_t)(s.total * 1000),
                                        (int64_t)(s.tokenize * 1000),
                                        (int64_t)(s.queue * 1000),
                                        (int64_t)(s.inference * 1000) };
    if (kind_of(job)->keep == KEEP_NOTHING) return 0;
    for (int i = 0; i < TE_FIELDS; i++) {
        *number_write_int(out->text[i], values[i]) = 0;
        out->field[i] = (ReplyField){ names[i], i ? out->text[i] : "cpu" };
    }
    return TE_FIELDS;
}

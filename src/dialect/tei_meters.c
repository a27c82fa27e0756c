/* SPDX-License-Identifier: Apache-2.0
 * tei_meters.c - the te_* metrics of text-embeddings-inference, counted from jobs of every dialect. As
 * there, a series appears after its first use. */
#include "tei.h"

enum { TE_BUCKETS = 35, TE_SPANS = 4, TE_FAILURES = 6 };
#define TE_LEAST 1e-5            /* seconds; bounds are this times 1.5, times 1.5 squared ... */
#define TE_RATIO 1.5

typedef struct TeHistogram {
    uint64_t bucket[TE_BUCKETS + 1], count;
    double sum;
} TeHistogram;

typedef struct TeMeters {
    uint64_t requests[2], successes[2];            /* of one input; of several */
    uint64_t failures[TE_FAILURES];
    uint64_t inputs[2], good_inputs[2];            /* of models that embed; that predict */
    TeHistogram request[TE_SPANS], input[2][TE_SPANS]; /* total, tokenization, queue, inference */
    TeHistogram length;                            /* tokens */
} TeMeters;

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

TeiSpans tei_spans(const WorkTimes *t)
{
    TeiSpans s = { .total = t->done - t->entered };
    if (t->admitted > 0) s.tokenize = t->admitted - t->entered;
    if (t->started > 0) s.queue = t->started - t->admitted;
    if (t->started > 0) s.inference = t->done - t->started;
    return s;
}

static void add_spans(TeHistogram h[TE_SPANS], TeiSpans s)
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
static int group_of(const Site *site)
{
    return site->task->shape->last == AXIS_LABELS;
}

static void count_job(TeMeters *m, int group, const Job *job)
{
    TeiSpans s = tei_spans(&job->work.times);
    bool good = job->work.err.code == EF_OK;
    m->requests[!job->in.single]++;
    m->inputs[group] += job->work.n;
    if (!good) return;
    m->successes[!job->in.single]++;
    m->good_inputs[group] += job->work.n;
    add_spans(m->request, s);
    for (size_t i = 0; i < job->work.n; i++) add_spans(m->input[group], s);
}

static void count_lengths(void *numbers, const JobKind *asked, const Job *job)
{
    TeMeters *m = numbers;
    if (asked->keep == KEEP_NOTHING) return;
    for (size_t i = 0; job->work.err.code == EF_OK && i < job->work.rows; i++)
        add(&m->length, 0.5, 2, (double)job->work.row[i].encoding.n);
}

static void count_answer(void *numbers, const Site *site, const Answered *a)
{
    TeMeters *m = numbers;
    if (a->asked->keep == KEEP_NOTHING) return;
    if (a->job) count_job(m, group_of(site), a->job);
    else m->requests[0]++;
    bool failed = a->job ? a->job->work.err.code != EF_OK : a->status >= 400;
    if (failed) m->failures[a->job && a->status == 424 ? INFERENCE : failure_of(a->status)]++;
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

/* From the session's own histograms, as exactly as their bounds allow. */
static void put_batches(Buf *out, const char *name, const Meter *from)
{
    TeHistogram h = { .sum = (double)count_get(&from->sum) * METER_UNIT };
    for (int i = 0; i <= METER_BUCKETS; i++) h.count += h.bucket[i] = count_get(&from->bucket[i]);
    put_histogram(out, name, &h, 0.5, 2, METER_BUCKETS);
}

static void write_series(const void *numbers, const Site *site, Buf *out)
{
    static const char *const methods[] = { "single", "batch" };
    static const char *const groups[] = { "embed", "predict" };
    const TeMeters *m = numbers;
    const SessionMeters *s = session_meters(site->session);
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

static void add_counts(uint64_t *sum, const uint64_t *n, int count)
{
    for (int i = 0; i < count; i++) sum[i] += n[i];
}

static void add_histogram(TeHistogram *sum, const TeHistogram *h)
{
    add_counts(sum->bucket, h->bucket, TE_BUCKETS + 1);
    sum->count += h->count;
    sum->sum += h->sum;
}

static void add_numbers(void *to, const void *numbers)
{
    TeMeters *sum = to;
    const TeMeters *m = numbers;
    add_counts(sum->failures, m->failures, TE_FAILURES);
    add_histogram(&sum->length, &m->length);
    for (int i = 0; i < TE_SPANS; i++) add_histogram(&sum->request[i], &m->request[i]);
    for (int g = 0; g < 2; g++) {
        sum->requests[g] += m->requests[g];
        sum->successes[g] += m->successes[g];
        sum->inputs[g] += m->inputs[g];
        sum->good_inputs[g] += m->good_inputs[g];
        for (int i = 0; i < TE_SPANS; i++) add_histogram(&sum->input[g][i], &m->input[g][i]);
    }
}

const FamilyMeters tei_meters = { sizeof(TeMeters), count_lengths, count_answer, write_series,
                                  add_numbers };

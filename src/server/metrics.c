/* SPDX-License-Identifier: Apache-2.0
 * metrics.c - what server and session counted, in Prometheus' text format: rows again. Every series
 * is there from the start, at zero. Nothing here waits for anybody. */
#include <dirent.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "loop.h"

/* ---- statuses ---- */
/* In the order in which they are counted; the last stands for any other. */
static const int statuses[METER_STATUSES] = { 200, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 413,
                                              414, 415, 417, 421, 422, 424, 429, 431, 500, 501,
                                              503, 504, 505 };

static size_t status_index(int status)
{
    for (size_t i = 0; i < COUNT(statuses); i++)
        if (statuses[i] == status) return i;
    return COUNT(statuses) - 1;
}

/* ---- what the families count ---- */
void *const *metrics_make(Arena *arena)
{
    int n = 0;
    while (families[n]) n++;
    void **numbers = ARRAY(arena, void *, n);
    for (int i = 0; i < n; i++)
        if (families[i]->meters) numbers[i] = arena_alloc(arena, families[i]->meters->size);
    return numbers;
}

void metrics_returned(const Exchange *x, const Job *job)
{
    Loop *loop = x->loop;
    if (!x->route || !x->route->job) return;
    pthread_mutex_lock(&loop->counting);
    for (int i = 0; families[i]; i++)
        if (families[i]->meters)
            families[i]->meters->returned(loop->counted[i], x->route->job, job);
    pthread_mutex_unlock(&loop->counting);
}

static void count_for_families(const Exchange *x)
{
    Loop *loop = x->loop;
    if (!x->route || !x->route->job) return;
    Answered a = { x->route->job, x->job, x->status };
    pthread_mutex_lock(&loop->counting);
    for (int i = 0; families[i]; i++)
        if (families[i]->meters)
            families[i]->meters->answered(loop->counted[i], &loop->site, &a);
    pthread_mutex_unlock(&loop->counting);
}

/* Added up first: writing allocates, and what allocates holds no lock. */
static void put_families(const Loop *loop, Buf *out)
{
    const Server *server = loop->server;
    Arena arena = { .local = true };
    for (int i = 0; families[i]; i++) {
        const FamilyMeters *m = families[i]->meters;
        void *sum = m ? arena_alloc(&arena, m->size) : NULL;
        for (int k = 0; m && k < server->n; k++) {
            pthread_mutex_lock(&server->loop[k]->counting);
            m->add(sum, server->loop[k]->counted[i]);
            pthread_mutex_unlock(&server->loop[k]->counting);
        }
        if (m) m->write(sum, &loop->site, out);
    }
    arena_free(&arena);
}

/* ---- answers by route and status ---- */
void metrics_answered(const Exchange *x)
{
    ServerMeters *m = &x->loop->server->meters;
    size_t route = x->route ? (size_t)(x->route - x->loop->site.route) : MOST_ROUTES;
    count_add(&m->answered[route][status_index(x->status)], 1);
    count_for_families(x);
    if (!x->job) return;
    meter_add(&m->seconds, METER_SECONDS, x->ended - x->began);
    meter_add(&m->write, METER_SECONDS, x->ended - x->answered);
}

/* Of all rows of the row's path from there on; a path is told once, by its first row. */
static uint64_t answers_of(const Loop *loop, const Route *route, size_t n, size_t r, size_t status)
{
    const ServerMeters *m = &loop->server->meters;
    uint64_t count = count_get(&m->answered[r][status]);
    for (size_t i = r + 1; i < n; i++)
        if (strcmp(route[i].path, route[r].path) == 0) count += count_get(&m->answered[i][status]);
    return count;
}

static bool told_before(const Route *route, size_t r)
{
    for (size_t i = 0; i < r; i++)
        if (strcmp(route[i].path, route[r].path) == 0) return true;
    return false;
}

static void put_answers(const Loop *loop, Buf *out)
{
    size_t n = loop->site.routes;
    const Route *route = loop->site.route;
    buf_puts(out, "# HELP encoderfile_http_requests_total Requests answered.\n"
                  "# TYPE encoderfile_http_requests_total counter\n");
    for (size_t r = 0; r <= MOST_ROUTES; r++) {
        if (r >= n && r < MOST_ROUTES) continue;
        if (r < n && told_before(route, r)) continue;
        for (size_t s = 0; s < COUNT(statuses); s++) {
            uint64_t count = answers_of(loop, route, n, r, s);
            bool usual = r < n && statuses[s] == 200 && route_applies(&route[r], &loop->site);
            if (!count && !usual) continue;
            buf_printf(out, "encoderfile_http_requests_total{route=\"%s\",status=\"%d\"} %llu\n",
                       r < n ? route[r].path : "none", statuses[s], (unsigned long long)count);
        }
    }
}

/* ---- rows ---- */
typedef enum { FROM_SERVER, FROM_SESSION } MetricSource;

static const struct HistogramRow {
    const char *name, *help;
    double least;
    MetricSource from;
    size_t at; /* of the Meter in ServerMeters or SessionMeters */
} histograms[] = {
    { "encoderfile_request_seconds", "From a request's first byte to its reply's last.",
      METER_SECONDS, FROM_SERVER, offsetof(ServerMeters, seconds) },
    { "encoderfile_write_seconds", "From the reply being there to its last byte being sent.",
      METER_SECONDS, FROM_SERVER, offsetof(ServerMeters, write) },
    { "encoderfile_tokenize_seconds", "From a request's arrival to its tokens being there.",
      METER_SECONDS, FROM_SESSION, offsetof(SessionMeters, tokenize) },
    { "encoderfile_queue_seconds", "From a request's tokens being there to its first run.",
      METER_SECONDS, FROM_SESSION, offsetof(SessionMeters, queue) },
    { "encoderfile_compute_seconds", "Of one run of the model.", METER_SECONDS, FROM_SESSION,
      offsetof(SessionMeters, compute) },
    { "encoderfile_finish_seconds", "From a run's numbers to the text of its replies.",
      METER_SECONDS, FROM_SESSION, offsetof(SessionMeters, finish) },
    { "encoderfile_batch_inputs", "Texts of one run.", METER_COUNT, FROM_SESSION,
      offsetof(SessionMeters, run_rows) },
    { "encoderfile_batch_tokens", "Tokens of one run.", METER_COUNT, FROM_SESSION,
      offsetof(SessionMeters, run_tokens) },
};

static const struct CounterRow {
    const char *name, *help;
    const char *label; /* one series of several that stand together; NULL: the only one */
    MetricSource from;
    size_t at;
} counters[] = {
    { "encoderfile_jobs_total", "Requests that the model answered.", NULL, FROM_SESSION,
      offsetof(SessionMeters, jobs) },
    { "encoderfile_inputs_total", "Texts that the model answered.", NULL, FROM_SESSION,
      offsetof(SessionMeters, rows) },
    { "encoderfile_tokens_total", "Tokens of these texts.", NULL, FROM_SESSION,
      offsetof(SessionMeters, tokens) },
    { "encoderfile_labels_total", "Labels of requests, by whether their vector was in the cache.", "cached=\"no\"",
      FROM_SESSION, offsetof(SessionMeters, texts_run) },
    { "encoderfile_labels_total", NULL, "cached=\"yes\"", FROM_SESSION, offsetof(SessionMeters, texts_known) },
    { "encoderfile_rejected_total", "Requests that were not run.", "reason=\"queue_full\"",
      FROM_SESSION, offsetof(SessionMeters, full) },
    { "encoderfile_rejected_total", NULL, "reason=\"bytes\"", FROM_SESSION,
      offsetof(SessionMeters, heavy) },
    { "encoderfile_rejected_total", NULL, "reason=\"memory\"", FROM_SESSION,
      offsetof(SessionMeters, short_of_memory) },
    { "encoderfile_rejected_total", NULL, "reason=\"draining\"", FROM_SESSION,
      offsetof(SessionMeters, late) },
    { "encoderfile_rejected_total", NULL, "reason=\"deadline\"", FROM_SESSION,
      offsetof(SessionMeters, expired) },
    { "encoderfile_rejected_total", NULL, "reason=\"client_gone\"", FROM_SESSION,
      offsetof(SessionMeters, abandoned) },
    { "encoderfile_rejected_total", NULL, "reason=\"connections\"", FROM_SERVER,
      offsetof(ServerMeters, turned_away) },
    { "encoderfile_http_received_bytes_total", "Bytes that clients sent.", NULL, FROM_SERVER,
      offsetof(ServerMeters, received) },
    { "encoderfile_http_sent_bytes_total", "Bytes that clients got.", NULL, FROM_SERVER,
      offsetof(ServerMeters, sent) },
    { "encoderfile_http_connections_total", "Connections that came.", NULL, FROM_SERVER,
      offsetof(ServerMeters, connections) },
};

static const void *source(const Loop *loop, MetricSource from)
{
    return from == FROM_SERVER ? (const void *)&loop->server->meters : session_meters(loop->session);
}

static void put_family(Buf *out, const char *name, const char *type, const char *help)
{
    if (help) buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_histogram(const Loop *loop, const struct HistogramRow *row, Buf *out)
{
    const Meter *m = (const Meter *)((const char *)source(loop, row->from) + row->at);
    unsigned long long count = 0;
    double bound = row->least;
    put_family(out, row->name, "histogram", row->help);
    for (int i = 0; i < METER_BUCKETS; i++, bound *= 2) {
        count += count_get(&m->bucket[i]);
        buf_printf(out, "%s_bucket{le=\"%g\"} %llu\n", row->name, bound, count);
    }
    count += count_get(&m->bucket[METER_BUCKETS]);
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.6f\n%s_count %llu\n", row->name, count,
               row->name, (double)count_get(&m->sum) * METER_UNIT, row->name, count);
}

static void put_counters(const Loop *loop, Buf *out)
{
    for (size_t i = 0; i < COUNT(counters); i++) {
        const struct CounterRow *row = &counters[i];
        const uint64_t *n = (const uint64_t *)((const char *)source(loop, row->from) + row->at);
        put_family(out, row->name, "counter", row->help);
        buf_printf(out, "%s%s%s%s %llu\n", row->name, row->label ? "{" : "",
                   row->label ? row->label : "", row->label ? "}" : "",
                   (unsigned long long)count_get(n));
    }
}

/* ---- gauges ---- */
static void put_gauge(Buf *out, const char *name, const char *help, double value)
{
    put_family(out, name, "gauge", help);
    buf_printf(out, "%s %.15g\n", name, value);
}

static void put_label(Buf *out, const char *name, Str value)
{
    buf_printf(out, "%s=\"", name);
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '"' || value.p[i] == '\\') buf_char(out, '\\');
        if (value.p[i] == '\n') buf_puts(out, "\\n");
        else buf_char(out, value.p[i]);
    }
    buf_char(out, '"');
}

static void put_build(const Loop *loop, Buf *out)
{
    const Site *site = &loop->site;
    const struct { const char *name; Str value; } labels[] = {
        { "version", STR(EF_VERSION) },
        { "model", site->model_id },
        { "task", str_of(site->task->name) },
        { "isa", str_of(site->isa) },
        { "precision", str_of(site->precision) },
    };
    put_family(out, "encoderfile_build_info", "gauge", "What is running here.");
    buf_puts(out, "encoderfile_build_info{");
    for (size_t i = 0; i < COUNT(labels); i++) {
        if (i) buf_char(out, ',');
        put_label(out, labels[i].name, labels[i].value);
    }
    buf_puts(out, "} 1\n");
}

/* One for each model that this server opened. */
static void put_loads(const Loop *loop, Buf *out)
{
    const Site *site = site_of(loop->session);
    put_family(out, "encoderfile_model_loads_total", "counter", "Models that were opened.");
    buf_puts(out, "encoderfile_model_loads_total 1\n");
    put_family(out, "encoderfile_model_load_seconds_total", "counter", "That opening them took.");
    buf_printf(out, "encoderfile_model_load_seconds_total %.6f\n", site->load_seconds);
    put_family(out, "encoderfile_model_load_bytes_total", "counter", "Of their files.");
    buf_printf(out, "encoderfile_model_load_bytes_total %llu\n", (unsigned long long)site->load_bytes);
}

static int64_t gauge(const int64_t *value)
{
    return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static int live_connections(const Loop *loop)
{
    const Server *server = loop->server;
    int live = 0;
    for (int i = 0; i < server->n; i++)
        live += __atomic_load_n(&server->loop[i]->live, __ATOMIC_RELAXED);
    return live;
}

static void put_gauges(const Loop *loop, Buf *out)
{
    const SessionMeters *m = session_meters(loop->session);
    const SessionOptions *o = session_options(loop->session);
    put_gauge(out, "encoderfile_ready", "1 while new requests are welcome.", !loop->draining);
    put_gauge(out, "encoderfile_http_connections", "Open now.", live_connections(loop));
    put_gauge(out, "encoderfile_queue_length", "Requests waiting for the model.",
              (double)gauge(&m->waiting));
    put_gauge(out, "encoderfile_queue_limit", "Most of them that are let in.", o->queue_jobs);
    put_gauge(out, "encoderfile_session_bytes", "Held by requests and replies.",
              (double)budget_used(loop->budget));
    put_gauge(out, "encoderfile_session_bytes_limit", "Most that they may hold.",
              (double)loop->budget->limit);
    put_gauge(out, "encoderfile_threads", "That compute.", o->threads);
}

/* ---- the process, by the names that every client library uses ---- */
static double resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double open_files(void)
{
    double n = -3; /* ".", ".." and the one that counts */
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) n++;
    if (folder) closedir(folder);
    return MAX(n, 0);
}

static void put_process(const Loop *loop, Buf *out)
{
    struct rusage used;
    struct rlimit files;
    struct timespec now;
    getrusage(RUSAGE_SELF, &used);
    getrlimit(RLIMIT_NOFILE, &files);
    clock_gettime(CLOCK_REALTIME, &now);
    double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                 (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    put_family(out, "process_cpu_seconds_total", "counter", "User and system time.");
    buf_printf(out, "process_cpu_seconds_total %.6f\n", cpu);
    put_gauge(out, "process_resident_memory_bytes", "Resident memory.", resident_bytes());
    put_gauge(out, "process_open_fds", "Open descriptors.", open_files());
    put_gauge(out, "process_max_fds", "Most that may be open.", (double)files.rlim_cur);
    put_gauge(out, "process_start_time_seconds", "Unix time of the server's start.",
              (double)now.tv_sec - (now_seconds() - loop->started));
}

static void serve_metrics(Exchange *x)
{
    const Loop *loop = x->loop;
    Buf *out = &x->kept;
    put_build(loop, out);
    put_loads(loop, out);
    put_answers(loop, out);
    for (size_t i = 0; i < COUNT(histograms); i++) put_histogram(loop, &histograms[i], out);
    put_counters(loop, out);
    put_gauges(loop, out);
    put_process(loop, out);
    put_families(loop, out);
    exchange_reply_kept(x, (Reply){ .status = 200,
                                    .type = "text/plain; version=0.0.4; charset=utf-8" });
}

const Handler metrics_handler = { .serve = serve_metrics };

/* ---- for a person at a terminal ---- */
static uint64_t total(const Meter *m)
{
    uint64_t n = 0;
    for (int i = 0; i <= METER_BUCKETS; i++) n += count_get(&m->bucket[i]);
    return n;
}

static double mean_ms(const Meter *m)
{
    uint64_t n = total(m);
    return n ? (double)count_get(&m->sum) * METER_UNIT * 1000 / (double)n : 0;
}

void metrics_dump(const Loop *loop)
{
    const SessionMeters *m = session_meters(loop->session);
    ConnCensus all = loop_census_of_all(loop);
    Arena arena = { .local = true };
    Buf model = { .arena = &arena };
    session_describe(loop->session, &model);
    log_asked("state: %.*s, up %.0f s%s", STR_ARG(buf_view(&model)), loop->now - loop->started,
              loop->draining ? ", draining" : "");
    log_asked("state: %d connections: %d idle; %d reading, %d waiting, %d streaming, %d writing, "
              "%d lingering", live_connections(loop), all.idle, all.states[X_READING],
              all.states[X_WAITING], all.states[X_OPEN], all.states[X_SENDING], all.lingering);
    log_asked("state: %lld waiting, %zu bytes; %llu answered, %llu texts, %llu tokens",
              (long long)gauge(&m->waiting), budget_used(loop->budget),
              (unsigned long long)count_get(&m->jobs), (unsigned long long)count_get(&m->rows),
              (unsigned long long)count_get(&m->tokens));
    log_asked("state: refused: %llu queue full, %llu bytes, %llu memory, %llu draining; dropped: "
              "%llu gone, %llu late", (unsigned long long)count_get(&m->full),
              (unsigned long long)count_get(&m->heavy),
              (unsigned long long)count_get(&m->short_of_memory),
              (unsigned long long)count_get(&m->late),
              (unsigned long long)count_get(&m->abandoned),
              (unsigned long long)count_get(&m->expired));
    log_asked("state: mean ms: tokenize %.3f, queue %.3f, run %.3f, finish %.3f; %llu runs",
              mean_ms(&m->tokenize), mean_ms(&m->queue), mean_ms(&m->compute), mean_ms(&m->finish),
              (unsigned long long)total(&m->compute));
    arena_free(&arena);
}

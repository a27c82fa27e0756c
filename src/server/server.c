/* SPDX-License-Identifier: Apache-2.0
 * server.c - a server's start and end: options, pages, listeners, and as many loops as its CPUs call
 * for. The first loop runs on the caller's thread. */
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/thread.h"
#include "data/gzip.h"
#include "grpc.h"
#include "loop.h"
#include "origin.h"

enum { SPARE_DESCRIPTORS = 64, CPUS_OF_A_LOOP = 2, LOOPS_BY_DEFAULT = 16 };

static int loops_for(int threads)
{
    return MIN(MAX(MIN(threads, cpu_count()) / CPUS_OF_A_LOOP, 1), LOOPS_BY_DEFAULT);
}

/* ---- what all loops have ---- */
static ServerOptions with_defaults(const ServerOptions *given, int threads)
{
    ServerOptions o = given ? *given : (ServerOptions){ .port = SERVER_PORT };
    if (!o.hostname) o.hostname = SERVER_ADDRESS;
    if (o.max_body == 0) o.max_body = SERVER_MAX_BODY;
    if (o.gzip_from == 0) o.gzip_from = SERVER_GZIP_FROM;
    if (o.idle_timeout_s <= 0) o.idle_timeout_s = SERVER_IDLE_SECONDS;
    if (o.header_timeout_s <= 0) o.header_timeout_s = SERVER_HEADER_SECONDS;
    if (o.body_timeout_s <= 0) o.body_timeout_s = SERVER_BODY_SECONDS;
    if (o.request_timeout_s <= 0) o.request_timeout_s = SERVER_REQUEST_SECONDS;
    o.loops = MIN(o.loops > 0 ? o.loops : loops_for(threads), MOST_SERVER_LOOPS);
    return o;
}

/* As many descriptors as we may have; what is left after our own are connections. */
static int connections_allowed(int wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted > 0 ? wanted : 1024;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    rlim_t most = limit.rlim_max > 2 * SPARE_DESCRIPTORS ? limit.rlim_max - SPARE_DESCRIPTORS
                                                         : limit.rlim_max;
    return (int)MIN((rlim_t)(wanted > 0 ? wanted : SERVER_MAX_CONNECTIONS), most);
}

/* The lines of a text, NULL-terminated; NULL: there are none. */
static const char *const *lines_of(Arena *arena, const char *text)
{
    if (!text || !*text) return NULL;
    char *rest = NULL, *copy = str_dup(arena, str_of(text));
    const char **list = ARRAY(arena, const char *, strlen(text) + 1);
    size_t n = 0;
    for (char *line = strtok_r(copy, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest))
        list[n++] = line;
    return list;
}

static bool binds_locally(Str hostname)
{
    Origin bracketed;
    return origin_host_is_local(hostname) ||
           (origin_read_host(hostname, &bracketed) && origin_host_is_local(bracketed.host));
}

static void make_pages(Loop *loop)
{
    size_t n = loop->site.routes;
    const Route *route = loop->site.route;
    loop->page = ARRAY(&loop->arena, Page, n);
    for (size_t i = 0; i < n; i++) {
        Page *page = &loop->page[i];
        if (!route[i].render) continue;
        route[i].render(&loop->arena, &loop->site, &page->plain);
        if (page->plain.n >= loop->options.gzip_from)
            gzip_pack(&page->packed, buf_view(&page->plain), GZIP_SMALL);
    }
}

/* Its part of the connections, and what else is a loop's own. */
static void make_own(Loop *loop, int number)
{
    int all = loop->options.max_connections, n = loop->options.loops;
    loop->slots = (uint32_t)(all / n + (number < all % n));
    loop->slot = ARRAY(&loop->arena, Slot, MAX(loop->slots, 1));
    for (uint32_t i = 0; i < loop->slots; i++) loop->slot[i].next_free = i + 1;
    loop->scratch = arena_raw(&loop->arena, READ_SIZE);
    if (getrandom(&loop->next_id, sizeof loop->next_id, GRND_NONBLOCK) < 0) loop->next_id = 1;
    loop->counted = metrics_make(&loop->arena);
    pthread_mutex_init(&loop->counting, NULL);
    pthread_mutex_init(&loop->lock, NULL);
    pthread_mutex_init(&loop->turn, NULL);
    loop->returned_end = &loop->returned;
    loop->arrival_end = &loop->arrival;
    loop->epoll = loop->wake = -1;
    for (int i = 0; i < LISTENERS; i++) loop->listener[i] = -1;
    loop->server->loop[loop->server->n++] = loop;
}

/* A server whose HTTP port is bound to one address opens no other: "--http-hostname 127.0.0.1" means
 * this machine alone. Else any address, IPv4's included. */
static const char *grpc_host_of(const ServerOptions *o)
{
    if (o->grpc_hostname) return o->grpc_hostname;
    return strcmp(o->hostname, SERVER_ADDRESS) != 0 ? o->hostname : "[::]";
}

static bool listen_grpc(Loop *loop, Err *err)
{
    const ServerOptions *o = &loop->options;
    int *fd = &loop->listener[LISTEN_GRPC];
    if (!o->grpc || o->no_grpc) return true;
    loop->grpc_port = o->grpc_port;
    loop->grpc_host = grpc_host_of(o);
    *fd = listen_on(loop->grpc_host, &loop->grpc_port, err);
    if (*fd < 0 && !o->grpc_hostname && strcmp(loop->grpc_host, "[::]") == 0) { /* no IPv6 here */
        loop->grpc_host = SERVER_ADDRESS;
        *fd = listen_on(loop->grpc_host, &loop->grpc_port, err);
    }
    if (*fd >= 0 || o->grpc_port_asked || o->no_http) return *fd >= 0;
    log_warn("%s: gRPC is on the HTTP port only", err->message);
    *err = (Err){ 0 };
    return true;
}

static bool listen_all(Loop *loop, int *port, Err *err)
{
    const ServerOptions *o = &loop->options;
    int *fd = loop->listener;
    TlsFiles files = { o->cert_file, o->key_file, o->client_ca_file };
    bool under_tls = files.cert || files.key || files.client_ca;
    if (under_tls && !(loop->tls = tls_new(files, err))) return false;
    if (!o->no_http) fd[LISTEN_TCP] = listen_on(o->hostname, port, err);
    if (!o->no_http && fd[LISTEN_TCP] < 0) return false;
    if (o->unix_path) fd[LISTEN_UNIX] = listen_on_path(o->unix_path, err);
    return (!o->unix_path || fd[LISTEN_UNIX] >= 0) && listen_grpc(loop, err);
}

/* "host:port", with brackets around an address of colons. */
static void put_address(Buf *out, const char *host, int port)
{
    bool colons = strchr(host, ':') && host[0] != '[';
    buf_printf(out, "%s%s%s:%d", colons ? "[" : "", host, colons ? "]" : "", port);
}

static void announce(const Loop *loop, int port)
{
    const ServerOptions *o = &loop->options;
    if (o->ready) return o->ready(o->context, o->hostname, port);
    Buf line = { 0 };
    session_describe(loop->session, &line);
    if (!o->no_http) {
        buf_puts(&line, loop->tls ? " on https://" : " on http://");
        put_address(&line, o->hostname, port);
    }
    log_info("serving %.*s", STR_ARG(buf_view(&line)));
    if (*loop->site.head) log_info("%s", loop->site.head);
    if (o->unix_path) log_info("and on the socket %s", o->unix_path);
    line.n = 0;
    if (loop->listener[LISTEN_GRPC] >= 0) {
        put_address(&line, loop->grpc_host, loop->grpc_port);
        log_info("gRPC on %.*s", STR_ARG(buf_view(&line)));
    }
    buf_free(&line);
}

static void warn_open(const Loop *loop)
{
    const ServerOptions *o = &loop->options;
    bool local = loop->local && (loop->listener[LISTEN_GRPC] < 0 ||
                                 binds_locally(str_of(loop->grpc_host)));
    if (local || loop->keys || o->client_ca_file) return;
    log_warn("no API key is set: whoever reaches this port can use the model (--api-key KEY sets one; "
             "on 127.0.0.1 it listens for this machine alone)");
}

static bool start_tracer(Loop *loop, Err *err)
{
    const char *url = loop->options.trace_url;
    loop->tracer = url ? tracer_new(url, err) : NULL;
    return !url || loop->tracer;
}

void loop_make(Loop *loop, Session *session, const ServerOptions *options)
{
    *loop = (Loop){
        .session = session,
        .options = with_defaults(options, session_options(session)->threads),
        .site = *site_of(session),
        .budget = session_budget(session),
        .now = now_seconds(),
        .started = now_seconds(),
    };
    loop->server = NEW(&loop->arena, Server);
    loop->site.started = (int64_t)time(NULL);
    loop->options.max_connections = connections_allowed(loop->options.max_connections);
    loop->options.loops = MIN(loop->options.loops, loop->options.max_connections);
    loop->keys = lines_of(&loop->arena, loop->options.api_keys);
    loop->origins = lines_of(&loop->arena, loop->options.origins);
    loop->local = binds_locally(str_of(loop->options.hostname));
    routes_make(&loop->arena, &loop->site, loop->options.preferred, !loop->options.no_ui);
    make_pages(loop);
    make_own(loop, 0);
    pthread_mutex_lock(&loop->turn);
    loop->grpc = grpc_new(&loop->arena, &loop->site);
}

/* ---- the others ---- */
static void make_twin(Loop *loop, const Loop *first)
{
    *loop = (Loop){
        .server = first->server,
        .session = first->session,
        .options = first->options,
        .site = first->site,
        .page = first->page,
        .grpc = first->grpc,
        .keys = first->keys,
        .origins = first->origins,
        .local = first->local,
        .tls = first->tls,
        .tracer = first->tracer,
        .budget = first->budget,
        .now = first->now,
        .started = first->started,
    };
    make_own(loop, first->server->n);
}

typedef struct LoopThread {
    Loop loop;
    pthread_t id;
    const volatile int *stop;
} LoopThread;

static void *loop_thread(void *arg)
{
    LoopThread *t = arg;
    pthread_mutex_lock(&t->loop.turn);
    loop_run(&t->loop, t->stop);
    pthread_mutex_unlock(&t->loop.turn);
    return NULL;
}

/* All of them are there before the first runs: nobody looks at a list that grows. */
static bool make_others(Loop *first, LoopThread *thread, Err *err)
{
    bool ok = true;
    for (int i = 1; i < first->options.loops && ok; i++) {
        make_twin(&thread[i].loop, first);
        ok = loop_open(&thread[i].loop, err);
    }
    return ok;
}

static bool start_others(LoopThread *thread, int n, const volatile int *stop, int *started, Err *err)
{
    for (*started = 1; *started < n; ++*started) {
        LoopThread *t = &thread[*started];
        t->stop = stop;
        if (pthread_create(&t->id, NULL, loop_thread, t) != 0)
            return fail(err, EF_IO, "loop %d: no thread could be started", *started);
    }
    return true;
}

/* ---- start and end ---- */
static void server_end(Loop *first, LoopThread *thread)
{
    Server *server = first->server;
    for (int i = 1; i < server->n; i++) loop_end(&thread[i].loop);
    for (size_t i = 0; i < first->site.routes; i++) {
        buf_free(&first->page[i].plain);
        buf_free(&first->page[i].packed);
    }
    tracer_free(first->tracer);
    tls_free(first->tls);
    pthread_mutex_unlock(&first->turn);
    loop_end(first);
}

/* Who has come is not dealt out to loops that do not run. */
static void close_doors(Loop *first)
{
    for (int i = 0; i < LISTENERS; i++) {
        if (first->listener[i] >= 0) close(first->listener[i]);
        first->listener[i] = -1;
    }
}

/* Only the first loop accepts, so if a thread is missing the others have nothing to finish. */
static bool run_all(Loop *first, LoopThread *thread, int port, const volatile int *stop, Err *err)
{
    static const volatile int at_once = 1;
    int started;
    bool ok = start_others(thread, first->server->n, stop, &started, err);
    if (ok) {
        announce(first, port);
        warn_open(first);
        loop_pause(first, false);
    }
    if (!ok) {
        first->options.drain_s = 0; /* nobody was told that it is there */
        close_doors(first);
    }
    loop_run(first, ok ? stop : &at_once);
    for (int i = 1; i < started; i++) pthread_join(thread[i].id, NULL);
    return ok;
}

bool server_run(Session *session, const ServerOptions *options, const volatile int *stop, Err *err)
{
    Loop first;
    heap_keep_little();
    loop_make(&first, session, options);
    LoopThread *thread = ARRAY(&first.arena, LoopThread, first.options.loops);
    int port = first.options.port;
    bool ok = session_expect(session, err) && start_tracer(&first, err) && listen_all(&first, &port, err) &&
              loop_open(&first, err) && make_others(&first, thread, err);
    bool listening = ok;
    ok = ok && run_all(&first, thread, port, stop, err);
    if (listening && first.options.unix_path) unlink(first.options.unix_path);
    server_end(&first, thread);
    return ok;
}

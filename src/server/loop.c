/* SPDX-License-Identifier: Apache-2.0
 * loop.c - epoll, the clock, and the end. All sockets belong to this one thread while it is awake;
 * others append to the list of returned jobs, behind a lock held for a few instructions. While it
 * sleeps, whoever returns the only job there is takes the turn and answers it: waking the loop for
 * that would cost more than the reply. */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/thread.h"
#include "data/gzip.h"
#include "grpc.h"
#include "loop.h"
#include "origin.h"

enum { TICK_MS = 100, EVENTS = 64, SPARE_DESCRIPTORS = 64 };
static const double stay_s = 100e-6; /* awake after the last event */
/* Low half of an event; of connections the slot is added. */
enum { ID_WAKE = 0, ID_LISTENER = 1, ID_CONN = ID_LISTENER + LISTENERS };

static bool watch(Loop *loop, int fd, int operation, uint32_t interest, uint64_t id)
{
    struct epoll_event event = { .events = interest, .data.u64 = id };
    return epoll_ctl(loop->epoll, operation, fd, &event) == 0;
}

bool loop_has_room(const Loop *loop, size_t held, Err *err)
{
    enum { SMALL = 16 << 10 }; /* bytes that anyone may have */
    size_t all = budget_used(loop->budget), limit = loop->budget->limit;
    if (all <= limit || held <= SMALL) return true;
    if (held > limit)
        return fail(err, EF_TOO_LARGE, "request: found %zu bytes, wanted at most %zu", held, limit);
    return fail(err, EF_OVERLOADED,
                "requests and replies: found %zu bytes, wanted at most %zu: try again", all, limit);
}

Slot *loop_slot(Loop *loop, const Conn *c)
{
    return &loop->slot[c->slot];
}

/* The connection stays until the end of this turn: its callers may still look at it. */
void loop_release(Loop *loop, Conn *c)
{
    Slot *slot = loop_slot(loop, c);
    *slot = (Slot){ .generation = slot->generation + 1, .next_free = loop->free };
    loop->free = c->slot;
    loop->live--;
    c->next = loop->closed;
    loop->closed = c;
}

void loop_sweep(Loop *loop)
{
    for (Conn *c; (c = loop->closed);) {
        loop->closed = c->next;
        heap_resize(c, 0);
    }
}

const char *loop_date(Loop *loop)
{
    int64_t now = time(NULL);
    if (now != loop->date_of) http_date(loop->date, now);
    loop->date_of = now;
    return loop->date;
}

/* ---- memory ---- */
typedef struct Touch {           /* what is done with a connection, guarded */
    Conn *conn;
    void (*tell)(Conn *);
    uint32_t events;             /* without tell */
    Exchange *x;                 /* or this came back for it: */
    Job *job;
} Touch;

static void touch_conn(void *arg)
{
    const Touch *t = arg;
    if (t->job) exchange_returned(t->x, t->job);
    else if (t->tell) t->tell(t->conn);
    else conn_event(t->conn, t->events);
}

/* Heads and replies are small, but memory may be gone: then the connection goes, and not the rest. */
static void touch(Touch t)
{
    Shortage shortage;
    if (guarded(touch_conn, &t, &shortage)) return;
    log_warn("out of memory (%zu bytes): a connection is closed", shortage.wanted);
    if (t.conn) conn_close(t.conn);
}

static void bring_back(Job *job)
{
    Exchange *x = job->work.context;
    touch((Touch){ .conn = x->conn, .x = x, .job = job });
}

/* ---- jobs that come back ---- */
void loop_lend(Loop *loop, int jobs)
{
    __atomic_add_fetch(&loop->away, jobs, __ATOMIC_RELAXED);
}

static void wake(Loop *loop)
{
    uint64_t one = 1;
    while (write(loop->wake, &one, sizeof one) < 0 && errno == EINTR) continue;
}

static bool nothing_returned(Loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    bool nothing = !loop->returned;
    pthread_mutex_unlock(&loop->lock);
    return nothing;
}

/* In the loop's place, if it sleeps. With more jobs to come it is not worth a computing thread's
 * time; at the end the loop wants to see everything itself. */
static bool answer_here(Loop *loop, Job *job)
{
    if (__atomic_load_n(&loop->away, __ATOMIC_RELAXED) > 1) return false;
    if (pthread_mutex_trylock(&loop->turn) != 0) return false;
    bool ok = !loop->stopping && nothing_returned(loop);
    if (ok) {
        loop->now = now_seconds();
        bring_back(job);
        loop_sweep(loop);
    }
    pthread_mutex_unlock(&loop->turn);
    if (ok) wake(loop); /* for the next request: see stay */
    return ok;
}

static void hand_back(Loop *loop, Job *job)
{
    pthread_mutex_lock(&loop->lock);
    bool asleep = !job->work.more && !loop->woken;
    loop->woken |= asleep;
    job->work.next = NULL;
    *loop->returned_end = &job->work;
    loop->returned_end = &job->work.next;
    pthread_mutex_unlock(&loop->lock);
    if (asleep) wake(loop); /* without the lock: the loop interrupts us and wants it */
}

void loop_return(Work *work)
{
    Job *job = job_of(work);
    Loop *loop = ((Exchange *)job->work.context)->loop;
    if (!answer_here(loop, job)) hand_back(loop, job);
    __atomic_sub_fetch(&loop->away, 1, __ATOMIC_RELEASE); /* the last touch: the loop may end */
}

void loop_collect(Loop *loop)
{
    uint64_t count;
    while (read(loop->wake, &count, sizeof count) < 0 && errno == EINTR) continue;
    pthread_mutex_lock(&loop->lock);
    Work *work = loop->returned;
    loop->woken = false;
    loop->returned = NULL;
    loop->returned_end = &loop->returned;
    pthread_mutex_unlock(&loop->lock);
    for (Work *next; work; work = next) {
        next = work->next;
        bring_back(job_of(work));
    }
}

/* ---- connections that come ---- */
static void pause_accepting(Loop *loop, bool pause)
{
    if (loop->accepting != pause || loop->stopping) return;
    for (size_t i = 0; i < COUNT(loop->listener); i++)
        if (loop->listener[i] >= 0)
            watch(loop, loop->listener[i], pause ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, EPOLLIN,
                  ID_LISTENER + i);
    loop->accepting = !pause;
}

/* The idle connection that has been idle longest makes room; false: all are busy. */
static bool evict(Loop *loop)
{
    Conn *oldest = NULL;
    for (int i = 0; i < loop->options.max_connections; i++) {
        Conn *c = loop->slot[i].conn;
        bool older = !oldest || loop->slot[i].deadline < loop_slot(loop, oldest)->deadline;
        if (c && conn_idle(c) && older) oldest = c;
    }
    if (oldest) conn_close(oldest);
    return oldest;
}

typedef struct Refused {         /* a client that finds no room */
    Loop *loop;
    int fd;
} Refused;

static void say_full(void *arg)
{
    const Refused *r = arg;
    Err err;
    char request[4096];
    Arena arena = { .local = true };
    Buf out = { .arena = &arena }, body = { .arena = &arena };
    fail(&err, EF_UNAVAILABLE, "too many connections: try again");
    error_write(&body, &err, 503, r->loop->options.preferred);
    http1_write_head(&out, &(Reply){ .status = 503, .type = "application/json",
                                          .length = body.n, .close = true, .retry_after = 1 },
                     loop_date(r->loop));
    buf_str(&out, buf_view(&body));
    ssize_t unread = recv(r->fd, request, sizeof request, 0); /* left there, it would undo the reply */
    if (unread && send(r->fd, out.p, out.n, MSG_NOSIGNAL) >= 0) shutdown(r->fd, SHUT_WR);
    arena_free(&arena);
}

/* In words, where there is memory for them, and where they could be read: not before TLS is. */
static void turn_away(Loop *loop, int fd)
{
    Shortage ignored;
    loop->meters.turned_away++;
    if (!loop->tls) guarded(say_full, &(Refused){ loop, fd }, &ignored);
    close(fd);
}

Conn *loop_conn(Loop *loop)
{
    Conn *c = heap_resize(NULL, sizeof *c);
    if (!c) return NULL;
    Slot *slot = &loop->slot[loop->free];
    *c = (Conn){ .loop = loop, .slot = loop->free };
    loop->free = slot->next_free;
    slot->conn = c;
    loop->live++;
    loop->meters.connections++;
    return c;
}

static bool watch_conn(Loop *loop, Conn *c, int operation)
{
    uint64_t id = (uint64_t)loop_slot(loop, c)->generation << 32 | (ID_CONN + c->slot);
    return watch(loop, c->fd, operation, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, id);
}

void loop_again(Loop *loop, Conn *c)
{
    watch_conn(loop, c, EPOLL_CTL_MOD); /* looks at once whether something is possible */
}

static void admit(Loop *loop, int fd, bool local)
{
    int on = 1;
    loop->now = now_seconds(); /* many may come in one turn: the order of being idle is theirs */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* UNIX sockets have no such thing */
    bool room = loop->free < (uint32_t)loop->options.max_connections || evict(loop);
    TlsConn *tls = room && loop->tls && !local ? tls_accept(loop->tls, fd) : NULL;
    Conn *c = room && (tls || local || !loop->tls) ? loop_conn(loop) : NULL;
    if (!c) return tls_close(tls), turn_away(loop, fd);
    conn_start(c, fd, tls);
    touch((Touch){ .conn = c });
    if (c->state == CONN_CLOSED) return;
    if (!watch_conn(loop, c, EPOLL_CTL_ADD)) conn_close(c);
}

/* Out of descriptors: make room and look again at the next tick, instead of spinning. */
static void accept_all(Loop *loop, int listener)
{
    while (listener >= 0) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            admit(loop, fd, listener == loop->listener[LISTEN_UNIX]);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            log_warn("accept: %s", strerror(errno));
            evict(loop);
            return pause_accepting(loop, true);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/* ---- time ---- */
/* After a rush, memory goes back. */
static void give_back(Loop *loop)
{
    enum { FEW = 1000 };
    loop->peak = MAX(loop->peak, loop->live);
    if (loop->peak < FEW || loop->live > loop->peak / 2) return;
    heap_trim();
    loop->peak = loop->live;
}

static void tick(Loop *loop)
{
    give_back(loop);
    pause_accepting(loop, false);
    for (int i = 0; i < loop->options.max_connections; i++) {
        Slot *slot = &loop->slot[i];
        if (!slot->conn) continue;
        bool late = slot->deadline <= loop->now;
        touch((Touch){ .conn = slot->conn, .tell = late ? conn_expire : conn_tick });
    }
}

/* ---- the end ---- */
static void each_conn(Loop *loop, void (*tell)(Conn *))
{
    for (int i = 0; i < loop->options.max_connections; i++)
        if (loop->slot[i].conn) touch((Touch){ .conn = loop->slot[i].conn, .tell = tell });
}

/* Not ready any more, but still there: who balances load needs time to see it. */
static void begin_drain(Loop *loop)
{
    loop->draining = true;
    loop->close_at = loop->now + loop->options.drain_s;
    if (loop->options.drain_s > 0)
        log_info("stopping in %.0f s: not ready any more, still serving (--drain)",
                 loop->options.drain_s);
    each_conn(loop, conn_notice);
}

/* What keeps a server that was told to stop. */
static void log_awaited(const Loop *loop)
{
    int states[X_STATES] = { 0 }, idle = 0, lingering = 0, n = 0;
    for (int i = 0; i < loop->options.max_connections; i++)
        if (loop->slot[i].conn)
            conn_census(loop->slot[i].conn, states, &idle, &lingering);
    for (int i = 0; i < X_STATES; i++) n += states[i];
    if (n == 0) return log_info("stopping");
    log_info("stopping: waiting for %d request%s (%d still arriving, %d for the model, %d for a client "
             "that reads)", n, n == 1 ? "" : "s", states[X_READING],
             states[X_WAITING] + states[X_OPEN], states[X_SENDING]);
}

static void begin_stop(Loop *loop)
{
    loop->stopping = true;
    for (size_t i = 0; i < COUNT(loop->listener); i++) {
        accept_all(loop, loop->listener[i]); /* those the system has already greeted */
        if (loop->listener[i] >= 0) close(loop->listener[i]);
        loop->listener[i] = -1;
    }
    each_conn(loop, conn_stop);
    log_awaited(loop);
}

/* true: *count has grown since it was last looked at. */
static bool wished(const volatile int *count, int *seen)
{
    int now = count ? __atomic_load_n(count, __ATOMIC_RELAXED) : 0, before = *seen;
    *seen = now;
    return now != before;
}

/* Connections keep the certificate they began with. */
static void reload(void *arg)
{
    Loop *loop = arg;
    Err err = { 0 };
    if (!loop->tls) return;
    if (tls_reload(loop->tls, &err)) log_info("certificate read again");
    else log_error("the old certificate stays: %s", err.message);
}

static void dump(void *loop)
{
    metrics_dump(loop);
}

static void look_at_wishes(Loop *loop, const volatile int *stop)
{
    Shortage ignored;
    if (!loop->draining && __atomic_load_n(stop, __ATOMIC_RELAXED)) begin_drain(loop);
    if (loop->draining && !loop->stopping && loop->now >= loop->close_at) begin_stop(loop);
    if (wished(loop->options.dump, &loop->dumped)) guarded(dump, loop, &ignored);
    if (wished(loop->options.reload, &loop->reloaded) && !guarded(reload, loop, &ignored))
        log_error("the old certificate stays: out of memory");
}

static void handle(Loop *loop, const struct epoll_event *event)
{
    uint32_t id = (uint32_t)event->data.u64, generation = (uint32_t)(event->data.u64 >> 32);
    if (id == ID_WAKE) return loop_collect(loop);
    if (id < ID_CONN) return accept_all(loop, loop->listener[id - ID_LISTENER]);
    Slot *slot = &loop->slot[id - ID_CONN];
    if (slot->conn && slot->generation == generation)
        touch((Touch){ .conn = slot->conn, .events = event->events });
}

/* Jobs of connections that have ended come back too, and need the loop to be there. */
static int jobs_away(Loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    int away = __atomic_load_n(&loop->away, __ATOMIC_ACQUIRE) + (loop->returned != NULL);
    pthread_mutex_unlock(&loop->lock);
    return away;
}

/* Who has just been answered often asks again at once, and an idle CPU takes longer to wake than
 * a request to be read. So the loop looks again for a while before it sleeps; every other thread
 * goes first. */
static int stay(const Loop *loop, struct epoll_event *event)
{
    double until = now_seconds() + stay_s;
    int n = 0;
    while (n == 0 && now_seconds() < until) {
        sched_yield();
        n = epoll_wait(loop->epoll, event, EVENTS, 0);
    }
    return n;
}

static void loop_run(Loop *loop, const volatile int *stop)
{
    struct epoll_event event[EVENTS];
    double next_tick = 0;
    int n = 0;
    thread_prompt();
    while (!loop->stopping || loop->live > 0 || jobs_away(loop)) {
        bool idle = n > 0 && loop->waiting == 0; /* else computing has the CPU to itself */
        pthread_mutex_unlock(&loop->turn);
        n = idle ? stay(loop, event) : 0;
        if (n == 0) n = epoll_wait(loop->epoll, event, EVENTS, TICK_MS);
        pthread_mutex_lock(&loop->turn);
        loop->now = now_seconds();
        for (int i = 0; i < n; i++) handle(loop, &event[i]);
        look_at_wishes(loop, stop);
        if (loop->now >= next_tick) {
            tick(loop);
            next_tick = loop->now + TICK_MS / 1000.0;
        }
        loop_sweep(loop);
    }
}

/* ---- start and end ---- */
static ServerOptions with_defaults(const ServerOptions *given)
{
    ServerOptions o = given ? *given : (ServerOptions){ .port = SERVER_PORT };
    if (!o.hostname) o.hostname = SERVER_ADDRESS;
    if (o.max_body == 0) o.max_body = SERVER_MAX_BODY;
    if (o.gzip_from == 0) o.gzip_from = SERVER_GZIP_FROM;
    if (o.idle_timeout_s <= 0) o.idle_timeout_s = SERVER_IDLE_SECONDS;
    if (o.header_timeout_s <= 0) o.header_timeout_s = SERVER_HEADER_SECONDS;
    if (o.body_timeout_s <= 0) o.body_timeout_s = SERVER_BODY_SECONDS;
    if (o.request_timeout_s <= 0) o.request_timeout_s = SERVER_REQUEST_SECONDS;
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

static void make_slots(Loop *loop)
{
    int n = loop->options.max_connections;
    loop->slot = ARRAY(&loop->arena, Slot, n);
    for (int i = 0; i < n; i++) loop->slot[i].next_free = (uint32_t)i + 1;
    loop->scratch = arena_raw(&loop->arena, READ_SIZE);
    if (getrandom(&loop->next_id, sizeof loop->next_id, GRND_NONBLOCK) < 0) loop->next_id = 1;
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

static bool open_descriptors(Loop *loop, int *port, Err *err)
{
    if (!listen_all(loop, port, err)) return false;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (loop->epoll < 0 || loop->wake < 0 ||
        !watch(loop, loop->wake, EPOLL_CTL_ADD, EPOLLIN, ID_WAKE))
        return fail(err, EF_IO, "epoll: %s", strerror(errno));
    pause_accepting(loop, false);
    return true;
}

static void loop_end(Loop *loop)
{
    const int fd[] = { loop->epoll, loop->wake };
    for (size_t i = 0; i < COUNT(fd); i++)
        if (fd[i] >= 0) close(fd[i]);
    for (int i = 0; i < LISTENERS; i++)
        if (loop->listener[i] >= 0) close(loop->listener[i]);
    for (size_t i = 0; i < loop->site.routes; i++) {
        buf_free(&loop->page[i].plain);
        buf_free(&loop->page[i].packed);
    }
    tracer_free(loop->tracer);
    tls_free(loop->tls);
    pthread_mutex_unlock(&loop->turn);
    pthread_mutex_destroy(&loop->turn);
    pthread_mutex_destroy(&loop->lock);
    arena_free(&loop->arena);
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
        .options = with_defaults(options),
        .site = *site_of(session),
        .budget = session_budget(session),
        .epoll = -1, .listener = { -1, -1, -1 }, .wake = -1,
        .lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_MUTEX_INITIALIZER,
        .now = now_seconds(),
        .started = now_seconds(),
    };
    pthread_mutex_lock(&loop->turn);
    loop->returned_end = &loop->returned;
    loop->site.started = (int64_t)time(NULL);
    loop->options.max_connections = connections_allowed(loop->options.max_connections);
    loop->keys = lines_of(&loop->arena, loop->options.api_keys);
    loop->origins = lines_of(&loop->arena, loop->options.origins);
    loop->local = binds_locally(str_of(loop->options.hostname));
    routes_make(&loop->arena, &loop->site, loop->options.preferred);
    metrics_make(&loop->arena, &loop->meters);
    make_pages(loop);
    make_slots(loop);
    loop->grpc = grpc_new(&loop->arena, &loop->site);
}

bool server_run(Session *session, const ServerOptions *options, const volatile int *stop, Err *err)
{
    Loop loop;
    heap_keep_little();
    loop_make(&loop, session, options);
    int port = loop.options.port;
    bool ok = start_tracer(&loop, err) && open_descriptors(&loop, &port, err);
    if (ok) {
        announce(&loop, port);
        warn_open(&loop);
        loop_run(&loop, stop);
    }
    if (ok && loop.options.unix_path) unlink(loop.options.unix_path);
    loop_end(&loop);
    return ok;
}

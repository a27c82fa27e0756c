/* SPDX-License-Identifier: Apache-2.0
 * loop.c - epoll, the clock, and the end. All sockets belong to this one thread; the only thing
 * that other threads touch is the list of returned jobs, behind a lock held for a few
 * instructions. */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "loop.h"

enum { TICK_MS = 100, EVENTS = 64 };
enum { ID_LISTENER = 0, ID_WAKE = 1, ID_CONN = 2 }; /* low half of an event; conns: 2 + slot */

static bool watch(Loop *loop, int fd, int operation, uint32_t interest, uint64_t id)
{
    struct epoll_event event = { .events = interest, .data.u64 = id };
    return epoll_ctl(loop->epoll, operation, fd, &event) == 0;
}

void loop_watch(Loop *loop, Conn *c, uint32_t interest)
{
    if (c->interest == interest) return;
    uint64_t id = (uint64_t)c->generation << 32 | (uint64_t)(ID_CONN + (c - loop->conn));
    int operation = c->interest ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    c->interest = interest;
    if (!watch(loop, c->fd, operation, interest, id))
        log_warn("epoll: %s", strerror(errno)); /* the connection then ends by its deadline */
}

void loop_release(Loop *loop, Conn *c)
{
    c->state = CONN_FREE;
    c->generation++;
    c->next = loop->free;
    loop->free = c;
    loop->live--;
}

/* ---- jobs that come back ---- */
void loop_return(Job *job)
{
    Loop *loop = ((Conn *)job->context)->loop;
    uint64_t one = 1;
    pthread_mutex_lock(&loop->lock);
    job->next = NULL;
    *loop->returned_end = job;
    loop->returned_end = &job->next;
    while (write(loop->wake, &one, sizeof one) < 0 && errno == EINTR) continue;
    pthread_mutex_unlock(&loop->lock); /* the loop ends only with this lock in hand */
}

static void take_returned(Loop *loop)
{
    uint64_t count;
    while (read(loop->wake, &count, sizeof count) < 0 && errno == EINTR) continue;
    pthread_mutex_lock(&loop->lock);
    Job *job = loop->returned;
    loop->returned = NULL;
    loop->returned_end = &loop->returned;
    pthread_mutex_unlock(&loop->lock);
    while (job) {
        Job *next = job->next; /* the connection frees it */
        conn_returned(job->context);
        job = next;
    }
}

/* ---- connections that come ---- */
static void pause_accepting(Loop *loop, bool pause)
{
    if (loop->listener < 0 || loop->accepting != pause) return;
    watch(loop, loop->listener, pause ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, EPOLLIN, ID_LISTENER);
    loop->accepting = !pause;
}

/* The idle connection that has been idle longest makes room; false: all are busy. */
static bool evict(Loop *loop)
{
    Conn *oldest = NULL;
    for (int i = 0; i < loop->options.max_connections; i++) {
        Conn *c = &loop->conn[i];
        if (conn_idle(c) && (!oldest || c->deadline < oldest->deadline)) oldest = c;
    }
    if (oldest) conn_close(oldest);
    return oldest;
}

static void turn_away(int fd)
{
    Err err;
    char request[4096];
    Buf out = { 0 }, body = { 0 };
    fail(&err, EF_UNAVAILABLE, "too many connections: try again");
    error_write(&body, &err, 503);
    http1_write_head(&out, &(Http1Reply){ .status = 503, .type = "application/json",
                                          .length = body.n, .close = true, .retry_after = 1 },
                     time(NULL));
    buf_str(&out, buf_view(&body));
    ssize_t unread = recv(fd, request, sizeof request, 0); /* left there, it would undo the reply */
    if (unread && send(fd, out.p, out.n, MSG_NOSIGNAL) >= 0) shutdown(fd, SHUT_WR);
    close(fd);
    buf_free(&out);
    buf_free(&body);
}

static void admit(Loop *loop, int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!loop->free && !evict(loop)) return turn_away(fd);
    Conn *c = loop->free;
    loop->free = c->next;
    loop->live++;
    conn_start(c, fd);
}

/* Out of descriptors: make room and look again at the next tick, instead of spinning. */
static void accept_all(Loop *loop)
{
    while (loop->listener >= 0) {
        int fd = accept4(loop->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            admit(loop, fd);
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
static void tick(Loop *loop)
{
    pause_accepting(loop, false);
    for (int i = 0; i < loop->options.max_connections; i++) {
        Conn *c = &loop->conn[i];
        if (c->state != CONN_FREE && c->deadline <= loop->now) conn_expire(c);
    }
}

static void begin_stop(Loop *loop)
{
    loop->stopping = true;
    accept_all(loop); /* those the system has already greeted */
    close(loop->listener);
    loop->listener = -1;
    for (int i = 0; i < loop->options.max_connections; i++) conn_stop(&loop->conn[i]);
}

static void handle(Loop *loop, const struct epoll_event *event)
{
    uint32_t id = (uint32_t)event->data.u64, generation = (uint32_t)(event->data.u64 >> 32);
    if (id == ID_LISTENER) return accept_all(loop);
    if (id == ID_WAKE) return take_returned(loop);
    Conn *c = &loop->conn[id - ID_CONN];
    if (c->generation == generation) conn_event(c, event->events);
}

static void run(Loop *loop, const volatile int *stop)
{
    struct epoll_event event[EVENTS];
    double next_tick = 0;
    while (!loop->stopping || loop->live > 0) {
        int n = epoll_wait(loop->epoll, event, EVENTS, TICK_MS);
        loop->now = now_seconds();
        for (int i = 0; i < n; i++) handle(loop, &event[i]);
        if (!loop->stopping && __atomic_load_n(stop, __ATOMIC_RELAXED)) begin_stop(loop);
        if (loop->now < next_tick) continue;
        tick(loop);
        next_tick = loop->now + TICK_MS / 1000.0;
    }
    pthread_mutex_lock(&loop->lock); /* the last one to return a job has let go of it */
    pthread_mutex_unlock(&loop->lock);
}

/* ---- start and end ---- */
static ServerOptions with_defaults(const ServerOptions *given)
{
    ServerOptions o = given ? *given : (ServerOptions){ .port = SERVER_PORT };
    if (!o.hostname) o.hostname = "0.0.0.0";
    if (o.max_body == 0) o.max_body = (size_t)32 << 20;
    if (o.max_connections <= 0) o.max_connections = 1024;
    if (o.idle_timeout_s <= 0) o.idle_timeout_s = 60;
    if (o.header_timeout_s <= 0) o.header_timeout_s = 10;
    if (o.body_timeout_s <= 0) o.body_timeout_s = 30;
    return o;
}

static void make_pages(Loop *loop)
{
    size_t n;
    const Route *route = route_all(&n);
    loop->page = ARRAY(&loop->arena, Buf, n);
    for (size_t i = 0; i < n; i++)
        if (route[i].render) route[i].render(&loop->arena, &loop->site, &loop->page[i]);
}

static void make_conns(Loop *loop)
{
    loop->conn = ARRAY(&loop->arena, Conn, loop->options.max_connections);
    for (int i = loop->options.max_connections; i-- > 0;) {
        loop->conn[i] = (Conn){ .loop = loop, .fd = -1, .next = loop->free };
        loop->free = &loop->conn[i];
    }
}

static bool open_descriptors(Loop *loop, int *port, Err *err)
{
    loop->listener = listen_on(loop->options.hostname, port, err);
    if (loop->listener < 0) return false;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    loop->accepting = true;
    if (loop->epoll < 0 || loop->wake < 0
        || !watch(loop, loop->listener, EPOLL_CTL_ADD, EPOLLIN, ID_LISTENER)
        || !watch(loop, loop->wake, EPOLL_CTL_ADD, EPOLLIN, ID_WAKE))
        return fail(err, EF_IO, "epoll: %s", strerror(errno));
    return true;
}

static void end(Loop *loop)
{
    size_t n;
    const int fd[] = { loop->listener, loop->epoll, loop->wake };
    for (size_t i = 0; i < COUNT(fd); i++)
        if (fd[i] >= 0) close(fd[i]);
    route_all(&n);
    for (size_t i = 0; i < n; i++) buf_free(&loop->page[i]);
    pthread_mutex_destroy(&loop->lock);
    arena_free(&loop->arena);
}

static void announce(const Loop *loop, int port)
{
    const ServerOptions *o = &loop->options;
    if (o->ready) return o->ready(o->context, o->hostname, port);
    Buf model = { 0 };
    bool colons = strchr(o->hostname, ':') && o->hostname[0] != '[';
    session_describe(loop->session, &model);
    log_info("serving %.*s on http://%s%s%s:%d", STR_ARG(buf_view(&model)), colons ? "[" : "",
             o->hostname, colons ? "]" : "", port);
    buf_free(&model);
}

bool server_run(Session *session, const ServerOptions *options, const volatile int *stop, Err *err)
{
    const Model *model = session_model(session);
    Loop loop = {
        .session = session,
        .options = with_defaults(options),
        .site = { model->name, model->task, &model->config },
        .epoll = -1, .listener = -1, .wake = -1,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .now = now_seconds(),
    };
    loop.returned_end = &loop.returned;
    int port = loop.options.port;
    make_pages(&loop);
    bool ok = open_descriptors(&loop, &port, err);
    if (ok) {
        make_conns(&loop);
        announce(&loop, port);
        run(&loop, stop);
    }
    end(&loop);
    return ok;
}

/* SPDX-License-Identifier: Apache-2.0
 * loop.c - epoll, the clock, and the end. There are as many loops as the CPUs call for; the first
 * accepts, and deals connections out. A loop's sockets belong to its one thread while it is awake;
 * others append to its lists of returned jobs and of new connections, behind a lock held for a few
 * instructions. While it does not run, whoever returns a job takes the turn and answers it: waking the
 * loop for that would cost more than the reply (see answer_here). */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/thread.h"
#include "loop.h"

enum { TICK_MS = 100, EVENTS = 64, EVENTS_HERE = 8 };
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
    __atomic_sub_fetch(&loop->live, 1, __ATOMIC_RELAXED);
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

/* The lock is held. true: it is to be woken. */
static bool tell_mail(Loop *loop, bool at_once)
{
    bool asleep = loop->asleep && at_once;
    if (asleep) loop->asleep = false; /* once is enough */
    __atomic_store_n(&loop->mail, true, __ATOMIC_RELEASE);
    return asleep;
}

static void handle(Loop *, const struct epoll_event *);

/* The loop's turn is ours: what it would do with it. Wakes are left for the loop: what they are about may
 * have come after loop_collect, and nobody writes another while it counts as awake. */
static void stand_in(Loop *loop)
{
    struct epoll_event event[EVENTS_HERE];
    int n = epoll_wait(loop->epoll, event, EVENTS_HERE, 0);
    for (int i = 0; i < n; i++)
        if ((uint32_t)event[i].data.u64 != ID_WAKE) handle(loop, &event[i]);
}

/* In the loop's place, while it does not run. Where all CPUs compute, one of several loops that was
 * woken gets a CPU only at the end of somebody's time slice: so the computing threads answer, and read,
 * for it. A lone loop is stood in for with the only job there is; with more of them to come it is not
 * worth a computing thread's time. At the end the loop wants to see everything itself. */
static bool answer_here(Loop *loop, Job *job)
{
    bool only = __atomic_load_n(&loop->away, __ATOMIC_RELAXED) <= 1, last = !job->work.more;
    if (!only && loop->server->n == 1) return false;
    if (pthread_mutex_trylock(&loop->turn) != 0) return false;
    bool ok = !loop->stopping;
    if (ok) {
        loop->now = now_seconds();
        loop_collect(loop);
        bring_back(job);
        if (!only && last) stand_in(loop);
        loop_sweep(loop);
    }
    pthread_mutex_unlock(&loop->turn);
    if (ok && only) wake(loop); /* for the next request: see stay */
    return ok;
}

static void hand_back(Loop *loop, Job *job)
{
    pthread_mutex_lock(&loop->lock);
    job->work.next = NULL;
    *loop->returned_end = &job->work;
    loop->returned_end = &job->work.next;
    bool asleep = tell_mail(loop, !job->work.more);
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
    pthread_mutex_lock(&loop->lock);
    Work *work = loop->returned;
    loop->returned = NULL;
    loop->returned_end = &loop->returned;
    pthread_mutex_unlock(&loop->lock);
    for (Work *next; work; work = next) {
        next = work->next;
        bring_back(job_of(work));
    }
}

/* ---- connections that come ---- */
void loop_pause(Loop *loop, bool pause)
{
    if (loop->accepting != pause || loop->stopping) return;
    for (size_t i = 0; i < COUNT(loop->listener); i++)
        if (loop->listener[i] >= 0)
            watch(loop, loop->listener[i], pause ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, EPOLLIN,
                  ID_LISTENER + i);
    loop->accepting = !pause;
}

static Conn *oldest_idle(const Loop *loop)
{
    Conn *oldest = NULL;
    for (uint32_t i = 0; i < loop->used; i++) {
        Conn *c = loop->slot[i].conn;
        bool older = !oldest || loop->slot[i].deadline < loop->slot[oldest->slot].deadline;
        if (c && conn_idle(c) && older) oldest = c;
    }
    return oldest;
}

/* The connection that has been idle longest makes room; false: all are busy. */
static bool evict(Loop *loop)
{
    Conn *oldest = oldest_idle(loop);
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
    count_add(&loop->server->meters.turned_away, 1);
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
    loop->used = MAX(loop->used, c->slot + 1);
    slot->conn = c;
    __atomic_add_fetch(&loop->live, 1, __ATOMIC_RELAXED);
    count_add(&loop->server->meters.connections, 1);
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

static int number_of(const Loop *loop)
{
    int i = 0;
    while (loop->server->loop[i] != loop) i++;
    return i;
}

static void admit(Loop *, Arrival);

/* All are full: it goes round, and then to where a connection has been idle longest. */
static void ask_for_room(Loop *loop, Arrival a)
{
    const Server *server = loop->server;
    const Conn *oldest = oldest_idle(loop);
    double deadline = oldest ? loop->slot[oldest->slot].deadline : INFINITY;
    int me = number_of(loop);
    if (a.asked == 0 || deadline < a.deadline) a.deadline = deadline, a.best = me;
    if (++a.asked < server->n) return loop_deliver(server->loop[(me + 1) % server->n], a);
    a.decided = true;
    if (a.best == me) admit(loop, a);
    else loop_deliver(server->loop[a.best], a);
}

static void admit(Loop *loop, Arrival a)
{
    loop->now = now_seconds(); /* many may come in one turn: the order of being idle is theirs */
    if (a.fd < 0) return a.decided ? (void)evict(loop) : ask_for_room(loop, a);
    bool room = loop->free < loop->slots || (a.decided && evict(loop));
    if (!room && !a.decided) return ask_for_room(loop, a);
    TlsConn *tls = room && loop->tls && !a.local ? tls_accept(loop->tls, a.fd) : NULL;
    Conn *c = room && (tls || a.local || !loop->tls) ? loop_conn(loop) : NULL;
    if (!c) return tls_close(tls), turn_away(loop, a.fd);
    conn_start(c, a.fd, tls);
    touch((Touch){ .conn = c });
    if (c->state == CONN_CLOSED) return;
    if (!watch_conn(loop, c, EPOLL_CTL_ADD)) conn_close(c);
}

void loop_deliver(Loop *loop, Arrival given)
{
    Arrival *a = heap_resize(NULL, sizeof *a);
    if (!a && given.fd >= 0) close(given.fd);
    if (!a) return;
    *a = given;
    a->next = NULL;
    __atomic_add_fetch(&loop->coming, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&loop->server->arrivals, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&loop->lock);
    *loop->arrival_end = a;
    loop->arrival_end = &a->next;
    bool asleep = tell_mail(loop, true);
    pthread_mutex_unlock(&loop->lock);
    if (asleep) wake(loop);
}

static void take_arrivals(Loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    Arrival *a = loop->arrival;
    loop->arrival = NULL;
    loop->arrival_end = &loop->arrival;
    pthread_mutex_unlock(&loop->lock);
    for (Arrival *next; a; a = next) {
        next = a->next;
        admit(loop, *a);
        __atomic_sub_fetch(&loop->coming, 1, __ATOMIC_RELAXED); /* live counts it from now on */
        __atomic_sub_fetch(&loop->server->arrivals, 1, __ATOMIC_RELEASE);
        heap_resize(a, 0);
    }
}

static int room_in(const Loop *loop)
{
    return (int)loop->slots - __atomic_load_n(&loop->live, __ATOMIC_RELAXED) -
           __atomic_load_n(&loop->coming, __ATOMIC_RELAXED);
}

/* The loop with most room; of equals, each in turn. */
static Loop *place_for_conn(Server *server)
{
    int first = server->turn;
    Loop *best = server->loop[first];
    server->turn = (first + 1) % server->n; /* not a count: that would run over some day */
    for (int i = 1; i < server->n; i++) {
        Loop *next = server->loop[(first + i) % server->n];
        if (room_in(next) > room_in(best)) best = next;
    }
    return best;
}

static void place(Loop *loop, int fd, bool local)
{
    int on = 1;
    Loop *to = loop->server->n > 1 ? place_for_conn(loop->server) : loop;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* UNIX sockets have no such thing */
    if (to == loop) admit(loop, (Arrival){ .fd = fd, .local = local });
    else loop_deliver(to, (Arrival){ .fd = fd, .local = local });
}

/* Out of descriptors: make room and look again at the next tick, instead of spinning. */
static void accept_all(Loop *loop, int listener)
{
    while (listener >= 0) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            place(loop, fd, listener == loop->listener[LISTEN_UNIX]);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            log_warn("accept: %s", strerror(errno));
            if (!evict(loop)) ask_for_room(loop, (Arrival){ .fd = -1 });
            return loop_pause(loop, true);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/* ---- time ---- */
/* After a rush, memory goes back; that of all loops is one heap. */
static void give_back(Loop *loop)
{
    enum { FEW = 1000 };
    const Server *server = loop->server;
    int live = 0;
    if (server->loop[0] != loop) return;
    for (int i = 0; i < server->n; i++)
        live += __atomic_load_n(&server->loop[i]->live, __ATOMIC_RELAXED);
    loop->peak = MAX(loop->peak, live);
    if (loop->peak < FEW || live > loop->peak / 2) return;
    heap_trim();
    loop->peak = live;
}

static ConnCensus census_of(const Loop *loop)
{
    ConnCensus sum = { 0 };
    for (uint32_t i = 0; i < loop->used; i++)
        if (loop->slot[i].conn) conn_census(loop->slot[i].conn, &sum);
    return sum;
}

ConnCensus loop_census_of_all(const Loop *loop)
{
    const Server *server = loop->server;
    ConnCensus sum = census_of(loop);
    for (int i = 0; i < server->n; i++) {
        const ConnCensus *c = &server->loop[i]->census;
        if (server->loop[i] == loop) continue;
        for (int k = 0; k < X_STATES; k++)
            sum.states[k] += __atomic_load_n(&c->states[k], __ATOMIC_RELAXED);
        sum.idle += __atomic_load_n(&c->idle, __ATOMIC_RELAXED);
        sum.lingering += __atomic_load_n(&c->lingering, __ATOMIC_RELAXED);
    }
    return sum;
}

/* For the first loop, which tells the state of all. */
static void publish_census(Loop *loop)
{
    if (loop->server->n == 1) return;
    ConnCensus now = census_of(loop);
    for (int i = 0; i < X_STATES; i++)
        __atomic_store_n(&loop->census.states[i], now.states[i], __ATOMIC_RELAXED);
    __atomic_store_n(&loop->census.idle, now.idle, __ATOMIC_RELAXED);
    __atomic_store_n(&loop->census.lingering, now.lingering, __ATOMIC_RELAXED);
}

static void tick(Loop *loop)
{
    give_back(loop);
    loop_pause(loop, false);
    for (uint32_t i = 0; i < loop->used; i++) {
        Slot *slot = &loop->slot[i];
        if (!slot->conn) continue;
        bool late = slot->deadline <= loop->now;
        touch((Touch){ .conn = slot->conn, .tell = late ? conn_expire : conn_tick });
    }
    publish_census(loop);
}

/* ---- the end ---- */
static void each_conn(Loop *loop, void (*tell)(Conn *))
{
    for (uint32_t i = 0; i < loop->used; i++)
        if (loop->slot[i].conn) touch((Touch){ .conn = loop->slot[i].conn, .tell = tell });
}

/* Not ready any more, but still there: who balances load needs time to see it. */
static void begin_drain(Loop *loop)
{
    loop->draining = true;
    loop->close_at = loop->now + loop->options.drain_s;
    if (loop->options.drain_s > 0 && loop->server->loop[0] == loop)
        log_info("stopping in %.0f s: not ready any more, still serving (--drain)",
                 loop->options.drain_s);
    each_conn(loop, conn_notice);
}

/* What keeps a server that was told to stop. */
static void log_awaited(const Loop *loop)
{
    ConnCensus all = loop_census_of_all(loop);
    int n = 0;
    for (int i = 0; i < X_STATES; i++) n += all.states[i];
    if (n == 0) return log_info("stopping");
    log_info("stopping: waiting for %d request%s (%d still arriving, %d for the model, %d for a client "
             "that reads)", n, n == 1 ? "" : "s", all.states[X_READING],
             all.states[X_WAITING] + all.states[X_OPEN], all.states[X_SENDING]);
}

/* The first loop closes the door; the others stop when what came through it has been dealt out. */
static void begin_stop(Loop *loop)
{
    Server *server = loop->server;
    loop->stopping = true;
    for (size_t i = 0; i < COUNT(loop->listener); i++) {
        accept_all(loop, loop->listener[i]); /* those the system has already greeted */
        if (loop->listener[i] >= 0) close(loop->listener[i]);
        loop->listener[i] = -1;
    }
    if (server->loop[0] == loop) __atomic_store_n(&server->stopping, true, __ATOMIC_RELEASE);
    else take_arrivals(loop);
    each_conn(loop, conn_stop);
    if (server->loop[0] == loop) log_awaited(loop);
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

static bool server_stops(const Loop *loop)
{
    return __atomic_load_n(&loop->server->stopping, __ATOMIC_ACQUIRE);
}

static bool door_closes(const Loop *loop)
{
    return loop->server->loop[0] == loop ? loop->now >= loop->close_at : server_stops(loop);
}

/* The first loop may also end without the word: a thread of another could not be started. */
static bool told_to_stop(const Loop *loop, const volatile int *stop)
{
    return __atomic_load_n(stop, __ATOMIC_RELAXED) || server_stops(loop);
}

static void look_at_wishes(Loop *loop, const volatile int *stop)
{
    Shortage ignored;
    if (!loop->draining && told_to_stop(loop, stop)) begin_drain(loop);
    if (loop->draining && !loop->stopping && door_closes(loop)) begin_stop(loop);
    if (loop->server->loop[0] != loop) return; /* the rest is done once for all */
    if (wished(loop->options.dump, &loop->dumped)) guarded(dump, loop, &ignored);
    if (wished(loop->options.reload, &loop->reloaded) && !guarded(reload, loop, &ignored))
        log_error("the old certificate stays: out of memory");
}

/* That they came is all they say. */
static void take_wakes(Loop *loop)
{
    uint64_t count;
    while (read(loop->wake, &count, sizeof count) < 0 && errno == EINTR) continue;
}

static void handle(Loop *loop, const struct epoll_event *event)
{
    uint32_t id = (uint32_t)event->data.u64, generation = (uint32_t)(event->data.u64 >> 32);
    if (id == ID_WAKE) return take_wakes(loop);
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

/* Whoever could be asked for room stays until nobody is on the way any more. */
static bool some_arrive(const Loop *loop)
{
    return __atomic_load_n(&loop->server->arrivals, __ATOMIC_ACQUIRE) > 0;
}

static bool has_mail(const Loop *loop)
{
    return __atomic_load_n(&loop->mail, __ATOMIC_ACQUIRE);
}

/* Who has just been answered often asks again at once, and an idle CPU takes longer to wake than
 * a request to be read. So the loop looks again for a while before it sleeps; every other thread
 * goes first. */
static int stay(const Loop *loop, struct epoll_event *event)
{
    double until = now_seconds() + stay_s;
    int n = 0;
    while (n == 0 && !has_mail(loop) && now_seconds() < until) {
        sched_yield();
        n = epoll_wait(loop->epoll, event, EVENTS, 0);
    }
    return n;
}

/* Computing has the CPU to itself, unless there are several and one of them has nothing to do. */
static bool may_stay(const Loop *loop)
{
    if (__atomic_load_n(&loop->server->jobs, __ATOMIC_RELAXED) == 0) return true;
    return loop->server->n > 1 && session_has_time(loop->session);
}

static int sleep_until_woken(Loop *loop, struct epoll_event *event)
{
    pthread_mutex_lock(&loop->lock);
    bool mail = has_mail(loop);
    loop->asleep = !mail;
    pthread_mutex_unlock(&loop->lock);
    int n = epoll_wait(loop->epoll, event, EVENTS, mail ? 0 : TICK_MS);
    pthread_mutex_lock(&loop->lock);
    loop->asleep = false;
    pthread_mutex_unlock(&loop->lock);
    return n;
}

static void open_mail(Loop *loop)
{
    if (!has_mail(loop)) return;
    __atomic_store_n(&loop->mail, false, __ATOMIC_RELAXED); /* before: more may come */
    loop_collect(loop);
    take_arrivals(loop);
}

void loop_run(Loop *loop, const volatile int *stop)
{
    struct epoll_event event[EVENTS];
    double next_tick = 0;
    int n = 0;
    bool busy = false;           /* the last turn had something to do */
    thread_prompt();
    while (!loop->stopping || loop->live > 0 || jobs_away(loop) || some_arrive(loop)) {
        pthread_mutex_unlock(&loop->turn);
        n = busy && may_stay(loop) ? stay(loop, event) : 0;
        if (n == 0) n = sleep_until_woken(loop, event);
        pthread_mutex_lock(&loop->turn);
        loop->now = now_seconds();
        busy = n > 0 || has_mail(loop);
        open_mail(loop); /* first: those clients have waited longer */
        for (int i = 0; i < n; i++) handle(loop, &event[i]);
        look_at_wishes(loop, stop);
        if (loop->now >= next_tick) {
            tick(loop);
            next_tick = loop->now + TICK_MS / 1000.0;
        }
        loop_sweep(loop);
    }
}

bool loop_open(Loop *loop, Err *err)
{
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return (loop->epoll >= 0 && loop->wake >= 0 &&
            watch(loop, loop->wake, EPOLL_CTL_ADD, EPOLLIN, ID_WAKE)) ||
           fail(err, EF_IO, "epoll: %s", strerror(errno));
}

void loop_end(Loop *loop)
{
    const int fd[] = { loop->epoll, loop->wake };
    for (size_t i = 0; i < COUNT(fd); i++)
        if (fd[i] >= 0) close(fd[i]);
    for (int i = 0; i < LISTENERS; i++)
        if (loop->listener[i] >= 0) close(loop->listener[i]);
    pthread_mutex_destroy(&loop->turn);
    pthread_mutex_destroy(&loop->lock);
    pthread_mutex_destroy(&loop->counting);
    arena_free(&loop->arena);
}

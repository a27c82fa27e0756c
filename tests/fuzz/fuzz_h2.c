/* SPDX-License-Identifier: Apache-2.0
 * fuzz_h2.c - frames through a socket that is none to the whole server, jobs and a model that
 * computes nothing included: no crash, and nothing is held when the client has gone.
 *
 * The first byte: 1: records (type, flags, stream, length, bytes) become frames, else bytes are sent
 * as they are; 2: no preface; 4: the client reads slowly; 8: time passes; 16: it goes without
 * waiting for answers. The second chooses the pieces. */
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "server/loop.h"
#include "server_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS = 1, BARE = 2, SLOW = 4, LATE = 8, HASTY = 16 };
static Buf incoming;
static size_t taken;
static unsigned random_state;
static bool slow;

static unsigned pick(unsigned most)
{
    random_state = random_state * 1103515245u + 12345u;
    return (random_state >> 16) % most;
}

static void need(bool condition)
{
    if (!condition) abort();
}

/* ---- in place of io.c ---- */
size_t io_read(Conn *c, void *to, size_t room)
{
    size_t piece = 1 + pick(300), n = MIN(MIN(incoming.n - taken, room), piece);
    memcpy(to, incoming.p + taken, n);
    taken += n;
    if (n == 0) c->readable = false;
    return n;
}

size_t io_write(Conn *c, struct iovec *part, int parts)
{
    (void)parts;
    size_t piece = pick(50), n = slow ? MIN(part[0].iov_len, piece) : part[0].iov_len;
    if (n == 0) c->writable = false;
    return n;
}

void io_end(Conn *c)
{
    (void)c;
}

/* ---- what the client sends ---- */
static void add_frames(const uint8_t *p, size_t n)
{
    while (n >= 4) {
        size_t length = MIN((size_t)p[3], n - 4);
        const uint8_t head[9] = { 0, 0, (uint8_t)length, p[0], p[1], 0, 0, 0, p[2] };
        buf_add(&incoming, head, sizeof head);
        buf_add(&incoming, p + 4, length);
        p += 4 + length;
        n -= 4 + length;
    }
}

static void prepare(const uint8_t *data, size_t size, uint8_t kind)
{
    static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    incoming.n = taken = 0;
    buf_reserve(&incoming, 64);
    if (!(kind & BARE)) buf_add(&incoming, hello, sizeof hello - 1);
    if (kind & RECORDS) add_frames(data, size);
    else buf_add(&incoming, data, size);
}

/* ---- a loop without descriptors ---- */
static void make(Loop *loop)
{
    log_limit(EF_LOG_ERROR);
    need(make_model());
    Session *s = job_session(&model, &(SessionOptions){ .threads = 1 });
    loop_make(loop, s, &(ServerOptions){ .max_connections = 2, .max_body = 5000 });
    loop->wake = eventfd(0, EFD_NONBLOCK);
}

static void turn(Loop *loop, Conn *c, uint32_t events)
{
    if (c->state != CONN_CLOSED) conn_event(c, events);
    for (int i = 0; i < 20000 && __atomic_load_n(&loop->away, __ATOMIC_ACQUIRE); i++) usleep(20);
    loop_collect(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Loop loop;
    if (size < 2) return 0;
    if (!loop.session) make(&loop);
    uint8_t kind = data[0];
    random_state = data[1] + 1u;
    slow = kind & SLOW;
    prepare(data + 2, size - 2, kind);
    Conn *c = loop_conn(&loop);
    conn_start(c, 0x7fffffff, NULL); /* a descriptor that nobody has: closing it does nothing */
    conn_event(c, 0);
    for (int i = 0; i < 40 && !(kind & HASTY); i++) {
        turn(&loop, c, EPOLLIN | EPOLLOUT);
        if (kind & LATE) loop.now += 3;
        if (c->state == CONN_CLOSED) break;
        if (loop_slot(&loop, c)->deadline <= loop.now) conn_expire(c);
        else conn_tick(c);
    }
    conn_close(c);
    loop_sweep(&loop);
    turn(&loop, c = &(Conn){ .state = CONN_CLOSED }, 0);
    need(budget_used(loop.budget) == 0 && loop.live == 0 && loop.away == 0);
    return 0;
}

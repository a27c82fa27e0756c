/* SPDX-License-Identifier: Apache-2.0
 * dns_lookup.c - questions to servers: both kinds of address at once over UDP, each again over TCP
 * where its answer was cut off; the next server, and another round, when one does not answer. */
#include "net/dns.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"

enum { MESSAGE_MOST = 65535, KINDS = 2 };
#define OTHER_KIND_S 0.5 /* the wait for one kind of address when the other has come */

typedef enum {
    ASK_FOUND,
    ASK_NONE,
    ASK_FAILED
} AskResult; /* NONE: the server knows of no address */

typedef struct DnsAsk { /* a name, asked of one server */
    const char *name;
    const NetAddress *server;
    double until; /* of now_seconds */
    uint16_t id[KINDS];
    bool done[KINDS];
    DnsAnswer answer[KINDS];
} DnsAsk;
static const DnsType dns_kinds[KINDS] = { DNS_AAAA, DNS_A };

static bool dns_wait(int fd, short events, double until)
{
    struct pollfd p = { .fd = fd, .events = events };
    double left = until - now_seconds();
    return left > 0 && poll(&p, 1, (int)(left * 1000) + 1) == 1;
}

static int dns_socket(const NetAddress *server, int kind)
{
    int fd = socket(server->any.sa_family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (connect(fd, &server->any, address_size(server)) == 0 || errno == EINPROGRESS) return fd;
    close(fd);
    return -1;
}

/* ---- TCP: each message behind its length in two bytes ---- */
static bool tcp_move(int fd, bool out, uint8_t *p, size_t n, double until)
{
    while (n) {
        if (!dns_wait(fd, out ? POLLOUT : POLLIN, until)) return false;
        ssize_t k = out ? send(fd, p, n, MSG_NOSIGNAL) : recv(fd, p, n, 0);
        if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (k > 0) p += k, n -= (size_t)k;
    }
    return true;
}

static bool tcp_exchange(int fd, DnsAsk *a, int kind)
{
    uint8_t question[2 + DNS_QUESTION], length[2];
    Arena arena = { 0 };
    size_t n = dns_write_question(a->name, dns_kinds[kind], a->id[kind], question + 2);
    question[0] = (uint8_t)(n >> 8), question[1] = (uint8_t)n;
    bool ok =
        tcp_move(fd, true, question, n + 2, a->until) && tcp_move(fd, false, length, 2, a->until);
    n = ok ? (size_t)length[0] << 8 | length[1] : 0;
    uint8_t *message = n ? arena_raw(&arena, n) : NULL;
    ok = n && tcp_move(fd, false, message, n, a->until) &&
         dns_read_answer((Str){ (char *)message, n }, a->name, dns_kinds[kind], a->id[kind],
                         &a->answer[kind]);
    arena_free(&arena);
    return ok && !a->answer[kind].truncated;
}

static bool ask_over_tcp(DnsAsk *a, int kind)
{
    int fd = dns_socket(a->server, SOCK_STREAM);
    if (fd < 0) return false;
    bool ok = tcp_exchange(fd, a, kind);
    close(fd);
    return ok;
}

/* ---- UDP ---- */
static bool send_questions(int fd, DnsAsk *a)
{
    uint8_t question[DNS_QUESTION];
    /* By its number, since the Python package is compiled for C libraries that have no function for it. */
    if (syscall(SYS_getrandom, a->id, sizeof a->id, 0) != (ssize_t)sizeof a->id) return false;
    if (a->id[0] == a->id[1]) a->id[1]++;
    for (int i = 0; i < KINDS; i++) {
        size_t n = dns_write_question(a->name, dns_kinds[i], a->id[i], question);
        if (send(fd, question, n, MSG_NOSIGNAL) != (ssize_t)n) return false;
    }
    return true;
}

/* One datagram; what answers neither question is ignored. Returns false if nobody is there. */
static bool take_datagram(int fd, DnsAsk *a)
{
    char message[4096];
    ssize_t n = recv(fd, message, sizeof message, 0);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    for (int i = 0; i < KINDS; i++) {
        DnsAnswer got;
        if (a->done[i] ||
            !dns_read_answer((Str){ message, (size_t)n }, a->name, dns_kinds[i], a->id[i], &got))
            continue;
        a->answer[i] = got;
        a->done[i] = !got.truncated || ask_over_tcp(a, i);
        if (!a->done[i]) return false;
        if (a->answer[i].n) a->until = MIN(a->until, now_seconds() + OTHER_KIND_S);
    }
    return true;
}

static AskResult ask_result(const DnsAsk *a)
{
    enum { NO_SUCH_NAME = 3 };
    bool none = true;
    for (int i = 0; i < KINDS; i++) {
        if (a->answer[i].n) return ASK_FOUND;
        none = none && a->done[i] && (a->answer[i].code == 0 || a->answer[i].code == NO_SUCH_NAME);
    }
    return none ? ASK_NONE : ASK_FAILED;
}

static AskResult ask_server(DnsAsk *a)
{
    int fd = dns_socket(a->server, SOCK_DGRAM);
    if (fd < 0) return ASK_FAILED;
    bool there = send_questions(fd, a);
    while (there && !(a->done[0] && a->done[1]) && dns_wait(fd, POLLIN, a->until))
        there = take_datagram(fd, a);
    close(fd);
    return ask_result(a);
}

/* ---- a name, of every server; then the names that it may be short for ---- */
static AskResult ask_name(const DnsConfig *c, const char *name, double deadline, DnsFound *out)
{
    uint8_t question[DNS_QUESTION];
    if (!dns_write_question(name, DNS_A, 0, question)) return ASK_NONE;
    for (int i = 0; i < c->attempts * c->n_server && now_seconds() < deadline; i++) {
        DnsAsk a = { .name = name,
                     .server = &c->server[i % c->n_server],
                     .until = MIN(deadline, now_seconds() + c->timeout) };
        AskResult result = ask_server(&a);
        if (result == ASK_FAILED) continue;
        for (int kind = 0; kind < KINDS; kind++)
            for (int k = 0; k < a.answer[kind].n; k++)
                out->address[out->n++] = a.answer[kind].address[k];
        return result;
    }
    return ASK_FAILED;
}

static bool no_answer(const DnsConfig *c, const char *host, Err *err)
{
    char server[64];
    address_print(&c->server[0], server);
    return fail(err, EF_UNAVAILABLE, "%s: no answer from the name server %s%s (resolv.conf)", host,
                server, c->n_server > 1 ? " nor from the others" : "");
}

bool dns_lookup(const DnsConfig *c, const char *host, double seconds, DnsFound *out, Err *err)
{
    double deadline = now_seconds() + seconds;
    int dots = 0, n = (int)strlen(host);
    for (const char *p = host; *p; p++) dots += *p == '.';
    bool whole = n && host[n - 1] == '.';
    int at = dots >= c->dots ? 0 : c->n_search; /* when the name is asked as it is */
    bool failed = false;
    out->n = 0;
    for (int i = 0; i <= c->n_search; i++) {
        char name[2 * DNS_NAME];
        int domain = i < at ? i : i - 1;
        if (whole && i != at) continue;
        if (i == at) snprintf(name, sizeof name, "%s", host);
        else snprintf(name, sizeof name, "%s.%s", host, c->search[domain]);
        AskResult result = ask_name(c, name, deadline, out);
        if (result == ASK_FOUND) return true;
        failed = failed || result == ASK_FAILED;
    }
    if (failed) return no_answer(c, host, err);
    return fail(err, EF_UNAVAILABLE, "%s: no such host (by the name server)", host);
}

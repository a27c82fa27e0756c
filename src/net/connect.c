/* SPDX-License-Identifier: Apache-2.0
 * connect.c - a host's addresses, and the first of them that answers. */
#include "net/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "base/file.h"

enum { RESOLV_LIMIT = 1 << 16, FIRST_TRIES_S = 3 };

bool net_resolve(const char *host, int port, double seconds, DnsFound *out, Err *err)
{
    Arena arena = { 0 };
    Str text = STR("");
    Err ignored;
    DnsConfig config;
    out->n =
        address_parse(host, port, &out->address[0]) || address_known(host, port, &out->address[0]);
    if (out->n) return true;
    file_read(&arena, "/etc/resolv.conf", RESOLV_LIMIT, &text, &ignored);
    dns_config_read(text, &config);
    bool ok = dns_lookup(&config, host, seconds, out, err);
    for (int i = 0; i < out->n; i++) address_set_port(&out->address[i], port);
    arena_free(&arena);
    return ok;
}

static int finish_connect(int fd, int seconds)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };
    int why = ETIMEDOUT;
    socklen_t n = sizeof why;
    if (poll(&p, 1, seconds * 1000) == 1) getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n);
    return why;
}

static void set_waits(int fd, int seconds)
{
    struct timeval most = { .tv_sec = seconds };
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

/* `wait`: of connecting alone. */
static int connect_one(const NetAddress *a, const char *host, int wait, int seconds, Err *err)
{
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), why = errno;
    if (fd >= 0) why = connect(fd, &a->any, address_size(a)) == 0 ? 0 : errno;
    if (why == EINPROGRESS) why = finish_connect(fd, wait);
    if (fd >= 0 && why == 0) return set_waits(fd, seconds), fd;
    if (fd >= 0) close(fd);
    fail(err, EF_UNAVAILABLE, "cannot connect to %s port %d: %s", host, address_port(a),
         strerror(why));
    return -1;
}

int net_connect_address(const NetAddress *a, const char *host, int seconds, Err *err)
{
    return connect_one(a, host, seconds, seconds, err);
}

/* An address that swallows packets must not cost the whole wait while others are left. */
int net_connect(const char *host, int port, int seconds, NetAddress *used, Err *err)
{
    DnsFound found;
    if (!net_resolve(host, port, seconds, &found, err)) return -1;
    for (int i = 0; i < found.n; i++) {
        bool last = i == found.n - 1;
        int wait = last ? seconds : MIN(seconds, FIRST_TRIES_S);
        int fd = connect_one(&found.address[i], host, wait, seconds, err);
        if (fd < 0) continue;
        if (used) *used = found.address[i];
        return fd;
    }
    return -1;
}

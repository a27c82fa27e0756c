/* SPDX-License-Identifier: Apache-2.0
 * listen.c - an address to a listening socket. Numeric addresses, localhost and the names of
 * /etc/hosts: a name that DNS moves is no address to listen on. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "loop.h"
#include "net/address.h"

static bool parse_address(const char *hostname, int port, NetAddress *out, Err *err)
{
    if (port < 0 || port > 65535)
        return fail(err, EF_USAGE, "port: found %d, wanted 0 to 65535", port);
    if (address_parse(hostname, port, out) || address_known(hostname, port, out)) return true;
    return fail(err, EF_IO,
                "hostname: found \"%s\", wanted a numeric address, localhost or one of /etc/hosts",
                hostname);
}

static bool bind_and_listen(int fd, const NetAddress *a)
{
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->any.sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    return bind(fd, &a->any, address_size(a)) == 0 && listen(fd, SOMAXCONN) == 0;
}

static int bound_port(int fd)
{
    NetAddress a = { 0 };
    socklen_t size = sizeof a;
    getsockname(fd, &a.any, &size);
    return address_port(&a);
}

int listen_on(const char *hostname, int *port, Err *err)
{
    NetAddress a;
    if (!parse_address(hostname, *port, &a, err)) return -1;
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || !bind_and_listen(fd, &a)) {
        fail(err, EF_IO, "cannot listen on %s port %d: %s", hostname, *port, strerror(errno));
        if (fd >= 0) close(fd);
        return -1;
    }
    *port = bound_port(fd);
    return fd;
}

/* A socket that a server left behind when it was killed is in nobody's use. */
static bool remove_stale(const char *path, const struct sockaddr_un *a)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode)) return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool alive = fd < 0 || connect(fd, (const struct sockaddr *)a, sizeof *a) == 0;
    if (fd >= 0) close(fd);
    return !alive && unlink(path) == 0;
}

int listen_on_path(const char *path, Err *err)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof a.sun_path) {
        fail(err, EF_USAGE, "socket: found a path of %zu bytes, wanted at most %zu", strlen(path),
             sizeof a.sun_path - 1);
        return -1;
    }
    strcpy(a.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0 && !ok && errno == EADDRINUSE && remove_stale(path, &a))
        ok = bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (ok && listen(fd, SOMAXCONN) == 0) return fd;
    fail(err, EF_IO, "cannot listen on the socket %s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

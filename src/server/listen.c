/* SPDX-License-Identifier: Apache-2.0
 * listen.c - an address to a listening socket. Numeric addresses, localhost and the names of
 * /etc/hosts: a static program has no resolver. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "loop.h"

enum { HOSTS_LIMIT = 1 << 20 };

typedef union Address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} Address;

static socklen_t address_size(const Address *a)
{
    return a->any.sa_family == AF_INET6 ? sizeof a->v6 : sizeof a->v4;
}

/* "[::1]" and "::1" are the same. */
static void strip_brackets(const char *hostname, char *out, size_t room)
{
    size_t n = strlen(hostname);
    bool brackets = n >= 2 && hostname[0] == '[' && hostname[n - 1] == ']';
    snprintf(out, room, "%.*s", (int)(brackets ? n - 2 : n), hostname + brackets);
}

static bool parse_numeric(const char *text, int port, Address *out)
{
    char host[INET6_ADDRSTRLEN + 1];
    strip_brackets(text, host, sizeof host);
    *out = (Address){ 0 };
    if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        return true;
    }
    if (inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        return true;
    }
    return false;
}

/* A line of /etc/hosts, which is cut up: "127.0.1.1 name other.name # why". The address if the name
 * is there, or NULL. */
static const char *line_address(char *line, const char *name)
{
    static const char blank[] = " \t\r";
    char *rest = NULL;
    line[strcspn(line, "#")] = 0;
    const char *address = strtok_r(line, blank, &rest);
    for (const char *word = address; word; word = strtok_r(NULL, blank, &rest))
        if (word != address && strcasecmp(word, name) == 0) return address;
    return NULL;
}

static bool find_host(const char *name, int port, Address *out)
{
    Arena arena = { 0 };
    Str text = STR("");
    Err ignored;
    char *rest = NULL;
    bool found = false;
    if (file_read(&arena, "/etc/hosts", HOSTS_LIMIT, &text, &ignored)) {
        char *copy = arena_try(&arena, text.n + 1, 1, HOSTS_LIMIT + 1, &ignored);
        if (copy) snprintf(copy, text.n + 1, "%.*s", STR_ARG(text));
        char *line = copy ? strtok_r(copy, "\n", &rest) : NULL;
        for (; line && !found; line = strtok_r(NULL, "\n", &rest)) {
            const char *address = line_address(line, name);
            found = address && parse_numeric(address, port, out);
        }
    }
    arena_free(&arena);
    return found;
}

static bool parse_address(const char *hostname, int port, Address *out, Err *err)
{
    bool local = strcmp(hostname, "localhost") == 0;
    if (port < 0 || port > 65535)
        return fail(err, EF_USAGE, "port: found %d, wanted 0 to 65535", port);
    if (parse_numeric(local ? "127.0.0.1" : hostname, port, out)) return true;
    if (find_host(hostname, port, out)) return true;
    return fail(err, EF_IO,
                "hostname: found \"%s\", wanted a numeric address, localhost or one of /etc/hosts",
                hostname);
}

static bool bind_and_listen(int fd, const Address *a)
{
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->any.sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    return bind(fd, &a->any, address_size(a)) == 0 && listen(fd, SOMAXCONN) == 0;
}

static int bound_port(int fd)
{
    Address a = { 0 };
    socklen_t size = sizeof a;
    getsockname(fd, &a.any, &size);
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

int listen_on(const char *hostname, int *port, Err *err)
{
    Address a;
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

int connect_to_host(const char *hostname, int port, int seconds, Err *err)
{
    Address a;
    struct timeval most = { .tv_sec = seconds };
    if (!parse_address(hostname, port, &a, err)) return -1;
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most); /* of connect as well */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    if (fd >= 0 && connect(fd, &a.any, address_size(&a)) == 0) return fd;
    fail(err, EF_IO, "cannot connect to %s port %d: %s", hostname, port, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
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

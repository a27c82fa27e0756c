/* SPDX-License-Identifier: Apache-2.0
 * address.c - numeric addresses, and the names of /etc/hosts. */
#include "net/address.h"

#include <arpa/inet.h>
#include <strings.h>

#include "base/file.h"

enum { HOSTS_LIMIT = 1 << 20 };

socklen_t address_size(const NetAddress *a)
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

void address_set_port(NetAddress *a, int port)
{
    if (a->any.sa_family == AF_INET6) a->v6.sin6_port = htons((uint16_t)port);
    else a->v4.sin_port = htons((uint16_t)port);
}

int address_port(const NetAddress *a)
{
    return ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

bool address_from_bytes(const uint8_t *bytes, size_t n, NetAddress *out)
{
    *out = (NetAddress){ 0 };
    if (n != 4 && n != 16) return false;
    out->any.sa_family = n == 4 ? AF_INET : AF_INET6;
    if (n == 4) memcpy(&out->v4.sin_addr, bytes, n);
    else memcpy(&out->v6.sin6_addr, bytes, n);
    return true;
}

bool address_parse(const char *text, int port, NetAddress *out)
{
    char host[INET6_ADDRSTRLEN + 1];
    uint8_t bytes[16];
    strip_brackets(text, host, sizeof host);
    size_t n = inet_pton(AF_INET, host, bytes) == 1    ? 4
               : inet_pton(AF_INET6, host, bytes) == 1 ? 16
                                                       : 0;
    if (!address_from_bytes(bytes, n, out)) return false;
    address_set_port(out, port);
    return true;
}

void address_print(const NetAddress *a, char out[64])
{
    const void *bytes = a->any.sa_family == AF_INET6 ? (const void *)&a->v6.sin6_addr
                                                     : (const void *)&a->v4.sin_addr;
    if (!inet_ntop(a->any.sa_family, bytes, out, 64)) strcpy(out, "?");
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

bool address_in_hosts(Str text, const char *name, NetAddress *out)
{
    for (const char *p = text.p, *end = text.p + text.n; p < end;) {
        char line[1024];
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((stop ? stop : end) - p);
        snprintf(line, sizeof line, "%.*s", (int)MIN(n, sizeof line - 1), p);
        const char *address = line_address(line, name);
        if (address && address_parse(address, 0, out)) return true;
        p += n + 1;
    }
    return false;
}

bool address_known(const char *name, int port, NetAddress *out)
{
    Arena arena = { 0 };
    Str text = STR("");
    Err ignored;
    bool local = strcmp(name, "localhost") == 0;
    bool found = local ? address_parse("127.0.0.1", port, out)
                       : file_read(&arena, "/etc/hosts", HOSTS_LIMIT, &text, &ignored) &&
                             address_in_hosts(text, name, out);
    if (found) address_set_port(out, port);
    arena_free(&arena);
    return found;
}

bool address_is_loopback(const char *host)
{
    NetAddress a;
    if (strcasecmp(host, "localhost") == 0) return true;
    if (!address_parse(host, 0, &a)) return false;
    if (a.any.sa_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
    return ntohl(a.v4.sin_addr.s_addr) >> 24 == 127;
}

/* SPDX-License-Identifier: Apache-2.0
 * origin.c - see origin.h. */
#include "origin.h"

#include <arpa/inet.h>
#include <strings.h>

enum { LONGEST_NAME = 253 };     /* of the domain name system */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_name(Str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_letter(s.p[i]) && !is_digit(s.p[i]) && !strchr("-._", s.p[i])) return false;
    return s.n > 0 && s.n <= LONGEST_NAME && !memchr(s.p, 0, s.n);
}

static bool is_scheme(Str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_letter(s.p[i]) && !is_digit(s.p[i]) && !strchr("+-.", s.p[i])) return false;
    return s.n > 0 && is_letter(s.p[0]) && !memchr(s.p, 0, s.n);
}

/* family: AF_INET or AF_INET6; bytes: 4 or 16 of them. */
static bool read_address(int family, Str text, uint8_t *bytes)
{
    char terminated[INET6_ADDRSTRLEN];
    if (text.n >= sizeof terminated || memchr(text.p, 0, text.n)) return false;
    memcpy(terminated, text.p, text.n);
    terminated[text.n] = 0;
    return inet_pton(family, terminated, bytes) == 1;
}

/* ":8080", or nothing. */
static bool read_port(Str text, int *port)
{
    *port = -1;
    if (text.n == 0) return true;
    if (text.p[0] != ':' || text.n == 1 || text.n > 6) return false;
    int number = 0;
    for (size_t i = 1; i < text.n; i++) {
        if (!is_digit(text.p[i])) return false;
        number = number * 10 + (text.p[i] - '0');
    }
    *port = number;
    return number <= 65535;
}

bool origin_read_host(Str text, Origin *out)
{
    uint8_t address[16];
    bool brackets = text.n && text.p[0] == '[';
    const char *end = text.n ? memchr(text.p, brackets ? ']' : ':', text.n) : NULL;
    *out = (Origin){ .host = { text.p, end ? (size_t)(end - text.p) : text.n } };
    Str rest = { text.p + out->host.n, text.n - out->host.n };
    if (!brackets) return is_name(out->host) && read_port(rest, &out->port);
    if (!end) return false;
    out->host = (Str){ text.p + 1, out->host.n - 1 };
    return read_address(AF_INET6, out->host, address) &&
           read_port((Str){ rest.p + 1, rest.n - 1 }, &out->port);
}

bool origin_read(Str text, Origin *out)
{
    const char *mark = text.n > 3 ? memmem(text.p, text.n, "://", 3) : NULL;
    if (!mark) return false;
    Str scheme = { text.p, (size_t)(mark - text.p) };
    bool ok = is_scheme(scheme) &&
              origin_read_host((Str){ mark + 3, text.n - scheme.n - 3 }, out);
    out->scheme = scheme;
    return ok;
}

bool origin_same_host(Str a, Str b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

bool origin_host_is_local(Str host)
{
    static const uint8_t one[16] = { [15] = 1 };
    uint8_t address[16];
    if (origin_same_host(host, STR("localhost"))) return true;
    if (read_address(AF_INET, host, address)) return address[0] == 127;
    return read_address(AF_INET6, host, address) && memcmp(address, one, sizeof one) == 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * url.c - addresses of the web, taken apart and put together. */
#include "net/url.h"

#include <ctype.h>

#include "net/address.h"

enum { URL_MOST = 16 << 10, HOST_MOST = 253 };

/* Nothing that could end a header line or a request line. */
static bool url_is_clean(Str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7f) return false;
    return text.n <= URL_MOST;
}

static bool split_port(Str *authority, bool tls, int *port)
{
    int64_t number = tls ? 443 : 80;
    size_t colon = authority->n;
    for (size_t i = 0; i < authority->n; i++)
        if (authority->p[i] == ':') colon = i;
        else if (authority->p[i] == ']') colon = authority->n;
    if (colon + 1 < authority->n &&
        !str_int((Str){ authority->p + colon + 1, authority->n - colon - 1 }, &number))
        return false;
    authority->n = colon;
    *port = (int)number;
    return number > 0 && number < 65536;
}

static bool split_host(Arena *arena, Str host, Url *out)
{
    NetAddress a;
    bool brackets = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (brackets) host.p++, host.n -= 2;
    if (host.n == 0 || host.n > HOST_MOST) return false;
    char *copy = str_dup(arena, host);
    for (char *p = copy; *p; p++) {
        *p = (char)tolower((unsigned char)*p);
        if (!brackets && !isalnum((unsigned char)*p) && !strchr("-._", *p)) return false;
    }
    out->host = copy;
    return !brackets || address_parse(copy, 0, &a);
}

static bool url_take(Arena *arena, Str text, Url *out)
{
    *out = (Url){ .tls = str_starts(text, "https://") };
    size_t scheme = out->tls ? 8 : 7;
    if (!url_is_clean(text) || (!out->tls && !str_starts(text, "http://"))) return false;
    Str rest = { text.p + scheme, text.n - scheme }, authority = { rest.p, 0 };
    while (authority.n < rest.n && !strchr("/?#", rest.p[authority.n])) authority.n++;
    Str path = { rest.p + authority.n, rest.n - authority.n };
    const char *hash = memchr(path.p, '#', path.n);
    if (hash) path.n = (size_t)(hash - path.p);
    const char *at = memrchr(authority.p, '@', authority.n);
    if (at) {
        out->user = (Str){ authority.p, (size_t)(at - authority.p) };
        authority = (Str){ at + 1, authority.n - out->user.n - 1 };
    }
    bool slash = path.n && path.p[0] == '/';
    out->path = str_format(arena, "%s%.*s", slash ? "" : "/", STR_ARG(path));
    return split_port(&authority, out->tls, &out->port) && split_host(arena, authority, out);
}

bool url_parse(Arena *arena, Str text, Url *out, Err *err)
{
    if (url_take(arena, text, out)) return true;
    if (memchr(text.p, '@', text.n)) /* perhaps a password */
        return fail(err, EF_USAGE, "found no URL, wanted https://HOST[:PORT][/PATH]");
    return fail(err, EF_USAGE, "found \"%.*s\", wanted https://HOST[:PORT][/PATH]",
                (int)MIN(text.n, 200), text.p);
}

const char *url_authority(Arena *arena, const Url *u)
{
    bool colons = strchr(u->host, ':');
    const char *host = colons ? str_format(arena, "[%s]", u->host) : u->host;
    return u->port == (u->tls ? 443 : 80) ? host : str_format(arena, "%s:%d", host, u->port);
}

bool url_follow(Arena *arena, const Url *from, Str location, Url *out, Err *err)
{
    const char *scheme = from->tls ? "https" : "http", *whole;
    Str folder = { from->path, strcspn(from->path, "?") };
    while (folder.n && folder.p[folder.n - 1] != '/') folder.n--;
    if (str_starts(location, "https://") || str_starts(location, "http://"))
        return url_parse(arena, location, out, err);
    if (str_starts(location, "//")) whole = str_format(arena, "%s:%.*s", scheme, STR_ARG(location));
    else
        whole = str_format(arena, "%s://%s%.*s%.*s", scheme, url_authority(arena, from),
                           location.n && location.p[0] == '/' ? 0 : (int)folder.n, folder.p,
                           STR_ARG(location));
    return url_parse(arena, str_of(whole), out, err);
}

bool url_same_host(const Url *a, const Url *b)
{
    return a->tls == b->tls && a->port == b->port && strcmp(a->host, b->host) == 0;
}

bool url_is_safe(const Url *u, Err *err)
{
    return u->tls || address_is_loopback(u->host) ||
           fail(err, EF_USAGE,
                "http://%s: found plain http, wanted https: without it only this "
                "machine itself (127.0.0.1, localhost) is asked",
                u->host);
}

const char *url_escape(Arena *arena, Str text, bool slashes)
{
    Buf out = { .arena = arena };
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool plain = isalnum(c) || strchr("-._~", c) || (c == '/' && !slashes);
        if (plain && c) buf_char(&out, (char)c);
        else buf_printf(&out, "%%%02X", c);
    }
    buf_char(&out, 0);
    return out.p;
}

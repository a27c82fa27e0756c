/* SPDX-License-Identifier: Apache-2.0
 * url.h - http and https addresses of the web. */
#ifndef NET_URL_H
#define NET_URL_H
#include "base/base.h"

typedef struct Url {
    bool tls;         /* https */
    const char *host; /* without the brackets of an IPv6 address, lower-case */
    int port;
    const char *path; /* with its query; begins with / */
    Str user;         /* "name:password", as it was written; n 0: none */
} Url;
/* "https://host:port/path?query"; a fragment is dropped. Errors name the text. */
bool url_parse(Arena *, Str text, Url *, Err *);
/* What a Location says, which may be relative to where it was said. */
bool url_follow(Arena *, const Url *from, Str location, Url *, Err *);
bool url_same_host(const Url *, const Url *); /* scheme, host and port: who may see a secret */
/* Plain http stays on this machine. */
bool url_is_safe(const Url *, Err *);
/* The same bytes, but those that a path cannot hold as they are written %XX. */
const char *url_escape(Arena *, Str, bool slashes); /* slashes: "/" is written %2F too */
const char *url_authority(Arena *, const Url *);    /* "host", "host:8080", "[::1]:8080" */

#endif

/* SPDX-License-Identifier: Apache-2.0
 * origin.h - where a request says that it goes to ("Host: name:8080") and comes from
 * ("Origin: https://name:8080"). Read as a whole: what is left over, or could be read in two ways,
 * is no address. */
#ifndef SERVER_ORIGIN_H
#define SERVER_ORIGIN_H
#include "base/base.h"

typedef struct Origin {
    Str scheme;                  /* empty where there is none to be read */
    Str host;                    /* a name or an address; one of IPv6 without its brackets */
    int port;                    /* -1: not said */
} Origin;

/* "name", "name:8080", "127.0.0.1:8080", "[::1]:8080"; no user before an @, no path. */
bool origin_read_host(Str text, Origin *out);
bool origin_read(Str text, Origin *out);  /* the same behind "scheme://" */
/* localhost, 127.0.0.0/8 or ::1: only this machine can mean it. */
bool origin_host_is_local(Str host);
bool origin_same_host(Str a, Str b);      /* in any case */

#endif

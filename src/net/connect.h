/* SPDX-License-Identifier: Apache-2.0
 * connect.h - a connection to a host by its name: numeric, localhost, of /etc/hosts, or by DNS. */
#ifndef NET_CONNECT_H
#define NET_CONNECT_H
#include "net/dns.h"

bool net_resolve(const char *host, int port, double seconds, DnsFound *, Err *);
/* A blocking socket whose reads and writes wait at most that long (then EAGAIN), as do looking up
 * the name and connecting; the addresses are tried in order. *used (optional): the one that
 * answered. -1: err. */
int net_connect(const char *host, int port, int seconds, NetAddress *used, Err *);
int net_connect_address(const NetAddress *, const char *host, int seconds,
                        Err *); /* host: for errors */

#endif

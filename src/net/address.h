/* SPDX-License-Identifier: Apache-2.0
 * address.h - IPv4 and IPv6 addresses, as text and as the system takes them. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/base.h"

typedef union NetAddress {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} NetAddress;

socklen_t address_size(const NetAddress *);
/* "127.0.0.1", "::1" and "[::1]"; false: not numeric. */
bool address_parse(const char *text, int port, NetAddress *);
bool address_from_bytes(const uint8_t *bytes, size_t n, NetAddress *); /* 4 or 16 of them; port 0 */
void address_set_port(NetAddress *, int port);
int address_port(const NetAddress *);
void address_print(const NetAddress *, char out[64]); /* without the port */
/* The address of a name in the text of /etc/hosts; false: not there. */
bool address_in_hosts(Str text, const char *name, NetAddress *);
/* localhost (always 127.0.0.1), and what /etc/hosts names. */
bool address_known(const char *name, int port, NetAddress *);
bool address_is_loopback(const char *host); /* 127.0.0.0/8, ::1 or localhost, as it is written */

#endif

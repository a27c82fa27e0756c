/* SPDX-License-Identifier: Apache-2.0
 * dns.h - the names of hosts, asked of the servers in /etc/resolv.conf: a static program cannot use
 * the C library's resolver, which loads shared objects. A and AAAA are asked at the same time over
 * UDP, and again over TCP when an answer did not fit. No cache, no DNSSEC: both are the server's. */
#ifndef NET_DNS_H
#define NET_DNS_H
#include "net/address.h"

enum {
    DNS_SERVERS = 3,
    DNS_SEARCH = 6,
    DNS_MOST = 16,
    DNS_NAME = 256,
    DNS_QUESTION = 12 + 255 + 4
};
typedef enum { DNS_A = 1, DNS_CNAME = 5, DNS_AAAA = 28 } DnsType;

typedef struct DnsConfig {          /* of resolv.conf */
    NetAddress server[DNS_SERVERS]; /* none named there: 127.0.0.1 */
    int n_server;
    char search[DNS_SEARCH][DNS_NAME]; /* domains that are tried behind a name */
    int n_search;
    int dots;              /* a name with that many is asked as it is first; 1 */
    int timeout, attempts; /* seconds for one answer, rounds over all servers; 5 and 2 */
} DnsConfig;
void dns_config_read(Str text, DnsConfig *); /* what it does not know is ignored */

/* Writes a question. Returns its length; 0: no name that could be asked. */
size_t dns_write_question(const char *name, DnsType, uint16_t id, uint8_t out[DNS_QUESTION]);

typedef struct DnsAnswer {
    int code;       /* 0: none; 3: no such name */
    bool truncated; /* to be asked again over TCP */
    NetAddress address[DNS_MOST];
    int n;
} DnsAnswer;
/* Reads an answer to that very question. Returns false if it is none, or malformed. */
bool dns_read_answer(Str message, const char *name, DnsType, uint16_t id, DnsAnswer *);

typedef struct DnsFound {
    NetAddress address[2 * DNS_MOST]; /* IPv6 first */
    int n;
} DnsFound;
/* Looks a host up, over at most that many seconds. */
bool dns_lookup(const DnsConfig *, const char *host, double seconds, DnsFound *, Err *);

#endif

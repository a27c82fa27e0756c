/* SPDX-License-Identifier: Apache-2.0
 * fuzz_dns.c - any bytes as a name server's answer, and as resolv.conf and /etc/hosts. An answer that
 * is taken holds no more than it has room for, and addresses of the kind that was asked for. */
#include <stdlib.h>

#include "net/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_as(Str message, DnsType type, int family)
{
    DnsAnswer a;
    uint16_t id = message.n >= 2 ? (uint16_t)((uint8_t)message.p[0] << 8 | (uint8_t)message.p[1]) : 0;
    if (!dns_read_answer(message, "hub.test", type, id, &a)) return;
    if (a.n > DNS_MOST || (a.truncated && a.n)) abort();
    for (int i = 0; i < a.n; i++)
        if (a.address[i].any.sa_family != family) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str bytes = { size ? (const char *)data : "", size };
    DnsConfig c;
    NetAddress a;
    read_as(bytes, DNS_A, AF_INET);
    read_as(bytes, DNS_AAAA, AF_INET6);
    dns_config_read(bytes, &c);
    if (c.n_server < 1 || c.n_server > DNS_SERVERS || c.timeout < 1 || c.attempts < 1) abort();
    address_in_hosts(bytes, "hub.test", &a);
    return 0;
}

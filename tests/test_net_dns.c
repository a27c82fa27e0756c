/* SPDX-License-Identifier: Apache-2.0
 * Names of hosts: resolv.conf, questions and answers byte by byte, and lookups against a name server
 * of this test's own, over UDP and TCP. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/thread.h"
#include "check.h"
#include "net/connect.h"

/* ---- resolv.conf, hosts ---- */
static void test_config(void)
{
    DnsConfig c;
    char text[64];
    TEST("resolv.conf");
    dns_config_read(STR("# a comment\n; another\nnameserver 10.0.0.1\nnameserver fe80::1\nnameserver\t10.0.0.3 x\n"
                        "nameserver 10.0.0.4\nnameserver nonsense\ndomain a.test\nsearch b.test  c.test .\r\n"
                        "options timeout:7 attempts:0 ndots:3 rotate ndots:x\nunknown 1"), &c);
    CHECK(c.n_server == 3 && c.n_search == 2 && c.timeout == 7 && c.attempts == 1 && c.dots == 3);
    address_print(&c.server[2], text);
    CHECK(strcmp(text, "10.0.0.3") == 0 && address_port(&c.server[2]) == 53);
    CHECK(c.server[1].any.sa_family == AF_INET6);
    CHECK(strcmp(c.search[0], "b.test") == 0 && strcmp(c.search[1], "c.test") == 0);
    dns_config_read(STR(""), &c);
    address_print(&c.server[0], text);
    CHECK(c.n_server == 1 && strcmp(text, "127.0.0.1") == 0 && c.dots == 1 && c.attempts == 2);
}

static void test_hosts(void)
{
    static const char hosts[] = "127.0.0.1 localhost # 9.9.9.9 commented\n::1 six six.test\r\n"
                                "bad.address name\n10.1.2.3\tNAME other";
    NetAddress a;
    char text[64];
    TEST("hosts");
    CHECK(address_in_hosts(STR(hosts), "six.test", &a) && a.any.sa_family == AF_INET6);
    CHECK(address_in_hosts(STR(hosts), "name", &a));
    address_print(&a, text);
    CHECK(strcmp(text, "10.1.2.3") == 0);
    CHECK(!address_in_hosts(STR(hosts), "commented", &a) && !address_in_hosts(STR(hosts), "10.1.2.3", &a));
    CHECK(!address_in_hosts(STR(""), "x", &a));
    CHECK(address_is_loopback("127.9.9.9") && address_is_loopback("::1") && address_is_loopback("LocalHost"));
    CHECK(!address_is_loopback("128.0.0.1") && !address_is_loopback("localhost.example.com") &&
          !address_is_loopback("127.0.0.1.example.com"));
}

/* ---- messages ---- */
static void test_question(void)
{
    static const uint8_t wanted[] = "\x12\x34\x01\0\0\1\0\0\0\0\0\0\3hub\4test\0\0\x1c\0\1";
    uint8_t out[DNS_QUESTION];
    char longest[300], label[80];
    TEST("question");
    size_t n = dns_write_question("hub.test", DNS_AAAA, 0x1234, out);
    CHECK(n == sizeof wanted - 1 && memcmp(out, wanted, n) == 0);
    CHECK(dns_write_question("hub.test.", DNS_AAAA, 0x1234, out) == n && memcmp(out, wanted, n) == 0);
    CHECK(!dns_write_question("", DNS_A, 1, out) && !dns_write_question(".", DNS_A, 1, out) &&
          !dns_write_question("a..b", DNS_A, 1, out) && !dns_write_question(".a", DNS_A, 1, out));
    memset(label, 'x', sizeof label), label[64] = 0;
    CHECK(!dns_write_question(label, DNS_A, 1, out));
    label[63] = 0;
    CHECK(dns_write_question(label, DNS_A, 1, out));
    memset(longest, 'x', sizeof longest);
    for (int i = 49; i < 300; i += 50) longest[i] = '.';
    longest[253] = 0;
    CHECK(dns_write_question(longest, DNS_A, 1, out) == 12 + 255 + 4);
    longest[253] = 'x', longest[254] = 0;
    CHECK(!dns_write_question(longest, DNS_A, 1, out));
}

#define HEAD "\x12\x34\x81\x80\0\1\0\2\0\0\0\0"
#define ASKED "\3hub\4test\0\0\1\0\1"
#define ALIAS "\xc0\x0c\0\5\0\1\0\0\0\x3c\0\7\4real\xc0\x10"
#define REAL "\xc0\x26\0\1\0\1\0\0\0\x3c\0\4\x0a\1\2\3" /* 0x26: the alias's data */
#define DIRECT "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\1\2\3"

static bool reads(Str message, DnsAnswer *out)
{
    return dns_read_answer(message, "HUB.test", DNS_A, 0x1234, out);
}

static void test_answer(void)
{
    static const char whole[] = HEAD ASKED ALIAS REAL;
    DnsAnswer a;
    char text[64];
    TEST("answer");
    CHECK(reads(STR(HEAD ASKED ALIAS REAL), &a) && a.n == 1 && a.code == 0);
    address_print(&a.address[0], text);
    CHECK(strcmp(text, "10.1.2.3") == 0);
    CHECK(reads(STR(HEAD ASKED DIRECT DIRECT), &a) && a.n == 2);
    CHECK(reads(STR(HEAD ASKED "\4real\xc0\x10\0\1\0\1\0\0\0\x3c\0\4\x0a\1\2\3" ALIAS), &a) && a.n == 1); /* alias last */
    CHECK(reads(STR("\x12\x34\x81\x83\0\1\0\0\0\0\0\0" ASKED), &a) && a.code == 3 && a.n == 0);
    CHECK(reads(STR("\x12\x34\x83\x80\0\1\0\0\0\0\0\0" ASKED), &a) && a.truncated);
    for (size_t n = 0; n < sizeof whole - 1; n++) { /* cut off anywhere, and at its very end in memory */
        char *copy = malloc(n + 1);
        memcpy(copy, whole, n);
        CHECK(!reads((Str){ copy, n }, &a) || a.n == 0);
        free(copy);
    }
    TEST("answers that are none");
    CHECK(!reads(STR("\x12\x35" "\x81\x80\0\1\0\2\0\0\0\0" ASKED ALIAS REAL), &a));       /* another id */
    CHECK(!reads(STR("\x12\x34\x01\x80\0\1\0\2\0\0\0\0" ASKED ALIAS REAL), &a));          /* a question */
    CHECK(!reads(STR(HEAD "\3hub\4best\0\0\1\0\1" ALIAS REAL), &a));                       /* another name */
    CHECK(!reads(STR(HEAD "\3hub\4test\0\0\x1c\0\1" ALIAS REAL), &a));                     /* another kind */
    CHECK(!reads(STR(HEAD "\xc0\x0c\0\1\0\1" DIRECT DIRECT), &a));                         /* points to itself */
    CHECK(!reads(STR(HEAD "\xc0\xff\0\1\0\1" DIRECT DIRECT), &a));                         /* points forward */
    CHECK(!reads(STR(HEAD "\x80hub\4test\0\0\1\0\1" DIRECT DIRECT), &a));                  /* reserved label */
    CHECK(reads(STR(HEAD ASKED "\4evil\0\0\1\0\1\0\0\0\x3c\0\4\x0a\1\2\3" "\4evil\0\0\1\0\1\0\0\0\x3c\0\4\x0a\1\2\3"),
                &a) && a.n == 0);                                                          /* of another owner */
    CHECK(reads(STR(HEAD ASKED "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\3\x0a\1\2" DIRECT), &a) && a.n == 1); /* too short */
    CHECK(reads(STR(HEAD ASKED "\xc0\x0c\0\5\0\1\0\0\0\x3c\0\2\xc0\x0c" "\xc0\x0c\0\5\0\1\0\0\0\x3c\0\2\xc0\x0c"), &a) &&
          a.n == 0);                                                                       /* an alias of itself */
}

/* ---- a name server ---- */
typedef struct NameServer {
    int udp, tcp, port;
    volatile int asked, asked_tcp, stop;
    bool late_aaaa;              /* AAAA is never answered */
    pthread_t thread;
} NameServer;

/* What each name does: an address, none, a cut-off answer, a failure, silence. */
static size_t make_answer(const NameServer *s, const uint8_t *q, size_t n, bool tcp, uint8_t *out)
{
    char name[256] = "";
    size_t at = 12, length = 0;
    while (at < n && q[at]) {
        memcpy(name + length, q + at + 1, q[at]);
        length += q[at];
        name[length++] = '.';
        at += (size_t)q[at] + 1;
    }
    bool aaaa = q[at + 2] == DNS_AAAA;
    memcpy(out, q, n);
    out[2] = 0x81, out[3] = 0x80;
    if (strcmp(name, "silent.test.") == 0 || (aaaa && s->late_aaaa)) return 0;
    if (strcmp(name, "fails.test.") == 0) return out[3] = 0x82, n;
    if (strcmp(name, "long.test.") == 0 && !tcp) return out[2] = 0x83, n;
    bool known = strstr(name, "long.test.") == name || strcmp(name, "hub.test.") == 0 ||
                 strcmp(name, "hub.search.test.") == 0 || strcmp(name, "four.test.") == 0;
    if (!known) return out[3] = 0x83, n;
    if (aaaa && strcmp(name, "four.test.") == 0) return n;
    out[7] = 1;
    static const uint8_t four[] = "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1";
    static const uint8_t six[] = "\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1";
    const uint8_t *record = aaaa ? six : four;
    size_t size = aaaa ? sizeof six - 1 : sizeof four - 1;
    memcpy(out + n, record, size);
    return n + size;
}

static void answer_udp(NameServer *s)
{
    uint8_t q[512], out[1024];
    NetAddress from;
    socklen_t size = sizeof from;
    ssize_t n = recvfrom(s->udp, q, sizeof q, 0, &from.any, &size);
    if (n < 17) return;
    s->asked++;
    size_t answer = make_answer(s, q, (size_t)n, false, out);
    if (answer) sendto(s->udp, out, answer, 0, &from.any, size);
}

static void answer_tcp(NameServer *s)
{
    uint8_t q[514], out[1024];
    int fd = accept(s->tcp, NULL, NULL);
    ssize_t n = recv(fd, q, sizeof q, 0);
    s->asked_tcp++;
    size_t answer = n > 19 ? make_answer(s, q + 2, (size_t)n - 2, true, out + 2) : 0;
    out[0] = (uint8_t)(answer >> 8), out[1] = (uint8_t)answer;
    if (answer) {
        send(fd, out, 1, MSG_NOSIGNAL); /* in pieces */
        usleep(1000);
        send(fd, out + 1, answer + 1, MSG_NOSIGNAL);
    }
    close(fd);
}

static void *serve_names(void *arg)
{
    NameServer *s = arg;
    while (!s->stop) {
        struct pollfd p[2] = { { .fd = s->udp, .events = POLLIN }, { .fd = s->tcp, .events = POLLIN } };
        poll(p, 2, 50);
        if (p[0].revents) answer_udp(s);
        if (p[1].revents) answer_tcp(s);
    }
    return NULL;
}

static bool start_names(NameServer *s)
{
    NetAddress a;
    socklen_t size = sizeof a;
    s->tcp = socket(AF_INET, SOCK_STREAM, 0), s->udp = socket(AF_INET, SOCK_DGRAM, 0);
    address_parse("127.0.0.1", 0, &a);
    if (bind(s->tcp, &a.any, address_size(&a)) != 0 || listen(s->tcp, 8) != 0) return false;
    getsockname(s->tcp, &a.any, &size);
    s->port = address_port(&a);
    return bind(s->udp, &a.any, address_size(&a)) == 0 &&
           pthread_create(&s->thread, NULL, serve_names, s) == 0;
}

static void test_lookup(void)
{
    NameServer s = { 0 };
    DnsConfig c;
    DnsFound found;
    Err err;
    TEST("lookup");
    if (!CHECK(start_names(&s))) return;
    dns_config_read(STR("nameserver 127.0.0.1\nsearch search.test\noptions timeout:1 attempts:1"), &c);
    address_set_port(&c.server[0], s.port);
    CHECK(dns_lookup(&c, "hub.test", 5, &found, &err) && found.n == 2);
    CHECK(found.address[0].any.sa_family == AF_INET6 && found.address[1].any.sa_family == AF_INET);
    CHECK(dns_lookup(&c, "four.test", 5, &found, &err) && found.n == 1);
    CHECK(dns_lookup(&c, "hub", 5, &found, &err) && found.n == 2); /* hub.search.test */
    CHECK(s.asked_tcp == 0 && dns_lookup(&c, "long.test", 5, &found, &err) && found.n == 2);
    CHECK(s.asked_tcp == 2);
    CHECK(!dns_lookup(&c, "nowhere.test", 5, &found, &err) && says(&err, "nowhere.test: no such host"));
    CHECK(!dns_lookup(&c, "fails.test", 5, &found, &err) && says(&err, "no answer from the name server 127.0.0.1"));
    int before = s.asked;
    CHECK(!dns_lookup(&c, "silent.test", 0.3, &found, &err) && says(&err, "no answer"));
    CHECK(s.asked == before + 2);
    CHECK(!dns_lookup(&c, "hub.", 5, &found, &err)); /* a dot at the end: nothing is put behind it */
    s.late_aaaa = true;
    double began = now_seconds();
    CHECK(dns_lookup(&c, "hub.test", 5, &found, &err) && found.n == 1 && now_seconds() - began < 0.95);
    s.late_aaaa = false;
    TEST("a server that is away");
    c.server[1] = c.server[0], c.n_server = 2;
    address_set_port(&c.server[0], 1); /* refuses */
    CHECK(dns_lookup(&c, "hub.test", 5, &found, &err) && found.n == 2);
    s.stop = 1;
    pthread_join(s.thread, NULL);
    close(s.tcp), close(s.udp);
}

int main(void)
{
    test_config();
    test_hosts();
    test_question();
    test_answer();
    test_lookup();
    return finish();
}

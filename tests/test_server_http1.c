/* SPDX-License-Identifier: Apache-2.0
 * test_server_http1.c - the request parser: each case whole, byte by byte and cut in two at every
 * place, always with the same outcome. */
#include "check.h"
#include "server/http1.h"

static Err why; /* of the last feed */

typedef struct Case {
    const char *name, *bytes;
    int status;                 /* 0: a good request; -1: not complete */
    const char *method, *path, *body;
    const char *rest;           /* bytes behind the request */
    bool close;
} Case;

#define H "Host: x\r\n"
static const Case cases[] = {
    { "plain", "GET /health HTTP/1.1\r\n" H "\r\n", 0, "GET", "/health", "", "" },
    { "query", "GET /model?x=1&y HTTP/1.1\r\n" H "\r\n", 0, "GET", "/model", "", "" },
    { "absolute form", "GET http://a.b:8/model?x HTTP/1.1\r\n" H "\r\n", 0, "GET", "/model", "",
      "" },
    { "absolute form without path", "GET http://a HTTP/1.1\r\n" H "\r\n", 0, "GET", "/", "", "" },
    { "asterisk", "OPTIONS * HTTP/1.1\r\n" H "\r\n", 0, "OPTIONS", "*", "", "" },
    { "length", "POST /p HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello", 0, "POST", "/p", "hello",
      "" },
    { "length 0", "POST /p HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n", 0, "POST", "/p", "", "" },
    { "pipelined", "GET /a HTTP/1.1\r\n" H "\r\nGET /b", 0, "GET", "/a", "", "GET /b" },
    { "pipelined body", "POST /p HTTP/1.1\r\n" H "content-length:  2 \r\n\r\nhiGET", 0, "POST",
      "/p", "hi", "GET" },
    { "empty lines first", "\r\n\r\nGET /a HTTP/1.1\r\n" H "\r\n", 0, "GET", "/a", "", "" },
    { "1.0", "GET /a HTTP/1.0\r\n\r\n", 0, "GET", "/a", "", "", true },
    { "1.0 keep-alive", "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 0, "GET", "/a", "",
      "" },
    { "close", "GET /a HTTP/1.1\r\n" H "Connection: Upgrade, Close\r\n\r\n", 0, "GET", "/a", "", "",
      true },
    { "close wins", "GET /a HTTP/1.1\r\n" H "Connection: close\r\nConnection: keep-alive\r\n\r\n",
      0, "GET", "/a", "", "", true },
    { "chunks",
      "POST /p HTTP/1.1\r\n" H
      "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nX",
      0, "POST", "/p", "hello world", "X" },
    { "space after a chunk size",
      "POST /p HTTP/1.1\r\n" H "transfer-encoding: Chunked\r\n\r\n"
      "A;name=\"v\"\r\n0123456789\r\n1 \r\n",
      400 },
    { "chunk extension",
      "POST /p HTTP/1.1\r\n" H "transfer-encoding: Chunked\r\n\r\n"
      "A;name=\"v\"\r\n0123456789\r\n000;x\r\nX-Sum: 1\r\n\r\n",
      0, "POST", "/p", "0123456789", "" },
    { "no chunks", "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0,
      "POST", "/p", "", "" },
    { "utf-8 in a value", "GET /a HTTP/1.1\r\n" H "X: \xc3\xa9\r\n\r\n", 0, "GET", "/a", "", "" },
    { "incomplete line", "GET /a HT", -1 },
    { "incomplete head", "GET /a HTTP/1.1\r\n" H, -1 },
    { "incomplete body", "POST /p HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhell", -1 },
    { "incomplete chunk", "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
      -1 },
    { "incomplete trailer", "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n",
      -1 },
    { "nothing", "", -1 },
    /* refused */
    { "both lengths",
      "POST /p HTTP/1.1\r\n" H "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400 },
    { "both lengths, other order",
      "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400 },
    { "length twice", "POST /p HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
      400 },
    { "length list", "POST /p HTTP/1.1\r\n" H "Content-Length: 3, 3\r\n\r\nabc", 400 },
    { "length +3", "POST /p HTTP/1.1\r\n" H "Content-Length: +3\r\n\r\nabc", 400 },
    { "length 0x3", "POST /p HTTP/1.1\r\n" H "Content-Length: 0x3\r\n\r\nabc", 400 },
    { "length empty", "POST /p HTTP/1.1\r\n" H "Content-Length:\r\n\r\n", 400 },
    { "length negative", "POST /p HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n", 400 },
    { "length huge", "POST /p HTTP/1.1\r\n" H "Content-Length: 99999999999999999999999\r\n\r\n",
      413 },
    { "length huge, then a letter",
      "POST /p HTTP/1.1\r\n" H "Content-Length: 99999999999999999999999x\r\n\r\n", 400 },
    { "length huge and chunks",
      "POST /p HTTP/1.1\r\n" H
      "Content-Length: 99999999999999999999999\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
    { "length over the limit", "POST /p HTTP/1.1\r\n" H "Content-Length: 101\r\n\r\n", 413 },
    { "chunks over the limit",
      "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n64\r\n", 413 },
    { "chunk size overflow",
      "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 413 },
    { "chunk size of all bits",
      "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413 },
    { "chunk size huge, then a letter",
      "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffx\r\n", 400 },
    { "chunk size empty", "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n\r\n", 400 },
    { "chunk size -1", "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400 },
    { "chunk size 0x1", "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n",
      400 },
    { "chunk longer than its size",
      "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400 },
    { "coding twice",
      "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      400 },
    { "coding unknown", "POST /p HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n", 501 },
    { "coding in 1.0", "POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
    { "space before colon", "GET /a HTTP/1.1\r\nHost : x\r\n\r\n", 400 },
    { "folded line", "GET /a HTTP/1.1\r\n" H "X: 1\r\n 2\r\n\r\n", 400 },
    { "no colon", "GET /a HTTP/1.1\r\n" H "what\r\n\r\n", 400 },
    { "no name", "GET /a HTTP/1.1\r\n" H ": 1\r\n\r\n", 400 },
    { "bare LF", "GET /a HTTP/1.1\n" H "\n", 400 },
    { "bare LF in the header",
      "GET /a HTTP/1.1\r\n"
      "Host: x\n\r\n",
      400 },
    { "bare CR", "GET /a HTTP/1.1\r\n" H "X: a\rb\r\n\r\n", 400 },
    { "control character", "GET /a HTTP/1.1\r\n" H "X: a\x01\r\n\r\n", 400 },
    { "no host", "GET /a HTTP/1.1\r\n\r\n", 400 },
    { "two hosts", "GET /a HTTP/1.1\r\n" H H "\r\n", 400 },
    { "host list", "GET /a HTTP/1.1\r\nHost: a, b\r\n\r\n", 400 },
    { "no target", "GET HTTP/1.1\r\n" H "\r\n", 400 },
    { "two spaces", "GET  /a HTTP/1.1\r\n" H "\r\n", 400 },
    { "space in target", "GET /a b HTTP/1.1\r\n" H "\r\n", 400 },
    { "target without slash", "GET a HTTP/1.1\r\n" H "\r\n", 400 },
    { "control in target", "GET /\x7f HTTP/1.1\r\n" H "\r\n", 400 },
    { "0.9", "GET /a\r\n", 400 },
    { "version 2", "PRI * HTTP/2.0\r\n\r\n", 505 },
    { "version junk", "GET /a HTTP/1.x\r\n" H "\r\n", 505 },
    { "lower-case version", "GET /a http/1.1\r\n" H "\r\n", 400 },
    { "method junk", "G(T /a HTTP/1.1\r\n" H "\r\n", 400 },
    { "expectation", "POST /p HTTP/1.1\r\n" H "Expect: tea\r\nContent-Length: 1\r\n\r\na", 417 },
    { "tls hello", "\x16\x03\x01\x02\n", 400 },
};

static const Http1Limits limits = { 2000, 100 };

/* Feeds the pieces; stops early when the request is complete or bad. */
static Http1Event feed(Http1 *h, Buf *in, const char *bytes, size_t n, size_t piece)
{
    Http1Event event = HTTP1_MORE;
    http1_start(h, limits);
    for (size_t at = 0; at < n && event != HTTP1_BAD && event != HTTP1_DONE; at += piece) {
        buf_add(in, bytes + at, MIN(piece, n - at));
        do event = http1_feed(h, in, &why);
        while (event == HTTP1_HEAD);
    }
    return event;
}

static bool as_wanted(const Case *c, const Http1 *h, Http1Event event, const Buf *in, bool all)
{
    if (c->status == -1) return event == HTTP1_MORE;
    if (c->status) return event == HTTP1_BAD && h->status == c->status && why.message[0];
    bool rest = !all || str_is((Str){ in->p + h->at, in->n - h->at }, c->rest);
    return event == HTTP1_DONE && str_is(http1_view(h->method, in), c->method) &&
           str_is(http1_view(h->path, in), c->path) && str_is(http1_view(h->body, in), c->body) &&
           rest && h->keep_alive == !c->close;
}

static void test_case(const Case *c)
{
    size_t n = strlen(c->bytes);
    Http1 h;
    TEST(c->name);
    for (size_t piece = 1; piece <= n + 1; piece++) { /* 1: bytes; n: whole; between: awkward */
        Buf in = { 0 };
        Http1Event event = feed(&h, &in, c->bytes, n, piece);
        if (!CHECK(as_wanted(c, &h, event, &in, piece >= n)))
            printf("  piece %zu: event %d status %d: %s\n", piece, event, h.status, why.message);
        buf_free(&in);
    }
    for (size_t cut = 1; cut < n; cut++) {
        Buf in = { 0 };
        http1_start(&h, limits);
        buf_add(&in, c->bytes, cut);
        Http1Event event;
        do event = http1_feed(&h, &in, &why);
        while (event == HTTP1_HEAD);
        if (event == HTTP1_MORE) {
            buf_add(&in, c->bytes + cut, n - cut);
            do event = http1_feed(&h, &in, &why);
            while (event == HTTP1_HEAD);
        }
        CHECK(as_wanted(c, &h, event, &in, false));
        buf_free(&in);
    }
}

static void test_limits(void)
{
    TEST("limits");
    Http1 h;
    Buf in = { 0 };
    char junk[4096];
    memset(junk, 'a', sizeof junk);
    CHECK(feed(&h, &in, junk, 1999, 7) == HTTP1_MORE);
    in.n = 0;
    CHECK(feed(&h, &in, junk, sizeof junk, 7) == HTTP1_BAD && h.status == 414 && in.n < 2100);
    in.n = 0;
    Buf text = { 0 };
    buf_puts(&text, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
    buf_add(&text, junk, sizeof junk);
    CHECK(feed(&h, &in, text.p, text.n, 100) == HTTP1_BAD && h.status == 431);
    in.n = text.n = 0;
    buf_puts(&text, "GET / HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 101; i++) buf_puts(&text, "X: 1\r\n");
    buf_puts(&text, "\r\n");
    CHECK(feed(&h, &in, text.p, text.n, 100) == HTTP1_BAD && h.status == 431);
    in.n = text.n = 0;
    buf_puts(&text, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
    for (int i = 0; i < 1000; i++) buf_puts(&text, "X: 1\r\n");
    CHECK(feed(&h, &in, text.p, text.n, 100) == HTTP1_BAD && h.status == 431);
    in.n = text.n = 0;
    buf_puts(&text, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;");
    buf_add(&text, junk, 300);
    CHECK(feed(&h, &in, text.p, text.n, 100) == HTTP1_BAD);
    buf_free(&text);
    buf_free(&in);
}

/* Many tiny chunks with long extensions: the buffer stays near the size of the body. */
static void test_gap(void)
{
    TEST("tiny chunks");
    Http1 h;
    Buf in = { 0 };
    char chunk[300];
    int size = snprintf(chunk, sizeof chunk, "1;%0200d\r\nx\r\n", 0);
    http1_start(&h, (Http1Limits){ 2000, 1 << 20 });
    buf_puts(&in, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    CHECK(http1_feed(&h, &in, &why) == HTTP1_HEAD);
    size_t most = 0;
    for (int i = 0; i < 10000; i++) {
        buf_add(&in, chunk, (size_t)size);
        if (http1_feed(&h, &in, &why) != HTTP1_MORE) break;
        most = MAX(most, in.n);
    }
    buf_puts(&in, "0\r\n\r\nrest");
    CHECK(http1_feed(&h, &in, &why) == HTTP1_DONE);
    Str body = http1_view(h.body, &in);
    CHECK(body.n == 10000 && body.p[0] == 'x' && body.p[9999] == 'x');
    CHECK(most < 100000);
    CHECK(str_is((Str){ in.p + h.at, in.n - h.at }, "rest"));
    buf_free(&in);
}

static void test_events(void)
{
    TEST("events");
    Http1 h;
    Buf in = { 0 };
    http1_start(&h, limits);
    CHECK(!http1_begun(&h, &in));
    buf_puts(&in, "POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: text/x\r\n"
                  "Content-Length: 2\r\n\r\n");
    CHECK(http1_begun(&h, &in));
    CHECK(http1_feed(&h, &in, &why) == HTTP1_HEAD && h.expects_continue && http1_has_body(&h));
    CHECK(str_is(http1_view(h.field[HEADER_CONTENT_TYPE], &in), "text/x"));
    CHECK(http1_feed(&h, &in, &why) == HTTP1_MORE);
    buf_puts(&in, "ab");
    CHECK(http1_feed(&h, &in, &why) == HTTP1_DONE && !http1_has_body(&h));
    CHECK(http1_feed(&h, &in, &why) == HTTP1_DONE);
    buf_free(&in);
}

static void test_reply(void)
{
    char date[HTTP_DATE];
    http_date(date, 784111777);
    TEST("reply");
    Buf out = { 0 };
    http1_write_head(&out, &(Reply){ .status = 405, .type = "a/b", .length = 7, .close = true,
                                          .allow = "GET, HEAD", .retry_after = 1 }, date);
    CHECK(str_is(buf_view(&out), "HTTP/1.1 405 Method Not Allowed\r\n"
                                 "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: a/b\r\n"
                                 "Content-Length: 7\r\nAllow: GET, HEAD\r\nRetry-After: 1\r\n"
                                 "Connection: close\r\n\r\n"));
    out.n = 0;
    http1_write_head(&out, &(Reply){ .status = 200, .type = "a/b", .keep = true }, date);
    CHECK(str_ends(buf_view(&out), "Content-Length: 0\r\nConnection: keep-alive\r\n\r\n"));
    buf_free(&out);
}

int main(void)
{
    for (size_t i = 0; i < COUNT(cases); i++) test_case(&cases[i]);
    test_limits();
    test_gap();
    test_events();
    test_reply();
    return finish();
}

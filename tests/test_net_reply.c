/* SPDX-License-Identifier: Apache-2.0
 * URLs, and the heads and bodies of replies as a client reads them. */
#include "check.h"
#include "net/http.h"

static Arena arena;

static void test_urls(void)
{
    Url u, v;
    Err err;
    TEST("url");
    CHECK(url_parse(&arena, STR("https://Hub.Example:8443/a/b?c=d#e"), &u, &err));
    CHECK(u.tls && u.port == 8443 && strcmp(u.host, "hub.example") == 0 && strcmp(u.path, "/a/b?c=d") == 0);
    CHECK(url_parse(&arena, STR("http://[::1]:80"), &u, &err) && strcmp(u.host, "::1") == 0 && u.port == 80 &&
          strcmp(u.path, "/") == 0 && strcmp(url_authority(&arena, &u), "[::1]") == 0);
    CHECK(url_parse(&arena, STR("http://me:a%20b@proxy:3128"), &u, &err) && str_is(u.user, "me:a%20b"));
    CHECK(url_parse(&arena, STR("https://h?x"), &u, &err) && strcmp(u.path, "/?x") == 0);
    static const char *const bad[] = { "", "ftp://h/", "https://", "https:///x", "https://h:0/", "https://h:70000/",
                                       "https://h:x/", "https://a b/", "https://h/\r\nX: y", "https://h\n/",
                                       "https://[::zz]/", "https://h,i/", "//h/", "https://user@/" };
    for (size_t i = 0; i < COUNT(bad); i++)
        if (!CHECK(!url_parse(&arena, str_of(bad[i]), &u, &err))) printf("  was: %s\n", bad[i]);
    TEST("redirects");
    CHECK(url_parse(&arena, STR("https://h:444/a/b/c?x=/y/"), &u, &err));
    CHECK(url_follow(&arena, &u, STR("/z"), &v, &err) && v.port == 444 && strcmp(v.path, "/z") == 0);
    CHECK(url_follow(&arena, &u, STR("z"), &v, &err) && strcmp(v.path, "/a/b/z") == 0 && url_same_host(&u, &v));
    CHECK(url_follow(&arena, &u, STR("//i/z"), &v, &err) && v.tls && strcmp(v.host, "i") == 0 && v.port == 443);
    CHECK(url_follow(&arena, &u, STR("http://h:444/"), &v, &err) && !url_same_host(&u, &v));
    CHECK(!url_follow(&arena, &u, STR("https://h/\r\nSet: x"), &v, &err));
    CHECK(!url_is_safe(&(Url){ .host = "hub.test" }, &err) && url_is_safe(&(Url){ .host = "127.0.0.1" }, &err));
    TEST("escapes");
    CHECK(strcmp(url_escape(&arena, STR("a b/c%\xc3\xa4?"), false), "a%20b/c%25%C3%A4%3F") == 0);
    CHECK(strcmp(url_escape(&arena, STR("refs/pr/1"), true), "refs%2Fpr%2F1") == 0);
    TEST("NO_PROXY");
    CHECK(http_without_proxy(STR("a.test, .example.com,*.x"), "hub.example.com"));
    CHECK(http_without_proxy(STR("example.com"), "EXAMPLE.com") && http_without_proxy(STR("*"), "any"));
    CHECK(!http_without_proxy(STR("example.com"), "myexample.com") && !http_without_proxy(STR(""), "any"));
    CHECK(http_without_proxy(STR(""), "127.0.0.1"));
}

static void test_heads(void)
{
    ReplyHead h;
    Err err;
    Str ok = STR("HTTP/1.1 302 Found\r\nContent-Length: 12\r\nx-linked-etag:  \"ab\" \r\nEmpty:\r\n\r\n");
    TEST("head");
    CHECK(reply_head_length(ok) == ok.n && reply_head_length((Str){ ok.p, ok.n - 1 }) == 0);
    CHECK(reply_head_read(ok, &h, &err) && h.status == 302 && h.length == 12 && h.keep && !h.chunked);
    CHECK(str_is(reply_field(&h, "X-Linked-Etag"), "\"ab\"") && reply_field(&h, "Empty").n == 0 &&
          reply_field(&h, "X-Linked").n == 0);
    CHECK(reply_head_read(STR("HTTP/1.0 200 OK\r\n\r\n"), &h, &err) && !h.keep && h.length == -1);
    CHECK(reply_head_read(STR("HTTP/1.1 200\r\nConnection: Close\r\nTransfer-Encoding: Chunked\r\nContent-Length: 5\r\n\r\n"),
                          &h, &err) && !h.keep && h.chunked && h.length == -1);
    CHECK(reply_head_read(STR("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"), &h, &err));
    static const char *const bad[] = { "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 099 x\r\n\r\n", "HTTP/1.1 2000\r\n\r\n", "ICY 200 OK\r\n\r\n", "\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n" };
    for (size_t i = 0; i < COUNT(bad); i++)
        if (!CHECK(!reply_head_read(str_of(bad[i]), &h, &err))) printf("  was: %s\n", bad[i]);
}

/* The body of a reply that comes in steps of so many bytes; NULL: malformed. */
static const char *body_of(ReplyHead h, Str bytes, size_t step, bool *done)
{
    static char out[256];
    ReplyBody b;
    size_t n = 0, at = 0;
    reply_body_start(&b, &h, false);
    while (at < bytes.n) {
        Str data, part = { bytes.p + at, MIN(step, bytes.n - at) };
        bool ok;
        size_t taken = reply_body_take(&b, part, &data, &ok);
        if (!ok) return NULL;
        memcpy(out + n, data.p, data.n);
        n += data.n, at += taken;
        if (b.done || taken == 0) break;
    }
    out[n] = 0;
    *done = b.done;
    return out;
}

static void test_bodies(void)
{
    const ReplyHead chunked = { .status = 200, .chunked = true, .length = -1 };
    bool done;
    TEST("body");
    for (size_t step = 1; step < 40; step++) {
        const char *body = body_of(chunked, STR("5;a=b\r\nhello\r\nA \r\n, 10 bytes\r\n0\r\nTrailer: x\r\n\r\nnext"), step, &done);
        CHECK(body && done && strcmp(body, "hello, 10 bytes") == 0);
        CHECK(strcmp(body_of((ReplyHead){ .status = 200, .length = 5 }, STR("hello more"), step, &done), "hello") == 0 && done);
        CHECK(strcmp(body_of((ReplyHead){ .status = 200, .length = -1 }, STR("to the end"), step, &done), "to the end") == 0 && !done);
    }
    body_of(chunked, STR("5\r\nhel"), 3, &done);
    CHECK(!done);
    static const char *const bad[] = { "x\r\n", "\r\n", ";\r\n", " 5\r\n", "5x\r\nhello\r\n", "fffffffffffffffff\r\n",
                                       "5\r\nhelloX\r\n" };
    for (size_t i = 0; i < COUNT(bad); i++)
        if (!CHECK(!body_of(chunked, str_of(bad[i]), 100, &done))) printf("  was: %s\n", bad[i]);
    ReplyBody b;
    reply_body_start(&b, &(ReplyHead){ .status = 200, .length = 5 }, true);
    CHECK(b.done); /* of HEAD */
    reply_body_start(&b, &(ReplyHead){ .status = 304, .length = 5 }, false);
    CHECK(b.done);
}

int main(void)
{
    test_urls();
    test_heads();
    test_bodies();
    arena_free(&arena);
    return finish();
}

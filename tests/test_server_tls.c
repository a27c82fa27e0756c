/* SPDX-License-Identifier: Apache-2.0
 * test_server_tls.c - the port under TLS: both versions of HTTP, certificates that change, clients
 * with and without theirs, and clients that speak something else. */
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "net/tls.h"
#include "server_fake.h"

static char folder[] = "/tmp/test_tls.XXXXXX";

/* ---- certificates, made here ---- */
typedef struct Identity {
    char cert[64], key[64];      /* files */
} Identity;

static X509 *make_cert(EVP_PKEY *key, const char *name)
{
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    X509_sign(x, key, EVP_sha256());
    return x;
}

static Identity identity(const char *name)
{
    Identity id;
    snprintf(id.cert, sizeof id.cert, "%s/%s.cert", folder, name);
    snprintf(id.key, sizeof id.key, "%s/%s.key", folder, name);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = make_cert(key, name);
    FILE *cert = fopen(id.cert, "w"), *secret = fopen(id.key, "w");
    PEM_write_X509(cert, x);
    PEM_write_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL);
    fclose(cert), fclose(secret);
    X509_free(x);
    EVP_PKEY_free(key);
    return id;
}

static void copy(const char *from, const char *to)
{
    char bytes[8192];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    fwrite(bytes, 1, fread(bytes, 1, sizeof bytes, in), out);
    fclose(in), fclose(out);
}

/* ---- a client ---- */
typedef struct Hello {
    int version;                 /* the newest it speaks; 0: any */
    const char *protocols;       /* ALPN, as on the wire; NULL: none */
    const Identity *own;
} Hello;

/* NULL: the handshake failed. */
static SSL *greet(const Running *r, Hello hello)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (hello.version) SSL_CTX_set_max_proto_version(context, hello.version);
    if (hello.own) SSL_CTX_use_certificate_file(context, hello.own->cert, SSL_FILETYPE_PEM);
    if (hello.own) SSL_CTX_use_PrivateKey_file(context, hello.own->key, SSL_FILETYPE_PEM);
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context);
    if (hello.protocols)
        SSL_set_alpn_protos(ssl, (const unsigned char *)hello.protocols,
                            (unsigned)strlen(hello.protocols));
    SSL_set_fd(ssl, connect_to(r));
    if (SSL_connect(ssl) == 1) return ssl;
    close(SSL_get_fd(ssl));
    SSL_free(ssl);
    return NULL;
}

static void leave(SSL *ssl)
{
    if (!ssl) return;
    SSL_shutdown(ssl);
    close(SSL_get_fd(ssl));
    SSL_free(ssl);
}

/* To the end of the stream, or of `n` bytes. Freed by the next call. */
static const char *tls_get(SSL *ssl, size_t n)
{
    static Buf in;
    in.n = 0;
    for (int got = 1; got > 0 && in.n < n; in.n += (size_t)MAX(got, 0)) {
        buf_reserve(&in, 1 << 16);
        got = SSL_read(ssl, in.p + in.n, (int)MIN(n - in.n, 1 << 16));
    }
    buf_char(&in, 0);
    return in.p;
}

static const char *tls_ask(const Running *r, Hello hello, const char *request)
{
    SSL *ssl = greet(r, hello);
    if (!ssl) return "";
    SSL_write(ssl, request, (int)strlen(request));
    const char *reply = tls_get(ssl, SIZE_MAX);
    leave(ssl);
    return reply;
}

#define END "Connection: close\r\n\r\n"
#define HEALTH "GET /health" H END

static bool speaks(SSL *ssl, const char *protocol)
{
    const unsigned char *p = NULL;
    unsigned n = 0;
    if (ssl) SSL_get0_alpn_selected(ssl, &p, &n);
    return ssl && n == strlen(protocol) && memcmp(p ? (const char *)p : "", protocol, n) == 0;
}

static void test_handshake(const Running *r)
{
    TEST("handshake");
    CHECK(has(tls_ask(r, (Hello){ 0 }, HEALTH), "\"OK!\""));
    CHECK(has(tls_ask(r, (Hello){ .version = TLS1_2_VERSION }, HEALTH), "\"OK!\""));
    CHECK(*tls_ask(r, (Hello){ .version = TLS1_1_VERSION }, HEALTH) == 0);
    static const struct { const char *offers, *chosen; } rows[] = {
        { "\x02h2\x08http/1.1", "h2" },
        { "\x08http/1.1\x02h2", "h2" },
        { "\x08http/1.1", "http/1.1" },
        { "\x03foo", "" },
        { NULL, "" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        SSL *ssl = greet(r, (Hello){ .protocols = rows[i].offers });
        CHECK(speaks(ssl, rows[i].chosen));
        CHECK(ssl && SSL_version(ssl) == TLS1_3_VERSION);
        leave(ssl);
    }
}

static void test_both_versions(const Running *r)
{
    TEST("HTTP/1.1 and HTTP/2");
    CHECK(has(tls_ask(r, (Hello){ 0 }, "POST /predict" H JSON "Content-Length: 16\r\n" END
                                       "{\"inputs\":[\"a\"]}"), REPLY_A));
    SSL *ssl = greet(r, (Hello){ .protocols = "\x02h2" });
    static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
                                "\0\0\x03\x01\x05\0\0\0\x01\x82\x84\x87"; /* GET / */
    SSL_write(ssl, hello, sizeof hello - 1);
    const char *frames = tls_get(ssl, 9 + 18);
    CHECK(frames[3] == 4 && frames[2] == 18); /* our SETTINGS */
    leave(ssl);
}

static void test_large(const Running *r)
{
    TEST("slow reader of a long reply");
    Buf request = { 0 }, body = { 0 };
    buf_puts(&body, "{\"inputs\":[");
    for (int i = 0; i < 100; i++) {
        buf_puts(&body, i ? ",\"" : "\"");
        for (int k = 0; k < 500; k++) buf_puts(&body, "a ");
        buf_char(&body, '"');
    }
    buf_puts(&body, "]}");
    buf_printf(&request, "POST /predict" H JSON "Content-Length: %zu\r\n" END, body.n);
    buf_str(&request, buf_view(&body));
    SSL *ssl = greet(r, (Hello){ 0 });
    SSL_write(ssl, request.p, (int)request.n);
    usleep(200000);
    CHECK(has(tls_ask(r, (Hello){ 0 }, HEALTH), "\"OK!\""));
    const char *reply = tls_get(ssl, SIZE_MAX);
    size_t n = strlen(reply);
    CHECK(has(reply, "HTTP/1.1 200 OK") && n > 3000000 && strcmp(reply + n - 2, "\"}") == 0);
    leave(ssl);
    buf_free(&request), buf_free(&body);
}

/* What is not TLS, and what is only half of it, is closed and disturbs nobody. */
static void test_others(const Running *r)
{
    TEST("not TLS");
    const char *plain = ask(r, HEALTH);
    CHECK(has(plain, "HTTP/1.1 400 ") && has(plain, "found http://, wanted https://\n") && !strstr(plain, "OK!"));
    int half = connect_to(r), junk = connect_to(r);
    put(half, "\x16\x03\x01\x02");
    CHECK(send(junk, "\x16\x03\x01\x00\x05hello", 10, MSG_NOSIGNAL) == 10);
    char byte[64];
    while (recv(junk, byte, sizeof byte, 0) > 0) continue;
    CHECK(has(tls_ask(r, (Hello){ 0 }, HEALTH), "\"OK!\""));
    close(half), close(junk);
}

/* A handshake has a head's time, not that between requests; afterwards it is the other way round. */
static void test_slow_handshake(Identity id)
{
    TEST("slow handshake");
    Running r = { .server = { .cert_file = id.cert, .key_file = id.key, .header_timeout_s = 0.3,
                              .idle_timeout_s = 600 } };
    char byte[64];
    start(&r);
    int silent = connect_to(&r), half = connect_to(&r);
    SSL *idle = greet(&r, (Hello){ 0 });
    put(half, "\x16\x03\x01\x02");
    CHECK(recv(silent, byte, sizeof byte, 0) <= 0); /* waits */
    CHECK(recv(half, byte, sizeof byte, 0) <= 0);
    usleep(500000);
    SSL_write(idle, HEALTH, sizeof HEALTH - 1);
    CHECK(has(tls_get(idle, SIZE_MAX), "\"OK!\""));
    close(silent), close(half);
    leave(idle);
    stop(&r);
}

static void *drip(void *context)
{
    const int fd = *(int *)context;
    static const char head[] = { 0x16, 3, 3, 0x40, 0 }; /* of a record of 16 KB, of which a byte comes now and then */
    bool open = send(fd, head, sizeof head, MSG_NOSIGNAL) > 0;
    for (int i = 0; open && i < 200; i++, usleep(50000)) open = send(fd, "\2", 1, MSG_NOSIGNAL) > 0;
    return NULL;
}

/* Our own calls: a server that keeps sending has a limit, too. */
static void test_slow_server(void)
{
    TEST("slow server");
    int pair[2];
    pthread_t thread;
    Err err = { 0 };
    Tls *tls = tls_client(&err);
    if (!CHECK(tls && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)) return;
    CHECK(pthread_create(&thread, NULL, drip, &pair[1]) == 0);
    const double from = now_seconds();
    CHECK(!tls_connect(tls, pair[0], "localhost", 1, &err) && strstr(err.message, "no agreement in 1 s"));
    CHECK(now_seconds() - from < 5);
    close(pair[0]);
    pthread_join(thread, NULL);
    close(pair[1]);
    tls_free(tls);
}

static bool shows(SSL *ssl, const char *name)
{
    char found[64] = "";
    X509 *x = ssl ? SSL_get1_peer_certificate(ssl) : NULL;
    if (x) X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, found, sizeof found);
    X509_free(x);
    return strcmp(found, name) == 0;
}

static bool comes_to_show(const Running *r, const char *name)
{
    bool ok = false;
    for (int i = 0; i < 100 && !ok; i++, usleep(50000)) {
        SSL *ssl = greet(r, (Hello){ 0 });
        ok = shows(ssl, name);
        leave(ssl);
    }
    return ok;
}

static void test_reload(void)
{
    TEST("reload");
    Identity one = identity("one"), two = identity("two"), now = identity("now");
    volatile int wishes = 0;
    copy(one.cert, now.cert), copy(one.key, now.key);
    Running r = { .server = { .cert_file = now.cert, .key_file = now.key, .reload = &wishes } };
    start(&r);
    SSL *old = greet(&r, (Hello){ 0 });
    CHECK(shows(old, "one"));
    copy(two.cert, now.cert); /* with the other's key: refused, the old pair stays */
    __atomic_add_fetch(&wishes, 1, __ATOMIC_RELAXED);
    usleep(300000);
    CHECK(comes_to_show(&r, "one"));
    copy(two.key, now.key);
    __atomic_add_fetch(&wishes, 1, __ATOMIC_RELAXED);
    CHECK(comes_to_show(&r, "two"));
    SSL_write(old, HEALTH, sizeof HEALTH - 1);
    CHECK(has(tls_get(old, SIZE_MAX), "\"OK!\"")); /* nobody was thrown out */
    leave(old);
    stop(&r);
}

static void test_clients(void)
{
    TEST("client certificates");
    Identity server = identity("server"), friend = identity("friend"), other = identity("other");
    Running r = { .server = { .cert_file = server.cert, .key_file = server.key,
                              .client_ca_file = friend.cert } };
    start(&r);
    CHECK(has(tls_ask(&r, (Hello){ .own = &friend }, HEALTH), "\"OK!\""));
    CHECK(!strstr(tls_ask(&r, (Hello){ .own = &other }, HEALTH), "OK!"));
    CHECK(!strstr(tls_ask(&r, (Hello){ 0 }, HEALTH), "OK!"));
    CHECK(!strstr(tls_ask(&r, (Hello){ .version = TLS1_2_VERSION }, HEALTH), "OK!"));
    stop(&r);
}

static const char *text_file(const char *name, const char *text)
{
    static char path[4][64];
    static int n;
    char *to = path[n++ % 4];
    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    FILE *f = fopen(to, "w");
    fputs(text, f);
    fclose(f);
    return to;
}

/* cipher: NULL for a key that is another kind than the certificates'. */
static const char *key_file(const char *name, const EVP_CIPHER *cipher)
{
    const char *to = text_file(name, "");
    EVP_PKEY *key = cipher ? EVP_EC_gen("P-256") : EVP_RSA_gen(2048);
    FILE *f = fopen(to, "w");
    PEM_write_PKCS8PrivateKey(f, key, cipher, "word", cipher ? 4 : 0, NULL, NULL);
    fclose(f);
    EVP_PKEY_free(key);
    return to;
}

static void test_files(void)
{
    TEST("files");
    Identity one = identity("one"), two = identity("two");
    const char *junk = text_file("junk", "no certificate");
    const char *half = text_file("half", "-----BEGIN CERTIFICATE-----\nMII\n");
    const char *locked = key_file("locked", EVP_aes_128_cbc()), *rsa = key_file("rsa", NULL);
#define CHAIN "wanted a PEM certificate and those above it"
#define KEY "wanted a PEM private key without a password"
    const struct { const char *cert, *key, *ca, *words; } rows[] = {
        { "/nowhere/x", one.key, NULL, "certificate: /nowhere/x: No such file" },
        { one.cert, "/nowhere/x", NULL, "key: /nowhere/x: No such file" },
        { one.cert, one.key, "/nowhere/x", "client certificates: /nowhere/x: No such file" },
        { junk, one.key, NULL, "/junk: found nothing in PEM (no -----BEGIN line), " CHAIN },
        { one.key, one.key, NULL, "/one.key: found a PEM block of \"PRIVATE KEY\", " CHAIN },
        { half, one.key, NULL, "/half: found a broken \"CERTIFICATE\" (" },
        { one.cert, junk, NULL, "/junk: found nothing in PEM (no -----BEGIN line), " KEY },
        { one.cert, one.cert, NULL, "/one.cert: found a PEM block of \"CERTIFICATE\", " KEY },
        { one.cert, locked, NULL, "/locked: found a key with a password, " KEY },
        { one.cert, two.key, NULL, "/two.key: found the key of another certificate, wanted that of" },
        { one.cert, rsa, NULL, "/rsa: found the key of another certificate, wanted that of" },
        { one.cert, one.key, junk, "client certificates: " },
        { one.cert, one.key, one.key,
          "found a PEM block of \"PRIVATE KEY\", wanted PEM certificates that sign those of clients" },
        { one.cert, NULL, NULL, "found no key, wanted both" },
        { NULL, NULL, one.cert, "found no certificate" },
    };
    int stopped = 1;
    for (size_t i = 0; i < COUNT(rows); i++) {
        Err err = { 0 };
        ServerOptions o = { .hostname = "127.0.0.1", .cert_file = rows[i].cert,
                            .key_file = rows[i].key, .client_ca_file = rows[i].ca };
        Session *s = job_session(&model, &(SessionOptions){ .threads = 1 });
        CHECK(!server_run(s, &o, &stopped, &err) && says(&err, rows[i].words));
        session_free(s);
    }
}

int main(void)
{
    log_limit(EF_LOG_ERROR);
    TEST("model");
    if (!CHECK(make_model()) || !CHECK(mkdtemp(folder))) return finish();
    Identity id = identity("localhost");
    Running r = { .server = { .cert_file = id.cert, .key_file = id.key } };
    start(&r);
    test_handshake(&r);
    test_both_versions(&r);
    test_large(&r);
    test_others(&r);
    stop(&r);
    test_slow_handshake(id);
    test_slow_server();
    test_reload();
    test_clients();
    test_files();
    char clean[64];
    snprintf(clean, sizeof clean, "rm -r %s", folder);
    CHECK(system(clean) == 0);
    return finish();
}

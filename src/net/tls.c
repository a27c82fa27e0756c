/* SPDX-License-Identifier: Apache-2.0
 * tls.c - contexts from files, and OpenSSL's calls in the manner of recv and send. */
#include "net/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/heap.h"
#include "base/thread.h"

struct Tls {
    TlsFiles files;              /* names are the caller's */
    SSL_CTX *context;            /* connections hold on to theirs */
    BIO_METHOD *socket;
    pthread_mutex_t lock;        /* of context: a loop accepts while another reloads */
};

/* ---- sockets: as OpenSSL's own, but a client that is gone raises no signal ---- */
static int fd_of(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int socket_write(BIO *bio, const char *bytes, int n)
{
    BIO_clear_retry_flags(bio);
    ssize_t sent = send(fd_of(bio), bytes, (size_t)n, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return (int)sent;
}

static int socket_read(BIO *bio, char *to, int room)
{
    BIO_clear_retry_flags(bio);
    ssize_t n = recv(fd_of(bio), to, (size_t)room, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    if (n == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return (int)n;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
    (void)number, (void)pointer;
    if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *socket_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (!m) return NULL;
    BIO_meth_set_write(m, socket_write);
    BIO_meth_set_read(m, socket_read);
    BIO_meth_set_ctrl(m, socket_control);
    return m;
}

/* ---- contexts ---- */
enum { PEM_LIMIT = 1 << 20 };
typedef struct PemFile {         /* what a file should hold */
    const char *what, *block, *wanted;
} PemFile;
static const PemFile certificate = { "certificate", "CERTIFICATE",
                                     "a PEM certificate and those above it" };
static const PemFile private_key = { "key", "PRIVATE KEY", "a PEM private key without a password" };
static const PemFile client_authority = { "client certificates", "CERTIFICATE",
                                          "PEM certificates that sign those of clients" };
static const PemFile roots = { "root certificates", "CERTIFICATE", "PEM certificates" };

/* The name of the next "-----BEGIN NAME-----", and *text behind it; n 0: there is none. */
static Str next_block(Str *text)
{
    const char *begin = memmem(text->p, text->n, "-----BEGIN ", 11), *end = text->p + text->n;
    if (!begin) return (Str){ 0 };
    Str name = { begin + 11, 0 };
    while (name.p + name.n < end && name.p[name.n] != '-' && name.p[name.n] != '\n') name.n++;
    *text = (Str){ name.p + name.n, (size_t)(end - name.p) - name.n };
    return name;
}

/* OpenSSL's reasons are about its parser; this is about the file. */
static const char *found_in(Arena *arena, const char *file, const PemFile *kind, const char *reason)
{
    Err ignored;
    Str text = STR("");
    file_read(arena, file, PEM_LIMIT, &text, &ignored);
    if (memmem(text.p, text.n, "ENCRYPTED", 9) && kind == &private_key)
        return "a key with a password";
    Str first = next_block(&text), name = first;
    while (name.n && !memmem(name.p, name.n, kind->block, strlen(kind->block)))
        name = next_block(&text);
    if (!first.n) return "nothing in PEM (no -----BEGIN line)";
    if (!name.n) return str_format(arena, "a PEM block of \"%.*s\"", STR_ARG(first));
    return str_format(arena, "a broken \"%.*s\" (%s)", STR_ARG(name), reason);
}

static bool refused(Err *err, const PemFile *kind, const char *file)
{
    unsigned long code = ERR_peek_error(); /* the first: those after it follow from it */
    const char *reason = ERR_reason_error_string(code);
    Arena arena = { 0 };
    ERR_clear_error();
    if (ERR_SYSTEM_ERROR(code))
        return fail(err, EF_IO, "%s: %s: %s", kind->what, file, strerror(ERR_GET_REASON(code)));
    fail(err, EF_IO, "%s: %s: found %s, wanted %s", kind->what, file,
         found_in(&arena, file, kind, reason ? reason : "not usable"), kind->wanted);
    arena_free(&arena);
    return false;
}

/* Nobody is there to be asked for a password. */
static int no_password(char *to, int room, int writing, void *user)
{
    (void)to, (void)room, (void)writing, (void)user;
    return 0;
}

/* The first of ours that the client knows; none: it may still speak HTTP/1.1. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *n,
                           const unsigned char *offered, unsigned offered_n, void *user)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    (void)ssl, (void)user;
    int found = SSL_select_next_proto((unsigned char **)out, n, ours, sizeof ours - 1, offered,
                                      offered_n);
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static bool load_key(SSL_CTX *context, TlsFiles files, Err *err)
{
    bool read = SSL_CTX_use_PrivateKey_file(context, files.key, SSL_FILETYPE_PEM) == 1;
    bool other = !read && ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_X509;
    if (!read && !other) return refused(err, &private_key, files.key);
    if (!other && SSL_CTX_check_private_key(context) == 1) return true;
    ERR_clear_error();
    return fail(err, EF_IO, "key: %s: found the key of another certificate, wanted that of %s",
                files.key, files.cert);
}

static bool load(SSL_CTX *context, TlsFiles files, Err *err)
{
    if (SSL_CTX_use_certificate_chain_file(context, files.cert) != 1)
        return refused(err, &certificate, files.cert);
    if (!load_key(context, files, err)) return false;
    if (!files.client_ca) return true;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(files.client_ca);
    if (!names || SSL_CTX_load_verify_file(context, files.client_ca) != 1)
        return refused(err, &client_authority, files.client_ca);
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return true;
}

static void tls_configure(SSL_CTX *context)
{
    static const unsigned char name[] = "encoderfile";
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20"); /* of 1.2; 1.3 has its own */
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); /* tickets are with the client */
    SSL_CTX_set_default_passwd_cb(context, no_password);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
}

bool tls_reload(Tls *tls, Err *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context) return fail(err, EF_IO, "TLS: could not be started");
    tls_configure(context);
    if (!load(context, tls->files, err)) return SSL_CTX_free(context), false;
    pthread_mutex_lock(&tls->lock);
    SSL_CTX *old = tls->context;
    tls->context = context;
    pthread_mutex_unlock(&tls->lock);
    SSL_CTX_free(old);
    return true;
}

static Tls *new(TlsFiles files, Err *err)
{
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
    Tls *tls = heap_resize(NULL, sizeof *tls);
    if (tls)
        *tls = (Tls){ .files = files, .socket = socket_method(), .lock = PTHREAD_MUTEX_INITIALIZER };
    if (tls && tls->socket) return tls;
    tls_free(tls);
    return fail(err, EF_IO, "TLS: no memory"), NULL;
}

Tls *tls_new(TlsFiles files, Err *err)
{
    if (!files.cert || !files.key) {
        fail(err, EF_USAGE, "TLS: found %s, wanted both --cert-file and --key-file",
             files.cert ? "no key" : "no certificate");
        return NULL;
    }
    Tls *tls = new(files, err);
    if (tls && tls_reload(tls, err)) return tls;
    tls_free(tls);
    return NULL;
}

/* Where systems keep the certificates they trust: OpenSSL only knows the place of the one it was
 * built on. NULL: nowhere known. */
static const char *roots_file(void)
{
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Alpine */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
        "/etc/ssl/ca-bundle.pem",             /* openSUSE */
        "/etc/ssl/cert.pem",
    };
    for (size_t i = 0; i < COUNT(places); i++)
        if (access(places[i], R_OK) == 0) return places[i];
    return NULL;
}

static const char *roots_said(const char *variable)
{
    const char *said = getenv(variable);
    return said && *said ? said : NULL;
}

/* $SSL_CERT_FILE and $SSL_CERT_DIR, and without both the system's. */
static bool load_roots(SSL_CTX *context, Err *err)
{
    const char *file = roots_said("SSL_CERT_FILE"), *folder = roots_said("SSL_CERT_DIR");
    if (!file && !folder) file = roots_file();
    if (!file && !folder)
        return fail(err, EF_IO, "root certificates: found none on this machine, wanted a file of "
                                "them in $SSL_CERT_FILE, or the package ca-certificates");
    if (file && SSL_CTX_load_verify_file(context, file) != 1) return refused(err, &roots, file);
    if (!folder) return true;
    if (access(folder, R_OK | X_OK) == 0 && SSL_CTX_load_verify_dir(context, folder) == 1) return true;
    ERR_clear_error();
    return fail(err, EF_IO, "root certificates: %s: found no folder that can be read, wanted one of "
                "certificates by their hash", folder);
}

static bool trust_roots(Tls *tls, Err *err)
{
    tls->context = SSL_CTX_new(TLS_client_method());
    if (!tls->context) return fail(err, EF_IO, "TLS: could not be started");
    SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION);
    SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
    return load_roots(tls->context, err);
}

Tls *tls_client(Err *err)
{
    Tls *tls = new((TlsFiles){ 0 }, err);
    if (tls && trust_roots(tls, err)) return tls;
    tls_free(tls);
    return NULL;
}

void tls_free(Tls *tls)
{
    if (!tls) return;
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->socket);
    heap_resize(tls, 0);
}

/* ---- connections: TlsConn is an SSL by another name ---- */
static SSL *on_socket(Tls *tls, int fd)
{
    pthread_mutex_lock(&tls->lock);
    SSL *ssl = SSL_new(tls->context);
    pthread_mutex_unlock(&tls->lock);
    BIO *bio = ssl ? BIO_new(tls->socket) : NULL;
    if (!bio) return SSL_free(ssl), NULL;
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return ssl;
}

TlsConn *tls_accept(Tls *tls, int fd)
{
    SSL *ssl = on_socket(tls, fd);
    if (ssl) SSL_set_accept_state(ssl);
    return (TlsConn *)ssl;
}

/* What the certificate must name: an address, or a name (then the server is told, too). */
static bool expect(SSL *ssl, const char *host)
{
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1) return true;
    ERR_clear_error();
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static bool refused_server(Err *err, SSL *ssl, const char *host)
{
    long verdict = SSL_get_verify_result(ssl);
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    if (verdict != X509_V_OK) reason = X509_verify_cert_error_string(verdict);
    fail(err, EF_IO, "TLS with %s: %s", host, reason ? reason : "no answer");
    ERR_clear_error();
    return false;
}

/* A server that sends a byte now and then must not hold the caller for ever: the handshake has one limit as a whole. */
static bool handshake(SSL *ssl, int fd, double seconds, bool *late)
{
    const double end = now_seconds() + seconds;
    int done;
    while ((done = SSL_connect(ssl)) != 1) {
        const int why = SSL_get_error(ssl, done);
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return false;
        const double left = end - now_seconds();
        struct pollfd p = { .fd = fd, .events = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT };
        if ((*late = left <= 0)) return false;
        poll(&p, 1, (int)(left * 1000) + 1);
    }
    return true;
}

TlsConn *tls_connect(Tls *tls, int fd, const char *host, int seconds, Err *err)
{
    SSL *ssl = on_socket(tls, fd);
    if (!ssl) return fail(err, EF_IO, "TLS: no memory"), NULL;
    const int flags = fcntl(fd, F_GETFL);
    bool late = false;
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    const bool ok = expect(ssl, host) && handshake(ssl, fd, seconds, &late);
    fcntl(fd, F_SETFL, flags);
    if (ok) return (TlsConn *)ssl;
    if (late) fail(err, EF_IO, "TLS with %s: no agreement in %d s", host, seconds), ERR_clear_error();
    else refused_server(err, ssl, host);
    SSL_free(ssl);
    return NULL;
}

/* Somebody wrote http:// where https:// was meant. What has come of the request is thrown away, so
 * that closing the connection does not take the answer with it. */
static void answer_plain(int fd)
{
    static const char words[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                                "Connection: close\r\nContent-Length: 53\r\n\r\n"
                                "This port speaks TLS: found http://, wanted https://\n";
    char rest[4096];
    for (int i = 0; i < 16 && recv(fd, rest, sizeof rest, MSG_DONTWAIT) > 0;) i++;
    send(fd, words, sizeof words - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What a call that moved nothing means. */
static ssize_t outcome(SSL *ssl)
{
    int why = SSL_get_error(ssl, 0);
    if (why == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST)
        answer_plain(fd_of(SSL_get_rbio(ssl)));
    ERR_clear_error();
    if (why == SSL_ERROR_ZERO_RETURN) return 0;
    errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    return -1;
}

bool tls_ready(const TlsConn *c)
{
    return SSL_is_init_finished((const SSL *)c);
}

ssize_t tls_read(TlsConn *c, void *to, size_t room)
{
    SSL *ssl = (SSL *)c;
    size_t n;
    return SSL_read_ex(ssl, to, room, &n) == 1 ? (ssize_t)n : outcome(ssl);
}

ssize_t tls_write(TlsConn *c, const void *bytes, size_t n)
{
    SSL *ssl = (SSL *)c;
    size_t sent;
    if (SSL_write_ex(ssl, bytes, n, &sent) == 1) return (ssize_t)sent;
    ssize_t why = outcome(ssl);
    if (why == 0) errno = ECONNRESET;
    return -1;
}

void tls_end(TlsConn *c)
{
    SSL *ssl = (SSL *)c;
    if (SSL_is_init_finished(ssl)) SSL_shutdown(ssl);
    ERR_clear_error();
}

void tls_close(TlsConn *c)
{
    SSL_free((SSL *)c);
}

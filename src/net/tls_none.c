/* SPDX-License-Identifier: Apache-2.0
 * tls_none.c - in place of tls.c where the program was built without OpenSSL (make TLS=0). */
#include "net/tls.h"

Tls *tls_new(TlsFiles files, Err *err)
{
    (void)files;
    fail(err, EF_USAGE, "TLS: this program was built without it");
    return NULL;
}

bool tls_reload(Tls *tls, Err *err)
{
    (void)tls;
    return fail(err, EF_USAGE, "TLS: this program was built without it");
}

void tls_free(Tls *tls)
{
    (void)tls;
}

Tls *tls_client(Err *err)
{
    return tls_new((TlsFiles){ 0 }, err);
}

TlsConn *tls_connect(Tls *tls, int fd, const char *host, int seconds, Err *err)
{
    (void)tls, (void)fd, (void)host, (void)seconds, (void)err;
    return NULL;
}

TlsConn *tls_accept(Tls *tls, int fd)
{
    (void)tls, (void)fd;
    return NULL;
}

bool tls_ready(const TlsConn *c)
{
    (void)c;
    return false;
}

ssize_t tls_read(TlsConn *c, void *to, size_t room)
{
    (void)c, (void)to, (void)room;
    return -1;
}

ssize_t tls_write(TlsConn *c, const void *bytes, size_t n)
{
    (void)c, (void)bytes, (void)n;
    return -1;
}

void tls_end(TlsConn *c)
{
    (void)c;
}

void tls_close(TlsConn *c)
{
    (void)c;
}

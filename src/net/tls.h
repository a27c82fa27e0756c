/* SPDX-License-Identifier: Apache-2.0
 * tls.h - bytes under TLS 1.2 and 1.3, by OpenSSL. Nothing here waits: a call that needs the other
 * side to speak or to listen first says EAGAIN, and is made again when the socket moves. OpenSSL is
 * not touched before tls_new, and reads no configuration of the machine. tls_none.c has the same
 * functions for a program that was built without it (make TLS=0). */
#ifndef NET_TLS_H
#define NET_TLS_H
#include <sys/types.h>

#include "base/base.h"

typedef struct TlsFiles {        /* PEM */
    const char *cert, *key;      /* the server's: its certificate with those above it, its key */
    const char *client_ca;       /* (optional) clients need a certificate signed by one of these */
} TlsFiles;

typedef struct Tls Tls;          /* a server's certificates */
typedef struct TlsConn TlsConn;  /* one connection; outlives a reload */

Tls *tls_new(TlsFiles, Err *);
bool tls_reload(Tls *, Err *);   /* reads the files again; false: the old ones stay */
void tls_free(Tls *);

/* The other side, which waits as its socket does. Trusts $SSL_CERT_FILE and $SSL_CERT_DIR, else
 * what the system does. */
Tls *tls_client(Err *);
/* host: named by the certificate; seconds: of the handshake as a whole. */
TlsConn *tls_connect(Tls *, int fd, const char *host, int seconds, Err *);

TlsConn *tls_accept(Tls *, int fd);                        /* NULL: no memory */
bool tls_ready(const TlsConn *);                           /* the handshake is over */
ssize_t tls_read(TlsConn *, void *, size_t room);          /* as recv; EAGAIN: not now */
ssize_t tls_write(TlsConn *, const void *, size_t n);      /* as send; again with the same bytes */
void tls_end(TlsConn *);                                   /* says that no more will be written */
void tls_close(TlsConn *);                                 /* NULL is fine; fd stays open */

#endif

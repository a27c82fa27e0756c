/* SPDX-License-Identifier: Apache-2.0
 * serve.h - the settings of `serve` as rows: its flags, its environment variables and the keys of
 * ef_serve's options. To add one: a field below (or in ServerOptions, SessionOptions) and a row in
 * serve.c. */
#ifndef API_SERVE_H
#define API_SERVE_H
#include "base/log.h"
#include "base/option.h"
#include "server/server.h"

typedef struct ServeSettings {
    ServerOptions server;
    bool tei;                    /* server.preferred is text-embeddings-inference */
    bool otel;                   /* send traces, to OTEL_URL where server.trace_url is NULL */
    SessionOptions session;      /* this and what follows is not for ef_serve to set */
    int log_level;               /* ef_level */
} ServeSettings;
#define SERVE_FIELD(field) OPTION_FIELD_OF(ServeSettings, field)
#define OTEL_URL "http://localhost:4318"

extern const Option serve_options[];
/* Rows that `mcp` has too; there they have no use beside --stdio. */
#define OPTIONS_SECURITY                                                                          \
    { "cert-file", 0, "FILE", "certificate (PEM): the port speaks TLS; SIGHUP reads it again",    \
      TAKES_TEXT, SERVE_FIELD(server.cert_file), .against = "stdio" },                            \
    { "key-file", 0, "FILE", "its key (PEM)", TAKES_TEXT, SERVE_FIELD(server.key_file),           \
      .against = "stdio" },                                                                       \
    { "client-ca-file", 0, "FILE", "clients need a certificate signed by one of these",           \
      TAKES_TEXT, SERVE_FIELD(server.client_ca_file), .against = "stdio" },                       \
    { "api-key", 0, "KEY", "clients send it as Authorization: Bearer KEY", TAKES_KEYS,            \
      SERVE_FIELD(server.api_keys), .against = "stdio" },                                         \
    { "cors-origin", 0, "ORIGIN", "web pages that may call; * for any", TAKES_LIST,               \
      SERVE_FIELD(server.origins), .against = "stdio" }
#define OPTION_SERVER_THREADS                                                      \
    { "threads", 0, "N", "default: the CPUs this process may use", TAKES_COUNT,    \
      SERVE_FIELD(session.threads), NULL, 1, 4096 }
#define OPTION_OCR                                                                 \
    { "ocr", 0, "PATH", "run this Tesseract to read the words of pages that come without them", \
      TAKES_TEXT, SERVE_FIELD(session.ocr) }

bool serve_of_session(const Option *); /* one that a session is made with */
/* Once every option is set: refuses settings that exclude each other, derives the others. */
bool serve_complete(ServeSettings *, Err *);

#endif

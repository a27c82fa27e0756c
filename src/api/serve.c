/* SPDX-License-Identifier: Apache-2.0
 * serve.c - the rows of `serve`, and what is checked across them. */
#include "api/serve.h"

#include "base/child.h"
#include "dialect/family.h"

static const char *const access_words[] = { "none", "text", "json", NULL };
static const char *const level_words[] = { "error", "warn", "info", "debug", NULL };

const Option serve_options[] = {
    { "http-hostname", 0, "ADDRESS", "the address to listen on", TAKES_TEXT,
      SERVE_FIELD(server.hostname), SERVER_ADDRESS, .against = "hostname disable-http" },
    { "http-port", 0, "N", "(or --port) the port to listen on; 0: any free one", TAKES_PORT,
      SERVE_FIELD(server.port), OPTION_DEFAULT(SERVER_PORT), 0, 65535,
      .against = "port disable-http" },
    { "unix-socket", 0, "PATH", "a socket in the file system, beside the port", TAKES_TEXT,
      SERVE_FIELD(server.unix_path) },
    { "grpc-hostname", 0, "ADDRESS", "default: as --http-hostname, else [::]", TAKES_TEXT,
      SERVE_FIELD(server.grpc_hostname), .against = "disable-grpc" },
    { "grpc-port", 0, "N", "a second port, for gRPC, which the first speaks too; 0: any free one",
      TAKES_PORT, SERVE_FIELD(server.grpc_port), OPTION_DEFAULT(SERVER_GRPC_PORT), 0, 65535,
      .against = "disable-grpc" },
    { "disable-grpc", 0, NULL, "HTTP only", TAKES_NOTHING, SERVE_FIELD(server.no_grpc) },
    { "disable-http", 0, NULL, "gRPC only, on its own port", TAKES_NOTHING,
      SERVE_FIELD(server.no_http) },
    { "no-ui", 0, NULL, "no page for browsers at / and /docs", TAKES_NOTHING, SERVE_FIELD(server.no_ui) },
    OPTIONS_SECURITY,
    { "api-key-file", 0, "FILE", "more keys, one a line; lines that begin with # are comments",
      TAKES_KEY_FILE, SERVE_FIELD(server.api_keys) },
    { "access-log", 0, "FORM", "a line for each request", TAKES_WORD, SERVE_FIELD(server.access),
      "none", .words = access_words },
    { "enable-otel", 0, NULL, "send traces to " OTEL_URL " or to --otel-exporter-url",
      TAKES_NOTHING, SERVE_FIELD(otel) },
    { "otel-exporter-url", 0, "URL", "OpenTelemetry collector for traces (OTLP/HTTP)", TAKES_TEXT,
      SERVE_FIELD(server.trace_url) },
    { "log-level", 0, "LEVEL", "the least important lines to log", TAKES_WORD,
      SERVE_FIELD(log_level), "info", .words = level_words },
    OPTION_SERVER_THREADS,
    { "replicas", 0, "N", "batches at a time, each on its part of the threads; default: by the work",
      TAKES_COUNT, SERVE_FIELD(session.replicas), NULL, 1, 4096 },
    { "loops", 0, "N",
      "threads that read and write connections; default: one for every 2 threads, at most 16",
      TAKES_COUNT, SERVE_FIELD(server.loops), NULL, 1, MOST_SERVER_LOOPS },
    { "max-body", 0, "BYTES", "longest request body", TAKES_BYTES, SERVE_FIELD(server.max_body),
      OPTION_DEFAULT(SERVER_MAX_BODY), 1, INT64_C(1) << 40 },
    { "max-inputs", 0, "N", "most texts, choices, pictures or sounds of a request", TAKES_COUNT,
      SERVE_FIELD(session.max_inputs), OPTION_DEFAULT(SESSION_MAX_INPUTS), 1, 1 << 24 },
    { "max-pixels", 0, "N", "most pixels (width times height) of a picture", TAKES_COUNT,
      SERVE_FIELD(session.max_pixels), OPTION_DEFAULT(SESSION_MAX_PIXELS), 1, INT32_MAX },
    { "max-seconds", 0, "N", "most seconds of a sound", TAKES_COUNT,
      SERVE_FIELD(session.max_seconds), OPTION_DEFAULT(SESSION_MAX_SECONDS), 1, 86400 },
    OPTION_OCR,
    { "max-connections", 0, "N", "most connections at the same time", TAKES_COUNT,
      SERVE_FIELD(server.max_connections), OPTION_DEFAULT(SERVER_MAX_CONNECTIONS), 1, 1 << 20 },
    { "queue", 0, "N", "most requests waiting before 429", TAKES_COUNT,
      SERVE_FIELD(session.queue_jobs), OPTION_DEFAULT(SESSION_QUEUE_JOBS), 1, 1 << 24 },
    { "batch-ms", 0, "N", "milliseconds that one run should take at most", TAKES_MS,
      SERVE_FIELD(session.batch_seconds), OPTION_DEFAULT(SESSION_BATCH_MS), 1, 60000 },
    { "batch-tokens", 0, "N", "most tokens of one run", TAKES_COUNT,
      SERVE_FIELD(session.batch_tokens), OPTION_DEFAULT(SESSION_BATCH_TOKENS), 1, 1 << 24 },
    { "max-inflight", 0, "BYTES", "that requests and replies may hold together", TAKES_BYTES,
      SERVE_FIELD(session.max_bytes), OPTION_DEFAULT(SESSION_MAX_BYTES), 1, INT64_C(1) << 50 },
    { "idle-timeout", 0, "SECONDS", "between requests of a connection", TAKES_SECONDS,
      SERVE_FIELD(server.idle_timeout_s), OPTION_DEFAULT(SERVER_IDLE_SECONDS), 1, 86400 },
    { "header-timeout", 0, "SECONDS", "for the head of a request, and for TLS's handshake",
      TAKES_SECONDS, SERVE_FIELD(server.header_timeout_s), OPTION_DEFAULT(SERVER_HEADER_SECONDS),
      1, 86400 },
    { "body-timeout", 0, "SECONDS", "for its body", TAKES_SECONDS,
      SERVE_FIELD(server.body_timeout_s), OPTION_DEFAULT(SERVER_BODY_SECONDS), 1, 86400 },
    { "request-timeout", 0, "SECONDS", "from a request's last byte to its reply", TAKES_SECONDS,
      SERVE_FIELD(server.request_timeout_s), OPTION_DEFAULT(SERVER_REQUEST_SECONDS), 1, 86400 },
    { "drain", 0, "SECONDS", "after SIGTERM: not ready, but still serving", TAKES_SECONDS,
      SERVE_FIELD(server.drain_s), "0", 0, 3600 },
    { "gzip-from", 0, "BYTES", "smallest reply compressed for clients that ask", TAKES_BYTES,
      SERVE_FIELD(server.gzip_from), OPTION_DEFAULT(SERVER_GZIP_FROM), 1, INT64_C(1) << 40 },
    { "tei", 0, NULL, "as text-embeddings-inference: two texts on /predict are a pair, errors have its form",
      TAKES_NOTHING, SERVE_FIELD(tei) },
    { 0 },
};

bool serve_of_session(const Option *o)
{
    return o->offset >= offsetof(ServeSettings, session);
}

bool serve_complete(ServeSettings *s, Err *err)
{
    ServerOptions *o = &s->server;
    if (o->no_grpc && o->no_http) return fail(err, EF_USAGE, "Cannot disable both gRPC and HTTP");
    if (!o->cert_file != !o->key_file)
        return fail(err, EF_USAGE, "TLS: found no %s, wanted both --cert-file and --key-file",
                    o->cert_file ? "key" : "certificate");
    if (s->session.ocr && !child_is(s->session.ocr))
        return fail(err, EF_USAGE, "--ocr: found no program at \"%s\", wanted the path of Tesseract "
                    "(apt install tesseract-ocr: /usr/bin/tesseract)", s->session.ocr);
    o->grpc |= o->no_http;
    if (s->tei) o->preferred = &family_tei;
    if (s->otel && !o->trace_url) o->trace_url = OTEL_URL;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * cmd_serve.c - flags to settings, signals to the stop flag; the rest is server_run. */
#include <signal.h>

#include "api/serve.h"
#include "base/file.h"
#include "cli/cli.h"

#define OTEL_URL "http://localhost:4318"
static const Option options[] = {
    OPTIONS_OPEN,
    { "http-hostname", 0, "ADDRESS", "default 0.0.0.0", .against = "hostname disable-http" },
    { "http-port", 0, "N", "(or --port) default 8080; 0: any free one", .against = "port disable-http" },
    { "hostname", 0, "ADDRESS", NULL, .against = "disable-http" }, /* as `mcp` and others say it */
    { "port", 0, "N", NULL, .against = "disable-http" },
    { "unix-socket", 0, "PATH", "a socket in the file system, beside the port" },
    { "grpc-hostname", 0, "ADDRESS", "default: as --http-hostname, else [::]",
      .against = "disable-grpc" },
    { "grpc-port", 0, "N", "default 50051, if it is free; 0: any free one; gRPC is on both ports",
      .against = "disable-grpc" },
    { "disable-grpc", 0, NULL, "HTTP only" },
    { "disable-http", 0, NULL, "gRPC only, on its own port" },
    { "cert-file", 0, "FILE", "certificate (PEM): the port speaks TLS; SIGHUP reads it again" },
    { "key-file", 0, "FILE", "its key (PEM)" },
    { "client-ca-file", 0, "FILE", "clients need a certificate signed by one of these" },
    { "api-key", 0, "KEY", "clients send it as Authorization: Bearer KEY; may be said again" },
    { "api-key-file", 0, "FILE", "the same, one a line (#: a comment); or $ENCODERFILE_API_KEY" },
    { "cors-origin", 0, "ORIGIN", "web pages that may call; * for any; may be said again" },
    { "access-log", 0, "FORM", "a line for each request: none (default), text or json" },
    { "enable-otel", 0, NULL, "send traces, also when no address is said" },
    { "otel-exporter-url", 0, "URL", "OpenTelemetry collector for traces, OTLP/HTTP; " OTEL_URL },
    { "log-level", 0, "LEVEL", "error, warn, info (default) or debug" },
    { "threads", 0, "N", "default: the CPUs this process may use" },
    { "replicas", 0, "N", "batches run at the same time, each on its part of the threads; default 1" },
    { "max-body", 0, "BYTES", "longest request body; default 32 MiB" },
    { "max-inputs", 0, "N", "most texts of a request; default 4096" },
    { "max-connections", 0, "N", "default 16384" },
    { "queue", 0, "N", "most requests waiting before 429; default 1024" },
    { "batch-ms", 0, "N", "time that one run should take at most; default 100" },
    { "batch-tokens", 0, "N", "most tokens of one run; default 8192" },
    { "max-inflight", 0, "BYTES", "that requests and replies may hold together; default 1 GiB" },
    { "idle-timeout", 0, "SECONDS", "between requests of a connection; default 60" },
    { "header-timeout", 0, "SECONDS", "for the head of a request, and for TLS's handshake; default 10" },
    { "body-timeout", 0, "SECONDS", "for its body; default 30" },
    { "request-timeout", 0, "SECONDS", "from a request's last byte to its reply; default 300" },
    { "drain", 0, "SECONDS", "after SIGTERM: not ready, but still serving; default 0" },
    { "gzip-from", 0, "BYTES", "smallest reply packed for clients that ask; default 8192" },
    { "tei", 0, NULL, "two texts on /predict are a pair, as for text-embeddings-inference" },
    { "verify", 0, NULL, "check the SHA-256 of the whole package first" },
    OPTIONS_ORT,
    { 0 },
};

enum { KEYS_LIMIT = 1 << 20 };
static volatile int stop, dump, reload;

static void on_signal(int number)
{
    if (number == SIGUSR1) dump++;
    else if (number == SIGHUP) reload++;
    else stop = 1;
}

static void catch_signals(const ServeSettings *s)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    if (s->server.cert_file) sigaction(SIGHUP, &action, NULL); /* else a lost terminal ends us */
    signal(SIGPIPE, SIG_IGN);
}

/* Keys in files and in the environment are not seen by who lists processes. */
static bool read_keys(Args *a, ServeSettings *s, Err *err)
{
    const char *file = args_value(a, "api-key-file");
    Str text;
    if (!serve_add_env_keys(s, &a->arena, err)) return false;
    if (!file) return true;
    return file_read(&a->arena, file, KEYS_LIMIT, &text, err) &&
           serve_add_keys(s, &a->arena, str_format(&a->arena, "--api-key-file: %s", file), text,
                          true, err);
}

static bool choose_protocols(const Args *a, ServerOptions *o, Err *err)
{
    o->grpc_port = SERVER_GRPC_PORT;
    o->grpc_port_asked = args_has(a, "grpc-port") || args_has(a, "grpc-hostname");
    o->no_grpc = args_has(a, "disable-grpc");
    o->no_http = args_has(a, "disable-http");
    o->grpc = true;
    if (!o->no_grpc || !o->no_http) return true;
    return fail(err, EF_USAGE, "Cannot disable both gRPC and HTTP");
}

/* --port and --hostname are those of HTTP. */
static Str setting_named(Arena *arena, const char *option)
{
    bool shorter = strcmp(option, "port") == 0 || strcmp(option, "hostname") == 0;
    return str_of(shorter ? str_format(arena, "http-%s", option) : option);
}

static bool read_settings(Args *a, ServeSettings *s, Err *err)
{
    serve_defaults(s);
    if (!choose_protocols(a, &s->server, err)) return false;
    if (a->n_text)
        return fail(err, EF_USAGE, "serve: found \"%s\", wanted options only", a->text[0]);
    for (int i = 0; i < a->n_given; i++) {
        const char *said = a->given[i].option->name;
        Str name = setting_named(&a->arena, said), value = str_of(a->given[i].value);
        if (serve_known(name) && !serve_set(s, &a->arena, name, said, value, err)) return false;
    }
    if (!s->server.cert_file != !s->server.key_file)
        return fail(err, EF_USAGE, "TLS: found only one, wanted both --cert-file and --key-file");
    s->server.dump = &dump;
    s->server.reload = &reload;
    s->session.tei = args_has(a, "tei");
    if (args_has(a, "enable-otel") && !s->server.trace_url) s->server.trace_url = OTEL_URL;
    log_limit((LogLevel)s->log_level);
    return read_keys(a, s, err);
}

static bool serve(const Model *model, const ServeSettings *s, Err *err)
{
    Session *session = session_new(model, &s->session);
    if (!session) return fail(err, EF_IO, "no thread could be started");
    bool ok = server_run(session, &s->server, &stop, err);
    session_free(session);
    return ok;
}

static bool run(Args *a, Err *err)
{
    ServeSettings settings;
    Model *model;
    if (!read_settings(a, &settings, err) || !args_model(a, &model, err)) return false;
    catch_signals(&settings);
    bool ok = args_verify(a, model, err) && serve(model, &settings, err);
    model_close(model);
    return ok;
}

const Command cmd_serve = {
    .name = "serve",
    .summary = "answer over HTTP and gRPC until interrupted",
    .options = options,
    .note = NOTE_LIMIT,
    .run = run,
    .usage = "[--model PATH] [OPTIONS]",
    .example = "  ./my-ner.encoderfile serve --http-port 8080 &\n"
               "  curl -X POST localhost:8080/predict -H 'Content-Type: application/json' \\\n"
               "       -d '{\"inputs\": [\"Ada Lovelace was born in London\"]}'\n",
};

/* SPDX-License-Identifier: Apache-2.0
 * cmd_serve.c - flags to settings, signals to the stop flag; the rest is server_run. */
#include <signal.h>

#include "api/serve.h"
#include "cli/cli.h"

#define LATER_GRPC "gRPC is not supported yet: this version speaks HTTP only"
#define LATER_TLS "TLS is not supported yet: put a reverse proxy in front"
#define LATER_OTEL "OpenTelemetry is not supported yet"
#define NO_ORT "this is a setting of ONNX Runtime, which is not in here"
static const Option options[] = {
    OPTION_MODEL,
    OPTION_TYPE,
    { "http-hostname", 0, "ADDRESS", "default 0.0.0.0" },
    { "http-port", 0, "N", "default 8080; 0: any free one" },
    { "threads", 0, "N", "default: the CPUs this process may use" },
    { "replicas", 0, "N", "batches run at the same time, each on its part of the threads; default 1" },
    { "max-body", 0, "BYTES", "longest request body; default 32 MiB" },
    { "max-inputs", 0, "N", "most texts of a request; default 4096" },
    { "max-connections", 0, "N", "default 1024" },
    { "queue", 0, "N", "most requests waiting before 429; default 1024" },
    { "batch-ms", 0, "N", "time that one run should take at most; default 100" },
    { "batch-tokens", 0, "N", "most tokens of one run; default 8192" },
    { "max-inflight", 0, "BYTES", "of all requests together before 429; default 1 GiB" },
    { "idle-timeout", 0, "SECONDS", "between requests of a connection; default 60" },
    { "header-timeout", 0, "SECONDS", "for the head of a request; default 10" },
    { "body-timeout", 0, "SECONDS", "for its body; default 30" },
    { "verify", 0, NULL, "check the SHA-256 of the whole package first" },
    { "disable-grpc", 0, NULL, NULL },
    { "disable-http", 0, NULL, NULL, "Cannot disable both gRPC and HTTP: there is only HTTP here" },
    { "grpc-hostname", 0, "ADDRESS", NULL, LATER_GRPC },
    { "grpc-port", 0, "N", NULL, LATER_GRPC },
    { "cert-file", 0, "FILE", NULL, LATER_TLS },
    { "key-file", 0, "FILE", NULL, LATER_TLS },
    { "enable-otel", 0, NULL, NULL, LATER_OTEL },
    { "otel-exporter-url", 0, "URL", NULL, LATER_OTEL },
    { "execution-provider", 0, "NAME", NULL, NO_ORT },
    { "disable-cpu-fallback", 0, NULL, NULL, NO_ORT },
    { "graph-optimization-level", 0, "N", NULL, NO_ORT },
    { "with-arena-allocator", 0, NULL, NULL, NO_ORT },
    { "device-id", 0, "N", NULL, NO_ORT },
    { "compute-units", 0, "UNITS", NULL, NO_ORT },
    { 0 },
};

static volatile int stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static bool read_settings(Args *a, ServeSettings *s, Err *err)
{
    serve_defaults(s);
    if (a->n_text)
        return fail(err, EF_USAGE, "serve: found \"%s\", wanted options only", a->text[0]);
    for (int i = 0; i < a->n_given; i++) {
        Str name = str_of(a->given[i].option->name);
        if (serve_known(name) && !serve_set(s, &a->arena, name, str_of(a->given[i].value), err))
            return false;
    }
    return true;
}

static bool serve(const Model *model, const ServeSettings *s, bool verify, Err *err)
{
    if (verify && model->package.file.n && !package_verify(&model->package, err)) return false;
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
    catch_signals();
    bool ok = serve(model, &settings, args_has(a, "verify"), err);
    model_close(model);
    return ok;
}

const Command cmd_serve = {
    .name = "serve",
    .summary = "answer over HTTP until interrupted",
    .options = options,
    .run = run,
    .usage = "[--model PATH] [OPTIONS]",
    .example = "  ./my-ner.encoderfile serve --http-port 8080 &\n"
               "  curl -X POST localhost:8080/predict -H 'Content-Type: application/json' \\\n"
               "       -d '{\"inputs\": [\"Book a bus from Bangalore to Chennai\"]}'\n",
};

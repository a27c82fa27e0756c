/* SPDX-License-Identifier: Apache-2.0
 * cmd_serve.c - flags to settings, signals to the stop flag; the rest is server_run. */
#include <signal.h>

#include "api/serve.h"
#include "cli/cli.h"

static const Option options[] = {
    OPTIONS_OPEN,
    /* As `mcp` and others call them. */
    { "hostname", 0, "ADDRESS", NULL, TAKES_TEXT, SERVE_FIELD(server.hostname),
      .against = "disable-http" },
    { "port", 0, "N", NULL, TAKES_PORT, SERVE_FIELD(server.port), NULL, 0, 65535,
      .against = "disable-http" },
    { "verify", 0, NULL, "check the SHA-256 of the whole package first" },
    OPTIONS_ORT,
    { 0 },
};

static volatile int stop, dump, reload;

static void on_signal(int number)
{
    if (number == SIGUSR1) __atomic_add_fetch(&dump, 1, __ATOMIC_RELAXED);
    else if (number == SIGHUP) __atomic_add_fetch(&reload, 1, __ATOMIC_RELAXED);
    else __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
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

static bool read_settings(Args *a, ServeSettings *s, Err *err)
{
    *s = (ServeSettings){ .server = { .grpc = true, .dump = &dump, .reload = &reload } };
    s->server.grpc_port_asked = args_has(a, "grpc-port") || args_has(a, "grpc-hostname");
    if (a->n_text)
        return fail(err, EF_USAGE, "serve: found \"%s\", wanted options only", a->text[0]);
    if (!args_fill(a, s, err) || !serve_complete(s, err)) return false;
    log_limit((ef_level)s->log_level);
    return true;
}

static bool serve_serve(const Model *model, const ServeSettings *s, Err *err)
{
    Session *session = job_session(model, &s->session);
    if (!session) return fail(err, EF_IO, "no thread could be started");
    bool ok = server_run(session, &s->server, &stop, err);
    session_free(session);
    return ok;
}

static bool serve_run(Args *a, Err *err)
{
    ServeSettings settings;
    Model *model;
    if (!read_settings(a, &settings, err) || !args_model(a, &model, err)) return false;
    catch_signals(&settings);
    if (model->weights) log_info("weights: %s", model->weights);
    bool ok = args_verify(a, model, err) && serve_serve(model, &settings, err);
    model_close(model);
    return ok;
}

const Command cmd_serve = {
    .name = "serve",
    .summary = "answer over HTTP and gRPC until interrupted",
    .options = options,
    .more = serve_options,
    .environment = true,
    .note = NOTE_LIMIT,
    .run = serve_run,
    .model_first = true,
    .usage = "[MODEL] [OPTIONS]",
    .example = "  ./my-ner.encoderfile serve --http-port 8080 &\n"
               "  curl -X POST localhost:8080/predict -H 'Content-Type: application/json' \\\n"
               "       -d '{\"inputs\": [\"Ada Lovelace was born in London\"]}'\n",
};

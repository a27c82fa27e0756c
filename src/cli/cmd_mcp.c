/* SPDX-License-Identifier: Apache-2.0
 * cmd_mcp.c - the model as an MCP server: over HTTP, where hosts post to /mcp, or on stdin and
 * stdout, where a host starts this program and talks to it, one JSON-RPC message a line; then
 * nothing else is ever written to stdout. */
#include <signal.h>

#include "api/serve.h"
#include "base/lines.h"
#include "cli/cli.h"
#include "data/json.h"
#include "server/mcp.h"

static const Option options[] = {
    OPTIONS_OPEN,
    { "stdio", 0, NULL, "talk on stdin and stdout instead of HTTP" },
    { "hostname", 0, "ADDRESS", "default 0.0.0.0", .against = "stdio" },
    { "port", 0, "N", "default 9100; 0: any free one", .against = "stdio" },
    { "cert-file", 0, "FILE", "certificate (PEM): the port speaks TLS; SIGHUP reads it again",
      .against = "stdio" },
    { "key-file", 0, "FILE", "its key (PEM)", .against = "stdio" },
    { "client-ca-file", 0, "FILE", "clients need a certificate signed by one of these",
      .against = "stdio" },
    { "api-key", 0, "KEY", "Authorization: Bearer KEY is needed; also $ENCODERFILE_API_KEY",
      .against = "stdio" },
    { "cors-origin", 0, "ORIGIN", "web pages that may call; * for any; may be said again",
      .against = "stdio" },
    { "threads", 0, "N", "default: the CPUs this process may use" },
    OPTIONS_ORT,
    { 0 },
};

typedef struct Talk {
    Session *session;
    McpEra era;            /* of the connection: that of its first request */
    Buf out;
    bool tls;
} Talk;

static bool say(Talk *t, const Value *message, Err *err)
{
    json_write(&t->out, message);
    buf_char(&t->out, '\n');
    return out_buf(&t->out, err);
}

static bool answer(Talk *t, Str line, Err *err)
{
    McpCall call;
    const Model *model = session_model(t->session);
    Job *job = job_new();
    bool ok = true;
    mcp_read(model, line, t->era, NULL, &job->work.arena, &call);
    t->era = call.era;
    if (call.kind == MCP_RUN) {
        job->in.body = call.body;
        job_run(t->session, job);
        call.reply = mcp_answer(&call, job);
    }
    if (call.kind != MCP_SILENT) ok = say(t, &call.reply, err);
    job_free(job);
    return ok;
}

static bool talk(Talk *t, Err *err)
{
    Lines in;
    Str line;
    bool more = true, ok = lines_open(&in, "-", err);
    while (ok && more) {
        ok = lines_next(&in, &line, &more, err);
        if (ok && more && line.n) ok = answer(t, line, err);
    }
    lines_close(&in);
    buf_free(&t->out);
    return ok;
}

/* ---- over HTTP ---- */
enum { MCP_PORT = 9100 };
static volatile int stop, reload;

static void on_signal(int number)
{
    if (number == SIGHUP) reload++;
    else stop = 1;
}

static const struct Same {       /* flags, and what `serve` calls them */
    const char *ours, *serve;
} same[] = {
    { "hostname", "http-hostname" }, { "port", "http-port" }, { "api-key", "api-key" },
    { "cors-origin", "cors-origin" }, { "cert-file", "cert-file" }, { "key-file", "key-file" },
    { "client-ca-file", "client-ca-file" },
};

static bool read_settings(Args *a, ServeSettings *s, Err *err)
{
    serve_defaults(s);
    s->server.port = MCP_PORT;
    s->server.reload = &reload;
    if (a->n_text)
        return fail(err, EF_USAGE, "mcp: found \"%s\", wanted options only", a->text[0]);
    for (int i = 0; i < a->n_given; i++) {
        const char *name = a->given[i].option->name;
        Str value = str_of(a->given[i].value);
        for (size_t k = 0; k < COUNT(same); k++)
            if (strcmp(name, same[k].ours) == 0 &&
                !serve_set(s, &a->arena, str_of(same[k].serve), name, value, err))
                return false;
    }
    return args_has(a, "stdio") || serve_add_env_keys(s, &a->arena, err);
}

/* The address that hosts are told, path and all. */
static void tell_address(void *context, const char *host, int port)
{
    const Talk *t = context;
    bool colons = strchr(host, ':') && host[0] != '[';
    Buf line = { 0 };
    session_describe(t->session, &line);
    log_info("serving %.*s on http%s://%s%s%s:%d/mcp", STR_ARG(buf_view(&line)), t->tls ? "s" : "",
             colons ? "[" : "", host, colons ? "]" : "", port);
    model_log_head(session_model(t->session));
    buf_free(&line);
}

static bool serve(ServerOptions *o, Talk *t, Err *err)
{
    struct sigaction action = { .sa_handler = on_signal };
    t->tls = o->cert_file != NULL;
    o->ready = tell_address;
    o->context = t;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (o->cert_file) sigaction(SIGHUP, &action, NULL); /* else a lost terminal ends us */
    signal(SIGPIPE, SIG_IGN);
    return server_run(t->session, o, &stop, err);
}

static bool run(Args *a, Err *err)
{
    Model *model;
    int64_t threads;
    ServeSettings settings;
    if (!args_count(a, "threads", 0, 4096, &threads, err) || !read_settings(a, &settings, err) ||
        !args_model(a, &model, err))
        return false;
    Talk t = { .session = job_session(model, &(SessionOptions){ .threads = (int)threads }) };
    bool ok = !t.session                ? fail(err, EF_IO, "no thread could be started")
              : args_has(a, "stdio")    ? talk(&t, err)
                                        : serve(&settings.server, &t, err);
    session_free(t.session);
    model_close(model);
    return ok;
}

const Command cmd_mcp = {
    .name = "mcp",
    .summary = "be a tool of an MCP host: http://HOST:9100/mcp, or stdin and stdout",
    .options = options,
    .run = run,
    .usage = "[--stdio] [--model PATH]",
    .example = "  ./my-ner.encoderfile mcp --port 9100     # hosts are told http://localhost:9100/mcp\n"
               "  {\"mcpServers\": {\"ner\": {\"command\": \"./my-ner.encoderfile\",\n"
               "                          \"args\": [\"mcp\", \"--stdio\"]}}}\n",
};

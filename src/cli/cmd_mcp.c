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
    { "hostname", 0, "ADDRESS", "the address to listen on", TAKES_TEXT,
      SERVE_FIELD(server.hostname), SERVER_ADDRESS, .against = "stdio" },
    { "port", 0, "N", "the port to listen on; 0: any free one", TAKES_PORT,
      SERVE_FIELD(server.port), "9100", 0, 65535, .against = "stdio" },
    OPTIONS_SECURITY,
    OPTION_SERVER_THREADS,
    OPTION_OCR,
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

static bool stdio_answer(Talk *t, Str line, Err *err)
{
    McpCall call;
    Job *job = job_new();
    bool ok = true;
    mcp_read(site_of(t->session), line, t->era, NULL, &job->work.arena, &call);
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
        if (ok && more && line.n) ok = stdio_answer(t, line, err);
    }
    lines_close(&in);
    buf_free(&t->out);
    return ok;
}

/* ---- over HTTP ---- */
static volatile int stop, reload;

static void on_signal(int number)
{
    if (number == SIGHUP) __atomic_add_fetch(&reload, 1, __ATOMIC_RELAXED);
    else __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

static bool read_settings(Args *a, ServeSettings *s, Err *err)
{
    *s = (ServeSettings){ .server = { .reload = &reload } };
    if (a->n_text)
        return fail(err, EF_USAGE, "mcp: found \"%s\", wanted options only", a->text[0]);
    return args_fill(a, s, err) && serve_complete(s, err);
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

static bool mcp_serve(ServerOptions *o, Talk *t, Err *err)
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

static bool mcp_run(Args *a, Err *err)
{
    Model *model;
    ServeSettings settings;
    if (!read_settings(a, &settings, err) || !args_model(a, &model, err)) return false;
    Talk t = { .session = job_session(model, &settings.session) };
    bool ok = !t.session                ? fail(err, EF_IO, "no thread could be started")
              : args_has(a, "stdio")    ? talk(&t, err)
                                        : mcp_serve(&settings.server, &t, err);
    session_free(t.session);
    model_close(model);
    return ok;
}

const Command cmd_mcp = {
    .name = "mcp",
    .summary = "be a tool of an MCP host: http://HOST:9100/mcp, or stdin and stdout",
    .options = options,
    .environment = true,
    .run = mcp_run,
    .model_first = true,
    .usage = "[MODEL] [--stdio]",
    .example = "  ./my-ner.encoderfile mcp --port 9100     # hosts are told http://localhost:9100/mcp\n"
               "  {\"mcpServers\": {\"ner\": {\"command\": \"./my-ner.encoderfile\",\n"
               "                          \"args\": [\"mcp\", \"--stdio\"]}}}\n",
};

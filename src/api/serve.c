/* SPDX-License-Identifier: Apache-2.0
 * serve.c - settings as rows: name, where it goes, and the range that makes sense. */
#include "api/serve.h"

#include <stdlib.h>

typedef enum { SET_TEXT, SET_INT, SET_SIZE, SET_I64, SET_SECONDS, SET_MS, SET_WORD, SET_LINES,
               SET_KEYS } SettingKind;
typedef struct Setting {
    const char *name;
    SettingKind kind;
    size_t at; /* in ServeSettings */
    int64_t least, most;
    const char *const *words; /* SET_WORD: kept as their index */
} Setting;

static const char *const access_words[] = { "none", "text", "json", NULL };
static const char *const level_words[] = { "error", "warn", "info", "debug", NULL };

#define AT(field) offsetof(ServeSettings, field)
static const Setting settings[] = {
    { "http-hostname", SET_TEXT, AT(server.hostname) },
    { "http-port", SET_INT, AT(server.port), 0, 65535 },
    { "unix-socket", SET_TEXT, AT(server.unix_path) },
    { "grpc-hostname", SET_TEXT, AT(server.grpc_hostname) },
    { "grpc-port", SET_INT, AT(server.grpc_port), 0, 65535 },
    { "cert-file", SET_TEXT, AT(server.cert_file) },
    { "key-file", SET_TEXT, AT(server.key_file) },
    { "client-ca-file", SET_TEXT, AT(server.client_ca_file) },
    { "api-key", SET_KEYS, AT(server.api_keys) },
    { "cors-origin", SET_LINES, AT(server.origins) },
    { "otel-exporter-url", SET_TEXT, AT(server.trace_url) },
    { "access-log", SET_WORD, AT(server.access), .words = access_words },
    { "log-level", SET_WORD, AT(log_level), .words = level_words },
    { "max-body", SET_SIZE, AT(server.max_body), 1, INT64_C(1) << 40 },
    { "max-connections", SET_INT, AT(server.max_connections), 1, 1 << 20 },
    { "idle-timeout", SET_SECONDS, AT(server.idle_timeout_s), 1, 86400 },
    { "header-timeout", SET_SECONDS, AT(server.header_timeout_s), 1, 86400 },
    { "body-timeout", SET_SECONDS, AT(server.body_timeout_s), 1, 86400 },
    { "request-timeout", SET_SECONDS, AT(server.request_timeout_s), 1, 86400 },
    { "drain", SET_SECONDS, AT(server.drain_s), 0, 3600 },
    { "gzip-from", SET_SIZE, AT(server.gzip_from), 1, INT64_C(1) << 40 },
    { "threads", SET_INT, AT(session.threads), 1, 4096 },
    { "replicas", SET_INT, AT(session.replicas), 1, 4096 },
    { "queue", SET_INT, AT(session.queue_jobs), 1, 1 << 24 },
    { "batch-tokens", SET_I64, AT(session.batch_tokens), 1, 1 << 24 },
    { "batch-ms", SET_MS, AT(session.batch_seconds), 1, 60000 },
    { "max-inflight", SET_SIZE, AT(session.max_bytes), 1, INT64_C(1) << 50 },
    { "max-inputs", SET_SIZE, AT(session.max_inputs), 1, 1 << 24 },
};

void serve_defaults(ServeSettings *s)
{
    *s = (ServeSettings){ .server = { .port = SERVER_PORT }, .log_level = LOG_INFO };
}

static const Setting *find(Str name)
{
    for (size_t i = 0; i < COUNT(settings); i++)
        if (str_is(name, settings[i].name)) return &settings[i];
    return NULL;
}

bool serve_known(Str name)
{
    return find(name) != NULL;
}

bool serve_of_session(Str name)
{
    const Setting *row = find(name);
    return row && row->at >= AT(session);
}

static bool set_word(const Setting *row, const char *called, int *field, Str text, Err *err)
{
    Buf known = { 0 };
    for (int i = 0; row->words[i]; i++) {
        if (str_is(text, row->words[i])) return buf_free(&known), *field = i, true;
        buf_printf(&known, "%s%s", i ? ", " : "", row->words[i]);
    }
    fail(err, EF_USAGE, "--%s: found \"%.*s\", wanted one of %.*s", called, STR_ARG(text),
         STR_ARG(buf_view(&known)));
    buf_free(&known);
    return false;
}

static const char *add_line(Arena *arena, const char *lines, Str text)
{
    return lines ? str_format(arena, "%s\n%.*s", lines, STR_ARG(text)) : str_dup(arena, text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static Str trim(Str s)
{
    while (s.n && is_blank(s.p[0])) s.p++, s.n--;
    while (s.n && is_blank(s.p[s.n - 1])) s.n--;
    return s;
}

/* ---- keys ---- */
/* What a client can send behind "Bearer ", and a proxy on the way will not change. */
static bool is_key(Str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7F) return false;
    return true;
}

static Str next_line(Str *rest)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    Str line = { rest->p, end ? (size_t)(end - rest->p) : rest->n };
    size_t used = line.n + (end != NULL);
    *rest = (Str){ rest->p + used, rest->n - used };
    return trim(line);
}

/* Messages never say the key. */
bool serve_add_keys(ServeSettings *s, Arena *arena, const char *called, Str text, bool file,
                    Err *err)
{
    const char **keys = &s->server.api_keys, *before = *keys;
    if (file && str_starts(text, "\xEF\xBB\xBF")) text.p += 3, text.n -= 3;
    for (int number = 1; text.n; number++) {
        Str line = next_line(&text);
        if (line.n == 0 || (file && line.p[0] == '#')) continue;
        if (!is_key(line))
            return fail(err, EF_USAGE,
                        "%s: line %d: found white space or a control character in a key, wanted "
                        "one key a line without them", called, number);
        *keys = add_line(arena, *keys, line);
    }
    if (*keys != before) return true;
    return fail(err, EF_USAGE, "%s: found no key, wanted one", called);
}

bool serve_add_env_keys(ServeSettings *s, Arena *arena, Err *err)
{
    static const char name[] = "ENCODERFILE_API_KEY";
    const char *text = getenv(name);
    if (!text) return true;
    if (trim(str_of(text)).n) return serve_add_keys(s, arena, name, str_of(text), false, err);
    return fail(err, EF_USAGE, "%s: found nothing, wanted a key; where it is unset, the server is "
                "open to all", name);
}

bool serve_set(ServeSettings *s, Arena *arena, Str name, const char *called, Str text, Err *err)
{
    const Setting *row = find(name);
    int64_t n = 0;
    if (!row) return fail(err, EF_INVALID_INPUT, "unknown setting \"%.*s\"", STR_ARG(name));
    char *field = (char *)s + row->at;
    if (!called) called = row->name;
    s->server.grpc |= str_starts(name, "grpc-"); /* who says where, wants it */
    if (row->kind == SET_WORD) return set_word(row, called, (int *)field, text, err);
    bool number = row->kind != SET_TEXT && row->kind != SET_LINES && row->kind != SET_KEYS;
    if (number && (!str_int(text, &n) || n < row->least || n > row->most))
        return fail(err, EF_USAGE, "--%s: found \"%.*s\", wanted a number from %lld to %lld",
                    called, STR_ARG(text), (long long)row->least, (long long)row->most);
    if (!number && !trim(text).n) /* --api-key "$UNSET" must not be a server without keys */
        return fail(err, EF_USAGE, "--%s: found nothing, wanted a value", called);
    switch (row->kind) {
    case SET_TEXT: *(const char **)field = str_dup(arena, text); break;
    case SET_INT: *(int *)field = (int)n; break;
    case SET_SIZE: *(size_t *)field = (size_t)n; break;
    case SET_I64: *(int64_t *)field = n; break;
    case SET_SECONDS: *(double *)field = (double)n; break;
    case SET_MS: *(double *)field = (double)n / 1000; break;
    case SET_LINES: *(const char **)field = add_line(arena, *(const char **)field, text); break;
    case SET_KEYS:
        return serve_add_keys(s, arena, str_format(arena, "--%s", called), text, false, err);
    case SET_WORD: break;
    }
    return true;
}

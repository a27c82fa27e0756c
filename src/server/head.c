/* SPDX-License-Identifier: Apache-2.0
 * head.c - rows of request fields, and a reply's fields in their order. */
#include "head.h"

#include <strings.h>
#include <time.h>

#include "data/number.h"

static const struct FieldRow {
    const char *name;
    bool once;
} rows[] = {
    [HEADER_CONTENT_TYPE] = { "Content-Type", true },
    [HEADER_CONTENT_LENGTH] = { "Content-Length", true },
    [HEADER_CONTENT_ENCODING] = { "Content-Encoding", true },
    [HEADER_ACCEPT] = { "Accept", false },
    [HEADER_ACCEPT_ENCODING] = { "Accept-Encoding", false },
    [HEADER_AUTHORIZATION] = { "Authorization", true },
    [HEADER_ORIGIN] = { "Origin", true },
    [HEADER_HOST] = { "Host", true },
    [HEADER_IF_NONE_MATCH] = { "If-None-Match", false },
    [HEADER_AUTHORITY] = { ":authority", true }, /* no field of HTTP/1 can be called so */
    [HEADER_REQUEST_ID] = { "X-Request-Id", false },
    [HEADER_TRACEPARENT] = { "Traceparent", false },
    [HEADER_TE] = { "TE", false },
    [HEADER_GRPC_TIMEOUT] = { "Grpc-Timeout", true },
    [HEADER_GRPC_ENCODING] = { "Grpc-Encoding", true },
    [HEADER_GRPC_ACCEPT_ENCODING] = { "Grpc-Accept-Encoding", false },
    [HEADER_MCP_VERSION] = { "Mcp-Protocol-Version", true },
    [HEADER_MCP_METHOD] = { "Mcp-Method", true },
    [HEADER_MCP_NAME] = { "Mcp-Name", true },
};
_Static_assert(COUNT(rows) == HEADERS, "one row per field");

Header header_find(Str name)
{
    for (int i = 0; i < HEADERS; i++)
        if (name.n == strlen(rows[i].name) && strncasecmp(name.p, rows[i].name, name.n) == 0)
            return (Header)i;
    return HEADERS;
}

bool header_once(Header field)
{
    return rows[field].once;
}

const char *header_name(Header field)
{
    return rows[field].name;
}

/* Cuts the next item of a list off its front, without the spaces around it. */
static bool next_item(Str *rest, char by, Str *item)
{
    if (!rest->p) return false;
    const char *end = memchr(rest->p, by, rest->n);
    *item = (Str){ rest->p, end ? (size_t)(end - rest->p) : rest->n };
    *rest = end ? (Str){ end + 1, rest->n - item->n - 1 } : (Str){ 0 };
    while (item->n && strchr(" \t", item->p[0])) item->p++, item->n--;
    while (item->n && strchr(" \t", item->p[item->n - 1])) item->n--;
    return true;
}

/* "gzip;q=0" refuses it; other weights do not matter, since there is no other coding. */
bool head_accepts_gzip(Str list)
{
    bool yes = false;
    for (Str item; next_item(&list, ',', &item);) {
        Str name, weight = { 0 };
        next_item(&item, ';', &name);
        bool gzip = (name.n == 4 && strncasecmp(name.p, "gzip", 4) == 0) || str_is(name, "*");
        if (!gzip) continue;
        next_item(&item, ';', &weight);
        bool zero = str_starts(weight, "q=0");
        for (size_t i = 3; zero && i < weight.n; i++) zero = strchr(".0", weight.p[i]) != NULL;
        yes = !zero;
    }
    return yes;
}

/* ---- replies ---- */
void http_date(char out[HTTP_DATE], int64_t unix_time)
{
    time_t now = (time_t)unix_time;
    struct tm utc;
    strftime(out, HTTP_DATE, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
}

typedef void Put(void *to, const char *name, const char *value);

static void put_number(Put *put, void *to, const char *name, size_t number)
{
    char text[24];
    *number_write_int(text, (int64_t)number) = 0;
    put(to, name, text);
}

static void put_origin(const Reply *r, Put *put, void *to)
{
    put(to, "Access-Control-Allow-Origin", r->origin);
    put(to, "Vary", "Origin");
    put(to, "Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
    if (!r->preflight) return;
    put(to, "Access-Control-Allow-Methods", r->allow);
    put(to, "Access-Control-Allow-Headers",
        "Authorization, Content-Type, Content-Encoding, X-Request-Id");
    put(to, "Access-Control-Max-Age", "600");
}

void reply_fields(const Reply *r, Put *put, void *to)
{
    if (r->type) put(to, "Content-Type", r->type);
    if (!r->pieces && r->status != 204 && r->status != 304) put_number(put, to, "Content-Length", r->length);
    if (r->gzip) put(to, "Content-Encoding", "gzip");
    if (r->request_id) put(to, "X-Request-Id", r->request_id);
    if (r->status == 401) put(to, "WWW-Authenticate", "Bearer");
    if (r->allow) put(to, "Allow", r->allow);
    if (r->origin) put_origin(r, put, to);
    if (r->retry_after) put_number(put, to, "Retry-After", (size_t)r->retry_after);
    for (size_t i = 0; i < r->n_extra; i++) put(to, r->extra[i].name, r->extra[i].value);
}

/* SPDX-License-Identifier: Apache-2.0
 * web.c - see web.h. A file is sent as gzip made it; its checksum and length, at its end, are its ETag. Every reply
 * says what a page may do: load what this server has, and nothing else. */
#include "web.h"

#include "data/gzip.h"
#include "loop.h"

typedef struct WebFile {
    const char *name, *type;
    const char *begin, *end;     /* gzip */
} WebFile;

#define WEB_FILE(symbol, name, type) extern const char web_##symbol[], web_##symbol##_end[];
#include "web_files.h"
#undef WEB_FILE
#define WEB_FILE(symbol, name, type) { name, type, web_##symbol, web_##symbol##_end },
static const WebFile files[] = {
#include "web_files.h"
};
#undef WEB_FILE

enum { WEB_TAIL = 8, WEB_TAG = 2 * WEB_TAIL + 3, MOST_WEB_FILE = 1 << 20 };

/* No script or style but the files; pictures and sounds also of the page's own making. */
#define WEB_POLICY \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " \
    "media-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const WebFile *web_find(Str name)
{
    for (size_t i = 0; i < COUNT(files); i++)
        if (str_is(name, files[i].name)) return &files[i];
    return NULL;
}

bool web_wanted(Str accept)
{
    static const char html[] = "text/html", json[] = "application/json";
    return accept.n && memmem(accept.p, accept.n, html, sizeof html - 1) &&
           !memmem(accept.p, accept.n, json, sizeof json - 1);
}

static void web_tag(const WebFile *file, char out[WEB_TAG])
{
    const unsigned char *tail = (const unsigned char *)file->end - WEB_TAIL;
    char *to = out;
    *to++ = '"';
    for (int i = 0; i < WEB_TAIL; i++, to += 2) snprintf(to, 3, "%02x", tail[i]);
    strcpy(to, "\"");
}

/* "a", W/"b" or *: whether the client has this one. */
static bool web_is_held(Str list, const char *tag)
{
    return str_is(list, "*") || (list.n && memmem(list.p, list.n, tag, strlen(tag)));
}

static void web_send(Exchange *x, const WebFile *file)
{
    char tag[WEB_TAG];
    web_tag(file, tag);
    const ReplyField fields[] = {
        { "ETag", tag },
        { "Cache-Control", "no-cache" },
        { "Vary", "Accept, Accept-Encoding" },
        { "Content-Security-Policy", WEB_POLICY },
        { "X-Content-Type-Options", "nosniff" },
        { "Referrer-Policy", "no-referrer" },
    };
    Reply head = { .status = 200, .type = file->type, .gzip = x->gzip_reply, .extra = fields,
                   .n_extra = COUNT(fields) };
    Str packed = { file->begin, (size_t)(file->end - file->begin) };
    Err err = { 0 };
    if (web_is_held(exchange_header(x, HEADER_IF_NONE_MATCH), tag)) {
        head.status = 304, head.gzip = false;
        return exchange_reply(x, head, (Str){ 0 });
    }
    if (x->gzip_reply) return exchange_reply(x, head, packed);
    if (!gzip_unpack(&x->kept, packed, MOST_WEB_FILE, &err)) return exchange_fail(x, &err);
    exchange_reply_kept(x, head);
}

void web_reply(Exchange *x, const char *name)
{
    const WebFile *file = web_find(str_of(name));
    assert(file);
    web_send(x, file);
}

bool web_unpack(Str name, Buf *out, Err *err)
{
    const WebFile *file = web_find(name);
    assert(file);
    return gzip_unpack(out, (Str){ file->begin, (size_t)(file->end - file->begin) }, MOST_WEB_FILE, err);
}

static void serve_web(Exchange *x)
{
    Str path = exchange_path(x), folder = STR("/ui/");
    const WebFile *file = web_find((Str){ path.p + folder.n, path.n - folder.n });
    Err err = { 0 };
    if (file) return web_send(x, file);
    fail(&err, EF_NOT_FOUND, "no such route: %.*s", (int)MIN(path.n, 200), path.p);
    exchange_fail(x, &err);
}

const Handler web_handler = { .serve = serve_web };

static void serve_explore(Exchange *x)
{
    Job *job = x->job = job_new();
    job->in.kind = &kind_explore;
    job->in.tree = NEW(&job->work.arena, Value); /* a GET has no body */
    job->in.gzip_from = x->gzip_reply ? x->loop->options.gzip_from : 0;
    exchange_run(x, job);
}

const Handler explore_handler = { .serve = serve_explore };

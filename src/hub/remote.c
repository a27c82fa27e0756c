/* SPDX-License-Identifier: Apache-2.0
 * remote.c - requests to the Hub: redirects, tries, refusals. */
#include "hub/remote.h"

#include <strings.h>
#include <time.h>

#include "base/file.h"
#include "base/log.h"
#include "data/json.h"

enum {
    REDIRECTS_MOST = 10,
    TRIES = 5,
    TRIES_UNREACHED = 2,
    TRIES_MOST = 20,
    WAIT_MOST_S = 60,
    LIST_MOST = 64 << 20
};
#define FIRST_PAUSE_S 0.25

/* ---- refusals ---- */
typedef struct HubTrouble { /* rows: the first that fits */
    int status;             /* 0: any */
    const char *code;       /* of X-Error-Code; NULL: any */
    int token;              /* 1: with a token, 0: without, -1: either */
    ef_code error;
    const char *words; /* with the Hub's address for %s */
} HubTrouble;

static const HubTrouble troubles[] = {
    { 0, "GatedRepo", 0, EF_UNAUTHORIZED,
      "the model is gated: accept its terms at %s, and set HF_TOKEN to a token "
      "of that account" },
    { 0, "GatedRepo", 1, EF_UNAUTHORIZED,
      "the model is gated, and the token's account may not read it: accept "
      "its terms at %s" },
    { 0, "RevisionNotFound", -1, EF_NOT_FOUND, "no such revision of %s" },
    { 0, "EntryNotFound", -1, EF_NOT_FOUND, "no such file in %s" },
    { 401, NULL, 0, EF_NOT_FOUND, "not found at %s; a private model needs HF_TOKEN" },
    { 401, NULL, 1, EF_UNAUTHORIZED,
      "not found at %s, or the token in HF_TOKEN is not valid (401)" },
    { 403, NULL, 0, EF_UNAUTHORIZED, "%s may not be read without a token: set HF_TOKEN (403)" },
    { 403, NULL, 1, EF_UNAUTHORIZED, "%s may not be read with this HF_TOKEN (403)" },
    { 404, NULL, -1, EF_NOT_FOUND, "not found at %s (404)" },
    { 410, NULL, -1, EF_NOT_FOUND, "no longer at %s (410)" },
};

static bool trouble_fits(const HubTrouble *t, int status, Str code, bool token)
{
    return (t->status == 0 || t->status == status) && (!t->code || str_is(code, t->code)) &&
           (t->token < 0 || t->token == (int)token);
}

static bool remote_refuse(const HubRemote *r, const RemoteCall *call, const ReplyHead *h, Err *err)
{
    bool token = r->settings->token.n, own = url_same_host(&call->url, &r->settings->endpoint);
    char site[512];
    snprintf(site, sizeof site, "%s/%.*s", r->settings->site, STR_ARG(r->repo));
    Str code = reply_field(h, "X-Error-Code");
    for (size_t i = 0; own && i < COUNT(troubles); i++)
        if (trouble_fits(&troubles[i], h->status, code, token)) {
            fail(err, troubles[i].error, troubles[i].words, site);
            return within(err, "%s", call->what);
        }
    return fail(err, EF_IO, "%s: found status %d from %s, wanted the file", call->what, h->status,
                call->url.host);
}

/* Statuses that may be another by and by. */
static bool status_passes(int status)
{
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
           status == 504;
}

/* *wait: seconds that the server asks for; 0: none said. */
static bool remote_busy(const RemoteCall *call, const ReplyHead *h, double *wait, Err *err)
{
    int64_t seconds = 0;
    Str after = reply_field(h, "Retry-After");
    if (!str_int(after, &seconds) || seconds < 0) seconds = 0;
    *wait = (double)MIN(seconds, 1 << 30);
    ef_code code = seconds > WAIT_MOST_S ? EF_OVERLOADED : EF_UNAVAILABLE; /* nobody waits so long */
    if (h->status == 429)
        fail(err, code, "%s: %s refuses more requests "
             "(429)%s%.*s%s",
             call->what, call->url.host, seconds ? ": wait " : "; wait a while",
             seconds ? (int)after.n : 0, after.p,
             seconds ? " s; with HF_TOKEN it allows more" : "");
    else
        fail(err, code, "%s: %s cannot answer now (status %d)", call->what, call->url.host, h->status);
    return false;
}

/* ---- one try ---- */
static bool is_redirect(const ReplyHead *h)
{
    return h->status == 301 || h->status == 302 || h->status == 303 || h->status == 307 ||
           h->status == 308;
}

static bool next_hop(Arena *arena, RemoteCall *call, const ReplyHead *h, Url *next, Err *err)
{
    Str location = reply_field(h, "Location");
    if (!url_follow(arena, &call->url, str_of(str_dup(arena, location)), next, err) ||
        !url_is_safe(next, err))
        return within(err, "%s: redirect from %s", call->what, call->url.host);
    return (next->tls || !call->url.tls) ||
           fail(err, EF_IO, "%s: found a redirect from https://%s to plain http, wanted https",
                call->what, call->url.host);
}

static bool has_etag(const ReplyHead *h)
{
    return reply_field(h, "X-Linked-Etag").n || reply_field(h, "ETag").n;
}

/* Follows redirects up to a reply of status 2xx, or, for metadata, one that names another host. */
static bool remote_follow(HubRemote *r, HttpConn *conn, Arena *arena, RemoteCall *call,
                          double *wait, Err *err)
{
    const HubSettings *s = r->settings;
    for (int hops = 0; hops <= REDIRECTS_MOST; hops++) {
        bool own = url_same_host(&call->url, &s->endpoint);
        HttpRequest request = { .method = call->method,
                                .url = &call->url,
                                .bearer = own ? s->token : (Str){ 0 } };
        if (call->prepare) call->prepare(call->context, &request);
        if (!http_start(conn, &request, err)) return within(err, "%s", call->what);
        __atomic_store_n(&r->reached, true, __ATOMIC_RELAXED);
        const ReplyHead *h = &conn->head;
        if (h->status / 100 == 2) return true;
        if (status_passes(h->status)) return remote_busy(call, h, wait, err);
        if (!is_redirect(h) || !reply_field(h, "Location").n) return remote_refuse(r, call, h, err);
        Url next;
        if (!next_hop(arena, call, h, &next, err)) return false;
        call->elsewhere = call->metadata && has_etag(h) && !url_same_host(&next, &call->url);
        call->url = next;
        if (call->elsewhere) return true;
        http_end(conn);
    }
    return fail(err, EF_IO, "%s: found over %d redirects, wanted an answer", call->what,
                REDIRECTS_MOST);
}

static bool remote_body(HttpConn *conn, RemoteCall *call, bool *progress, Err *err)
{
    Str bytes;
    do {
        if (!http_read(conn, &bytes, err)) return within(err, "%s", call->what);
        if (bytes.n && call->add && !call->add(call->context, bytes, err)) return false;
        *progress = *progress || bytes.n;
    } while (bytes.n);
    return true;
}

static bool remote_try(HubRemote *r, HttpConn *conn, Arena *arena, RemoteCall *call, double *wait,
                       bool *progress, Err *err)
{
    if (!remote_follow(r, conn, arena, call, wait, err)) return false;
    if (call->begin && !call->begin(call->context, &conn->head, err))
        return within(err, "%s", call->what);
    return call->elsewhere || remote_body(conn, call, progress, err);
}

/* ---- tries ---- */
static void remote_pause(double seconds)
{
    struct timespec t = { .tv_sec = (time_t)seconds };
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
}

bool remote_call(HubRemote *r, HttpConn *conn, Arena *arena, RemoteCall *call, Err *err)
{
    const Url begin = call->url;
    int vain = 0; /* tries in a row that brought nothing */
    for (int i = 0; i < TRIES_MOST; i++) {
        double wait = 0;
        bool progress = false;
        call->url = begin;
        if (remote_try(r, conn, arena, call, &wait, &progress, err)) return http_end(conn), true;
        http_end(conn);
        vain = progress ? 1 : vain + 1;
        int most = __atomic_load_n(&r->reached, __ATOMIC_RELAXED) ? TRIES : TRIES_UNREACHED;
        if (err->code != EF_UNAVAILABLE || r->once || vain >= most) return false;
        if (wait > 1) log_info("%s; trying again", err->message);
        remote_pause(wait > 0 ? wait : FIRST_PAUSE_S * (1 << (vain - 1)));
    }
    return false;
}

/* ---- a revision ---- */
typedef struct ListText {
    Buf text;
} ListText;

static bool list_begin(void *context, const ReplyHead *h, Err *err)
{
    (void)h, (void)err;
    ((ListText *)context)->text.n = 0;
    return true;
}

static bool list_add(void *context, Str bytes, Err *err)
{
    Buf *text = &((ListText *)context)->text;
    if (text->n + bytes.n > LIST_MOST)
        return fail(err, EF_TOO_LARGE, "found a list of over %d bytes", LIST_MOST);
    buf_str(text, bytes);
    return true;
}

static bool take_list(Arena *arena, Str text, RemoteList *out, Err *err)
{
    Value tree;
    if (!json_parse(arena, text, &tree, err)) return false;
    const Value *files = value_get(&tree, "siblings");
    out->commit = value_str(value_get(&tree, "sha"), (Str){ 0 });
    if (out->commit.n == 0 || !files || files->kind != V_LIST)
        return fail(err, EF_IO,
                    "found no \"sha\" or no \"siblings\", wanted the Hub's description of a "
                    "model");
    out->name = ARRAY(arena, const char *, files->list.n + 1);
    for (size_t i = 0; i < files->list.n; i++) {
        Str name = value_str(value_get(&files->list.items[i], "rfilename"), (Str){ 0 });
        if (!path_stays_inside(name)) continue; /* nothing that is wanted here */
        out->name[out->n] = str_dup(arena, name);
        map_put(&out->files, arena, str_of(out->name[out->n]), (void *)out->name[out->n]);
        out->n++;
    }
    return true;
}

bool remote_list(HubRemote *r, HttpConn *conn, Arena *arena, Str revision, RemoteList *out,
                 Err *err)
{
    ListText list = { .text.arena = arena };
    const char *path = str_format(arena, "%s/api/models/%.*s/revision/%s", r->settings->site,
                                  STR_ARG(r->repo), url_escape(arena, revision, true));
    RemoteCall call = { .method = "GET", .context = &list, .begin = list_begin, .add = list_add };
    call.what = str_is(revision, "main")
                    ? str_dup(arena, r->repo)
                    : str_format(arena, "%.*s@%.*s", STR_ARG(r->repo), STR_ARG(revision));
    *out = (RemoteList){ 0 };
    if (!url_parse(arena, str_of(path), &call.url, err) || !remote_call(r, conn, arena, &call, err))
        return false;
    return take_list(arena, buf_view(&list.text), out, err) ||
           within(err, "%s: %s", call.what, path);
}

/* ---- a file ---- */
typedef struct FileHead {
    Arena *arena;
    RemoteFile *out;
} FileHead;

/* W/"abc" and "abc" are abc; a name with a slash would leave the folder of blobs. */
static Str plain_etag(Str etag)
{
    if (str_starts(etag, "W/")) etag.p += 2, etag.n -= 2;
    while (etag.n && etag.p[0] == '"') etag.p++, etag.n--;
    while (etag.n && etag.p[etag.n - 1] == '"') etag.n--;
    return etag.n > 200 || memchr(etag.p, '/', etag.n) || !path_stays_inside(etag) ? (Str){ 0 }
                                                                                   : etag;
}

static bool file_begin(void *context, const ReplyHead *h, Err *err)
{
    FileHead *f = context;
    Str etag = reply_field(h, "X-Linked-Etag"), size = reply_field(h, "X-Linked-Size");
    if (!etag.n) etag = reply_field(h, "ETag");
    etag = plain_etag(etag);
    f->out->etag = str_of(str_dup(f->arena, etag));
    f->out->size = -1;
    if (!str_int(size, &f->out->size) && !is_redirect(h)) f->out->size = h->length;
    if (f->out->size < -1) f->out->size = -1;
    bool commit = reply_field(h, "X-Repo-Commit").n > 0; /* else it is some other server */
    return (etag.n > 0 && commit) ||
           fail(err, EF_IO,
                "found a reply without %s, wanted one of the Hub: is HF_ENDPOINT right, and "
                "does a proxy change replies?",
                commit ? "ETag" : "X-Repo-Commit");
}

bool remote_file(HubRemote *r, HttpConn *conn, Arena *arena, Str commit, const char *name,
                 RemoteFile *out, Err *err)
{
    FileHead head = { .arena = arena, .out = out };
    const char *path =
        str_format(arena, "%s/%.*s/resolve/%.*s/%s", r->settings->site, STR_ARG(r->repo),
                   STR_ARG(commit), url_escape(arena, str_of(name), false));
    RemoteCall call = { .method = "HEAD", .metadata = true, .context = &head, .begin = file_begin };
    call.what = name;
    if (!url_parse(arena, str_of(path), &call.url, err) || !remote_call(r, conn, arena, &call, err))
        return false;
    out->url = call.url;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * grpc_call.c - a call over HTTP/2: messages out of the body become jobs, as many at a time as the
 * window holds; replies go out in their order, the status in the trailers. What is in flight is
 * bounded: a client that does not read is not read either. */
#include "base/heap.h"
#include "data/gzip.h"
#include "data/proto.h"
#include "data/wire.h"
#include "grpc.h"
#include "loop.h"

enum {
    WINDOW = 64,                 /* messages in flight */
    OUT_LIMIT = 1 << 20,         /* bytes of replies that wait to be sent */
    AT_ONCE = 64 << 10,          /* of a message that is answered on the loop's thread */
    AT_ONCE_VALUES = 1000,
};

typedef struct Call {
    const GrpcService *service;
    const GrpcMethod *method;
    bool gzip;                   /* messages may be packed, both ways */
    bool begun;                  /* the head of the reply is out */
    bool over;                   /* and the status too */
    size_t messages;             /* that have come */
    double deadline;             /* 0: none of its own */
    Job *job[WINDOW];            /* ring: submitted and not answered yet */
    bool back[WINDOW];           /* its reply is there */
    int first, n;
    Buf gathered, plain;         /* (gathers) the request so far; a message that came packed */
    Buf watched, said, now;      /* (watches) the request; the last answer; this one */
} Call;

/* ---- out ---- */
/* What a family tells of a call that has one reply stands in its head. */
static size_t grpc_call_tell(const Call *call, const Job *job, Told *told)
{
    if (!job || call->method->many_out) return 0;
    return exchange_told(call->method->kind->family, job, told);
}

static void begin(Exchange *x, const Job *job)
{
    Call *call = x->own;
    ReplyField field[2 + TOLD_FIELDS] = { { "grpc-accept-encoding", "identity,gzip" },
                                        { "grpc-encoding", "gzip" } };
    Told told;
    if (call->begun) return;
    call->begun = true;
    size_t n = call->gzip ? 2 : 1, more = grpc_call_tell(call, job, &told);
    for (size_t i = 0; i < more; i++) field[n++] = told.field[i];
    exchange_begin(x, (Reply){ .status = 200, .type = "application/grpc", .pieces = true,
                               .extra = field, .n_extra = n });
}

static void send_message(Exchange *x, bool packed, Str message)
{
    char prefix[GRPC_PREFIX];
    begin(x, NULL);
    grpc_prefix(prefix, packed, message.n);
    exchange_send(x, (Str){ prefix, sizeof prefix });
    exchange_send(x, message);
}

static void send_reply(Exchange *x, const Job *job)
{
    begin(x, job);
    send_message(x, job->out.gzip, buf_view(&job->out.text));
}

/* Those on their way come back one by one, and find that nobody wants them. */
static void drop_jobs(Call *call)
{
    for (; call->n; call->n--) {
        Job *job = call->job[call->first];
        if (call->back[call->first]) job_free(job);
        else work_abandon(&job->work);
        call->first = (call->first + 1) % WINDOW;
    }
}

static void end_call(Exchange *x, int status, const char *message)
{
    Call *call = x->own;
    char number[16];
    Arena arena = { .local = true };
    Buf text = { .arena = &arena };
    if (call->over) return;
    call->over = true;
    drop_jobs(call);
    begin(x, NULL);
    snprintf(number, sizeof number, "%d", status);
    grpc_escape(&text, message);
    buf_char(&text, 0);
    ReplyField trailers[] = { { "grpc-status", number }, { "grpc-message", text.p } };
    exchange_end(x, trailers, *message ? 2 : 1);
    arena_free(&arena);
}

static void fail_call(Exchange *x, const Err *err)
{
    end_call(x, err_kind(err->code)->grpc, err->message);
}

/* Those in front whose replies are there. The first error is the call's. */
static void send_ready(Exchange *x)
{
    Call *call = x->own;
    while (!call->over && call->n && call->back[call->first]) {
        Job *job = call->job[call->first];
        call->first = (call->first + 1) % WINDOW;
        call->n--;
        job_free(x->job);
        x->job = job; /* the last one stays: log and metrics read it */
        if (job->work.err.code == EF_OK) send_reply(x, job);
        else fail_call(x, &job->work.err);
        buf_free(&job->out.text);
    }
}

/* ---- at once ---- */
static bool plain_message(const GrpcFrame *frame, Buf *out, Err *err)
{
    if (frame->packed) return gzip_unpack(out, frame->message, AT_ONCE, err);
    if (frame->message.n > AT_ONCE)
        return fail(err, EF_TOO_LARGE, "message: found %zu bytes, wanted at most %d",
                    frame->message.n, AT_ONCE);
    buf_str(out, frame->message);
    return true;
}

bool grpc_answer(const Loop *loop, const GrpcMethod *m, Arena *arena, const Value *request,
                 Value *reply, Err *err)
{
    if (!m->page) return m->answer(loop, m, arena, request, reply, err);
    *reply = m->page(arena, &loop->site);
    return true;
}

static bool grpc_call_answer(const Exchange *x, Str message, Buf *out, Err *err)
{
    const Call *call = x->own;
    const GrpcMethod *m = call->method;
    Arena arena = { .local = true };
    Value request, reply;
    bool ok = proto_read(&arena, message, m->form.request, AT_ONCE_VALUES, &request, err) &&
              grpc_answer(x->loop, m, &arena, &request, &reply, err);
    if (ok) proto_write(out, &reply, m->form.reply);
    arena_free(&arena);
    return ok;
}

/* A watched answer is said when it is another than before. */
static void watch(Exchange *x)
{
    Call *call = x->own;
    Buf *now = &call->now, before = call->said;
    Err err = { 0 };
    if (!call->messages || call->over) return;
    now->n = 0;
    if (!grpc_call_answer(x, buf_view(&call->watched), now, &err)) return fail_call(x, &err);
    if (!call->begun || !str_eq(buf_view(now), buf_view(&before)))
        send_message(x, false, buf_view(now));
    call->said = *now;
    call->now = before;
    fail(&err, EF_UNAVAILABLE, "the server is stopping");
    if (x->loop->stopping) fail_call(x, &err);
}

static void answer_now(Exchange *x, const GrpcFrame *frame)
{
    Call *call = x->own;
    Arena arena = { .local = true };
    Buf message = { .arena = &arena }, reply = { .arena = &arena };
    Err err = { 0 };
    bool ok = plain_message(frame, &message, &err);
    if (ok && call->method->watches) {
        buf_str(&call->watched, buf_view(&message));
        x->patient = true;
        watch(x);
    } else if (ok && grpc_call_answer(x, buf_view(&message), &reply, &err)) {
        send_message(x, false, buf_view(&reply));
    } else {
        fail_call(x, &err);
    }
    arena_free(&arena);
}

/* ---- jobs ---- */
static void grpc_call_fill_job(const Exchange *x, Job *job, Str message, bool packed)
{
    const Call *call = x->own;
    buf_str(&job->in.storage, message);
    job->in.body = message.n ? buf_view(&job->in.storage) : STR("");
    job->in.kind = call->method->kind;
    job->in.form = &call->method->form;
    job->in.gzip = packed;
    job->in.most = x->loop->options.max_body;
    job->in.gzip_from = call->gzip ? x->loop->options.gzip_from : 0;
    job->work.deadline = call->deadline;
}

/* false: there is no room for it now; a stream will try again. */
static bool grpc_call_submit(Exchange *x, Str message, bool packed)
{
    Call *call = x->own;
    Err err = { 0 };
    int at = (call->first + call->n) % WINDOW;
    Job *job = call->job[at] = job_new();
    call->back[at] = true; /* not in the session: freed by end() */
    call->n++;
    grpc_call_fill_job(x, job, message, packed);
    call->back[at] = !exchange_submit(x, job, &err);
    if (!call->back[at]) return true;
    call->n--;
    job_free(job);
    if (err.code == EF_OVERLOADED && call->method->many_in) return false;
    fail_call(x, &err);
    return true;
}

/* The first message whole, of the others field 2: the texts of one long request. */
static bool gather(Exchange *x, const GrpcFrame *frame, Err *err)
{
    enum { TEXT = 2 };
    Call *call = x->own;
    size_t most = x->loop->options.max_body;
    bool ok = !frame->packed || gzip_unpack(&call->plain, frame->message, most, err), text = false;
    Str message = frame->packed ? buf_view(&call->plain) : frame->message;
    if (ok && call->messages == 0) buf_str(&call->gathered, message);
    Wire w = wire_over(message);
    while (ok && wire_next(&w, err)) {
        if (w.field != TEXT || w.type != WIRE_BYTES) continue;
        if (call->messages) wire_put_bytes(&call->gathered, TEXT, w.bytes);
        text = true;
    }
    if (!text) wire_put_bytes(&call->gathered, TEXT, STR("")); /* sent, but empty */
    buf_free(&call->plain);
    if (err->code == EF_OK && call->gathered.n > most)
        fail(err, EF_TOO_LARGE, "messages: found more than %zu bytes", most);
    return err->code == EF_OK;
}

/* ---- in ---- */
/* true: it was used. */
static bool take_message(Exchange *x, const GrpcFrame *frame)
{
    Call *call = x->own;
    const GrpcMethod *m = call->method;
    Err err = { 0 };
    bool more = call->messages > 0 && !m->many_in;
    if (more || (frame->packed && !call->gzip)) {
        if (more) end_call(x, GRPC_UNIMPLEMENTED, "found a second message, wanted one");
        else end_call(x, GRPC_INTERNAL, "found a packed message, but no grpc-encoding");
        return true;
    }
    if (m->gathers) {
        if (!gather(x, frame, &err)) fail_call(x, &err);
    } else if (!m->kind) {
        answer_now(x, frame);
    } else if (!grpc_call_submit(x, frame->message, frame->packed)) {
        return false;
    }
    call->messages++;
    return true;
}

static bool has_room(const Exchange *x)
{
    const Call *call = x->own;
    return !call->over && call->n < WINDOW && exchange_unsent(x) < OUT_LIMIT;
}

/* true: the next message has not come yet. */
static bool take_messages(Exchange *x)
{
    GrpcFrame frame;
    Err err = { 0 };
    while (has_room(x)) {
        GrpcEvent event = grpc_frame(exchange_body(x), x->loop->options.max_body, &frame, &err);
        if (event == GRPC_MORE) return true;
        if (event == GRPC_BAD) return fail_call(x, &err), false;
        if (!take_message(x, &frame)) return false;
        exchange_consume(x, GRPC_PREFIX + frame.message.n);
    }
    return false;
}

/* All that the client said has been taken. */
static void end_of_messages(Exchange *x)
{
    Call *call = x->own;
    Err err = { 0 };
    if (exchange_body(x).n) {
        fail(&err, EF_BAD_REQUEST, "message: found its first %zu bytes only", exchange_body(x).n);
        return fail_call(x, &err);
    }
    if (call->gathered.n) {
        if (grpc_call_submit(x, buf_view(&call->gathered), false)) buf_free(&call->gathered);
        return;
    }
    if (call->messages == 0 && !call->method->many_in)
        return end_call(x, GRPC_UNIMPLEMENTED, "found no message, wanted one");
    if (call->n == 0 && !call->method->watches) end_call(x, GRPC_OK, "");
}

static void advance(Exchange *x)
{
    Call *call = x->own;
    Err err = { 0 };
    if (call->over) return;
    fail(&err, EF_DEADLINE, "the answer would come too late");
    if (call->deadline > 0 && call->deadline <= x->loop->now) return fail_call(x, &err);
    if (call->method->watches) watch(x);
    bool all = take_messages(x);
    if (call->over) return;
    x->hungry = has_room(x);
    if (all && x->complete) end_of_messages(x);
}

static void grpc_call_returned(Exchange *x, Job *job)
{
    Call *call = x->own;
    bool known = false;
    for (int i = 0; i < call->n; i++) {
        int at = (call->first + i) % WINDOW;
        if (call->job[at] != job) continue;
        known = call->back[at] = true;
    }
    if (!known) return job_free(job);
    send_ready(x);
    advance(x);
}

/* ---- the head ---- */
static bool check_key(const Exchange *x, const GrpcService *service, Err *err)
{
    return access_allowed(x->loop, &(Route){ .open = service->open },
                          exchange_header(x, HEADER_AUTHORIZATION), err);
}

static bool read_timeout(const Exchange *x, Call *call, Err *err)
{
    double seconds;
    Str text = exchange_header(x, HEADER_GRPC_TIMEOUT);
    if (!text.p) return true;
    if (!grpc_timeout(text, &seconds, err)) return false;
    call->deadline = x->loop->now + MIN(seconds, x->loop->options.request_timeout_s);
    return true;
}

static bool able(const Exchange *x, const GrpcMethod *method)
{
    const JobKind *kind = method->kind;
    return !kind || site_can(&x->loop->site, kind->needs);
}

static void open_call(Exchange *x, Call *call)
{
    Err err = { 0 };
    Str coding = exchange_header(x, HEADER_GRPC_ENCODING);
    const GrpcTarget *target = grpc_find(x->loop->grpc, exchange_path(x));
    if (!target) return end_call(x, GRPC_UNIMPLEMENTED, "no such method");
    call->service = target->service;
    call->method = target->method;
    call->gzip = str_is(coding, "gzip");
    if (coding.p && !call->gzip && !str_is(coding, "identity"))
        return end_call(x, GRPC_UNIMPLEMENTED, "grpc-encoding: wanted identity or gzip");
    if (!check_key(x, target->service, &err) || !read_timeout(x, call, &err))
        return fail_call(x, &err);
    if (!able(x, target->method))
        return end_call(x, GRPC_FAILED_PRECONDITION, "the model is of another kind");
    advance(x);
}

/* The format of the messages stands behind a +; we have one. As other servers do it, whoever reads
 * HTTP alone finds 415, and whoever reads gRPC its status. */
static bool is_protobuf(Str type)
{
    return media_is(type, "application/grpc") || media_is(type, "application/grpc+proto");
}

static void refuse_format(Exchange *x, Str type)
{
    char number[16];
    Err err = { 0 };
    Arena arena = { .local = true };
    Buf text = { .arena = &arena };
    fail(&err, EF_MEDIA_TYPE,
         "Content-Type: found \"%.*s\", wanted application/grpc or application/grpc+proto",
         (int)MIN(type.n, 80), type.p);
    snprintf(number, sizeof number, "%d", GRPC_UNIMPLEMENTED);
    grpc_escape(&text, err.message);
    buf_char(&text, 0);
    ReplyField field[] = { { "grpc-status", number }, { "grpc-message", text.p } };
    exchange_reply(x, (Reply){ .status = 415, .type = "application/grpc", .extra = field,
                               .n_extra = COUNT(field) }, (Str){ 0 });
    arena_free(&arena);
}

static void grpc_call_serve(Exchange *x)
{
    Err err = { 0 };
    Str type = exchange_header(x, HEADER_CONTENT_TYPE);
    bool off = x->loop->options.no_grpc;
    fail(&err, EF_MEDIA_TYPE, "application/grpc: %s", off ? "is disabled" : "wanted HTTP/2");
    if (off || !x->trailers) return exchange_fail(x, &err);
    if (!is_protobuf(type)) return refuse_format(x, type);
    Call *call = x->own = heap_resize(NULL, sizeof *call);
    fail(&err, EF_OVERLOADED, "no memory for another call: try again");
    if (!call) return exchange_fail(x, &err);
    *call = (Call){ 0 };
    open_call(x, call);
}

static void broken(Exchange *x, const Err *err)
{
    if (x->own) fail_call(x, err);
}

static void grpc_call_end(Exchange *x)
{
    Call *call = x->own;
    if (!call) return;
    drop_jobs(call);
    buf_free(&call->gathered);
    buf_free(&call->plain);
    buf_free(&call->watched);
    buf_free(&call->said);
    buf_free(&call->now);
    heap_resize(call, 0);
    x->own = NULL;
}

const Handler grpc_handler = {
    .early = true, .serve = grpc_call_serve, .advance = advance, .returned = grpc_call_returned, .broken = broken,
    .end = grpc_call_end, .media = "application/grpc",
};

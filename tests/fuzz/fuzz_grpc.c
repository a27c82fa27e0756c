/* SPDX-License-Identifier: Apache-2.0
 * fuzz_grpc.c - any bytes as the body of a call: the first one chooses the method, the rest are
 * frames. What is read is answered, or written again; timeouts and status texts on the way. */
#include <stdlib.h>

#include "data/proto.h"
#include "server/grpc.h"
#include "server/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Arena kept;
static ModelConfig config;
static Loop server = { .site = { .model_id = { "m", 1 }, .config = &config } };

static const GrpcMethod *choose(uint8_t number)
{
    if (!server.grpc) {
        server.site.task = task_find(STR("token_classification"));
        server.grpc = grpc_new(&kept, &server.site);
    }
    const GrpcService *service = server.grpc->service[number % server.grpc->services];
    size_t n = 0;
    while (service->method[n].name) n++;
    return &service->method[number / server.grpc->services % n];
}

static void read_message(const GrpcMethod *m, Str message)
{
    Arena arena = { 0 };
    Buf out = { 0 };
    Err err = { 0 };
    Value request, reply;
    bool info = m->page && m->idempotent; /* needs a session */
    if (proto_read(&arena, message, m->form.request, 1000, &request, &err)) {
        if (!m->kind && !info && grpc_answer(&server, m, &arena, &request, &reply, &err))
            proto_write(&out, &reply, m->form.reply);
        else
            proto_write(&out, &request, m->form.request);
    }
    if (err.code != EF_OK) grpc_escape(&out, err.message);
    buf_free(&out);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 16 };
    if (size == 0) return 0;
    const GrpcMethod *m = choose(data[0]);
    Str rest = { (const char *)data + 1, size - 1 };
    GrpcFrame frame;
    Err err = { 0 };
    double seconds;
    grpc_timeout(rest, &seconds, &err);
    while (grpc_frame(rest, MOST, &frame, &err) == GRPC_MESSAGE) {
        if (frame.message.n > MOST) abort();
        read_message(m, frame.message);
        rest.p += GRPC_PREFIX + frame.message.n;
        rest.n -= GRPC_PREFIX + frame.message.n;
    }
    return 0;
}

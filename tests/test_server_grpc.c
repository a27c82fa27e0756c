/* SPDX-License-Identifier: Apache-2.0
 * test_server_grpc.c - gRPC without a network: frames, timeouts, status texts; the services of
 * every task as protoc describes them (tests/golden/descriptors); health and reflection. */
#include "base/file.h"
#include "check.h"
#include "data/proto.h"
#include "server/grpc.h"
#include "server/loop.h"

static Arena arena;
static Err err;

/* ---- frames ---- */
static GrpcEvent frame_of(Str bytes, GrpcFrame *frame)
{
    err = (Err){ 0 };
    return grpc_frame(bytes, 100, frame, &err);
}

static void test_frames(void)
{
    TEST("frames");
    GrpcFrame frame;
    static const char bytes[] = "\0\0\0\0\3abc\1\0\0\0\0\0";
    for (size_t n = 0; n < 8; n++) CHECK(frame_of((Str){ bytes, n }, &frame) == GRPC_MORE);
    CHECK(frame_of((Str){ bytes, 14 }, &frame) == GRPC_MESSAGE && !frame.packed);
    CHECK(str_is(frame.message, "abc"));
    CHECK(frame_of((Str){ bytes + 8, 6 }, &frame) == GRPC_MESSAGE && frame.packed);
    CHECK(frame.message.n == 0);
    CHECK(frame_of(STR("\2"), &frame) == GRPC_BAD && says(&err, "found flag 2"));
    CHECK(frame_of(STR("\0\0\0\0\145"), &frame) == GRPC_BAD && err.code == EF_TOO_LARGE);
    CHECK(frame_of(STR("\0\377\377\377\377"), &frame) == GRPC_BAD && says(&err, "4294967295"));
    char prefix[GRPC_PREFIX];
    grpc_prefix(prefix, true, 0x01020304);
    CHECK(memcmp(prefix, "\1\1\2\3\4", 5) == 0);
}

static bool timeout_is(const char *text, double wanted)
{
    double seconds = -1;
    return grpc_timeout(str_of(text), &seconds, &err) && fabs(seconds - wanted) <= wanted * 1e-9;
}

static void test_timeouts(void)
{
    TEST("timeouts");
    CHECK(timeout_is("1S", 1) && timeout_is("250m", 0.25) && timeout_is("2H", 7200));
    CHECK(timeout_is("3M", 180) && timeout_is("5u", 5e-6) && timeout_is("99999999n", 0.099999999));
    static const char *const wrong[] = { "",    "1",    "S",          "1s", "-1S",
                                         "+1S", "1.5S", "123456789S", "1 S" };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        double seconds;
        CHECK(!grpc_timeout(str_of(wrong[i]), &seconds, &err) && says(&err, "grpc-timeout: found"));
    }
}

static void test_escape(void)
{
    TEST("status texts");
    Buf out = { 0 };
    grpc_escape(&out, "inputs: 100% \xC3\xA9\n");
    CHECK(str_is(buf_view(&out), "inputs: 100%25 %C3%A9%0A"));
    buf_free(&out);
}

/* ---- services ---- */
static Str label_names[] = { { "good", 4 }, { "bad", 3 } };

static Loop loop_of(const char *task)
{
    static ModelConfig config;
    config = (ModelConfig){ .num_labels = 2, .labels = label_names };
    Loop loop = { .site = { .model_id = STR("dummy"), .config = &config } };
    loop.site.task = task_find(str_of(task));
    loop.grpc = grpc_new(&arena, &loop.site);
    return loop;
}

static void check_file(const GrpcFile *file)
{
    Str golden;
    char *path = str_format(&arena, "tests/golden/descriptors/%s.bin", file->package);
    if (strncmp(file->package, "grpc.", 5) == 0) return; /* compared by their own clients */
    TEST(file->package);
    if (!CHECK(file_read(&arena, path, 1 << 20, &golden, &err))) return;
    CHECK(str_eq(golden, file->bytes));
}

static void test_descriptors(void)
{
    size_t tasks;
    const Task *const *task = task_all(&tasks);
    for (size_t i = 0; i < tasks; i++) {
        Loop loop = loop_of(task[i]->name);
        for (size_t k = 0; k < loop.grpc->files; k++) check_file(&loop.grpc->file[k]);
    }
}

/* The answer to a message of bytes; n 0: an error. */
static Value ask(const Loop *loop, const char *path, Str message)
{
    Value request, reply = { 0 };
    const GrpcTarget *target = grpc_find(loop->grpc, str_of(path));
    err = (Err){ 0 };
    if (!CHECK(target)) return reply;
    const GrpcMethod *m = target->method;
    if (!CHECK(proto_read(&arena, message, m->form.request, 100, &request, &err))) return reply;
    if (!grpc_answer(loop, m, &arena, &request, &reply, &err)) return (Value){ 0 };
    return reply;
}

static bool status_is(const Loop *loop, const char *method, Str message, const char *wanted)
{
    Value reply = ask(loop, str_format(&arena, "/grpc.health.v1.Health/%s", method), message);
    return str_is(value_str(value_get(&reply, "status"), STR("")), wanted);
}

static void test_health(void)
{
    TEST("health");
    Loop loop = loop_of("token_classification");
    Str other = STR("\x0a\x05other");
    static const char known[] = "\x0a\x15grpc.health.v1.Health";
    CHECK(status_is(&loop, "Check", STR(""), "serving"));
    CHECK(status_is(&loop, "Check", (Str){ known, sizeof known - 1 }, "serving"));
    CHECK(ask(&loop, "/grpc.health.v1.Health/Check", other).kind == V_NULL);
    CHECK(err.code == EF_NOT_FOUND && err_kind(err.code)->grpc == GRPC_NOT_FOUND);
    CHECK(status_is(&loop, "Watch", other, "service_unknown"));
    loop.draining = true;
    CHECK(status_is(&loop, "Check", STR(""), "not_serving"));
    Value all = ask(&loop, "/grpc.health.v1.Health/List", STR(""));
    CHECK(value_get(&all, "statuses")->list.n == loop.grpc->services + 1);
}

static void test_metadata(void)
{
    TEST("metadata");
    Loop loop = loop_of("token_classification");
    Value reply = ask(&loop,
        "/encoderfile.token_classification.TokenClassificationInference/GetModelMetadata", STR(""));
    CHECK(value_int(value_get(&reply, "model_type"), 0) == 3);
    CHECK(str_is(value_str(value_get(value_get(&reply, "id2label"), "1"), STR("")), "bad"));
    CHECK(!grpc_find(loop.grpc, STR("/encoderfile.embedding.EmbeddingInference/Predict")));
    loop = loop_of("embedding");
    reply = ask(&loop, "/encoderfile.embedding.EmbeddingInference/GetModelMetadata", STR(""));
    CHECK(value_get(&reply, "id2label")->map.n == 0);
}

#define REFLECT "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"

/* How many files hold the symbol, with what they import. */
static size_t files_of(const Loop *loop, const char *symbol)
{
    Buf message = { 0 };
    Value question = value_map(&arena, 2);
    static const Field rows[] = { { "file_containing_symbol", 4, F_STR, .nullable = true }, { 0 } };
    value_add(&question, "file_containing_symbol", value_of_str(str_of(symbol)));
    proto_write(&message, &question, rows);
    Value reply = ask(loop, REFLECT, (Str){ str_dup(&arena, buf_view(&message)), message.n });
    buf_free(&message);
    const Value *files = value_get(&reply, "file_descriptor_response");
    const Value *missing = value_get(&reply, "error_response");
    if (missing) return CHECK(value_int(value_get(missing, "error_code"), 0) == 5), 0;
    return files ? value_get(files, "file_descriptor_proto")->list.n : 99;
}

static void test_reflection(void)
{
    TEST("reflection");
    Loop loop = loop_of("token_classification");
#define OWN "encoderfile.token_classification.TokenClassificationInference"
    CHECK(files_of(&loop, OWN) == 4 && files_of(&loop, OWN ".Predict") == 4);
    CHECK(files_of(&loop, "encoderfile.token.TokenInfo") == 1);
    CHECK(files_of(&loop, "encoderfile.metadata.ModelType") == 1);
    CHECK(files_of(&loop, "grpc.health.v1.HealthCheckResponse.ServingStatus") == 1);
    CHECK(files_of(&loop, "no.such.Symbol") == 0);
    Value reply = ask(&loop, REFLECT, STR("\x3a\x00"));
    const Value *list = value_get(value_get(&reply, "list_services_response"), "service");
    CHECK(list && list->list.n == loop.grpc->services);
    reply = ask(&loop, REFLECT, STR("\x1a\x1bgrpc/health/v1/health.proto"));
    CHECK(value_get(&reply, "file_descriptor_response") && value_get(&reply, "original_request"));
    CHECK(ask(&loop, REFLECT, STR("")).kind == V_NULL && err.code == EF_INVALID_INPUT);
}

int main(void)
{
    test_frames();
    test_timeouts();
    test_escape();
    test_descriptors();
    test_health();
    test_metadata();
    test_reflection();
    arena_free(&arena);
    return finish();
}

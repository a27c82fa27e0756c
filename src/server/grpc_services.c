/* SPDX-License-Identifier: Apache-2.0
 * grpc_services.c - the rows: what can be called. The original's service has the name, messages
 * and field numbers of its .proto, made from the model's task; only that one is there, as with it.
 * TEI's are all there: what the model cannot do is FAILED_PRECONDITION, as with it. */
#include <ctype.h>
#include <stdlib.h>

#include "grpc.h"
#include "loop.h"

/* ---- metadata: what model is this ---- */
static const Field nothing[] = { { 0 } };

/* ModelType, by number: the tasks of this program, and what only the Rust encoderfile has. */
typedef struct TypeWord {
    const char *word, *name;
    int number;
} TypeWord;

static int by_number(const void *a, const void *b)
{
    return ((const TypeWord *)a)->number - ((const TypeWord *)b)->number;
}

static const char *upper(Arena *arena, const char *word)
{
    char *out = str_dup(arena, str_of(word));
    for (char *p = out; *p; p++) *p = (char)toupper((unsigned char)*p);
    return out;
}

static TypeWord *type_list(Arena *arena, size_t *n)
{
    static const TypeWord others[] = { { "unspecified", "MODEL_TYPE_UNSPECIFIED", 0 },
                                       { "image_classification", "IMAGE_CLASSIFICATION", 21 } };
    size_t count;
    const Task *const *task = task_all(&count);
    TypeWord *list = ARRAY(arena, TypeWord, count + COUNT(others));
    memcpy(list, others, sizeof others);
    *n = COUNT(others);
    for (size_t i = 0; i < count; i++)
        list[(*n)++] = (TypeWord){ task[i]->name, upper(arena, task[i]->name), task[i]->number };
    qsort(list, *n, sizeof *list, by_number);
    return list;
}

static const Field *metadata_reply(Arena *arena)
{
    size_t n;
    const TypeWord *type = type_list(arena, &n);
    const char **word = ARRAY(arena, const char *, n + 1), **name = ARRAY(arena, const char *, n);
    int *number = ARRAY(arena, int, n);
    for (size_t i = 0; i < n; i++)
        word[i] = type[i].word, name[i] = type[i].name, number[i] = type[i].number;
    ProtoEnum *types = NEW(arena, ProtoEnum);
    *types = (ProtoEnum){ "ModelType", name, number };
    Field *rows = ARRAY(arena, Field, 4);
    rows[0] = (Field){ "model_id", 1, F_STR };
    rows[1] = (Field){ "model_type", 2, F_STR, .words = word, .proto_enum = types };
    rows[2] = (Field){ "id2label", 3, F_INT_STR_MAP };
    return rows;
}

static bool model_metadata(const Loop *loop, const GrpcMethod *method, Arena *arena,
                           const Value *request, Value *reply, Err *err)
{
    (void)method, (void)request, (void)err;
    const Site *site = &loop->site;
    const ModelConfig *config = site->config;
    int count = task_labels(site->task, config);
    Value labels = value_map(arena, (size_t)count);
    for (int i = 0; i < count; i++)
        value_add(&labels, str_format(arena, "%d", i), value_of_str(config->labels[i]));
    *reply = value_map(arena, 3);
    value_add(reply, "model_id", value_of_str(site->model_id));
    value_add(reply, "model_type", value_of_int(site->task->number));
    value_add(reply, "id2label", labels);
    return true;
}

/* ---- the task's own ---- */
/* "token_classification" -> "TokenClassification" + ending */
static const char *camel(Arena *arena, const char *task, const char *ending)
{
    char *out = str_format(arena, "%s%s", task, ending), *to = out;
    bool upper = true;
    for (const char *p = out; *p; p++) {
        if (*p == '_') {
            upper = true;
            continue;
        }
        *to++ = upper ? (char)toupper((unsigned char)*p) : *p;
        upper = false;
    }
    *to = 0;
    return out;
}

static const GrpcService *task_service(Arena *arena, const Task *task)
{
    const char *in = camel(arena, task->name, "Request");
    const char *out = camel(arena, task->name, "Response");
    GrpcMethod *row = ARRAY(arena, GrpcMethod, 4);
    row[0] = (GrpcMethod){ .name = "Predict", .in = in, .out = out, .kind = &kind_predict,
                           .form = { task->request, task->reply } };
    row[1] = row[0];
    row[1].name = "PredictStream";
    row[1].many_in = row[1].many_out = true;
    row[2] = (GrpcMethod){ .name = "GetModelMetadata",
                           .in = "encoderfile.metadata.GetModelMetadataRequest",
                           .out = "encoderfile.metadata.GetModelMetadataResponse",
                           .form = { nothing, metadata_reply(arena) }, .answer = model_metadata };
    GrpcService *service = NEW(arena, GrpcService);
    *service = (GrpcService){ .package = str_format(arena, "encoderfile.%s", task->name),
                              .name = camel(arena, task->name, "Inference"), .method = row };
    return service;
}

/* ---- health ---- */
static const char *const status_words[] = { "unknown", "serving", "not_serving", "service_unknown",
                                            NULL };
static const char *const status_names[] = { "UNKNOWN", "SERVING", "NOT_SERVING",
                                            "SERVICE_UNKNOWN" };
static const ProtoEnum serving_status = { "HealthCheckResponse.ServingStatus", status_names, NULL };
static const Field health_request[] = { { "service", 1, F_STR }, { 0 } };
static const Field health_rows[] = {
    { "status", 1, F_STR, .words = status_words, .proto_enum = &serving_status },
    { 0 },
};
static const Field health_entry[] = {
    { "key", 1, F_STR },
    { "value", 2, F_MSG, .msg = health_rows, .msg_name = "HealthCheckResponse" },
    { 0 },
};
static const Field health_list[] = {
    { "statuses", 1, F_MSG, .repeated = true, .msg = health_entry, .msg_name = "StatusesEntry" },
    { 0 },
};

static Value status_of(const Loop *loop, Arena *arena, const GrpcService *service)
{
    bool able = !service || site_can(&loop->site, service->needs);
    const char *word = able && !loop->draining ? "serving" : "not_serving";
    Value reply = value_map(arena, 1);
    value_add(&reply, "status", value_of_str(str_of(word)));
    return reply;
}

/* Of a service, or of all together when it is not named. NULL and false: there is none. */
static bool named_service(const Loop *loop, Arena *arena, Str name, const GrpcService **out)
{
    const Grpc *grpc = loop->grpc;
    *out = NULL;
    for (size_t i = 0; i < grpc->services; i++)
        if (str_is(name, grpc_full_name(arena, grpc->service[i]))) *out = grpc->service[i];
    return *out || name.n == 0;
}

static bool health_check(const Loop *loop, const GrpcMethod *method, Arena *arena,
                         const Value *request, Value *reply, Err *err)
{
    const GrpcService *service;
    Str name = value_get(request, "service")->s;
    if (named_service(loop, arena, name, &service)) {
        *reply = status_of(loop, arena, service);
        return true;
    }
    if (!method->watches)
        return fail(err, EF_NOT_FOUND, "no such service: %.*s", (int)MIN(name.n, 100), name.p);
    *reply = value_map(arena, 1);
    value_add(reply, "status", value_of_str(STR("service_unknown")));
    return true;
}

static bool health_all(const Loop *loop, const GrpcMethod *method, Arena *arena,
                       const Value *request, Value *reply, Err *err)
{
    (void)method, (void)request, (void)err;
    const Grpc *grpc = loop->grpc;
    Value list = value_list(arena, grpc->services + 1);
    for (size_t i = 0; i <= grpc->services; i++) {
        const GrpcService *service = i ? grpc->service[i - 1] : NULL;
        const char *name = service ? grpc_full_name(arena, service) : "";
        list.list.items[i] = value_map(arena, 2);
        value_add(&list.list.items[i], "key", value_of_str(str_of(name)));
        value_add(&list.list.items[i], "value", status_of(loop, arena, service));
    }
    *reply = value_map(arena, 1);
    value_add(reply, "statuses", list);
    return true;
}

static const GrpcMethod health_methods[] = {
    { "Check", "HealthCheckRequest", "HealthCheckResponse", { health_request, health_rows },
      .answer = health_check },
    { "List", "HealthListRequest", "HealthListResponse", { nothing, health_list },
      .answer = health_all },
    { "Watch", "HealthCheckRequest", "HealthCheckResponse", { health_request, health_rows },
      .many_out = true, .watches = true, .answer = health_check },
    { 0 },
};
const GrpcService grpc_health = { "grpc.health.v1", "Health", health_methods, .open = true };

/* ---- all of them ---- */
const char *grpc_full_name(Arena *arena, const GrpcService *service)
{
    return str_format(arena, "%s.%s", service->package, service->name);
}

static void add(Arena *arena, Grpc *grpc, const GrpcService *service)
{
    const char *name = grpc_full_name(arena, service);
    assert(grpc->services < COUNT(grpc->service));
    grpc->service[grpc->services++] = service;
    for (const GrpcMethod *m = service->method; m->name; m++) {
        GrpcTarget *target = NEW(arena, GrpcTarget);
        *target = (GrpcTarget){ service, m };
        map_put(&grpc->methods, arena, str_of(str_format(arena, "/%s/%s", name, m->name)), target);
    }
}

const Grpc *grpc_new(Arena *arena, const Site *site)
{
    Grpc *grpc = NEW(arena, Grpc);
    add(arena, grpc, task_service(arena, site->task));
    for (int i = 0; i < GRPC_TEI; i++) add(arena, grpc, &grpc_tei[i]);
    add(arena, grpc, &grpc_health);
    add(arena, grpc, &grpc_reflection);
    add(arena, grpc, &grpc_reflection_alpha);
    grpc_describe(arena, grpc);
    return grpc;
}

const GrpcTarget *grpc_find(const Grpc *grpc, Str path)
{
    return map_get(&grpc->methods, path);
}

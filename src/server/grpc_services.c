/* SPDX-License-Identifier: Apache-2.0
 * grpc_services.c - what can be called: the services of the families' rows, health and reflection.
 * What the model cannot do is FAILED_PRECONDITION. */
#include "grpc.h"
#include "loop.h"

static const Field nothing[] = { { 0 } };

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
    for (int i = 0; families[i]; i++) {
        const GrpcService *row = families[i]->services ? families[i]->services(arena, site) : NULL;
        for (; row && row->name; row++) add(arena, grpc, row);
    }
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

/* SPDX-License-Identifier: Apache-2.0
 * grpc_reflect.c - the reflection services, v1 and v1alpha: the same messages under two names. What
 * is not there is an answer, not the end of the stream. */
#include "grpc.h"
#include "loop.h"

static const Field extension_request[] = {
    { "containing_type", 1, F_STR }, { "extension_number", 2, F_I32 }, { 0 },
};
#define ASKS .oneof = "message_request"
static const Field request_rows[] = {
    { "host", 1, F_STR },
    { "file_by_filename", 3, F_STR, ASKS },
    { "file_containing_symbol", 4, F_STR, ASKS },
    { "file_containing_extension", 5, F_MSG, .msg = extension_request,
      .msg_name = "ExtensionRequest", ASKS },
    { "all_extension_numbers_of_type", 6, F_STR, ASKS },
    { "list_services", 7, F_STR, ASKS },
    { 0 },
};

static const Field file_rows[] = {
    { "file_descriptor_proto", 1, F_BYTES, .repeated = true }, { 0 },
};
static const Field numbers_rows[] = {
    { "base_type_name", 1, F_STR }, { "extension_number", 2, F_I32, .repeated = true }, { 0 },
};
static const Field service_rows[] = { { "name", 1, F_STR }, { 0 } };
static const Field list_rows[] = {
    { "service", 1, F_MSG, .repeated = true, .msg = service_rows, .msg_name = "ServiceResponse" },
    { 0 },
};
static const Field error_rows[] = {
    { "error_code", 1, F_I32 }, { "error_message", 2, F_STR }, { 0 },
};
#define SAYS(rows, name) .msg = rows, .msg_name = name, .oneof = "message_response"
static const Field reply_rows[] = {
    { "valid_host", 1, F_STR },
    { "original_request", 2, F_MSG, .msg = request_rows, .msg_name = "ServerReflectionRequest" },
    { "file_descriptor_response", 4, F_MSG, SAYS(file_rows, "FileDescriptorResponse") },
    { "all_extension_numbers_response", 5, F_MSG, SAYS(numbers_rows, "ExtensionNumberResponse") },
    { "list_services_response", 6, F_MSG, SAYS(list_rows, "ListServiceResponse") },
    { "error_response", 7, F_MSG, SAYS(error_rows, "ErrorResponse") },
    { 0 },
};

/* {key: value} */
static Value single(Arena *arena, const char *key, Value value)
{
    Value map = value_map(arena, 1);
    value_add(&map, key, value);
    return map;
}

static void say_missing(Arena *arena, Value *reply, Str what)
{
    Value error = value_map(arena, 2);
    value_add(&error, "error_code", value_of_int(GRPC_NOT_FOUND));
    value_add(&error, "error_message",
              value_of_str(str_of(str_format(arena, "not found: %.*s", (int)MIN(what.n, 200),
                                             what.p))));
    value_add(reply, "error_response", error);
}

/* The file and what it imports, which import nothing themselves. */
static void say_file(Arena *arena, Value *reply, const GrpcFile *file, Str asked)
{
    if (!file) return say_missing(arena, reply, asked);
    Value list = value_list(arena, COUNT(file->import) + 1);
    list.list.n = 0;
    list.list.items[list.list.n++] = value_of_str(file->bytes);
    for (size_t i = 0; i < COUNT(file->import) && file->import[i]; i++)
        list.list.items[list.list.n++] = value_of_str(file->import[i]->bytes);
    value_add(reply, "file_descriptor_response", single(arena, "file_descriptor_proto", list));
}

static const GrpcFile *file_named(const Grpc *grpc, Str path)
{
    for (size_t i = 0; i < grpc->files; i++)
        if (str_is(path, grpc->file[i].path)) return &grpc->file[i];
    return NULL;
}

static void say_services(Arena *arena, Value *reply, const Grpc *grpc)
{
    Value list = value_list(arena, grpc->services);
    for (size_t i = 0; i < grpc->services; i++) {
        const char *name = grpc_full_name(arena, grpc->service[i]);
        list.list.items[i] = single(arena, "name", value_of_str(str_of(name)));
    }
    value_add(reply, "list_services_response", single(arena, "service", list));
}

/* There are no extensions. */
static void say_numbers(Arena *arena, Value *reply, const Grpc *grpc, Str type)
{
    Value numbers = value_map(arena, 2);
    if (!map_get(&grpc->symbols, type)) return say_missing(arena, reply, type);
    value_add(&numbers, "base_type_name", value_of_str(type));
    value_add(reply, "all_extension_numbers_response", numbers);
}

static bool reflect(const Loop *loop, const GrpcMethod *method, Arena *arena, const Value *request,
                    Value *reply, Err *err)
{
    (void)method;
    const Grpc *grpc = loop->grpc;
    const Value *path = value_get(request, "file_by_filename"), *symbol, *type, *extension;
    *reply = value_map(arena, 3);
    value_add(reply, "valid_host", *value_get(request, "host"));
    value_add(reply, "original_request", *request);
    if (path)
        say_file(arena, reply, file_named(grpc, path->s), path->s);
    else if ((symbol = value_get(request, "file_containing_symbol")))
        say_file(arena, reply, map_get(&grpc->symbols, symbol->s), symbol->s);
    else if ((extension = value_get(request, "file_containing_extension")))
        say_missing(arena, reply, value_get(extension, "containing_type")->s);
    else if ((type = value_get(request, "all_extension_numbers_of_type")))
        say_numbers(arena, reply, grpc, type->s);
    else if (value_get(request, "list_services"))
        say_services(arena, reply, grpc);
    else
        return fail(err, EF_INVALID_INPUT, "found no question, wanted one of message_request");
    return true;
}

static const GrpcMethod methods[] = {
    { "ServerReflectionInfo", "ServerReflectionRequest", "ServerReflectionResponse",
      { request_rows, reply_rows }, .many_in = true, .many_out = true, .answer = reflect },
    { 0 },
};
const GrpcService grpc_reflection = { "grpc.reflection.v1", "ServerReflection", methods,
                                      .open = true };
const GrpcService grpc_reflection_alpha = { "grpc.reflection.v1alpha", "ServerReflection", methods,
                                            .open = true };

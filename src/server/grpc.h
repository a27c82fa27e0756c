/* SPDX-License-Identifier: Apache-2.0
 * grpc.h - gRPC, without any I/O: messages out of bytes, the services as rows, and what reflection
 * says about them. grpc_call.c carries it over HTTP/2.
 *
 *   grpc.c             frames, timeouts, the text of a status
 *   grpc_services.c    who is there: the families' services, health
 *   grpc_describe.c    the same rows as file descriptors; grpc_reflect.c: who hands them out
 *
 * A method is a job of the session whose body and reply are protobuf (JobForm), or it is answered
 * at once by a function. */
#ifndef SERVER_GRPC_H
#define SERVER_GRPC_H
#include "routes.h"

/* ---- frames: a flag, four bytes of length, a message ---- */
enum { GRPC_PREFIX = 5 };
typedef enum { GRPC_MORE, GRPC_MESSAGE, GRPC_BAD } GrpcEvent;
typedef struct GrpcFrame {
    Str message;
    bool packed;
} GrpcFrame;
/* The first frame of what has arrived. GRPC_BAD: err; a length above `most` is found before its
 * bytes have come. */
GrpcEvent grpc_frame(Str arrived, size_t most, GrpcFrame *, Err *);
void grpc_prefix(char out[GRPC_PREFIX], bool packed, size_t length);

/* "250m": at most eight digits and a unit. */
bool grpc_timeout(Str, double *seconds, Err *);
/* What may stand in grpc-message: printable ASCII, the rest as %XX. */
void grpc_escape(Buf *, const char *text);

/* ---- services ---- */
typedef enum {                   /* those that no Err has */
    GRPC_OK = 0,
    GRPC_NOT_FOUND = 5,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
} GrpcStatus;

typedef struct GrpcFile {        /* a package */
    const char *package, *path;
    const struct GrpcFile *import[4];
    Str bytes;                   /* FileDescriptorProto */
} GrpcFile;

typedef struct Grpc {            /* what one model offers */
    const GrpcService *service[16];
    size_t services;
    GrpcFile *file;
    size_t files;
    Map symbols;                 /* full name -> GrpcFile */
    Map methods;                 /* "/package.Service/Method" -> GrpcTarget */
} Grpc;
typedef struct GrpcTarget {
    const GrpcService *service;
    const GrpcMethod *method;
} GrpcTarget;

const Grpc *grpc_new(Arena *, const Site *);
const GrpcTarget *grpc_find(const Grpc *, Str path); /* NULL: nobody has it */
extern const Handler grpc_handler;                   /* grpc_call.c */

/* ---- parts of the above ---- */
extern const GrpcService grpc_health, grpc_reflection, grpc_reflection_alpha;
GrpcAnswer grpc_answer;                              /* of a method that has no job */
void grpc_describe(Arena *, Grpc *);                 /* files and symbols */
const char *grpc_full_name(Arena *, const GrpcService *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * family.h - a family of clients in one row: its routes, its gRPC services, the form of its errors,
 * header fields and metrics that its clients expect. The server asks the rows and knows no family
 * by name. To add one: a file with its row, and its name in EVERY_FAMILY. */
#ifndef DIALECT_FAMILY_H
#define DIALECT_FAMILY_H
#include "dialect/dialect.h"

struct Handler;                  /* of the server; families have none */
struct Loop;

/* ---- routes ---- */
typedef struct JobList {         /* a body with a list of requests, each a job; */
    const JobKind *kind;         /*   the first error is the reply to all of them */
    const char *in, *out;        /* {in: [requests]} to {out: [replies]} */
} JobList;

struct Route {
    const char *method, *path;   /* a path may end in {model}: the model's name;
                                  * or in {file}: anything */
    const char *id, *summary;    /* of the OpenAPI operation */
    void (*render)(Arena *, const Site *, Buf *out);   /* a page, written once, at start; or */
    const JobKind *job;          /* what the session is asked for, or */
    const JobList *list;         /* many of these, or */
    const char *same_as;         /* path of an earlier row of this method: an alias; or */
    const struct Handler *handler; /* a handler of the server */
    const JobKind *line;         /* the same for a line of application/x-ndjson; NULL: no lines */
    Value (*reply)(Arena *, const Site *); /* JSON Schema of a page; NULL: text */
    Value (*request)(Arena *, const Site *); /* JSON Schema of a handler's body; a job's kind has its own */
    const char *web;             /* (optional) a file of web/, for who asks for text/html; alone: for everybody */
    bool open;                   /* needs no key */
    bool hidden;                 /* works, but is not described */
    const Family *family;        /* whose form errors have; filled in by routes_make */
};

#define ROUTE_PAGE(page) .render = page##_render, .reply = page##_reply

/* ---- gRPC ---- */
typedef struct GrpcMethod GrpcMethod;
/* Answers without a job. False: err says why. */
typedef bool GrpcAnswer(const struct Loop *, const GrpcMethod *, Arena *, const Value *request,
                        Value *reply, Err *);
struct GrpcMethod {
    const char *name;
    const char *in, *out;        /* names of the messages; with dots: in another package */
    JobForm form;                /* their rows */
    const Field *in_rows;        /* (gathers) of one message; form.request reads all of them */
    bool many_in, many_out;      /* streams */
    bool watches;                /* a stream that sends each change and never ends by itself */
    bool gathers;                /* all messages make one request: the first, and field 2 of the
                                  * others added to it */
    bool idempotent;             /* for reflection */
    const JobKind *kind;         /* of the job, or */
    Value (*page)(Arena *, const Site *); /* a reply that depends on the model alone, or */
    GrpcAnswer *answer;          /* the server's own */
};
typedef struct GrpcService {
    const char *package, *name;
    const GrpcMethod *method;    /* ends with {0} */
    bool open;                   /* needs no key */
    TaskCan needs;               /* any of these (0: nothing); for other models it is NOT_SERVING */
} GrpcService;

/* ---- errors ---- */
typedef struct ErrorForm {
    int (*status)(ef_code);      /* 0: as ours */
    Value (*page)(Arena *, const Err *, int status);
    const Field *schema;         /* of the page */
} ErrorForm;
/* Ours: {"error": {"message", "type", "param", "code"}, "message", "code", "type"}, OpenAI's form
 * and a flat one together; param: the JSON path that the message begins with, or null. */
extern const ErrorForm error_own;
const ErrorForm *error_form(const Family *);       /* NULL: ours */
int error_status(const Err *, const Family *);
void error_write(Buf *, const Err *, int status, const Family *);

/* ---- header fields and metrics ---- */
enum { TOLD_FIELDS = 8 };
typedef struct ToldField {
    const char *name;
    char value[24];
} ToldField;
typedef struct Answered {        /* a request to a route that has a job */
    const JobKind *asked;        /* the route's */
    const Job *job;              /* NULL: refused before there was one */
    int status;
} Answered;
typedef struct FamilyMeters {    /* one call at a time */
    size_t size;                 /* of the numbers, zero at the start */
    /* A job came back from the session; afterwards its texts are freed. */
    void (*returned)(void *numbers, const JobKind *asked, const Job *);
    void (*answered)(void *numbers, const Site *, const Answered *); /* a reply was sent */
    void (*write)(const void *numbers, const Site *, Buf *out); /* in Prometheus' text format */
    void (*add)(void *sum, const void *numbers);
} FamilyMeters;

/* ---- the row ---- */
struct Family {
    const char *name;
    const Route *route;          /* ends with {0} */
    /* (optional) ends with {0}; both may depend on the model's task */
    const GrpcService *(*services)(Arena *, const Site *);
    const ErrorForm *errors;     /* (optional) absent: ours */
    /* (optional) writes header fields for the reply to a job, at most TOLD_FIELDS, and returns their
     * number. Over HTTP for jobs of all families, over gRPC for this family's only. */
    size_t (*fields)(const Job *, ToldField *out);
    const FamilyMeters *meters;  /* (optional) */
};
/* All of them, in the order in which their routes are listed and found. */
#define EVERY_FAMILY(X) X(own) X(tei) X(hub) X(openai) X(cohere)
#define FAMILY_DECLARED(name) extern const Family family_##name;
EVERY_FAMILY(FAMILY_DECLARED)
extern const Family *const families[]; /* ends with NULL */

#endif

/* SPDX-License-Identifier: Apache-2.0
 * job.h - one request on its way: the work that the session does, what was asked for, what is
 * answered. */
#ifndef DIALECT_JOB_H
#define DIALECT_JOB_H
#include "session/session.h"

typedef struct Job Job;
typedef struct JobKind JobKind;  /* what is asked for: dialect.h */

/* A body and its reply in protobuf: the same trees as in JSON, by these rows (data/proto.h). */
typedef struct JobForm JobForm;
struct JobForm {
    const Field *request, *reply;
    /* (optional) the kind's reply as the message wants it; absent: it is a map already, whose rows
     * are the first field of `reply`. */
    Value (*shape)(const JobForm *, Job *, Value reply);
};

typedef struct JobRequest {      /* a body; or items in `work`, and body.p NULL */
    const JobKind *kind;         /* of a body; NULL, and for items: predict */
    Str body;
    const JobForm *form;         /* of body and reply; NULL: JSON */
    bool gzip;                   /* the body is packed so, and may hold that many bytes: */
    size_t most;
    Buf storage;                 /* (optional) where body lies (job_store); freed by job_free */
    size_t gzip_from;            /* gzip the reply if it has so many bytes; 0: never */
    bool no_text;                /* the reply's value is enough: its text stays empty */
    bool lines;                  /* text: each result on a line of its own, nothing around them */
    bool single;                 /* the body was one text, not a list */
    const Value *value;          /* the body, where the kind needs it again */
    const Value *metadata;
} JobRequest;

typedef struct JobReply {        /* where work.err.code is EF_OK */
    Value value;                 /* as /predict answers */
    Buf text;                    /* its JSON, or its bytes by `form`; freed by job_free */
    bool gzip;                   /* the text is */
    Arena *arena;                /* [parts]: of the workers that finished parts of it, */
    Buf *part;                   /*   and what they wrote */
    int parts;
} JobReply;

struct Job {
    Work work;                   /* first: the session hands it back */
    JobRequest in;
    JobReply out;
    uint64_t ticket;             /* the caller's; as work.context */
};

/* A session whose work are jobs. NULL: no thread could be started. */
Session *job_session(const Model *, const SessionOptions *);
Job *job_new(void);
Job *job_of(Work *);
Item *job_items(Job *, size_t n);             /* room for n items, empty */
/* Those of /predict, for the items that are there; false: it has its error. */
bool job_options(const Session *, Job *, const Value *options);
void job_store(Job *, Buf *body);             /* takes the buffer; body lies in it */
bool job_submit(Session *, Job *, Err *);     /* false: it is still the caller's */
void job_run(Session *, Job *);               /* submits it and waits */
void job_shrink(Job *);                       /* forgets all but the reply's text and plain fields */
void job_free(Job *);                         /* NULL is fine; never while it is in the session */

#endif

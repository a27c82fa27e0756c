/* SPDX-License-Identifier: Apache-2.0
 * job.h - one request: what was asked for, the work that the session does for it, and the reply. */
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
    const Value *tree;           /* the body, where it is no text: instead of it */
    const JobForm *form;         /* of body and reply; NULL: JSON */
    Str type;                    /* of a body with files: multipart/form-data, or the file's own; n 0: none */
    bool gzip;                   /* the body is gzip, and may unpack to that many bytes: */
    size_t most;
    Buf storage;                 /* (optional) where body lies (job_store); freed by job_free */
    size_t gzip_from;            /* gzip the reply if it has so many bytes; 0: never */
    bool no_text;                /* the reply's value is enough: its text stays empty */
    const TaskTable *table;      /* (optional) of predict: the reply is the rows of this table, and nothing else */
    bool lines;                  /* text: results as lines of JSON, without the reply around them */
    bool single;                 /* the body was one text, not a list */
    bool exact;                  /* results as transformers' pipelines nest them (pipeline.c), */
    bool bare;                   /*   of inputs that were a text by itself */
    const Value *value;          /* the body, where the kind needs it again */
    const Value *metadata;
} JobRequest;

typedef struct JobReply {        /* valid where work.err.code is EF_OK */
    Value value;                 /* as /predict answers */
    Columns columns;             /* instead, of a table: an entry for each item */
    Buf text;                    /* its JSON, or its bytes by `form`; freed by job_free */
    bool gzip;                   /* the text is gzip */
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

/* A session that runs jobs. NULL: no thread could be started. */
Session *job_session(const Model *, const SessionOptions *);
Job *job_new(void);
Job *job_of(Work *);
Item *job_items(Job *, size_t n);             /* room for n items, empty */
/* Reads the options of /predict for the job's items; false: the job has its error. */
bool job_options(const Session *, Job *, const Value *options);
Str job_text(Job *, Str);                     /* a copy that lives as long as the job */
void job_store(Job *, Buf *body);             /* takes over the buffer that in.body points into */
bool job_submit(Session *, Job *, Err *);     /* false: the job stays the caller's */
void job_run(Session *, Job *);               /* submits it and waits */
void job_shrink(Job *);                       /* frees all but the reply's text and plain fields */
void job_free(Job *);                         /* NULL is fine; never while it is in the session */

#endif

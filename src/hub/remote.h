/* SPDX-License-Identifier: Apache-2.0
 * remote.h - the Hub's API: what a revision is and has, where a file's bytes are, and those bytes.
 * Redirects are followed; the token goes to the Hub itself and to no other host. What may help is
 * tried again, with pauses; any other answer is one sentence that says what to do. */
#ifndef HUB_REMOTE_H
#define HUB_REMOTE_H
#include "hub/settings.h"
#include "net/http.h"

typedef struct HubRemote { /* shared by threads */
    const HubSettings *settings;
    Str repo; /* "org/name" */
    HttpClient client;
    bool once;    /* no second try: the cache could answer, too */
    bool reached; /* the Hub has answered: a broken connection is worth more tries */
} HubRemote;

typedef struct RemoteCall {
    const char *method, *what; /* GET or HEAD; what: for errors ("org/name: model.safetensors") */
    Url url;                   /* at the end: where the reply came from */
    bool metadata;             /* stops where another host is named for the bytes */
    bool elsewhere; /* out, with `metadata`: a redirect to another host was not followed */
    void *context;  /* of the functions, each of which may be absent: */
    void (*prepare)(void *, HttpRequest *);          /* before each try: a range */
    bool (*begin)(void *, const ReplyHead *, Err *); /* a reply of status 2xx */
    bool (*add)(void *, Str, Err *); /* some of its body; all of it again on a new try */
} RemoteCall;
bool remote_call(HubRemote *, HttpConn *, Arena *, RemoteCall *, Err *);

typedef struct RemoteList { /* of a revision */
    Str commit;
    Map files;         /* by name; anything but NULL: it is there */
    const char **name; /* [n] the same */
    size_t n;
} RemoteList;
bool remote_list(HubRemote *, HttpConn *, Arena *, Str revision, RemoteList *, Err *);

typedef struct RemoteFile {
    Str etag;     /* of the bytes: the name of their blob */
    int64_t size; /* -1: not said */
    Url url;      /* where they are */
} RemoteFile;
bool remote_file(HubRemote *, HttpConn *, Arena *, Str commit, const char *name, RemoteFile *,
                 Err *);

#endif

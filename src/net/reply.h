/* SPDX-License-Identifier: Apache-2.0
 * reply.h - HTTP/1.1 replies as a client reads them: the head in one piece, the body as it comes.
 * Pure functions of bytes; http.h does the reading. */
#ifndef NET_REPLY_H
#define NET_REPLY_H
#include "base/base.h"

enum { REPLY_HEAD_MOST = 64 << 10 };

typedef struct ReplyHead {
    int status;
    bool keep; /* the connection can be used again behind the body */
    bool chunked;
    int64_t length; /* of the body; -1: not said */
    Str fields;     /* the header lines */
} ReplyHead;
/* The length of the head at the beginning of the bytes, with its empty line. 0: not whole yet. */
size_t reply_head_length(Str bytes);
/* Errors: what is no reply, lengths that contradict each other, lines that hide others. */
bool reply_head_read(Str head, ReplyHead *, Err *);
Str reply_field(const ReplyHead *, const char *name); /* its value; n 0: not there, or empty */

typedef struct ReplyBody { /* where its reading stands */
    enum { BODY_LENGTH, BODY_TO_CLOSE, BODY_SIZE, BODY_DATA, BODY_DATA_END, BODY_TRAILER } state;
    uint64_t left;  /* of the body, or of the chunk */
    int digits;     /* of the chunk's size so far */
    bool extension; /* behind that size */
    int line;       /* bytes of the trailer's line, or of the extension */
    bool done;
} ReplyBody;
void reply_body_start(ReplyBody *, const ReplyHead *,
                      bool without); /* without: the reply to HEAD */
/* Takes bytes from the beginning of `bytes` and says which of them are the body's: *data. Returns
 * how many were taken; 0: none are left or needed. false in *ok: malformed. */
size_t reply_body_take(ReplyBody *, Str bytes, Str *data, bool *ok);

#endif

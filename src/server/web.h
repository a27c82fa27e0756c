/* SPDX-License-Identifier: Apache-2.0
 * web.h - the page for browsers: files of web/, compressed inside the program. */
#ifndef SERVER_WEB_H
#define SERVER_WEB_H
#include "exchange.h"

/* Whether a client wants a page rather than JSON: its Accept has text/html, and no application/json. */
bool web_wanted(Str accept);
/* Answers with a file of the list, or with 304 where the client has it; its name is one of the list. */
void web_reply(Exchange *, const char *name);
/* A file of the list as it is in web/, added to the buffer. */
bool web_unpack(Str name, Buf *out, Err *);
/* GET /ui/model.json: what the explorer shows of the model; a job of the session. */
extern const Handler explore_handler;
/* GET /ui/{file} */
extern const Handler web_handler;

#endif

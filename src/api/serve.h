/* SPDX-License-Identifier: Apache-2.0
 * serve.h - the settings of `serve`, by name: the flags of the command line and the keys of
 * ef_serve's options are the same rows. */
#ifndef API_SERVE_H
#define API_SERVE_H
#include "base/log.h"
#include "server/server.h"

typedef struct ServeSettings {
    ServerOptions server;
    SessionOptions session;      /* this and what follows is not for ef_serve to set */
    int log_level;               /* LogLevel */
} ServeSettings;

void serve_defaults(ServeSettings *);
bool serve_known(Str name);                                     /* is there such a setting? */
bool serve_of_session(Str name);                                /* one that a session is made with */
/* called: the name that errors say; NULL: the setting's own. */
bool serve_set(ServeSettings *, Arena *, Str name, const char *called, Str text, Err *);
/* Keys that clients must send, one a line; white space around them is none of theirs. file: it may
 * have a byte order mark and lines that begin with #. None at all is an error: a server without
 * keys is open. */
bool serve_add_keys(ServeSettings *, Arena *, const char *called, Str text, bool file, Err *);
/* Those of $ENCODERFILE_API_KEY; unset: nothing is done. */
bool serve_add_env_keys(ServeSettings *, Arena *, Err *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * serving.c - ef_serve: the server over an open model. */
#include "api/handle.h"
#include "api/json_options.h"
#include "api/serve.h"

static bool read_settings(Arena *arena, const char *json, ServeSettings *s, Err *err)
{
    Value root;
    *s = (ServeSettings){ 0 };
    if (!json_options_parse(arena, json, &root, err)) return false;
    for (size_t i = 0; i < root.map.n; i++) {
        const Option *o = json_options_row(serve_options, root.map.items[i].key);
        if (o && serve_of_session(o))
            return fail(err, EF_INVALID_INPUT, "options: %s: the model is open already", o->name);
        s->server.grpc |= o && str_starts(str_of(o->name), "grpc-"); /* an option about gRPC turns it on */
    }
    return json_options_set(serve_options, arena, &root, s, err) && serve_complete(s, err);
}

bool ef_serve(ef_model *m, const char *options, const volatile int *stop, ef_error *err)
{
    Arena arena = { 0 };
    ServeSettings s;
    Err own = { 0 };
    bool ok = process_check(m->process, "the model", &own) &&
        (stop || fail(&own, EF_INVALID_INPUT, "stop: found NULL, wanted a flag that ends the serving")) &&
        read_settings(&arena, options, &s, &own) && server_run(m->session, &s.server, stop, &own);
    arena_free(&arena);
    return ok || fail(err, own.code, "%s", own.message);
}

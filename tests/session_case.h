/* SPDX-License-Identifier: Apache-2.0
 * session_case.h - the tiny models of the workspace, and requests to one of them: what the tests of a session with a
 * dialect share. Without the models such a test is skipped. */
#ifndef SESSION_CASE_H
#define SESSION_CASE_H
#include "base/file.h"
#include "check.h"
#include "model/model.h"

/* False: it is not there, or it does not open, which is counted. */
static inline bool open_model(const char *name, Model **model)
{
    static const char *const folders[] = { "../shared/fixtures/dummy/", "../../shared/fixtures/dummy/" };
    Arena arena = { 0 };
    Err err = { 0 };
    bool ok = false, found = false;
    for (size_t i = 0; i < COUNT(folders) && !found; i++) {
        char *path = str_format(&arena, "%s%s", folders[i], name);
        found = dir_is(path);
        if (found) ok = CHECK(model_open(path, model, &err));
    }
    if (!found) SKIP(name);
    else if (!ok) printf("  %s\n", err.message);
    arena_free(&arena);
    return ok;
}

/* Bodies of all kinds; all but the sixth are answered. */
enum { TEXTS = 7 };
static const char *const texts[TEXTS] = {
    "{\"inputs\":[\"one\"]}",
    "{\"inputs\":[\"two words\",\"and three more\"]}",
    "{\"inputs\":[\"a much longer text that has quite a few tokens in it, and then some more\"]}",
    "{\"inputs\":[\"x\",\"y\",\"z\",\"x\",\"y\",\"z\",\"the same again and "
    "again\",\"x\",\"y\",\"z\"]}",
    "{\"inputs\":[[\"a pair\",\"of texts\"]]}",
    "{\"inputs\":[\"\"]}",
    "{\"inputs\":[\"three\"],\"metadata\":{\"id\":\"7\"}}",
};

#endif

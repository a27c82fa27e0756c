/* SPDX-License-Identifier: Apache-2.0
 * error.c - the body of an error, in our form and by a family's row. */
#include <ctype.h>

#include "data/json.h"
#include "dialect/family.h"

static const Field error_detail[] = {
    { "message", 0, F_STR, .required = true },
    { "type", 0, F_STR, .required = true, .help = "kind of the error, for programs" },
    { "param", 0, F_STR, .required = true, .nullable = true, .help = "JSON path of what is wrong" },
    { "code", 0, F_I32, .required = true, .help = "the HTTP status" },
    { 0 },
};
static const Field own_error[] = {
    { "error", 0, F_MSG, .required = true, .msg = error_detail, .msg_name = "ErrorDetail" },
    { "message", 0, F_STR, .required = true },
    { "code", 0, F_I32, .required = true },
    { "type", 0, F_STR, .required = true },
    { 0 },
};

/* "inputs[2]" of "inputs[2]: found ...": what schema_check and the tasks put in front. */
static Value param_of(const Err *err)
{
    const char *m = err->message, *end = m;
    bool about_input = err->code == EF_INVALID_INPUT || err->code == EF_TOO_LARGE;
    if (!about_input && err->code != EF_EMPTY) return value_null();
    while (isalnum((unsigned char)*end) || (*end && strchr("_.[]", *end))) end++;
    bool path = end > m && end[0] == ':' && end[1] == ' ';
    return path ? value_of_str((Str){ m, (size_t)(end - m) }) : value_null();
}

static Value own_page(Arena *arena, const Err *err, int status)
{
    Value page = value_map(arena, 4), detail = value_map(arena, 4);
    Value message = value_of_text(err->message), type = value_of_text(err_kind(err->code)->name);
    value_add(&detail, "message", message);
    value_add(&detail, "type", type);
    value_add(&detail, "param", param_of(err));
    value_add(&detail, "code", value_of_int(status));
    value_add(&page, "error", detail);
    value_add(&page, "message", message);
    value_add(&page, "code", value_of_int(status));
    value_add(&page, "type", type);
    return page;
}

static int own_status(ef_code code)
{
    return err_kind(code)->http;
}

const ErrorForm error_own = { own_status, own_page, own_error };

const ErrorForm *error_form(const Family *family)
{
    return family && family->errors ? family->errors : &error_own;
}

int error_status(const Err *err, const Family *family)
{
    int theirs = error_form(family)->status(err->code);
    return theirs ? theirs : own_status(err->code);
}

void error_write(Buf *out, const Err *err, int status, const Family *family)
{
    Arena arena = { .local = true };
    Value page = error_form(family)->page(&arena, err, status);
    json_write(out, &page);
    arena_free(&arena);
}

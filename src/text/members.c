/* SPDX-License-Identifier: Apache-2.0
 * members.c - see members.h. */
#include "members.h"

static bool members_find(const Value *v, const char *where, const char *key, ValueKind kind,
                         const Value **out, Err *err)
{
    *out = value_get(v, key);
    if (!*out) return fail(err, EF_BAD_MODEL, "%s: found no \"%s\"", where, key);
    if ((*out)->kind == kind) return true;
    return fail(err, EF_BAD_MODEL, "%s: found %s as \"%s\", wanted %s", where,
                value_kind_name((*out)->kind), key, value_kind_name(kind));
}

bool member_str(const Value *v, const char *where, const char *key, Str *out, Err *err)
{
    const Value *found;
    if (!members_find(v, where, key, V_STR, &found, err)) return false;
    return *out = found->s, true;
}

bool member_bool(const Value *v, const char *where, const char *key, bool *out, Err *err)
{
    const Value *found;
    if (!members_find(v, where, key, V_BOOL, &found, err)) return false;
    return *out = found->b, true;
}

bool member_int(const Value *v, const char *where, const char *key, int64_t *out, Err *err)
{
    const Value *found;
    if (!members_find(v, where, key, V_INT, &found, err)) return false;
    if (found->i < 0)
        return fail(err, EF_BAD_MODEL, "%s: found %lld as \"%s\", wanted 0 or more", where,
                    (long long)found->i, key);
    return *out = found->i, true;
}

bool member_list(const Value *v, const char *where, const char *key, const Value **out, Err *err)
{
    return members_find(v, where, key, V_LIST, out, err);
}

bool component_type(const Value *v, const char *where, Str *out, Err *err)
{
    if (v->kind == V_MAP) return member_str(v, where, "type", out, err);
    return fail(err, EF_BAD_MODEL, "%s: found %s, wanted an object", where,
                value_kind_name(v->kind));
}

bool component_unknown(const char *where, Str type, Err *err)
{
    return fail(err, EF_UNSUPPORTED, "%s type \"%.*s\" is not supported", where, STR_ARG(type));
}

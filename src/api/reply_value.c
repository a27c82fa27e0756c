/* SPDX-License-Identifier: Apache-2.0
 * reply_value.c - a reply as a tree: ef_reply_value. It is read from the reply's JSON, so numbers are those that
 * every other way gives. */
#include "api/guard_call.h"
#include "api/handle.h"
#include "data/json.h"

static const ef_value_kind kinds[] = {
    [V_NULL] = EF_VALUE_NULL, [V_BOOL] = EF_VALUE_BOOL, [V_INT] = EF_VALUE_INT, [V_FLOAT] = EF_VALUE_FLOAT,
    [V_STR] = EF_VALUE_TEXT,  [V_LIST] = EF_VALUE_LIST, [V_MAP] = EF_VALUE_MAP,
};

static ef_value text_value(Str s)
{
    return (ef_value){ .kind = EF_VALUE_TEXT, .size = s.n, .as.text = s.p };
}

/* As deep as JSON may be. */
static ef_value reply_value(Arena *arena, const Value *v)
{
    ef_value out = { .kind = kinds[v->kind] }, *items;
    switch (v->kind) {
    case V_BOOL: out.as.integer = v->b; break;
    case V_INT: out.as.integer = v->i; break;
    case V_FLOAT: out.as.number = v->f; break;
    case V_STR: return text_value(v->s);
    case V_LIST:
        out.size = v->list.n;
        out.as.items = items = ARRAY(arena, ef_value, out.size);
        for (size_t i = 0; i < out.size; i++) items[i] = reply_value(arena, &v->list.items[i]);
        break;
    case V_MAP:
        out.size = v->map.n;
        out.as.items = items = ARRAY(arena, ef_value, 2 * out.size);
        for (size_t i = 0; i < out.size; i++) {
            items[2 * i] = text_value(v->map.items[i].key);
            items[2 * i + 1] = reply_value(arena, &v->map.items[i].value);
        }
        break;
    case V_NULL:
    case V_F32:
    case V_BYTES:
    case V_UINT: break; /* the last three: not of a text */
    }
    return out;
}

typedef struct ValueCall {
    ef_reply *reply;
    Err err;
} ValueCall;

static void value_body(void *call)
{
    ValueCall *c = call;
    Arena *arena = &c->reply->arena;
    Value root;
    ef_value *made = NEW(arena, ef_value);
    if (!json_parse(arena, str_of(ef_reply_json(c->reply)), &root, &c->err)) return;
    *made = reply_value(arena, &root);
    c->reply->value = made;
}

const ef_value *ef_reply_value(ef_reply *r, ef_error *err)
{
    ValueCall c = { .reply = r };
    if (!r->value) guard_call(value_body, &c, &c.err);
    if (!r->value) fail(err, c.err.code, "%s", c.err.message);
    return r->value;
}

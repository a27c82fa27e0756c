/* SPDX-License-Identifier: Apache-2.0
 * test_api_value.c - ef_reply_value: the tree of a reply holds what its JSON says; run it from the root. */
#include "check.h"
#include "data/json.h"
#include "encoderfile.h"

static Arena arena;
static ef_error err;

static bool same_text(const ef_value *v, Str s)
{
    return v->kind == EF_VALUE_TEXT && v->size == s.n && memcmp(v->as.text, s.p, s.n) == 0;
}

static bool same(const ef_value *found, const Value *wanted)
{
    bool ok = true;
    switch (wanted->kind) {
    case V_NULL: return found->kind == EF_VALUE_NULL;
    case V_BOOL: return found->kind == EF_VALUE_BOOL && found->as.integer == wanted->b;
    case V_INT: return found->kind == EF_VALUE_INT && found->as.integer == wanted->i;
    case V_FLOAT: return found->kind == EF_VALUE_FLOAT && found->as.number == wanted->f;
    case V_STR: return same_text(found, wanted->s);
    case V_LIST:
        ok = found->kind == EF_VALUE_LIST && found->size == wanted->list.n;
        for (size_t i = 0; ok && i < found->size; i++) ok = same(&found->as.items[i], &wanted->list.items[i]);
        return ok;
    case V_MAP:
        ok = found->kind == EF_VALUE_MAP && found->size == wanted->map.n;
        for (size_t i = 0; ok && i < found->size; i++)
            ok = same_text(&found->as.items[2 * i], wanted->map.items[i].key) &&
                 same(&found->as.items[2 * i + 1], &wanted->map.items[i].value);
        return ok;
    case V_F32:
    case V_BYTES:
    case V_UINT: break;
    }
    return false;
}

static void check_reply(ef_reply *r)
{
    Value wanted;
    if (!CHECK(r)) return (void)printf("  %s\n", err.message);
    CHECK(json_parse(&arena, str_of(ef_reply_json(r)), &wanted, &err));
    const ef_value *found = ef_reply_value(r, &err);
    if (CHECK(found)) CHECK(same(found, &wanted) && ef_reply_value(r, &err) == found);
    ef_reply_free(r);
}

int main(void)
{
    ef_input in[] = { ef_text("AC bus from \"Goa\" to M\u00fcnchen \\ tomorrow"), ef_text("hello") };
    ef_model *m = ef_open("examples/bus-ner", NULL, &err);
    if (!CHECK(m)) return finish();
    TEST("replies of predict");
    check_reply(ef_predict(m, in, 2, NULL, &err));
    check_reply(ef_predict(m, in, 2, "{\"extract\":true,\"aggregation\":\"first\"}", &err));
    TEST("replies of pipelines");
    check_reply(ef_run(m, "ner", in, 1, NULL, &err));
    check_reply(ef_run(m, NULL, in, 2, "{\"aggregation_strategy\":\"simple\"}", &err));
    ef_close(m);
    arena_free(&arena);
    return finish();
}

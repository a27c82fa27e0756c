/* SPDX-License-Identifier: Apache-2.0
 * test_data_schema.c - requests against rows: what passes, and the path and words of every
 * refusal; the description of the same rows. */
#include "check.h"
#include "data/json.h"

static Arena arena;
static Err err;

static const char *const sides[] = { "left", "right", NULL };
static const Field point[] = { { "x", 1, F_F32, .required = true },
                               { "tags", 2, F_STR, .repeated = true },
                               { 0 } };
static const Field request[] = {
    { "inputs", 1, F_STR, .repeated = true, .required = true, .help = "texts" },
    { "normalize", 2, F_BOOL },
    { "side", 3, F_STR, .words = sides },
    { "maybe", 4, F_STR, .words = sides, .nullable = true },
    { "count", 5, F_U32, .help = "how many" },
    { "offset", 6, F_I32, .nullable = true },
    { "scale", 7, F_F32 },
    { "wide", 8, F_F64 },
    { "points", 9, F_MSG, .repeated = true, .msg = point, .msg_name = "Point" },
    { "origin", 10, F_MSG, .msg = point },
    { "metadata", 11, F_STR_MAP, .nullable = true },
    { "id2label", 12, F_INT_STR_MAP },
    { "found", 0, F_NULL_STR_MAP },
    { "any", 0, F_ANY },
    { 0 },
};

static bool passes(const char *json)
{
    Value v;
    err = (Err){ 0 };
    if (json_parse(&arena, str_of(json), &v, &err) && schema_check(&v, request, &err)) return true;
    return printf("  %s\n", err.message), false;
}

/* With a good "inputs" in front. */
static bool says_of(const char *rest, const char *message)
{
    Value v;
    err = (Err){ 0 };
    char *json = str_format(&arena, "{\"inputs\":[],%s}", rest);
    if (!json_parse(&arena, str_of(json), &v, &err)) return printf("  %s\n", err.message), false;
    if (schema_check(&v, request, &err)) return printf("  passes: %s\n", json), false;
    bool ok = err.code == EF_INVALID_INPUT && !strcmp(err.message, message);
    return ok || (printf("  message was: %s\n", err.message), false);
}

static void test_passing(void)
{
    TEST("passing");
    CHECK(passes("{\"inputs\":[]}"));
    CHECK(passes("{\"inputs\":[\"a\",\"b\"],\"unknown\":{\"ignored\":1}}"));
    CHECK(passes("{\"inputs\":3,\"inputs\":[]}")); /* the last counts */
    CHECK(passes(
        "{\"inputs\":[],\"normalize\":true,\"side\":\"left\",\"maybe\":null,\"count\":4294967295,"
        "\"offset\":-2147483648,\"scale\":1,\"wide\":1e300,\"any\":null}"));
    CHECK(passes("{\"inputs\":[],\"points\":[{\"x\":1.5,\"tags\":[\"a\"]},{\"x\":0}],\"origin\":{"
                 "\"x\":2}}"));
    CHECK(passes(
        "{\"inputs\":[],\"metadata\":{\"a\":\"b\"},\"id2label\":{\"0\":\"O\",\"12\":\"B\"}}"));
    CHECK(passes("{\"inputs\":[],\"found\":{\"a\":null,\"b\":\"c\"}}"));
    CHECK(passes("{\"inputs\":[],\"metadata\":null,\"offset\":null,\"any\":[1,{}]}"));
    static const Field floats[] = { { "x", 1, F_F32, .repeated = true, .required = true }, { 0 } };
    static const float x[2] = { 1, 2 };
    Value v = value_map(&arena, 1);
    value_add(&v, "x", value_of_f32(x, 2));
    CHECK(schema_check(&v, floats, &err));
}

static void test_refusals(void)
{
    TEST("refusals");
    Value v = value_list(&arena, 0);
    CHECK(!schema_check(&v, request, &err) &&
          !strcmp(err.message, "found a list, wanted an object"));
    v = value_map(&arena, 0);
    CHECK(!schema_check(&v, request, &err));
    CHECK(says(&err, "inputs: found nothing, wanted a list of strings"));
    CHECK(!schema_check(&v, request, NULL));
    CHECK(says_of("\"inputs\":\"x\"", "inputs: found a string, wanted a list of strings"));
    CHECK(says_of("\"inputs\":null", "inputs: found null, wanted a list of strings"));
    CHECK(says_of("\"inputs\":[\"a\",\"b\",1]", "inputs[2]: found a number, wanted a string"));
    CHECK(says_of("\"inputs\":[null]", "inputs[0]: found null, wanted a string"));
    CHECK(says_of("\"normalize\":1", "normalize: found a number, wanted a boolean"));
    CHECK(says_of("\"normalize\":null", "normalize: found null, wanted a boolean"));
    CHECK(says_of("\"side\":\"up\"", "side: found \"up\", wanted one of \"left\", \"right\""));
    CHECK(says_of("\"maybe\":3", "maybe: found a number, wanted one of \"left\", \"right\""));
    CHECK(says_of("\"count\":-1", "count: found -1, wanted a whole number from 0 to 4294967295"));
    CHECK(says_of("\"count\":4294967296",
                  "count: found 4294967296, wanted a whole number from 0 to 4294967295"));
    CHECK(says_of("\"count\":1.5", "count: found 1.5, wanted a whole number from 0 to 4294967295"));
    CHECK(says_of("\"offset\":true",
                  "offset: found a boolean, wanted a whole number from -2147483648 to 2147483647"));
    CHECK(
        says_of("\"offset\":2147483648",
                "offset: found 2147483648, wanted a whole number from -2147483648 to 2147483647"));
    CHECK(says_of("\"scale\":1e39", "scale: found 1e39, wanted a number"));
    CHECK(says_of("\"scale\":\"1\"", "scale: found a string, wanted a number"));
    CHECK(says_of("\"points\":[{\"x\":1},{}]", "points[1].x: found nothing, wanted a number"));
    CHECK(says_of("\"points\":[{\"x\":1,\"tags\":[\"a\",{}]}]",
                  "points[0].tags[1]: found an object, wanted a string"));
    CHECK(says_of("\"points\":[1]", "points[0]: found a number, wanted an object"));
    CHECK(says_of("\"origin\":[]", "origin: found a list, wanted an object"));
    CHECK(says_of("\"metadata\":{\"a\":1}", "metadata.a: found a number, wanted a string"));
    CHECK(says_of("\"found\":{\"a\":1}", "found.a: found a number, wanted a string"));
    CHECK(says_of("\"metadata\":[]", "metadata: found a list, wanted an object of strings"));
    CHECK(
        says_of("\"id2label\":{\"a\":\"b\"}", "id2label: found key \"a\", wanted a whole number"));
    CHECK(says_of("\"id2label\":{\"-1\":\"b\"}",
                  "id2label: found key \"-1\", wanted a whole number"));
    CHECK(says_of("\"id2label\":{\"1\":null}", "id2label.1: found null, wanted a string"));
}

static void test_long_names(void)
{
    TEST("a client's text is cut between characters");
    Buf b = { 0 };
    buf_puts(&b, "{\"inputs\":[],\"side\":\"a");
    for (int i = 0; i < 1000; i++) buf_puts(&b, "\u4e16");
    buf_puts(&b, "\"}");
    Value v;
    CHECK(json_parse(&arena, buf_view(&b), &v, &err) && !schema_check(&v, request, &err));
    CHECK(utf8_valid(str_of(err.message)) && strlen(err.message) < 200);
    CHECK(says(&err, "\u4e16\", wanted one of"));
    buf_free(&b);
}

static void test_describing(void)
{
    TEST("describing");
    Value v = schema_describe(&arena, request);
    Buf b = { 0 };
    json_write(&b, &v);
    buf_char(&b, 0);
    static const char *const parts[] = {
        "{\"type\":\"object\",\"properties\":{\"inputs\":{\"type\":\"array\",\"items\":{\"type\":"
        "\"string\"},"
        "\"description\":\"texts\"},\"normalize\":{\"type\":\"boolean\"},",
        "\"side\":{\"type\":\"string\",\"enum\":[\"left\",\"right\"]},",
        "\"maybe\":{\"type\":[\"string\",\"null\"],\"enum\":[\"left\",\"right\",null]},",
        "\"count\":{\"type\":\"integer\",\"format\":\"uint32\",\"minimum\":0,\"maximum\":"
        "4294967295,\"description\":\"how many\"},",
        "\"offset\":{\"type\":[\"integer\",\"null\"],\"format\":\"int32\"},",
        "\"scale\":{\"type\":\"number\",\"format\":\"float\"},\"wide\":{\"type\":\"number\","
        "\"format\":\"double\"},",
        "\"points\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"title\":\"Point\","
        "\"properties\":{\"x\":",
        "\"required\":[\"x\"]}},\"origin\":{\"type\":\"object\",\"properties\":{\"x\":",
        "\"metadata\":{\"type\":[\"object\",\"null\"],\"additionalProperties\":{\"type\":"
        "\"string\"}},",
        "\"propertyNames\":{\"pattern\":\"^[0-9]+$\"}},\"found\":{\"type\":\"object\","
        "\"additionalProperties\":{\"type\":[\"string\",\"null\"]}},\"any\":{}},\"required\":[\"inputs\"]}",
    };
    for (size_t i = 0; i < COUNT(parts); i++)
        if (!CHECK(strstr(b.p, parts[i]))) printf("  wanted %s\n  in %s\n", parts[i], b.p);
    static const Field none[] = { { 0 } };
    b.n = 0;
    v = schema_describe(&arena, none);
    json_write(&b, &v);
    CHECK(str_is(buf_view(&b), "{\"type\":\"object\",\"properties\":{}}"));
    buf_free(&b);
}

int main(void)
{
    test_passing();
    test_refusals();
    test_long_names();
    test_describing();
    arena_free(&arena);
    return finish();
}

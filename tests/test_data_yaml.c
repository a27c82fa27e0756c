/* SPDX-License-Identifier: Apache-2.0
 * test_data_yaml.c - YAML as configuration files use it, shown as the JSON of the same tree. */
#include "check.h"
#include "data/json.h"
#include "data/yaml.h"

static Arena arena;
static Err err;

static bool gives(const char *text, const char *json)
{
    Value v;
    err = (Err){ 0 };
    if (!yaml_parse(&arena, str_of(text), &v, &err)) return printf("  %s\n", err.message), false;
    Buf b = { 0 };
    json_write(&b, &v);
    bool ok = str_is(buf_view(&b), json);
    if (!ok) printf("  got: %.*s\n", STR_ARG(buf_view(&b)));
    buf_free(&b);
    return ok;
}

static bool refused(const char *text, const char *message)
{
    Value v;
    err = (Err){ 0 };
    if (yaml_parse(&arena, str_of(text), &v, &err)) return printf("  accepted: %s\n", text), false;
    return err.code == EF_BAD_REQUEST && says(&err, message);
}

static void test_scalars(void)
{
    TEST("scalars");
    CHECK(gives("[~, null, Null, NULL, '', nULL]", "[null,null,null,null,\"\",\"nULL\"]"));
    CHECK(gives("a:", "{\"a\":null}"));
    CHECK(gives("[true, True, TRUE, false, tRue]", "[true,true,true,false,\"tRue\"]"));
    CHECK(gives("[yes, no, on, off, y, n]", "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\"]"));
    CHECK(gives("[0, -1, +7, 007, 0x1F, 0o17, 0x, 0o8]", "[0,-1,7,7,31,15,\"0x\",\"0o8\"]"));
    CHECK(gives("[9223372036854775807, 9223372036854775808]",
                "[9223372036854775807,9.223372036854776e18]"));
    CHECK(gives("[1.0, .5, 5., 1e3, -1.5E-2, +1.5]", "[1.0,0.5,5.0,1000.0,-0.015,1.5]"));
    CHECK(gives("[., e1, 1e, 1.2.3, 1e+, --1, 0x1G]",
                "[\".\",\"e1\",\"1e\",\"1.2.3\",\"1e+\",\"--1\",\"0x1G\"]"));
    CHECK(gives("['1', \"true\", 'null', \"1.0\"]", "[\"1\",\"true\",\"null\",\"1.0\"]"));
    CHECK(gives("a: |\n  1\n", "{\"a\":\"1\\n\"}"));
    CHECK(gives("a: >-\n  one\n  two\n", "{\"a\":\"one two\"}"));
    CHECK(gives("\"\\u00e9\\0\\x41\"", "\"\u00e9\\u0000A\""));
    Value v;
    CHECK(yaml_parse(&arena, STR("[.inf, -.INF, .NaN]"), &v, &err));
    CHECK(isinf(v.list.items[0].f) && v.list.items[1].f < 0 && isnan(v.list.items[2].f));
    CHECK(gives("0xFFFFFFFFFFFFFFFFFF", "\"0xFFFFFFFFFFFFFFFFFF\"")); /* no number of ours */
}

static void test_documents(void)
{
    TEST("documents");
    CHECK(gives("", "null"));
    CHECK(gives("# only a comment\n", "null"));
    CHECK(gives("--- 1\n...\n", "1"));
    CHECK(gives("\xef\xbb\xbf"
                "a: 1",
                "{\"a\":1}"));
    CHECK(
        gives("encoderfile:\n  name: test # why\n  version: \"1.0\"\n  list:\n    - a\n    - b: 1\n"
              "      c: [x, {y: 2}]\n",
              "{\"encoderfile\":{\"name\":\"test\",\"version\":\"1.0\",\"list\":[\"a\",{\"b\":1,"
              "\"c\":[\"x\",{\"y\":2}]}]}}"));
    CHECK(gives("1: a\ntrue: b\n", "{\"1\":\"a\",\"true\":\"b\"}")); /* keys are text */
    CHECK(gives("a: &anchor 1", "{\"a\":1}")); /* a name that nobody uses does no harm */
    Value v;
    CHECK(yaml_parse(&arena, (Str){ 0 }, &v, &err) && v.kind == V_NULL);
}

static void test_refusals(void)
{
    TEST("refusals");
    CHECK(refused("a: &x 1\nb: *x\n", "line 2: found an alias, wanted the value itself"));
    CHECK(refused("a: &x [*x]\n", "line 1: found an alias"));
    CHECK(refused("\na: !!int 1\n", "line 2: found a tag, wanted none"));
    CHECK(refused("a: ! 1\n", "found a tag"));
    CHECK(refused("!m {a: 1}\n", "found a tag"));
    CHECK(refused("!s [1]\n", "found a tag"));
    CHECK(refused("!!str a: 1\n", "found a tag"));
    CHECK(
        refused("a: 1\nb: 2\na: 3\n", "line 3: found key \"a\" again, wanted only that of line 1"));
    CHECK(refused("[1]: 2\n", "line 1: found a key that is no scalar"));
    CHECK(refused("? {a: 1}\n: 2\n", "a key that is no scalar"));
    CHECK(refused("a: 1\n---\nb: 2\n", "line 2: found a second document"));
    CHECK(refused("a: [1, 2\nb: 3\n", "line 2: "));
    CHECK(refused("a: 1\n b: 2\n", "line 2: "));
    CHECK(refused("a:\n\t- b\n", "line 2: "));
    CHECK(refused("a: \xff\n", "line 1: "));
    CHECK(refused("\"\\ud800\"", "line 1: "));
    CHECK(gives("[{a: 1}, {a: 2}]", "[{\"a\":1},{\"a\":2}]")); /* equal keys of different maps */
}

static void test_limits(void)
{
    TEST("limits");
    char deep[200] = { 0 };
    memset(deep, '[', 64), memset(deep + 64, ']', 64);
    Value v;
    CHECK(yaml_parse(&arena, str_of(deep), &v, &err));
    memset(deep, '[', 65), memset(deep + 65, ']', 65);
    CHECK(refused(deep, "found one more level, wanted at most 64"));
    size_t limit = 1 << 20;
    char *large = arena_alloc(&arena, limit + 1);
    memset(large, '#', limit + 1);
    CHECK(yaml_parse(&arena, (Str){ large, limit }, &v, &err));
    CHECK(!yaml_parse(&arena, (Str){ large, limit + 1 }, &v, &err));
    CHECK(err.code == EF_TOO_LARGE && says(&err, "wanted at most 1 MiB"));
    Buf b = { 0 };
    for (int i = 0; i < 50000; i++) buf_printf(&b, "key%d: %d\n", i, i);
    CHECK(yaml_parse(&arena, buf_view(&b), &v, &err) && v.map.n == 50000);
    buf_puts(&b, "key777: 1\n");
    CHECK(!yaml_parse(&arena, buf_view(&b), &v, &err) &&
          says(&err, "line 50001: found key \"key777\" again"));
    buf_free(&b);
}

int main(void)
{
    test_scalars();
    test_documents();
    test_refusals();
    test_limits();
    arena_free(&arena);
    return finish();
}

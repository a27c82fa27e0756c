/* SPDX-License-Identifier: Apache-2.0
 * test_data_proto.c - the protobuf codec against messages that protobuf wrote, read and refused
 * (tests/golden/proto.tsv), and limits. */
#include "base/file.h"
#include "check.h"
#include "data/json.h"
#include "data/proto.h"
#include "proto_rows.h"

static Arena arena;
static Err err;

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static Str from_hex(Str hex)
{
    char *out = arena_alloc(&arena, hex.n / 2 + 1);
    for (size_t i = 0; i < hex.n / 2; i++)
        out[i] = (char)(hex_digit(hex.p[2 * i]) << 4 | hex_digit(hex.p[2 * i + 1]));
    return (Str){ out, hex.n / 2 };
}

/* The next part of a line; *rest moves behind it. */
static Str part(Str *rest, char end)
{
    const char *at = rest->n ? memchr(rest->p, end, rest->n) : NULL;
    Str out = { rest->p, at ? (size_t)(at - rest->p) : rest->n };
    size_t used = MIN(out.n + 1, rest->n);
    *rest = (Str){ rest->p + used, rest->n - used };
    return out;
}

static Str json_of(const Value *v)
{
    Buf b = { 0 };
    json_write(&b, v);
    Str out = { str_dup(&arena, buf_view(&b)), b.n };
    buf_free(&b);
    return out;
}

static Str written(const Value *v)
{
    Buf b = { 0 };
    proto_write(&b, v, proto_all);
    Str out = { str_dup(&arena, buf_view(&b)), b.n };
    buf_free(&b);
    return out;
}

static void check_line(Str line)
{
    Str name = part(&line, '\t'), bytes = from_hex(part(&line, '\t'));
    Str json = part(&line, '\t'), again = from_hex(part(&line, '\t'));
    Value tree, wanted;
    TEST(str_dup(&arena, name));
    bool ok = proto_read(&arena, bytes, proto_all, 1000, &tree, &err);
    if (str_is(json, "-")) {
        CHECK(!ok && err.code == EF_BAD_REQUEST && says(&err, "protobuf: "));
        return;
    }
    if (!CHECK(ok) || !CHECK(json_parse(&arena, json, &wanted, &err))) return;
    CHECK(str_eq(json_of(&tree), json_of(&wanted)));
    CHECK(str_eq(written(&tree), again));
}

static void test_golden(void)
{
    Str text;
    TEST("golden");
    if (!CHECK(file_read(&arena, "tests/golden/proto.tsv", 1 << 20, &text, &err))) return;
    while (text.n) check_line(part(&text, '\n'));
}

static void test_limits(void)
{
    TEST("limits");
    Value tree;
    Str texts = STR("\x72\x00\x72\x00\x72\x00"), ids = STR("\x6a\x03\x01\x02\x03");
    CHECK(proto_read(&arena, texts, proto_all, 3, &tree, &err));
    CHECK(!proto_read(&arena, texts, proto_all, 2, &tree, &err) && err.code == EF_TOO_LARGE);
    CHECK(proto_read(&arena, ids, proto_all, 3, &tree, &err));
    CHECK(!proto_read(&arena, ids, proto_all, 2, &tree, &err) && err.code == EF_TOO_LARGE);
    /* numbers take no more room than their bytes */
    CHECK(proto_read(&arena, STR("\x62\x08\0\0\x80\x3f\0\0\0\x40"), proto_all, 0, &tree, &err));
    CHECK(value_get(&tree, "floats")->f32.p[1] == 2);
}

static void test_maps(void)
{
    TEST("maps");
    Value tree;
    static const char bytes[] = "\x8a\x01\x06\x0a\x01k\x12\x01"
                                "1\x8a\x01\x06\x0a\x01k\x12\x01"
                                "2";
    CHECK(proto_read(&arena, (Str){ bytes, sizeof bytes - 1 }, proto_all, 9, &tree, &err));
    CHECK(str_is(value_str(value_get(value_get(&tree, "tags"), "k"), STR("")), "2"));
}

/* What is not text must not reach a client that would refuse the whole message. */
static void test_mending(void)
{
    TEST("strings are mended");
    Value tree = value_map(&arena, 1);
    value_add(&tree, "s", value_of_str(STR("a\xE6\x97z")));
    CHECK(str_eq(written(&tree), STR("\x0a\x08"
                                     "a\xEF\xBF\xBD\xEF\xBF\xBDz")));
}

static void test_absent(void)
{
    TEST("null and absent");
    Value tree;
    static const Field rows[] = { { "json_only", 0, F_STR }, { 0 } };
    CHECK(json_parse(&arena, STR("{\"os\":null,\"inner\":null,\"tags\":null,\"floats\":[1,0.5]}"),
                     &tree, &err));
    CHECK(str_eq(written(&tree), STR("\x62\x08\0\0\x80\x3f\0\0\0\x3f")));
    CHECK(proto_read(&arena, STR("\x0a\x01x"), rows, 9, &tree, &err) && tree.map.n == 0);
}

int main(void)
{
    test_golden();
    test_limits();
    test_maps();
    test_mending();
    test_absent();
    arena_free(&arena);
    return finish();
}

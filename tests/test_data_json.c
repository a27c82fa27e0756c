/* SPDX-License-Identifier: Apache-2.0
 * test_data_json.c - JSON both ways: what is accepted, what is refused and where, and numbers that
 * read back as they were. */
#include <locale.h>

#include "check.h"
#include "data/json.h"
#include "data/number.h"

static Arena arena;
static Err err;

static bool parse(const char *text, Value *out)
{
    err = (Err){ 0 };
    return json_parse(&arena, str_of(text), out, &err);
}

/* Parsed and written compactly again; the error if it is refused. */
static const char *again(Str text)
{
    Value v;
    err = (Err){ 0 };
    if (!json_parse(&arena, text, &v, &err)) return err.message;
    Buf b = { 0 };
    json_write(&b, &v);
    const char *copy = str_dup(&arena, buf_view(&b));
    buf_free(&b);
    return copy;
}

static bool same(const char *text)
{
    const char *got = again(str_of(text));
    return strcmp(got, text) == 0 || (printf("  got: %s\n", got), false);
}

static bool gives(const char *text, const char *wanted)
{
    const char *got = again(str_of(text));
    return strcmp(got, wanted) == 0 || (printf("  got: %s\n", got), false);
}

static bool refused(const char *text, const char *message)
{
    Value v;
    if (parse(text, &v)) return printf("  accepted: %s\n", text), false;
    return err.code == EF_BAD_REQUEST && says(&err, message);
}

static void test_values(void)
{
    TEST("values");
    CHECK(same("null"));
    CHECK(same("[true,false,null]"));
    CHECK(same("{\"a\":{\"b\":[[],{},\"\"]}}"));
    CHECK(gives(" \t\r\n[ 1 , 2 ]\n", "[1,2]"));
    Value v;
    CHECK(parse("{\"a\":1,\"b\":\"x\",\"a\":2.5,\"c\":true}", &v));
    CHECK(v.kind == V_MAP && v.map.n == 4);
    CHECK(value_float(value_get(&v, "a"), 0) == 2.5); /* the last */
    CHECK(v.map.items[0].value.i == 1);
    CHECK(str_is(value_str(value_get(&v, "b"), STR("?")), "x"));
    CHECK(value_bool(value_get(&v, "c"), false));
    CHECK(value_get(&v, "d") == NULL && value_get(NULL, "d") == NULL);
    CHECK(value_get(value_get(&v, "b"), "d") == NULL);
    CHECK(value_int(value_get(&v, "a"), -1) == -1); /* a float is no int */
    CHECK(value_float(&v.map.items[0].value, 0) == 1.0);
}

static void test_strings(void)
{
    TEST("strings");
    CHECK(same("\"\""));
    CHECK(same("\"exactly8\""));
    CHECK(same("\"h\u00e9llo \u4e16\u754c \U0001F600\""));
    CHECK(gives("\"\\u00e9\\u4e16\\ud83d\\ude00\\/\"", "\"\u00e9\u4e16\U0001F600/\""));
    CHECK(same("\"\\\"\\\\\\b\\f\\n\\r\\t\""));
    CHECK(gives("\"\\u0000\\u001F\"", "\"\\u0000\\u001f\""));
    const char *text = "[\"a view\",\"a\\tcopy\"]";
    Value v;
    CHECK(parse(text, &v));
    CHECK(v.list.items[0].s.p == text + 2 && v.list.items[0].s.n == 6);
    CHECK(v.list.items[1].s.n == 6 && v.list.items[1].s.p[1] == '\t');
    /* a stop byte at every distance from the word boundary, with every kind of neighbour */
    for (int at = 0; at < 20; at++) {
        char in[32] = "\"", stops[] = "\"\\\x1f\xff";
        memset(in + 1, 0x7F, 24);
        in[25] = '"';
        for (int k = 0; k < 4; k++) {
            in[1 + at] = stops[k];
            CHECK(!parse(in, &v));
        }
        in[1 + at] = ' ';
        CHECK(parse(in, &v) && v.s.n == 24);
    }
}

static void test_bad_strings(void)
{
    TEST("bad strings");
    CHECK(refused("\"abc", "line 1, column 5: found the end, wanted a closing quote"));
    CHECK(refused("\"abc\\", "found the end"));
    CHECK(refused("\"abc\\\"", "found the end"));
    CHECK(refused("\"a\nb\"", "line 1, column 3: found a line end, wanted an escape"));
    CHECK(refused("\"a\x01\"", "found byte 0x01"));
    CHECK(refused("\"\\x\"", "column 3: found 'x', wanted one of"));
    CHECK(refused("\"\\u12g4\"", "column 6: found 'g', wanted a hexadecimal digit"));
    CHECK(refused("\"\\u12\"", "found '\"', wanted a hexadecimal digit"));
    CHECK(refused("\"\\ud800\"", "column 2: found half a surrogate pair"));
    CHECK(refused("\"\\udc00\\ud800\"", "half a surrogate pair"));
    CHECK(refused("\"\\ud800\\u0041\"", "half a surrogate pair"));
    CHECK(refused("\"\\ud800\\n\"", "half a surrogate pair"));
    CHECK(refused("\"ab\xff\"", "column 4: found byte 0xFF, wanted valid UTF-8"));
    CHECK(refused("\"\xc0\xaf\"", "valid UTF-8"));         /* overlong */
    CHECK(refused("\"\xed\xa0\x80\"", "valid UTF-8"));     /* a surrogate */
    CHECK(refused("\"\xf4\x90\x80\x80\"", "valid UTF-8")); /* above U+10FFFF */
    CHECK(refused("\"\xe4\xb8\"", "valid UTF-8"));
    CHECK(refused("{\"\xe9\":1}", "valid UTF-8"));
    CHECK(refused("'a'", "found ''', wanted a value"));
}

static void test_errors(void)
{
    TEST("errors");
    CHECK(refused("", "line 1, column 1: found the end, wanted a value"));
    CHECK(refused("[1,\n 2,\n  x]", "line 3, column 3: found 'x', wanted a value"));
    CHECK(refused("[\"\u4e16\u754c\" 1]", "line 1, column 7: found '1', wanted ',' or ']'"));
    CHECK(refused("[1,]", "found ']', wanted a value"));
    CHECK(refused("[,1]", "found ',', wanted a value"));
    CHECK(refused("[1", "found the end, wanted ',' or ']'"));
    CHECK(refused("{\"a\":1,}", "found '}', wanted a key in quotes"));
    CHECK(refused("{a:1}", "found 'a', wanted a key in quotes"));
    CHECK(refused("{\"a\" 1}", "found '1', wanted ':'"));
    CHECK(refused("{\"a\":1]", "wanted ',' or '}'"));
    CHECK(refused("1 2", "column 3: found '2', wanted the end"));
    CHECK(refused("[] // no", "found '/', wanted the end"));
    CHECK(refused("\xef\xbb\xbf[]", "found byte 0xEF, wanted a value"));
    CHECK(refused("nul", "found the end, wanted null, true or false"));
    CHECK(refused("trUe", "column 3: found 'U'"));
    CHECK(refused("truee", "wanted the end"));
    CHECK(refused("NaN", "found 'N', wanted a value"));
    CHECK(refused("-Infinity", "found 'I', wanted a digit"));
    Value v;
    CHECK(!json_parse(&arena, (Str){ 0 }, &v, &err));
    CHECK(!json_parse(&arena, (Str){ "[1]\0", 4 }, &v, &err)); /* bytes after it count, even 0 */
    CHECK(json_parse(&arena, (Str){ "12345", 2 }, &v, &err) && v.i == 12);
    CHECK(!json_parse(&arena, (Str){ "\"ab\"", 3 }, &v, &err));
    CHECK(!json_parse(&arena, STR("x"), &v, NULL)); /* nobody asked why */
}

static void test_depth(void)
{
    TEST("depth");
    char text[600] = { 0 };
    Value v;
    memset(text, '[', 128), memset(text + 128, ']', 128);
    CHECK(parse(text, &v));
    memset(text, '[', 129), memset(text + 129, ']', 129);
    CHECK(refused(text, "column 129: found one more level, wanted at most 128"));
    memset(text, '[', sizeof text - 1);
    CHECK(refused(text, "one more level"));
    CHECK(gives("[[[]],[[]]]", "[[[]],[[]]]"));
}

static void test_numbers(void)
{
    TEST("numbers");
    static const char *const whole[] = { "0", "-1", "9223372036854775807", "-9223372036854775808" };
    for (size_t i = 0; i < COUNT(whole); i++) CHECK(same(whole[i]));
    Value v;
    CHECK(parse("-0", &v) && v.kind == V_INT && v.i == 0);
    CHECK(parse("9223372036854775808", &v) && v.kind == V_FLOAT && v.f == 9223372036854775808.0);
    static const char *const hashes[] = { "9223372036854775808", "9999999999999999999", "10000000000000000000", "18446744073709551615" };
    for (size_t i = 0; i < COUNT(hashes); i++) {
        CHECK(json_parse_record(&arena, str_of(hashes[i]), 1, &v, &err) && v.kind == V_UINT);
        CHECK(v.u == strtoull(hashes[i], NULL, 10));
    }
    static const char *const floats[] = { "18446744073709551616", "20000000000000000000", "36893488147419103231", "-9223372036854775809", "9e18" };
    for (size_t i = 0; i < COUNT(floats); i++)
        CHECK(json_parse_record(&arena, str_of(floats[i]), 1, &v, &err) && v.kind == V_FLOAT && v.f == strtod(floats[i], NULL));
    CHECK(parse("-9223372036854775809", &v) && v.kind == V_FLOAT);
    CHECK(parse("99999999999999999999", &v) && v.f == 1e20);
    CHECK(parse("1000000000000000019884624838656", &v) && v.f == 1e30);
    CHECK(parse("-0.0", &v) && v.kind == V_FLOAT && signbit(v.f));
    CHECK(parse("1E+2", &v) && v.kind == V_FLOAT && v.f == 100);
    CHECK(parse("1e-400", &v) && v.f == 0);
    CHECK(parse("0e999999999999999999999", &v) && v.f == 0);
    CHECK(refused("1e999", "a number out of range"));
    CHECK(refused("-1e99999999999999999999", "a number out of range"));
    CHECK(refused("01", "column 1: found a leading zero"));
    CHECK(refused("-012", "a leading zero"));
    CHECK(refused("1.", "found the end, wanted a digit"));
    CHECK(refused(".5", "found '.', wanted a value"));
    CHECK(refused("+1", "found '+', wanted a value"));
    CHECK(refused("1e", "wanted a digit"));
    CHECK(refused("1e+", "wanted a digit"));
    CHECK(refused("-", "wanted a digit"));
    CHECK(refused("0x10", "found 'x', wanted the end"));
}

/* Text that must come out as strtod says; strtod is the oracle. */
static bool reads_exactly(const char *text)
{
    Value v;
    if (!parse(text, &v) || v.kind != V_FLOAT) return false;
    double wanted = strtod(text, NULL);
    return memcmp(&v.f, &wanted, sizeof wanted) == 0 || (printf("  %s: %a\n", text, v.f), false);
}

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252ull; /* xorshift64 */
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static void test_reading_floats(void)
{
    TEST("reading floats");
    static const char *const hard[] = {
        "0.1",
        "123456789012345.6",
        "1e22",
        "1e23",
        "9007199254740993.0",
        "9007199254740992.5",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "1.7976931348623157e308",
        "0.000000000000000000000000123e30",
        "123456789012345678901234567890.5e-10",
        "0.50000000000000000000000000000000000001",
        "1.00000000000000011102230246251565404236316680908203125", /* a tie */
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        "10000000000000000000000000e-25",
        "8.5e-9",
        "6.02214076e23",
    };
    for (size_t i = 0; i < COUNT(hard); i++) CHECK(reads_exactly(hard[i]));
    char text[2048];
    int bad = 0;
    for (int i = 0; i < 200000; i++) {
        int places = (int)(random_bits() % 20);
        double x = (double)random_bits() * ldexp(1, (int)(random_bits() % 600) - 300);
        snprintf(text, sizeof text, "%.*e", places, x);
        if (places) bad += !reads_exactly(text);
    }
    CHECK(bad == 0);
    /* a midpoint followed by 1000 zeros and a one is above it; by zeros only, it is the tie */
    strcpy(text, hard[14]);
    size_t n = strlen(text);
    memset(text + n, '0', 1000), text[n + 1000] = 0;
    CHECK(reads_exactly(text));
    strcat(text, "1");
    CHECK(reads_exactly(text));
    Value v;
    CHECK(parse(text, &v) && v.f == 1.0000000000000002);
}

static const char *f32_text(float x)
{
    Buf b = { 0 };
    json_write_f32(&b, x);
    const char *copy = str_dup(&arena, buf_view(&b));
    buf_free(&b);
    return copy;
}

static void test_float_form(void)
{
    TEST("form of floats");
    static const struct {
        float x;
        const char *text;
    } rows[] = {
        { 0, "0.0" },
        { -0.0f, "-0.0" },
        { 1, "1.0" },
        { -1, "-1.0" },
        { 0.1f, "0.1" },
        { 100, "100.0" },
        { 1e-5f, "0.00001" },
        { 9.9e-6f, "9.9e-6" },
        { 1e-7f, "1e-7" },
        { 1.5e20f, "1.5e20" },
        { 1e15f, "1000000000000000.0" },
        { 1e16f, "1e16" },
        { 16777216, "16777216.0" },
        { 0.33333334f, "0.33333334" },
        { 123456.79f, "123456.79" },
        { 3.4028235e38f, "3.4028235e38" },
        { 1e-45f, "1e-45" },
        { 1.1754944e-38f, "1.1754944e-38" },
        { 1.1754942e-38f, "1.1754942e-38" },
        { 9.5367432e-7f, "9.536743e-7" },
        { 8388608, "8388608.0" },
        { 33554432, "33554432.0" },
        { 2e-44f, "2e-44" },
        { -1234567, "-1234567.0" },
        { NAN, "null" },
        { -INFINITY, "null" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!CHECK(!strcmp(f32_text(rows[i].x), rows[i].text)))
            printf("  got %s\n", f32_text(rows[i].x));
    CHECK(same("[0.1,1.0,-0.0,1e-7,0.00001,1.5e300,123456789.123,1e16,1000000000000000.0]"));
    CHECK(gives("[1e2,1.50,1.7976931348623157e308]", "[100.0,1.5,1.7976931348623157e308]"));
    CHECK(gives("5e-324", "4.94065645841247e-324")); /* 15 digits are tried first, not 1 */
    CHECK(gives("0.30000000000000004", "0.30000000000000004"));
    CHECK(gives("0.1000000000000000055511151231257827", "0.1"));
    CHECK(number_widen(0.1f) == 0.1 && number_widen(-3.4028235e38f) == -3.4028235e38);
    CHECK(number_widen(0) == 0 && number_widen(1e-45f) == 1e-45);
    Value v = value_of_float(INFINITY);
    Buf b = { 0 };
    json_write(&b, &v);
    CHECK(str_is(buf_view(&b), "null"));
    buf_free(&b);
}

/* Digits of a number's text without zeros at either end. */
static int significant(const char *text, char *digits)
{
    int n = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (n || *text != '0')) digits[n++] = *text;
    while (n && digits[n - 1] == '0') n--;
    return n;
}

/* Not longer than the first of %.1e to %.9e that reads back; when as long, then the same digits. */
static bool is_shortest(const char *text, float x)
{
    char other[40], mine[40], theirs[40];
    for (int places = 0; places < 9; places++) {
        snprintf(other, sizeof other, "%.*e", places, x);
        if (strtof(other, NULL) == x) break;
    }
    int n = significant(text, mine), m = significant(other, theirs);
    return n < m || (n == m && !memcmp(mine, theirs, (size_t)n));
}

static void test_float_round_trip(void)
{
    TEST("floats read back, and are shortest");
    int bad = 0, longer = 0;
    for (uint32_t i = 0; i < 2000000; i++) {
        uint32_t bits =
            i < 2048 ? (i >> 3) << 23 | ((i & 7) - 4) % 0x800000 : (uint32_t)random_bits();
        float x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        char text[NUMBER_ROOM];
        *number_write_f32(text, x) = 0;
        bad += strtof(text, NULL) != x;
        if (i % 8 == 0 && x > 0) longer += !is_shortest(text, x);
    }
    CHECK(bad == 0);
    CHECK(longer == 0);
    bad = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = random_bits();
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        char text[NUMBER_ROOM];
        char *end = number_write_f64(text, x);
        *end = 0;
        bad += strtod(text, NULL) != x || end - text >= NUMBER_ROOM || !strpbrk(text, ".e");
        bad += number_read((Str){ text, (size_t)(end - text) }) != x;
    }
    CHECK(bad == 0);
}

static void test_pretty(void)
{
    TEST("pretty");
    static const float floats[] = { 1, 0.5f };
    Value v = value_map(&arena, 4), list = value_list(&arena, 1);
    list.list.items[0] = value_of_int(7);
    value_add(&v, "x", value_of_f32(floats, 2));
    value_add(&v, "y", list);
    value_add(&v, "none", value_of_f32(floats, 0));
    value_add(&v, "e", value_map(&arena, 0));
    Buf b = { 0 };
    json_write_pretty(&b, &v);
    CHECK(str_is(buf_view(&b), "{\n  \"x\": [\n    1.0,\n    0.5\n  ],\n  \"y\": [\n    7\n  ],\n"
                               "  \"none\": [],\n  \"e\": {}\n}"));
    b.n = 0;
    json_write(&b, &v);
    CHECK(str_is(buf_view(&b), "{\"x\":[1.0,0.5],\"y\":[7],\"none\":[],\"e\":{}}"));
    static float many[1000];
    b.n = 0;
    json_write(&b, &(Value){ .kind = V_F32, .f32 = { many, 1000 } });
    CHECK(b.n == 1000 * 4 + 1 && b.p[b.n - 1] == ']' && b.p[b.n - 2] == '0');
    buf_free(&b);
}

static void test_locale(void)
{
    TEST("another decimal point");
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        return (void)SKIP("no locale with a decimal comma is installed");
    CHECK(same("[0.1,123456789.12345679,1.7976931348623157e308]"));
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    test_values();
    test_strings();
    test_bad_strings();
    test_errors();
    test_depth();
    test_numbers();
    test_reading_floats();
    test_float_form();
    test_float_round_trip();
    test_pretty();
    test_locale();
    arena_free(&arena);
    return finish();
}

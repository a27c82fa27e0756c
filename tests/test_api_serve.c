/* SPDX-License-Identifier: Apache-2.0
 * test_api_serve.c - rows of options: each kind of value goes to its field or is refused, and the
 * rows of `serve` fit the structs they fill. */
#include "api/serve.h"
#include "check.h"
#include "dialect/family.h"

typedef struct Sample {
    const char *text, *list, *keys;
    int narrow, word;
    int64_t wide;
    size_t size;
    double seconds, ms;
    bool flag;
} Sample;
#define FIELD(field) OPTION_FIELD_OF(Sample, field)
static const char *const words[] = { "red", "green", "blue", NULL };
static const Option rows[] = {
    { "text", 0, "T", "", TAKES_TEXT, FIELD(text), "usual" },
    { "list", 0, "T", "", TAKES_LIST, FIELD(list) },
    { "keys", 0, "K", "", TAKES_KEYS, FIELD(keys) },
    { "narrow", 0, "N", "", TAKES_COUNT, FIELD(narrow), "7", 1, 9 },
    { "wide", 0, "N", "", TAKES_COUNT, FIELD(wide), NULL, -5, INT64_MAX },
    { "size", 0, "N", "", TAKES_BYTES, FIELD(size), "1024", 1, INT64_C(1) << 40 },
    { "seconds", 0, "N", "", TAKES_SECONDS, FIELD(seconds), NULL, 0, 60 },
    { "some-ms", 0, "N", "", TAKES_MS, FIELD(ms), NULL, 0, 60000 },
    { "word", 0, "W", "", TAKES_WORD, FIELD(word), "green", .words = words },
    { "flag", 0, NULL, "", TAKES_NOTHING, FIELD(flag) },
    { 0 },
};
static Arena arena;
static Err err;

static bool set(Sample *s, const char *name, const char *text)
{
    const Option *o = rows;
    while (strcmp(o->name, name) != 0) o++;
    return option_set(o, s, &arena, "HERE", str_of(text), &err);
}

static void values(void)
{
    TEST("values");
    Sample s = { .wide = 1, .seconds = 3 };
    option_defaults(rows, &s, &arena);
    CHECK(strcmp(s.text, "usual") == 0 && s.narrow == 7 && s.size == 1024 && s.word == 1);
    CHECK(s.wide == 1 && s.seconds == 3 && !s.list && !s.flag);
    CHECK(set(&s, "narrow", "9") && s.narrow == 9 && s.word == 1);
    CHECK(set(&s, "wide", "-5") && s.wide == -5);
    CHECK(set(&s, "size", "1099511627776") && s.size == (size_t)1 << 40);
    CHECK(set(&s, "seconds", "60") && s.seconds == 60 && set(&s, "some-ms", "250") && s.ms == 0.25);
    CHECK(set(&s, "word", "blue") && s.word == 2 && set(&s, "text", "a b") &&
          strcmp(s.text, "a b") == 0);
    CHECK(set(&s, "list", "a") && set(&s, "list", "b") && strcmp(s.list, "a\nb") == 0);
    CHECK(set(&s, "keys", " one \n two") && set(&s, "keys", "three") &&
          strcmp(s.keys, "one\ntwo\nthree") == 0);
    CHECK(set(&s, "flag", "on") && s.flag && set(&s, "flag", "0") && !s.flag);
}

static void refusals(void)
{
    TEST("refusals");
    Sample s = { 0 };
    CHECK(!set(&s, "narrow", "0") && says(&err, "HERE: found \"0\", wanted a number from 1 to 9"));
    CHECK(!set(&s, "narrow", "10") && !set(&s, "narrow", "") && !set(&s, "narrow", "1e0"));
    CHECK(!set(&s, "wide", "9223372036854775808") && !set(&s, "some-ms", "60001"));
    CHECK(!set(&s, "word", "Blue") && says(&err, "HERE: found \"Blue\", wanted red, green or blue"));
    CHECK(!set(&s, "flag", "TRUE!") && says(&err, "wanted true or false"));
    CHECK(!set(&s, "text", " ") && says(&err, "HERE: found nothing, wanted a value"));
    CHECK(!set(&s, "keys", "\n") && says(&err, "HERE: found nothing, wanted a key"));
    CHECK(!set(&s, "keys", "good\nse cret") && says(&err, "HERE: line 2: found white space") &&
          !strstr(err.message, "cret"));
    CHECK(s.narrow == 0 && s.wide == 0 && s.word == 0 && !s.text);
}

/* A field of another size than its kind's would be written over its neighbours. */
static bool fits(const Option *o)
{
    if (!o->argument) return o->kind == TAKES_NOTHING && o->size == sizeof(bool);
    if (o->kind == TAKES_SECONDS || o->kind == TAKES_MS) return o->size == sizeof(double);
    if (o->kind == TAKES_WORD) return o->size == sizeof(int) && o->words;
    if (!option_number(o)) return o->size == sizeof(char *);
    return o->most > o->least && (o->size == sizeof(int) || o->size == sizeof(int64_t));
}

static void rows_of_serve(void)
{
    TEST("serve");
    ServeSettings s = { 0 };
    option_defaults(serve_options, &s, &arena);
    CHECK(s.server.port == 8080 && s.server.grpc_port == 50051 && s.log_level == EF_LOG_INFO);
    CHECK(s.server.max_body == (size_t)32 << 20 && s.session.batch_seconds == 0.1);
    for (const Option *o = serve_options; o->name; o++) {
        const Option *same = serve_options;
        while (strcmp(same->name, o->name) != 0) same++;
        if (!CHECK(fits(o) && o->help && same == o)) printf("  row was: %s\n", o->name);
    }
    CHECK(strcmp(option_variable(&arena, &serve_options[0]), "ENCODERFILE_HTTP_HOSTNAME") == 0);
    s.server.no_http = true;
    CHECK(serve_complete(&s, &err) && s.server.grpc && !s.server.trace_url);
    CHECK(!s.server.preferred);
    s.tei = true;
    CHECK(serve_complete(&s, &err) && s.server.preferred == &family_tei);
    s.otel = true;
    CHECK(serve_complete(&s, &err) && strcmp(s.server.trace_url, OTEL_URL) == 0);
    s.server.no_grpc = true;
    CHECK(!serve_complete(&s, &err) && says(&err, "both"));
}

int main(void)
{
    values();
    refusals();
    rows_of_serve();
    arena_free(&arena);
    return finish();
}

/* SPDX-License-Identifier: Apache-2.0
 * test_text_hostile.c - tokenizers and texts that cost the square of their length, or more memory than
 * there is, if they are taken at their word: each ends soon, with the tokens of the reference or an
 * error. What does not end is ended by the alarm. */
#include <unistd.h>

#include "check.h"
#include "text/text.h"

enum { SECONDS = 60, LONG = 1 << 17 };
static const char level_post[] = "\"post_processor\":{\"type\":\"ByteLevel\",\"trim_offsets\":true,"
                                 "\"add_prefix_space\":true,\"use_regex\":true},";

static Tokenizer *load(Arena *arena, Buf *json, const char *wanted)
{
    Tokenizer *t = NULL;
    Err err = { 0 };
    bool ok = tokenizer_load(arena, buf_view(json), &t, &err);
    if (wanted) CHECK(!ok && says(&err, wanted));
    else if (!CHECK(ok)) printf("  %s\n", err.message);
    buf_free(json);
    return ok ? t : NULL;
}

/* ---- white space that is a token and takes white space ---- */
typedef struct Case {
    const char *blank;
    bool left, right, trims;
    int n, ids[10], start[10], end[10]; /* of "a", four blanks, "b", two, "a"; as tokenizers 0.22.2 has it */
} Case;
static const Case cases[] = {
    { " ", false, true, false, 9, { 1, 3, 3, 3, 3, 2, 3, 3, 1 }, { 0, 1, 2, 3, 4, 5, 6, 7, 8 },
      { 1, 5, 5, 5, 5, 6, 8, 8, 9 } },
    { " ", true, false, false, 9, { 1, 3, 3, 3, 3, 2, 3, 3, 1 }, { 0, 1, 2, 3, 4, 5, 6, 7, 8 },
      { 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
    { " ", true, true, false, 5, { 1, 3, 2, 3, 1 }, { 0, 1, 5, 6, 8 }, { 1, 5, 6, 8, 9 } },
    { " ", false, true, true, 9, { 1, 3, 3, 3, 3, 2, 3, 3, 1 }, { 0, 5, 5, 5, 5, 5, 8, 8, 8 },
      { 1, 5, 5, 5, 5, 6, 8, 8, 9 } },
    { "\xc2\xa0", false, true, false, 9, { 1, 3, 3, 3, 3, 2, 3, 3, 1 }, { 0, 1, 2, 3, 4, 5, 6, 7, 8 },
      { 1, 5, 5, 5, 5, 6, 8, 8, 9 } },
    { "\xc2\xa0", false, true, true, 9, { 1, 3, 3, 3, 3, 2, 3, 3, 1 }, { 0, 5, 5, 5, 5, 5, 8, 8, 8 },
      { 1, 5, 5, 5, 5, 6, 8, 8, 9 } },
};

static Tokenizer *load_case(Arena *arena, const Case *c)
{
    Buf json = { 0 };
    buf_printf(&json,
               "{\"added_tokens\":[{\"id\":3,\"content\":\"%s\",\"single_word\":false,\"lstrip\":%s,"
               "\"rstrip\":%s,\"normalized\":false,\"special\":false}],\"pre_tokenizer\":{\"type\":"
               "\"Whitespace\"},%s\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"[UNK]\","
               "\"vocab\":{\"[UNK]\":0,\"a\":1,\"b\":2}}}",
               c->blank, c->left ? "true" : "false", c->right ? "true" : "false",
               c->trims ? level_post : "");
    return load(arena, &json, NULL);
}

static void add_blanks(Buf *text, const char *blank, int n, const char *end)
{
    while (n--) buf_puts(text, blank);
    buf_puts(text, end);
}

static void check_short(const Case *c, const Tokenizer *t, Arena *arena)
{
    Buf text = { 0 };
    Encoding e;
    Err err = { 0 };
    buf_puts(&text, "a");
    add_blanks(&text, c->blank, 4, "b");
    add_blanks(&text, c->blank, 2, "a");
    if (!CHECK(tokenizer_encode(t, arena, buf_view(&text), NULL, NULL, &e, &err))) return;
    encoding_to_chars(&e, buf_view(&text), NULL);
    bool same = (int)e.n == c->n;
    for (int i = 0; same && i < c->n; i++)
        same = e.ids[i] == c->ids[i] && e.start[i] == c->start[i] && e.end[i] == c->end[i];
    if (!CHECK(same))
        for (size_t i = 0; i < e.n; i++) printf("  %d: %d-%d\n", e.ids[i], e.start[i], e.end[i]);
    buf_free(&text);
}

/* LONG blanks. Names of those inside one another have LONG * LONG / 2 bytes: they are not given, nor
 * looked at for white space to be trimmed. */
static void check_long(const Case *c, const Tokenizer *t, Arena *arena)
{
    Buf text = { 0 };
    Encoding e;
    Err err = { 0 };
    buf_puts(&text, "a");
    add_blanks(&text, c->blank, LONG, "b");
    EncodeOptions named = { .tokens = true };
    bool inside = c->right && !c->left; /* each token takes the rest of the white space */
    alarm(SECONDS);
    bool ok = tokenizer_encode(t, arena, buf_view(&text), NULL, NULL, &e, &err);
    if (ok) {
        encoding_to_chars(&e, buf_view(&text), NULL);
        CHECK(e.n == (c->left && c->right ? 3 : LONG + 2));
        CHECK(e.start[e.n - 1] == LONG + 1 && e.end[e.n - 1] == LONG + 2);
        ok = !inside || tokenizer_encode(t, arena, buf_view(&text), NULL, &named, &e, &err);
    } else {
        CHECK(c->trims);
    }
    CHECK(ok != inside && (ok || (err.code == EF_TOO_LARGE && says(&err, "inside one another"))));
    alarm(0);
    buf_free(&text);
}

static void test_blanks(void)
{
    TEST("white space that is a token");
    for (size_t i = 0; i < COUNT(cases); i++) {
        Arena arena = { 0 };
        const Tokenizer *t = load_case(&arena, &cases[i]);
        if (t) check_short(&cases[i], t, &arena);
        if (t) check_long(&cases[i], t, &arena);
        arena_free(&arena);
    }
}

/* ---- many added tokens, one the beginning of the next ---- */
static void test_many(void)
{
    TEST("many added tokens");
    enum { MANY = 20000, TEXT = 40000 };
    Arena arena = { 0 };
    Buf json = { 0 }, text = { 0 };
    Encoding e;
    Err err = { 0 };
    buf_puts(&json, "{\"added_tokens\":[");
    for (int i = 0; i < MANY; i++)
        buf_printf(&json, "%s{\"id\":%d,\"content\":\"<x%d\",\"single_word\":false,\"lstrip\":true,"
                   "\"rstrip\":true,\"normalized\":false,\"special\":false}", i ? "," : "", i + 3, i);
    buf_puts(&json, "],\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"[UNK]\",\"vocab\":{\"[UNK]\":0,"
                    "\"a\":1,\"b\":2}}}");
    alarm(SECONDS);
    const Tokenizer *t = load(&arena, &json, NULL);
    for (int i = 0; i < TEXT; i++) buf_printf(&text, "  <x%d", i % MANY);
    if (t && CHECK(tokenizer_encode(t, &arena, buf_view(&text), NULL, NULL, &e, &err)))
        CHECK(e.n == TEXT);
    alarm(0);
    buf_free(&text);
    arena_free(&arena);
}

/* ---- texts that grow ---- */
#define REPLACE(from, to) "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" from "\"},\"content\":\"" to "\"}"
#define LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":false}"

static void grow(const char *name, const char *part, const char *list, const char *step, int steps,
                 const char *text, bool ends)
{
    Arena arena = { 0 };
    Buf json = { 0 };
    Encoding e;
    Err err = { 0 };
    TEST(name);
    buf_printf(&json, "{\"%s\":{\"type\":\"Sequence\",\"%s\":[", part, list);
    for (int i = 0; i < steps; i++) buf_printf(&json, "%s%s", i ? "," : "", step);
    buf_puts(&json, "]},\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0}}}");
    const Tokenizer *t = load(&arena, &json, NULL);
    alarm(SECONDS);
    bool ok = t && tokenizer_encode(t, &arena, str_of(text), NULL, NULL, &e, &err);
    alarm(0);
    CHECK(ok == ends);
    if (!ends) CHECK(says(&err, "grows to more than 64 times its length") && err.code == EF_INVALID_INPUT);
    arena_free(&arena);
}

static void test_growth(void)
{
    grow("forty that double", "normalizer", "normalizers", REPLACE("a", "aa"), 40, "a", false);
    grow("sixteen that double", "normalizer", "normalizers", REPLACE("a", "aa"), 16, "a", true);
    grow("forty that do not", "normalizer", "normalizers", REPLACE("a", "b"), 40, "a", true);
    grow("ByteLevel of ByteLevel", "normalizer", "normalizers", "{\"type\":\"ByteLevel\"}", 40, "\xc3\xa9", false);
    grow("its pre-tokenizer", "pre_tokenizer", "pretokenizers", LEVEL, 40, "\xc3\xa9", false);
    grow("twice", "pre_tokenizer", "pretokenizers", LEVEL, 2, "\xc3\xa9", true);
}

/* One step is enough, if what it writes is long. */
static void test_long_content(void)
{
    TEST("long content");
    Arena arena = { 0 };
    Buf json = { 0 }, text = { 0 };
    Encoding e;
    Err err = { 0 };
    buf_puts(&json, "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"");
    add_blanks(&json, "x", 1 << 16, "\"},\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0}}}");
    const Tokenizer *t = load(&arena, &json, NULL);
    add_blanks(&text, "a", 1 << 16, "");
    alarm(SECONDS);
    CHECK(t && !tokenizer_encode(t, &arena, buf_view(&text), NULL, NULL, &e, &err) && says(&err, "grows to more"));
    alarm(0);
    buf_free(&text);
    arena_free(&arena);
}

/* ---- pieces as long as the text ---- */
static void test_pieces(void)
{
    TEST("long pieces");
    for (int n = 1024; n <= LONG; n += LONG - 1024) {
        Arena arena = { 0 };
        Buf json = { 0 }, text = { 0 };
        Encoding e;
        Err err = { 0 };
        buf_puts(&json, "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"u\",0],[\"a\",-1],[\"");
        add_blanks(&json, "a", n, "\",-900]]}}");
        alarm(SECONDS);
        const Tokenizer *t = load(&arena, &json, n > 1024 ? "Unigram: found a piece of 131072 bytes, wanted at most 1024" : NULL);
        add_blanks(&text, "a", 1 << 15, "");
        if (t && CHECK(tokenizer_encode(t, &arena, buf_view(&text), NULL, NULL, &e, &err)))
            CHECK(e.n == (1 << 15) / 1024);
        alarm(0);
        buf_free(&text);
        arena_free(&arena);
    }
}

int main(void)
{
    test_blanks();
    test_many();
    test_growth();
    test_long_content();
    test_pieces();
    return finish();
}

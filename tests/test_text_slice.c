/* SPDX-License-Identifier: Apache-2.0
 * test_text_slice.c - texts in parts give what the whole gives: every golden tokenizer, texts made of
 * what is awkward at a cut, parts of a few bytes against one. */
#include <dirent.h>

#include "base/file.h"
#include "check.h"
#include "text/pipeline.h"

enum { TEXTS = 60, SMALL_SLICE = 8 };

static uint64_t seed = 17;
static uint32_t next_random(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static const char *const bits[] = {
    "a ",  "word ", "it's ", "x y z ", "12 34 ", "5 ", "  ", "\n", "\t ", ". ", ", ", "b", "B c",
    "Don't ", "\xe4\xb8\xad\xe6\x96\x87", " \xc3\xa9t\xc3\xa9 ", "e\xcc\x81 ", "\xc2\xa0",
    "\xe2\x80\x8b", "\xe2\x96\x81q ", "[MASK]", " <mask> ", "[MASK] k ", "<s>", "</s> w ", "\x01", "\xef\xac\x81 ",
    "unaffable ", "!? ", " (a b) ", "\xf0\x9f\x98\x80 ", "_ ", "q\r\n", "`` ", "A1 b2 ",
};

static Str make_text(Arena *arena, size_t pieces)
{
    Buf b = { .arena = arena };
    for (size_t i = 0; i < pieces; i++) buf_puts(&b, bits[next_random(COUNT(bits))]);
    return buf_view(&b);
}

static bool same_arrays(const Encoding *a, const Encoding *b)
{
    size_t words = a->n * sizeof *a->ids;
    return !memcmp(a->ids, b->ids, words) && !memcmp(a->type_ids, b->type_ids, words) &&
           !memcmp(a->start, b->start, words) && !memcmp(a->end, b->end, words) &&
           !memcmp(a->word, b->word, words) && !memcmp(a->special, b->special, a->n) &&
           !memcmp(a->sequence, b->sequence, a->n);
}

static bool same(const Encoding *a, const Encoding *b)
{
    if (a->n != b->n || a->truncated != b->truncated || !same_arrays(a, b)) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!str_eq(a->tokens[i], b->tokens[i])) return false;
    return true;
}

static bool check_text(Tokenizer *t, size_t slice, Arena *arena, Str first, const Str *second,
                       const EncodeOptions *how)
{
    Encoding whole, parts;
    Err a = { 0 }, b = { 0 };
    t->slice = 0;
    bool ok = tokenizer_encode(t, arena, first, second, how, &whole, &a);
    t->slice = slice;
    bool again = tokenizer_encode(t, arena, first, second, how, &parts, &b);
    if (ok != again) return false;
    if (!ok || same(&whole, &parts)) return true;
    printf("  text: %.*s (at most %d)\n", STR_ARG(first), how->max_length);
    return false;
}

static void check_tokenizer(Tokenizer *t)
{
    Arena arena = { 0 };
    bool ok = true;
    for (int i = 0; ok && i < TEXTS; i++) {
        Str first = make_text(&arena, 5 + next_random(60)), second = make_text(&arena, 3 + next_random(60));
        EncodeOptions how = { .tokens = true, .no_special = i % 5 == 4 };
        how.max_length = i % 3 ? (int)(5 + next_random(60)) : 0;
        how.truncate_left = i % 7 == 6;
        ok = check_text(t, SMALL_SLICE, &arena, first, i % 2 ? &second : NULL, &how);
        arena_reset(&arena, 1 << 20);
    }
    arena_free(&arena);
    CHECK(ok);
}

static int sliced, others;

static void check_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        Arena arena = { 0 };
        Tokenizer *t;
        Err err;
        const char *path = str_format(&arena, "%s/%s", folder, e->d_name);
        bool json = str_ends(str_of(path), ".json");
        if (e->d_name[0] != '.' && (json || strstr(path, "/c_")) &&
            tokenizer_open(&arena, path, &t, &err)) {
            TEST(str_dup(&arena, str_of(path)));
            *(t->slice ? &sliced : &others) += 1;
            if (t->slice) check_tokenizer(t);
        }
        arena_free(&arena);
    }
    if (dir) closedir(dir);
}

/* The end of a text that is cut is not looked at: what does not fit into memory there is no matter. */
static void test_stop(void)
{
    TEST("no further than truncation");
    Arena arena = { 0 }, work = { 0 };
    Tokenizer *t;
    Err err;
    Encoding e;
    Str body = make_text(&arena, 10);
    Buf text = { .arena = &arena };
    CHECK(tokenizer_open(&arena, "tests/golden/text_models/bert_uncased.json", &t, &err) && t->slice);
    while (text.n < 4 << 20) buf_printf(&text, "%.*s word word word ", STR_ARG(body));
    CHECK(tokenizer_encode(t, &work, buf_view(&text), NULL, &(EncodeOptions){ .max_length = 64 }, &e,
                           &err) &&
          e.n == 64 && e.truncated);
    CHECK(work.total < 4 << 20); /* it would be ten times the text */
    arena_free(&work);
    arena_free(&arena);
}

int main(void)
{
    check_folder("tests/golden/text");
    check_folder("tests/golden/text_models");
    TEST("kinds of tokenizers");
    CHECK(sliced >= 20 && others >= 3);
    printf("  %d tokenizers cut texts, %d do not\n", sliced, others);
    test_stop();
    return finish();
}

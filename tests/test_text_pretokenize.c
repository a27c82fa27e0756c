/* SPDX-License-Identifier: Apache-2.0
 * test_text_pretokenize.c - every kind of normalizer and pre-tokenizer with its options: the pieces
 * and offsets that the reference found in nasty texts (cases.jsonl, written by
 * tools/oracle/text_split.py; another file of that form may be given), and what is refused. */
#include "base/file.h"
#include "check.h"
#include "data/json.h"
#include "text/pipeline.h"
#include "text/regex.h"

#define GOLDEN "tests/golden/text_split/cases.jsonl"
enum { FILE_LIMIT = 1 << 30 };

static Arena keep; /* the configuration at hand */
static Normalizer normalizer;
static PreTokenizer pretokenizer;

static void configure(const Value *row)
{
    Err err;
    normalizer = (Normalizer){ 0 }, pretokenizer = (PreTokenizer){ 0 };
    if (CHECK(normalizer_load(&keep, value_get(row, "n"), &normalizer, &err) &&
              pretokenizer_load(&keep, value_get(row, "p"), &pretokenizer, &err)))
        return;
    printf("  %s\n", err.message);
    normalizer = (Normalizer){ 0 }, pretokenizer = (PreTokenizer){ 0 };
}

/* ---- one case ---- */
static void each_character(const Text *text, Pieces *out)
{
    for (size_t i = 0; i < text->n;) {
        uint32_t code;
        size_t next = i + (size_t)utf8_take(text->p + i, &code);
        pieces_add(out, i, next, -1);
        i = next;
    }
}

static bool same_piece(const Text *text, Piece piece, const Value *want, const Value *offsets,
                       size_t i)
{
    Str have = { text->p + piece.from, piece.to - piece.from };
    if (want->kind == V_LIST && !str_eq(have, want->list.items[i].s)) return false;
    return value_int(&offsets->list.items[2 * i], -1) == text->at[piece.from].start &&
           value_int(&offsets->list.items[2 * i + 1], -1) == text->at[piece.to - 1].end;
}

static void show(const Value *config, const Value *row, const Text *text, const Pieces *have)
{
    Buf out = { 0 };
    json_write(&out, config);
    out.n = MIN(out.n, (size_t)400);
    buf_puts(&out, "\n  ");
    json_write(&out, row);
    buf_puts(&out, "\n  have:");
    for (size_t i = 0; i < have->n && i < 60; i++) {
        Piece p = have->items[i];
        buf_printf(&out, " [%.*s]%d-%d", (int)(p.to - p.from), text->p + p.from,
                   (int)text->at[p.from].start, (int)text->at[p.to - 1].end);
    }
    if (text->trouble) buf_puts(&out, text->trouble);
    printf("  %.*s\n", (int)MIN(out.n, (size_t)3000), out.p);
    buf_free(&out);
}

static bool replay(Arena *arena, const Value *row, Text *text, Pieces *pieces)
{
    Str original = value_str(value_get(row, "a"), STR(""));
    const Value *want = value_get(row, "w"), *offsets = value_get(row, "o");
    normalizer_run(&normalizer, (Source){ .text = original }, text);
    Pieces one = { .arena = arena };
    if (pretokenizer.kind) {
        pieces_add(&one, 0, text->n, -1);
        pretokenizer_run(&pretokenizer, text, &one, pieces);
    } else {
        each_character(text, pieces);
        if (!str_eq((Str){ text->p, text->n }, value_str(want, STR("")))) return false;
    }
    if (text->trouble || offsets->list.n != 2 * pieces->n) return false;
    if (want->kind == V_LIST && want->list.n != pieces->n) return false;
    for (size_t i = 0; i < pieces->n; i++)
        if (!same_piece(text, pieces->items[i], want, offsets, i)) return false;
    return true;
}

static void replay_all(const char *path)
{
    Str file;
    Arena all = { 0 }, arena = { 0 };
    if (!CHECK(file_read(&all, path, FILE_LIMIT, &file, &(Err){ 0 }))) return;
    Value config = value_null();
    int shown = 0;
    for (const char *p = file.p, *end = file.p + file.n; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        Str line = { p, (size_t)(eol - p) };
        Value row;
        Err err;
        p = eol + 1;
        if (memmem(line.p, MIN(line.n, 8), "{\"n\":", 5)) {
            arena_reset(&keep, 1 << 20);
            if (CHECK(json_parse(&keep, line, &config, &err))) configure(&config);
            shown = 0;
            continue;
        }
        if (!CHECK(json_parse(&arena, line, &row, &err))) break;
        Text text = { .arena = &arena };
        Pieces pieces = { .arena = &arena };
        if (!CHECK(replay(&arena, &row, &text, &pieces)) && shown++ < 3)
            show(&config, &row, &text, &pieces);
        arena_reset(&arena, 1 << 20);
    }
    arena_free(&arena);
    arena_free(&all);
}

/* ---- what is refused ---- */
static const struct {
    const char *json; /* ' stands for " */
    bool normalizer;
    const char *says;
} refused[] = {
    { "{'type':'Lower'}", true, "normalizer type \"Lower\" is not supported" },
    { "{'type':'Words'}", false, "pre_tokenizer type \"Words\" is not supported" },
    { "{'type':'Prepend'}", true, "Prepend: found no \"prepend\"" },
    { "{'type':'Replace','content':''}", true, "Replace: found no \"String\"" },
    { "{'type':'Replace','pattern':{'Regex':'a('},'content':''}", true, "( without )" },
    { "{'type':'Replace','pattern':{'Regex':'(a)\\\\1'},'content':''}", true, "back reference" },
    { "{'type':'Replace','pattern':{'Regex':'(?:(?:(?:){999}){999}){999}'},'content':''}", true,
      "too long" },
    { "{'type':'Replace','pattern':{'Regex':'(?:(?:abc){999}){999}'},'content':''}", true,
      "too long" },
    { "{'type':'Precompiled','precompiled_charsmap':'!'}", true, "base64" },
    { "{'type':'Precompiled','precompiled_charsmap':'AAA'}", true, "too short" },
    { "{'type':'Precompiled','precompiled_charsmap':'AAQAAAAA'}", true, "wanted 1024 and more" },
    { "{'type':'Split','pattern':{'Regex':'\\\\p{Klingon}'},'behavior':'Removed','invert':false}",
      false, "property \"Klingon\" is not supported" },
    { "{'type':'Split','pattern':{'String':'a'},'behavior':'Gone','invert':false}", false,
      "found \"Gone\" as \"behavior\"" },
    { "{'type':'Metaspace','replacement':'ab'}", false, "wanted one character" },
    { "{'type':'Metaspace','replacement':'_','add_prefix_space':false}", false, "does not match" },
    { "{'type':'Metaspace','replacement':'_','prepend_scheme':'often'}", false, "often" },
    { "{'type':'CharDelimiterSplit','delimiter':''}", false, "wanted one character" },
    { "{'type':'FixedLength','length':0}", false, "found 0" },
    { "{'type':'ByteLevel','add_prefix_space':true}", false, "trim_offsets" },
    { "{'type':'Digits'}", false, "individual_digits" },
};

static bool load(Arena *arena, const char *json, bool normalizes, Normalizer *n, PreTokenizer *p,
                 Err *err)
{
    char *copy = str_dup(arena, str_of(json));
    for (char *c = copy; *c; c++)
        if (*c == '\'') *c = '"';
    Value v;
    if (!CHECK(json_parse(arena, str_of(copy), &v, err))) return false;
    return normalizes ? normalizer_load(arena, &v, n, err) : pretokenizer_load(arena, &v, p, err);
}

static void check_refused(void)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        Arena arena = { 0 };
        Err err = { 0 };
        Normalizer n = { 0 };
        PreTokenizer p = { 0 };
        TEST(refused[i].says);
        CHECK(!load(&arena, refused[i].json, refused[i].normalizer, &n, &p, &err));
        if (!CHECK(says(&err, refused[i].says))) printf("  %s\n", err.message);
        arena_free(&arena);
    }
}

/* A pattern that would take longer than the universe is given up. */
static void check_hostile(void)
{
    static const char *const patterns[] = { "(a+)+$", "(a|a)*b", "(?:a*)*c", "(?=(a+)+b)",
                                            "a*a*a*a*a*a*b" };
    for (size_t i = 0; i < COUNT(patterns); i++) {
        Arena arena = { 0 };
        Regex regex;
        Err err;
        Range hit;
        char text[5000];
        memset(text, 'a', sizeof text);
        text[sizeof text - 1] = '!';
        TEST(patterns[i]);
        CHECK(regex_compile(&arena, str_of(patterns[i]), &regex, &err));
        RegexSearch search = { { text, sizeof text }, &arena };
        CHECK(!regex_find(&regex, &search, 0, &hit) && search.trouble);
        arena_free(&arena);
    }
}

int main(int argc, char **argv)
{
    TEST("reference");
    replay_all(argc > 1 ? argv[1] : GOLDEN);
    check_refused();
    check_hostile();
    arena_free(&keep);
    return finish();
}

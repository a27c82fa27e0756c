/* SPDX-License-Identifier: Apache-2.0
 * test_text_unicode.c - every code point against the reference: one hash per primitive and plane,
 * as tools/oracle/unicode.py wrote them. */
#include "check.h"
#include "data/json.h"
#include "text/pipeline.h"
#include "text/unicode.h"
#include "text/unicode_classes.h"

static uint64_t fnv(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x100000001b3u;
}

enum { /* what is not derived from the mappings */
       PLAIN = UNICODE_DROP | UNICODE_SPACE | UNICODE_CJK | UNICODE_PUNCT | UNICODE_MN |
               UNICODE_MARK | UNICODE_WORD | UNICODE_NUMERIC
};
static uint64_t flags_of(uint64_t h, uint32_t c)
{
    return fnv(h, unicode_record(c)->flags & PLAIN);
}

static uint64_t order_of(uint64_t h, uint32_t c)
{
    return fnv(h, unicode_record(c)->order);
}

static uint64_t lower_of(uint64_t h, uint32_t c)
{
    uint32_t out[2];
    int n = unicode_lower(c, out);
    for (int i = 0; i < n; i++) h = fnv(h, out[i]);
    return h;
}

static uint64_t nfd_of(uint64_t h, uint32_t c)
{
    uint32_t out[UNICODE_LONGEST];
    int n = unicode_decompose(c, false, out);
    for (int i = 0; i < n; i++) h = fnv(h, out[i]);
    return h;
}

static Arena arena;
static Normalizer bert, forms[3]; /* NFC, NFKC, NFKD */

static uint64_t normalized(uint64_t h, const Normalizer *normalizer, Str text)
{
    static Text out;
    out.arena = &arena;
    out.n = 0;
    normalizer_run(normalizer, (Source){ .text = text }, &out);
    for (size_t i = 0; i < out.n; i++) h = fnv(h, (unsigned char)out.p[i]);
    return h;
}

/* "A", the code point, two marks in the wrong order and "Z", through the whole BertNormalizer. */
static uint64_t bert_of(uint64_t h, uint32_t c)
{
    char text[16] = "A";
    int n = 1 + utf8_encode(c, text + 1);
    memcpy(text + n, "\xcc\x81\xcc\xa3Z", 5);
    return normalized(h, &bert, (Str){ text, (size_t)n + 5 });
}

/* The code point, two marks in the wrong order, a starter that composes, the code point again. */
static uint64_t form_of(uint64_t h, uint32_t c, const Normalizer *form)
{
    char text[24];
    int n = utf8_encode(c, text);
    memcpy(text + n, "\xcc\x81\xcc\xa3\xe0\xa7\x97", 7);
    memcpy(text + n + 7, text, (size_t)n);
    return normalized(h, form, (Str){ text, 2 * (size_t)n + 7 });
}

static uint64_t nfc_of(uint64_t h, uint32_t c)
{
    return form_of(h, c, &forms[0]);
}

static uint64_t nfkc_of(uint64_t h, uint32_t c)
{
    return form_of(h, c, &forms[1]);
}

static uint64_t nfkd_of(uint64_t h, uint32_t c)
{
    return form_of(h, c, &forms[2]);
}

static uint64_t category_of(uint64_t h, uint32_t c)
{
    return fnv(h, class_of(c)->category);
}

static uint64_t posix_of(uint64_t h, uint32_t c)
{
    return fnv(h, class_of(c)->posix);
}

static uint64_t new_script_of(uint64_t h, uint32_t c)
{
    return fnv(h, script_of(c)->script);
}

static uint64_t old_script_of(uint64_t h, uint32_t c)
{
    return fnv(h, script_of(c)->old);
}

static uint64_t graphemes_of(uint64_t h, uint32_t c)
{
    return fnv(h, grapheme_of(c));
}

static uint64_t fold_of(uint64_t h, uint32_t c)
{
    return fnv(h, unicode_fold_next(c));
}

static const struct {
    const char *name;
    uint64_t (*answer)(uint64_t, uint32_t);
} primitives[] = {
    { "flags", flags_of },        { "order", order_of },
    { "lower", lower_of },        { "nfd", nfd_of },
    { "bert", bert_of },          { "nfc", nfc_of },
    { "nfkc", nfkc_of },          { "nfkd", nfkd_of },
    { "category", category_of },  { "posix", posix_of },
    { "script", new_script_of },  { "old", old_script_of },
    { "grapheme", graphemes_of }, { "fold", fold_of },
};

static uint64_t plane_hash(size_t primitive, unsigned plane)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t c = plane << 16; c < (plane + 1) << 16; c++)
        if (c < 0xd800 || c > 0xdfff) h = primitives[primitive].answer(h, c);
    return h;
}

static void load(const char *json, Normalizer *out)
{
    Value v;
    Err err;
    CHECK(json_parse(&arena, str_of(json), &v, &err) && normalizer_load(&arena, &v, out, &err));
}

/* Compares all planes of the primitives in a file; returns how many there were. */
static unsigned check_file(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!CHECK(f != NULL)) return 0;
    char line[256], name[32];
    unsigned plane, seen = 0;
    unsigned long long want;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%31s %u %llx", name, &plane, &want) != 3) continue;
        for (size_t i = 0; i < COUNT(primitives); i++) {
            if (strcmp(name, primitives[i].name) != 0) continue;
            TEST(primitives[i].name);
            if (!CHECK(plane_hash(i, plane) == want)) printf("  plane %u of %s\n", plane, name);
            seen++;
        }
    }
    fclose(f);
    return seen;
}

/* What Python's str.lower gives. */
static void lower_texts(void)
{
    static const struct { const char *text, *lower; } rows[] = {
        { "ΟΔΟΣ", "οδος" },
        { "οδοσ", "οδοσ" },
        { "ΣΑΣ ΣΑΣ", "σας σας" },
        { "Σ", "σ" },
        { "1Σ", "1σ" },
        { "ΑΣΑ", "ασα" },
        { "ΑΣ'Α", "ασ'α" },
        { "ΑΣ'", "ας'" },
        { "ΑΣ’ 2", "ας’ 2" },
        { "ΆΣ", "άς" },
        { "ΑΣ́Α", "ασ́α" },
        { "ªΣ", "ªς" },
        { "ǅΣ", "ǆς" },
        { "Ⅳ Σ", "ⅳ σ" },
        { "İSTANBUL", "i̇stanbul" },
        { "Straße ẞ", "straße ß" },
        { "ΑΣ.Σ", "ασ.ς" },
        { "МОСКВА", "москва" },
        { "𐐀Σ", "𐐨ς" },
        { "日本Σ", "日本σ" },
    };
    TEST("lower case of texts");
    for (size_t i = 0; i < COUNT(rows); i++) {
        Str have = unicode_lower_text(&arena, str_of(rows[i].text));
        if (!CHECK(str_is(have, rows[i].lower))) printf("  %.*s\n", STR_ARG(have));
    }
}

int main(void)
{
    lower_texts();
    TEST("normalizers");
    load("{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
         "\"strip_accents\":null,\"lowercase\":true}",
         &bert);
    load("{\"type\":\"NFC\"}", &forms[0]);
    load("{\"type\":\"NFKC\"}", &forms[1]);
    load("{\"type\":\"NFKD\"}", &forms[2]);
    unsigned seen = check_file("tests/golden/text/unicode.txt");
    seen += check_file("tests/golden/text/unicode_classes.txt");
    TEST("all planes");
    CHECK(seen == 17 * COUNT(primitives));
    arena_free(&arena);
    return finish();
}

/* SPDX-License-Identifier: Apache-2.0
 * test_task_bio.c - words, entities and what is told of them, from labels given by hand. */
#include "check.h"
#include "data/json.h"
#include "task/bio.h"

/* A result whose tokens are the words and pieces named: "start:label" separated by spaces, or
 * "start-end:label"; without an end it is a byte. */
static Value result_of(Arena *arena, const char *tokens)
{
    Value list = value_list(arena, 64), out = value_map(arena, 1);
    list.list.n = 0;
    for (const char *p = tokens; *p;) {
        Value one = value_map(arena, 2), info = value_map(arena, 2);
        char *rest;
        const char *colon = strchr(p, ':'), *end = colon + strcspn(colon, " ");
        long from = strtol(p, &rest, 10);
        value_add(&info, "start", value_of_int(from));
        value_add(&info, "end", value_of_int(*rest == '-' ? strtol(rest + 1, NULL, 10) : from + 1));
        value_add(&one, "token_info", info);
        value_add(&one, "label", value_of_str((Str){ colon + 1, (size_t)(end - colon - 1) }));
        list.list.items[list.list.n++] = one;
        p = *end ? end + 1 : end;
    }
    value_add(&out, "tokens", list);
    return out;
}

static void entities(void)
{
    static const struct {
        const char *name, *text, *tokens, *wanted; /* type|text|start|end; */
    } rows[] = {
        { "B then I", "to New York now", "0:O 3:B-D 7:I-D 12:O", "D|New York|3|11;" },
        { "first token of a word counts", "Mumbai", "0:B-D 3:I-X", "D|Mumbai|0|6;" },
        { "B of the same type opens", "a b", "0:B-D 2:B-D", "D|a|0|1;D|b|2|3;" },
        { "other I closes", "a b c", "0:B-D 2:I-X 4:I-D", "D|a|0|1;" },
        { "O closes", "a b c", "0:B-D 2:O 4:I-D", "D|a|0|1;" },
        { "I alone is none", "a b", "0:I-D 2:I-D", "" },
        { "spaces and tabs", "a  \t b", "0:B-D 5:I-D", "D|a b|0|6;" },
        { "punctuation", "(\"Pune\", Goa!)", "0:O 1:O 2:B-S 6:O 7:O 9:B-D 12:O 13:O",
          "S|Pune|2|6;D|Goa|9|12;" },
        { "punctuation alone", "a - , b", "0:B-D 2:O 4:O 6:B-D", "D|a|0|1;D|b|6|7;" },
        { "tokens with the space before them", "to New York", "0-2:O 2-6:B-D 6-8:I-D 8-11:X",
          "D|New York|3|11;" },
        { "a token of two words", "New York", "0-8:B-D", "D|New|0|3;D|York|4|8;" },
        { "cut off", "a b c", "0:B-D 2:I-D", "D|a b|0|3;" },
        { "labels without letters", "a b c", "0:D 2:D 4:X", "D|a b|0|3;X|c|4|5;" },
        { "BIOES", "a b c d", "0:B-D 2:E-D 4:S-X 6:S-X", "D|a b|0|3;X|c|4|5;X|d|6|7;" },
        { "a type with a dash", "a b", "0:B-x-y 2:I-x-y", "x-y|a b|0|3;" },
        { "empty", "", "", "" },
        { "spaces only", " \t ", "", "" },
        { "bytes", "\xc3\xbc Goa", "0:O 3:B-D", "D|Goa|3|6;" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        Arena arena = { 0 };
        Buf b = { 0 };
        TEST(rows[i].name);
        Value result = result_of(&arena, rows[i].tokens);
        BioSpans found = bio_entities(&arena, str_of(rows[i].text), bio_tokens(&arena, &result));
        for (size_t k = 0; k < found.n; k++) {
            const BioSpan *s = &found.item[k];
            buf_printf(&b, "%.*s|%.*s|%lld|%lld;", STR_ARG(s->label), STR_ARG(s->text),
                       (long long)s->start, (long long)s->end);
        }
        if (!CHECK(str_is(buf_view(&b), rows[i].wanted))) printf("  %.*s\n", STR_ARG(buf_view(&b)));
        buf_free(&b);
        arena_free(&arena);
    }
}

static bool json_is(const Value *v, const char *wanted)
{
    Buf b = { 0 };
    json_write(&b, v);
    bool ok = str_is(buf_view(&b), wanted);
    if (!ok) printf("  %.*s\n", STR_ARG(buf_view(&b)));
    buf_free(&b);
    return ok;
}

static void told(void)
{
    Arena arena = { 0 };
    Str labels[] = { STR("O"), STR("B-SRC"), STR("I-SRC"), STR("B-DEST"), STR("B-DATE") };
    ModelConfig config = { .labels = labels, .num_labels = COUNT(labels) };
    Str text = STR("\xc3\xbc Goa Pune Goa");
    Value result = result_of(&arena, "0:O 3:B-SRC 7:B-DEST 12:B-SRC");
    BioSpans found = bio_entities(&arena, text, bio_tokens(&arena, &result));
    Value v = bio_extract(&arena, &config, &found, &(BioOptions){ 0 });
    TEST("4.12 type to text");
    CHECK(json_is(&v, "{\"SRC\":\"Goa\",\"DEST\":\"Pune\",\"DATE\":null}"));
    v = bio_extract(&arena, &config, &found, &(BioOptions){ .all = true });
    CHECK(json_is(&v, "{\"SRC\":[\"Goa\"],\"DEST\":[\"Pune\"],\"DATE\":[]}"));
    v = bio_detail(&arena, &config, text, &found, &(BioOptions){ .chars = true });
    const Value *raw = value_get(&v, "raw_entities");
    CHECK(raw->list.n == 3 && json_is(&raw->list.items[1], "{\"text\":\"Pune\",\"label\":\"DEST\","
                                                          "\"start\":6,\"end\":10}"));
    v = bio_detail(&arena, &config, text, &found, &(BioOptions){ 0 });
    CHECK(value_int(value_get(&value_get(&v, "raw_entities")->list.items[1], "start"), 0) == 7);
    TEST("a type that no label names");
    config.num_labels = 0, config.labels = NULL;
    v = bio_extract(&arena, &config, &found, &(BioOptions){ 0 });
    CHECK(json_is(&v, "{\"SRC\":\"Goa\",\"DEST\":\"Pune\"}"));
    TEST("no result");
    found = bio_entities(&arena, text, bio_tokens(&arena, NULL));
    CHECK(found.n == 0);
    arena_free(&arena);
}

int main(void)
{
    entities();
    told();
    return finish();
}

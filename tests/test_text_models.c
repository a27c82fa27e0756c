/* SPDX-License-Identifier: Apache-2.0
 * test_text_models.c - BPE, Unigram, WordLevel and what stands around them, against the reference
 * (tests/golden/text_models, written by tools/oracle/tokenizer_models.py; another file of cases may
 * be given). */
#define GOLDEN "tests/golden/text_models/"
#include "text/pipeline.h"
#include "text_replay.h"

/* A block cut short, or with any one byte changed, is an error or still a tokenizer. */
static void check_damage(void)
{
    TEST("compiled form, damaged");
    Err err = { 0 };
    Str text;
    Value root;
    Buf block = { 0 };
    Tokenizer *t;
    if (!CHECK(file_read(&keep, GOLDEN "roberta.json", FILE_LIMIT, &text, &err) &&
               json_parse(&keep, text, &root, &err) && tokenizer_compile(&root, &block, &err)))
        return;
    char *bytes = arena_raw(&keep, block.n);
    for (size_t n = 0; n < block.n; n = 2 * n + 64) {
        memcpy(bytes, block.p, block.n);
        CHECK(!tokenizer_map(&keep, (Str){ bytes, n }, &t, &err) && says(&err, "compiled"));
    }
    for (size_t at = 0; at < block.n; at += 1 + block.n / 200) {
        Encoding e;
        memcpy(bytes, block.p, block.n);
        bytes[at] ^= 0x55;
        if (tokenizer_map(&keep, (Str){ bytes, block.n }, &t, &err))
            tokenizer_encode(t, &keep, STR("the quick <mask> fox"), NULL, NULL, &e, &err);
    }
    buf_free(&block);
}

/* The reference reads this score otherwise than it is written; no file can ask for the exact one. */
static void check_scores(void)
{
    TEST("scores as the reference reads them");
    static const char *const say[] = { "", ",\"exact_scores\":true", ",\"exact_scores\":[]" };
    for (size_t i = 0; i < COUNT(say); i++) {
        Tokenizer *t;
        Err err = { 0 };
        const char *json = str_format(&keep,
                                      "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0%s,"
                                      "\"vocab\":[[\"a\",-10.413266654746877]]}}",
                                      say[i]);
        if (CHECK(tokenizer_load(&keep, str_of(json), &t, &err)))
            CHECK(t->model.least_score != -10.413266654746877 &&
                  t->model.least_score > -10.4132666547469 &&
                  t->model.least_score < -10.4132666547468);
    }
}

int main(int argc, char **argv)
{
    TEST("reference");
    replay_lines(argc > 1 ? argv[1] : GOLDEN "cases.jsonl", replay);
    TEST("reference, compiled");
    compiled = true;
    memset(loaded, 0, sizeof loaded);
    replay_lines(argc > 1 ? argv[1] : GOLDEN "cases.jsonl", replay);
    check_damage();
    check_scores();
    arena_free(&keep);
    return finish();
}

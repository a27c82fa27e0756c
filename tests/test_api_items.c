/* SPDX-License-Identifier: Apache-2.0
 * test_api_items.c - prompts with choices and words with boxes through the C API, as a program gives them. The numbers of all
 * cases are compared in test_task_choices.c and test_input_boxes.c; here the first ones of both golden files. */
#include "base/file.h"
#include "check.h"
#include "encoderfile.h"

static const ef_word choices[] = { { "In London.", 10 }, { "In Paris.", 9 } };
static const ef_word words[] = { { "Ada", 3 } };
static const ef_box boxes[] = { { 637, 261, 820, 968 } };

static ef_input choose(const char *prompt, size_t n)
{
    return (ef_input){ sizeof(ef_input), EF_CHOICES, prompt, strlen(prompt), choices, n };
}

static ef_input page(const ef_box *box, size_t n)
{
    return (ef_input){ sizeof(ef_input), EF_BOXES, words, 1, box, n };
}

static ef_model *model_at(const char *path)
{
    ef_error err = { 0 };
    ef_model *m = ef_open(path, &(ef_options){ .struct_size = sizeof(ef_options), .threads = 1 }, &err);
    if (!CHECK(m)) printf("  %s: %s\n", path, err.message);
    return m;
}

static void refuse(ef_model *m, ef_input in, const char *words_of_it)
{
    ef_error err = { 0 };
    CHECK(!ef_predict(m, &in, 1, NULL, &err) && says(&err, words_of_it));
}

static void test_choices(void)
{
    TEST("choices");
    ef_error err = { 0 };
    ef_model *m = model_at("tests/golden/multiple_choice/bert");
    if (!m) return;
    ef_input in[] = { choose("Where was Ada born?", 2), choose("Where was Ada born?", 1) };
    ef_reply *r = ef_predict(m, in, 2, NULL, &err);
    const ef_tensor *both = r ? ef_reply_tensor(r, 0) : NULL, *one = r ? ef_reply_tensor(r, 1) : NULL;
    if (!CHECK(both && both->rank == 1 && both->dim[0] == 2 && one->dim[0] == 1)) printf("  %s\n", err.message);
    if (both) {
        CHECK(fabs(both->data[0] - -1.8094926) < 1e-4 && fabs(both->data[1] - -1.3075948) < 1e-4);
        CHECK(one->data[0] == both->data[0]); /* alone and in company */
        CHECK(strstr(ef_reply_json(r), "\"predicted_choice\":\"In Paris.\""));
    }
    ef_reply_free(r);
    refuse(m, ef_text("a text"), "found no choices");
    refuse(m, choose("", 2), "Cannot tokenize empty string");
    refuse(m, choose("x", 0), "input 0: found no words");
    refuse(m, page(boxes, 1), "input 0: found words with boxes, wanted an object with prompt and choices");
    ef_close(m);
}

static void test_boxes(void)
{
    static const float wanted[] = { -1.155026f, 1.255657f, 3.040171f, 0.5559134f, -3.807714f };
    static const ef_box beyond = { 0, 0, 1001, 5 }, crooked = { 9, 0, 5, 5 };
    TEST("boxes");
    ef_error err = { 0 };
    ef_model *m = model_at("tests/golden/boxes/layoutlm");
    if (!m) return;
    ef_input in = page(boxes, 1);
    ef_reply *r = ef_predict(m, &in, 1, NULL, &err);
    const ef_tensor *t = r ? ef_reply_tensor(r, 0) : NULL;
    if (!CHECK(t && t->rank == 2 && t->dim[0] == 4 && t->dim[1] == 5)) printf("  %s\n", err.message);
    for (size_t i = 0; t && i < COUNT(wanted); i++) CHECK(fabsf(t->data[i] - wanted[i]) < 1e-4f);
    CHECK(r && strstr(ef_reply_json(r), "\"word\":0"));
    ef_reply_free(r);
    refuse(m, ef_text("a text"), "words: found nothing, wanted words and boxes, or an image");
    refuse(m, page(&beyond, 1), "boxes[0][2]: found 1001, wanted 0 to 1000");
    refuse(m, page(&crooked, 1), "boxes[0]: found left 9 and right 5");
    refuse(m, page(boxes, 0), "found 0 boxes, wanted 1: one for each word");
    refuse(m, choose("x", 2), "input 0: found a prompt with choices, wanted an object with words and boxes");
    ef_close(m);
}

static void test_pages(void)
{
    TEST("pages");
    ef_error err = { 0 };
    Arena arena = { 0 };
    Str image;
    ef_model *m = model_at("tests/golden/documents/layoutlmv3_qa");
    if (!m || !CHECK(file_read(&arena, "tests/golden/documents/word.png", 1 << 20, &image, &err))) return;
    static const ef_word ada = { "Ada", 3 };
    static const ef_box place = { 82, 195, 309, 512 };
    ef_page of = { .struct_size = sizeof of, .question = "What is the total?", .words = &ada, .boxes = &place, .count = 1,
                   .image = image.p, .image_size = image.n };
    ef_input in = { .struct_size = sizeof in, .kind = EF_PAGE, .data = &of };
    ef_reply *r = ef_predict(m, &in, 1, "{\"top_k\": 2}", &err);
    if (!CHECK(r && strstr(ef_reply_json(r), "\"answer\":\"Ada\",\"start\":0,\"end\":0"))) printf("  %s\n", err.message);
    of.question = "What is the total? No.", of.question_size = strlen("What is the total?");
    ef_reply *sized = ef_predict(m, &in, 1, "{\"top_k\": 2}", &err);
    CHECK(r && sized && !strcmp(ef_reply_json(r), ef_reply_json(sized)));
    of.question_size = 0;
    ef_reply_free(sized);
    ef_reply_free(r);
    of.image = NULL;
    refuse(m, in, "found no image, wanted an object with question, image, words and boxes");
    of.image = image.p, of.question = NULL;
    refuse(m, in, "found no question");
    of.question = "a", of.words = NULL;
    refuse(m, in, "found an image without its words");
    CHECK(!ef_prepare(m, &in, 1, NULL, &err) && says(&err, "inputs[0]: found an image without its words, wanted words and boxes"));
    of.struct_size = 4;
    refuse(m, in, "input 0: ef_page: struct_size: found 4");
    in.data = NULL;
    refuse(m, in, "input 0: found no ef_page");
    ef_close(m);
    arena_free(&arena);
}

int main(void)
{
    test_choices();
    test_boxes();
    test_pages();
    return finish();
}

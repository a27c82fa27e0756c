/* SPDX-License-Identifier: Apache-2.0
 * test_input_choices.c - a prompt with choices becomes a row for each of them, and what the rows needed on
 * the way does not add up. */
#include "check.h"
#include "model/model.h"

/* The prompt is long, and few of its tokens are kept. */
static void test_memory(const Model *m)
{
    TEST("memory of many choices");
    enum { CHOICES = 200, PROMPT = 40000, MOST = 2 << 20 };
    Arena arena = { 0 }, work = { 0 };
    char *prompt = arena_alloc(&arena, PROMPT);
    for (int i = 0; i < PROMPT; i++) prompt[i] = "bus "[i % 4];
    Str *list = ARRAY(&arena, Str, CHOICES);
    for (int i = 0; i < CHOICES; i++) list[i] = str_of(str_format(&arena, "seat %d", i));
    InputModel model = model_input(m);
    InputOptions options = { 0 };
    PrepareCall call = { &model, &options, &arena, &work };
    Item item = { .first = { prompt, PROMPT }, .list = list, .n = CHOICES };
    PreparedRows rows = { 0 };
    Err err = { 0 };
    CHECK(prepare_choices.prepare(&call, &item, &rows, &err) && rows.n == CHOICES);
    for (size_t i = 0; i < rows.n; i++) CHECK(rows.row[i].encoding.truncated);
    if (!CHECK(work.total <= MOST)) printf("  %zu bytes\n", work.total);
    arena_free(&work);
    arena_free(&arena);
}

int main(void)
{
    Model *m = NULL;
    Err err = { 0 };
    if (!CHECK(model_open("examples/bus-ner", &m, &err))) return finish();
    test_memory(m);
    model_close(m);
    return finish();
}

/* SPDX-License-Identifier: Apache-2.0
 * test_task_parts.c - the best labels: their order, of few, of all, and of very many. */
#include "check.h"
#include "task/parts.h"

static Arena arena;
static const ModelConfig config = { 0 };

static int64_t index_at(const Value *top, size_t i)
{
    return value_int(value_get(&top->list.items[i], "index"), -1);
}

static void test_order(void)
{
    enum { N = 40 };
    float scores[N];
    TEST("order");
    for (int i = 0; i < N; i++) scores[i] = (float)(i * 7 % 11);
    scores[3] = NAN;
    Value all = part_top(&arena, &config, NULL, scores, N, N);
    CHECK(all.list.n == N && index_at(&all, 0) == 14 && index_at(&all, 1) == 25 && index_at(&all, N - 1) == 3);
    CHECK(str_is(value_get(&all.list.items[0], "label")->s, "LABEL_14"));
    for (int k = 0; k < N; k += 5) { /* by walks and sorted */
        Value some = part_top(&arena, &config, NULL, scores, N, k);
        CHECK(some.list.n == (size_t)k);
        for (size_t i = 0; i < some.list.n; i++) CHECK(index_at(&some, i) == index_at(&all, i));
    }
}

static void test_many(void)
{
    enum { MANY = 100000 };
    float *scores = ARRAY(&arena, float, MANY);
    TEST("very many labels");
    for (int i = 0; i < MANY; i++) scores[i] = (float)i;
    Value all = part_top(&arena, &config, NULL, scores, MANY, MANY);
    CHECK(all.list.n == MANY && index_at(&all, 0) == MANY - 1 && index_at(&all, MANY - 1) == 0);
}

int main(void)
{
    test_order();
    test_many();
    arena_free(&arena);
    return finish();
}

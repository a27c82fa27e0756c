/* SPDX-License-Identifier: Apache-2.0
 * test_task_head.c - ways of pooling, dense layers and normalizing on numbers small enough to check by
 * hand; and heads of a package that are not what they say. */
#include "check.h"
#include "data/json.h"
#include "task/head.h"
#include "task/task.h"

static const float rows[] = { 3, -4, 1, 2, -5, 6 }; /* three tokens of two numbers */
static Arena arena;

static bool is_near(const float *found, const float *wanted, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabsf(found[i] - wanted[i]) < 1e-6f))
            return printf("  number %d: found %g, wanted %g\n", i, found[i], wanted[i]), false;
    return true;
}

static void pools(void)
{
    TEST("pooling");
    static const struct {
        TaskPooling way;
        int prompt;
        float wanted[2];
    } cases[] = {
        { POOL_OWN, 0, { -1 / 3.f, 4 / 3.f } },  { POOL_MEAN, 0, { -1 / 3.f, 4 / 3.f } },
        { POOL_CLS, 0, { 3, -4 } },              { POOL_MAX, 0, { 3, 6 } },
        { POOL_LAST, 0, { -5, 6 } },             { POOL_WEIGHTED, 0, { -10 / 6.f, 18 / 6.f } },
        { POOL_SQRT, 0, { -0.57735027f, 2.3094011f } },
        /* a prompt of one token, of two, and of the whole text */
        { POOL_MEAN, 1, { -2, 4 } },             { POOL_MAX, 1, { 1, 6 } },
        { POOL_WEIGHTED, 1, { -13 / 5.f, 22 / 5.f } }, { POOL_CLS, 1, { 3, -4 } },
        { POOL_LAST, 2, { -5, 6 } },             { POOL_MEAN, 3, { 0, 0 } },
        { POOL_LAST, 3, { 0, 0 } },              { POOL_MAX, 4, { -1e9f, -1e9f } },
    };
    VectorHead head = { .way[POOL_MEAN] = true, .without_prompt = true };
    for (size_t i = 0; i < COUNT(cases); i++) {
        float out[2];
        HeadRow row = { rows, 3, 2, cases[i].prompt, cases[i].way, NORMALIZE_OWN };
        head_apply(&head, &row, out);
        if (!CHECK(is_near(out, cases[i].wanted, 2))) printf("  case %zu\n", i);
        if (cases[i].prompt) continue;
        head_apply(NULL, &row, out); /* nothing is known of the model: the mean */
        CHECK(is_near(out, cases[i].wanted, 2));
    }
    float out[2];
    head.without_prompt = false;
    head_apply(&head, &(HeadRow){ rows, 3, 2, 2, POOL_OWN, NORMALIZE_OWN }, out);
    CHECK(is_near(out, cases[0].wanted, 2));
}

static void joins(void)
{
    TEST("joined ways and steps");
    float weight[16 * 4] = { 0 }, bias[16] = { 1, -2 }, out[8];
    for (int i = 0; i < 4; i++) weight[i * 16] = 1, weight[i * 16 + 1] = i == 3;
    VectorHead head = { .way[POOL_MAX] = true, .way[POOL_CLS] = true };
    HeadRow row = { rows, 3, 2, 0, POOL_OWN, NORMALIZE_OWN };
    CHECK(head_width(&head, POOL_OWN, 2) == 4 && head_width(&head, POOL_MEAN, 2) == 2);
    head_apply(&head, &row, out);
    CHECK(is_near(out, (float[]){ 3, -4, 3, 6 }, 4)); /* cls before max, whatever order was given */
    head.step[head.n++] = (HeadStep){ 4, 2, weight, bias, ACT_RELU };
    CHECK(head_width(&head, POOL_OWN, 2) == 2 && head_width(&head, POOL_MEAN, 2) == 0);
    head_apply(&head, &row, out);
    CHECK(is_near(out, (float[]){ 9, 4 }, 2));
    head.step[head.n++] = (HeadStep){ 0 };
    head_apply(&head, &row, out);
    CHECK(is_near(out, (float[]){ 9 / sqrtf(97), 4 / sqrtf(97) }, 2) && head_normalizes(&head));
    row.normalize = NORMALIZE_NO; /* only the last step */
    head_apply(&head, &row, out);
    CHECK(is_near(out, (float[]){ 9, 4 }, 2));
    Buf words = { 0 };
    head_describe(&head, &words);
    CHECK(str_is(buf_view(&words), "cls+max, dense 4 to 2 (relu), normalized"));
    buf_free(&words);
}

static void stores(void)
{
    TEST("stored");
    VectorHead *head;
    Err err = { 0 };
    uint64_t bias, bytes = head_bytes(4, 2, &bias);
    float *weights = arena_raw(&arena, bytes + 4);
    for (size_t i = 0; i < bytes / 4; i++) weights[i] = (float)i;
    VectorHead own = { .way[POOL_LAST] = true, .without_prompt = true, .n = 2 };
    own.step[0] = (HeadStep){ 4, 2, weights, weights + bias / 4, ACT_TANH };
    Value v = head_store(&arena, &own);
    CHECK(head_load(&arena, &v, (Str){ (char *)weights, bytes }, &head, &err));
    CHECK(head->way[POOL_LAST] && !head->way[POOL_MEAN] && head->without_prompt && head->n == 2);
    CHECK(head->step[0].weight == weights && head->step[0].bias == weights + bias / 4);
    CHECK(head->step[0].act == ACT_TANH && head_normalizes(head));
    memmove((char *)weights + 4, weights, bytes); /* a package in memory lies anywhere */
    CHECK(head_load(&arena, &v, (Str){ (char *)weights + 4, bytes }, &head, &err));
    CHECK((uintptr_t)head->step[0].weight % 64 == 0 && head->step[0].weight[5] == 5);
    CHECK(!head_load(&arena, &v, (Str){ (char *)weights, bytes - 1 }, &head, &err));
    CHECK(says(&err, "head: dense: found 319 bytes of weights, wanted 320"));
}

static void refused(void)
{
    TEST("refused");
    static const struct {
        const char *json, *words;
    } cases[] = {
        { "{}", "head: pooling: wanted a list" },
        { "{\"pooling\":\"mean\"}", "head: pooling: wanted a list" },
        { "{\"pooling\":[]}", "head: pooling: wanted a list" },
        { "{\"pooling\":[\"sum\"]}", "head: pooling: found \"sum\"" },
        { "{\"pooling\":[\"model\"]}", "head: pooling: found \"model\"" },
        { "{\"pooling\":[\"mean\"],\"steps\":[{\"dense\":[4]}]}", "two sizes" },
        { "{\"pooling\":[\"mean\"],\"steps\":[{\"dense\":[4,2]}]}", "known activation" },
        { "{\"pooling\":[\"mean\"],\"steps\":[{\"dense\":[4,-2],\"activation\":\"tanh\"}]}", "two sizes" },
        { "{\"pooling\":[\"mean\"],\"steps\":[{\"dense\":[1000000,1000000],\"activation\":\"tanh\"}]}",
          "found 0 bytes of weights" },
        { "{\"pooling\":[\"mean\"],\"steps\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}", "17 steps" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Value v;
        VectorHead *head;
        Err err = { 0 };
        CHECK(json_parse(&arena, str_of(cases[i].json), &v, &err));
        CHECK(!head_load(&arena, &v, (Str){ 0 }, &head, &err) && says(&err, cases[i].words));
    }
}

static void fits(void)
{
    TEST("a request's pooling and dimensions");
    static float weight[16 * 4];
    VectorHead head = { .way[POOL_MAX] = true, .way[POOL_CLS] = true, .n = 1,
                        .step = { { 4, 3, weight, NULL, ACT_NONE } } };
    ModelConfig c = { .hidden_size = 2, .head = &head, .vector_size = 3 };
    Err err = { 0 };
    CHECK(task_vector_fits(&c, &(TaskOptions){ .dimensions = 3 }, &err));
    CHECK(!task_vector_fits(&c, &(TaskOptions){ .dimensions = 4 }, &err) && says(&err, "wanted 1 to 3"));
    CHECK(!task_vector_fits(&c, &(TaskOptions){ .pooling = POOL_MEAN }, &err) &&
          says(&err, "pooling: found \"mean\", wanted \"model\": its dense layer"));
    c = (ModelConfig){ .graph_pools = true, .vector_size = 3 };
    CHECK(!task_vector_fits(&c, &(TaskOptions){ .pooling = POOL_CLS }, &err) && says(&err, "pooled already"));
    CHECK(task_vector_fits(&c, &(TaskOptions){ .dimensions = 3 }, &err));
}

int main(void)
{
    pools();
    joins();
    stores();
    refused();
    fits();
    arena_free(&arena);
    return finish();
}

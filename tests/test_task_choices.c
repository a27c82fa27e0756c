/* SPDX-License-Identifier: Apache-2.0
 * test_task_choices.c - multiple choice against transformers' models (tests/golden/multiple_choice, by
 * tools/oracle/choices.py): prompts with two to five choices in several scripts, some cut to the model's limit. */
#define GOLDEN "tests/golden/multiple_choice/"
#include "item_case.h"

static ItemModel models[] = { { .name = "bert" }, { .name = "roberta" } };
static int rows_seen, rows_cut;

static Value body_of(Arena *arena, const Value *row, size_t n)
{
    Value body = value_map(arena, 1), list = value_list(arena, n);
    for (size_t i = 0; i < n; i++) {
        Value one = list.list.items[i] = value_map(arena, 2);
        value_add(&one, "prompt", *value_get(row, "prompt"));
        value_add(&one, "choices", *value_get(row, "choices"));
        list.list.items[i] = one;
    }
    value_add(&body, "inputs", list);
    return body;
}

static double worst_of(const Value *found, const Value *wanted)
{
    double worst = 0;
    if (!found || found->kind != V_F32 || found->f32.n != wanted->list.n) return INFINITY;
    for (size_t i = 0; i < found->f32.n; i++)
        worst = fmax(worst, fabs((double)found->f32.p[i] - value_float(&wanted->list.items[i], NAN)));
    return worst;
}

/* By the reference's numbers; of equal choices padding makes one a little better there. */
static bool is_best(const Value *list, int64_t index)
{
    if (index < 0 || index >= (int64_t)list->list.n) return false;
    for (size_t i = 0; i < list->list.n; i++)
        if (value_float(&list->list.items[i], 0) > value_float(&list->list.items[index], 0) + 1e-5) return false;
    return true;
}

/* The same item twice, so that rows of several items share a run. */
static void compare_row(Arena *arena, const Value *row)
{
    ItemModel *m = item_model(models, COUNT(models), row);
    if (!m) return;
    Buf json = { .arena = arena };
    Value body = body_of(arena, row, 2);
    json_write(&json, &body);
    Job *job = item_run(m, buf_view(&json), NULL);
    for (size_t i = 0; i < 2; i++) {
        const Value *r = item_result(job, i), *choices = value_get(row, "choices");
        if (!CHECK(r)) {
            printf("  %s\n", job->work.err.message);
            break;
        }
        CHECK(worst_of(value_get(r, "logits"), value_get(row, "logits")) <= 1e-4);
        CHECK(worst_of(value_get(r, "scores"), value_get(row, "scores")) <= 1e-4);
        int64_t best = value_int(value_get(r, "predicted_index"), -1);
        CHECK(is_best(value_get(row, "logits"), best) &&
              str_eq(value_get(r, "predicted_choice")->s, choices->list.items[best].s));
        rows_cut += value_bool(value_get(r, "truncated"), false);
    }
    job_free(job);
    if (rows_seen++ % 5 == 0) item_same_in_proto(m, buf_view(&json), &body);
}

static const Refusal refused[] = {
    { "{\"inputs\":\"a text\"}", "inputs: found a string, wanted an object with prompt and choices" },
    { "{\"inputs\":[[\"a\",\"b\"]]}", "inputs[0]: found a list, wanted an object with prompt and choices" },
    { "{\"inputs\":{\"prompt\":\"a\"}}", "inputs[0].choices: found nothing" },
    { "{\"inputs\":{\"prompt\":\"a\",\"choices\":[]}}", "inputs[0].choices: found an empty list" },
    { "{\"inputs\":[{\"prompt\":\"a\",\"choices\":[\"b\",7]}]}",
      "inputs[0].choices[1]: found a number, wanted a string" },
    { "{\"inputs\":[{\"prompt\":\"\",\"choices\":[\"b\"]}]}", "inputs[0].prompt: Cannot tokenize empty" },
    { "{\"truncate\":false,\"inputs\":[{\"prompt\":\"a a a a a a a a a a a a a a a a a a a a a a a a a a a a "
      "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a\",\"choices\":[\"b\"]}]}",
      "tokens, wanted at most 64" },
};

int main(void)
{
    TEST("open");
    for (size_t i = 0; i < COUNT(models); i++) {
        if (!item_open(&models[i], GOLDEN)) continue;
        const char *why = NULL;
        if (!CHECK(engine_ragged(models[i].model->engine, &why))) printf("  %s: %s\n", models[i].name, why);
        CHECK(strcmp(models[i].model->task->name, "multiple_choice") == 0);
    }
    TEST("logits and scores");
    replay_lines(GOLDEN "choices.jsonl", compare_row);
    CHECK(rows_seen >= 20 && rows_cut > 0);
    TEST("bodies that cannot be used");
    if (models[0].session) items_refused(&models[0], refused, COUNT(refused));
    for (size_t i = 0; i < COUNT(models); i++) item_close(&models[i]);
    return finish();
}

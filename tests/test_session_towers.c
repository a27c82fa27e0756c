/* SPDX-License-Identifier: Apache-2.0
 * test_session_towers.c - a model with two graphs: rows name the one that runs them, rows of both are
 * in one run, and each result is that of its graph alone. The work here is made without a dialect:
 * the session needs none. */
#include "check.h"
#include "model/model.h"
#include "session/session.h"

enum { ITEMS = 9 };
#define QUERIES "tests/golden/question_answering/bert"
#define DOCUMENTS "tests/golden/strides/bert" /* with the same tokenizer */

static bool open_items(Session *s, Work *work)
{
    (void)s;
    work->item = ARRAY(&work->arena, Item, ITEMS);
    work->n = ITEMS;
    for (int i = 0; i < ITEMS; i++)
        work->item[i].first = str_of(str_format(&work->arena, "w%d the river %d", i, 10 - i));
    return true;
}

static void finish_nothing(Session *s, Pool *pool, Work **work, int n)
{
    (void)s, (void)pool, (void)work, (void)n;
}

static const SessionSteps steps = { open_items, finish_nothing };

/* Queries for the one graph, documents for the other. */
static bool prepare_towers(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    bool ok = prepare_text.prepare(call, item, out, err);
    out->row->graph = item->first.p[1] % 2;
    return ok;
}

static const Preparer towers = { "towers", prepare_towers };

static Work *run_items(const Model *model, const Preparer *preparer)
{
    Arena arena = { 0 };
    Work *work = NEW(&arena, Work);
    work_init(work, arena);
    work->preparer = preparer;
    Session *s = session_new(model, &(SessionOptions){ .threads = 2 }, &steps);
    session_run(s, work);
    session_free(s);
    return work;
}

static void free_work(Work *work)
{
    work_shrink(work);
    Arena arena = work->arena;
    arena.budget = NULL;
    arena_free(&arena);
}

static bool same_result(const TaskTensor *a, const TaskTensor *b)
{
    return a->tokens == b->tokens && a->width == b->width &&
           memcmp(a->data, b->data, (size_t)(a->tokens * a->width) * sizeof *a->data) == 0;
}

static void test_towers(Model *queries, Model *documents)
{
    TEST("two graphs");
    const Model *alone[2] = { queries, documents };
    Work *wanted[2];
    for (int g = 0; g < 2; g++) wanted[g] = run_items(alone[g], NULL);
    CHECK(model_graphs(queries) == 1);
    queries->second = documents->engine;
    CHECK(model_graphs(queries) == 2);
    Work *both = run_items(queries, &towers);
    queries->second = NULL;
    if (CHECK(both->err.code == EF_OK && both->rows == ITEMS))
        for (size_t r = 0; r < ITEMS; r++) {
            int graph = both->row[r].graph;
            CHECK(graph == (int)(r % 2));
            CHECK(same_result(work_result(both, r), work_result(wanted[graph], r)));
            CHECK(!same_result(work_result(both, r), work_result(wanted[!graph], r)));
        }
    free_work(both), free_work(wanted[0]), free_work(wanted[1]);
}

int main(void)
{
    Model *queries, *documents;
    Err err = { 0 };
    ModelOpen how = { .task = STR("embedding") };
    bool ok = CHECK(model_open_with(QUERIES, &how, &queries, &err)) &&
              CHECK(model_open_with(DOCUMENTS, &how, &documents, &err));
    if (!ok) printf("  %s\n", err.message);
    if (ok) test_towers(queries, documents);
    if (ok) model_close(queries), model_close(documents);
    return finish();
}

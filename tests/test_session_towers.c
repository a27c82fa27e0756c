/* SPDX-License-Identifier: Apache-2.0
 * test_session_towers.c - a model with two graphs: rows name the one that runs them, rows of both are
 * in one run, and each result is that of its graph alone. */
#include "session_rows.h"

enum { ITEMS = 9 };
#define QUERIES "tests/golden/question_answering/bert"
#define DOCUMENTS "tests/golden/strides/bert" /* with the same tokenizer */

/* Queries for the one graph, documents for the other. */
static bool prepare_towers(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    bool ok = prepare_text.prepare(call, item, out, err);
    out->row->graph = item->first.p[1] % 2;
    return ok;
}

static const Preparer towers = { "towers", prepare_towers };

static void test_towers(Model *queries, Model *documents)
{
    TEST("two graphs");
    const Model *alone[2] = { queries, documents };
    Work *wanted[2];
    for (int g = 0; g < 2; g++) wanted[g] = run_items(alone[g], NULL, ITEMS, 2);
    CHECK(model_graphs(queries) == 1);
    queries->second = documents->engine;
    CHECK(model_graphs(queries) == 2);
    Work *both = run_items(queries, &towers, ITEMS, 2);
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

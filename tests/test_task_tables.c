/* SPDX-License-Identifier: Apache-2.0
 * test_task_tables.c - the columns that every task has in a table: what engines and Parquet can take. */
#include "check.h"
#include "task/task.h"

static Err err;

/* Lists inside of lists are what Parquet's readers disagree about. */
static void check_rows(const Field *rows, bool inside)
{
    for (const Field *f = rows; f->name; f++) {
        const bool list = f->repeated || f->kind == F_STR_MAP || f->kind == F_NULL_STR_MAP || f->kind == F_INT_STR_MAP;
        if (!CHECK(f->kind != F_ANY && !(list && inside))) printf("  %s\n", f->name);
        CHECK(strcmp(f->name, "error") != 0 || inside);
        if (f->kind == F_MSG) check_rows(f->msg, inside || list);
    }
}

static void check_task(const Task *task)
{
    TEST(task->name);
    TaskTable table;
    const ModelConfig config = { .num_labels = 3 }, one = { .num_labels = 1 };
    CHECK(task_table(task, &config, NULL, &table, &err) && table.rows[0].name);
    check_rows(table.rows, false);
    CHECK(task_table(task, &one, NULL, &table, &err));
    if (strcmp(task->name, "sequence_classification") == 0)
        CHECK(strcmp(table.rows[0].name, "score") == 0 && !table.rows[1].name);
    for (const TaskTable *t = task->tables; t && t->rows; t++) {
        check_rows(t->rows, false);
        if (t->name) CHECK(task_table(task, &config, t->name, &table, &err) && table.rows == t->rows);
    }
    CHECK(!task_table(task, &config, "nonsense", &table, &err) && says(&err, "--results"));
}

int main(void)
{
    size_t n;
    const Task *const *all = task_all(&n);
    CHECK(n == 18);
    for (size_t i = 0; i < n; i++) check_task(all[i]);
    return finish();
}

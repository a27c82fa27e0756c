/* SPDX-License-Identifier: Apache-2.0
 * test_graph_growing.c - files of 2 KB whose values would take up to 2^42 bytes (tests/golden/growing, by
 * tools/oracle/growing.py): refused with the node that goes too far, before the memory is asked for. */
#include <dirent.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "engine/engine.h"

enum { SECONDS = 120 };

static bool open_graph(Arena *arena, const char *path, Graph **g, Err *err)
{
    OnnxModel *model = NEW(arena, OnnxModel);
    Str file;
    return file_read(arena, path, 1 << 20, &file, err) && onnx_read(arena, file, model, err) &&
           graph_from_onnx(arena, model, g, err);
}

/* Two of the three that double are left out here: it takes a second to fill 1 GiB. */
static bool fills_much(const char *name)
{
    return strcmp(name, "tile.onnx") == 0 || strcmp(name, "concat_constant.onnx") == 0;
}

/* As `onnx run` has it: all values stay. */
static void run_generic(const char *path)
{
    Arena arena = { 0 };
    Graph *g;
    Err err = { 0 };
    int64_t ids[] = { 1, 2, 3 };
    Named in = { STR("input_ids"), { .type = T_I64, .rank = 2, .dim = { 1, 3 }, .data = ids } }, out;
    if (CHECK(open_graph(&arena, path, &g, &err)))
        CHECK(!engine_run_generic(g, NULL, &in, 1, &arena, &out, &err) &&
              says(&err, "Model inference failed: node '") && says(&err, "found values of ") &&
              says(&err, "wanted at most 10737")); /* 1 GiB and a little */
    arena_free(&arena);
}

/* As texts are run. */
static void run_batch(const char *path)
{
    static const int32_t start[] = { 0, 3 }, ids[] = { 1, 2, 3 };
    Arena arena = { 0 };
    Graph *g;
    Engine *engine;
    Err err = { 0 };
    RowOutput out;
    bool ok = open_graph(&arena, path, &g, &err) && graph_optimize(g, false, &err) &&
              engine_new(&arena, g, &STR("last_hidden_state"), 1, &engine, &err);
    Runner *runner = ok ? runner_new(engine, NULL) : NULL;
    ok = ok && runner_run(runner, &(Batch){ 1, start, ids, NULL }, &out, &err);
    CHECK(!ok && says(&err, "node '") && says(&err, "wanted "));
    runner_free(runner);
    arena_free(&arena);
}

int main(void)
{
    static const char root[] = "tests/golden/growing";
    DIR *folder = opendir(root);
    char path[512];
    int files = 0;
    if (!CHECK(folder)) return finish();
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!str_ends(str_of(entry->d_name), ".onnx")) continue;
        snprintf(path, sizeof path, "%s/%.200s", root, entry->d_name);
        TEST(path);
        alarm(SECONDS);
        if (!fills_much(entry->d_name)) run_generic(path);
        run_batch(path);
        files++;
    }
    closedir(folder);
    CHECK(files == 7);
    return finish();
}

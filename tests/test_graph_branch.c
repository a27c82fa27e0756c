/* SPDX-License-Identifier: Apache-2.0
 * test_graph_branch.c - If, Loop and functions (tests/golden/graphs, with ONNX Runtime's answers): as they
 * are read, folded, fused, and written into a package and read back. And a text model whose branch
 * hangs on the length of its rows, through plans. */
#include <dirent.h>

#include "base/file.h"
#include "check.h"
#include "engine/engine.h"

typedef enum { READ, FOLDED, FUSED, WRITTEN, WAYS } Way;

typedef struct Case {
    Arena arena;
    const char *dir;
    OnnxModel model;
    Err err;
} Case;

static bool open_case(Case *c, const char *dir)
{
    Str bytes;
    *c = (Case){ .dir = dir };
    return file_read(&c->arena, path_join(&c->arena, dir, STR("model.onnx")), 1 << 24, &bytes,
                     &c->err) &&
           onnx_read(&c->arena, bytes, &c->model, &c->err);
}

static bool read_tensor(Case *c, int set, const char *kind, int index, Tensor *t)
{
    Str bytes;
    OnnxTensor found;
    const char *path =
        str_format(&c->arena, "%s/test_data_set_%d/%s_%d.pb", c->dir, set, kind, index);
    if (!file_read(&c->arena, path, 1 << 24, &bytes, &c->err)) return false;
    if (!onnx_read_tensor(&c->arena, bytes, &found, &c->err)) return false;
    *t = found.t;
    t->data = memcpy(arena_raw(&c->arena, tensor_bytes(t) + 1), found.t.data, tensor_bytes(t));
    return true;
}

static bool find_blob(void *context, Str location, Str *bytes, Err *err)
{
    (void)err;
    *bytes = *(Str *)context;
    return str_is(location, "panels");
}

static bool write_and_read(Case *c, const Graph *from, Graph **to)
{
    OnnxModel written, *back = NEW(&c->arena, OnnxModel);
    GraphWeights w;
    Buf bytes = { 0 };
    graph_to_onnx(from, &c->arena, &written, &w);
    onnx_write(&bytes, &written);
    Str copy = str_of(NULL), blob = { arena_raw(&c->arena, w.total + 1), w.total };
    copy = (Str){ memcpy(arena_raw(&c->arena, bytes.n), bytes.p, bytes.n), bytes.n };
    buf_free(&bytes);
    for (int i = 0; i < w.n; i++)
        memcpy((char *)blob.p + w.item[i].offset, w.item[i].data, w.item[i].bytes);
    return onnx_read(&c->arena, copy, back, &c->err) &&
           onnx_attach(back, find_blob, &blob, &c->err) &&
           graph_from_onnx(&c->arena, back, to, &c->err);
}

static bool make_graph(Case *c, Way way, Graph **g)
{
    if (!graph_from_onnx(&c->arena, &c->model, g, &c->err)) return false;
    if (way == FOLDED && !graph_optimize(*g, true, &c->err)) return false;
    if (way == FUSED && !graph_optimize(*g, false, &c->err)) return false;
    return way != WRITTEN || write_and_read(c, *g, g);
}

static bool same(const Tensor *a, const Tensor *b)
{
    bool equal = a->type == b->type && tensor_same_shape(a, b);
    for (int64_t i = 0; equal && i < tensor_count(a); i++)
        equal = fabs(tensor_get(a, i) - tensor_get(b, i)) <= 1e-5;
    return equal;
}

static void run_way(Case *c, Way way)
{
    Graph *g;
    Named in[4], out[4];
    for (int set = 0; dir_is(str_format(&c->arena, "%s/test_data_set_%d", c->dir, set)); set++) {
        bool ok = make_graph(c, way, &g) && CHECK(g->n_input <= 4 && g->n_output <= 4);
        for (int i = 0; ok && i < c->model.graph.n_in; i++) {
            in[i].name = c->model.graph.in[i].name;
            ok = read_tensor(c, set, "input", i, &in[i].t);
        }
        ok = ok &&
             engine_run_generic(g, NULL, in, (size_t)c->model.graph.n_in, &c->arena, out, &c->err);
        if (!CHECK(ok)) printf("  %s, way %d: %s\n", c->dir, way, c->err.message);
        for (int i = 0; ok && i < g->n_output; i++) {
            Tensor wanted;
            CHECK(read_tensor(c, set, "output", i, &wanted) && same(&out[i].t, &wanted));
        }
    }
}

/* Rows of one length at a time: the plan of each length takes its own branch. */
static void test_plans(const char *dir)
{
    TEST("plans");
    Case c;
    Graph *g;
    Engine *e;
    const char *why = NULL;
    CHECK(open_case(&c, dir) && make_graph(&c, FUSED, &g));
    CHECK(engine_new(&c.arena, g, &STR("y"), 1, &e, &c.err));
    CHECK(!engine_ragged(e, &why) && strstr(why, "If"));
    const int32_t ids[] = { 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 3, 2 }, start[] = { 0, 3, 6, 12 };
    const Batch batch = { .B = 3, .start = start, .ids = ids };
    RowOutput out[3];
    Runner *r = runner_new(e, NULL);
    if (CHECK(runner_run(r, &batch, out, &c.err))) {
        CHECK(out[0].tokens == 3 && out[0].width == 2 && out[0].data[1] == 4); /* 2 * 2 */
        CHECK(out[1].data[0] == 49 && out[2].tokens == 6 && out[2].data[5] == 0);
    } else {
        printf("  %s\n", c.err.message);
    }
    runner_free(r);
    arena_free(&c.arena);
}

/* A condition that stays true, and a list where one number is wanted. */
static void test_loops(const char *dir)
{
    TEST("loops");
    Case c;
    Graph *g;
    int64_t trips[2] = { INT64_MAX, 1 };
    float x[2] = { 0, 0 }, limit = 1;
    Named out[4], in[] = { { STR("trips"), { .type = T_I64, .data = trips } },
                           { STR("x"), { .type = T_F32, .rank = 1, .dim = { 2 }, .data = x } },
                           { STR("limit"), { .type = T_F32, .data = &limit } } };
    if (!CHECK(open_case(&c, dir) && make_graph(&c, FUSED, &g))) return;
    CHECK(!engine_run_generic(g, NULL, in, 3, &c.arena, out, &c.err) && says(&c.err, "over 65536 trips"));
    trips[0] = -1;
    CHECK(engine_run_generic(g, NULL, in, 3, &c.arena, out, &c.err) && out[1].t.dim[0] == 0);
    g->value[g->input[0]].t.rank = -1; /* as a file that leaves it open */
    in[0].t.rank = 1, in[0].t.dim[0] = 2;
    CHECK(!engine_run_generic(g, NULL, in, 3, &c.arena, out, &c.err) && says(&c.err, "found a list"));
    arena_free(&c.arena);
}

int main(void)
{
    static const char *const root = "tests/golden/graphs";
    Arena names = { 0 };
    DIR *d = opendir(root);
    TEST("ways");
    for (struct dirent *e; d && (e = readdir(d));) {
        Case c;
        if (e->d_name[0] == '.') continue;
        bool ok = open_case(&c, path_join(&names, root, str_of(e->d_name)));
        for (Way way = READ; CHECK(ok) && way < WAYS; way++) run_way(&c, way);
        arena_free(&c.arena);
    }
    if (d) closedir(d);
    CHECK(checks_passed > 50);
    test_plans("tests/golden/graphs/text_if");
    test_loops("tests/golden/graphs/loop");
    arena_free(&names);
    return finish();
}

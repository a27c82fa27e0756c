/* SPDX-License-Identifier: Apache-2.0
 * test_model_explore.c - what `explore` says of a model: parameters of every module and FLOPs of products as torch counts
 * them (tests/golden/explore, written by tools/oracle/explore.py), small graphs counted by hand, and names and files
 * that are meant to do harm. */
#include <unistd.h>

#include "data/json.h"
#include "graph_case.h"
#include "model/exploring.h"

static const Value *explore(Arena *arena, const char *path, int64_t length)
{
    Exploring x = { .path = path, .length = length };
    Value *root = NEW(arena, Value);
    Err err = { 0 };
    if (!CHECK(exploring_run(arena, &x, &err))) return printf("  %s\n", err.message), NULL;
    if (!CHECK(json_parse(arena, x.json, root, &err))) return printf("  %s\n", err.message), NULL;
    CHECK(str_is(value_str(value_get(root, "format"), (Str){ 0 }), EXPLORE_FORMAT));
    const Value *models = value_get(root, "models");
    return CHECK(models->list.n == 1) ? &models->list.items[0] : NULL;
}

static const Value *list_of(const Value *m, const char *key)
{
    return value_get(m, key);
}

static Str text_of(const Value *v, const char *key)
{
    return value_str(value_get(v, key), STR(""));
}

static const Value *find(const Value *list, const char *key, Str wanted)
{
    for (size_t i = 0; i < list->list.n; i++)
        if (str_eq(text_of(&list->list.items[i], key), wanted)) return &list->list.items[i];
    return NULL;
}

static int64_t total_of(const Value *m, const char *key)
{
    return (int64_t)value_float(value_get(value_get(m, "totals"), key), -1);
}

/* ---- torch's exporter, and what torch says ---- */
static void test_torch(void)
{
    TEST("a file of torch's dynamo exporter");
    Arena arena = { 0 };
    Err err;
    Str text;
    Value facts;
    CHECK(file_read(&arena, "tests/golden/explore/facts.json", 1 << 20, &text, &err) &&
          json_parse(&arena, text, &facts, &err));
    const Value *m = explore(&arena, "tests/golden/explore/model.onnx", value_int(value_get(&facts, "length"), 0));
    if (!m) return;
    CHECK(str_is(text_of(m, "tag_source"), "namespace") && list_of(m, "notes")->list.n == 0);
    const Value *modules = list_of(m, "modules"), *said = value_get(&facts, "parameters");
    int compared = 0;
    for (size_t i = 0; i < modules->list.n; i++) {
        const Value *one = &modules->list.items[i];
        const Value *wanted = value_get(said, str_dup(&arena, text_of(one, "scope")));
        CHECK(value_int(value_get(one, "parameters"), -1) == value_int(wanted, 0));
        compared += wanted != NULL;
    }
    CHECK(compared == 16); /* all but the two GELUs */
    double products = 0;
    const Value *nodes = list_of(m, "nodes");
    for (size_t i = 0; i < nodes->list.n; i++) {
        Str op = text_of(&nodes->list.items[i], "op");
        if (str_is(op, "MatMul") || str_is(op, "Gemm")) products += value_float(value_get(&nodes->list.items[i], "flops"), 0);
    }
    CHECK(products == value_float(value_get(&facts, "flops_of_products"), -1));
    arena_free(&arena);
}

/* Children before their parents' sums: every module has what its nodes and children have. */
static void check_sums(const Value *m)
{
    const Value *modules = list_of(m, "modules"), *nodes = list_of(m, "nodes"), *steps = list_of(m, "steps");
    for (size_t i = 0; i < modules->list.n; i++) {
        const Value *one = &modules->list.items[i];
        int64_t parameters = 0, count = 0;
        double us = 0;
        for (size_t k = 0; k < nodes->list.n; k++) {
            if (value_int(value_get(&nodes->list.items[k], "module"), -1) != (int64_t)i) continue;
            parameters += value_int(value_get(&nodes->list.items[k], "parameters"), 0);
            count++;
        }
        for (size_t k = 0; k < steps->list.n; k++)
            if (value_int(value_get(&steps->list.items[k], "module"), -1) == (int64_t)i)
                us += value_float(value_get(&steps->list.items[k], "us"), 0);
        for (size_t k = i + 1; k < modules->list.n; k++) {
            const Value *child = &modules->list.items[k];
            if (value_int(value_get(child, "parent"), -1) != (int64_t)i) continue;
            parameters += value_int(value_get(child, "parameters"), 0);
            count += value_int(value_get(child, "nodes"), 0);
            us += value_float(value_get(child, "us"), 0);
        }
        CHECK(parameters == value_int(value_get(one, "parameters"), -1));
        CHECK(count == value_int(value_get(one, "nodes"), -1));
        CHECK(fabs(us - value_float(value_get(one, "us"), 0)) < 0.5); /* each is rounded */
    }
}

static void test_sums(void)
{
    TEST("modules have what lies in them");
    Arena arena = { 0 };
    const Value *m = explore(&arena, "tests/golden/explore/model.onnx", 16);
    if (!m) return;
    check_sums(m);
    CHECK(list_of(m, "steps")->list.n > 10 && total_of(m, "us") > 0);
    CHECK(value_int(value_get(m, "length"), 0) == 16);
    const Value *input = find(list_of(m, "values"), "name", STR("input_ids"));
    const Value *shape = input ? value_get(input, "shape") : NULL;
    CHECK(shape && shape->list.n == 2 && str_is(shape->list.items[0].s, "batch") && str_is(shape->list.items[1].s, "sequence"));
    const Value *output = find(list_of(m, "values"), "name", STR("logits"));
    CHECK(output && value_get(output, "shape")->list.items[2].i == 3);
    /* a step made of a product and an activation is the product's */
    const Value *product = NULL, *nodes = list_of(m, "nodes"), *steps = list_of(m, "steps");
    for (size_t i = 0; i < nodes->list.n && !product; i++)
        if (str_is(text_of(&nodes->list.items[i], "op"), "Erf")) product = &nodes->list.items[i];
    const Value *step = product ? &steps->list.items[value_int(value_get(product, "step"), 0)] : NULL;
    const Value *main = step ? &nodes->list.items[value_int(value_get(step, "node"), 0)] : NULL;
    CHECK(main && str_is(text_of(main, "op"), "MatMul"));
    arena_free(&arena);
}

/* ---- graphs written here ---- */
static const char *save(GraphCase *c, const char *name)
{
    const char *path = str_format(&c->arena, "/tmp/explore-%d-%s.onnx", (int)getpid(), name);
    CHECK(onnx_save(&c->arena, path, &c->model, &c->err));
    return path;
}

/* A node that has the name of what it makes. */
static void named(GraphCase *c, const char *op, const char *in, const char *out)
{
    node(c, op, in, out)->name = str_of(out);
}

static void test_by_hand(void)
{
    TEST("counted by hand");
    GraphCase c = { 0 };
    case_begin(&c, 17);
    tokens(&c, 8);
    named(&c, "MatMul", "x w:8x16", "wide");
    named(&c, "Add", "wide b:16", "sum");
    named(&c, "Mul", "sum 0.5", "half"); /* a single number is no parameter */
    named(&c, "MatMul", "half v:16x4", "narrow");
    named(&c, "MatMul", "narrow u:4x4", "once");
    named(&c, "MatMul", "once u", "twice"); /* a weight that two nodes read counts once */
    output(&c, "twice");
    const char *path = save(&c, "hand");
    const Value *m = explore(&c.arena, path, 10);
    remove(path);
    if (!m) return;
    const Value *nodes = list_of(m, "nodes"), *wide = find(nodes, "name", STR("wide"));
    const Value *flops = wide ? value_get(wide, "flops") : NULL;
    CHECK(flops && value_float(flops, 0) == 2 * 10 * 8 * 16);
    CHECK(wide && value_int(value_get(wide, "parameters"), 0) == 8 * 16);
    const Value *half = find(nodes, "name", STR("half")), *once = find(nodes, "name", STR("once")),
                *twice = find(nodes, "name", STR("twice"));
    CHECK(half && !value_get(half, "parameters") && value_float(value_get(half, "flops"), 0) == 10 * 16);
    CHECK(once && value_int(value_get(once, "parameters"), 0) == 16);
    CHECK(twice && !value_get(twice, "parameters") && value_float(value_get(twice, "flops"), 0) == 2 * 10 * 4 * 4);
    check_sums(m);
    arena_free(&c.arena);
}

/* ---- harm ---- */
static void test_names(void)
{
    TEST("names of any bytes");
    GraphCase c = { 0 };
    case_begin(&c, 17);
    tokens(&c, 8);
    node(&c, "MatMul", "x w:8x8", "y");
    output(&c, "y");
    OnnxNode *last = &c.model.graph.node[c.model.graph.n_node - 1];
    last->name = STR("</script><script>alert(1)</script>\xff\xfe\"\\");
    last->meta = &(OnnxPair){ STR("hierarchy_tag"), STR("/<img src=x onerror=alert(1)>/\xc3") };
    last->n_meta = 1;
    const char *path = save(&c, "names");
    const Value *m = explore(&c.arena, path, 4);
    remove(path);
    if (!m) return;
    const Value *nodes = list_of(m, "nodes");
    const Str name = text_of(&nodes->list.items[nodes->list.n - 1], "name");
    CHECK(utf8_valid(name) && str_starts(name, "</script><script>alert(1)</script>\xef\xbf\xbd"));
    CHECK(find(list_of(m, "modules"), "name", STR("\xef\xbf\xbd")) != NULL);
    CHECK(find(list_of(m, "modules"), "name", STR("(no module)")) != NULL);
    arena_free(&c.arena);
}

static void test_does_not_run(void)
{
    TEST("a file that does not run here is shown");
    GraphCase c = { 0 };
    case_begin(&c, 17);
    tokens(&c, 8);
    node(&c, "MatMul", "x w:8x8", "y");
    node(&c, "NobodyKnowsThis", "y", "z");
    output(&c, "z");
    const char *path = save(&c, "unknown");
    const Value *m = explore(&c.arena, path, 4);
    remove(path);
    if (!m) return;
    const Value *notes = list_of(m, "notes");
    CHECK(notes->list.n >= 1 && memmem(notes->list.items[0].s.p, notes->list.items[0].s.n, "NobodyKnowsThis", 15));
    CHECK(find(list_of(m, "nodes"), "op", STR("NobodyKnowsThis")) != NULL);
    CHECK(list_of(m, "steps")->list.n == 0 && !value_get(m, "run"));
    arena_free(&c.arena);
}

static void test_too_large(void)
{
    TEST("more nodes than are shown");
    GraphCase c = { 0 };
    case_begin(&c, 17);
    tokens(&c, 8);
    output(&c, "x");
    OnnxGraph *g = &c.model.graph;
    const int many = EXPLORE_NODES + 1;
    OnnxNode *nodes = ARRAY(&c.arena, OnnxNode, many + g->n_node);
    memcpy(nodes, g->node, sizeof *nodes * (size_t)g->n_node);
    for (int i = 0; i < many; i++) {
        Str *names = ARRAY(&c.arena, Str, 2);
        names[0] = STR("x"), names[1] = str_of(str_format(&c.arena, "v%d", i));
        nodes[g->n_node + i] = (OnnxNode){ .op = STR("Identity"), .in = names, .out = names + 1, .n_in = 1, .n_out = 1 };
    }
    g->node = nodes, g->n_node += many;
    const char *path = save(&c, "large");
    Exploring x = { .path = path };
    Err err = { 0 };
    CHECK(!exploring_run(&c.arena, &x, &err) && says(&err, "nodes, wanted at most 65536"));
    remove(path);
    CHECK(!exploring_run(&c.arena, &(Exploring){ .path = "nowhere.onnx" }, &err) && says(&err, "nowhere.onnx"));
    arena_free(&c.arena);
}

int main(void)
{
    test_torch();
    test_sums();
    test_by_hand();
    test_names();
    test_does_not_run();
    test_too_large();
    return finish();
}

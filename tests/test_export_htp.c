/* SPDX-License-Identifier: Apache-2.0
 * test_export_htp.c - module tables: paths and tags that hooks over transformers 5 and 4 saw
 * (tests/golden/htp/modules.txt, written by tools/oracle/modules.py), against ours. */
#include "base/file.h"
#include "check.h"
#include "data/gzip.h"
#include "data/json.h"
#include "export/graphml.h"
#include "export/htp.h"

static Str line_of(Str *rest)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    Str line = { rest->p, end ? (size_t)(end - rest->p) : rest->n };
    size_t used = line.n + (end != NULL);
    rest->p += used, rest->n -= used;
    return line;
}

typedef struct Table {
    Arena arena;
    char version, model_type[32], class_name[64];
    OnnxGraph graph;        /* a node in each module */
    Str tag[64];
} Table;

static bool read_head(Str line, Table *t)
{
    char text[128];
    snprintf(text, sizeof text, "%.*s", STR_ARG(line));
    return sscanf(text, "= %c %31s %63s", &t->version, t->model_type, t->class_name) == 3;
}

/* "encoder.layer.0.output" to "/encoder/layer.0/output/Op" */
static Str node_name(Arena *arena, Str path)
{
    char *name = str_format(arena, "%s%.*s/Op", path.n ? "/" : "", STR_ARG(path));
    for (char *p = name; *p; p++)
        if (*p == '.' && (p[1] < '0' || p[1] > '9')) *p = '/';
    return str_of(name);
}

static void read_rows(Str *rest, Table *t)
{
    t->graph.node = ARRAY(&t->arena, OnnxNode, COUNT(t->tag));
    while (rest->n && rest->p[0] != '=') {
        Str line = line_of(rest);
        const char *tab = memchr(line.p, '\t', line.n);
        size_t n = (size_t)(tab - line.p);
        t->tag[t->graph.n_node] = (Str){ tab + 1, line.n - n - 1 };
        t->graph.node[t->graph.n_node++].name = node_name(&t->arena, (Str){ line.p, n });
    }
}

static bool check_table(Table *t)
{
    Err err;
    Value config;
    Htp h;
    const char *text = str_format(&t->arena, "{\"model_type\":\"%s\",\"architectures\":[\"%s\"]}",
                                  t->model_type, t->class_name);
    if (!json_parse(&t->arena, str_of(text), &config, &err)) return false;
    Builder *classes = htp_classes(&t->arena, &config, &t->graph);
    if (!classes) return false;
    classes->older_classes = t->version == '4';
    htp_by_names(&t->arena, &t->graph, classes, &h);
    bool same = true;
    for (int i = 0; i < t->graph.n_node; i++) {
        if (str_eq(h.tag[i], t->tag[i])) continue;
        printf("  transformers %c, %s: %.*s: found %.*s, wanted %.*s\n", t->version, t->class_name,
               STR_ARG(t->graph.node[i].name), STR_ARG(h.tag[i]), STR_ARG(t->tag[i]));
        same = false;
    }
    return same && h.n_module == t->graph.n_node;
}

static void test_tables(void)
{
    TEST("tags of every module");
    Arena arena = { 0 };
    Str text;
    Err err;
    if (!CHECK(file_read(&arena, "tests/golden/htp/modules.txt", 1 << 20, &text, &err))) return;
    for (int count = 0; text.n; count++) {
        Table t = { .arena = { 0 } };
        if (!CHECK(read_head(line_of(&text), &t))) break;
        read_rows(&text, &t);
        if (!CHECK(check_table(&t))) printf("  %c %s\n", t.version, t.class_name);
        arena_free(&t.arena);
    }
    arena_free(&arena);
}

/* Names are for readers: the hierarchy of our own export comes from the paths that its nodes were made under. */
static void test_builder(void)
{
    TEST("paths of the builder");
    static const Module modules[] = { { "encoder", "*Encoder" }, { "encoder.layer.#", "*Layer" }, { 0 } };
    static const struct { const char *path, *tag; } rows[] = {
        { "", "/BertModel" },
        { "encoder.layer.0.output", "/BertModel/BertEncoder/BertLayer.0" },
        { "encoder.layer.10", "/BertModel/BertEncoder/BertLayer.10" },
        { "encoder_1", "/BertModel" },
    };
    Arena arena = { 0 };
    Err err = { 0 };
    Builder b = { .arena = &arena, .err = &err, .base = "", .prefix = "", .modules = modules,
                  .family = "Bert", .root_class = "BertModel" };
    Str x = STR("x");
    Htp h;
    for (size_t i = 0; i < COUNT(rows); i++) x = NODE(&b, rows[i].path, "Relu", x);
    for (int i = 0; i < b.graph.n_node; i++) b.graph.node[i].name = STR("/any/name");
    htp_by_builder(&arena, &b, &h);
    for (size_t i = 0; i < COUNT(rows); i++)
        CHECK(str_is(h.scope[i], rows[i].path) && str_is(h.tag[i], rows[i].tag));
    arena_free(&arena);
}

static void test_patterns(void)
{
    TEST("patterns of tags");
    static const struct { const char *pattern, *tag; bool fits; } rows[] = {
        { "/A/B", "/A/B", true }, { "/A/B", "/A/B/C", true }, { "/A/B", "/A/Bc", false },
        { "B.0", "/A/B.0/C", true }, { "B.0", "/A/B.01", false }, { "B.*", "/A/B.7/C", true },
        { "A", "/A/B", true }, { "B/C", "/A/B/C/D", true }, { "/B", "/A/B", false },
        { "*GELU*", "/A/B/GELUActivation", true }, { "", "/A", false },
    };
    Arena arena = { 0 };
    for (size_t i = 0; i < COUNT(rows); i++)
        CHECK(htp_matches(&arena, str_of(rows[i].tag), rows[i].pattern) == rows[i].fits);
    arena_free(&arena);
}

static void test_limits(void)
{
    TEST("what is no tag");
    char deep[400];
    for (size_t i = 0; i < sizeof deep; i += 2) memcpy(deep + i, "/a", 2);
    CHECK(htp_tag_valid(STR("/A/B.0")) && !htp_tag_valid(STR("A")) && !htp_tag_valid(STR("/")));
    CHECK(!htp_tag_valid(STR("/A/")) && !htp_tag_valid(STR("/A//B")) && !htp_tag_valid(STR("")));
    CHECK(!htp_tag_valid((Str){ deep, sizeof deep }) && htp_tag_valid((Str){ deep, 60 }));
}

static bool keep_packed(void *context, const void *bytes, size_t n, Err *err)
{
    (void)err;
    buf_add(context, bytes, n);
    return true;
}

/* 100 KB that unpack to 100 MB: given up at 70, before anything reads them. */
static void test_bomb(void)
{
    TEST("a bomb as .onnxdata");
    static const char blank[1 << 20];
    Arena arena = { 0 };
    Buf packed = { 0 };
    Err err = { 0 };
    GraphmlImport in = { 0 };
    OnnxModel model;
    Gzip *gzip = gzip_open(&arena, GZIP_SMALL, keep_packed, &packed);
    for (int i = 0; i < 100; i++) gzip_add(gzip, (Str){ blank, sizeof blank }, &err);
    CHECK(gzip_close(gzip, &err) && packed.n < 200000);
    Str xml = STR("<graphml><graph id=\"G\"><data key=\"meta2\">1.3</data>"
                  "<data key=\"meta3\">t</data><data key=\"meta4\">[{\"domain\":\"\",\"version\":17}]</data>"
                  "<data key=\"param0\">sidecar</data><data key=\"io0\">[]</data>"
                  "<data key=\"io1\">[]</data></graph></graphml>");
    CHECK(!graphml_parse(&arena, xml, buf_view(&packed), &in, &model, &err));
    CHECK(says(&err, "parameters: gzip: found more than 7") && err.code == EF_TOO_LARGE);
    buf_free(&packed);
    arena_free(&arena);
}

int main(void)
{
    test_bomb();
    test_tables();
    test_builder();
    test_patterns();
    test_limits();
    return finish();
}

/* SPDX-License-Identifier: Apache-2.0
 * test_export.c - small checkpoints of transformers (tests/golden/export, written by
 * tools/oracle/export.py) exported at several opsets and run by our engine: PyTorch's answers. And
 * folders that are wrong in one way each. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "export/arch.h"
#include "export_case.h"
#include "folder.h"

#define PAGES "tests/golden/export_vision" /* what sees the page, too: test_export_vision.c */

static char work[] = "/tmp/ef-export-XXXXXX";

/* Names are there once, tags are whole or (clean) not there at all. */
static void check_names(const OnnxModel *m, bool tags)
{
    Arena arena = { 0 };
    Map seen = { 0 };
    for (int i = 0; i < m->graph.n_node; i++) {
        const OnnxNode *n = &m->graph.node[i];
        CHECK(n->name.n && n->name.p[0] == '/' && !map_get(&seen, n->name));
        map_put(&seen, &arena, n->name, (void *)n);
        CHECK(n->n_meta == tags);
        if (!tags) continue;
        Str tag = n->meta[0].value;
        CHECK(str_is(n->meta[0].key, "hierarchy_tag"));
        CHECK(tag.p[0] == '/' && tag.p[tag.n - 1] != '/');
    }
    arena_free(&arena);
}

static void answers(const char *name, int opset, bool clean)
{
    Case c = { 0 };
    Err err = { 0 };
    const char *dir = str_format(&c.arena, GOLDEN "/%s", name);
    Export e = { .model = dir, .opset = opset, .clean = clean };
    e.output = str_format(&c.arena, "%s/%s-%d", work, name, opset);
    bool ok = CHECK(load_case(&c, dir)) && export_all(&e, &err) && open_case(&c, e.onnx, &err);
    double worst = ok ? run_engine(&c, &err) : INFINITY;
    if (!CHECK(worst <= 1e-5))
        printf("  %s, opset %d: %g %s\n", name, opset, worst, err.message);
    if (ok) check_names(&c.model, !clean);
    CHECK(e.tagged == (clean ? 0 : e.nodes));
    file_unmap(&c.file);
    export_close(&e);
    arena_free(&c.arena);
}

/* No row of the exporter without a folder; models of pictures: test_export_vision.c. */
static void every_architecture(void)
{
    Arena arena = { 0 };
    TEST("every architecture");
    for (const Arch *const *a = architectures; *a; a++)
        if (!(*a)->write && !dir_is(str_format(&arena, PAGES "/%s", (*a)->model_type)) &&
            !CHECK(dir_is(str_format(&arena, GOLDEN "/%s", (*a)->model_type))))
            printf("  %s\n", (*a)->model_type);
    arena_free(&arena);
}

static int all_answers(void)
{
    int seen = 0;
    DIR *folder = opendir(GOLDEN);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        TEST(entry->d_name);
        seen++;
        for (int opset = 14; opset <= 21; opset++) answers(entry->d_name, opset, opset == 17);
    }
    if (folder) closedir(folder);
    return seen;
}

/* ---- weights beside the file, and the paths that are written ---- */
static void beside(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    OnnxModel m;
    Mapping file = { 0 };
    TEST("beside");
    Export e = { .model = GOLDEN "/bert", .most_inside = 1000 };
    e.output = str_format(&arena, "%s/beside/", work);
    CHECK(export_all(&e, &err));
    CHECK(file_is(path_join(&arena, e.target, STR("model.onnx_data"))));
    CHECK(file_map(e.onnx, &file, &err) && file.n < 60000);
    CHECK(onnx_read(&arena, (Str){ (const char *)file.p, file.n }, &m, &err));
    int outside = 0;
    for (int i = 0; i < m.graph.n_init; i++) outside += m.graph.init[i].location.n > 0;
    CHECK(outside > 20);
    file_unmap(&file);
    export_close(&e);
    arena_free(&arena);
}

static void paths(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    struct stat st;
    TEST("paths");
    Export e = { .model = GOLDEN "/bert", .output = str_format(&arena, "%s/a/b/x.onnx", work) };
    CHECK(export_all(&e, &err) && e.moved);
    CHECK(file_is(path_join(&arena, work, STR("a/b/x/model.onnx"))));
    CHECK(file_is(path_join(&arena, work, STR("a/b/x/config.json"))));
    CHECK(file_is(path_join(&arena, work, STR("a/b/x/export_metadata.json"))));
    CHECK(stat(e.onnx, &st) == 0 && (st.st_mode & 0777 & ~0022) == 0644);
    export_close(&e);
    Export bare = { .model = GOLDEN "/bert", .no_config = true,
                    .output = str_format(&arena, "%s/bare/y.onnx", work) };
    CHECK(export_all(&bare, &err) && file_is(bare.output) && bare.n_file == 1);
    CHECK(!file_is(path_join(&arena, work, STR("bare/config.json"))));
    export_close(&bare);
    arena_free(&arena);
}

/* Classes on the way to a module: the family's prefix anywhere, torch's own only if asked for. */
static void tags(void)
{
    Arena arena = { 0 };
    static const Module rows[] = { { "", "*Model" }, { "head", "Legacy*Head" },
                                   { "layer.#", "*Layer" }, { "layer.#.self", "*SelfAttention" },
                                   { "layer.#.act", "!" }, { 0 } };
    Builder b = { .arena = &arena, .base = "", .prefix = "", .modules = rows, .family = "Bert",
                  .root_class = "BertModel", .act_class = "GELUActivation" };
    TEST("tags");
    build_torch_module(&b, "layer.1.norm", "LayerNorm");
    build_torch_module(&b, "head.word_embeddings", "Embedding");
    CHECK(strcmp(build_tag(&b, ""), "/BertModel") == 0);
    CHECK(strcmp(build_tag(&b, "head.dense"), "/BertModel/LegacyBertHead") == 0);
    CHECK(strcmp(build_tag(&b, "layer.12.self.query"),
                 "/BertModel/BertLayer.12/BertSelfAttention") == 0);
    CHECK(strcmp(build_tag(&b, "layer.1.act"), "/BertModel/BertLayer.1/GELUActivation") == 0);
    CHECK(strcmp(build_tag(&b, "layer.1.norm"), "/BertModel/BertLayer.1") == 0);
    b.torch_modules = b.older_classes = true, b.act_class = NULL;
    CHECK(strcmp(build_tag(&b, "layer.1.norm"), "/BertModel/BertLayer.1/LayerNorm") == 0);
    CHECK(strcmp(build_tag(&b, "head.word_embeddings"),
                 "/BertModel/LegacyBertHead/word_embeddings") == 0);
    CHECK(strcmp(build_tag(&b, "layer.0.self"), "/BertModel/BertLayer.0/BertSdpaSelfAttention") == 0);
    CHECK(strcmp(build_tag(&b, "layer.1.act"), "/BertModel/BertLayer.1") == 0);
    arena_free(&arena);
}

/* ---- folders that are wrong ---- */
static const struct {
    const char *from, *to;  /* in config.json */
    const char *says;
} wrong[] = {
    { "\"bert\"", "\"gpt2\"", "found \"gpt2\", wanted bert, roberta" },
    { "\"hidden_size\": 24", "\"hidden_size\": 25", "does not divide" },
    { "\"hidden_size\": 24", "\"hidden_size\": 48", "found [61,24], wanted [61,48]" },
    { "\"hidden_size\": 24", "\"hidden_size\": -24", "wanted 1 to" },
    { "\"hidden_size\": 24", "\"hidden_size\": \"24\"", "wanted a whole number" },
    { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "layer.2.attention.self.query.weight" },
    { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 2000000000", "wanted 0 to" },
    { "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"softgelu\"", "softgelu" },
    { "\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": \"x\"", "layer_norm_eps" },
    { "\"vocab_size\": 61", "\"vocab_size\": 60", "wanted [60,24]" },
    { "\"is_decoder\": false", "\"is_decoder\": true", "wanted an encoder" },
    { "{", "[", "config.json" },
};

static Str replaced(Arena *arena, Str text, const char *from, const char *to)
{
    const char *at = memmem(text.p, text.n, from, strlen(from));
    if (!CHECK(at)) return text;
    Str rest = { at + strlen(from), (size_t)(text.p + text.n - at) - strlen(from) };
    return str_of(str_format(arena, "%.*s%s%.*s", (int)(at - text.p), text.p, to, STR_ARG(rest)));
}

static void refuses(Arena *arena, const char *folder, const char *task, const char *words)
{
    Err err = { 0 };
    Export e = { .model = folder, .output = str_format(arena, "%s/never", work), .task = task };
    CHECK(!export_all(&e, &err) && says(&err, words));
    CHECK(!dir_is(e.output)); /* nothing is written before all is known to be well */
    export_close(&e);
}

static void put(Arena *arena, const char *folder, const char *name, Str bytes)
{
    Err err;
    const char *path = path_join(arena, folder, str_of(name));
    CHECK(dir_make_parents(path, &err) && file_write(arena, path, bytes, &err));
}

static void wrong_folders(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Str config, weights;
    const char *folder = path_join(&arena, work, STR("wrong"));
    TEST("wrong");
    CHECK(file_read(&arena, GOLDEN "/bert/config.json", 1 << 20, &config, &err));
    CHECK(file_read(&arena, GOLDEN "/bert/model.safetensors", 1 << 24, &weights, &err));
    put(&arena, folder, "model.safetensors", weights);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        put(&arena, folder, "config.json", replaced(&arena, config, wrong[i].from, wrong[i].to));
        refuses(&arena, folder, NULL, wrong[i].says);
    }
    put(&arena, folder, "config.json", config);
    refuses(&arena, folder, "fill-mask", "cls.predictions.transform.dense.weight: not in");
    refuses(&arena, folder, "token-clasification", "did you mean token-classification");
    refuses(&arena, folder, "translation", "wanted auto");
    put(&arena, folder, "model.safetensors", (Str){ weights.p, weights.n - 1 });
    refuses(&arena, folder, NULL, "model.safetensors");
    unlink(path_join(&arena, folder, STR("model.safetensors")));
    refuses(&arena, folder, NULL, "neither model.safetensors");
    put(&arena, folder, "pytorch_model.bin", STR("x"));
    refuses(&arena, folder, NULL, "torch.save did not write");
    unlink(path_join(&arena, folder, STR("config.json")));
    refuses(&arena, folder, NULL, "config.json: not found");
    refuses(&arena, "/nowhere/at/all", NULL, "no such folder or file");
    refuses(&arena, GOLDEN "/bert/config.json", NULL, "wanted a folder");
    arena_free(&arena);
}

static void other_heads(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    TEST("other heads");
    Export e = { .model = GOLDEN "/bert", .task = "feature-extraction",
                 .output = str_format(&arena, "%s/headless", work) };
    CHECK(export_all(&e, &err) && strcmp(e.class_name, "BertModel") == 0);
    export_close(&e);
    Export ner = { .model = GOLDEN "/bert", .task = "ner",
                   .output = str_format(&arena, "%s/ner", work) };
    CHECK(export_all(&ner, &err) && strcmp(ner.task_name, "token-classification") == 0);
    export_close(&ner);
    arena_free(&arena);
}

/* ---- sentence-transformers ---- */
#define ROW(path, type) \
    "{\"path\": \"" path "\", \"type\": \"sentence_transformers.models." type "\"}"

static void sentence_folder(Arena *arena, const char *folder, const char *modules,
                            const char *pooling)
{
    static const char *const copied[] = { "config.json", "model.safetensors" };
    Err err;
    Str bytes;
    for (size_t i = 0; i < COUNT(copied); i++) {
        const char *from = str_format(arena, GOLDEN "/bert/%s", copied[i]);
        CHECK(file_read(arena, from, 1 << 24, &bytes, &err));
        put(arena, folder, copied[i], bytes);
    }
    put(arena, folder, "modules.json", str_of(modules));
    put(arena, folder, "1_Pooling/config.json", str_of(pooling));
}

static void sentences(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    OnnxModel m;
    Mapping file = { 0 };
    TEST("sentences");
    const char *folder = path_join(&arena, work, STR("sentence"));
    const char *mean = "{\"pooling_mode_mean_tokens\": true}";
    const char *three = "[" ROW("", "Transformer") "," ROW("1_Pooling", "Pooling") ","
                        ROW("2_Normalize", "Normalize") "]";
    sentence_folder(&arena, folder, three, mean);
    Export e = { .model = folder, .output = str_format(&arena, "%s/sentence-out", work) };
    if (!CHECK(export_all(&e, &err))) printf("  %s\n", err.message);
    CHECK(file_map(e.onnx, &file, &err));
    CHECK(onnx_read(&arena, (Str){ (const char *)file.p, file.n }, &m, &err));
    CHECK(m.graph.n_in == 2 && m.graph.n_out == 2);
    CHECK(str_is(m.graph.out[0].name, "token_embeddings"));
    CHECK(str_is(m.graph.out[1].name, "sentence_embedding") && m.graph.out[1].dim[1] == 24);
    CHECK(str_is(m.graph.node[0].meta[0].value,
                 "/SentenceTransformer/Transformer.0/BertModel/BertEmbeddings"));
    CHECK(file_is(path_join(&arena, e.target, STR("1_Pooling/config.json"))));
    file_unmap(&file);
    export_close(&e);
    Export plain = { .model = folder, .task = "feature-extraction",
                     .output = str_format(&arena, "%s/sentence-plain", work) };
    CHECK(export_all(&plain, &err) && strcmp(plain.class_name, "BertModel") == 0);
    export_close(&plain);
    sentence_folder(&arena, folder, three, "{\"pooling_mode_mean_tokens\": false}");
    refuses(&arena, folder, NULL, "no way of pooling");
    sentence_folder(&arena, folder, "[" ROW("", "Transformer") "," ROW("1", "Magic") "]", mean);
    refuses(&arena, folder, NULL, "Magic");
    sentence_folder(&arena, folder, "[" ROW("", "Transformer") "," ROW("..", "Pooling") "]", mean);
    refuses(&arena, folder, NULL, "leaves the folder");
    sentence_folder(&arena, folder, "[" ROW("", "Transformer") "," ROW("2", "Dense") "]", mean);
    refuses(&arena, folder, NULL, "config.json");
    sentence_folder(&arena, folder, "[" ROW("", "Transformer") "]", mean);
    refuses(&arena, folder, NULL, "then Pooling");
    arena_free(&arena);
}

/* A folder of the Hub's cache is called as the model is there. */
static void cached(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    TEST("cached");
    char here[4096];
    const char *hub = path_join(&arena, work, STR("hub"));
    CHECK(getcwd(here, sizeof here));
    put(&arena, hub, "models--me--tiny/snapshots/x", STR(""));
    const char *model = path_join(&arena, hub, STR("models--me--tiny/snapshots/abc"));
    CHECK(symlink(str_format(&arena, "%s/" GOLDEN "/bert", here), model) == 0);
    Export e = { .model = model, .output = str_format(&arena, "%s/cached", work) };
    if (!CHECK(export_all(&e, &err))) printf("  %s\n", err.message);
    Str onnx;
    CHECK(file_read(&arena, e.onnx, 1 << 26, &onnx, &err) && memmem(onnx.p, onnx.n, "me/tiny", 7));
    export_close(&e);
    refuses(&arena, "me/other", NULL, "called ORG/NAME or hf:NAME");
    arena_free(&arena);
}

int main(void)
{
    if (!CHECK(mkdtemp(work))) return finish();
    TEST("all");
    CHECK(all_answers() >= 6);
    every_architecture();
    beside();
    paths();
    tags();
    wrong_folders();
    other_heads();
    sentences();
    cached();
    remove_tree(work);
    return finish();
}

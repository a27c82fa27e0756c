/* SPDX-License-Identifier: Apache-2.0
 * test_api.c - encoderfile.h as a program uses it, on the bundled model; run it from the root. */
#include <unistd.h>

#include "base/file.h"
#include "check.h"

static const char model_path[] = "examples/bus-ner";
static const char text[] = "AC sleeper bus from Bangalore to Mumbai tomorrow";

static void describe(const ef_model *m)
{
    TEST("describe");
    const ef_info *info = ef_describe(m);
    CHECK(strcmp(info->task, "token_classification") == 0 && strcmp(info->version, "0.1.0") == 0);
    CHECK(info->label_count > 0 && info->labels && info->labels[0][0]);
    CHECK(info->max_tokens > 0 && info->kernels[0] && info->hidden > 0);
    CHECK(strlen(ef_version()) > 0);
}

static void predict(ef_model *m)
{
    TEST("predict");
    ef_error err = { 0 };
    ef_input in[] = { ef_text(text), ef_text("from Pune") };
    ef_reply *r = ef_predict(m, in, 2, "{\"offsets\":\"chars\"}", &err);
    if (!CHECK(r != NULL)) return;
    CHECK(strstr(ef_reply_json(r), "{\"results\":[") == ef_reply_json(r));
    CHECK(strstr(ef_reply_json(r), "B-SRC") != NULL);
    ef_tensor t, alone;
    CHECK(ef_reply_tensor(r, 0, &t) && t.rank == 2 && t.dim[1] == ef_describe(m)->label_count);
    CHECK(ef_reply_tensor(r, 1, &t) && !ef_reply_tensor(r, 2, &alone));
    TEST("alone and in company");
    ef_reply *one = ef_predict(m, in + 1, 1, NULL, &err);
    CHECK(one && ef_reply_tensor(one, 0, &alone) && alone.dim[0] == t.dim[0]);
    CHECK(memcmp(alone.data, t.data, sizeof(float) * (size_t)(t.dim[0] * t.dim[1])) == 0);
    ef_reply_free(one);
    ef_reply_free(r);
}

static void wrong_inputs(ef_model *m)
{
    TEST("wrong inputs");
    ef_error err = { 0 };
    ef_input empty = ef_text(""), broken = ef_text("\xff"), missing = { .kind = EF_TEXT };
    CHECK(!ef_predict(m, &empty, 1, NULL, &err) && err.code == EF_INVALID_INPUT);
    CHECK(!ef_predict(m, &broken, 1, NULL, &err) && says(&err, "UTF-8"));
    CHECK(!ef_predict(m, &missing, 1, NULL, &err) && says(&err, "found no text"));
    CHECK(!ef_predict(m, &empty, 1, "{", &err) && says(&err, "params_json"));
    CHECK(!ef_predict(m, &empty, 0, NULL, NULL));
    CHECK(!ef_open("nowhere", NULL, &err) && says(&err, "nowhere"));
    CHECK(!ef_open("nowhere", NULL, NULL));
    CHECK(!ef_open(NULL, NULL, &err) && says(&err, "Not a valid encoderfile"));
    CHECK(!ef_open(model_path, &(ef_options){ .kernels = "abacus" }, &err) && says(&err, "abacus"));
}

static void tokens(ef_model *m)
{
    TEST("tokens");
    ef_error err = { 0 };
    size_t n = 0;
    ef_tokens *t = ef_tokenize(m, text, strlen(text), &err);
    if (!CHECK(t != NULL)) return;
    const int32_t *ids = ef_tokens_ids(t, &n), *offsets = ef_tokens_offsets(t);
    CHECK(n > 3 && ids[0] != ids[1]);
    CHECK(strcmp(ef_tokens_text(t, 0), "[CLS]") == 0 && offsets[0] == 0 && offsets[1] == 0);
    CHECK(offsets[2] == 0 && offsets[3] >= 2 && !ef_tokens_text(t, n));
    const uint8_t *special = ef_tokens_special(t);
    CHECK(special[0] == 1 && special[1] == 0 && special[n - 1] == 1);
    CHECK(ef_tokens_type_ids(t)[1] == 0 && ef_tokens_text(t, 1) == ef_tokens_text(t, 1));
    ef_tokens_free(t);
    CHECK(!ef_tokenize(m, "\xff", 1, &err) && says(&err, "UTF-8"));
}

/* The same package, once mapped from its file and once from memory, at an odd address. */
static void from_memory(const char *path)
{
    TEST("from memory");
    ef_error err = { 0 };
    ef_input in = ef_text(text);
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(64 << 20);
    size_t n = file ? fread(bytes + 1, 1, (64 << 20) - 1, file) : 0;
    if (file) fclose(file);
    ef_model *mapped = ef_open(path, NULL, &err), *held = ef_open_memory(bytes + 1, n, NULL, &err);
    if (CHECK(mapped && held)) {
        ef_reply *a = ef_predict(mapped, &in, 1, NULL, &err), *b = ef_predict(held, &in, 1, NULL, &err);
        CHECK(a && b && strcmp(ef_reply_json(a), ef_reply_json(b)) == 0);
        ef_reply_free(a), ef_reply_free(b);
    }
    ef_close(mapped), ef_close(held);
    CHECK(!ef_open_memory(bytes + 1, n / 2, NULL, &err) && says(&err, "Not a valid encoderfile"));
    CHECK(!ef_open_memory(NULL, 0, NULL, &err) && says(&err, "Not a valid encoderfile"));
    free(bytes);
}

static void toolchain(ef_model *m)
{
    TEST("build");
    ef_error err = { 0 };
    char path[] = "/tmp/ef-api-XXXXXX";
    int fd = mkstemp(path), stop = 1;
    if (fd >= 0) close(fd);
    CHECK(ef_build("examples/bus-ner/config.yml", path, &err));
    ef_model *built = ef_open(path, &(ef_options){ .threads = 1 }, &err);
    CHECK(built && strcmp(ef_describe(built)->name, "bus-ner") == 0);
    ef_close(built);
    from_memory(path);
    unlink(path);
    CHECK(!ef_build("nowhere.yml", NULL, &err) && says(&err, "config not found"));
    TEST("serve");
    CHECK(ef_serve(m, "{\"http-hostname\":\"127.0.0.1\",\"http-port\":0}", &stop, &err));
    CHECK(!ef_serve(m, "{\"http-port\":70000}", &stop, &err) && says(&err, "http-port"));
    CHECK(!ef_serve(m, "{\"prot\":1}", &stop, &err) && says(&err, "unknown setting"));
    CHECK(!ef_serve(m, "{\"threads\":1}", &stop, &err) && says(&err, "open already"));
}

/* config.json of any model may carry LABEL_0 and LABEL_1. */
static void embeddings_have_no_labels(void)
{
    TEST("labels of an embedding");
    static const char *const files[] = { "model.onnx", "tokenizer.json" };
    ef_error err = { 0 };
    Arena a = { 0 };
    char dir[] = "/tmp/ef-api-XXXXXX", *root = realpath("../shared/fixtures/dummy/embedding", NULL);
    if (!root) return (void)SKIP("no ../shared/fixtures");
    const char *config = mkdtemp(dir) ? path_join(&a, dir, STR("config.json")) : "";
    CHECK(file_write(&a, config, STR("{\"model_type\":\"bert\",\"id2label\":{\"0\":\"LABEL_0\"},"
                                     "\"architectures\":[\"BertModel\"]}"), &err));
    for (size_t i = 0; i < COUNT(files); i++)
        CHECK(symlink(path_join(&a, root, str_of(files[i])), path_join(&a, dir, str_of(files[i]))) == 0);
    ef_model *m = ef_open(dir, NULL, &err);
    CHECK(m && ef_describe(m)->label_count == 0 && !ef_describe(m)->labels);
    ef_close(m);
    for (size_t i = 0; i < COUNT(files); i++) unlink(path_join(&a, dir, str_of(files[i])));
    unlink(config), rmdir(dir);
    free(root);
    arena_free(&a);
}

int main(void)
{
    ef_error err = { 0 };
    ef_model *m = ef_open(model_path, NULL, &err);
    if (!CHECK(m != NULL)) return printf("  %s\n", err.message), finish();
    describe(m);
    predict(m);
    wrong_inputs(m);
    tokens(m);
    toolchain(m);
    ef_close(m);
    embeddings_have_no_labels();
    ef_close(NULL), ef_reply_free(NULL), ef_tokens_free(NULL);
    return finish();
}

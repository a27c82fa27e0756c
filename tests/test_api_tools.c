/* SPDX-License-Identifier: Apache-2.0
 * test_api_tools.c - the tools as a C program calls them,
 * on the bundled model; run it from the root. */
#include <locale.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "data/json.h"
#include "folder.h"

static const char bus[] = "examples/bus-ner";
static char work[] = "/tmp/ef-tools-XXXXXX";
static Arena arena;

static const char *in_work(const char *name)
{
    return path_join(&arena, work, str_of(name));
}

/* A tool's report, which it takes; null where the tool failed. */
static Value report_of(char *text)
{
    Value v = value_null();
    Err err = { 0 };
    if (!text) return v;
    CHECK(json_parse(&arena, str_of(str_dup(&arena, str_of(text))), &v, &err) && v.kind == V_MAP);
    ef_string_free(text);
    return v;
}

static bool is_true(const Value *v, const char *key)
{
    return value_bool(value_get(v, key), false);
}

static Str text_at(const Value *v, const char *key)
{
    return value_str(value_get(v, key), STR(""));
}

static bool lists(const Value *v, const char *key, const char *name)
{
    const Value *list = value_get(v, key);
    for (size_t i = 0; list && list->kind == V_LIST && i < list->list.n; i++)
        if (str_is(value_str(&list->list.items[i], STR("")), name)) return true;
    return false;
}

static int64_t total_size(const Value *v)
{
    const Value *files = value_get(v, "files");
    int64_t sum = 0;
    for (size_t i = 0; files && i < files->list.n; i++)
        sum += value_int(value_get(&files->list.items[i], "size"), -1);
    return sum;
}

static void exports(void)
{
    TEST("export: the report, with what was written, copied and missing");
    ef_error err = { 0 };
    const char *out = in_work("onnx");
    Value v = report_of(ef_export(bus, out, "{\"quantize\": true, \"task\": \"ner\", \"opset\": 17, "
                                  "\"verify\": true, \"texts\": [\"from Pune to Goa\"]}", &err));
    if (v.kind != V_MAP) printf("  %s\n", err.message);
    CHECK(str_is(text_at(&v, "task"), "token-classification"));
    CHECK(value_int(value_get(&v, "opset"), 0) == 17);
    CHECK(lists(&v, "written", "model.onnx") && lists(&v, "written", "model_quantized.onnx"));
    CHECK(lists(&v, "copied", "config.json") && lists(&v, "copied", "vocab.txt"));
    CHECK(!lists(&v, "written", "config.json") && !lists(&v, "copied", "model.onnx"));
    CHECK(value_get(&v, "missing")->list.n == 0 && value_get(&v, "warnings")->list.n == 0);
    CHECK(value_int(value_get(&v, "bytes"), 0) == total_size(&v) && total_size(&v) > 2000000);
    CHECK(value_float(value_get(&v, "seconds"), 0) > 0);
    CHECK(value_get(value_get(&v, "quantized"), "accuracy") != NULL);
    const Value *verified = value_get(&v, "verification"), *results = value_get(verified, "results");
    CHECK(is_true(verified, "ok") && results && results->list.n == 1);
    CHECK(file_is(path_join(&arena, out, STR("model.onnx"))));
    TEST("export: a folder without a tokenizer says what is missing");
    v = report_of(ef_export(bus, in_work("plain"), "{\"no-tokenizer\": true}", &err));
    CHECK(lists(&v, "missing", "tokenizer.json") && !lists(&v, "missing", "config.json"));
}

static void export_refusals(void)
{
    TEST("export: what is refused, and writes nothing");
    static const char *const wrong[][2] = {
        { "{\"opset\": 3}", "options: --opset: found \"3\", wanted a number from 14 to 21" },
        { "{\"opset\": \"new\"}", "--opset: found \"new\"" },
        { "{\"opest\": 17}", "unknown key \"opest\": did you mean \"opset\"" },
        { "{\"opset\": 17.5}", "--opset: found 17.5, wanted a whole number" },
        { "{\"task\": 3}", "--task: found a number, wanted a text" },
        { "{\"task\": \"ner\\u0000r\"}", "--task: found a zero byte in \"ner" },
        { "{\"opset\": true}", "--opset: found a boolean, wanted a number" },
        { "{\"clean-onnx\": \"maybe\"}", "--clean-onnx: found \"maybe\", wanted true or false" },
        { "{\"clean-onnx\": [1]}", "--clean-onnx: found a list, wanted true or false" },
        { "{\"no-tokenizer\": true, \"tokenizer\": \"x\"}", "--no-tokenizer: found --tokenizer beside it" },
        { "{\"tokenizer\": \"nowhere\", \"no-tokenizer\": false}", "nowhere" },
        { "{\"json\": true}", "unknown key \"json\"" },
        { "{\"quantize\": \"sse\"}", "wanted avx512_vnni" },
        { "{\"static-shapes\": \"1x2\"}", "--static-shapes: found \"1x2\"" },
        { "{\"optimize\": \"O9\"}", "wanted O1, O2 or O3" },
        { "{\"texts\": [\"a\"]}", "wanted --verify" },
        { "{\"texts\": \"a\", \"verify\": true}", "texts: found a string, wanted a list of texts" },
        { "{\"include-tokenizer\": true, \"no-include-tokenizer\": true}", "not both" },
        { "[]", "options: found a list, wanted an object" },
        { "{", "options: " },
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        ef_error err = { 0 };
        CHECK(!ef_export(bus, in_work("none"), wrong[i][0], &err));
        if (!CHECK(says(&err, wrong[i][1]))) printf("  %s: %s\n", wrong[i][0], err.message);
    }
    ef_error err = { 0 };
    CHECK(!ef_export(bus, "", NULL, &err) && says(&err, "found no name of an output"));
    CHECK(!dir_is(in_work("none")));
    CHECK(!ef_export("nowhere", in_work("none"), NULL, &err) && err.code == EF_NOT_FOUND);
    CHECK(!ef_export(NULL, in_work("none"), NULL, &err) && !ef_export(bus, NULL, NULL, NULL));
}

static void quantizes(void)
{
    TEST("quantize: beside the model, and into a folder of its own");
    ef_error err = { 0 };
    Value v = report_of(ef_quantize(in_work("onnx"), NULL, NULL, &err));
    CHECK(str_ends(text_at(&v, "output"), "onnx/model_quantized.onnx"));
    CHECK(value_float(value_get(value_get(&v, "accuracy"), "worst_cosine"), 0) > 0.9);
    v = report_of(ef_quantize(in_work("onnx/model.onnx"), in_work("half"),
                              "{\"dtype\": \"fp16\", \"no-report\": true}", &err));
    CHECK(str_is(text_at(&v, "target"), "fp16") && !value_get(&v, "accuracy"));
    CHECK(file_is(in_work("half/config.json")) && file_is(in_work("half/model_quantized.onnx")));
    v = report_of(ef_quantize(in_work("onnx"), in_work("avx2.onnx"), "{\"avx2\": true}", &err));
    CHECK(str_is(text_at(&v, "target"), "avx2") && file_is(in_work("avx2.onnx")));
    CHECK(!ef_quantize(in_work("onnx"), NULL, "{\"dtype\": \"int4\"}", &err) && says(&err, "int8, fp16"));
    CHECK(!ef_quantize(in_work("onnx"), NULL, "{\"dtype\": \"fp16\", \"avx2\": true}", &err));
    CHECK(says(&err, "found options of int8"));
    CHECK(!ef_quantize(in_work("gone"), NULL, NULL, &err) && err.code == EF_NOT_FOUND);
    CHECK(!ef_quantize(in_work("onnx/model.onnx"), in_work("onnx/model.onnx"), NULL, &err) &&
          says(&err, "an input is never replaced"));
}

static void verifies(void)
{
    TEST("verify");
    ef_error err = { 0 };
    static const char *const none[] = { "{\"texts\": null}", "{\"texts\": false, \"task\": null}" }; /* as if not there */
    for (size_t i = 0; i < COUNT(none); i++) {
        char *report = ef_verify(in_work("onnx"), none[i], &err);
        CHECK(report);
        ef_string_free(report);
    }
    Value v = report_of(ef_verify(in_work("onnx"), "{\"texts\": [\"AC bus from Pune to Goa\"]}", &err));
    const Value *results = value_get(&v, "results");
    CHECK(is_true(&v, "ok") && str_is(text_at(&v, "task"), "token_classification"));
    CHECK(results && results->list.n == 1 && value_get(&v, "quantized"));
    v = report_of(ef_verify(bus, NULL, &err));
    CHECK(is_true(&v, "ok") && value_get(&v, "results")->list.n == 2);
    CHECK(!ef_verify(in_work("onnx"), "{\"golden\": \"docs\"}", &err) && says(&err, "found no output.npy"));
    CHECK(!ef_verify(in_work("onnx"), "{\"task\": \"fill-mask\"}", &err));
    CHECK(!ef_verify("nowhere", NULL, &err) && !ef_verify(NULL, NULL, &err));
}

static void validates(void)
{
    TEST("validate: a file, a folder, and what is wrong is a report");
    ef_error err = { 0 };
    Value v = report_of(ef_validate(in_work("onnx/model.onnx"),
                                    "{\"check-consistency\": true, \"check-metadata\": true}", &err));
    CHECK(is_true(&v, "valid") && is_true(value_get(&v, "consistency"), "consistent"));
    CHECK(value_get(&v, "metadata_problems")->list.n == 0 && value_get(&v, "written")->list.n == 0);
    CHECK(total_size(&v) == value_int(value_get(&v, "bytes"), 0) && total_size(&v) > 1700000);
    CHECK(value_float(value_get(&v, "seconds"), 0) > 0);
    v = report_of(ef_validate(in_work("onnx"), NULL, &err));
    CHECK(is_true(&v, "compatible") && is_true(value_get(&v, "program"), "runs"));
    CHECK(value_get(&v, "files")->list.n >= 5 && value_get(&v, "missing")->list.n == 0);
    CHECK(total_size(&v) == value_int(value_get(&v, "bytes"), 0));
    v = report_of(ef_validate("docs", NULL, &err));
    CHECK(v.kind == V_MAP && !is_true(&v, "compatible") && lists(&v, "missing", "model.onnx"));
    v = report_of(ef_validate(in_work("avx2.onnx"), "{\"check-consistency\": true}", &err));
    CHECK(lists(&v, "missing", "sidecar"));
    CHECK(!ef_validate(in_work("onnx"), "{\"repair\": true}", &err) && says(&err, "found a folder"));
    CHECK(!ef_validate("nowhere.onnx", NULL, &err) && !ef_validate("CHANGELOG.md", NULL, &err));
    TEST("validate: repair");
    CHECK(report_of(ef_export(bus, in_work("clean"), "{\"clean-onnx\": true}", &err)).kind == V_MAP);
    v = report_of(ef_validate(in_work("clean/model.onnx"), "{\"repair\": true}", &err));
    CHECK(value_int(value_get(&v, "repaired"), 0) > 100 &&
          lists(&v, "written", in_work("clean/model.onnx")));
    v = report_of(ef_validate(in_work("clean/model.onnx"), NULL, &err));
    CHECK(value_int(value_get(&v, "tagged_nodes"), 0) == value_int(value_get(&v, "total_nodes"), 1));
}

static void compares(void)
{
    TEST("compare and metadata");
    ef_error err = { 0 };
    Value v = report_of(ef_compare(in_work("onnx/model.onnx"), in_work("onnx/model_quantized.onnx"), &err));
    CHECK(value_get(&v, "tag_differences") && value_get(&v, "tag_differences")->list.n > 0);
    CHECK(!ef_compare(in_work("onnx/model.onnx"), "nowhere.onnx", &err) && says(&err, "nowhere"));
    CHECK(!ef_compare(NULL, NULL, NULL));
    v = report_of(ef_explore(in_work("onnx/model.onnx"), in_work("onnx/model_quantized.onnx"), "{\"length\": 16}", &err));
    CHECK(value_get(&v, "models") && value_get(&v, "models")->list.n == 2);
    CHECK(value_int(value_get(&value_get(&v, "models")->list.items[1], "length"), 0) == 16);
    CHECK(!ef_explore(in_work("onnx/model.onnx"), "nowhere.onnx", NULL, &err) && says(&err, "nowhere"));
    CHECK(!ef_explore(in_work("onnx/model.onnx"), NULL, "{\"length\": 0}", &err) && says(&err, "--length"));
    CHECK(!ef_explore(NULL, NULL, NULL, &err) && says(&err, "found no path"));
    v = report_of(ef_metadata(in_work("onnx/model.onnx"), &err));
    CHECK(str_is(text_at(&v, "pipeline_task"), "token-classification"));
    CHECK(!ef_metadata("tests/golden/nowhere.onnx", &err) && !ef_metadata(NULL, &err));
    CHECK(report_of(ef_export(bus, in_work("bare"), "{\"no-embed-metadata\": true}", &err)).kind == V_MAP);
    CHECK(!ef_metadata(in_work("bare/model.onnx"), &err) && says(&err, "no usable metadata"));
}

static void inspects(void)
{
    TEST("inspect");
    ef_error err = { 0 };
    const char *package = in_work("bus.encoderfile");
    Value v = report_of(ef_inspect(bus, NULL, &err));
    CHECK(str_is(text_at(value_get(&v, "encoderfile_config"), "model_type"), "token_classification"));
    CHECK(value_get(&v, "graph") && value_get(&v, "tokenizer") && !value_get(&v, "package"));
    CHECK(!ef_inspect(bus, "{\"verify\": true}", &err) && says(&err, "no package"));
    CHECK(!ef_inspect(bus, "{\"verfy\": true}", &err) && says(&err, "did you mean \"verify\"?"));
    CHECK(!ef_inspect("nowhere", NULL, &err) && !ef_inspect(NULL, NULL, &err) && says(&err, "found no path"));
    TEST("build: a model, with options");
    v = report_of(ef_build(bus, package, "{\"base-binary-path\": \"/proc/self/exe\", \"name\": \"buses\", "
                           "\"max-length\": 64, \"precision\": \"int8\", \"lua-libs\": [\"math\"]}", &err));
    if (!CHECK(str_is(text_at(&v, "name"), "buses"))) printf("  %s\n", err.message);
    CHECK(str_is(text_at(&v, "precision"), "int8") && value_get(&v, "accuracy"));
    v = report_of(ef_inspect(package, "{\"verify\": true}", &err));
    CHECK(is_true(value_get(&v, "package"), "verified"));
    CHECK(value_int(value_get(value_get(&v, "tokenizer"), "max_length"), 0) == 64);
    CHECK(!ef_build(bus, in_work("other"), NULL, &err) && says(&err, "base_binary_path: found none") && !file_is(in_work("other")));
    CHECK(!ef_build(bus, in_work("other"), "{\"base-binary-path\": \"README.md\"}", &err) && !file_is(in_work("other")));
    CHECK(!ef_build("nowhere", in_work("other"), OWN_PROGRAM, &err) && !ef_build(NULL, NULL, NULL, &err));
}

static void analyzes(void)
{
    TEST("analyze");
    ef_error err = { 0 };
    const char *onnx = in_work("onnx/model.onnx");
    Value v = report_of(ef_analyze(onnx, "{\"filter-tag\": \"Attention\", \"show-task\": true, \"validate-metadata\": true}", &err));
    if (!CHECK(str_is(text_at(&v, "task"), "token-classification"))) printf("  %s\n", err.message);
    CHECK(value_get(&v, "metadata_problems")->list.n == 0 && !value_get(&v, "metadata"));
    CHECK(!ef_analyze("CHANGELOG.md", NULL, &err) && !ef_analyze(NULL, NULL, &err));
    CHECK(!ef_analyze(onnx, "{\"output-format\": \"csv\"}", &err) && says(&err, "unknown key"));
    TEST("add_config");
    CHECK(report_of(ef_export(bus, in_work("lone/model.onnx"), "{\"no-config\": true}", &err)).kind == V_MAP);
    CHECK(!file_is(in_work("lone/config.json")));
    v = report_of(ef_add_config(in_work("lone/model.onnx"), bus, NULL, &err));
    if (!CHECK(value_get(value_get(&v, "files"), "config.json") && file_is(in_work("lone/config.json")))) printf("  %s\n", err.message);
    CHECK(!ef_add_config(in_work("lone/model.onnx"), "tests", NULL, &err) && !ef_add_config("README.md", bus, NULL, &err));
    CHECK(!ef_add_config(in_work("lone/model.onnx"), NULL, NULL, &err) && says(&err, "wanted the model's folder"));
    CHECK(!ef_add_config(in_work("lone/model.onnx"), bus, "{\"x\": 1}", &err) && says(&err, "unknown key"));
    TEST("embed_metadata");
    v = report_of(ef_embed_metadata(in_work("bare/model.onnx"), NULL, &err)); /* of its own folder */
    if (!CHECK(str_is(text_at(&v, "pipeline_task"), "token-classification"))) printf("  %s\n", err.message);
    CHECK(report_of(ef_metadata(in_work("bare/model.onnx"), &err)).kind == V_MAP);
    const char *options = str_format(&arena, "{\"model\": \"%s\", \"output\": \"%s\", \"task\": \"ner\", "
                                     "\"no-include-tokenizer\": true}", bus, in_work("told.onnx"));
    v = report_of(ef_embed_metadata(in_work("lone/model.onnx"), options, &err));
    CHECK(str_is(text_at(&v, "path"), in_work("told.onnx")) && !is_true(&v, "tokenizer"));
    CHECK(!ef_embed_metadata(in_work("lone/model.onnx"), "{\"model\": \"nowhere\"}", &err) && says(&err, "nowhere"));
    CHECK(!ef_embed_metadata(NULL, NULL, &err));
}

static int asked; /* for the umask, which cannot be read without changing it for all threads */

mode_t umask(mode_t mask)
{
    asked++;
    return (mode_t)syscall(SYS_umask, mask);
}

static int mode_of(const char *name)
{
    struct stat st;
    return stat(in_work(name), &st) == 0 ? (int)(st.st_mode & 0777) : -1;
}

static void umask_stays(void)
{
    TEST("files are made by the umask, which stays");
    ef_error err = { 0 };
    const mode_t before = umask(027);
    asked = 0;
    CHECK(report_of(ef_export(bus, in_work("masked"), NULL, &err)).kind == V_MAP);
    CHECK(report_of(ef_export(bus, in_work("masked"), NULL, &err)).kind == V_MAP); /* over what is there */
    CHECK(report_of(ef_build(bus, in_work("masked.encoderfile"), OWN_PROGRAM, &err)).kind == V_MAP);
    CHECK(asked == 0);
    CHECK(mode_of("masked/model.onnx") == 0640 && mode_of("masked/config.json") == 0640);
    CHECK(mode_of("masked.encoderfile") == 0750);
    CHECK(umask(before) == 027);
}

static Str bytes_of(const char *name)
{
    Str bytes = STR("");
    Err err = { 0 };
    CHECK(file_read(&arena, in_work(name), SIZE_MAX, &bytes, &err));
    return bytes;
}

static void locale_does_not_matter(void)
{
    TEST("a host program that writes decimals with a comma");
    ef_error err = { 0 };
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        return (void)SKIP("no locale with a decimal comma is installed");
    CHECK(report_of(ef_export(bus, in_work("comma"), "{\"with-report\": true}", &err)).kind == V_MAP);
    setlocale(LC_ALL, "C");
    const Str onnx = bytes_of("comma/model.onnx"); /* constants are called by their values */
    CHECK(memmem(onnx.p, onnx.n, "float.1.4142", 12) && !memmem(onnx.p, onnx.n, "float.1,4142", 12));
    const char *took = strstr(bytes_of("comma/model_htp_export_report.md").p, "**Export Time**: ");
    CHECK(took && strspn(took + strlen("**Export Time**: "), "0123456789.") > 3);
}

int main(void)
{
    if (!CHECK(mkdtemp(work) != NULL)) return finish();
    exports();
    export_refusals();
    quantizes();
    verifies();
    validates();
    compares();
    inspects();
    analyzes();
    umask_stays();
    locale_does_not_matter();
    remove_tree(work);
    arena_free(&arena);
    return finish();
}

/* SPDX-License-Identifier: Apache-2.0
 * test_api_memory.c - tools and other calls of the C API whose system has no memory at one moment, at every moment in
 * turn: each call is done as ever or fails, and leaves no file open and none that is not whole. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "folder.h"
#include "scarce.h"

#ifdef __SANITIZE_ADDRESS__
/* What an abandoned call had allocated may stay allocated (api/guard_call.h). */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

enum { MOST_PLACES = 100000 };
#ifdef __SANITIZE_ADDRESS__
enum { STEP = 5 };
#else
enum { STEP = 1 };
#endif
static char work[] = "/tmp/ef-api-memory-XXXXXX";
static char exported[64], quantized[64];

static char *export_small(ef_error *err)
{
    return ef_export("tests/golden/multiple_choice/bert", exported, NULL, err);
}

static char *quantize_small(ef_error *err)
{
    return ef_quantize(exported, quantized, "{\"no-report\": true}", err);
}

/* Files that are still open to be written, with a name or without one. */
static int count_open(void)
{
    char link[300], to[300];
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(link, to, sizeof to - 1);
        to[MAX(length, 0)] = 0;
        bool written = fcntl(atoi(entry->d_name), F_GETFL) & (O_WRONLY | O_RDWR);
        n += written && (str_starts(str_of(to), work) || str_starts(str_of(to), "/memfd:"));
    }
    if (dir) closedir(dir);
    return n;
}

static int count_temporary(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) n += strstr(entry->d_name, ".tmp.") != NULL;
    if (dir) closedir(dir);
    return n;
}

static void try_everywhere(char *(*call)(ef_error *), const char *folder)
{
    int refusals = 0;
    bool refused = true;
    for (int n = 1; refused && n < MOST_PLACES; n += STEP) {
        ef_error err = { 0 };
        scarce_begin(n, true);
        char *report = call(&err);
        refused = scarce_end();
        bool ok = (report || (refused && strstr(err.message, "memory"))) && count_open() == 0 &&
                  count_temporary(folder) == 0;
        if (!CHECK(ok))
            printf("  at %d: \"%s\", %d open, %d temporary\n", n, err.message, count_open(), count_temporary(folder));
        refusals += refused;
        ef_string_free(report);
    }
    CHECK(!refused && refusals * STEP > 50);
}

/* ---- calls that write no files ---- */
static ef_graph *graph;
static ef_model *model;
static ef_tokenizer *tokenizer;

static bool run_graph(ef_error *err)
{
    static const int64_t dim[] = { 2, 3 }, ids[] = { 5, 6, 7, 8, 9, 10 }, mask[] = { 1, 1, 0, 0, 1, 1 }, types[6];
    const ef_array in[] = {
        { sizeof(ef_array), "input_ids", EF_I64, 2, dim, NULL, ids, sizeof ids },
        { sizeof(ef_array), "attention_mask", EF_I64, 2, dim, NULL, mask, sizeof mask },
        { sizeof(ef_array), "token_type_ids", EF_I64, 2, dim, NULL, types, sizeof types },
    };
    ef_arrays *out = ef_graph_run(graph, in, 3, NULL, 0, err);
    bool ok = out && ef_arrays_count(out) == 1;
    ef_arrays_free(out);
    return ok;
}

static bool open_and_run_graph(ef_error *err)
{
    graph = ef_graph_open("tests/golden/export/bert", &(ef_options){ .struct_size = sizeof(ef_options), .threads = 1 }, err);
    bool ok = graph && run_graph(err);
    ef_graph_close(graph);
    graph = NULL;
    return ok;
}

static bool prepare(ef_error *err)
{
    ef_input in[] = { ef_text("AC bus to Goa"), ef_text("Volvo") };
    ef_arrays *out = ef_prepare(model, in, 2, NULL, err);
    bool ok = out && ef_arrays_count(out) > 1;
    ef_arrays_free(out);
    return ok;
}

static bool start(ef_error *err)
{
    ef_input in = ef_text("AC bus to Goa");
    ef_call *call = ef_start(model, &in, 1, NULL, NULL, NULL, err);
    ef_reply *r = call ? ef_finish(call, err) : NULL;
    ef_reply_free(r);
    return r;
}

static bool predict_tree(ef_error *err)
{
    ef_input in = ef_text("AC bus to Goa");
    ef_reply *r = ef_predict(model, &in, 1, NULL, err);
    bool ok = r && ef_reply_value(r, err);
    ef_reply_free(r);
    return ok;
}

static bool describe(ef_error *err)
{
    return went_well(ef_tokenizer_describe(tokenizer, err));
}

static void call_everywhere(bool (*call)(ef_error *), int least)
{
    int refusals = 0;
    bool refused = true;
    for (int n = 1; refused && n < MOST_PLACES; n += STEP) {
        ef_error err = { 0 };
        scarce_begin(n, false);
        bool ok = call(&err);
        refused = scarce_end();
        if (!CHECK(ok || (refused && strstr(err.message, "memory")))) printf("  at %d: \"%s\"\n", n, err.message);
        refusals += refused;
    }
    CHECK(!refused && refusals * STEP >= least);
}

static void test_calls(void)
{
    ef_error err = { 0 };
    ef_options o = { .struct_size = sizeof o, .threads = 1 };
    TEST("a graph without memory");
    call_everywhere(open_and_run_graph, 20);
    graph = ef_graph_open("tests/golden/export/bert", &o, &err);
    if (CHECK(graph)) {
        call_everywhere(run_graph, 1);
        CHECK(run_graph(&err));
    }
    ef_graph_close(graph);
    model = ef_open("examples/bus-ner", &o, &err);
    tokenizer = ef_tokenizer_open("examples/bus-ner", &err);
    if (CHECK(model && tokenizer)) {
        TEST("tensors without memory");
        call_everywhere(prepare, 2);
        TEST("a call without memory, while nobody waits");
        CHECK(start(&err)); /* the session's threads have what they need */
        call_everywhere(start, 1);
        call_everywhere(predict_tree, 1);
        CHECK(start(&err));
        TEST("a tokenizer's description without memory");
        call_everywhere(describe, 1);
    }
    ef_tokenizer_close(tokenizer);
    ef_close(model);
}

int main(void)
{
    test_calls();
    if (!CHECK(mkdtemp(work))) return finish();
    snprintf(exported, sizeof exported, "%s/onnx", work);
    snprintf(quantized, sizeof quantized, "%s/int8", work);
    TEST("export without memory");
    try_everywhere(export_small, exported);
    TEST("quantize without memory");
    try_everywhere(quantize_small, quantized);
    remove_tree(work);
    return finish();
}

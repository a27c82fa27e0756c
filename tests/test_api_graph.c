/* SPDX-License-Identifier: Apache-2.0
 * test_api_graph.c - ef_graph: tensors in and out by name. The numbers are ONNX Runtime's (tools/oracle/graph_run.py), for
 * batches with padding on either side and in between; all of them are compared, also those of hidden tokens. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "data/npy.h"

#define GOLDEN "tests/golden/graph_run/"
static Arena arena;

static ef_graph *graph_at(const char *path, int threads)
{
    ef_error err = { 0 };
    ef_graph *g = ef_graph_open(path, &(ef_options){ .struct_size = sizeof(ef_options), .threads = threads }, &err);
    if (!CHECK(g)) printf("  %s: %s\n", path, err.message);
    return g;
}

static bool array_of(const char *folder, const char *prefix, const char *name, ef_array *out)
{
    Npy *n = NEW(&arena, Npy);
    Str file;
    Err err;
    const char *path = str_format(&arena, "%s/%s%s.npy", folder, prefix, name);
    if (!file_read(&arena, path, 1 << 24, &file, &err) || !npy_read(file, n, &err)) return false;
    *out = (ef_array){ .struct_size = sizeof *out, .name = name, .type = n->kind == 'f' ? EF_F32 : EF_I64,
                       .rank = n->rank, .dim = n->dim, .data = n->data, .size = n->bytes };
    return true;
}

/* The inputs that the folder has for the graph. */
static size_t feed(const ef_graph *g, const char *folder, ef_array *in)
{
    size_t n;
    const ef_array *wanted = ef_graph_inputs(g, &n);
    for (size_t i = 0; i < n; i++) CHECK(array_of(folder, "", wanted[i].name, &in[i]));
    return n;
}

static double largest(const ef_array *got, const ef_array *wanted)
{
    const float *a = got->data, *b = wanted->data;
    double most = 0;
    if (got->type != EF_F32 || got->rank != wanted->rank || got->size != wanted->size) return INFINITY;
    for (int d = 0; d < got->rank; d++)
        if (got->dim[d] != wanted->dim[d]) return INFINITY;
    for (size_t i = 0; i < got->size / sizeof *a; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

static size_t compared;
static double compare(ef_graph *g, const char *folder)
{
    ef_error err = { 0 };
    ef_array in[8], wanted;
    size_t n = feed(g, folder, in);
    double most = 0;
    ef_arrays *out = ef_graph_run(g, in, n, NULL, 0, &err);
    if (!CHECK(out)) return printf("  %s: %s\n", folder, err.message), INFINITY;
    for (size_t i = 0; i < ef_arrays_count(out); i++) {
        const ef_array *got = ef_arrays_at(out, i);
        if (!CHECK(array_of(folder, "out_", got->name, &wanted))) continue;
        most = fmax(most, largest(got, &wanted));
        compared += wanted.size / sizeof(float);
    }
    CHECK(!ef_arrays_at(out, ef_arrays_count(out)));
    ef_arrays_free(out);
    return most;
}

static void test_numbers(void)
{
    TEST("numbers of ONNX Runtime");
    static const char *const models[] = { "bert",       "deberta-v2", "distilbert", "layoutlm",
                                          "modernbert", "mpnet",      "roberta" };
    static const char *const cases[] = { "right", "left", "holes", "whole" };
    for (size_t i = 0; i < COUNT(models); i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            ef_graph *g = graph_at(str_format(&arena, "tests/golden/export/%s", models[i]), threads);
            for (size_t k = 0; g && k < COUNT(cases); k++) {
                double most = compare(g, str_format(&arena, GOLDEN "%s/%s", models[i], cases[k]));
                if (!CHECK(most < 1e-4)) printf("  %s, %s: %g\n", models[i], cases[k], most);
            }
            ef_graph_close(g);
        }
    CHECK(compared > 10000);
}

static void test_described(ef_graph *g)
{
    TEST("described");
    size_t n;
    const ef_array *in = ef_graph_inputs(g, &n);
    CHECK(n == 3 && strcmp(in[0].name, "input_ids") == 0 && in[0].type == EF_I64 && in[0].rank == 2);
    CHECK(in[0].struct_size == sizeof *in && in[0].dim[0] == -1 && in[0].dim[1] == -1 && !in[0].data);
    CHECK(in[0].dim_names && in[0].dim_names[0] && strcmp(in[0].dim_names[0], "batch_size") == 0);
    const ef_array *out = ef_graph_outputs(g, &n);
    CHECK(n == 1 && strcmp(out[0].name, "logits") == 0 && out[0].type == EF_F32 && out[0].rank == 3);
    CHECK(out[0].dim[2] > 0 && !out[0].dim_names[2]);
}

static void refuse(ef_graph *g, const ef_array *in, size_t n, ef_code code, const char *words)
{
    ef_error err = { 0 };
    if (!CHECK(!ef_graph_run(g, in, n, NULL, 0, &err) && err.code == code && says(&err, words)))
        printf("  code %d: %s\n", (int)err.code, err.message);
}

/* Identity of a tensor of strings. */
static void test_strings(void)
{
    static const uint8_t onnx[] = {
        0x08, 0x0e, 0x3a, 0x33, 0x0a, 0x10, 0x0a, 0x01, 0x61, 0x12, 0x01, 0x62, 0x22, 0x08, 0x49, 0x64, 0x65,
        0x6e, 0x74, 0x69, 0x74, 0x79, 0x12, 0x01, 0x67, 0x5a, 0x0d, 0x0a, 0x01, 0x61, 0x12, 0x08, 0x0a, 0x06,
        0x08, 0x08, 0x12, 0x02, 0x0a, 0x00, 0x62, 0x0d, 0x0a, 0x01, 0x62, 0x12, 0x08, 0x0a, 0x06, 0x08, 0x08,
        0x12, 0x02, 0x0a, 0x00, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x11
    };
    char path[] = "/tmp/ef-strings-XXXXXX.onnx";
    ef_error err = { 0 };
    TEST("strings");
    int fd = mkstemps(path, 5);
    CHECK(fd >= 0 && write(fd, onnx, sizeof onnx) == sizeof onnx);
    if (fd >= 0) close(fd);
    CHECK(!ef_graph_open(path, NULL, &err) && err.code == EF_UNSUPPORTED && says(&err, "input 'a': found a tensor of strings"));
    unlink(path);
}

static void test_refused(ef_graph *g)
{
    TEST("refused");
    ef_array in[8], one[8];
    ef_error err = { 0 };
    size_t n = feed(g, GOLDEN "bert/right", in);
    static const int64_t flat[] = { 27 }, negative[] = { -3, 9 }, huge[] = { INT64_MAX, 9 }, other[] = { 9, 3 };
    static const float numbers[27];
    refuse(g, in, n - 1, EF_INVALID_INPUT, "Input token_type_ids is required by model but not provided.");
    refuse(g, in, 0, EF_INVALID_INPUT, "Input input_ids is required");
    refuse(g, NULL, 1, EF_INVALID_INPUT, "found no tensors");
#define CHANGED(change, code, words) memcpy(one, in, sizeof one), change, refuse(g, one, n, code, words)
    CHANGED(one[1].name = "mesk", EF_INVALID_INPUT, "found input 'mesk', wanted one of: input_ids, attention_mask");
    CHANGED(one[1].name = NULL, EF_INVALID_INPUT, "tensor 1: found no name");
    CHANGED(one[1].name = one[0].name, EF_INVALID_INPUT, "found input 'input_ids' twice");
    CHANGED((one[0].rank = 1, one[0].dim = flat), EF_INVALID_INPUT, "found int64[27]");
    CHANGED(one[0].rank = 9, EF_INVALID_INPUT, "tensor 0: rank: found 9");
    CHANGED(one[0].rank = -1, EF_INVALID_INPUT, "rank: found -1");
    CHANGED(one[0].dim = NULL, EF_INVALID_INPUT, "rank: found 2");
    CHANGED(one[0].dim = negative, EF_INVALID_INPUT, "dim 0: found -3");
    CHANGED(one[0].dim = huge, EF_TOO_LARGE, "2^40 elements");
    CHANGED(one[1].dim = other, EF_INVALID_INPUT, "input 'attention_mask': found int64[9,3], wanted int64[3,9]");
    CHANGED(one[0].size -= 8, EF_INVALID_INPUT, "size: found 208 bytes, wanted 216");
    CHANGED(one[0].data = NULL, EF_INVALID_INPUT, "size: found 0 bytes");
    CHANGED(one[0].type = (ef_type)99, EF_INVALID_INPUT, "type: found 99");
    CHANGED(one[0].type = EF_STRING, EF_UNSUPPORTED, "found strings");
    CHANGED((one[0].type = EF_F32, one[0].data = numbers, one[0].size = sizeof numbers), EF_INVALID_INPUT,
            "input 'input_ids': found float[3,9], wanted int64");
    CHANGED(one[0].struct_size = 0, EF_INVALID_INPUT, "struct_size");
    CHANGED(one[0].struct_size = 12, EF_INVALID_INPUT, "struct_size: found 12, wanted sizeof");
    CHANGED(one[1].struct_size = sizeof *one - 8, EF_INVALID_INPUT, "as the first has");
    CHANGED(one[1].struct_size = 1 << 20, EF_INVALID_INPUT, "struct_size");
    static const int64_t far_ids[27] = { 1 << 30 };
    CHANGED(one[0].data = far_ids, EF_INVALID_INPUT, "Model inference failed");
    const char *outputs[] = { "nothing" };
    CHECK(!ef_graph_run(g, in, n, outputs, 1, &err) && says(&err, "the graph has no output 'nothing'"));
    CHECK(!ef_graph_run(g, in, n, NULL, 1, &err) && says(&err, "found no names of outputs"));
    CHECK(!ef_graph_open("nowhere.onnx", NULL, &err) && err.code == EF_NOT_FOUND);
    CHECK(!ef_graph_open(NULL, NULL, &err) && says(&err, "found no path"));
    CHECK(!ef_graph_open("tests/golden/proto.tsv", NULL, &err));
    ef_options o = { .struct_size = sizeof o, .precision = "fp8" };
    CHECK(!ef_graph_open("tests/golden/export/bert", &o, &err) && says(&err, "precision: found \"fp8\""));
    compare(g, GOLDEN "bert/right"); /* it still works */
}

static void test_types(ef_graph *g)
{
    TEST("integers of other widths");
    ef_error err = { 0 };
    ef_array in[8], wanted;
    size_t n = feed(g, GOLDEN "bert/left", in);
    CHECK(array_of(GOLDEN "bert/left", "out_", "logits", &wanted));
    const size_t count = in[0].size / sizeof(int64_t);
    int32_t *ids = ARRAY(&arena, int32_t, count);
    uint8_t *mask = ARRAY(&arena, uint8_t, count + 1), *bytes = ARRAY(&arena, uint8_t, in[2].size + 1);
    for (size_t i = 0; i < count; i++) {
        ids[i] = (int32_t)((const int64_t *)in[0].data)[i];
        mask[i] = (uint8_t)((const int64_t *)in[1].data)[i];
    }
    in[0].type = EF_I32, in[0].data = ids, in[0].size = count * sizeof *ids;
    in[1].type = EF_BOOL, in[1].data = mask, in[1].size = count;
    in[2].data = memcpy(bytes + 1, in[2].data, in[2].size); /* not aligned */
    const char *outputs[] = { "logits", "logits" };
    ef_arrays *out = ef_graph_run(g, in, n, outputs, 2, &err);
    if (!CHECK(out && ef_arrays_count(out) == 2)) printf("  %s\n", err.message);
    for (size_t i = 0; out && i < 2; i++) CHECK(largest(ef_arrays_at(out, i), &wanted) < 1e-4);
    ef_arrays_free(out);
}

static void *many_runs(void *graph)
{
    double *most = malloc(sizeof *most);
    Arena own = { 0 };
    *most = 0;
    for (int i = 0; i < 20; i++) {
        static const int64_t dim[] = { 2, 5 };
        static const int64_t ids[] = { 5, 6, 7, 8, 9, 5, 6, 7, 8, 9 }, ones[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, zeros[10];
        const ef_array in[] = {
            { sizeof(ef_array), "input_ids", EF_I64, 2, dim, NULL, ids, sizeof ids },
            { sizeof(ef_array), "attention_mask", EF_I64, 2, dim, NULL, ones, sizeof ones },
            { sizeof(ef_array), "token_type_ids", EF_I64, 2, dim, NULL, zeros, sizeof zeros },
        };
        ef_arrays *out = ef_graph_run(graph, in, 3, NULL, 0, NULL);
        const float *x = out ? ef_arrays_at(out, 0)->data : NULL;
        const size_t half = out ? ef_arrays_at(out, 0)->size / sizeof *x / 2 : 0;
        if (!out) *most = INFINITY;
        for (size_t k = 0; k < half; k++) *most = fmax(*most, fabs((double)(x[k] - x[half + k]))); /* the same row */
        ef_arrays_free(out);
    }
    arena_free(&own);
    return most;
}

static void test_threads(ef_graph *g)
{
    TEST("threads");
    pthread_t thread[6];
    for (size_t i = 0; i < COUNT(thread); i++) CHECK(pthread_create(&thread[i], NULL, many_runs, g) == 0);
    for (size_t i = 0; i < COUNT(thread); i++) {
        void *most;
        pthread_join(thread[i], &most);
        CHECK(*(double *)most < 1e-6);
        free(most);
    }
}

static bool child_is_told(ef_graph *g)
{
    ef_error err = { 0 };
    size_t n;
    bool refused = !ef_graph_run(g, NULL, 0, NULL, 0, &err) && err.code == EF_UNAVAILABLE &&
                   strstr(err.message, "open it again here");
    bool described = ef_graph_inputs(g, &n) && n == 3;
    ef_graph_close(g);
    ef_graph *own = ef_graph_open("tests/golden/export/bert", NULL, &err);
    bool again = own && ef_graph_inputs(own, &n) && n == 3;
    ef_graph_close(own);
    return refused && described && again;
}

static void test_child(ef_graph *g)
{
    TEST("a child of fork");
#if defined(__SANITIZE_THREAD__)
    SKIP("ThreadSanitizer does not follow a fork of several threads");
    (void)g, (void)child_is_told;
#else
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(child_is_told(g) ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
#endif
}

static void test_package(void)
{
    TEST("a package");
    ef_error err = { 0 };
    ef_options o = { .struct_size = sizeof o, .precision = "int8" };
    char path[] = "/tmp/ef-graph-XXXXXX";
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    ef_graph *folder = graph_at("examples/bus-ner", 1);
    bool built = CHECK(went_well(ef_build("examples/bus-ner", path, OWN_PROGRAM, &err)));
    ef_graph *g = built ? graph_at(path, 1) : NULL;
    static const int64_t dim[] = { 1, 4 }, ids[] = { 2, 5, 6, 3 }, ones[] = { 1, 1, 1, 1 }, zeros[4];
    const ef_array in[] = {
        { sizeof(ef_array), "input_ids", EF_I64, 2, dim, NULL, ids, sizeof ids },
        { sizeof(ef_array), "attention_mask", EF_I64, 2, dim, NULL, ones, sizeof ones },
        { sizeof(ef_array), "token_type_ids", EF_I64, 2, dim, NULL, zeros, sizeof zeros },
    };
    size_t n = 0;
    if (folder) ef_graph_inputs(folder, &n);
    ef_arrays *a = folder ? ef_graph_run(folder, in, n, NULL, 0, &err) : NULL;
    ef_arrays *b = g ? ef_graph_run(g, in, n, NULL, 0, &err) : NULL;
    if (!CHECK(a && b && largest(ef_arrays_at(b, 0), ef_arrays_at(a, 0)) < 1e-5)) printf("  %s\n", err.message);
    CHECK(!ef_graph_open(path, &o, &err) && says(&err, "precision: found a package in fp32, wanted int8"));
    ef_arrays_free(a), ef_arrays_free(b);
    ef_graph_close(folder), ef_graph_close(g);
    unlink(path);
}

static void test_precision(void)
{
    TEST("precision");
    ef_error err = { 0 };
    ef_options o = { .struct_size = sizeof o, .precision = "int8", .threads = 1 };
    ef_graph *g = ef_graph_open("tests/golden/export/bert", &o, &err);
    if (!CHECK(g)) printf("  %s\n", err.message);
    double most = g ? compare(g, GOLDEN "bert/right") : 0;
    CHECK(most > 0 && most < 0.2); /* other numbers, near by */
    ef_graph_close(g);
}

static void test_task(void)
{
    TEST("a checkpoint for another task");
    ef_error err = { 0 };
    ef_options o = { .struct_size = sizeof o, .threads = 1, .task = "feature-extraction" };
    ef_graph *g = ef_graph_open("tests/golden/export/bert", &o, &err);
    size_t n = 0;
    const ef_array *out = g ? ef_graph_outputs(g, &n) : NULL;
    if (!CHECK(n >= 1 && strcmp(out[0].name, "last_hidden_state") == 0)) printf("  %s\n", err.message);
    ef_graph_close(g);
    o.task = "nonsense";
    CHECK(!ef_graph_open("tests/golden/export/bert", &o, &err) && says(&err, "nonsense"));
}

/* A graph that the engine does not plan: its input is neither tokens nor what a processor makes. */
static void test_any_graph(void)
{
    TEST("any graph");
    ef_graph *g = graph_at("tests/golden/ops/gelu_20_tanh/model.onnx", 2);
    ef_error err = { 0 };
    size_t n = 0;
    const ef_array *wanted = g ? ef_graph_inputs(g, &n) : NULL;
    if (!CHECK(n == 1 && wanted->type == EF_F32)) return;
    float *x = ARRAY(&arena, float, 4096);
    int64_t dim[8];
    size_t count = 1;
    for (int d = 0; d < wanted->rank; d++) count *= (size_t)(dim[d] = wanted->dim[d] < 0 ? 2 : wanted->dim[d]);
    for (size_t i = 0; i < count && count <= 4096; i++) x[i] = (float)i / (float)count;
    ef_array in = { sizeof in, wanted->name, EF_F32, wanted->rank, dim, NULL, x, count * sizeof *x };
    ef_arrays *out = ef_graph_run(g, &in, 1, NULL, 0, &err);
    if (CHECK(out)) {
        const float *y = ef_arrays_at(out, 0)->data;
        for (size_t i = 0; i < count; i++) {
            double t = x[i], gelu = 0.5 * t * (1 + tanh(0.7978845608 * (t + 0.044715 * t * t * t)));
            CHECK(fabs(y[i] - gelu) < 1e-5);
        }
    } else printf("  %s\n", err.message);
    ef_arrays_free(out);
    ef_graph_close(g);
    ef_graph_close(NULL);
    ef_arrays_free(NULL);
}

int main(void)
{
    test_numbers();
    ef_graph *g = graph_at("tests/golden/export/bert", 2);
    if (g) {
        test_described(g);
        test_refused(g);
        test_strings();
        test_types(g);
        test_threads(g);
        test_child(g);
    }
    ef_graph_close(g);
    test_package();
    test_precision();
    test_task();
    test_any_graph();
    arena_free(&arena);
    return finish();
}

/* SPDX-License-Identifier: Apache-2.0
 * cmd_onnx_test.c - the ONNX project's own test cases: CASE/model.onnx and, for each
 * CASE/test_data_set_K, input_I.pb and output_I.pb. Types and shapes must be equal, numbers as
 * close as ONNX's runner asks: |found - wanted| <= atol + rtol * |wanted| (CASE/tolerance.txt, else
 * 1e-3 and 1e-7; bfloat16: two units in its last place), NaN equal to NaN. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "base/thread.h"
#include "cli/cli.h"
#include "cli/onnx_io.h"
#include "data/json.h"

static const Option options[] = {
    { "list", 0, "FILE", "names of the cases to run, one a line, below each DIR" },
    { "optimize", 0, NULL, "fold and fuse the graph first, as for a text model" },
    { "verbose", 'v', NULL, "also say what is unsupported, and why" },
    { "json", 0, NULL, "every case and its outcome, as JSON" },
    { 0 },
};

typedef enum { PASSED, FAILED, UNSUPPORTED, VERDICTS } TestVerdict;
static const char *const verdicts[] = { [PASSED] = "passed", "failed", "unsupported" };
typedef struct Suite {
    int count[VERDICTS];
    bool verbose, optimize, json;
    Pool *pool;
    Arena arena; /* of one case */
    Buf cases;   /* members of the JSON's list */
} Suite;
typedef struct Tolerance {
    double relative, absolute;
} Tolerance;

static bool close_enough(double found, double wanted, Tolerance t)
{
    if (isnan(found) || isnan(wanted)) return isnan(found) && isnan(wanted);
    if (isinf(found) || isinf(wanted)) return found == wanted;
    return fabs(found - wanted) <= t.absolute + t.relative * fabs(wanted);
}

static bool compare(const Tensor *found, const Tensor *wanted, Tolerance t, Err *err)
{
    char a[128], b[128];
    if (found->type != wanted->type || !tensor_same_shape(found, wanted))
        return fail(err, EF_INTERNAL, "found %s, wanted %s", tensor_show(found, a),
                    tensor_show(wanted, b));
    if (wanted->type == T_BF16) t.relative = MAX(t.relative, 1.0 / 64);
    for (int64_t i = 0; i < tensor_count(wanted); i++)
        if (!close_enough(tensor_get(found, i), tensor_get(wanted, i), t))
            return fail(err, EF_INTERNAL, "element %lld: found %.9g, wanted %.9g", (long long)i,
                        tensor_get(found, i), tensor_get(wanted, i));
    return true;
}

static Tolerance read_tolerance(Arena *arena, const char *folder)
{
    Tolerance t = { 1e-3, 1e-7 };
    Str text;
    Err ignored;
    if (file_read(arena, path_join(arena, folder, STR("tolerance.txt")), 4096, &text, &ignored))
        if (sscanf(text.p, "%lf %lf", &t.relative, &t.absolute) != 2) t = (Tolerance){ 1e-3, 1e-7 };
    return t;
}

/* Sequences, optionals and strings have no number type here. */
static bool all_tensors(const OnnxValue *v, int n, Err *err)
{
    for (int i = 0; i < n; i++)
        if (dtype_size(v[i].type) == 0)
            return fail(err, EF_UNSUPPORTED, "%.*s: found type %s, wanted a tensor of numbers",
                        STR_ARG(v[i].name), dtype_name(v[i].type));
    return true;
}

static bool load_set(Suite *s, const char *set, const char *kind, const OnnxValue *v, int n,
                     Named *out, Err *err)
{
    for (int i = 0; i < n; i++) {
        out[i].name = v[i].name;
        const char *path = str_format(&s->arena, "%s/%s_%d.pb", set, kind, i);
        if (!tensor_read_file(&s->arena, path, &out[i].t, err)) return false;
    }
    return true;
}

static bool run_set(Suite *s, const OnnxModel *model, const char *set, Tolerance t, Err *err)
{
    const OnnxGraph *g = &model->graph;
    Graph *graph;
    Named *in = ARRAY(&s->arena, Named, g->n_in + 1),
          *wanted = ARRAY(&s->arena, Named, g->n_out + 1);
    if (!all_tensors(g->in, g->n_in, err) || !all_tensors(g->out, g->n_out, err)) return false;
    if (!load_set(s, set, "input", g->in, g->n_in, in, err)) return false;
    if (!load_set(s, set, "output", g->out, g->n_out, wanted, err)) return false;
    if (!graph_from_onnx(&s->arena, model, &graph, err)) return false;
    if (s->optimize && !graph_optimize(graph, false, err)) return false;
    Named *found = ARRAY(&s->arena, Named, graph->n_output + 1);
    if (!engine_run_generic(graph, s->pool, in, (size_t)g->n_in, &s->arena, found, err))
        return false;
    for (int i = 0; i < g->n_out; i++)
        if (!compare(&found[i].t, &wanted[i].t, t, err))
            return within(err, "output %.*s", STR_ARG(found[i].name));
    return true;
}

static bool run_sets(Suite *s, const char *folder, const OnnxModel *model, Err *err)
{
    Tolerance t = read_tolerance(&s->arena, folder);
    int k = 0;
    for (;; k++) {
        const char *set = str_format(&s->arena, "%s/test_data_set_%d", folder, k);
        if (!dir_is(set)) break;
        if (!run_set(s, model, set, t, err)) return false;
    }
    return k > 0 || fail(err, EF_NOT_FOUND, "found no test_data_set_0");
}

static void put_case(Suite *s, Str name, TestVerdict verdict, const char *message)
{
    Value v = value_map(&s->arena, 3);
    value_add(&v, "name", value_of_str(name));
    value_add(&v, "outcome", value_of_text(verdicts[verdict]));
    if (verdict != PASSED) value_add(&v, "message", value_of_text(message));
    buf_puts(&s->cases, s->cases.n ? ",\n    " : "\n    ");
    json_write(&s->cases, &v);
}

static void run_case(Suite *s, const char *folder)
{
    Err err = { 0 };
    OnnxFile file;
    bool ok =
        onnx_file_open(&s->arena, path_join(&s->arena, folder, STR("model.onnx")), &file, &err);
    if (ok) {
        ok = run_sets(s, folder, &file.model, &err);
        onnx_file_close(&file);
    }
    TestVerdict verdict = ok ? PASSED : err.code == EF_UNSUPPORTED ? UNSUPPORTED : FAILED;
    s->count[verdict]++;
    if (s->json) put_case(s, path_name(folder), verdict, err.message);
    else if (verdict == FAILED || (verdict == UNSUPPORTED && s->verbose))
        printf("%s %.*s: %s\n", verdict == FAILED ? "FAILED" : "unsupported",
               STR_ARG(path_name(folder)), err.message);
    arena_reset(&s->arena, 1 << 20);
}

/* ---- which cases ---- */

static bool run_listed(Suite *s, Args *a, const char *dir, Str names)
{
    for (size_t from = 0, i = 0; i <= names.n; i++) {
        if (i < names.n && names.p[i] != '\n' && names.p[i] != '\r') continue;
        Str name = { names.p + from, i - from };
        from = i + 1;
        if (name.n && name.p[0] != '#') run_case(s, path_join(&a->arena, dir, name));
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(a, b);
}

/* The names in a folder, sorted, without the hidden ones. */
static bool read_folder(Arena *arena, const char *dir, Buf *names, Err *err)
{
    DIR *open = opendir(dir);
    if (!open) return fail(err, EF_NOT_FOUND, "%s: no such folder", dir);
    for (const struct dirent *e; (e = readdir(open));) {
        Str name = str_of(e->d_name);
        if (name.p[0] == '.') continue;
        name.p = str_dup(arena, name);
        buf_add(names, &name, sizeof name);
    }
    closedir(open);
    if (names->n) qsort(names->p, names->n / sizeof(Str), sizeof(Str), by_name);
    return true;
}

/* A case itself, or a folder of cases. */
static bool run_folder(Suite *s, Args *a, const char *dir, Err *err)
{
    Buf names = { 0 };
    if (file_is(path_join(&a->arena, dir, STR("model.onnx")))) return run_case(s, dir), true;
    bool ok = read_folder(&a->arena, dir, &names, err);
    for (size_t i = 0; ok && i < names.n / sizeof(Str); i++) {
        const char *folder = path_join(&a->arena, dir, ((const Str *)names.p)[i]);
        if (file_is(path_join(&a->arena, folder, STR("model.onnx")))) run_case(s, folder);
    }
    buf_free(&names);
    return ok;
}

static bool run_all(Suite *s, Args *a, Err *err)
{
    const char *list = args_value(a, "list");
    Str names;
    if (list && !file_read(&a->arena, list, 1 << 24, &names, err)) return false;
    for (int i = 0; i < a->n_text; i++) {
        if (!dir_is(a->text[i])) return fail(err, EF_NOT_FOUND, "%s: no such folder", a->text[i]);
        if (!(list ? run_listed(s, a, a->text[i], names) : run_folder(s, a, a->text[i], err)))
            return false;
    }
    return true;
}

static bool onnx_test_run(Args *a, Err *err)
{
    if (a->n_text == 0) return fail(err, EF_USAGE, "onnx test: wanted a folder of cases");
    Suite s = { .verbose = args_has(a, "verbose"),
                .optimize = args_has(a, "optimize"),
                .json = args_has(a, "json"),
                .pool = pool_new(0) };
    bool ok = run_all(&s, a, err);
    if (ok)
        printf(s.json ? "{\n  \"passed\": %d,\n  \"failed\": %d,\n  \"unsupported\": %d,\n  \"cases\": ["
                      : "%d passed, %d failed, %d unsupported\n",
               s.count[PASSED], s.count[FAILED], s.count[UNSUPPORTED]);
    if (ok && s.json) printf("%.*s\n  ]\n}\n", STR_ARG(buf_view(&s.cases)));
    buf_free(&s.cases);
    pool_free(s.pool);
    arena_free(&s.arena);
    a->exit = s.count[FAILED] ? 1 : 0;
    return ok && out_write(STR(""), err);
}

const Command cmd_onnx_test = {
    .name = "onnx test",
    .summary = "run folders of ONNX test cases",
    .options = options,
    .run = onnx_test_run,
    .usage = "[--list FILE] DIR...",
    .example = "  encoderfile onnx test --list names.txt onnx/backend/test/data/node\n",
};

/* SPDX-License-Identifier: Apache-2.0
 * exported_ends.h - an exported model of pictures or sounds whose inputs and outputs lie beside it by
 * name: run by ONNX's rules and as served, and compared. */
#ifndef EXPORTED_ENDS_H
#define EXPORTED_ENDS_H
#include <unistd.h>

#include "export_case.h"
#include "folder.h"

enum { MOST_ENDS = 8 };

typedef struct Exported {
    Arena arena;
    Mapping file;
    OnnxModel model;
    const char *dir;
    Named in[MOST_ENDS], want[MOST_ENDS];
    int n_in, n_want;
} Exported;

/* <dir>/<name>.npy as a tensor: float or int64. */
static inline bool load_named(Exported *c, Str name, Named *out)
{
    Npy a;
    if (!CHECK(load_npy(&c->arena, c->dir, str_format(&c->arena, "%.*s.npy", STR_ARG(name)), &a)))
        return false;
    void *data = memcpy(arena_raw(&c->arena, a.bytes + 1), a.data, a.bytes);
    *out = (Named){ name, { .type = a.kind == 'f' ? T_F32 : T_I64, .rank = a.rank, .data = data } };
    memcpy(out->t.dim, a.dim, sizeof *a.dim * (size_t)a.rank);
    return true;
}

static inline bool load_ends(Exported *c)
{
    const OnnxGraph *g = &c->model.graph;
    bool ok = g->n_in <= MOST_ENDS && g->n_out <= MOST_ENDS;
    for (int i = 0; ok && i < g->n_in; i++) ok = load_named(c, g->in[i].name, &c->in[c->n_in++]);
    for (int i = 0; ok && i < g->n_out; i++) ok = load_named(c, g->out[i].name, &c->want[c->n_want++]);
    return ok;
}

static inline double distance(const float *got, const float *want, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)got[i] - want[i]));
    return most;
}

/* By ONNX's own rules: every output. */
static inline double run_plain(Exported *c, Err *err)
{
    Graph *g;
    Named out[MOST_ENDS];
    double most = 0;
    if (!graph_from_onnx(&c->arena, &c->model, &g, err) ||
        !engine_run_generic(g, NULL, c->in, (size_t)c->n_in, &c->arena, out, err))
        return INFINITY;
    for (int i = 0; i < c->n_want; i++) {
        const Tensor *a = &out[i].t, *b = &c->want[i].t;
        bool same = a->rank == b->rank && memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank) == 0;
        most = fmax(most, same ? distance(a->data, b->data, tensor_count(b)) : INFINITY);
    }
    return most;
}

/* Row r of an input. */
static inline Feature one_row(Arena *arena, const Named *in, int r)
{
    Feature f = { str_dup(arena, in->name), { .type = in->t.type, .rank = in->t.rank - 1 } };
    memcpy(f.t.dim, in->t.dim + 1, sizeof *in->t.dim * (size_t)f.t.rank);
    f.t.data = (char *)in->t.data + (size_t)r * tensor_bytes(&f.t);
    return f;
}

/* As served: passes, plans, the rows of a batch together; the first output. */
static inline double run_rows(Exported *c, Err *err)
{
    enum { MOST_ROWS = 4 };
    Graph *g;
    Engine *e;
    Feature f[MOST_ROWS][MOST_ENDS];
    RowInputs own[MOST_ROWS];
    RowOutput out[MOST_ROWS];
    static const int32_t start[MOST_ROWS + 1];
    const Tensor *want = &c->want[0].t;
    int B = (int)c->in[0].t.dim[0];
    int64_t answer = tensor_count(want) / B;
    if (!graph_from_onnx(&c->arena, &c->model, &g, err) || !graph_optimize(g, false, err) ||
        !engine_new(&c->arena, g, &c->want[0].name, 1, &e, err) || B > MOST_ROWS)
        return INFINITY;
    for (int r = 0; r < B; r++) {
        int n = 0;
        for (int k = 0; k < c->n_in; k++)
            if (k == 0 || str_is(c->in[k].name, "pixel_mask")) f[r][n++] = one_row(&c->arena, &c->in[k], r);
        own[r] = (RowInputs){ f[r], n };
    }
    Runner *runner = runner_new(e, NULL);
    double most = runner_run(runner, &(Batch){ .B = B, .start = start, .own = own }, out, err) ? 0 : INFINITY;
    for (int r = 0; most < INFINITY && r < B; r++)
        most = fmax(most, out[r].tokens * out[r].width != answer
                              ? INFINITY
                              : distance(out[r].data, (const float *)want->data + r * answer, answer));
    runner_free(runner);
    return most;
}

/* The folder exported to `output`, its file opened and the ends loaded; else a failed check. */
static inline bool export_case_open(Exported *c, Export *e, Err *err)
{
    bool ok = export_all(e, err) && file_map(e->onnx, &c->file, err) &&
              onnx_read(&c->arena, (Str){ (const char *)c->file.p, c->file.n }, &c->model, err);
    if (!CHECK(ok)) printf("  %s, opset %d: %s\n", c->dir, e->opset, err->message);
    return ok && load_ends(c);
}

/* What a config.json that was changed in one place is refused with; nothing is written. */
typedef struct WrongConfig {
    const char *from, *to, *says;
} WrongConfig;

static inline void check_wrong_configs(const char *source, const char *work, const WrongConfig *wrong,
                                       size_t n)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Str config, weights;
    const char *folder = path_join(&arena, work, STR("wrong"));
    const char *to = path_join(&arena, folder, STR("config.json"));
    const char *given = path_join(&arena, source, STR("config.json"));
    CHECK(file_read(&arena, given, 1 << 20, &config, &err) && dir_make_parents(to, &err));
    CHECK(file_read(&arena, path_join(&arena, source, STR("model.safetensors")), 1 << 20, &weights, &err));
    CHECK(file_write(&arena, path_join(&arena, folder, STR("model.safetensors")), weights, &err));
    for (size_t i = 0; i < n; i++) {
        const char *at = memmem(config.p, config.n, wrong[i].from, strlen(wrong[i].from));
        if (!CHECK(at)) continue;
        const char *text = str_format(&arena, "%.*s%s%s", (int)(at - config.p), config.p, wrong[i].to,
                                      str_dup(&arena, config) + (at - config.p) + strlen(wrong[i].from));
        Export e = { .model = folder, .output = str_format(&arena, "%s/never", work) };
        CHECK(file_write(&arena, to, str_of(text), &err));
        if (!CHECK(!export_all(&e, &err) && says(&err, wrong[i].says))) printf("  %s\n", err.message);
        CHECK(!dir_is(e.output));
        export_close(&e);
    }
    arena_free(&arena);
}

#endif

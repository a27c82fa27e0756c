/* SPDX-License-Identifier: Apache-2.0
 * export_case.h - a checkpoint of tests/golden/export, what PyTorch answered to a ragged batch, and
 * our engine's answers to the same. */
#ifndef EXPORT_CASE_H
#define EXPORT_CASE_H
#include "base/file.h"
#include "check.h"
#include "data/npy.h"
#include "engine/engine.h"
#include "export/export.h"

#define GOLDEN "tests/golden/export"

static inline bool export_all(Export *e, Err *err)
{
    return export_open(e, err) && export_build(e, err) && export_write(e, err) &&
           export_copy(e, err) && export_labels(e, err);
}

static inline bool load_npy(Arena *arena, const char *dir, const char *name, Npy *out)
{
    Err err;
    Str file;
    return file_read(arena, path_join(arena, dir, str_of(name)), 1 << 24, &file, &err) &&
           npy_read(file, out, &err);
}

typedef struct Case {
    Arena arena;
    Npy start, ids, type_ids, output;
    Npy boxes; /* of layouts: [T, 4]; others have none */
    Mapping file;
    OnnxModel model;
} Case;

/* What was not compared is as wrong as can be. */
static inline double all_compared(const Case *c, double most, const float *end)
{
    int64_t n = 1;
    for (int i = 0; i < c->output.rank; i++) n *= c->output.dim[i];
    return end == (const float *)c->output.data + n ? most : INFINITY;
}

static inline double run_engine(Case *c, Err *err)
{
    RowOutput out[16];
    Graph *g;
    Engine *e;
    if (!graph_from_onnx(&c->arena, &c->model, &g, err) || !graph_optimize(g, false, err) ||
        !engine_new(&c->arena, g, &g->value[g->output[0]].name, 1, &e, err))
        return INFINITY;
    Runner *runner = runner_new(e, NULL);
    Batch batch = { (int)c->start.dim[0] - 1, c->start.data, c->ids.data, c->type_ids.data,
                    c->boxes.data };
    const float *want = c->output.data;
    double most = runner_run(runner, &batch, out, err) ? 0 : INFINITY;
    for (int r = 0; most < INFINITY && r < batch.B; r++)
        for (int64_t i = 0; i < out[r].tokens * out[r].width; i++, want++)
            most = fmax(most, fabs((double)out[r].data[i] - *want));
    runner_free(runner);
    return all_compared(c, most, want);
}

static inline bool load_case(Case *c, const char *dir)
{
    if (!load_npy(&c->arena, dir, "bbox.npy", &c->boxes)) c->boxes = (Npy){ 0 };
    return load_npy(&c->arena, dir, "start.npy", &c->start) &&
           load_npy(&c->arena, dir, "ids.npy", &c->ids) &&
           load_npy(&c->arena, dir, "type_ids.npy", &c->type_ids) &&
           load_npy(&c->arena, dir, "output.npy", &c->output);
}

static inline bool open_case(Case *c, const char *onnx, Err *err)
{
    return file_map(onnx, &c->file, err) &&
           onnx_read(&c->arena, (Str){ (const char *)c->file.p, c->file.n }, &c->model, err);
}

#endif

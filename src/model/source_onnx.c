/* SPDX-License-Identifier: Apache-2.0
 * source_onnx.c - an .onnx with its external data. Some exporters write one file per weight, so
 * each file is mapped once, however many tensors lie in it, and all are closed together. */
#include "model/source.h"

#include "data/checkpoint.h"
#include "export/export.h"

typedef struct MappedFile MappedFile;
struct MappedFile {
    Str name; /* as the model spells it */
    Mapping map;
    MappedFile *next;
};

typedef struct OnnxFinder {
    Arena *arena;
    const char *folder, *task;
    OnnxFile *file;
} OnnxFinder;

static bool map_export(const OnnxFinder *f, const char *weights, Mapping *out, Err *err)
{
    Export e = { .model = weights, .task = f->task, .clean = true, .no_metadata = true };
    bool ok = export_open(&e, err) && export_build(&e, err) && export_map(&e, out, err);
    export_close(&e);
    return ok;
}

static bool map_into(OnnxFinder *f, const char *path, Str name, Str *bytes, Err *err)
{
    MappedFile *m = NEW(f->arena, MappedFile);
    bool model = !name.p; /* not a file of its weights */
    bool ok = model && checkpoint_is(path) ? map_export(f, path, &m->map, err)
                                           : file_map(path, &m->map, err);
    if (!ok) return false;
    m->name = name;
    m->next = f->file->files;
    f->file->files = m;
    *bytes = (Str){ (const char *)m->map.p, m->map.n };
    return true;
}

/* OnnxFind: the bytes of a file beside the model. */
static bool find_beside(void *context, Str location, Str *bytes, Err *err)
{
    OnnxFinder *f = context;
    for (MappedFile *m = f->file->files; m; m = m->next)
        if (str_eq(m->name, location)) {
            *bytes = (Str){ (const char *)m->map.p, m->map.n };
            return true;
        }
    if (!path_stays_inside(location))
        return fail(err, EF_BAD_MODEL, "external data \"%.*s\": points outside the model's folder",
                    STR_ARG(location));
    return map_into(f, path_join(f->arena, f->folder, location), location, bytes, err);
}

static bool open_parts(OnnxFinder *f, const char *path, Err *err)
{
    Str bytes;
    if (!map_into(f, path, (Str){ 0 }, &bytes, err)) return false;
    if (bytes.n == 0)
        return fail(err, EF_BAD_MODEL, "%s: found an empty file, wanted an ONNX model", path);
    if (onnx_read(f->arena, bytes, &f->file->model, err) &&
        onnx_attach(&f->file->model, find_beside, f, err))
        return true;
    return within(err, "%s", path);
}

bool onnx_file_open(Arena *arena, const char *path, OnnxFile *file, Err *err)
{
    return onnx_file_open_for(arena, path, NULL, file, err);
}

bool onnx_file_open_for(Arena *arena, const char *path, const char *task, OnnxFile *file, Err *err)
{
    *file = (OnnxFile){ 0 };
    OnnxFinder f = { arena, path_dir(arena, path), task, file };
    if (open_parts(&f, path, err)) return true;
    onnx_file_close(file);
    return false;
}

void onnx_file_close(OnnxFile *file)
{
    for (MappedFile *m = file->files; m; m = m->next) file_unmap(&m->map);
    file->files = NULL;
}

void onnx_file_forget(const OnnxFile *file)
{
    for (const MappedFile *m = file->files; m; m = m->next) file_forget(m->map.p, m->map.n);
}

uint64_t onnx_file_bytes(const OnnxFile *file)
{
    uint64_t bytes = 0;
    for (const MappedFile *m = file->files; m; m = m->next) bytes += m->map.n;
    return bytes;
}

const char *onnx_precision(const OnnxModel *model)
{
    static const char *const quantizing[] = { "MatMulInteger",         "DynamicQuantizeLinear",
                                              "QLinearMatMul",         "DequantizeLinear",
                                              "DynamicQuantizeMatMul", "MatMulIntegerToFloat" };
    for (int i = 0; i < model->graph.n_node; i++)
        for (size_t k = 0; k < COUNT(quantizing); k++)
            if (str_is(model->graph.node[i].op, quantizing[k])) return "int8";
    return "fp32";
}

bool source_precision(const OnnxModel *onnx, Str asked, const char **out, Err *err)
{
    Precision own, wanted;
    *out = onnx_precision(onnx);
    if (asked.n == 0) return true;
    if (!precision_find(asked, &wanted) || !precision_find(str_of(*out), &own))
        return fail(err, EF_INVALID_INPUT, "precision: found \"%.*s\", wanted fp32, bf16 or int8",
                    STR_ARG(asked));
    if (wanted < own)
        return fail(err, EF_UNSUPPORTED,
                    "precision: found a model in %s, wanted %s: a higher one cannot be made", *out,
                    precision_name(wanted));
    *out = precision_name(wanted);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * add_config.c - see add_config.h. */
#include "api/add_config.h"

#include "base/thread.h"
#include "export/files.h"

static bool add_config_check(Arena *arena, const char *onnx, Err *err)
{
    OnnxPair *ignored;
    Mapping map;
    int n;
    if (!file_map(onnx, &map, err)) return false;
    bool is = onnx_props(arena, (Str){ (const char *)map.p, map.n }, &ignored, &n, err);
    file_unmap(&map);
    return is || within(err, "%s", onnx);
}

bool add_config_files(Arena *arena, AddConfig *a, Err *err)
{
    Export *e = &a->files;
    double begin = now_seconds();
    *e = (Export){ .onnx = a->onnx, .model = a->model };
    if (!add_config_check(arena, a->onnx, err) || !files_source(e, err)) return false;
    e->encoder = e->folder, e->target = path_dir(arena, e->onnx);
    if (!file_is(path_join(arena, e->folder, STR("config.json"))))
        return fail(err, EF_NOT_FOUND, "%s/config.json: not found, and Optimum needs it", e->folder);
    bool ok = files_copy_settings(e, err) && files_copy(e, "label2id.json", err) &&
              files_copy(e, "id2label.json", err);
    a->milliseconds = (now_seconds() - begin) * 1e3;
    return ok;
}

Value add_config_json(Arena *arena, const AddConfig *a)
{
    const Export *e = &a->files;
    Value v = value_map(arena, 3), files = value_map(arena, (size_t)e->n_file);
    for (int i = 0; i < e->n_file; i++)
        value_add(&files, e->file[i].name, value_of_int((int64_t)e->file[i].size));
    value_add(&v, "path", value_of_str(str_of(e->target)));
    value_add(&v, "files", files);
    value_add(&v, "milliseconds", value_of_float(a->milliseconds));
    return v;
}

void add_config_close(AddConfig *a)
{
    arena_free(&a->files.arena);
}

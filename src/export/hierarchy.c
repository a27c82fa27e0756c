/* SPDX-License-Identifier: Apache-2.0
 * hierarchy.c - see hierarchy.h. */
#include "export/hierarchy.h"

#include "base/log.h"
#include "data/json.h"

enum { MOST_JSON = 1 << 28 };

static bool read_json(Arena *arena, const char *path, Value *out, Err *err)
{
    Str text;
    if (!file_read(arena, path, MOST_JSON, &text, err)) return false;
    if (!json_parse(arena, text, out, err)) return within(err, "%s", path);
    return out->kind == V_MAP || fail(err, EF_BAD_MODEL, "%s: found %s, wanted an object", path,
                                      value_kind_name(out->kind));
}

bool hierarchy_hints(Arena *arena, const char *path, const char *sidecar, HierarchyHints *out, Err *err)
{
    Err ignored;
    *out = (HierarchyHints){ 0 };
    const char *config = path_join(arena, path_dir(arena, path), STR("config.json"));
    if (sidecar && !read_json(arena, sidecar, &out->sidecar, err)) return false;
    if (sidecar) out->hints.sidecar = &out->sidecar;
    if (file_is(config) && read_json(arena, config, &out->config, &ignored)) out->hints.config = &out->config;
    return true;
}

static bool read_parts(Arena *arena, const char *path, HierarchyFile *f, Err *err)
{
    if (!onnx_read(arena, (Str){ (const char *)f->map.p, f->map.n }, &f->model, err))
        return within(err, "%s", path);
    if (!hierarchy_hints(arena, path, f->sidecar_path, &f->beside, err)) return false;
    htp_read(arena, &f->model.graph, &f->beside.hints, &f->htp);
    return true;
}

bool hierarchy_open(Arena *arena, const char *path, const char *sidecar, HierarchyFile *f, Err *err)
{
    *f = (HierarchyFile){ .sidecar_path = sidecar };
    if (!file_map(path, &f->map, err)) return false;
    if (!sidecar) f->sidecar_path = htp_sidecar_find(arena, path);
    if (read_parts(arena, path, f, err)) {
        log_debug("%s: %d nodes, tags from %s cover %.1f%%; sidecar: %s", path,
                  f->model.graph.n_node, htp_source_name[f->htp.source], htp_coverage(&f->htp),
                  f->sidecar_path ? f->sidecar_path : "none");
        return true;
    }
    hierarchy_close(f);
    return false;
}

void hierarchy_close(HierarchyFile *f)
{
    file_unmap(&f->map);
}

bool hierarchy_compare(Arena *arena, const char *path, const char *other, Value *out, Err *err)
{
    HierarchyFile one, two;
    if (!hierarchy_open(arena, path, NULL, &one, err)) return false;
    bool ok = hierarchy_open(arena, other, NULL, &two, err);
    if (ok) {
        *out = htp_compare(arena, &one.htp, path, &two.htp, other);
        hierarchy_close(&two);
    }
    hierarchy_close(&one);
    return ok;
}

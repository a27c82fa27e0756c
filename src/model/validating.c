/* SPDX-License-Identifier: Apache-2.0
 * validating.c - see validating.h. --repair writes the tags where every runtime tolerates them. */
#include "model/validating.h"

#include "base/thread.h"
#include "export/files.h"
#include "export/hf_metadata.h"
#include "export/hierarchy.h"

#define FIELD(field) OPTION_FIELD_OF(Validating, field)
const Option validate_options[] = {
    { "check-consistency", 0, NULL, "compare the tags in the file with those of its sidecar",
      TAKES_NOTHING, FIELD(compare) },
    { "repair", 0, NULL, "rewrite the file: missing, differing and badly stored tags",
      TAKES_NOTHING, FIELD(repair) },
    { "check-metadata", 0, NULL, "judge the hf_ metadata inside, too", TAKES_NOTHING,
      FIELD(judge) },
    { "check-task", 0, NULL, NULL, TAKES_NOTHING, FIELD(judge) },
    { "check-processor", 0, NULL, NULL, TAKES_NOTHING, FIELD(judge) },
    { "sidecar", 0, "FILE", "the hierarchy's JSON, where it is not beside the model", TAKES_TEXT,
      FIELD(sidecar) },
    { 0 },
};

/* ---- one file ---- */

static void examine_tags(Arena *arena, const OnnxGraph *g, Validating *v)
{
    int attributes = 0;
    for (int i = 0; i < g->n_node; i++) {
        HtpSource source;
        v->tagged += htp_node_tag(arena, &g->node[i], &source).n > 0;
        attributes += onnx_attr(&g->node[i], HTP_TAG) != NULL;
    }
    if (!attributes || !v->valid) return;
    v->valid = false;
    v->why = "hierarchy_tag attributes: ONNX Runtime refuses them (--repair moves them)";
}

static void examine(Arena *arena, const HierarchyFile *f, Validating *v)
{
    Err err = { 0 };
    v->nodes = f->model.graph.n_node;
    v->source = f->htp.source, v->coverage = htp_coverage(&f->htp);
    v->sidecar_path = f->sidecar_path;
    v->valid = onnx_check(arena, &f->model, &err);
    v->why = v->valid ? NULL : str_dup(arena, str_of(err.message));
    examine_tags(arena, &f->model.graph, v);
}

static bool judge_metadata(Arena *arena, Validating *v, Err *err)
{
    HfMetadata m;
    const char *line[32];
    if (!v->judge) return true;
    if (!hf_metadata_open(arena, v->path, &m, err)) return false;
    int n = hf_metadata_problems(arena, &m, line, COUNT(line));
    v->problems = value_list(arena, (size_t)n);
    for (int i = 0; i < n; i++) v->problems.list.items[i] = value_of_str(str_of(line[i]));
    return true;
}

/* ---- repair ---- */
static bool drop_attribute(OnnxNode *n)
{
    int kept = 0;
    for (int i = 0; i < n->n_attr; i++)
        if (!str_is(n->attr[i].name, HTP_TAG)) n->attr[kept++] = n->attr[i];
    bool dropped = kept < n->n_attr;
    n->n_attr = kept;
    return dropped;
}

static bool set_tag(Arena *arena, OnnxNode *n, Str tag)
{
    for (int i = 0; i < n->n_meta; i++) {
        if (!str_is(n->meta[i].key, HTP_TAG)) continue;
        if (str_eq(n->meta[i].value, tag)) return false;
        n->meta[i].value = tag;
        return true;
    }
    OnnxPair *meta = ARRAY(arena, OnnxPair, n->n_meta + 1);
    if (n->n_meta) memcpy(meta, n->meta, sizeof *meta * (size_t)n->n_meta);
    meta[n->n_meta++] = (OnnxPair){ STR(HTP_TAG), tag };
    n->meta = meta;
    return true;
}

static int repair_nodes(Arena *arena, HierarchyFile *f)
{
    Map wanted = { 0 };
    int changed = 0;
    if (f->sidecar_path) wanted = htp_tag_map(arena, &f->beside.sidecar);
    for (int i = 0; i < f->model.graph.n_node; i++) {
        OnnxNode *n = &f->model.graph.node[i];
        const Str *said = map_get(&wanted, n->name);
        Str tag = said ? *said : f->htp.tag[i];
        bool moved = drop_attribute(n);
        changed += (tag.n && set_tag(arena, n, tag)) || moved;
    }
    return changed;
}

static bool repair(Arena *arena, HierarchyFile *f, Validating *v, Err *err)
{
    if (!v->repair) return true;
    v->repaired = repair_nodes(arena, f);
    hf_metadata_refresh(arena, &f->model);
    return !v->repaired || onnx_save(arena, v->path, &f->model, err);
}

/* ---- the report ---- */

static void report_file(Arena *arena, Validating *v, Value consistency, double seconds)
{
    Value *r = &v->report, missing = value_list(arena, 1);
    const char *sidecar = v->sidecar_path;
    ExportFile file[] = {
        { v->path, file_size(v->path), v->repaired > 0 ? FILE_WRITTEN : FILE_READ },
        { sidecar, sidecar ? file_size(sidecar) : 0, FILE_READ },
    };
    *r = value_map(arena, 17);
    value_add(r, "path", value_of_str(str_of(v->path)));
    value_add(r, "valid", value_of_bool(v->valid));
    value_add(r, "error", v->why ? value_of_str(str_of(v->why)) : value_null());
    value_add(r, "total_nodes", value_of_int(v->nodes));
    value_add(r, "tagged_nodes", value_of_int(v->tagged));
    value_add(r, "tag_source", value_of_str(str_of(htp_source_name[v->source])));
    value_add(r, "coverage", value_of_float(v->coverage));
    value_add(r, "sidecar", sidecar ? value_of_str(path_name(sidecar)) : value_null());
    if (consistency.kind == V_MAP) value_add(r, "consistency", consistency);
    if (v->judge) value_add(r, "metadata_problems", v->problems);
    if (v->repaired >= 0) value_add(r, "repaired", value_of_int(v->repaired));
    files_report(arena, file, sidecar ? 2 : 1, r);
    missing.list.items[0] = value_of_str(STR("sidecar"));
    missing.list.n = v->compare && !sidecar;
    value_add(r, "missing", missing);
    value_add(r, "seconds", value_of_float(seconds));
}

static bool validate_file(Arena *arena, Validating *v, Err *err)
{
    HierarchyFile f;
    double begin = now_seconds();
    Value consistency = value_null();
    v->repaired = -1;
    if (!hierarchy_open(arena, v->path, v->sidecar, &f, err)) return false;
    bool ok = repair(arena, &f, v, err) && judge_metadata(arena, v, err);
    if (ok) examine(arena, &f, v);
    if (ok && v->compare && f.sidecar_path) {
        consistency = htp_consistency(arena, &f.model.graph, &f.beside.sidecar);
        v->consistent = value_bool(value_get(&consistency, "consistent"), false);
    }
    v->ok = v->valid && (!v->compare || v->consistent) && !(v->judge && v->problems.list.n);
    if (ok) report_file(arena, v, consistency, now_seconds() - begin);
    hierarchy_close(&f);
    return ok;
}

/* ---- a folder ---- */

static bool validate_folder(Arena *arena, Validating *v, Err *err)
{
    const struct { const char *name; bool set; } of_files[] = {
        { "check-consistency", v->compare }, { "repair", v->repair },
        { "check-metadata", v->judge }, { "sidecar", v->sidecar },
    };
    double begin = now_seconds();
    for (size_t i = 0; i < COUNT(of_files); i++)
        if (of_files[i].set)
            return fail(err, EF_USAGE, "--%s: found a folder, wanted an .onnx", of_files[i].name);
    if (!optimum_check(arena, v->path, true, &v->optimum, err)) return false;
    v->ok = v->optimum.compatible;
    v->report = optimum_json(arena, &v->optimum, now_seconds() - begin);
    return true;
}

bool validating_run(Arena *arena, Validating *v, Err *err)
{
    v->folder = dir_is(v->path);
    return v->folder ? validate_folder(arena, v, err) : validate_file(arena, v, err);
}

/* SPDX-License-Identifier: Apache-2.0
 * cmd_validate.c - an ONNX file and its hierarchy: is it well-formed, is every node tagged, does its
 * sidecar agree. --repair writes the tags where every runtime tolerates them. Exit 1: something is
 * wrong. */
#include "cli/cli.h"
#include "cli/hierarchy.h"
#include "cli/onnx_io.h"
#include "cli/optimum.h"
#include "export/hf_metadata.h"

static const Option options[] = {
    { "check-consistency", 0, NULL, "compare the tags in the file with those of its sidecar" },
    { "repair", 0, NULL, "rewrite the file: missing, differing and badly stored tags" },
    { "check-metadata", 0, NULL, "judge the hf_ metadata inside, too" },
    { "check-task", 0, NULL, NULL },
    { "check-processor", 0, NULL, NULL },
    { "sidecar", 0, "FILE", "the hierarchy's JSON, where it is not beside the model" },
    { "json", 0, NULL, "as JSON" },
    OPTION_VERBOSE,
    { 0 },
};

typedef struct Findings {
    const char *path;
    HierarchyFile *file;
    bool valid;             /* well-formed, and ONNX Runtime will not stumble over tags */
    const char *why;        /* when not */
    int tagged, attributes; /* nodes with tags of their own; of those, as attributes */
    int repaired;           /* nodes; -1: not asked for */
    bool compared, consistent;
    Value consistency;
    bool judged;            /* the metadata, too */
    Value problems;         /* of it: lines */
} Findings;

static void count_tags(Arena *arena, Findings *f)
{
    const OnnxGraph *g = &f->file->model.graph;
    f->tagged = f->attributes = 0;
    for (int i = 0; i < g->n_node; i++) {
        HtpSource source;
        f->tagged += htp_node_tag(arena, &g->node[i], &source).n > 0;
        f->attributes += onnx_attr(&g->node[i], HTP_TAG) != NULL;
    }
}

static bool judge_metadata(Args *a, Findings *f, Err *err)
{
    HfMetadata m;
    const char *line[32];
    f->judged = args_has(a, "check-metadata") || args_has(a, "check-task") ||
                args_has(a, "check-processor");
    if (!f->judged) return true;
    if (!hf_metadata_open(&a->arena, f->path, &m, err)) return false;
    int n = hf_metadata_problems(&a->arena, &m, line, COUNT(line));
    f->problems = value_list(&a->arena, (size_t)n);
    for (int i = 0; i < n; i++) f->problems.list.items[i] = value_of_str(str_of(line[i]));
    return true;
}

static void examine(Args *a, Findings *f)
{
    Err err = { 0 };
    f->valid = onnx_check(&a->arena, &f->file->model, &err);
    f->why = f->valid ? NULL : str_dup(&a->arena, str_of(err.message));
    count_tags(&a->arena, f);
    if (f->attributes && f->valid) {
        f->valid = false;
        f->why = "hierarchy_tag attributes: ONNX Runtime refuses them (--repair moves them)";
    }
    f->compared = args_has(a, "check-consistency");
    if (!f->compared || !f->file->sidecar_path) return;
    f->consistency = htp_consistency(&a->arena, &f->file->model.graph, &f->file->sidecar);
    f->consistent = value_bool(value_get(&f->consistency, "consistent"), false);
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
    if (f->sidecar_path) wanted = htp_tag_map(arena, &f->sidecar);
    for (int i = 0; i < f->model.graph.n_node; i++) {
        OnnxNode *n = &f->model.graph.node[i];
        const Str *said = map_get(&wanted, n->name);
        Str tag = said ? *said : f->htp.tag[i];
        bool moved = drop_attribute(n);
        changed += (tag.n && set_tag(arena, n, tag)) || moved;
    }
    return changed;
}

static bool repair(Args *a, Findings *f, Err *err)
{
    f->repaired = repair_nodes(&a->arena, f->file);
    hf_metadata_refresh(&a->arena, &f->file->model);
    return !f->repaired || onnx_save(&a->arena, f->path, &f->file->model, err);
}

/* ---- what is said ---- */
static void put_text(Buf *b, const Findings *f)
{
    const HierarchyFile *file = f->file;
    if (f->valid) buf_puts(b, "ONNX model is valid\n");
    else buf_printf(b, "ONNX model is not valid: %s\n", f->why);
    buf_printf(b, "Found %d operations with hierarchy tags (of %d)\n", f->tagged,
               file->model.graph.n_node);
    if (f->tagged < file->model.graph.n_node && file->htp.source != HTP_NONE)
        buf_printf(b, "Tags from %s cover %.1f%%\n", htp_source_name[file->htp.source],
                   htp_coverage(&file->htp));
    if (file->sidecar_path)
        buf_printf(b, "Found sidecar file: %.*s\n", STR_ARG(path_name(file->sidecar_path)));
    else buf_puts(b, "No sidecar file found\n");
    if (f->compared && !file->sidecar_path)
        buf_puts(b, "--check-consistency: nothing to compare with\n");
    else if (f->compared)
        buf_puts(b, f->consistent ? "Tags are consistent\n" : "Tag inconsistencies found\n");
    if (f->judged && !f->problems.list.n) buf_puts(b, "Metadata is valid\n");
    for (size_t i = 0; f->judged && i < f->problems.list.n; i++)
        buf_printf(b, "Metadata: %.*s\n", STR_ARG(f->problems.list.items[i].s));
    if (f->repaired >= 0) buf_printf(b, "Repaired %d operations\n", f->repaired);
}

static Value as_json(Arena *arena, const Findings *f)
{
    Value v = value_map(arena, 12);
    const char *sidecar = f->file->sidecar_path;
    value_add(&v, "path", value_of_str(str_of(f->path)));
    value_add(&v, "valid", value_of_bool(f->valid));
    value_add(&v, "error", f->why ? value_of_str(str_of(f->why)) : value_null());
    value_add(&v, "total_nodes", value_of_int(f->file->model.graph.n_node));
    value_add(&v, "tagged_nodes", value_of_int(f->tagged));
    value_add(&v, "tag_source", value_of_str(str_of(htp_source_name[f->file->htp.source])));
    value_add(&v, "coverage", value_of_float(htp_coverage(&f->file->htp)));
    value_add(&v, "sidecar", sidecar ? value_of_str(path_name(sidecar)) : value_null());
    if (f->consistency.kind == V_MAP) value_add(&v, "consistency", f->consistency);
    if (f->judged) value_add(&v, "metadata_problems", f->problems);
    if (f->repaired >= 0) value_add(&v, "repaired", value_of_int(f->repaired));
    return v;
}

static bool report(Args *a, const Findings *f, Err *err)
{
    bool agrees = !f->compared || f->consistent;
    a->exit = f->valid && agrees && !(f->judged && f->problems.list.n) ? 0 : 1;
    if (args_has(a, "json")) {
        Value v = as_json(&a->arena, f);
        return out_json(&v, err);
    }
    Buf b = { 0 };
    put_text(&b, f);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

/* A folder: would Optimum load it, and do we run it? The status answers the first question. */
static bool validate_folder(Args *a, const char *folder, Err *err)
{
    static const char *const of_files[] = { "check-consistency", "repair", "check-metadata",
                                            "check-task", "check-processor", "sidecar" };
    OptimumReport r;
    for (size_t i = 0; i < COUNT(of_files); i++)
        if (args_has(a, of_files[i]))
            return fail(err, EF_USAGE, "--%s: found a folder, wanted an .onnx", of_files[i]);
    if (!optimum_check(&a->arena, folder, true, &r, err)) return false;
    a->exit = !r.compatible;
    if (args_has(a, "json")) {
        Value v = optimum_json(&a->arena, &r);
        return out_json(&v, err);
    }
    Buf b = { 0 };
    optimum_print(&b, &r);
    bool ok = out_buf(&b, err);
    buf_free(&b);
    return ok;
}

static bool validate(Args *a, Err *err)
{
    HierarchyFile file;
    if (a->n_text == 1 && dir_is(a->text[0])) return validate_folder(a, a->text[0], err);
    if (a->n_text != 1)
        return fail(err, EF_USAGE, "found %d files, wanted one ONNX model or a folder", a->n_text);
    Findings f = { .path = a->text[0], .file = &file, .repaired = -1 };
    if (!hierarchy_open(&a->arena, f.path, args_value(a, "sidecar"), &file, err)) return false;
    bool ok = (!args_has(a, "repair") || repair(a, &f, err)) && judge_metadata(a, &f, err);
    if (ok) examine(a, &f);
    ok = ok && report(a, &f, err);
    hierarchy_close(&file);
    return ok;
}

static bool run(Args *a, Err *err)
{
    return validate(a, err) || within(err, "Error during validation");
}

const Command cmd_validate = {
    .name = "validate",
    .summary = "check an ONNX file and its tags, or whether a folder loads in Optimum and here",
    .usage = "MODEL.onnx|DIR [--check-consistency] [--repair] [--json]",
    .example = "  encoderfile validate model.onnx --check-consistency\n"
               "  encoderfile validate ./exported\n",
    .note = "A folder gets a line for each check: config.json, model.onnx, loads, processors, pipeline (of\n"
            "Optimum), metadata, and runs (this program). Exit status 1: Optimum does not load it, or one of\n"
            "its checks failed; a warning, and whether this program runs it, do not change the status.\n",
    .options = options,
    .run = run,
    .builder = true,
};

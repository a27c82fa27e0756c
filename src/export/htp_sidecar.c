/* SPDX-License-Identifier: Apache-2.0
 * htp_sidecar.c - an export as JSON: run, model, modules as a tree, the tag of every node. */
#include "htp_report.h"

#include <stdlib.h>

static double two_decimals(double x)
{
    return (double)(int64_t)(x * 100 + 0.5) / 100;
}

static double size_mb(const HtpRun *r)
{
    return two_decimals((double)r->onnx_size / (1 << 20));
}

/* ---- modules ---- */
/* Class or Class.N; siblings of one class are told apart by their attribute. */
static const char *child_key(Arena *arena, const Value *children, const HtpModule *m)
{
    const char *key = str_dup(arena, htp_last(m->tag)), *scope = str_dup(arena, m->scope);
    const char *dot = strrchr(scope, '.');
    if (!value_get(children, key)) return key;
    return str_format(arena, "%s:%s", key, dot ? dot + 1 : scope);
}

static Value module_tree(const Htp *h, int at)
{
    const HtpModule *m = &h->module[at];
    size_t n = 0;
    for (int i = at + 1; i < h->n_module; i++) n += h->module[i].parent == at;
    Value v = value_map(h->arena, 5), children = value_map(h->arena, n);
    value_add(&v, "class_name", value_of_str(htp_class(m)));
    value_add(&v, "traced_tag", value_of_str(m->tag));
    value_add(&v, "scope", value_of_str(m->scope));
    value_add(&v, "execution_order", value_of_int(at));
    for (int i = at + 1; i < h->n_module; i++)
        if (h->module[i].parent == at)
            value_add(&children, child_key(h->arena, &children, &h->module[i]), module_tree(h, i));
    if (n) value_add(&v, "children", children);
    return v;
}

static int htp_sidecar_by_text(const void *a, const void *b)
{
    return str_cmp(a, b);
}

static Value class_names(const Htp *h)
{
    Str *names = ARRAY(h->arena, Str, h->n_module);
    size_t n = 0;
    for (int i = 0; i < h->n_module; i++) names[i] = htp_class(&h->module[i]);
    qsort(names, (size_t)h->n_module, sizeof *names, htp_sidecar_by_text);
    for (int i = 0; i < h->n_module; i++)
        if (!i || !str_eq(names[i], names[i - 1])) names[n++] = names[i];
    Value list = value_list(h->arena, n);
    for (size_t i = 0; i < n; i++) list.list.items[i] = value_of_str(names[i]);
    return list;
}

static Value node_tags(const Htp *h)
{
    Value map = value_map(h->arena, (size_t)h->graph->n_node);
    for (int i = 0; i < h->graph->n_node; i++)
        value_add(&map, str_dup(h->arena, h->graph->node[i].name), value_of_str(h->tag[i]));
    return map;
}

/* ---- the run and the model ---- */
static Value describe_run(const HtpRun *r, Arena *arena)
{
    const Export *e = r->e;
    Value v = value_map(arena, 8);
    value_add(&v, "timestamp", value_of_str(r->started));
    value_add(&v, "strategy", value_of_text("htp"));
    value_add(&v, "version", value_of_text("1.0"));
    value_add(&v, "exporter", value_of_text("encoderfile"));
    value_add(&v, "embed_hierarchy_attributes", value_of_bool(!e->clean));
    value_add(&v, "export_time_seconds", value_of_float(r->seconds));
    value_add(&v, "class_names",
              value_of_text(e->class_names ? e->class_names : "transformers-5"));
    return v;
}

static Value describe_model(const HtpRun *r, Arena *arena)
{
    const Export *e = r->e;
    Value v = value_map(arena, 5);
    value_add(&v, "name_or_path", value_of_text(e->model));
    value_add(&v, "class_name", value_of_text(e->class_name));
    value_add(&v, "framework", value_of_text("transformers"));
    value_add(&v, "total_modules", value_of_int(r->total_modules));
    value_add(&v, "total_parameters", value_of_int((int64_t)e->parameters));
    return v;
}

static Value describe_inputs(const Htp *h)
{
    const OnnxGraph *g = h->graph;
    Value inputs = value_map(h->arena, (size_t)g->n_in);
    for (int i = 0; i < g->n_in; i++) {
        Value one = value_map(h->arena, 2), shape = value_list(h->arena, (size_t)g->in[i].rank);
        for (int k = 0; k < g->in[i].rank; k++) shape.list.items[k] = value_of_int(g->in[i].dim[k]);
        value_add(&one, "shape", shape);
        value_add(&one, "dtype", value_of_text(g->in[i].type == T_F32 ? "torch.float32" : "torch.int64"));
        value_add(&inputs, str_dup(h->arena, g->in[i].name), one);
    }
    return inputs;
}

static Value output_names(const Htp *h)
{
    const OnnxGraph *g = h->graph;
    Value names = value_list(h->arena, (size_t)g->n_out);
    for (int i = 0; i < g->n_out; i++) names.list.items[i] = value_of_str(g->out[i].name);
    return names;
}

static Value describe_tracing(const HtpRun *r, const Htp *h)
{
    Value v = value_map(h->arena, 7);
    value_add(&v, "builder", value_of_text("construction"));
    value_add(&v, "modules_traced", value_of_int(h->n_module));
    value_add(&v, "execution_steps", value_of_int(2 * h->n_module));
    value_add(&v, "model_type", value_of_text(r->e->model_type));
    value_add(&v, "task", value_of_text(r->e->task_name));
    value_add(&v, "inputs", describe_inputs(h));
    value_add(&v, "outputs", output_names(h));
    return v;
}

static Value htp_sidecar_file_named(Arena *arena, const char *name)
{
    Value v = value_map(arena, 1);
    value_add(&v, "path", value_of_text(name));
    return v;
}

static Value describe_outputs(const HtpRun *r, const Htp *h)
{
    Value v = value_map(h->arena, 3), onnx = value_map(h->arena, 4);
    value_add(&onnx, "path", value_of_str(path_name(r->e->onnx)));
    value_add(&onnx, "size_mb", value_of_float(size_mb(r)));
    value_add(&onnx, "opset_version", value_of_int(r->e->opset));
    value_add(&onnx, "output_names", output_names(h));
    value_add(&v, "onnx_model", onnx);
    value_add(&v, "metadata", htp_sidecar_file_named(h->arena, r->e->sidecar));
    if (r->report) value_add(&v, "report", htp_sidecar_file_named(h->arena, r->report));
    return v;
}

/* ---- the steps ---- */
static Value step_begin(const HtpRun *r, Arena *arena, HtpStep step, size_t room)
{
    Value v = value_map(arena, room + 3);
    value_add(&v, "completed", value_of_bool(true));
    value_add(&v, "timestamp", value_of_str(r->done[step]));
    if (r->took[step] > 0) value_add(&v, "seconds", value_of_float(r->took[step]));
    return v;
}

static Value step_prepare(const HtpRun *r, Arena *arena)
{
    Value v = step_begin(r, arena, STEP_PREPARE, 3);
    value_add(&v, "model_class", value_of_text(r->e->class_name));
    value_add(&v, "total_modules", value_of_int(r->total_modules));
    value_add(&v, "total_parameters", value_of_int((int64_t)r->e->parameters));
    return v;
}

static Value step_inputs(const HtpRun *r, const Htp *h)
{
    Value v = step_begin(r, h->arena, STEP_INPUTS, 4);
    value_add(&v, "method", value_of_text(r->e->batch ? "provided" : "auto_generated"));
    value_add(&v, "model_type", value_of_text(r->e->model_type));
    value_add(&v, "task", value_of_text(r->e->task_name));
    value_add(&v, "inputs", describe_inputs(h));
    return v;
}

static Value step_hierarchy(const HtpRun *r, const Htp *h)
{
    Value v = step_begin(r, h->arena, STEP_HIERARCHY, 2);
    value_add(&v, "modules_traced", value_of_int(h->n_module));
    value_add(&v, "execution_steps", value_of_int(2 * h->n_module));
    return v;
}

static Value step_onnx(const HtpRun *r, const Htp *h)
{
    Value v = step_begin(r, h->arena, STEP_ONNX, 4);
    value_add(&v, "opset_version", value_of_int(r->e->opset));
    value_add(&v, "do_constant_folding", value_of_bool(true));
    value_add(&v, "onnx_size_mb", value_of_float(size_mb(r)));
    value_add(&v, "output_names", output_names(h));
    return v;
}

static Value step_tagging(const HtpRun *r, const Htp *h)
{
    const HtpMatches *m = &h->matches;
    Value v = step_begin(r, h->arena, STEP_TAGGING, 5), count = value_map(h->arena, 7);
    Value coverage = value_map(h->arena, 3);
    value_add(&count, "root_nodes", value_of_int(m->root_nodes));
    value_add(&count, "scoped_nodes", value_of_int(m->scoped_nodes));
    value_add(&count, "unique_scopes", value_of_int(m->unique_scopes));
    value_add(&count, "direct_matches", value_of_int(m->direct));
    value_add(&count, "parent_matches", value_of_int(m->parent));
    value_add(&count, "operation_matches", value_of_int(0));
    value_add(&count, "root_fallbacks", value_of_int(m->root_fallbacks));
    value_add(&coverage, "percentage", value_of_float(htp_coverage(h)));
    value_add(&coverage, "total_onnx_nodes", value_of_int(h->graph->n_node));
    value_add(&coverage, "tagged_nodes", value_of_int(h->tagged));
    value_add(&v, "total_nodes", value_of_int(h->graph->n_node));
    value_add(&v, "tagged_nodes_count", value_of_int(h->tagged));
    value_add(&v, "coverage_percentage", value_of_float(htp_coverage(h)));
    value_add(&v, "statistics", count);
    value_add(&v, "coverage", coverage);
    return v;
}

static Value step_injection(const HtpRun *r, Arena *arena)
{
    Value v = step_begin(r, arena, STEP_INJECTION, 2);
    value_add(&v, "tags_injected", value_of_bool(!r->e->clean));
    value_add(&v, "tags_stripped", value_of_bool(r->e->clean));
    return v;
}

static Value describe_report(const HtpRun *r, const Htp *h)
{
    Value v = value_map(h->arena, 1), steps = value_map(h->arena, HTP_STEPS);
    value_add(&steps, "model_preparation", step_prepare(r, h->arena));
    value_add(&steps, "input_generation", step_inputs(r, h));
    value_add(&steps, "hierarchy_building", step_hierarchy(r, h));
    value_add(&steps, "onnx_export", step_onnx(r, h));
    value_add(&steps, "node_tagging", step_tagging(r, h));
    value_add(&steps, "tag_injection", step_injection(r, h->arena));
    value_add(&v, "steps", steps);
    return v;
}

static Value describe_statistics(const HtpRun *r, const Htp *h)
{
    Value v = value_map(h->arena, 8);
    value_add(&v, "export_time", value_of_float(r->seconds));
    value_add(&v, "hierarchy_modules", value_of_int(r->total_modules));
    value_add(&v, "traced_modules", value_of_int(h->n_module));
    value_add(&v, "onnx_nodes", value_of_int(h->graph->n_node));
    value_add(&v, "tagged_nodes", value_of_int(h->tagged));
    value_add(&v, "empty_tags", value_of_int(h->graph->n_node - h->tagged));
    value_add(&v, "coverage_percentage", value_of_float(htp_coverage(h)));
    value_add(&v, "module_types", class_names(h));
    return v;
}

Value htp_sidecar(const HtpRun *r)
{
    const Htp *h = r->htp;
    Value root = value_map(h->arena, 8);
    value_add(&root, "export_context", describe_run(r, h->arena));
    value_add(&root, "model", describe_model(r, h->arena));
    value_add(&root, "tracing", describe_tracing(r, h));
    value_add(&root, "modules", module_tree(h, 0));
    value_add(&root, "nodes", node_tags(h));
    value_add(&root, "outputs", describe_outputs(r, h));
    value_add(&root, "report", describe_report(r, h));
    value_add(&root, "statistics", describe_statistics(r, h));
    return root;
}

/* SPDX-License-Identifier: Apache-2.0
 * sidecar.c - modules are found again from the nodes' names: every part of a scope that has a class
 * is one, in the order in which the nodes first enter it, which is the order of execution. */
#include "sidecar.h"

#include <stdlib.h>

typedef struct Entered {    /* a module that was run */
    const char *path, *tag; /* "encoder.layer.0", "/BertModel/BertEncoder/BertLayer.0" */
    int parent, children;   /* parent -1: the root */
} Entered;

typedef struct Sidecar {
    Arena *arena;
    Builder *b;
    Entered *entered;
    int n, room;
    Map index;              /* path to Entered + 1 */
    int direct, parents, root; /* nodes whose scope is a module, lies in one, is only in the root */
} Sidecar;

static const char *scope_path(Arena *arena, Str name)
{
    char *path = str_dup(arena, name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    for (char *p = path; *p; p++)
        if (*p == '/') *p = '.';
    return *path ? path + 1 : path;
}

static int enter(Sidecar *s, const char *path, const char *tag, int parent)
{
    intptr_t known = (intptr_t)map_get(&s->index, str_of(path));
    if (known) return (int)known - 1;
    if (s->n == s->room) {
        Entered *more = ARRAY(s->arena, Entered, s->room * 2 + 16);
        if (s->n) memcpy(more, s->entered, sizeof *more * (size_t)s->n);
        s->entered = more, s->room = s->room * 2 + 16;
    }
    s->entered[s->n] = (Entered){ path, tag, parent, 0 };
    if (parent >= 0) s->entered[parent].children++;
    map_put(&s->index, s->arena, str_of(path), (void *)(intptr_t)(s->n + 1));
    return s->n++;
}

/* All modules on the way to a node's scope; a longer tag is a module more. */
static void enter_scope(Sidecar *s, const char *path)
{
    const char *tag = build_tag(s->b, "");
    int at = enter(s, "", tag, -1);
    bool exact = !*path;
    for (size_t n = 1; *path && n <= strlen(path); n++) {
        if (path[n] && path[n] != '.') continue;
        const char *part = str_dup(s->arena, (Str){ path, n });
        const char *deeper = build_tag(s->b, part);
        exact = strcmp(deeper, tag) != 0;
        if (exact) at = enter(s, part, deeper, at);
        tag = deeper;
    }
    if (at == 0) s->root++;
    else if (exact) s->direct++;
    else s->parents++;
}

static Str last_part(const char *tag)
{
    return str_of(strrchr(tag, '/') + 1);
}

static Str class_of(const char *tag)
{
    Str name = last_part(tag);
    const char *dot = memchr(name.p, '.', name.n);
    return dot ? (Str){ name.p, (size_t)(dot - name.p) } : name;
}

/* Class or Class.N; siblings of one class are told apart by their attribute. */
static const char *child_key(const Sidecar *s, const Value *children, const Entered *e)
{
    const char *key = str_dup(s->arena, last_part(e->tag));
    const char *dot = strrchr(e->path, '.');
    if (!value_get(children, key)) return key;
    return str_format(s->arena, "%s:%s", key, dot ? dot + 1 : e->path);
}

static Value module_tree(const Sidecar *s, int at)
{
    const Entered *e = &s->entered[at];
    Value v = value_map(s->arena, 5), children = value_map(s->arena, (size_t)e->children);
    value_add(&v, "class_name", value_of_str(class_of(e->tag)));
    value_add(&v, "traced_tag", value_of_str(str_of(e->tag)));
    value_add(&v, "scope", value_of_str(str_of(e->path)));
    value_add(&v, "execution_order", value_of_int(at));
    for (int i = at + 1; i < s->n; i++)
        if (s->entered[i].parent == at)
            value_add(&children, child_key(s, &children, &s->entered[i]), module_tree(s, i));
    if (e->children) value_add(&v, "children", children);
    return v;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(a, b);
}

static Value class_names(const Sidecar *s)
{
    Str *names = ARRAY(s->arena, Str, s->n);
    size_t n = 0;
    for (int i = 0; i < s->n; i++) names[i] = class_of(s->entered[i].tag);
    qsort(names, (size_t)s->n, sizeof *names, by_text);
    for (int i = 0; i < s->n; i++)
        if (!i || !str_eq(names[i], names[i - 1])) names[n++] = names[i];
    Value list = value_list(s->arena, n);
    for (size_t i = 0; i < n; i++) list.list.items[i] = value_of_str(names[i]);
    return list;
}

static Value node_tags(Sidecar *s)
{
    const OnnxGraph *g = &s->b->graph;
    Value map = value_map(s->arena, (size_t)g->n_node);
    for (int i = 0; i < g->n_node; i++) {
        const char *path = scope_path(s->arena, g->node[i].name);
        enter_scope(s, path);
        value_add(&map, str_dup(s->arena, g->node[i].name),
                  value_of_str(str_of(build_tag(s->b, path))));
    }
    return map;
}

static Value text(const char *s)
{
    return value_of_str(str_of(s));
}

static Value describe_run(const Export *e, Arena *arena, const SidecarFacts *f)
{
    Value v = value_map(arena, 8);
    value_add(&v, "timestamp", value_of_str(f->started));
    value_add(&v, "strategy", text("htp"));
    value_add(&v, "version", text("1.0"));
    value_add(&v, "exporter", text("encoderfile"));
    value_add(&v, "embed_hierarchy_attributes", value_of_bool(!e->clean));
    value_add(&v, "export_time_seconds", value_of_float(f->seconds));
    value_add(&v, "class_names", text(e->class_names ? e->class_names : "transformers-5"));
    return v;
}

static Value describe_model(const Export *e, Arena *arena, int modules)
{
    Value v = value_map(arena, 8);
    value_add(&v, "name_or_path", text(e->model));
    value_add(&v, "class_name", text(e->class_name));
    value_add(&v, "framework", text("transformers"));
    value_add(&v, "total_modules", value_of_int(modules));
    value_add(&v, "total_parameters", value_of_int((int64_t)e->parameters));
    return v;
}

static Value describe_tracing(const Export *e, const Sidecar *s)
{
    const OnnxGraph *g = &s->b->graph;
    Value v = value_map(s->arena, 8), inputs = value_map(s->arena, (size_t)g->n_in);
    for (int i = 0; i < g->n_in; i++) {
        Value one = value_map(s->arena, 2), shape = value_list(s->arena, (size_t)g->in[i].rank);
        for (int k = 0; k < g->in[i].rank; k++) shape.list.items[k] = value_of_int(g->in[i].dim[k]);
        value_add(&one, "shape", shape);
        value_add(&one, "dtype", text("torch.int64"));
        value_add(&inputs, str_dup(s->arena, g->in[i].name), one);
    }
    value_add(&v, "builder", text("construction"));
    value_add(&v, "modules_traced", value_of_int(s->n));
    value_add(&v, "execution_steps", value_of_int(2 * s->n));
    value_add(&v, "model_type", text(e->model_type));
    value_add(&v, "task", text(e->task_name));
    value_add(&v, "inputs", inputs);
    return v;
}

static Value describe_outputs(const Export *e, const Sidecar *s, const SidecarFacts *f)
{
    const OnnxGraph *g = &s->b->graph;
    Value v = value_map(s->arena, 2), onnx = value_map(s->arena, 4), meta = value_map(s->arena, 1);
    Value names = value_list(s->arena, (size_t)g->n_out);
    for (int i = 0; i < g->n_out; i++) names.list.items[i] = value_of_str(g->out[i].name);
    const char *slash = strrchr(e->onnx, '/'), *file = slash ? slash + 1 : e->onnx;
    value_add(&onnx, "path", text(file));
    value_add(&onnx, "size_mb", value_of_float((double)(f->onnx_size / 10000) / 100));
    value_add(&onnx, "opset_version", value_of_int(e->opset));
    value_add(&onnx, "output_names", names);
    value_add(&meta, "path", text(e->sidecar));
    value_add(&v, "onnx_model", onnx);
    value_add(&v, "metadata", meta);
    return v;
}

static Value describe_report(const Export *e, const Sidecar *s)
{
    Value v = value_map(s->arena, 1), steps = value_map(s->arena, 2);
    Value tags = value_map(s->arena, 5), count = value_map(s->arena, 8);
    Value put = value_map(s->arena, 2);
    value_add(&count, "root_nodes", value_of_int(s->root));
    value_add(&count, "scoped_nodes", value_of_int(e->nodes - s->root));
    value_add(&count, "direct_matches", value_of_int(s->direct));
    value_add(&count, "parent_matches", value_of_int(s->parents));
    value_add(&count, "operation_matches", value_of_int(0));
    value_add(&count, "root_fallbacks", value_of_int(s->root));
    value_add(&tags, "completed", value_of_bool(true));
    value_add(&tags, "total_nodes", value_of_int(e->nodes));
    value_add(&tags, "tagged_nodes_count", value_of_int(e->nodes));
    value_add(&tags, "coverage_percentage", value_of_float(100));
    value_add(&tags, "statistics", count);
    value_add(&put, "tags_injected", value_of_bool(!e->clean));
    value_add(&put, "tags_stripped", value_of_bool(e->clean));
    value_add(&steps, "node_tagging", tags);
    value_add(&steps, "tag_injection", put);
    value_add(&v, "steps", steps);
    return v;
}

static Value describe_statistics(const Export *e, const Sidecar *s, const SidecarFacts *f)
{
    Value v = value_map(s->arena, 8);
    value_add(&v, "export_time", value_of_float(f->seconds));
    value_add(&v, "hierarchy_modules", value_of_int(s->n));
    value_add(&v, "traced_modules", value_of_int(s->n));
    value_add(&v, "onnx_nodes", value_of_int(e->nodes));
    value_add(&v, "tagged_nodes", value_of_int(e->nodes));
    value_add(&v, "empty_tags", value_of_int(0));
    value_add(&v, "coverage_percentage", value_of_float(100));
    value_add(&v, "module_types", class_names(s));
    return v;
}

Value sidecar_describe(const Export *e, Builder *b, const SidecarFacts *f)
{
    Sidecar s = { .arena = b->arena, .b = b };
    Value root = value_map(b->arena, 8), nodes = node_tags(&s);
    value_add(&root, "export_context", describe_run(e, b->arena, f));
    value_add(&root, "model", describe_model(e, b->arena, s.n));
    value_add(&root, "tracing", describe_tracing(e, &s));
    value_add(&root, "modules", module_tree(&s, 0));
    value_add(&root, "nodes", nodes);
    value_add(&root, "outputs", describe_outputs(e, &s, f));
    value_add(&root, "report", describe_report(e, &s));
    value_add(&root, "statistics", describe_statistics(e, &s, f));
    return root;
}

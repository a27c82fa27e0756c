/* SPDX-License-Identifier: Apache-2.0
 * source_shapes.c - the shapes that an export's sidecar declares (<stem>_htp_metadata.json,
 * tracing.inputs). They count before those of the graph, which may have lost them since; a sidecar that
 * cannot be read counts as absent. */
#include "base/log.h"
#include "data/json.h"
#include "export/htp.h"
#include "model/source.h"

enum { SIDECAR_LIMIT = 256 << 20 }; /* bytes */

/* HTPExporter writes down what it traced the model with: no limit where the graph takes any size. */
static bool sidecar_traced(const Value *root)
{
    const Value *context = value_get(root, "export_context");
    return str_is(value_str(value_get(context, "exporter"), STR("")), "HTPExporter");
}

/* -1: open, or not said. */
static bool sidecar_shape(const Value *root, const OnnxValue *in, int64_t *dim)
{
    const Value *inputs = value_get(value_get(root, "tracing"), "inputs");
    const Value *shape = NULL;
    for (size_t i = 0; inputs && inputs->kind == V_MAP && i < inputs->map.n; i++)
        if (str_eq(inputs->map.items[i].key, in->name))
            shape = value_get(&inputs->map.items[i].value, "shape");
    if (!shape || shape->kind != V_LIST || in->rank < 1 || shape->list.n != (size_t)in->rank) return false;
    for (int i = 0; i < in->rank; i++) {
        int64_t said = value_int(&shape->list.items[i], 0);
        bool open = said <= 0 || (sidecar_traced(root) && in->dim[i] < 0);
        dim[i] = open ? -1 : said;
    }
    return true;
}

static bool sidecar_read(Arena *scratch, const char *onnx, const char **path, Value *root)
{
    Err err = { 0 };
    Str text;
    *path = str_ends(str_of(onnx), ".onnx") ? htp_sidecar_find(scratch, onnx) : NULL;
    if (!*path) return false;
    if (file_read(scratch, *path, SIDECAR_LIMIT, &text, &err) && json_parse(scratch, text, root, &err)) return true;
    log_warn("%s is not read: %s", *path, err.message);
    return false;
}

void source_declared_shapes(const char *onnx, const OnnxGraph *g, DeclaredShape *out)
{
    Arena scratch = { .local = true };
    const char *path;
    Value root;
    bool there = sidecar_read(&scratch, onnx, &path, &root);
    for (int i = 0; i < g->n_in; i++) out[i].said = there && sidecar_shape(&root, &g->in[i], out[i].dim);
    arena_free(&scratch);
}

int64_t source_declared_tokens(Arena *arena, const char *onnx, const OnnxGraph *g, Str *file)
{
    Arena scratch = { .local = true };
    int64_t tokens = 0, dim[MAX_RANK];
    const char *path;
    Value root;
    bool there = sidecar_read(&scratch, onnx, &path, &root);
    for (int i = 0; there && i < g->n_in; i++) /* the last axis of [batch, tokens] or [batch, choices, tokens] */
        if (graph_role(g->in[i].name) == ROLE_TOKEN && g->in[i].rank >= 2 && sidecar_shape(&root, &g->in[i], dim))
            tokens = MAX(dim[g->in[i].rank - 1], 0);
    if (tokens) *file = str_of(str_dup(arena, path_name(path)));
    arena_free(&scratch);
    return tokens;
}

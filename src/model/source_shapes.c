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

/* The last axis of [batch, tokens] or [batch, choices, tokens]; 0: open, or not said. */
static int64_t sidecar_tokens(const Value *root, const OnnxValue *in)
{
    const Value *inputs = value_get(value_get(root, "tracing"), "inputs");
    const Value *shape = NULL;
    for (size_t i = 0; inputs && inputs->kind == V_MAP && i < inputs->map.n; i++)
        if (str_eq(inputs->map.items[i].key, in->name))
            shape = value_get(&inputs->map.items[i].value, "shape");
    if (!shape || shape->kind != V_LIST || in->rank < 2 || shape->list.n != (size_t)in->rank) return 0;
    if (sidecar_traced(root) && in->dim[in->rank - 1] < 0) return 0;
    return MAX(value_int(&shape->list.items[in->rank - 1], 0), 0);
}

static int64_t sidecar_read(Arena *scratch, const char *path, const OnnxGraph *g)
{
    Err err = { 0 };
    Str text;
    Value root;
    int64_t tokens = 0;
    if (!file_read(scratch, path, SIDECAR_LIMIT, &text, &err) ||
        !json_parse(scratch, text, &root, &err))
        return log_warn("%s is not read: %s", path, err.message), 0;
    for (int i = 0; i < g->n_in; i++)
        if (graph_role(g->in[i].name) == ROLE_TOKEN) tokens = sidecar_tokens(&root, &g->in[i]);
    return tokens;
}

int64_t source_declared_tokens(Arena *arena, const char *onnx, const OnnxGraph *g, Str *file)
{
    Arena scratch = { 0 };
    int64_t tokens = 0;
    const char *path = str_ends(str_of(onnx), ".onnx") ? htp_sidecar_find(&scratch, onnx) : NULL;
    if (path) tokens = sidecar_read(&scratch, path, g);
    if (tokens) *file = str_of(str_dup(arena, path_name(path)));
    arena_free(&scratch);
    return tokens;
}

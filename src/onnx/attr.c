/* SPDX-License-Identifier: Apache-2.0
 * attr.c - looking things up in a model that was read: attributes, metadata, external weights. */
#include "onnx/onnx.h"

bool onnx_is_init(const OnnxGraph *g, Str name)
{
    for (int i = 0; i < g->n_init; i++)
        if (str_eq(g->init[i].name, name)) return true;
    return false;
}

const OnnxAttr *onnx_attr(const OnnxNode *node, const char *name)
{
    const Str wanted = str_of(name);
    for (int i = 0; i < node->n_attr; i++)
        if (str_eq(node->attr[i].name, wanted)) return &node->attr[i];
    return NULL;
}

int64_t onnx_int(const OnnxNode *node, const char *name, int64_t otherwise)
{
    const OnnxAttr *a = onnx_attr(node, name);
    return a && a->type == A_INT ? a->i : otherwise;
}

float onnx_float(const OnnxNode *node, const char *name, float otherwise)
{
    const OnnxAttr *a = onnx_attr(node, name);
    return a && a->type == A_FLOAT ? a->f : otherwise;
}

Str onnx_string(const OnnxNode *node, const char *name, const char *otherwise)
{
    const OnnxAttr *a = onnx_attr(node, name);
    return a && a->type == A_STRING ? a->s : str_of(otherwise);
}

const int64_t *onnx_ints(const OnnxNode *node, const char *name, size_t *n)
{
    const OnnxAttr *a = onnx_attr(node, name);
    if (!a || a->type != A_INTS) return NULL;
    *n = a->n;
    return a->ints;
}

int64_t onnx_opset(const OnnxModel *m)
{
    for (int i = 0; i < m->n_opset; i++)
        if (!m->opset[i].domain.n || str_is(m->opset[i].domain, "ai.onnx"))
            return m->opset[i].version;
    return 0;
}

const char *onnx_meta(const OnnxModel *model, Arena *arena, const char *key)
{
    for (int i = 0; i < model->n_meta; i++)
        if (str_is(model->meta[i].key, key)) return str_dup(arena, model->meta[i].value);
    return NULL;
}

/* ---- external data ---- */

typedef struct Attach {
    OnnxFind *find;
    void *context;
    Err *err;
} Attach;

static bool attach_tensor(const Attach *a, OnnxTensor *t)
{
    Str bytes;
    if (!t->location.n || t->t.data) return true;
    if (!a->find(a->context, t->location, &bytes, a->err)) return false;
    const uint64_t wanted = tensor_bytes(&t->t), length = t->length ? t->length : wanted;
    if (length != wanted)
        return fail(a->err, EF_BAD_MODEL, "tensor '%.*s': found length %llu, wanted %llu bytes",
                    (int)MIN(t->name.n, 200), t->name.p, (unsigned long long)length,
                    (unsigned long long)wanted);
    if (t->offset > bytes.n || length > bytes.n - t->offset)
        return fail(a->err, EF_BAD_MODEL,
                    "tensor '%.*s': found bytes %llu to %llu, wanted them inside the %zu of '%.*s'",
                    (int)MIN(t->name.n, 200), t->name.p, (unsigned long long)t->offset,
                    (unsigned long long)(t->offset + length), bytes.n,
                    (int)MIN(t->location.n, 200), t->location.p);
    t->t.data = (void *)(bytes.p + t->offset);
    t->length = length;
    return true;
}

static bool attach_graph(const Attach *a, OnnxGraph *g);

static bool attach_attr(const Attach *a, OnnxAttr *attr)
{
    for (size_t i = 0; attr->t && i < attr->n; i++)
        if (!attach_tensor(a, &attr->t[i])) return false;
    for (size_t i = 0; attr->g && i < attr->n; i++)
        if (!attach_graph(a, &attr->g[i])) return false;
    return true;
}

static bool attach_graph(const Attach *a, OnnxGraph *g)
{
    for (int i = 0; i < g->n_init; i++)
        if (!attach_tensor(a, &g->init[i])) return false;
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_attr; k++)
            if (!attach_attr(a, &g->node[i].attr[k])) return false;
    return true;
}

bool onnx_attach(OnnxModel *model, OnnxFind *find, void *context, Err *err)
{
    const Attach a = { find, context, err };
    if (!attach_graph(&a, &model->graph)) return false;
    for (int i = 0; i < model->n_function; i++)
        if (!attach_graph(&a, &model->function[i].body)) return false;
    return true;
}

static bool take_tensor(OnnxTensor *t, Err *err)
{
    t->location = (Str){ 0 };
    if (dtype_size(t->t.type) && (t->t.data || !tensor_bytes(&t->t))) return true;
    return fail(err, EF_UNSUPPORTED, "constant '%.*s': type %s cannot be written", STR_ARG(t->name),
                dtype_name(t->t.type));
}

static bool take_graph(OnnxGraph *g, Err *err)
{
    for (int i = 0; i < g->n_init; i++)
        if (!take_tensor(&g->init[i], err)) return false;
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_attr; k++) {
            OnnxAttr *a = &g->node[i].attr[k];
            for (size_t j = 0; a->t && j < a->n; j++)
                if (!take_tensor(&a->t[j], err)) return false;
            for (size_t j = 0; a->g && j < a->n; j++)
                if (!take_graph(&a->g[j], err)) return false;
        }
    return true;
}

bool onnx_take_inside(OnnxModel *m, Err *err)
{
    for (int i = 0; i < m->n_function; i++)
        if (!take_graph(&m->function[i].body, err)) return false;
    return take_graph(&m->graph, err);
}

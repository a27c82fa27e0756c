/* SPDX-License-Identifier: Apache-2.0
 * optimum_graph.c - what ONNX Runtime refuses when it opens a file, beyond what is no ONNX at all:
 * formats newer than it, operators that nobody registered, tags written as attributes. */
#include "model/optimum.h"

enum { NEWEST_IR = 13, NEWEST_OPSET = 26 }; /* of ONNX Runtime 1.31 */

bool optimum_lists(const char *names, Str name)
{
    for (const char *p = names; name.n; p++) {
        p = memmem(p, strlen(p), name.p, name.n);
        if (!p) return false;
        if (p[-1] == ' ' && p[name.n] == ' ') return true;
    }
    return false;
}

static bool is_function(const OnnxModel *m, const OnnxNode *n)
{
    for (int i = 0; i < m->n_function; i++)
        if (str_eq(m->function[i].name, n->op) && str_eq(m->function[i].domain, n->domain))
            return true;
    return false;
}

/* Of domains other than these two (ai.onnx.ml, layouts) too little is known to refuse a name. */
static bool is_operator(const OnnxModel *m, const OnnxNode *n)
{
    if (is_function(m, n)) return true;
    if (!n->domain.n) return optimum_lists(optimum_operators, n->op);
    if (str_is(n->domain, "com.microsoft")) return optimum_lists(optimum_contrib, n->op);
    return str_starts(n->domain, "ai.onnx") || str_starts(n->domain, "com.microsoft.");
}

static bool check_nodes(const OnnxModel *m, const OnnxGraph *g, Err *err)
{
    for (int i = 0; i < g->n_node; i++) {
        const OnnxNode *n = &g->node[i];
        if (!is_operator(m, n))
            return fail(err, EF_UNSUPPORTED, "operator \"%.*s%s%.*s\" is not known to ONNX Runtime",
                        (int)MIN(n->domain.n, 60), n->domain.p, n->domain.n ? ":" : "",
                        (int)MIN(n->op.n, 60), n->op.p);
        if (onnx_attr(n, "hierarchy_tag"))
            return fail(err, EF_BAD_MODEL, "hierarchy_tag attributes: ONNX Runtime refuses such a "
                        "file (`validate FILE --repair` moves them)");
        for (int a = 0; a < n->n_attr; a++)
            for (size_t k = 0; n->attr[a].g && k < n->attr[a].n; k++)
                if (!check_nodes(m, &n->attr[a].g[k], err)) return false;
    }
    return true;
}

static bool check_versions(const OnnxModel *m, Err *err)
{
    if (m->ir_version > NEWEST_IR)
        return fail(err, EF_UNSUPPORTED, "IR version: found %lld, ONNX Runtime reads up to %d",
                    (long long)m->ir_version, NEWEST_IR);
    for (int i = 0; i < m->n_opset; i++)
        if (!m->opset[i].domain.n && m->opset[i].version > NEWEST_OPSET)
            return fail(err, EF_UNSUPPORTED, "opset: found %lld, ONNX Runtime reads up to %d",
                        (long long)m->opset[i].version, NEWEST_OPSET);
    return true;
}

bool optimum_graph(Arena *arena, const char *path, OnnxFile *file, Err *err)
{
    const OnnxModel *m = &file->model;
    return onnx_file_open(arena, path, file, err) && onnx_check(arena, m, err) &&
           check_versions(m, err) && check_nodes(m, &m->graph, err);
}

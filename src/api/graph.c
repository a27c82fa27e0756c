/* SPDX-License-Identifier: Apache-2.0
 * graph.c - ef_graph: a graph alone, tensors in and out by name. */
#include "api/arrays.h"
#include "api/guard_call.h"
#include "api/process.h"
#include "api/running.h"
#include "api/sized.h"
#include "hub/hub.h"

struct ef_graph {
    Arena arena;
    Running *running;
    pid_t process;             /* that opened it */
    ef_array *in, *out;
    size_t n_in, n_out;
};

/* ---- opening ---- */
typedef struct GraphCall {
    const char *path;
    const ef_options *options;
    ef_graph *graph;
    bool ok;
    Err err;
} GraphCall;

/* Texts are made into ids before they come here, by a tokenizer; encoders read nothing else. */
static bool graph_takes_numbers(const OnnxValue *in, int n, Err *err)
{
    for (int i = 0; i < n; i++)
        if (in[i].type == T_STR)
            return fail(err, EF_UNSUPPORTED, "input '%.*s': found a tensor of strings, wanted one of numbers: a "
                        "tokenizer is no part of a graph here", STR_ARG(in[i].name));
    return true;
}

static bool graph_open_named(ef_graph *g, const char *path, const ef_options *options, Err *err)
{
    ef_options o;
    if (!options_read(options, &o, err)) return false;
    if (!path)
        return fail(err, EF_INVALID_INPUT, "found no path, wanted an .onnx, a folder, a checkpoint or a package");
    if (o.kernels && !kernels_want(o.kernels, err)) return false;
    if (!hub_path(&g->arena, path, HUB_MODEL, &path, err)) return false;
    int n_in, n_out;
    RunningOpen how = { .threads = o.threads, .precision = str_of(o.precision),
                        .task = str_of(o.task) };
    if (!running_open(path, &how, &g->running, err)) return fail_of_model(err);
    const OnnxValue *in = running_inputs(g->running, &n_in), *out = running_outputs(g->running, &n_out);
    if (!graph_takes_numbers(in, n_in, err)) return false;
    g->in = arrays_describe(&g->arena, in, n_in);
    g->out = arrays_describe(&g->arena, out, n_out);
    g->n_in = (size_t)n_in;
    g->n_out = (size_t)n_out;
    return true;
}

static void graph_open_body(void *call)
{
    GraphCall *c = call;
    Arena arena = { 0 };
    c->graph = NEW(&arena, ef_graph);
    c->graph->arena = arena;
    c->graph->process = getpid();
    c->ok = graph_open_named(c->graph, c->path, c->options, &c->err);
}

ef_graph *ef_graph_open(const char *path, const ef_options *options, ef_error *err)
{
    GraphCall c = { .path = path, .options = options };
    guard_call(graph_open_body, &c, &c.err);
    if (c.ok) return c.graph;
    ef_graph_close(c.graph);
    fail(err, c.err.code, "%s", c.err.message);
    return NULL;
}

/* In a child, what threads of the parent hold is left alone. */
void ef_graph_close(ef_graph *g)
{
    if (!g || !process_owns(g->process)) return;
    running_close(g->running);
    Arena arena = g->arena;
    arena_free(&arena);
}

const ef_array *ef_graph_inputs(const ef_graph *g, size_t *count)
{
    return *count = g->n_in, g->in;
}

const ef_array *ef_graph_outputs(const ef_graph *g, size_t *count)
{
    return *count = g->n_out, g->out;
}

/* ---- running ---- */
typedef struct GraphRunCall {
    ef_graph *g;
    const ef_array *in;
    size_t count;
    const char *const *outputs;
    size_t output_count;
    ef_arrays *list;
    Named *given, *made;
    size_t *wanted;            /* [n]: numbers of the graph's outputs */
    size_t n;
    bool ok;
    Err err;
} GraphRunCall;

static bool graph_find_output(const GraphRunCall *c, const char *name, size_t *out, Err *err)
{
    for (size_t i = 0; name && i < c->g->n_out; i++)
        if (strcmp(name, c->g->out[i].name) == 0) return *out = i, true;
    return fail(err, EF_INVALID_INPUT, "the graph has no output '%s'", name ? name : "");
}

static void graph_run_read(void *call)
{
    GraphRunCall *c = call;
    c->list = arrays_new();
    c->n = c->output_count ? c->output_count : c->g->n_out;
    c->wanted = ARRAY(&c->list->arena, size_t, c->n + 1);
    c->made = ARRAY(&c->list->arena, Named, c->g->n_out + 1);
    c->ok = !c->output_count || c->outputs || fail(&c->err, EF_INVALID_INPUT, "found no names of outputs");
    for (size_t i = 0; c->ok && i < c->n; i++) {
        c->wanted[i] = i;
        if (c->output_count) c->ok = graph_find_output(c, c->outputs[i], &c->wanted[i], &c->err);
    }
    c->ok = c->ok && arrays_read(&c->list->arena, c->in, c->count, &c->given, &c->err);
}

static void graph_run_list(void *call)
{
    GraphRunCall *c = call;
    Named *named = ARRAY(&c->list->arena, Named, c->n + 1);
    for (size_t i = 0; i < c->n; i++) named[i] = c->made[c->wanted[i]];
    arrays_set(c->list, named, c->n);
}

/* running_run guards its own work. */
ef_arrays *ef_graph_run(ef_graph *g, const ef_array *in, size_t count, const char *const *outputs,
                        size_t output_count, ef_error *err)
{
    GraphRunCall c = { .g = g, .in = in, .count = count, .outputs = outputs, .output_count = output_count };
    if (!process_check(g->process, "the graph", err)) return NULL;
    guard_call(graph_run_read, &c, &c.err);
    bool ok = c.err.code == EF_OK && c.ok &&
              running_run(g->running, c.given, count, &c.list->arena, c.made, &c.err) &&
              guard_call(graph_run_list, &c, &c.err);
    if (ok) return c.list;
    ef_arrays_free(c.list);
    fail(err, c.err.code, "%s", c.err.message);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * running.c - see running.h. A graph whose inputs the engine knows is optimized and planned; any other runs by the
 * generic tier. Each call takes one of a few runners: the first has a pool, which a lone caller wants; those beside
 * it have none, so that calls of several threads go side by side. */
#include "api/running.h"

#include <pthread.h>

#include "api/guard_call.h"
#include "base/thread.h"
#include "data/checkpoint.h"

typedef struct RunnerSlot {
    Pool *pool;              /* NULL: one thread */
    Runner *runner;          /* NULL: none yet, or none is needed */
    bool taken;
} RunnerSlot;

struct Running {
    Arena arena;
    OnnxFile onnx;
    Model *package;          /* NULL: from a file */
    Graph *graph;            /* as the file has it */
    Engine *engine;          /* NULL: only the generic tier can run it */
    OnnxValue *in, *out;
    int n_in, n_out;
    RunnerSlot *slot;        /* [slots] */
    int slots;
    pthread_mutex_t lock;
    pthread_cond_t given_back;
};

/* ---- opening ---- */
/* Our name of it: what the exporter does not know it refuses. */
static const char *running_task(Arena *arena, Str name)
{
    const Task *task = name.n ? task_find(name) : NULL;
    return task ? task->name : name.n ? str_dup(arena, name) : NULL;
}

static bool running_find(Running *g, const char *path, Str task, Err *err)
{
    ModelSource s = { 0 };
    bool file = str_ends(path_name(path), ".onnx");
    if (!file && !dir_is(path) && package_is(path)) {
        if (!model_open(path, &g->package, err)) return false;
        g->graph = g->package->graph;
        return true;
    }
    if (!source_path(&g->arena, path, &s)) s.weights = path; /* an .onnx by another name, or an error that says so */
    if (!s.weights) return fail(err, EF_NOT_FOUND, "%s: model.onnx not found", path);
    const char *head = checkpoint_is(s.weights) ? running_task(&g->arena, task) : NULL;
    if (!onnx_file_open_for(&g->arena, s.weights, head, &g->onnx, err)) return false;
    return graph_from_onnx(&g->arena, &g->onnx.model, &g->graph, err) || within(err, "%s", path);
}

/* What the graph still reads and gives: a package holds less than its file's graph had. */
static OnnxValue *running_values(Running *g, const OnnxValue *file, int n_file, const int *kept, int n, int *count)
{
    OnnxValue *out = ARRAY(&g->arena, OnnxValue, n + 1);
    *count = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n_file; k++)
            if (str_eq(file[k].name, g->graph->value[kept[i]].name)) out[(*count)++] = file[k];
    return out;
}

/* Inputs of [batch, choices, tokens] have another form in the optimized graph. */
static bool running_counts_choices(const Running *g)
{
    for (int i = 0; i < g->n_in; i++)
        if (role_of_token(graph_role(g->in[i].name)) && g->in[i].rank == 3 && graph_role(g->in[i].name) != ROLE_BOX)
            return true;
    return false;
}

/* Where this does not work out, the generic tier is left. */
static bool running_plan(Running *g, Str precision, Err *err)
{
    Graph *fast = g->graph;
    const char *name = NULL;
    if (g->package) {
        if (precision.n && !str_is(precision, g->package->precision))
            return fail(err, EF_UNSUPPORTED, "precision: found a package in %s, wanted %.*s: build one",
                        g->package->precision, STR_ARG(precision));
    } else if (!source_precision(&g->onnx.model, precision, &name, err) ||
               !graph_from_onnx(&g->arena, &g->onnx.model, &fast, err) ||
               !precision_find(str_of(name), &fast->precision)) {
        return false;
    }
    Str *outputs = ARRAY(&g->arena, Str, fast->n_output + 1);
    for (int i = 0; i < fast->n_output; i++) outputs[i] = fast->value[fast->output[i]].name;
    Err why = { 0 };
    bool ok = !running_counts_choices(g) && (g->package || graph_optimize(fast, false, &why)) &&
              engine_new(&g->arena, fast, outputs, fast->n_output, &g->engine, &why);
    if (!ok) g->engine = NULL;
    return ok || g->package || !precision.n || str_is(precision, onnx_precision(&g->onnx.model)) ||
           fail(err, EF_UNSUPPORTED, "precision: this graph runs only as it is%s%s", why.code ? ": " : "",
                why.code ? why.message : "");
}

static void running_slots(Running *g, int threads)
{
    threads = threads > 0 ? threads : cpu_count();
    g->slots = threads;
    g->slot = ARRAY(&g->arena, RunnerSlot, g->slots);
    if (threads > 1) g->slot[0].pool = pool_new(threads);
}

bool running_open(const char *path, const RunningOpen *how, Running **out, Err *err)
{
    Arena arena = { 0 };
    Running *g = NEW(&arena, Running);
    g->arena = arena;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->given_back, NULL);
    bool ok = running_find(g, path, how->task, err);
    if (ok) {
        const OnnxGraph *file = &g->graph->model->graph;
        g->in = running_values(g, file->in, file->n_in, g->graph->input, g->graph->n_input, &g->n_in);
        g->out = running_values(g, file->out, file->n_out, g->graph->output, g->graph->n_output, &g->n_out);
    }
    ok = ok && (how->exact || running_plan(g, how->precision, err));
    if (ok) running_slots(g, how->threads);
    else running_close(g);
    *out = ok ? g : NULL;
    return ok;
}

void running_close(Running *g)
{
    if (!g) return;
    for (int i = 0; i < g->slots; i++) {
        runner_free(g->slot[i].runner);
        pool_free(g->slot[i].pool);
    }
    if (g->package) model_close(g->package);
    else onnx_file_close(&g->onnx);
    pthread_cond_destroy(&g->given_back);
    pthread_mutex_destroy(&g->lock);
    Arena arena = g->arena;
    arena_free(&arena);
}

const OnnxValue *running_inputs(const Running *g, int *n)
{
    return *n = g->n_in, g->in;
}

const OnnxValue *running_outputs(const Running *g, int *n)
{
    return *n = g->n_out, g->out;
}

/* ---- inputs ---- */
/* A name with a typo would otherwise be dropped in silence. */
static bool running_known(const Running *g, Str name, Err *err)
{
    Arena scratch = { .local = true };
    Buf names = { .arena = &scratch };
    bool known = false;
    for (int i = 0; i < g->n_in; i++) {
        known |= str_eq(g->in[i].name, name);
        if (names.n < 300) buf_printf(&names, "%s%.*s", i ? ", " : "", STR_ARG(g->in[i].name));
    }
    if (!known)
        fail(err, EF_INVALID_INPUT, "found input '%.*s', wanted one of: %.*s", STR_ARG(name),
             STR_ARG(buf_view(&names)));
    arena_free(&scratch);
    return known;
}

/* Of two by one name one would be dropped. */
static bool running_once(const Named *in, size_t i, Err *err)
{
    for (size_t k = 0; k < i; k++)
        if (str_eq(in[k].name, in[i].name))
            return fail(err, EF_INVALID_INPUT, "found input '%.*s' twice, wanted it once", STR_ARG(in[i].name));
    return true;
}

static bool is_integer(DType type)
{
    return dtype_size(type) && !dtype_is_float(type) && type != T_BOOL;
}

/* To the graph's own type, aligned; anything else is for the engine to refuse. */
static void running_convert(Arena *arena, const OnnxValue *wanted, Tensor *t)
{
    const bool convert = t->type != wanted->type &&
                         ((is_integer(wanted->type) && (is_integer(t->type) || t->type == T_BOOL)) ||
                          (dtype_is_float(wanted->type) && dtype_is_float(t->type)));
    const size_t size = dtype_size(t->type);
    if (size && (uintptr_t)t->data % size) {
        const void *from = t->data;
        t->data = arena_raw(arena, tensor_bytes(t) + 1);
        memcpy(t->data, from, tensor_bytes(t));
    }
    if (!convert) return;
    Tensor to = *t;
    to.type = wanted->type;
    to.data = arena_raw(arena, tensor_bytes(&to) + 1);
    tensor_convert(t, 0, &to, 0, tensor_count(t));
    *t = to;
}

static bool running_bind(const Running *g, const Named *in, size_t n_in, Arena *arena, Named *out, Err *err)
{
    for (size_t i = 0; i < n_in; i++)
        if (!running_known(g, in[i].name, err) || !running_once(in, i, err)) return false;
    for (int i = 0; i < g->n_in; i++) {
        size_t k = 0;
        while (k < n_in && !str_eq(in[k].name, g->in[i].name)) k++;
        if (k == n_in)
            return fail(err, EF_INVALID_INPUT, "Input %.*s is required by model but not provided.",
                        STR_ARG(g->in[i].name));
        out[i] = in[k];
        running_convert(arena, &g->in[i], &out[i].t);
        if (g->in[i].type == T_NONE || out[i].t.type == g->in[i].type) continue;
        char found[128];
        return fail(err, EF_INVALID_INPUT, "input '%.*s': found %s, wanted %s", STR_ARG(g->in[i].name),
                    tensor_show(&out[i].t, found), dtype_name(g->in[i].type));
    }
    return true;
}

/* ---- running ---- */
static RunnerSlot *running_take(Running *g)
{
    RunnerSlot *free_slot = NULL;
    pthread_mutex_lock(&g->lock);
    for (;;) {
        for (int i = g->slots - 1; i >= 0; i--)
            if (!g->slot[i].taken) free_slot = &g->slot[i]; /* the first: it has the pool */
        if (free_slot) break;
        pthread_cond_wait(&g->given_back, &g->lock);
    }
    free_slot->taken = true;
    pthread_mutex_unlock(&g->lock);
    return free_slot;
}

static void running_give(Running *g, RunnerSlot *slot)
{
    pthread_mutex_lock(&g->lock);
    slot->taken = false;
    pthread_cond_signal(&g->given_back);
    pthread_mutex_unlock(&g->lock);
}

typedef struct RunningCall {
    Running *g;
    RunnerSlot *slot;
    const Named *in;
    size_t n_in;
    Arena *arena;
    Named *out;
    bool ok;
    Err err;
} RunningCall;

/* All values of the graph are made; only its outputs stay. */
static void running_generic(RunningCall *c, const Named *in)
{
    Arena scratch = { .local = true };
    Running *g = c->g;
    const Err planned = c->err;
    c->err = (Err){ 0 };
    c->ok = engine_run_generic(g->graph, c->slot->pool, in, (size_t)g->n_in, &scratch, c->out, &c->err);
    for (int i = 0; c->ok && i < g->n_out; i++) {
        Tensor *t = &c->out[i].t;
        const size_t bytes = tensor_bytes(t);
        t->data = memcpy(arena_raw(c->arena, bytes + 1), bytes ? t->data : "", bytes);
    }
    arena_free(&scratch);
    if (!c->ok && planned.code == EF_INVALID_INPUT) c->err = planned; /* the clearer message */
    if (c->err.code == EF_BAD_MODEL) c->err.code = EF_INVALID_INPUT;  /* it was opened: these numbers do not fit it */
}

/* What a planned run cannot do the generic tier may. */
static void running_body(void *call)
{
    RunningCall *c = call;
    Running *g = c->g;
    Named *in = ARRAY(c->arena, Named, g->n_in + 1);
    if (!running_bind(g, c->in, c->n_in, c->arena, in, &c->err)) return;
    if (g->engine) {
        Named *out = ARRAY(c->arena, Named, engine_outputs(g->engine) + engine_states(g->engine) + 1);
        WholeRun whole = { in, (size_t)g->n_in, c->arena };
        if (!c->slot->runner) c->slot->runner = runner_new(g->engine, c->slot->pool);
        c->ok = runner_run_whole(c->slot->runner, &whole, out, &c->err);
        if (c->ok) memcpy(c->out, out, (size_t)g->n_out * sizeof *out);
    }
    if (!c->ok) running_generic(c, in);
}

bool running_run(Running *g, const Named *in, size_t n_in, Arena *arena, Named *out, Err *err)
{
    RunningCall c = { .g = g, .in = in, .n_in = n_in, .arena = arena, .out = out };
    c.slot = running_take(g);
    guard_call(running_body, &c, &c.err);
    running_give(g, c.slot);
    return c.ok || fail(err, c.err.code, "%s", c.err.message);
}

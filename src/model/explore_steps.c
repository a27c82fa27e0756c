/* SPDX-License-Identifier: Apache-2.0
 * explore_steps.c - the plan of a model in a profiled run, and which nodes of the file its steps stand for. A fused
 * step has the name of the node whose place it took, perhaps with a '#' and more behind it. */
#include "model/exploring.h"

enum { EXPLORE_RUNS = 20 };
static const double EXPLORE_SECONDS = 1; /* that all timed runs may take */

/* ---- a run ---- */
bool explore_sample(Arena *arena, const Model *m, int64_t length, ExploreSample *out, Err *err)
{
    *out = (ExploreSample){ .length = length, .aligned = m->graph };
    if (model_brings_tensors(m)) return model_sample_batch(m, arena, 1, &out->batch, err);
    const int64_t fixed = engine_static_length(m->engine);
    int32_t *start = ARRAY(arena, int32_t, 2);
    start[1] = (int32_t)(fixed ? MIN(fixed, length) : length);
    out->batch = model_sample_tokens(m, arena, start, 1);
    return true;
}

static bool explore_profile(Arena *arena, const Model *m, const ExploreSample *sample, ExploreSteps *to, Err *err)
{
    to->profile = (Profile){ .runs = EXPLORE_RUNS, .most_seconds = EXPLORE_SECONDS };
    Pool *pool = pool_new(to->threads);
    Runner *runner = runner_new(m->engine, pool);
    to->threads = pool_threads(pool);
    const bool ok = runner_profile(runner, &sample->batch, arena, &to->profile, err);
    runner_free(runner);
    pool_free(pool);
    return ok;
}

/* ---- nodes ---- */
static int explore_find_node(const Map *names, Str name)
{
    intptr_t at = name.n ? (intptr_t)map_get(names, name) : 0;
    const char *mark = at || !name.n ? NULL : memchr(name.p, '#', name.n);
    if (mark) at = (intptr_t)map_get(names, (Str){ name.p, (size_t)(mark - name.p) });
    return (int)at - 1;
}

static void explore_match_steps(Arena *arena, const OnnxGraph *file, ExploreSteps *to)
{
    const Explained *plan = &to->profile.plan;
    Map names = { 0 };
    for (int i = file->n_node - 1; i >= 0; i--) /* of several of one name the first */
        if (file->node[i].name.n) map_put(&names, arena, file->node[i].name, (void *)(intptr_t)(i + 1));
    to->node = ARRAY(arena, int, plan->n);
    for (int s = 0; s < plan->n; s++) to->node[s] = explore_find_node(&names, plan->step[s].name);
}

/* The result of a node that is no step itself goes into the first step that one of its readers goes into. Files
 * list nodes after what they read. */
static void explore_match_nodes(Arena *arena, ExploreGraph *g, const ExploreSteps *to)
{
    const OnnxGraph *file = &g->file->graph;
    int *reader = ARRAY(arena, int, g->n_value); /* step + 1 */
    for (int s = to->profile.plan.n - 1; s >= 0; s--)
        if (to->node[s] >= 0) g->node[to->node[s]].step = s;
    for (int i = file->n_node - 1; i >= 0; i--) {
        ExploreNode *n = &g->node[i];
        int into = n->step + 1;
        for (int k = 0; !into && k < file->node[i].n_out; k++) {
            const int s = n->out[k] >= 0 ? reader[n->out[k]] : 0;
            if (s && (!into || s < into)) into = s;
        }
        n->step = n->known ? -1 : into - 1;
        for (int k = 0; into && k < file->node[i].n_in; k++) {
            const int v = n->in[k];
            if (v >= 0 && (!reader[v] || into < reader[v])) reader[v] = into;
        }
    }
}

/* Of the nodes that go into a step, the one with the most work: that one's module the step is counted to. */
static void explore_main_nodes(Arena *arena, const ExploreGraph *g, ExploreSteps *to)
{
    double *most = ARRAY(arena, double, to->profile.plan.n);
    for (int i = 0; i < g->file->graph.n_node; i++) {
        const int s = g->node[i].step;
        if (s < 0 || g->node[i].flops < MAX(most[s], 1)) continue; /* of equals the last */
        most[s] = g->node[i].flops;
        to->node[s] = i;
    }
}

/* Our own operators: the plan knows their work. */
static void explore_own_flops(ExploreGraph *g, const ExploreSteps *to)
{
    for (int s = 0; s < to->profile.plan.n; s++) {
        const int i = to->node[s];
        if (i >= 0 && str_is(g->file->graph.node[i].domain, "encoderfile"))
            g->node[i].flops = to->profile.plan.step[s].flops;
    }
}

void explore_steps(Arena *arena, const Model *m, const ExploreSample *sample, int threads, ExploreGraph *g,
                   ExploreSteps *to)
{
    Err err = { 0 };
    *to = (ExploreSteps){ .threads = threads };
    if (!explore_profile(arena, m, sample, to, &err)) {
        to->profile.plan = (Explained){ 0 };
        to->why = str_dup(arena, str_of(err.message));
        return;
    }
    if (to->profile.plan.dynamic) to->why = "shapes depend on data, every node runs as ONNX says";
    explore_match_steps(arena, &g->file->graph, to);
    explore_match_nodes(arena, g, to);
    explore_own_flops(g, to);
    explore_main_nodes(arena, g, to);
}

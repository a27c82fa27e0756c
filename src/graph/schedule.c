/* SPDX-License-Identifier: Apache-2.0
 * schedule.c - an order in which every node stands after what it reads. */
#include "graph.h"

typedef struct Schedule {
    const Graph *g;
    GraphNode **order;
    int placed;
    bool *done;
    int *read;           /* [n_node]: inputs before this one are made */
    int *waiting, *next; /* [n_node]: who waits for a node, as lists of node number + 1 */
} Schedule;

/* The node that i still waits for; -1: none. */
static int missing(const Schedule *s, int i)
{
    const GraphNode *node = s->g->node[i];
    for (int *k = &s->read[i]; *k <= node->n_in; ++*k) { /* the guard is read like an input */
        int v = *k < node->n_in ? node->in[*k] : node->guard - 1;
        int maker = v < 0 ? -1 : s->g->value[v].producer;
        if (maker >= 0 && !s->done[maker]) return maker;
    }
    return -1;
}

/* Node i, if it is ready, and then whoever waited for it; else it waits itself. */
static void schedule_place(Schedule *s, int i)
{
    for (int todo = i + 1; todo;) {
        int at = todo - 1, maker = missing(s, at);
        todo = s->next[at];
        if (maker >= 0) {
            s->next[at] = s->waiting[maker], s->waiting[maker] = at + 1;
            continue;
        }
        s->done[at] = true;
        s->order[s->placed++] = s->g->node[at];
        for (int w = s->waiting[at], after; w; w = after)
            after = s->next[w - 1], s->next[w - 1] = todo, todo = w;
    }
}

/* Files are nearly always sorted already: file order, but for nodes that stand before their inputs. */
bool graph_schedule(Graph *g, Err *err)
{
    Arena scratch = { .local = true };
    Schedule s = { .g = g, .order = ARRAY(g->arena, GraphNode *, g->n_node) };
    s.done = ARRAY(&scratch, bool, g->n_node);
    s.read = ARRAY(&scratch, int, g->n_node);
    s.waiting = ARRAY(&scratch, int, g->n_node), s.next = ARRAY(&scratch, int, g->n_node);
    for (int i = 0; i < g->n_node; i++) schedule_place(&s, i);
    bool ok = s.placed == g->n_node;
    for (int i = 0; !ok && i < g->n_node; i++)
        if (!s.done[i]) {
            fail(err, EF_BAD_MODEL, "the graph has a cycle through node '%.*s' (%s)",
                 STR_ARG(g->node[i]->node->name), g->node[i]->op->name);
            break;
        }
    if (ok) g->node = s.order;
    for (int i = 0; ok && i < g->n_node; i++)
        for (int k = 0; k < s.order[i]->n_out; k++)
            if (s.order[i]->out[k] >= 0) g->value[s.order[i]->out[k]].producer = i;
    arena_free(&scratch);
    return ok;
}

/* SPDX-License-Identifier: Apache-2.0
 * same.c - one node for what exporters write several times (a mask for every layer, a shape for every
 * reshape), and one constant for equal numbers: whatever is found out about the first holds for all. */
#include "graph.h"

enum { SMALL_CONSTANT = 4096 }; /* bytes worth comparing */

typedef struct Same {
    Graph *g;
    Arena arena;
    Map seen; /* key -> value number of its first output, + 1 */
    Buf key;
} Same;

static void put(Same *s, const void *bytes, size_t n)
{
    if (n) buf_add(&s->key, bytes, n);
}

static void put_tensor(Same *s, const Tensor *t)
{
    put(s, &t->type, sizeof t->type), put(s, &t->rank, sizeof t->rank);
    put(s, t->dim, sizeof *t->dim * (size_t)t->rank), put(s, t->data, tensor_bytes(t));
}

/* false: an attribute that is not compared */
static bool put_attribute(Same *s, const OnnxAttr *a)
{
    bool tensor = a->type == A_TENSOR && a->t->t.data && tensor_bytes(&a->t->t) <= SMALL_CONSTANT;
    bool list = a->type == A_FLOATS || a->type == A_INTS;
    if (!tensor && !list && a->type != A_FLOAT && a->type != A_INT && a->type != A_STRING)
        return false;
    put(s, &a->name.n, sizeof a->name.n), put(s, a->name.p, a->name.n);
    put(s, &a->type, sizeof a->type), put(s, &a->f, sizeof a->f), put(s, &a->i, sizeof a->i);
    put(s, &a->s.n, sizeof a->s.n), put(s, a->s.p, a->s.n), put(s, &a->n, sizeof a->n);
    if (a->type == A_FLOATS) put(s, a->floats, sizeof *a->floats * a->n);
    if (a->type == A_INTS) put(s, a->ints, sizeof *a->ints * a->n);
    if (tensor) put_tensor(s, &a->t->t);
    return true;
}

static bool node_key(Same *s, const GraphNode *n)
{
    s->key.n = 0;
    put(s, &n->op, sizeof n->op), put(s, &n->opset, sizeof n->opset);
    put(s, &n->guard, sizeof n->guard), put(s, &n->n_out, sizeof n->n_out);
    put(s, &n->n_in, sizeof n->n_in), put(s, n->in, sizeof *n->in * (size_t)n->n_in);
    for (int i = 0; i < n->node->n_attr; i++)
        if (!put_attribute(s, &n->node->attr[i])) return false;
    return n->n_in > 0;
}

static void constant_key(Same *s, const Tensor *t)
{
    s->key.n = 0;
    put(s, "constant", 8);
    put_tensor(s, t);
}

/* The value that has this key already, or v from now on. */
static int first_with_key(Same *s, int v)
{
    Str key = buf_view(&s->key);
    intptr_t found = (intptr_t)map_get(&s->seen, key);
    if (found) return (int)found - 1;
    map_put(&s->seen, &s->arena, (Str){ str_dup(&s->arena, key), key.n }, (void *)(intptr_t)(v + 1));
    return v;
}

static bool replaceable(const Graph *g, const GraphNode *n)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] < 0 || g->value[n->out[k]].output) return false;
    return n->n_out > 0;
}

static void merge_node(Same *s, GraphNode *n, int *same)
{
    if (!replaceable(s->g, n) || !node_key(s, n)) return;
    int first = first_with_key(s, n->out[0]);
    if (first == n->out[0]) return;
    const GraphNode *twin = s->g->node[s->g->value[first].producer];
    for (int k = 0; k < n->n_out; k++) same[n->out[k]] = twin->out[k];
    n->op = NULL;
}

bool pass_same(Graph *g, Err *err)
{
    (void)err;
    Same s = { .g = g };
    int *same = ARRAY(&s.arena, int, g->n_value); /* what a value is read as */
    for (int v = 0; v < g->n_value; v++) {
        const Tensor *t = &g->value[v].t;
        same[v] = v;
        if (!g->value[v].constant || !t->data || tensor_bytes(t) > SMALL_CONSTANT) continue;
        constant_key(&s, t);
        same[v] = first_with_key(&s, v);
    }
    for (int i = 0; i < g->n_node; i++) {
        GraphNode *n = g->node[i];
        if (!n->op) continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] >= 0) n->in[k] = same[n->in[k]];
        if (n->guard) n->guard = same[n->guard - 1] + 1;
        merge_node(&s, n, same);
    }
    buf_free(&s.key);
    arena_free(&s.arena);
    return true;
}

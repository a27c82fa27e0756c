/* SPDX-License-Identifier: Apache-2.0
 * sample_rows.c - rows to time a model with that reads more than tokens: pictures that are drawn here, through the
 * model's own preparer; for a lone graph zeros of the shape that it declares. */
#include "model/model.h"

enum { OPEN_DIM = 224 }; /* of a size that the graph leaves open */

bool model_brings_tensors(const Model *m)
{
    return graph_has_own(m->graph);
}

static Tensor zeros_of_row(Arena *arena, const Graph *g, int v)
{
    const Tensor *in = &g->value[v].t;
    const int axis = graph_batch_axis(g, v);
    Tensor t = { .type = in->type };
    for (int d = 0; d < in->rank; d++)
        if (d != axis) t.dim[t.rank++] = in->dim[d] > 0 ? in->dim[d] : OPEN_DIM;
    t.data = arena_alloc(arena, MAX(tensor_bytes(&t), 1));
    return t;
}

static Prepared bare_row(Arena *arena, const Graph *g)
{
    Feature *feature = ARRAY(arena, Feature, g->n_input);
    Prepared row = { .feature = feature };
    for (int i = 0; i < g->n_input; i++) {
        const int v = g->input[i];
        if (!role_of_row(graph_role(g->value[v].name))) continue;
        feature[row.features++] = (Feature){ str_dup(arena, g->value[v].name), zeros_of_row(arena, g, v) };
    }
    return row;
}

static bool prepared_rows(const Model *m, Arena *arena, Prepared *row, int n, Err *err)
{
    Arena work = { .local = true };
    const InputModel input = model_input(m);
    const PrepareCall call = { &input, &(InputOptions){ 0 }, arena, &work };
    Str *texts = ARRAY(arena, Str, n);
    for (int i = 0; i < n; i++) texts[i] = STR("a page with some words");
    const Item *item = items_of_samples(arena, m->items, texts, (size_t)n);
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        PreparedRows made = { .row = &row[i] };
        ok = m->preparer->prepare(&call, &item[i], &made, err);
        if (ok) row[i] = made.row[0]; /* of a long input its first window */
        if (ok && row[i].graph) ok = fail(err, EF_UNSUPPORTED, "a sample is for the model's second graph");
    }
    arena_free(&work);
    return ok;
}

/* The rows as one batch; tokens one behind the other. */
static Batch batch_of_rows(Arena *arena, const Prepared *row, int n)
{
    int32_t *start = ARRAY(arena, int32_t, n + 1);
    RowInputs *own = ARRAY(arena, RowInputs, n);
    for (int r = 0; r < n; r++) start[r + 1] = start[r] + (int32_t)row[r].encoding.n;
    int32_t *ids = ARRAY(arena, int32_t, start[n] + 1), *types = ARRAY(arena, int32_t, start[n] + 1);
    int32_t *boxes = ARRAY(arena, int32_t, BOX_NUMBERS * (start[n] + 1));
    for (int r = 0; r < n; r++) {
        const Encoding *e = &row[r].encoding;
        if (e->n) memcpy(ids + start[r], e->ids, e->n * sizeof *ids);
        if (e->n) memcpy(types + start[r], e->type_ids, e->n * sizeof *types);
        if (row[r].boxes) memcpy(boxes + BOX_NUMBERS * start[r], row[r].boxes, BOX_NUMBERS * e->n * sizeof *boxes);
        own[r] = (RowInputs){ row[r].feature, row[r].features };
    }
    return (Batch){ .B = n, .start = start, .ids = ids, .type_ids = types, .boxes = boxes, .own = own };
}

bool model_sample_batch(const Model *m, Arena *arena, int n, Batch *out, Err *err)
{
    Prepared *row = ARRAY(arena, Prepared, n);
    if (m->preparer && m->items && !prepared_rows(m, arena, row, n, err)) return false;
    for (int i = 0; i < n && !(m->preparer && m->items); i++) row[i] = bare_row(arena, m->graph);
    *out = batch_of_rows(arena, row, n);
    return true;
}

/* Rows of the table that tokens are looked up in; 0: not found. */
static uint32_t table_rows(const Graph *g)
{
    for (int i = 0; i < g->n_node; i++) {
        const GraphNode *n = g->node[i];
        for (int k = 1; n->op && k < n->n_in; k++) {
            const GraphValue *ids = n->in[k] >= 0 ? &g->value[n->in[k]] : NULL;
            const GraphValue *table = n->in[k - 1] >= 0 ? &g->value[n->in[k - 1]] : NULL;
            if (ids && table && ids->input && graph_role(ids->name) == ROLE_TOKEN && table->constant &&
                table->t.rank == 2)
                return (uint32_t)MIN(table->t.dim[0], INT32_MAX);
        }
    }
    return 0;
}

/* Spread over the vocabulary; where nothing tells it, over the first thousand. */
Batch model_sample_tokens(const Model *m, Arena *arena, const int32_t *start, int rows)
{
    enum { USUAL = 1000 };
    const int32_t tokens = start[rows];
    int32_t *ids = ARRAY(arena, int32_t, tokens);
    const uint32_t table = m->tokenizer ? 0 : table_rows(m->graph);
    const uint32_t vocabulary = m->tokenizer ? (uint32_t)tokenizer_size(m->tokenizer) : table ? table : USUAL;
    for (int32_t i = 0; i < tokens; i++) ids[i] = (int32_t)((uint32_t)i * 7919u % MAX(vocabulary, 1u));
    return (Batch){ .B = rows, .start = start, .ids = ids };
}

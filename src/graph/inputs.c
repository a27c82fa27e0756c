/* SPDX-License-Identifier: Apache-2.0
 * inputs.c - what a graph input is, by its name: the only list of such names. */
#include "graph.h"

static const struct InputRow {
    const char *name;
    Role role;
    const char *next; /* ROLE_STATE: the output that is this input of the item's next row */
} inputs[] = {
    { "input_ids", ROLE_TOKEN },        { "attention_mask", ROLE_MASK },
    { "token_type_ids", ROLE_TYPE },    { "position_ids", ROLE_POSITION },
    { "bbox", ROLE_BOX },               { "pixel_values", ROLE_ROW },
    { "pixel_mask", ROLE_ROW },         { "input_values", ROLE_ROW },
    { "input_features", ROLE_ROW },     { "input", ROLE_ROW }, /* Silero VAD, torchvision */
    { "state", ROLE_STATE, "stateN" },  /* Silero VAD 5 and 6 */
    { "h", ROLE_STATE, "hn" },          { "c", ROLE_STATE, "cn" },     /* its version 4 */
    { "h0", ROLE_STATE, "hn" },         { "c0", ROLE_STATE, "cn" },    /* its version 3 */
    { "h_0", ROLE_STATE, "h_n" },       { "c_0", ROLE_STATE, "c_n" },  /* torch.nn.LSTM's names */
    { "sr", ROLE_ALL },                 /* Silero VAD: the sampling rate */
};

static const struct InputRow *input_row(Str name)
{
    for (size_t i = 0; i < COUNT(inputs); i++)
        if (str_is(name, inputs[i].name)) return &inputs[i];
    return NULL;
}

Role graph_role(Str name)
{
    const struct InputRow *row = input_row(name);
    return row ? row->role : ROLE_NONE;
}

const char *graph_next_state(Str name)
{
    const struct InputRow *row = input_row(name);
    return row ? row->next : NULL;
}

bool role_of_token(Role role)
{
    return role >= ROLE_TOKEN && role <= ROLE_BOX;
}

bool role_of_row(Role role)
{
    return role >= ROLE_ROW;
}

bool graph_has_own(const Graph *g)
{
    for (int i = 0; i < g->n_input; i++)
        if (role_of_row(graph_role(g->value[g->input[i]].name))) return true;
    return false;
}

/* A state is [layers, B, C] where its file does not leave the size of another axis open. */
int graph_batch_axis(const Graph *g, int v)
{
    const GraphValue *in = &g->value[v];
    const Role role = graph_role(in->name);
    if (role == ROLE_ALL) return -1;
    for (int i = 0; role == ROLE_STATE && i < in->t.rank; i++)
        if (in->t.dim[i] < 0) return i;
    return role == ROLE_STATE && in->t.rank == 3 ? 1 : 0;
}

int graph_samples_axis(const Graph *g, int v)
{
    const Tensor *t = &g->value[v].t;
    const bool row = graph_role(g->value[v].name) == ROLE_ROW;
    return row && t->type == T_F32 && t->rank == 2 && t->dim[1] < 0 ? 1 : -1;
}

/* As the file declares it: what it leaves open, other than the rows, is not known before a row comes. */
static bool bind_own(const Graph *g, int v, int64_t B, Tensor *t, Err *err)
{
    const GraphValue *in = &g->value[v];
    const int axis = graph_batch_axis(g, v);
    *t = in->t;
    t->data = NULL;
    if (t->rank > axis && axis >= 0 && t->dim[axis] < 0) t->dim[axis] = B;
    bool open = t->type == T_NONE || t->rank <= axis;
    for (int i = 0; i < t->rank; i++) open |= t->dim[i] < 0;
    return !open || fail(err, EF_UNSUPPORTED, "the size of graph input '%.*s' is not known before a "
                         "row is there", STR_ARG(in->name));
}

static bool wrong_rank(const GraphValue *in, int rank, Err *err)
{
    return fail(err, EF_BAD_MODEL,
                "Input shape mismatch: graph input '%.*s' has %d dims, wanted "
                "[batch_size, sequence_length%s]",
                STR_ARG(in->name), in->t.rank, rank == 3 ? ", 4" : "");
}

bool graph_bind_input(const Graph *g, int v, int64_t B, int64_t S, Tensor *t, Err *err)
{
    const GraphValue *in = &g->value[v];
    const Role role = graph_role(in->name);
    const int rank = role == ROLE_BOX ? 3 : 2;
    if (role_of_row(role)) return bind_own(g, v, B, t, err);
    if (!role_of_token(role))
        return fail(err, EF_UNSUPPORTED,
                    "graph input '%.*s' is not one that models here have "
                    "(input_ids, attention_mask, token_type_ids, position_ids, bbox, pixel_values, "
                    "input_values, input_features)",
                    STR_ARG(in->name));
    const bool live = role == ROLE_MASK && in->t.type == T_BOOL;
    if (in->t.type != T_I64 && in->t.type != T_I32 && in->t.type != T_F32 && !live)
        return fail(err, EF_BAD_MODEL,
                    "Input shape mismatch: graph input '%.*s' has type %s, wanted int64 or int32",
                    STR_ARG(in->name), dtype_name(in->t.type));
    if (in->t.rank != rank && in->t.rank >= 0) return wrong_rank(in, rank, err);
    *t = (Tensor){ .type = in->t.type, .rank = rank, .dim = { B, S, BOX_NUMBERS } };
    return true;
}

bool graph_declares(const Graph *g, int v, int64_t *B, int64_t *S)
{
    const GraphValue *in = &g->value[v];
    const Role role = graph_role(in->name);
    const bool sized = in->t.rank >= 2 && role_of_token(role);
    const int axis = role_of_row(role) ? graph_batch_axis(g, v) : 0;
    const bool rows = sized || (role_of_row(role) && axis >= 0 && axis < in->t.rank);
    *B = rows && in->t.dim[axis] > 0 ? in->t.dim[axis] : 0;
    *S = sized && in->t.dim[1] > 0 ? in->t.dim[1] : 0;
    return *B || *S;
}

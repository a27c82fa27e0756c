/* SPDX-License-Identifier: Apache-2.0
 * inputs.c - what a graph input is, by its name: the only list of such names. */
#include "graph.h"

static const struct InputRow {
    const char *name;
    Role role;
} inputs[] = {
    { "input_ids", ROLE_TOKEN },        { "attention_mask", ROLE_MASK },
    { "token_type_ids", ROLE_TYPE },    { "position_ids", ROLE_POSITION },
    { "bbox", ROLE_BOX },               { "pixel_values", ROLE_ROW },
    { "pixel_mask", ROLE_ROW },         { "input_values", ROLE_ROW },
    { "input_features", ROLE_ROW },
};

Role graph_role(Str name)
{
    for (size_t i = 0; i < COUNT(inputs); i++)
        if (str_is(name, inputs[i].name)) return inputs[i].role;
    return ROLE_NONE;
}

bool role_of_token(Role role)
{
    return role != ROLE_NONE && role != ROLE_ROW;
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
    if (!role_of_token(role))
        return fail(err, EF_UNSUPPORTED,
                    "graph input '%.*s' is not one that text models have "
                    "(input_ids, attention_mask, token_type_ids, position_ids, bbox)",
                    STR_ARG(in->name));
    if (in->t.type != T_I64 && in->t.type != T_I32 && in->t.type != T_F32)
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
    bool sized = in->t.rank >= 2 && role_of_token(graph_role(in->name));
    *B = sized && in->t.dim[0] > 0 ? in->t.dim[0] : 0;
    *S = sized && in->t.dim[1] > 0 ? in->t.dim[1] : 0;
    return *B || *S;
}

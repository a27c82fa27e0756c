/* SPDX-License-Identifier: Apache-2.0
 * branch.c - what an If becomes (graph/from_onnx.c): Then and Else say whether a branch is taken,
 * Either takes the result of the one that was. And the row of Loop. */
#include "ops/ops.h"

enum { CONDITION, WITHIN };  /* inputs of Then and Else: WITHIN is the guard of the branch around */
enum { TAKEN = 1, OTHER };   /* inputs of Either, beside CONDITION */

static bool guard_shape(OpCall *call, Err *err)
{
    const Tensor *t = op_in(call, CONDITION);
    if (t && tensor_count(t) != 1) return op_wrong_input(call, CONDITION, "one truth value", err);
    return op_out(call, 0, T_BOOL, 0, NULL);
}

static bool branch_condition(const Tensor *t)
{
    return t && t->data && tensor_count(t) == 1 && tensor_get(t, 0) != 0;
}

static bool guard_run(OpCall *call, bool then, Err *err)
{
    const Tensor *around = op_in(call, WITHIN), *condition = op_in(call, CONDITION);
    const bool reached = !around || branch_condition(around);
    if (reached && !condition) return op_fail(call, err, "the condition was not computed");
    *(uint8_t *)call->out[0].data = reached && branch_condition(condition) == then;
    return true;
}

static bool then_run(OpCall *call, Err *err)
{
    return guard_run(call, true, err);
}

static bool else_run(OpCall *call, Err *err)
{
    return guard_run(call, false, err);
}

static const Tensor *branch_chosen(const OpCall *call)
{
    return op_in(call, branch_condition(call->in[CONDITION]) ? TAKEN : OTHER);
}

static bool either_shape(OpCall *call, Err *err)
{
    const Tensor *t = branch_chosen(call);
    if (!t) return op_fail(call, err, "the result of the branch was not computed");
    return op_out(call, 0, t->type, t->rank, t->dim);
}

static bool either_run(OpCall *call, Err *err)
{
    (void)err;
    const Tensor *t = branch_chosen(call);
    if (tensor_bytes(t)) memcpy(call->out[0].data, t->data, tensor_bytes(t));
    return true;
}

/* Its body is a graph, which graph/loop.c runs: nothing here can. */
static bool loop_refused(OpCall *call, Err *err)
{
    return op_fail(call, err, "its body can only be run where all that goes in is known");
}

#define OWN "encoderfile"
const Op ops_branch[] = {
    { "Then", OWN, 1, 0, 2, guard_shape, then_run, 0, TOKEN_NO },
    { "Else", OWN, 1, 0, 2, guard_shape, else_run, 0, TOKEN_NO },
    { "Either", OWN, 1, 1, 3, either_shape, either_run, 1 << CONDITION, TOKEN_NO },
    { "Loop", NULL, 1, 0, 0, loop_refused, loop_refused, ~0u, TOKEN_NO, .mixes_rows = true },
    { 0 }
};

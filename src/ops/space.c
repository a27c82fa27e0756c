/* SPDX-License-Identifier: Apache-2.0
 * space.c - numbers between channels and space: DepthToSpace and SpaceToDepth are a transpose of six axes. */
#include "ops/walk.h"

typedef struct Blocks {
    int64_t N, C, H, W, b;     /* C, H, W of the input; b: side of a block */
} Blocks;

static bool space_blocks(const OpCall *call, bool to_space, Blocks *s, Err *err)
{
    const Tensor *x = call->in[0];
    const int64_t b = op_attr_int(call, "blocksize", 0);
    if (x->rank != 4) return op_wrong_input(call, 0, "[N, C, H, W]", err);
    *s = (Blocks){ x->dim[0], x->dim[1], x->dim[2], x->dim[3], b };
    if (b < 1 || b > INT16_MAX || (to_space ? s->C % (b * b) : s->H % b || s->W % b))
        return op_fail(call, err, "blocksize: found %lld, wanted one that divides the input",
                       (long long)b);
    return true;
}

static bool to_space_shape(OpCall *call, Err *err)
{
    Blocks s;
    if (!space_blocks(call, true, &s, err)) return false;
    const int64_t dim[4] = { s.N, s.C / (s.b * s.b), s.H * s.b, s.W * s.b };
    return op_out(call, 0, call->in[0]->type, 4, dim);
}

static bool to_depth_shape(OpCall *call, Err *err)
{
    Blocks s;
    if (!space_blocks(call, false, &s, err)) return false;
    const int64_t dim[4] = { s.N, s.C * s.b * s.b, s.H / s.b, s.W / s.b };
    return op_out(call, 0, call->in[0]->type, 4, dim);
}

/* The output as six axes, each with its step in the input. */
static void space_move(const OpCall *call, const int64_t dim[6], const int64_t step[6])
{
    Walk w = walk_over(6, dim);
    walk_steps(&w, step);
    const Move move = { call->in[0]->data, call->out[0].data, dtype_size(call->in[0]->type) };
    walk_run(&w, call, walk_gather, &move);
}

/* Whether the channel counts before the place in the block (column, row, depth), or after it. */
static bool space_is_crd(const OpCall *call)
{
    return str_is(onnx_string(call->node, "mode", "DCR"), "CRD");
}

static bool to_space_run(OpCall *call, Err *err)
{
    Blocks s;
    if (!space_blocks(call, true, &s, err)) return false;
    const int64_t C = s.C / (s.b * s.b), plane = s.H * s.W;
    const bool crd = space_is_crd(call);
    const int64_t place = crd ? plane : C * plane, channel = crd ? s.b * s.b * plane : plane;
    const int64_t dim[6] = { s.N, C, s.H, s.b, s.W, s.b };
    const int64_t step[6] = { s.C * plane, channel, s.W, s.b * place, 1, place };
    space_move(call, dim, step);
    return true;
}

static bool to_depth_run(OpCall *call, Err *err)
{
    Blocks s;
    if (!space_blocks(call, false, &s, err)) return false;
    const int64_t plane = s.H * s.W;
    const int64_t dcr[6] = { s.N, s.b, s.b, s.C, s.H / s.b, s.W / s.b };
    const int64_t dcr_step[6] = { s.C * plane, s.W, 1, plane, s.b * s.W, s.b };
    const int64_t crd[6] = { s.N, s.C, s.b, s.b, s.H / s.b, s.W / s.b };
    const int64_t crd_step[6] = { s.C * plane, plane, s.W, 1, s.b * s.W, s.b };
    if (space_is_crd(call)) space_move(call, crd, crd_step);
    else space_move(call, dcr, dcr_step);
    return true;
}

const Op ops_space[] = {
    { "DepthToSpace", NULL, 1, 1, 1, to_space_shape, to_space_run },
    { "SpaceToDepth", NULL, 1, 1, 1, to_depth_shape, to_depth_run },
    { 0 }
};

/* SPDX-License-Identifier: Apache-2.0
 * passes.c - the passes in their order. Each leaves a graph that gives the same answers; the exact
 * tier takes only those that change no arithmetic. */
#include "graph.h"

static const struct Pass {
    bool (*run)(Graph *, Err *);
    bool exact;
} passes[] = {
    { pass_fold, true },     /* constants first: everything after looks for them */
    { pass_widen, false },   /* before anything is looked for: what is fused is float32 */
    { pass_choices, false }, /* before sizes are looked at: its rows are choices */
    { pass_fill, false },    /* before shapes are looked at: it takes NonZero away */
    { pass_unfix, false },   /* before symbols: fixed sizes have none */
    { pass_symbols, false }, /* scalars made from shapes, such as 1/sqrt(head size) */
    { pass_fold, false },    /* what those scalars feed */
    { pass_same, false },
    { pass_index, false },
    { pass_conv, false },          { pass_channels_last, false },
    { pass_fold, false },      /* transposes that undo one another are gone */
    { pass_turn, false },      /* what works inside heads stands before they are turned */
    { pass_expand, false },    /* what ONNX Runtime's optimizer fused */
    { pass_norm, false },      { pass_gelu, false },   { pass_gated, false },
    { pass_attention, false },
    { pass_quantized, false }, { pass_linear, false }, /* after norm and gelu: their Adds and Muls are gone */
    { pass_embed, false },
    { pass_qkv, false },
    { pass_resize, false }, /* products and their activations are one by now, weights still matrices */
    { pass_pack, false }, /* the products are settled: weights into panels of the precision asked for */
    { pass_mask, false },
};

bool graph_optimize(Graph *g, bool exact, Err *err)
{
    for (size_t i = 0; i < COUNT(passes); i++)
        if ((passes[i].exact || !exact) && !passes[i].run(g, err)) return false;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * explain.c - the plan of one size in words: what runs, in which layout, by which kernel, what it
 * reads and costs, and why a step stayed generic. Made from the plan itself, so it cannot differ
 * from what runs. */
#include "plan.h"

/* Our own operators, by the kernel that does their arithmetic. */
static const struct Kernel {
    const char *op, *kernel;
} kernel_of[] = {
    { "Linear", "gemm_f32" },       { "LinearQ", "gemm_i8" },   { "LayerNorm", "layer_norm" },
    { "Activation", "activate" },   { "Attention", "attention" },
    { "Gated", "activate" },        { "Lookup", "lookup" },
    { "Embed", "layer_norm" },      { "ConvLast", "gemm_f32" }, { "ConvLastQ", "gemm_i8" },
    { "DepthwiseLast", "depthwise" },
};

/* Why an operator that a fusion could have taken is still there. */
static const struct Reason {
    const char *op, *why;
} reasons[] = {
    { "MatMul", "both sides are computed, by no attention that is known" },
    { "Softmax", "not inside an attention that is known" },
    { "Gemm", "its weight is no constant, or alpha or beta is not 1" },
    { "MatMulInteger", "not between a DynamicQuantizeLinear and its scales" },
    { "DynamicQuantizeLinear", "its product was not recognized" },
    { "LayerNormalization", "its weights are no constants, or its axis is not the last" },
    { "ReduceMean", "not inside a norm that is known" },
    { "Erf", "not inside a GELU that is known" },
    { "Attention", "has an option that is not taken apart" },
};

static const char *kernel_for(const Graph *g, const GraphNode *n)
{
    int w = graph_is(n, "Linear") || graph_is(n, "ConvLast") ? n->in[1] : -1;
    if (w >= 0 && g->value[w].t.type == T_BF16) return "gemm_bf16";
    for (size_t i = 0; str_is(n->node->domain, "encoderfile") && i < COUNT(kernel_of); i++)
        if (graph_is(n, kernel_of[i].op)) return kernel_of[i].kernel;
    return NULL;
}

static const char *reason_for(const GraphNode *n)
{
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (graph_is(n, reasons[i].op)) return reasons[i].why;
    return "no kernel of its own";
}

static const char *const copies[] = {
    [STEP_SPREAD] = "spread", [STEP_FIRST] = "first", [STEP_PAD] = "pad", [STEP_UNPAD] = "unpad",
    [STEP_REPEAT] = "repeat", [STEP_SUM] = "sum", [STEP_MAX] = "max", [STEP_NAMED] = "named token"
};

static double explain_rows_of(const Tensor *t)
{
    return t->rank ? (double)tensor_count(t) / (double)MAX(t->dim[t->rank - 1], 1) : 1;
}

/* Multiplications and additions; of what is no product, one for each number made. */
static double flops_of(const Engine *e, const PlanStep *step, const Size *size)
{
    const GraphNode *n = step->node;
    double made = 0;
    for (int k = 0; k < step->n_out; k++) made += (double)tensor_count(&step->out[k]);
    if (step->kind != STEP_OP) return 0;
    if (str_starts(str_of(n->op->name), "Linear"))
        return 2 * explain_rows_of(step->in[0]) * (double)onnx_int(n->node, "N", 0) *
               (double)onnx_int(n->node, "K", 0);
    if (str_starts(str_of(n->op->name), "ConvLast")) /* K: of one group */
        return 2 * made * (double)onnx_int(n->node, "K", 0);
    if (graph_attends(n)) {
        double tokens = (double)size->B * (double)size->S;
        return 2 * (double)size->B * attention_work(e->graph, n, made / MAX(tokens, 1), size->S);
    }
    if (graph_is(n, "MatMul"))
        return 2 * made * (double)step->in[0]->dim[MAX(step->in[0]->rank - 1, 0)];
    return made;
}

static const char *layout_of(const Engine *e, const Plan *plan, const PlanStep *step)
{
    if (!plan->size.ragged) return "padded";
    if (step->kind == STEP_PAD) return "padded";
    if (step->kind != STEP_OP || !step->n_out || step->node->out[0] < 0) return "ragged";
    switch (e->layout.value[step->node->out[0]]) {
    case FORM_TOKEN: return "ragged";
    case FORM_ROWS: return "padded";
    default: return "rows";
    }
}

static void explain_step(const Engine *e, const Plan *plan, const PlanStep *step, ExplainedStep *to)
{
    const GraphNode *n = step->node;
    *to = (ExplainedStep){ .op = step->kind == STEP_OP ? n->op->name : copies[step->kind],
                           .name = n ? n->node->name : (Str){ 0 },
                           .type = dtype_name(step->n_out ? step->out[0].type : T_NONE),
                           .layout = layout_of(e, plan, step),
                           .flops = flops_of(e, step, &plan->size) };
    if (step->kind == STEP_OP) {
        to->kernel = kernel_for(e->graph, n);
        if (!to->kernel) to->why = reason_for(n);
    }
    for (int k = 0; n && k < n->n_in; k++)
        if (n->in[k] >= 0 && e->graph->value[n->in[k]].constant)
            to->weight_bytes += tensor_bytes(&e->graph->value[n->in[k]].t);
    for (int k = 0; k < step->n_out; k++) to->made_bytes += tensor_bytes(&step->out[k]);
}

static void explain_count_nodes(const Engine *e, const Plan *plan, Explained *to)
{
    for (int i = 0; i < e->graph->n_node; i++) to->nodes += e->graph->node[i]->op != NULL;
    for (int i = 0; i < plan->n_step; i++) to->known -= plan->step[i].node != NULL;
    to->known += to->nodes;
}

void plan_explain(const Engine *e, const Plan *plan, Arena *arena, Explained *to)
{
    const Size *size = &plan->size;
    *to = (Explained){ .ragged = size->ragged, .why_not = e->layout.why, .B = size->B, .S = size->S,
                       .n = plan->n_step, .dynamic = plan->dynamic, .block_bytes = plan->block };
    to->step = ARRAY(arena, ExplainedStep, plan->n_step);
    for (int i = 0; i < plan->n_step; i++) explain_step(e, plan, &plan->step[i], &to->step[i]);
    explain_count_nodes(e, plan, to);
}

bool engine_explain(const Engine *e, Arena *arena, int64_t B, int64_t S, Explained *to, Err *err)
{
    Plan plan = { 0 };
    if (e->fixed_B) B = e->fixed_B;
    if (e->fixed_S) S = e->fixed_S;
    Size size = { .B = B, .S = S, .T = B * S, .ragged = e->layout.ragged };
    if (!plan_make(e, size, &plan, err)) return false;
    for (int i = 0; i < plan.n_step; i++)
        for (int k = 0; k < plan.step[i].n_out; k++)
            plan.step[i].out[k] =
                plan.step[i].slot[k] >= 0 ? plan.slot[plan.step[i].slot[k]].t : (Tensor){ 0 };
    plan_explain(e, &plan, arena, to);
    arena_free(&plan.arena);
    return true;
}

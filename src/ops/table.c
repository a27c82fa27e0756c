/* SPDX-License-Identifier: Apache-2.0
 * table.c - finding an operator's row, and asking it for shapes with the checks common to all. */
#include <math.h>

#include "ops/ops.h"

static const Op *const families[] = {
    ops_elementwise, ops_reduce, ops_shape,     ops_move,  ops_gather, ops_matmul,
    ops_einsum,      ops_norm,   ops_attention, ops_quant, ops_fused,  ops_attend,
    ops_lookup,      ops_branch, ops_contrib,   ops_contrib_attention, ops_contrib_quant,
    ops_conv,        ops_conv_transpose, ops_conv_quant, ops_pool, ops_resize, ops_space,
    ops_sample,      ops_boxes,  ops_norm_channels, ops_recurrent, ops_spectrum,
    ops_conv_last,   ops_sequence,
};

static bool same_domain(Str wanted, const char *row)
{
    if (str_is(wanted, "ai.onnx")) wanted.n = 0;
    return str_is(wanted, row ? row : "");
}

const Op *op_find(Str domain, Str name, int64_t opset)
{
    const Op *best = NULL;
    for (size_t i = 0; i < COUNT(families); i++)
        for (const Op *op = families[i]; op->name; op++)
            if (op->since <= opset && (!best || op->since > best->since) &&
                str_is(name, op->name) && same_domain(domain, op->domain))
                best = op;
    return best;
}

size_t op_count(void)
{
    size_t n = 0;
    for (size_t i = 0; i < COUNT(families); i++)
        for (const Op *op = families[i]; op->name; op++) n++;
    return n;
}

const Op *op_at(size_t index)
{
    for (size_t i = 0; i < COUNT(families); i++)
        for (const Op *op = families[i]; op->name; op++)
            if (!index--) return op;
    return NULL;
}

bool op_needs_values(const Op *op, int input)
{
    return input < 32 && op->values >> input & 1;
}

static bool op_check_inputs(const Op *op, const OpCall *call, Err *err)
{
    if (call->n_in < op->min_in || (op->max_in && call->n_in > op->max_in))
        return op_fail(call, err, "found %d inputs, wanted %d to %d", call->n_in, op->min_in,
                       op->max_in ? op->max_in : INT16_MAX);
    for (int i = 0; i < call->n_in; i++) {
        const Tensor *t = call->in[i];
        if (!t && i < op->min_in) return op_fail(call, err, "input %d: found none, wanted one", i);
        if (!t) continue;
        if (!dtype_size(t->type)) return op_wrong_input(call, i, "a type of numbers", err);
        if (!tensor_sane(t, err)) return op_fail(call, err, "input %d is too large", i);
        if (i < 32 && op->values >> i & 1 && !t->data && tensor_count(t))
            return op_fail(call, err, "input %d: its values decide the shape and are not known", i);
    }
    return true;
}

/* What is wrong with one input often depends on another: the message ends with the shapes of
 * all. */
static bool with_shapes(const OpCall *call, Err *err)
{
    char show[128];
    size_t n = strlen(err->message);
    int said = 0;
    for (const char *at = err->message; (at = strchr(at, '[')); at++) said++;
    const int shown = said < 2 && call->n_in > 1 ? call->n_in : 0;
    for (int i = 0; i < shown && n + 140 < sizeof err->message; i++)
        n += (size_t)snprintf(err->message + n, sizeof err->message - n, "%s %s",
                              i ? "," : "; its inputs are",
                              call->in[i] ? tensor_show(call->in[i], show) : "absent");
    return false;
}

bool op_shape(const Op *op, OpCall *call, Err *err)
{
    if (call->n_out < 1) return op_fail(call, err, "found no output, wanted one");
    for (int i = 0; i < call->n_out; i++) call->out[i].type = T_NONE;
    if (!op_check_inputs(op, call, err)) return false;
    if (!op->shape(call, err)) return with_shapes(call, err);
    for (int i = 0; i < call->n_out; i++) {
        if (!dtype_size(call->out[i].type))
            return op_fail(call, err, "output %d: this operator has no such output", i);
        Err why;
        if (!tensor_sane(&call->out[i], &why))
            return op_fail(call, err, "output %d: %s", i, why.message);
    }
    return true;
}

enum { ELEMENT = 64 }; /* a number on its own costs more than a multiply-add in a kernel */

typedef struct Sizes {   /* how many numbers a call has */
    double largest[2];   /* of its two largest inputs: the matrices of a product */
    double inputs, outputs;
} Sizes;

static double cost_elements(const OpCall *call, const Sizes *n)
{
    (void)call;
    return (n->inputs + n->outputs) * ELEMENT;
}

static double cost_dims(const OpCall *call, const Sizes *n)
{
    (void)call;
    return n->outputs * ELEMENT;
}

/* Of [.., K] times [K, N]: exact but for batches. Columns are padded to a panel, other types slow. */
static double cost_product(const OpCall *call, const Sizes *n)
{
    const Tensor *out = &call->out[0];
    double a = n->largest[0], b = n->largest[1];
    double columns = out->rank ? (double)out->dim[out->rank - 1] : 1;
    double work = sqrt(a * b * (double)tensor_count(out)) + a + b;
    return work * (out->type == T_F32 ? 1 : 4) * (columns < PANEL ? PANEL / MAX(columns, 1) : 1);
}

static double cost_window(const OpCall *call, const Sizes *n)
{
    const Tensor *filters = call->in[1];
    const double said = (double)op_attr_int(call, "K", 0); /* of filters in panels */
    const double window = said > 0 ? said : (double)tensor_count(filters) / (double)MAX(filters->dim[0], 1);
    return (double)tensor_count(&call->out[0]) * window + n->largest[0] * ELEMENT;
}

/* The product of all dims that letters and dots name; those of dots are counted from their end. 0: a term is not its
 * input's. */
static double einsum_products(const OpCall *call)
{
    Str rest = onnx_string(call->node, "equation", "");
    int64_t dim[128] = { 0 };
    double all = 1;
    for (int k = 0; k < call->n_in; k++) {
        const Tensor *t = call->in[k];
        size_t n = 0; /* of this term */
        int letters = 0, axis = 0;
        for (; n < rest.n && rest.p[n] != ',' && rest.p[n] != '-'; n++) letters += rest.p[n] != ' ' && rest.p[n] != '.';
        const int dots = t ? t->rank - letters : -1;
        if (dots < 0) return 0;
        for (size_t i = 0; i < n; i++) {
            const unsigned char c = (unsigned char)rest.p[i];
            if (c >= COUNT(dim)) return 0;
            for (int left = c == '.' ? dots : c != ' '; left > 0 && axis < t->rank; left--, axis++) {
                int64_t *of = &dim[c == '.' ? left : c]; /* no letter is below MAX_RANK */
                *of = MAX(*of, t->dim[axis]);
            }
            if (c == '.') i += 2;
        }
        if (axis != t->rank) return 0;
        rest = (Str){ rest.p + MIN(n + 1, rest.n), rest.n - MIN(n + 1, rest.n) };
    }
    for (size_t c = 0; c < COUNT(dim); c++) all *= (double)MAX(dim[c], 1);
    return all;
}

static double cost_einsum(const OpCall *call, const Sizes *n)
{
    const double known = einsum_products(call), most = known > 0 ? known : n->largest[0] * n->largest[1];
    return MAX(most, n->inputs + n->outputs) * ELEMENT;
}

static double cost_attention(const OpCall *call, const Sizes *n)
{
    int64_t longest = 1;
    for (int i = 0; i < call->n_in; i++)
        for (int k = 0; call->in[i] && k < call->in[i]->rank; k++)
            longest = MAX(longest, call->in[i]->dim[k]);
    return (n->inputs + n->outputs) * (double)longest;
}

static double (*const costs[COST_COUNT])(const OpCall *, const Sizes *) = {
    [COST_ELEMENTS] = cost_elements, [COST_DIMS] = cost_dims,     [COST_PRODUCT] = cost_product,
    [COST_WINDOW] = cost_window,     [COST_EINSUM] = cost_einsum, [COST_ATTENTION] = cost_attention,
};

double op_work(const Op *op, const OpCall *call)
{
    Sizes n = { .largest = { 1, 1 } };
    for (int i = 0; i < call->n_in; i++) {
        double count = call->in[i] ? (double)tensor_count(call->in[i]) : 0;
        if (count > n.largest[0]) n.largest[1] = n.largest[0], n.largest[0] = count;
        else n.largest[1] = MAX(n.largest[1], count);
        n.inputs += count;
    }
    for (int i = 0; i < call->n_out; i++) n.outputs += (double)tensor_count(&call->out[i]);
    return costs[op->cost](call, &n);
}

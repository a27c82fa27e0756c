/* SPDX-License-Identifier: Apache-2.0
 * activation.c - the activations that ONNX Runtime's optimizer fuses into a product, by name.
 * They run an element at a time: graphs of encoders get theirs from the fused linear. */
#include "ops/activation.h"

#include <math.h>

static double act_leaky_relu(const float p[2], double x)
{
    return x >= 0 ? x : p[0] * x;
}
static double act_relu(const float p[2], double x)
{
    return (void)p, x > 0 ? x : 0;
}
static double act_tanh(const float p[2], double x)
{
    return (void)p, tanh(x);
}
static double act_sigmoid(const float p[2], double x)
{
    return (void)p, 1 / (1 + exp(-x));
}
static double act_softsign(const float p[2], double x)
{
    return (void)p, x / (1 + fabs(x));
}
static double act_softplus(const float p[2], double x)
{
    return (void)p, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
static double act_elu(const float p[2], double x)
{
    return x >= 0 ? x : p[0] * expm1(x);
}
static double act_selu(const float p[2], double x)
{
    return p[1] * (x > 0 ? x : p[0] * expm1(x));
}
static double act_celu(const float p[2], double x)
{
    return fmax(0, x) + fmin(0, p[0] * expm1(x / p[0]));
}
static double act_hard_sigmoid(const float p[2], double x)
{
    return fmax(0, fmin(1, p[0] * x + p[1]));
}
static double act_thresholded_relu(const float p[2], double x)
{
    return x > p[0] ? x : 0;
}

static double act_clip(const float p[2], double x)
{
    return fmax(p[0], fmin(p[1], x));
}

static const FusedActivation activations[] = {
    { "LeakyRelu", act_leaky_relu, { 0.01f } },
    { "Relu", act_relu },
    { "Tanh", act_tanh },
    { "Sigmoid", act_sigmoid },
    { "Softsign", act_softsign },
    { "Softplus", act_softplus },
    { "Elu", act_elu, { 1 } },
    { "Selu", act_selu, { 1.67326319217681884765625f, 1.05070102214813232421875f } },
    { "Celu", act_celu, { 1 } },
    { "HardSigmoid", act_hard_sigmoid, { 0.2f, 0.5f } },
    { "ThresholdedRelu", act_thresholded_relu, { 1 } },
    { "Clip", act_clip, { -INFINITY, INFINITY } },
};

bool fused_activation_find(const OpCall *call, const FusedActivation **out, Err *err)
{
    const Str name = onnx_string(call->node, "activation", "");
    *out = NULL;
    for (size_t i = 0; i < COUNT(activations) && !*out; i++)
        if (str_is(name, activations[i].name)) *out = &activations[i];
    return !name.n || *out ||
           fail(err, EF_UNSUPPORTED, "node '%.*s' (%.*s): activation '%.*s' is not supported",
                STR_ARG(call->node->name), STR_ARG(call->node->op), STR_ARG(name));
}

void fused_activation_apply(const FusedActivation *activation, const float p[2], Tensor *y)
{
    for (int64_t i = 0, n = tensor_count(y); i < n; i++) {
        const double x = activation->fn(p, tensor_get(y, i));
        tensor_store(y, i, 1, &x);
    }
}

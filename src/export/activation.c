/* SPDX-License-Identifier: Apache-2.0
 * activation.c - the activations of transformers' ACT2FN, as the operators their modules run. */
#include "arch.h"

/* An operator of ONNX Runtime's own. */
static Str activation_contrib(Builder *b, const char *path, const char *op, Str x)
{
    Str y = NODE(b, path, op, x);
    build_domain(b, "com.microsoft");
    return y;
}

static Str tanh_gelu(Builder *b, const char *path, Str x)
{
    if (b->opset >= 20) {
        Str y = NODE(b, path, "Gelu", x);
        build_attr_string(b, "approximate", "tanh");
        return y;
    }
    if (b->contrib) return activation_contrib(b, path, "FastGelu", x);
    Str half = NODE(b, path, "Mul", x, build_float(b, 0.5));
    Str cube = NODE(b, path, "Pow", x, build_float(b, 3));
    Str inner = NODE(b, path, "Add", x, NODE(b, path, "Mul", cube, build_float(b, 0.044715)));
    Str t = NODE(b, path, "Tanh", NODE(b, path, "Mul", inner, build_float(b, 0.7978845608028654)));
    return NODE(b, path, "Mul", half, NODE(b, path, "Add", t, build_float(b, 1)));
}

static Str erf_gelu(Builder *b, const char *path, Str x)
{
    if (b->tanh_gelu) return tanh_gelu(b, path, x);
    if (b->opset >= 20) return NODE(b, path, "Gelu", x);
    if (b->contrib) return activation_contrib(b, path, "Gelu", x);
    Str scaled = NODE(b, path, "Div", x, build_float(b, 1.4142135623730951));
    Str erf = NODE(b, path, "Erf", scaled);
    Str sum = NODE(b, path, "Add", erf, build_float(b, 1));
    return NODE(b, path, "Mul", NODE(b, path, "Mul", x, sum), build_float(b, 0.5));
}

static Str quick_gelu(Builder *b, const char *path, Str x)
{
    Str s = NODE(b, path, "Sigmoid", NODE(b, path, "Mul", x, build_float(b, 1.702)));
    return NODE(b, path, "Mul", x, s);
}

static Str activation_silu(Builder *b, const char *path, Str x)
{
    return NODE(b, path, "Mul", x, NODE(b, path, "Sigmoid", x));
}

static Str activation_relu(Builder *b, const char *path, Str x)
{
    return NODE(b, path, "Relu", x);
}

static Str activation_relu6(Builder *b, const char *path, Str x)
{
    return NODE(b, path, "Clip", x, build_float(b, 0), build_float(b, 6));
}

static Str tanh_(Builder *b, const char *path, Str x)
{
    return NODE(b, path, "Tanh", x);
}

static Str activation_sigmoid(Builder *b, const char *path, Str x)
{
    return NODE(b, path, "Sigmoid", x);
}

static const Activation activations[] = {
    { "gelu", "GELUActivation", erf_gelu },
    { "gelu_python", "GELUActivation", erf_gelu },
    { "gelu_new", "NewGELUActivation", tanh_gelu },
    { "gelu_fast", "FastGELUActivation", tanh_gelu },
    { "gelu_accurate", "AccurateGELUActivation", tanh_gelu },
    { "gelu_pytorch_tanh", "GELUTanh", tanh_gelu },
    { "quick_gelu", "QuickGELUActivation", quick_gelu },
    { "silu", "SiLUActivation", activation_silu },
    { "swish", NULL, activation_silu },
    { "relu", NULL, activation_relu },
    { "relu6", NULL, activation_relu6 },
    { "tanh", NULL, tanh_ },
    { "sigmoid", NULL, activation_sigmoid },
};
const char activation_names[] =
    "gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, quick_gelu, silu, relu, relu6, tanh or sigmoid";

const Activation *activation_find(Str name)
{
    for (size_t i = 0; i < COUNT(activations); i++)
        if (str_is(name, activations[i].name)) return &activations[i];
    return NULL;
}

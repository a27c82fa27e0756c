/* SPDX-License-Identifier: Apache-2.0
 * layers.c - the pieces every encoder is made of, in the operators of the wanted opset. */
#include <float.h>
#include <math.h>

#include "arch.h"

const int64_t perm_tokens[4] = { 0, 2, 1, 3 }, perm_columns[4] = { 0, 2, 3, 1 };

static bool has_bias(Builder *b, const char *path)
{
    return build_find(b, path, "bias") != NULL;
}

Str layer_linear(Builder *b, const char *path, Str x, int64_t out, int64_t in)
{
    Str product = NODE(b, path, "MatMul", x, build_matrix(b, path, out, in));
    if (!has_bias(b, path)) return product;
    return NODE(b, path, "Add", build_weight(b, path, "bias", 1, &out), product);
}

Str layer_gemm(Builder *b, const char *path, Str x, int64_t out, int64_t in)
{
    Str w = build_weight(b, path, "weight", 2, (int64_t[]){ out, in });
    Str bias = has_bias(b, path) ? build_weight(b, path, "bias", 1, &out) : STR("");
    Str y = build_node(b, path, "Gemm", (Str[]){ x, w, bias }, bias.n ? 3 : 2);
    build_attr_int(b, "transB", 1);
    return y;
}

Str layer_reduce(Builder *b, const char *path, const char *op, Str x, const int64_t *axes, size_t n,
                 bool keep)
{
    bool input = b->opset >= 18;
    Str y = build_node(b, path, op, (Str[]){ x, input ? build_ints(b, axes, n) : STR("") },
                       input ? 2 : 1);
    if (!input) build_attr_ints(b, "axes", axes, n);
    if (!keep) build_attr_int(b, "keepdims", 0);
    return y;
}

Str layer_mean(Builder *b, const char *path, Str x, const int64_t *axes, size_t n, bool keep)
{
    return layer_reduce(b, path, "ReduceMean", x, axes, n, keep);
}

static Str layers_mean(Builder *b, const char *path, Str x)
{
    return layer_mean(b, path, x, (int64_t[]){ -1 }, 1, true);
}

/* As written before there was an operator for it. */
static Str spelled_norm(Builder *b, const char *path, Str x, Str scale, Str bias, double eps)
{
    Str centred = NODE(b, path, "Sub", x, layers_mean(b, path, x));
    Str square = NODE(b, path, "Pow", centred, build_float(b, 2));
    Str spread = NODE(b, path, "Add", layers_mean(b, path, square), build_float(b, eps));
    Str y = NODE(b, path, "Div", centred, NODE(b, path, "Sqrt", spread));
    y = NODE(b, path, "Mul", y, scale);
    return bias.n ? NODE(b, path, "Add", y, bias) : y;
}

static Str norm_by(Builder *b, const char *path, Str x, Str scale, Str bias, double eps)
{
    build_torch_module(b, path, "LayerNorm");
    if (b->opset < 17) return spelled_norm(b, path, x, scale, bias, eps);
    Str y = build_node(b, path, "LayerNormalization", (Str[]){ x, scale, bias }, bias.n ? 3 : 2);
    build_attr_int(b, "axis", -1);
    build_attr_float(b, "epsilon", (float)eps);
    return y;
}

Str layer_norm(Builder *b, const char *path, Str x, int64_t width, double eps)
{
    Str scale = build_weight(b, path, "weight", 1, &width);
    Str bias = has_bias(b, path) ? build_weight(b, path, "bias", 1, &width) : STR("");
    return norm_by(b, path, x, scale, bias, eps);
}

Str layer_plain_norm(Builder *b, const char *path, Str x, int64_t width, double eps)
{
    return norm_by(b, path, x, build_repeated(b, 1, width), STR(""), eps);
}

Str layer_rms_norm(Builder *b, const char *path, Str x, int64_t width, double eps)
{
    Str scale = build_weight(b, path, "weight", 1, &width);
    Str square = NODE(b, path, "Pow", x, build_float(b, 2));
    Str spread = NODE(b, path, "Add", layers_mean(b, path, square), build_float(b, eps));
    Str y = NODE(b, path, "Div", x, NODE(b, path, "Sqrt", spread));
    return NODE(b, path, "Mul", scale, y);
}

Str layer_skip_norm(Builder *b, const char *path, Str x, Str skip, int64_t width, double eps)
{
    build_torch_module(b, path, "LayerNorm");
    Str scale = build_weight(b, path, "weight", 1, &width);
    Str bias = has_bias(b, path) ? build_weight(b, path, "bias", 1, &width) : STR("");
    Str y = build_node(b, path, "SkipLayerNormalization", (Str[]){ x, skip, scale, bias },
                       bias.n ? 4 : 3);
    build_domain(b, "com.microsoft");
    build_attr_float(b, "epsilon", (float)eps);
    return y;
}

Str layer_split(Encoder *m, const char *path, Str x, const int64_t perm[4])
{
    Builder *b = m->b;
    int64_t H = m->n[K_HEADS], D = m->n[K_HIDDEN] / H;
    Str y = NODE(b, path, "Transpose", NODE(b, path, "Reshape", x, INTS(b, 0, 0, H, D)));
    build_attr_ints(b, "perm", perm, 4);
    return y;
}

Str layer_mix(Encoder *m, const char *path, Str scores, Str v)
{
    Builder *b = m->b;
    Str p = NODE(b, path, "Softmax", scores);
    build_attr_int(b, "axis", -1);
    Str y = NODE(b, path, "Transpose", NODE(b, path, "MatMul", p, v));
    build_attr_ints(b, "perm", perm_tokens, 4);
    return NODE(b, path, "Reshape", y, INTS(b, 0, 0, m->n[K_HIDDEN]));
}

Str encoder_attend(Encoder *m, const char *path, Str q, Str k, Str v, Str mask)
{
    Builder *b = m->b;
    double D = (double)(m->n[K_HIDDEN] / m->n[K_HEADS]);
    Str scores = NODE(b, path, "MatMul", q, k);
    scores = NODE(b, path, "Mul", scores, build_float(b, 1 / sqrt(D)));
    return layer_mix(m, path, mask.n ? NODE(b, path, "Add", scores, mask) : scores, v);
}

Str encoder_mask(Encoder *m, const char *path, Str seen)
{
    return NODE(m->b, path, "Where", seen, build_float(m->b, 0), build_float(m->b, -FLT_MAX));
}
